//! Waiting until a process that was started listens, with all the processes that it starts itself.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use model::plan::Protocol;
use sys::counters::process;

use super::{AT_ONCE, Running, ears};
use crate::error::LabError;

impl Running {
    /// Waits for the process that was started last; `before` were there before it.
    pub(super) fn wait_until_it_listens(&mut self, before: usize) -> Result<(), LabError> {
        let launch = &self.front().launch;
        let (port, listens, within) = (launch.port, launch.listens, launch.within);
        let protocol = self.heard_of_the_last();
        let processes = before + launch.processes;
        let until = Instant::now() + within;
        loop {
            if let Some(why) = self.ended(AT_ONCE) {
                return Err(self.failed(why));
            }
            let is_heard = !listens
                || ears::ears(port, self.address, protocol).is_ok_and(|found| !found.is_empty());
            let count = self.processes().len();
            let idle = self.lacking_threads();
            if is_heard && count >= processes && idle.is_none() {
                return Ok(());
            }
            if Instant::now() > until {
                let lacks = match (is_heard, idle) {
                    (false, _) => {
                        let port = ears::port_words(port, protocol);
                        format!("it does not listen on {port}")
                    }
                    (true, Some(threads)) if count >= processes => threads,
                    (true, _) => format!("it has {count} of {processes} processes"),
                };
                return Err(self.not_ready(&lacks));
            }
            // The pidfd wakes us at once if it ends.
            if let Some(front) = self.processes.last_mut() {
                let _ended = front.child.wait(Duration::from_millis(2));
            }
        }
    }

    /// What the process that was started last has to hear: of a rig, those behind the one that is
    /// asked are asked over TCP.
    fn heard_of_the_last(&self) -> Protocol {
        match self.front().launch.index + 1 == self.installed.programs.len() {
            true => self.speaks.protocol,
            false => Protocol::Http1,
        }
    }

    /// What the process that was started last lacks of threads that serve, in the one of its tree
    /// that has most. What cannot be read is taken for right.
    fn lacking_threads(&self) -> Option<String> {
        let front = self.front();
        let wanted = front.launch.threads?;
        let root = Path::new("/proc");
        let tree = process::tree(root, front.child.pid());
        let loops = tree.iter().map(|one| process::event_loops(root, one.pid));
        let most = loops.collect::<io::Result<Vec<usize>>>().ok()?;
        let most = most.into_iter().max()?;
        (most < wanted).then(|| format!("it has {most} of {wanted} threads that serve"))
    }

    fn not_ready(&mut self, lacks: &str) -> LabError {
        let said = self.complaint();
        let launch = &self.front().launch;
        let said = match said.is_empty() {
            true => String::new(),
            false => format!(": {said}"),
        };
        self.failed(format!(
            "it is not ready after {} s ({}): {lacks}{said}",
            launch.within.as_secs_f64(),
            launch.ready_place,
        ))
    }
}
