#!/usr/bin/env bash
# Renews the files that the program writes about itself. A test of the program (process::cli) compares them.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet ${CI:+--locked} --bin bailiwick
program=${CARGO_TARGET_DIR:-target}/debug/bailiwick
mkdir -p docs
"$program" openapi >openapi.json
"$program" config docs >docs/configuration.md
