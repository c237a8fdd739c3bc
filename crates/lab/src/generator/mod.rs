//! What generates load: a plan goes in, a record comes out, news in between.
//!
//! A local child process and a remote agent are the same thing here: that is why this is a trait.

mod local;

use std::fmt;
use std::ops::Range;

use model::{Event, Instant, PlanFile, Trial};

pub use local::Local;

use crate::error::LabError;
use crate::meter::Group;

/// Something that runs plans.
pub trait Generator {
    /// Runs `plan` to its end. `watch` sees every event at once, with the process tree that
    /// generates, where it is on this machine: meters are read at changes of phase.
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError>;
}

/// Sees the events of a run.
pub type Watch<'a> = dyn FnMut(&Event, Option<Group<'_>>) + 'a;

/// A part of a plan, of which others have the rest.
pub struct Part<'a> {
    /// Which of the plan's workers.
    pub workers: Range<u32>,
    /// Asked again and again, with whether the workers are ready: what they are told.
    pub told: &'a mut dyn FnMut(bool) -> Told,
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

/// What a part of a load is told by whoever has all of them begin together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Told {
    /// Nothing new.
    Nothing,
    /// The first exchange may be at this instant of the machine's monotonic clock. It is heard once
    /// the workers are ready, and once.
    Begin(Instant),
    /// To come to an end now.
    Stop,
}
