//! The client side of HTTP/3: any split of a stream tells the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::h3::client(data));
