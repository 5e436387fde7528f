#!/usr/bin/env bash
# Generates clients from the interface document, as somebody who writes one would, compiles them and runs the README's
# tour with each against a service started for it. What they print is tests/clients/tour.txt.
#   scripts/clients.sh [typescript|rust]        both unless said
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
program=${TOUR_PROGRAM:-$target/debug/bailiwick}
out=$target/clients
mkdir -p "$out"

tour() {
    local name=$1
    shift
    TOUR_PROGRAM=$program scripts/tour.sh signed-in "$@" >"$out/$name.txt"
    diff -u tests/clients/tour.txt "$out/$name.txt"
    echo "$name: compiles, and the tour is as the README says"
}

# openapi-typescript and openapi-fetch, from npm in the versions of the lock file.
typescript() {
    local from=tests/clients/typescript to=$out/typescript
    mkdir -p "$to"
    if ! { [[ -e $to/node_modules/.package-lock.json ]] && cmp -s "$from/package-lock.json" "$to/package-lock.json"; }; then
        cp "$from/package.json" "$from/package-lock.json" "$to/"
        npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund --loglevel=error
    fi
    cp "$from/tsconfig.json" "$from/tour.ts" "$to/"
    "$program" openapi >"$to/openapi.json"
    (
        cd "$to"
        node_modules/.bin/openapi-typescript openapi.json --output bailiwick.d.ts
        node_modules/.bin/tsc
    )
    tour typescript node "$to/out/tour.js"
}

# progenitor, from crates.io in the versions of the lock file; a crate of its own, outside the workspace.
rust() {
    "$program" openapi --openapi 3.0 >"$out/openapi-3.0.json"
    BAILIWICK_OPENAPI=$out/openapi-3.0.json ${CARGO:-cargo} build --quiet --locked \
        --manifest-path tests/clients/rust/Cargo.toml --target-dir "$out/rust"
    tour rust "$out/rust/debug/bailiwick-client-tour"
}

for client in "${@:-typescript rust}"; do
    for one in $client; do "$one"; done
done
