//! Meters that are read when the phase of a trial changes, so that usage covers exactly the window.

use std::path::Path;

use model::event::Phase;
use model::{Event, PlanFile, Span, Usage};
use sys::counters::process;

use super::{Before, Group, Reading, Sockets, Way, between, memory, read};

/// The meters of one trial.
#[derive(Debug)]
pub struct Meters {
    way: Way,
    sockets: Sockets,
    /// Looked at when the generator begins, before it opens connections.
    first: Option<Before>,
    before: Option<Reading>,
    /// Processes behind the one that is asked, and their CPU time when the window began.
    behind: Vec<u32>,
    behind_before: Option<Span>,
    usage: Option<Usage>,
}

/// CPU time of all of `pids` up to now; none where there are none or one cannot be read.
fn clock(pids: &[u32]) -> Option<Span> {
    let clocks = pids.iter().map(|pid| process::cpu_clock(*pid).ok());
    clocks.sum::<Option<Span>>().filter(|_| !pids.is_empty())
}

impl Meters {
    /// Meters of the load of `plan`.
    pub fn of(plan: &PlanFile) -> Self {
        Self {
            way: Way::of(plan),
            sockets: Sockets::of(plan),
            first: None,
            before: None,
            behind: Vec::new(),
            behind_before: None,
            usage: None,
        }
    }

    /// Meters that tell apart what `pids` used, the processes behind the one that is asked.
    #[must_use]
    pub fn and_behind(mut self, pids: Vec<u32>) -> Self {
        self.behind = pids;
        self
    }

    /// An event of the generator came; where it changes the phase, the meters of its process tree
    /// and of the server's are read.
    pub fn see(&mut self, event: &Event, generator: Option<Group<'_>>, server: Option<Group<'_>>) {
        let Event::Phase {
            phase,
            monotonic_ns: edge,
        } = event
        else {
            return;
        };
        let root = Path::new("/proc");
        let groups: Vec<Group<'_>> = generator.into_iter().chain(server).collect();
        let first = self
            .first
            .get_or_insert_with(|| Before::look(root, &groups, self.way));
        match phase {
            Phase::Measurement => {
                self.before = Some(read(root, *edge, generator, server));
                self.behind_before = clock(&self.behind);
                self.sockets.begin();
            }
            // A plan that ends after a count has no drain of its own.
            Phase::Drain | Phase::Done if self.usage.is_none() => {
                let since = |before: &Reading| {
                    let after = before.again(root, *edge, generator, server);
                    between(before, &after)
                };
                let mut usage = self.before.as_ref().map(since).unwrap_or_default();
                let behind = self.behind_before.zip(clock(&self.behind));
                if let Some(server) = usage.server.as_mut() {
                    server.behind_cpu = behind.map(|(before, now)| now.saturating_sub(before));
                    self.sockets.end(server);
                }
                for (group, usage) in [
                    (server, &mut usage.server),
                    (generator, &mut usage.generator),
                ] {
                    if let (Some(group), Some(usage)) = (group, usage) {
                        memory(root, group, usage);
                    }
                }
                first.complete(root, &groups, &mut usage);
                self.usage = Some(usage);
            }
            _ => {}
        }
    }

    /// What was consumed over the window.
    pub fn usage(self) -> Usage {
        self.usage.unwrap_or_default()
    }
}
