//! See `tests/fuzz/src/matchers.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bailiwick_fuzz_targets::matchers(data));
