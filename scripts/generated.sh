#!/usr/bin/env bash
# Files that the program writes about itself: `check` compares them, `write` renews them.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-check}
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

# Built with the whole workspace, so that libraries are not built again with other features.
cargo build --quiet ${CI:+--locked} --bin bailiwick
program=${CARGO_TARGET_DIR:-target}/debug/bailiwick

status=0
renew() {
    local file=$1
    shift
    "$program" "$@" >"$new/out"
    if [[ $mode == write ]]; then
        mkdir -p "$(dirname "$file")"
        cp "$new/out" "$file"
    elif ! diff -u "$file" "$new/out" | head -n 40; then
        echo "$file is out of date: run 'make generate' and commit it" >&2
        status=1
    fi
}
renew openapi.json openapi
renew docs/configuration.md config docs
exit $status
