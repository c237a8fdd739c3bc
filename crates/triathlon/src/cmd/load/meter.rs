//! What generator, server and machine consume over the measured window.

use std::path::Path;

use lab::meter::{self, Group, Reading};
use model::Instant;
use model::event::Phase;
use model::usage::Usage;

/// Reads at the edges of the window.
pub(super) struct Meter {
    server: Option<u32>,
    start: Option<Reading>,
    usage: Option<Usage>,
}

impl Meter {
    /// For this process as the generator, and a server whose first process is known or not.
    pub(super) const fn new(server: Option<u32>) -> Self {
        Self {
            server,
            start: None,
            usage: None,
        }
    }

    /// A phase began at `at`.
    pub(super) fn enter(&mut self, phase: Phase, at: Instant) {
        match (phase, &self.start, &self.usage) {
            (Phase::Measurement, None, _) => self.start = Some(self.read(at)),
            (Phase::Drain | Phase::Done, Some(start), None) => {
                let mut usage = meter::between(start, &self.read(at));
                for (pid, group) in [
                    (Some(std::process::id()), &mut usage.generator),
                    (self.server, &mut usage.server),
                ] {
                    if let (Some(pid), Some(group)) = (pid, group) {
                        meter::memory(root(), Group { pid, leaf: None }, group);
                    }
                }
                self.usage = Some(usage);
            }
            _ => {}
        }
    }

    /// What was consumed over the window.
    pub(super) fn usage(self) -> Usage {
        self.usage.unwrap_or_default()
    }

    fn read(&self, edge: Instant) -> Reading {
        let group = |pid| Group { pid, leaf: None };
        let generator = group(std::process::id());
        meter::read(root(), edge, Some(generator), self.server.map(group))
    }
}

fn root() -> &'static Path {
    Path::new("/proc")
}
