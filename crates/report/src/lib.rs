//! Pages, tables and text: values in, bytes out. No I/O, no measurement.
//!
//! Start reading at [`digests::Run`], which is filled trial by trial; [`html::page()`] makes the
//! one-file report of it, [`csv::rows`] a table for other programs.

#![forbid(unsafe_code)]

pub mod asked;
pub mod chart;
pub mod compare;
pub mod csv;
pub mod digests;
pub mod doctor;
mod errors;
mod handshakes;
pub mod hdr;
pub mod html;
pub mod plots;
pub mod probe;
pub mod published;
mod ranks;
mod split;
pub mod study;
pub mod text;
mod users;

pub use digests::Run;
pub use verdict::number;
