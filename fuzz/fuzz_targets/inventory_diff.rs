//! See `tests/fuzz/src/inventory_diff.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bailiwick_fuzz_targets::inventory_diff(data));
