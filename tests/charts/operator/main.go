// Reads an object of the Prometheus Operator as JSON and decodes it into the operator's own type: an unknown field, or a value of
// another type, is an error.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

func main() {
	kinds := map[string]any{
		"ServiceMonitor": &monitoring.ServiceMonitor{},
		"PrometheusRule": &monitoring.PrometheusRule{},
	}
	if len(os.Args) != 2 || kinds[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "the kind is missing or unknown")
		os.Exit(2)
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(kinds[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
