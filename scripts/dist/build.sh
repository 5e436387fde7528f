#!/usr/bin/env bash
# Builds the program for every Linux of this architecture: nothing of it is loaded at run time. Equal sources give equal
# bytes, wherever they are, and wherever cargo keeps its own. Prints the path of the program.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
source scripts/dist/environment.sh

# What a developer may have set for himself.
unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_BUILD_TARGET LIBSQLITE3_FLAGS
while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(CARGO_PROFILE_|CFLAGS|CXXFLAGS|LDFLAGS)' || true)

cargo=${CARGO:-cargo}
"$cargo" fetch --locked --target "$rust_target" >&2

# Names for the directories whose paths compilers write into the program.
maps=("$PWD=/bailiwick" "$target_dir=/target" "$(rustc --print sysroot)/lib/rustlib/src/rust=/rust")
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    maps+=("${crates%/}=/crates")
done
# A static program cannot look up the system call for random numbers at run time, and would need /dev.
rust_flags=(--cfg 'getrandom_backend="linux_getrandom"')
c_flags=()
for map in "${maps[@]}"; do
    rust_flags+=("--remap-path-prefix=$map")
    c_flags+=("-ffile-prefix-map=$map")
done
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f'; echo "${rust_flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
export "CFLAGS_${rust_target//-/_}=${c_flags[*]}" CARGO_INCREMENTAL=0

names=$target_dir/$rust_target/names.o
mkdir -p "${names%/*}"
cc -O2 -c scripts/dist/names.c -o "$names"
"$cargo" rustc --locked --release --package bailiwick-server --bin bailiwick --target "$rust_target" \
    --target-dir "$target_dir" -- -C target-feature=+crt-static -C "link-arg=$names" >&2
program=$target_dir/$rust_target/release/bailiwick
told=$(ldd "$program" 2>&1) || true
[[ $told == *'statically linked'* || $told == *'not a dynamic executable'* ]] || { echo "$program is not static" >&2; exit 1; }
echo "$program"
