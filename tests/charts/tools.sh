#!/usr/bin/env bash
# Installs what these tests need below the target directory, once for each set of versions, and prints the directory: helm, the
# reader of compose files that Docker Compose uses, the types of Prometheus Operator's objects, and Python's packages.
# Needs the Go module proxy and the Python package registry.
set -euo pipefail
cd "$(dirname "$0")/../.."

helm=v3.22.0
here=tests/charts
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tools/charts

# A newer Go is fetched by one that is 1.21 or newer, unless GOTOOLCHAIN forbids it.
find_go() {
    command -v go >/dev/null || export PATH=$PATH:/usr/local/go/bin
    command -v go >/dev/null || scripts/need.sh golang-go >&2
    local version
    version=$(go env GOVERSION)
    [[ $version =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 21)) && return
    echo "${version:-This Go} is older than 1.21, so helm cannot be built: install a newer one from https://go.dev/dl." >&2
    exit 1
}

install_go_tools() {
    export CGO_ENABLED=0 GOBIN=$tools/bin GOFLAGS=-buildvcs=false
    go install -ldflags '-s -w' "helm.sh/helm/v3/cmd/helm@$helm"
    go build -C "$here/compose" -o "$tools/bin/compose-config" .
    go build -C "$here/operator" -o "$tools/bin/operator-object" .
}

install_python() {
    python3 -m venv "$tools/python" || { scripts/need.sh python3-venv >&2 && python3 -m venv "$tools/python"; }
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check --no-input -r "$here/requirements.txt"
}

wanted="$helm $(cat "$here/requirements.txt" "$here"/{compose,operator}/{go.mod,go.sum,main.go} | sha256sum)"
if [[ $(cat "$tools/installed" 2>/dev/null) != "$wanted" ]]; then
    find_go
    echo "installing helm and other tools into $tools" >&2
    rm -rf "$tools"
    mkdir -p "$tools"
    # One waits for the processor, the other for the network.
    install_python >&2 &
    python=$!
    install_go_tools >&2
    wait "$python"
    echo "$wanted" >"$tools/installed"
fi
echo "$tools"
