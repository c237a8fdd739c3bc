//! Plans: refused, or the same after being written and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::file::plan(data));
