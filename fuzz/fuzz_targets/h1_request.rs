//! The server side: any split of the bytes gives the same answers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::request::any_split(data));
