//! Being built.

#![forbid(unsafe_code)]

pub mod doctor;
