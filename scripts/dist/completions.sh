#!/usr/bin/env bash
# Completions of the shells under the names that these look for: scripts/dist/completions.sh PROGRAM DIRECTORY
set -euo pipefail
program=$1 directory=$2
"$program" completions bash >"$directory/bailiwick"
"$program" completions zsh >"$directory/_bailiwick"
"$program" completions fish >"$directory/bailiwick.fish"
