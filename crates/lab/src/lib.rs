//! Experiments: expands a question into plans, runs them against real servers in randomised
//! rounds, meters everything and stores each trial at once.
//!
//! It speaks no HTTP: generator, origin and every other server are child processes that it starts
//! with a plan or a configuration. "Does the server answer rightly?" is itself a plan of one
//! exchange with an expectation.

#![forbid(unsafe_code)]

pub mod calm;
pub mod capacity;
pub mod ceiling;
pub mod certificate;
pub mod condition;
pub mod cpus;
pub mod environment;
pub mod error;
pub mod execution;
pub mod experiment;
pub mod generator;
pub mod host;
pub mod lock;
pub mod meter;
pub mod pair;
pub mod probe;
pub mod scratch;
pub mod server;
pub mod site;
pub mod store;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod trial;

pub use error::LabError;
