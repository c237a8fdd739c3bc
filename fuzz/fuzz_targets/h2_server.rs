//! The server side of HTTP/2: nothing makes it panic, or say without end.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::h2::server(data));
