//! What generator, server and machine consume over the measured window.

use std::path::Path;

use lab::meter::{self, Before, Group, Reading, Sockets, Way};
use model::event::Phase;
use model::usage::Usage;
use model::{Instant, PlanFile};

/// Reads at the edges of the window.
pub(super) struct Meter {
    server: Option<u32>,
    sockets: Sockets,
    /// None where nobody knows the server: nobody could tell it from other programs.
    before: Option<Before>,
    start: Option<Reading>,
    usage: Option<Usage>,
}

impl Meter {
    /// For this process as the generator, and a server whose first process is known or not. It
    /// looks at every process, so it is made before the load of `plan` begins.
    pub(super) fn new(server: Option<u32>, plan: &PlanFile) -> Self {
        let way = Way::of(plan);
        Self {
            server,
            sockets: Sockets::of(plan),
            before: server.map(|_| Before::look(root(), &[], way)),
            start: None,
            usage: None,
        }
    }

    /// A phase began at `at`.
    pub(super) fn enter(&mut self, phase: Phase, at: Instant) {
        match (phase, &self.start, &self.usage) {
            (Phase::Measurement, None, _) => {
                self.start = Some(self.read(at));
                self.sockets.begin();
            }
            (Phase::Drain | Phase::Done, Some(start), None) => {
                let (generator, server) = self.groups();
                let after = start.again(root(), at, Some(generator), server);
                let mut usage = meter::between(start, &after);
                if let Some(server) = usage.server.as_mut() {
                    self.sockets.end(server);
                }
                for (group, usage) in [
                    (Some(generator), &mut usage.generator),
                    (server, &mut usage.server),
                ] {
                    if let (Some(group), Some(usage)) = (group, usage) {
                        meter::memory(root(), group, usage);
                    }
                }
                if let Some(before) = &self.before {
                    let groups: Vec<_> = [Some(generator), server].into_iter().flatten().collect();
                    before.complete(root(), &groups, &mut usage);
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
        let (generator, server) = self.groups();
        meter::read(root(), edge, Some(generator), server)
    }

    /// The generator and the server.
    fn groups(&self) -> (Group<'static>, Option<Group<'static>>) {
        (
            Group::alone(std::process::id()),
            self.server.map(Group::alone),
        )
    }
}

fn root() -> &'static Path {
    Path::new("/proc")
}
