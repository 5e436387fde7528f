#!/usr/bin/env bash
# The Helm chart and the compose files: helm's own checks, every rendered object against its schema, what must be true of them, what
# must be refused, and their settings in the real program, which starts with those of the compose files. Containers are not
# started. Everything is on loopback, in directories of its own, and bounded in time.
#
# Variables: CHARTS_PROGRAM (the binary of the service; by default the debug build).
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

program=${CHARTS_PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/bailiwick}
[[ -x $program ]] || { echo "$program is missing: cargo build --bin bailiwick" >&2; exit 1; }
CHARTS_PROGRAM=$(realpath "$program")
CHARTS_TOOLS=$(tests/charts/tools.sh)
export CHARTS_PROGRAM CHARTS_TOOLS
export PATH=$CHARTS_TOOLS/bin:$PATH PYTHONDONTWRITEBYTECODE=1
# Settings of whoever runs this are not meant.
unset "${!BAILIWICK_@}"

chart=packaging/helm/bailiwick
for values in "$chart"/ci/*-values.yaml; do
    echo "helm lint: $(basename "$values")"
    helm lint --strict --quiet --kube-version 1.27 "$chart" --values "$values"
done
"$CHARTS_TOOLS/python/bin/python" -m unittest discover --start-directory tests/charts --pattern 'test_*.py' "$@"
