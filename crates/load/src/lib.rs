//! The generator: a plan in, a record out. Start reading at [`worker`].
//!
//! Before the run it fetches what answers will be compared with; then workers, one per thread and
//! core, share nothing and start together; at the end their records merge.

#![forbid(unsafe_code)]

mod apart;
mod assembly;
pub mod author;
mod coming;
mod crew;
pub mod decoding;
pub mod dictation;
mod error;
pub mod exchange;
pub mod expectation;
mod flight;
mod hooks;
mod in_flight;
mod limits;
mod lookup;
mod observer;
mod pages;
mod parts;
mod pool;
mod preamble;
pub mod progress;
mod random;
pub mod recorder;
mod redirect;
pub mod reference;
pub mod request;
mod run;
pub mod schedule;
mod script;
mod secure;
mod session;
mod speak;
mod thread_usage;
mod users;
mod wheel;
pub mod worker;

pub use assembly::{
    http2_worker as http2_worker_of, led_worker as led_worker_of, tls_worker as tls_worker_of,
    worker as worker_of,
};
pub use limits::{files_beside, workers_needed};
pub use parts::{divide, run_divided};
pub use run::{LoadError, Notice, Part, run, run_led, run_part, settings};

/// Whether the generator is optimised. Without that its rates and times are no measurement.
pub const IS_OPTIMISED: bool = cfg!(optimised);
