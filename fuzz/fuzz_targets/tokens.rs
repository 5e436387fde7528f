//! See `tests/fuzz/src/tokens.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bailiwick_fuzz_targets::tokens(data));
