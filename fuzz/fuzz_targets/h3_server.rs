//! The server side of HTTP/3: nothing makes it panic, or say without end.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::h3::server(data));
