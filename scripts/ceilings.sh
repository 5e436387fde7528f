#!/usr/bin/env bash
# Refuses a program that has grown: packages in the lock file, units that cargo builds for it, and the sections of the debug
# program that hold code and constants (embedded files are constants). A change that needs more raises the number here and says why.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A ceiling=(
    [packages]=530
    [units]=570
    [code_kb]=86000
    [constants_kb]=7500
)

units=$("${CARGO:-cargo}" build ${CI:+--locked} --quiet --bin bailiwick --message-format json |
    grep -c -e '"reason":"compiler-artifact"' -e '"reason":"build-script-executed"')
sections=$(size -A -d "${CARGO_TARGET_DIR:-target}/debug/bailiwick")
kilobytes() { awk -v name="$1" '$1 == name { print int($2 / 1000) }' <<<"$sections"; }
declare -A now=(
    [packages]=$(grep -c '^name = ' Cargo.lock)
    [units]=$units
    [code_kb]=$(kilobytes .text)
    [constants_kb]=$(kilobytes .rodata)
)

grown=0
for what in packages units code_kb constants_kb; do
    printf '%-14s %6s of at most %s\n' "$what" "${now[$what]}" "${ceiling[$what]}"
    ((now[$what] <= ceiling[$what])) || { echo "scripts/ceilings.sh: too many $what" >&2; grown=1; }
done
exit $grown
