//! The language that every part of Triathlon speaks: plain values, no I/O, no clock, no threads.
//!
//! What is asked is a [`Plan`]; what a generator measured is a [`Record`]; what the
//! machine spent on it is a [`Usage`]; where it happened is an [`Environment`]; together
//! they are a [`Trial`], and what the trial is worth is a [`Verdict`].

#![forbid(unsafe_code)]

pub mod calendar;
pub mod capacity;
pub mod coding;
pub mod condition;
pub mod distribution;
pub mod environment;
pub mod event;
pub mod experiment;
pub mod finding;
#[doc(hidden)]
pub mod fixture;
mod hex;
pub mod http2;
pub mod json;
mod mark;
pub mod misread;
pub mod outcome;
pub mod plan;
pub mod point;
pub mod prefix;
pub mod probe;
pub mod quic;
pub mod random;
pub mod record;
pub mod redact;
pub mod request;
#[cfg(test)]
mod schema;
pub mod script;
pub mod threshold;
pub mod tls;
pub mod trial;
pub mod units;
pub mod usage;
mod visits;

pub use coding::Coding;
pub use condition::Condition;
pub use distribution::Distribution;
pub use environment::Environment;
pub use event::Event;
pub use experiment::{Experiment, ExperimentFile, Gap, Manifest};
pub use finding::{Cause, Claim, Finding, Severity, Status, Verdict};
pub use hex::hex;
pub use json::Json;
pub use mark::Mark;
pub use outcome::{Outcome, OutcomeCounts};
pub use plan::{Plan, PlanFile};
pub use point::{Execution, Point, PointId};
pub use prefix::Prefix;
pub use probe::ProbeResult;
pub use random::Random;
pub use record::Record;
pub use request::{Request, RequestFile};
pub use trial::Trial;
pub use units::{Bytes, Instant, Rate, Ratio, Span};
pub use usage::Usage;
