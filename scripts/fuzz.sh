#!/usr/bin/env bash
# Searches for inputs that break what tests/fuzz says must hold: `scripts/fuzz.sh [TARGET…]`, FUZZ_SECONDS (600) each. Starts
# from what is kept in fuzz/corpus and keeps what leads somewhere new, as few and as small inputs as do.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-600}
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(configuration inventory_diff matchers proxy_request tokens)
cargo fuzz --version >/dev/null 2>&1 && cargo +nightly --version >/dev/null 2>&1 || {
    echo 'the search needs a nightly compiler and cargo-fuzz: rustup toolchain install nightly; cargo install cargo-fuzz' >&2
    exit 1
}
cargo build --quiet --locked --bin corpus
corpus=${CARGO_TARGET_DIR:-target}/debug/corpus

for target in "${targets[@]}"; do
    kept=fuzz/corpus/$target.gz
    inputs=fuzz/corpus/$target
    mkdir -p "$inputs"
    [[ ! -e $kept ]] || "$corpus" unpack "$kept" "$inputs"
    cargo +nightly fuzz run "$target" "$inputs" -- -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=3000 \
        -print_final_stats=1
    cargo +nightly fuzz cmin "$target" "$inputs" -- -max_len=8192
    "$corpus" pack "$kept" "$inputs"
done
