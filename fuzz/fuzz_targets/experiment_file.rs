//! Experiment files: refused or expanded, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::file::experiment(data));
