//! The servers of a block while they wait for their turns: all frozen, or none.
//!
//! They share CPUs, so who is not measured must not run: neither timers nor workers that clear up.
//! Where not every one of them can be frozen none is, for that would be an advantage of some.

use std::collections::{BTreeMap, BTreeSet};

use model::trial::{Freezing, Standing, Warming};
use sys::process::Guard;

use crate::server::Running;
use crate::sweep::Racer;

/// Servers that have been started and are not being measured.
#[derive(Debug, Default)]
pub(super) struct Standby {
    /// None where nothing is to be frozen.
    guard: Option<Guard>,
    waiting: BTreeMap<Racer, Waiting>,
    /// How the last one was frozen.
    freezing: Freezing,
}

/// A server between two trials.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) running: Running,
    /// The most connections that it has held.
    pub(super) held: u32,
    /// How it was warmed up until its rate was steady.
    warming: Option<Warming>,
}

impl Waiting {
    pub(super) const fn new(running: Running, held: u32, warming: Option<Warming>) -> Self {
        Self {
            running,
            held,
            warming,
        }
    }
}

impl Standby {
    /// For blocks of several servers. Without a guard nothing is frozen: it would outlive us.
    pub(super) fn new(is_shared: bool) -> Self {
        Self {
            guard: is_shared.then(|| Guard::start().ok()).flatten(),
            ..Self::default()
        }
    }

    pub(super) fn has(&self, racer: Racer) -> bool {
        self.waiting.contains_key(&racer)
    }

    /// Who stands there.
    pub(super) fn racers(&self) -> BTreeSet<Racer> {
        self.waiting.keys().copied().collect()
    }

    /// Ends all but these.
    pub(super) fn keep(&mut self, racers: &[Racer]) {
        let others: Vec<Racer> = self.waiting.keys().copied().collect();
        for racer in others.iter().filter(|racer| !racers.contains(racer)) {
            if let Some(waiting) = self.waiting.remove(racer) {
                self.end(waiting);
            }
        }
    }

    /// Ends one that was taken.
    pub(super) fn end(&self, waiting: Waiting) {
        waiting.running.stop_and_forget(self.guard.as_ref());
    }

    /// Lets a server run again and hands it out. Whether it was frozen, and so has to show that it
    /// answers; or why it is not what it was.
    pub(super) fn take(&mut self, racer: Racer) -> Option<(Waiting, Result<bool, String>)> {
        let mut waiting = self.waiting.remove(&racer)?;
        let state = waiting.running.wake();
        Some((waiting, state))
    }

    /// What is to be stored about a server that was taken or started.
    pub(super) fn standing(&self, taken: &Waiting) -> Standing {
        let neighbours = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        Standing {
            neighbours,
            freezing: if neighbours == 0 {
                Freezing::None
            } else {
                self.freezing
            },
            connections_before: taken.held,
            warming: taken.warming,
        }
    }

    /// Has a server wait, frozen if the others are and it is one of several. One that does not end
    /// its connections is ended itself: it would go on with them later.
    pub(super) fn put(&mut self, racer: Racer, mut waiting: Waiting, is_shared: bool) {
        if is_shared {
            if waiting.running.drain().is_err() {
                return self.end(waiting);
            }
            self.freeze(&mut waiting);
        }
        self.waiting.insert(racer, waiting);
    }

    fn freeze(&mut self, waiting: &mut Waiting) {
        let Some(guard) = &self.guard else {
            return;
        };
        match waiting.running.freeze(guard) {
            Ok(freezing) => self.freezing = freezing,
            Err(_) => {
                self.guard = None;
                self.freezing = Freezing::None;
                for waiting in self.waiting.values_mut() {
                    waiting.running.thaw();
                }
            }
        }
    }
}
