//! Response heads against httparse, and the remembered head against a fresh parse.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::response::differential(data));
