//! Keeping a process tree from running without ending it: by the freezer of its control group, or
//! else by SIGSTOP to each of its processes.
//!
//! A tree that stands still uses no CPU, keeps its memory and its sockets, and goes on where it
//! was. What is not ended must not be left behind: see [`super::Guard`].

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use model::trial::Freezing;

use super::{Child, Leaf, Signal, send};
use crate::counters::process as reading;

/// How long a tree may take to stand still.
const FREEZE_LIMIT: Duration = Duration::from_secs(2);
/// How long until the kernel is asked again.
const LOOK: Duration = Duration::from_micros(200);

impl Child {
    /// Keeps it and all that descends from it from running; returns how. After an error all of them
    /// run.
    pub fn freeze(&mut self, leaf: Option<&Leaf>) -> io::Result<Freezing> {
        self.is_frozen = true;
        if let Some(leaf) = leaf
            && leaf.freeze(FREEZE_LIMIT).is_ok()
        {
            return Ok(Freezing::Cgroup);
        }
        self.stop_all(leaf)
            .inspect_err(|_| self.thaw(leaf))
            .map(|()| Freezing::Signals)
    }

    /// Lets all of them run again, if they were frozen.
    pub fn thaw(&mut self, leaf: Option<&Leaf>) {
        if !std::mem::take(&mut self.is_frozen) {
            return;
        }
        if let Some(leaf) = leaf {
            leaf.thaw();
        }
        // The first process last: it shall not see its workers stand still.
        let mut family = self.family(leaf);
        family.sort_unstable_by_key(|&pid| pid == self.pid());
        for pid in family {
            let _already_gone = send(pid, Signal::Continue);
        }
    }

    /// SIGSTOP to every process, the first one first, until all of them stand still.
    fn stop_all(&mut self, leaf: Option<&Leaf>) -> io::Result<()> {
        let until = Instant::now() + FREEZE_LIMIT;
        let mut told = BTreeSet::new();
        loop {
            let mut running = self.family(leaf);
            running.retain(|&pid| {
                let state = reading::stat(Path::new("/proc"), pid).map(|stat| stat.state);
                state.is_ok_and(|state| match state {
                    'T' | 't' | 'X' | 'Z' => false,
                    // It waits in the kernel, for a child of a vfork that stands still, say, and
                    // stops before it runs again.
                    'D' => !told.contains(&pid),
                    _ => true,
                })
            });
            if running.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("process {} does not stand still", running[0]),
                ));
            }
            running.sort_unstable_by_key(|&pid| pid != self.pid());
            for pid in running {
                told.insert(pid);
                let _already_gone = send(pid, Signal::Stop);
            }
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests;
