//! What generates load: a plan goes in, a record comes out, news in between.
//!
//! A local child process and a remote agent are the same thing here: that is why this is a trait.

mod local;

use model::{Event, PlanFile, Trial};

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
