//! Whose consumption is metered: the processes that what is asked for needs. One start serves all
//! workloads, so that some processes wait beside while another handler answers.

use std::path::Path;

use sys::counters::process;

use super::{Process, Running};
use crate::meter::Group;

impl Running {
    /// Whose consumption is metered.
    pub fn group(&self) -> Option<Group<'_>> {
        Some(Group {
            pid: self.pid()?,
            leaf: self.leaf(),
            idle: &self.idle,
        })
    }

    /// The processes behind the one that is asked, where it is one of several.
    pub fn behind(&self) -> Vec<u32> {
        let behind = self.processes.split_last().map(|(_, behind)| behind);
        let behind = behind.unwrap_or_default().iter();
        family(behind.filter(|one| self.takes_part(one)))
    }

    /// What the next load asks for, by what a server must offer for it: what only other answers
    /// need waits beside, and is not metered.
    pub fn ask_for(&mut self, needs: &[String]) {
        self.asked_for = Some(needs.to_vec());
    }

    /// Whether what the load asks for needs that process.
    fn takes_part(&self, process: &Process) -> bool {
        let handlers = &process.launch.handlers;
        let Some(asked_for) = &self.asked_for else {
            return true;
        };
        handlers.is_empty() || handlers.iter().any(|name| asked_for.contains(name))
    }

    /// Its processes that the load does not need.
    pub(super) fn idle(&self) -> Vec<u32> {
        let processes = self.processes.iter();
        family(processes.filter(|one| !self.takes_part(one)))
    }
}

/// The processes that descend from these, and they themselves.
fn family<'p>(processes: impl Iterator<Item = &'p Process>) -> Vec<u32> {
    let first = processes.map(|one| one.child.pid());
    let trees = first.flat_map(|pid| process::tree(Path::new("/proc"), pid));
    trees.map(|stat| stat.pid).collect()
}
