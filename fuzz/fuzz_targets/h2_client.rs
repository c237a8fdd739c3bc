//! The client side of HTTP/2: any split of the bytes tells the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::h2::client(data));
