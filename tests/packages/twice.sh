#!/usr/bin/env bash
# Makes the artifacts of the present commit twice from nothing, in two directories with a cargo directory and a target directory
# each, and compares the sums. Two release builds: not part of `make test-packages`.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
unset DIST_PROGRAM DIST_DIR

commit=$(git rev-parse HEAD)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# make_in PLACE: prints the sums.
make_in() {
    local place=$work/$1
    mkdir -p "$place/cargo/registry"
    cp -R "$cargo_home"/registry/{cache,index} "$place/cargo/registry"
    git clone --quiet --no-checkout . "$place/sources"
    git -C "$place/sources" checkout --quiet --detach "$commit"
    CARGO_HOME=$place/cargo CARGO_TARGET_DIR=$place/out "$place/sources/scripts/dist/run.sh" 2>"$place/log" ||
        { tail -n 30 "$place/log" >&2; exit 1; }
}

make_in first >"$work/one"
make_in another/place/for/it >"$work/other"
cat "$work/one"
diff "$work/one" "$work/other"
echo "two builds of $commit are equal"
