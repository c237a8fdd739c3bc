//! The chunked coding: any split of the bytes decodes to the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::body::chunked(data));
