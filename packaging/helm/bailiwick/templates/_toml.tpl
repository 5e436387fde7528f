{{/*
A table of bailiwick.toml and the tables below it. Helm's own toToml writes whole numbers of values.yaml as 2.0.
*/}}
{{- define "bailiwick.toml" -}}
{{- $path := .path -}}
{{- range $key, $value := .table -}}
{{- if not (or (kindIs "map" $value) (kindIs "invalid" $value)) }}
{{ include "bailiwick.toml.key" $key }} = {{ include "bailiwick.toml.value" $value }}
{{- end -}}
{{- end -}}
{{- range $key, $value := .table -}}
{{- if kindIs "map" $value -}}
{{- $inner := append $path (include "bailiwick.toml.key" $key) }}

[{{ join "." $inner }}]
{{- include "bailiwick.toml" (dict "path" $inner "table" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "bailiwick.toml.key" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end -}}

{{- define "bailiwick.toml.value" -}}
{{- if kindIs "slice" . -}}
[{{ range $at, $each := . }}{{ if $at }}, {{ end }}{{ include "bailiwick.toml.value" $each }}{{ end }}]
{{- else if kindIs "string" . -}}
{{ toJson . }}
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
{{ int64 . }}
{{- else if kindIs "map" . -}}
{{ fail "config: a list holds plain values, no tables" }}
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end -}}

{{/* The whole file: `config` and what belongs to the chart. */}}
{{- define "bailiwick.config" -}}
{{- $listen := .Values.listenAddress -}}
{{- $own := dict
  "data_dir" "/var/lib/bailiwick"
  "http" (dict "listen" (printf "%s:8080" $listen))
-}}
{{- if .Values.drainSeconds -}}
{{- $_ := set $own.http "drain_delay" (printf "%ds" (int .Values.drainSeconds)) -}}
{{- end -}}
{{- if include "bailiwick.hasMetrics" . -}}
{{- $_ := set $own "metrics" (dict "listen" (printf "%s:9464" $listen)) -}}
{{- end -}}
{{- $all := mergeOverwrite (deepCopy .Values.config) $own -}}
{{- include "bailiwick.toml" (dict "path" list "table" $all) | trim -}}
{{- end -}}
