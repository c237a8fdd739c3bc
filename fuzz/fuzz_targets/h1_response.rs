//! The client side: any split of the bytes tells the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::response::any_split(data));
