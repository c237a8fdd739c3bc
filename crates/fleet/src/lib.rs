//! Load from other machines: agents take parts of a plan from a coordinator and give back what they
//! measured, over NATS (ADR 0011, ADR 0035).
//!
//! What is said are the existing file forms, before and after a run, and during it a small message
//! for each interval if somebody watches (ADR 0040). Whether an agent obeys is decided by [`desk`],
//! which knows no network; this crate measures nothing, and is handed the function that runs a
//! plan. Start reading at [`message`].

#![forbid(unsafe_code)]

pub mod agent;
mod broker;
pub mod clock;
pub mod coordinator;
pub mod desk;
pub mod division;
mod error;
pub mod message;

pub use agent::{Host, Line, Output, serve};
pub use broker::Access;
pub use coordinator::{
    Coordinator, Ears, Edge, Interval, Made, Member, Said, Seen, Sheet, Talk, Wanted, Wish, window,
};
pub use desk::{Job, Limits};
pub use error::FleetError;
pub use message::{Announcement, Ceiling, Name, Passed, Role};
