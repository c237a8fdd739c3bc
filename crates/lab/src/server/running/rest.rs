//! What a server is told between trials: to wait, without connections and frozen, while another one
//! is measured.

use std::io;
use std::time::{Duration, Instant};

use model::trial::{Freezing, Standing};
use sys::counters::socket;
use sys::process::Guard;

use super::{Running, shared};

/// How long it may take to end connections that we have closed.
const DRAIN_LIMIT: Duration = Duration::from_secs(3);
/// How long to wait before it is asked again, at first and in the end.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LAST_PAUSE: Duration = Duration::from_millis(10);
/// So much longer than an answer took the next question is waited for: to ask costs the kernel a
/// walk over all that connections may be in, some milliseconds where memory is large.
const REST: u32 = 4;

impl Running {
    /// Waits until it has ended every connection. Says what is left if that takes too long.
    pub fn drain(&self) -> Result<(), String> {
        if self.external.is_some() {
            // Others may ask it, too.
            return Ok(());
        }
        let until = Instant::now() + DRAIN_LIMIT;
        let mut pause = FIRST_PAUSE;
        loop {
            let asked = Instant::now();
            // Where the kernel does not tell, it has been asked for nothing for a moment. Nor does
            // it know connections of QUIC: of their end the generator told the server.
            let left = socket::connections(self.port()).unwrap_or(0);
            let answered = Instant::now();
            if left == 0 {
                return Ok(());
            }
            if answered > until {
                return Err(format!(
                    "it still holds {left} connections {} s after they were closed",
                    DRAIN_LIMIT.as_secs()
                ));
            }
            std::thread::sleep(pause.max((answered - asked) * REST));
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Keeps all its processes from running; `guard` ends them should we be killed meanwhile. After
    /// an error all of them run.
    pub fn freeze(&mut self, guard: &Guard) -> io::Result<Freezing> {
        let freezing = self.freeze_all(guard).inspect_err(|_| self.thaw())?;
        // Read while nothing runs: until a moment ago one of them may have ended by itself.
        self.frozen = Some(self.processes());
        Ok(freezing)
    }

    /// Lets it run again, and says whether it was frozen; or what it has lost meanwhile.
    pub fn wake(&mut self) -> Result<bool, String> {
        let Some(before) = self.frozen.take() else {
            return Ok(false);
        };
        // Read while nothing runs yet: some servers have helpers that wait only for their end.
        let is_whole = self.processes() == before;
        self.thaw();
        match self.ended("while it was frozen") {
            Some(why) => Err(why),
            None if is_whole => Ok(true),
            None => Err("some of its processes ended while it was frozen".to_owned()),
        }
    }

    fn freeze_all(&mut self, guard: &Guard) -> io::Result<Freezing> {
        for (index, process) in self.processes.iter().enumerate() {
            guard.note(&process.child, shared(self.leaf.as_ref(), index))?;
        }
        for (index, process) in self.processes.iter_mut().enumerate() {
            let freezing = process.child.freeze(shared(self.leaf.as_ref(), index))?;
            if freezing == Freezing::Cgroup {
                // The whole rig is in one control group.
                return Ok(freezing);
            }
        }
        Ok(Freezing::Signals)
    }

    /// Lets it run again, if it was frozen.
    pub fn thaw(&mut self) {
        self.frozen = None;
        for (index, process) in self.processes.iter_mut().enumerate() {
            process.child.thaw(shared(self.leaf.as_ref(), index));
        }
    }

    /// Ends it. `guard` forgets it: its pids may be others' soon.
    pub fn stop_and_forget(self, guard: Option<&Guard>) {
        let pids: Vec<u32> = self.processes.iter().map(|one| one.child.pid()).collect();
        self.stop();
        for pid in pids {
            if let Some(guard) = guard {
                guard.forget(pid);
            }
        }
    }

    /// What is to be stored about its time before a trial.
    pub const fn set_standing(&mut self, standing: Standing) {
        self.facts.standing = Some(standing);
    }
}
