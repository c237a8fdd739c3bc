//! What other programs did on the CPUs of a probe meanwhile.
//!
//! A child that has to wait for a stranger looks like a second branch, and a stranger who comes
//! halfway like a step. So the time that strangers used is measured: the busy time of the CPUs less
//! what all processes of the probe used.

use std::fs;
use std::path::Path;

use model::{Instant, Span};
use sys::counters::process;
use sys::{clock, syscall::limit::cpu_of_children};

/// A reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    busy: Option<Span>,
    ours: Option<Span>,
    /// What the server that is asked has used, if it is a process of this machine.
    server: Span,
    at: Instant,
}

/// What was seen over some readings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    strangers: Span,
    capacity: Span,
}

/// The CPUs of a probe: that of the pass and that of its server, where there are two.
pub fn cpus() -> (Option<u32>, Option<u32>) {
    let allowed = sys::cpu::allowed().unwrap_or_default();
    match allowed.as_slice() {
        // The last CPU for the pass: the first one usually serves most interrupts.
        [first, .., last] => (Some(*last), Some(*first)),
        _ => (None, None),
    }
}

/// What has been used until now; `server` is the process that is asked, where it was not started by
/// the probe: its work is part of what is measured.
pub(super) fn read(root: &Path, server: Option<u32>) -> Reading {
    let stat = fs::read_to_string(root.join("stat")).unwrap_or_default();
    Reading {
        busy: busy(&stat, &chosen()),
        ours: cpu_of_children().ok(),
        server: server.map_or(Span::ZERO, |pid| used(root, pid)),
        at: clock::monotonic(),
    }
}

/// CPU time of a process and its descendants.
fn used(root: &Path, pid: u32) -> Span {
    let tree = process::tree(root, pid);
    tree.iter().map(|stat| stat.user + stat.system).sum()
}

fn chosen() -> Vec<u32> {
    let (pass, server) = cpus();
    pass.into_iter().chain(server).collect()
}

/// Time that those CPUs were neither idle nor serving interrupts; of all where none is given.
fn busy(stat: &str, cpus: &[u32]) -> Option<Span> {
    let names: Vec<String> = if cpus.is_empty() {
        vec!["cpu".to_owned()]
    } else {
        cpus.iter().map(|cpu| format!("cpu{cpu}")).collect()
    };
    let mut ticks = 0;
    for name in names {
        let line = stat
            .lines()
            .find(|line| line.split(' ').next() == Some(&name))?;
        let words: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .map_while(|word| word.parse().ok())
            .collect();
        // user, nice, system; idle and waiting for disks; interrupts; stolen by other machines.
        ticks += words.get(..3)?.iter().sum::<u64>() + words.get(7).copied().unwrap_or(0);
    }
    Some(Span::from_ms(10) * ticks)
}

impl Seen {
    /// Adds what happened between two readings.
    pub(super) fn add(&mut self, before: Reading, after: Reading) {
        let grown =
            |before: Option<Span>, after: Option<Span>| Some(after?.saturating_sub(before?));
        let (Some(busy), Some(ours)) = (
            grown(before.busy, after.busy),
            grown(before.ours, after.ours),
        ) else {
            return;
        };
        let count = u64::try_from(chosen().len().max(1)).unwrap_or(1);
        let server = after.server.saturating_sub(before.server);
        self.strangers += busy.saturating_sub(ours).saturating_sub(server);
        self.capacity += after.at.saturating_since(before.at) * count;
    }

    /// Their share of those CPUs; none where too little time passed for a clock of 10 ms.
    pub(super) fn share(&self) -> Option<f64> {
        (self.capacity >= Span::from_ms(200))
            .then(|| self.strangers.as_s_f64() / self.capacity.as_s_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 10 50 900 5 7 8 3 0 0\n\
                        cpu0 60 10 30 400 5 7 8 1 0 0\n\
                        cpu1 40 0 20 500 0 0 0 2 0 0\nintr 12345\n";

    #[test]
    fn busy_is_neither_idle_nor_interrupts() {
        let ticks = |cpus: &[u32]| busy(STAT, cpus).map(|span| span.as_ns() / 10_000_000);
        assert_eq!(ticks(&[1]), Some(62));
        assert_eq!(ticks(&[0, 1]), Some(163));
        assert_eq!(ticks(&[]), Some(163));
        assert_eq!(ticks(&[7]), None);
        assert_eq!(busy("", &[]), None);
    }

    #[test]
    fn strangers_are_what_is_left() {
        let reading = |busy, ours, at: u64| Reading {
            busy: Some(Span::from_ms(busy)),
            ours: Some(Span::from_ms(ours)),
            server: Span::ZERO,
            at: Instant::from_ns(at * 1_000_000),
        };
        let mut seen = Seen::default();
        assert_eq!(seen.share(), None);
        seen.add(reading(0, 0, 0), reading(600, 400, 1_000));
        let cpus = chosen().len().max(1);
        let share = seen.share().unwrap() * f64::from(u32::try_from(cpus).unwrap());
        assert!((share - 0.2).abs() < 1e-9, "{share}");
        seen.add(reading(0, 0, 0), reading(0, 50, 10));
        // A server that is asked is no stranger.
        let mut seen = Seen::default();
        let served = Reading {
            server: Span::from_ms(200),
            ..reading(600, 400, 1_000)
        };
        seen.add(reading(0, 0, 0), served);
        assert_eq!(seen.share(), Some(0.0));
    }
}
