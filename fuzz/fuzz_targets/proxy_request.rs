//! See `tests/fuzz/src/proxy_request.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bailiwick_fuzz_targets::proxy_request(data));
