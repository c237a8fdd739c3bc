//! Against published tables, against counting everything out, and by hand.

mod answers;
mod ratios;
mod simulated;
mod tables;
