//! Where the time of exchanges went, as far as the generator saw it.

use model::{Distribution, Span, Trial};
use verdict::summary::read;

use super::digest::Digest;
use super::time::Time;

/// Its parts: the time of a name's look-up, of connections, and of exchanges.
pub const PHASES: [&str; 7] = [
    "name look-up",
    "connect",
    "TLS handshake",
    "late",
    "blocked",
    "first byte",
    "transfer",
];

/// The place of late time among them.
pub const LATE: usize = 3;

/// The median and the 99th percentile of each of [`PHASES`] that a trial has and its sample
/// supports.
pub(super) type Phases = [[Option<Time>; 2]; PHASES.len()];

pub(super) fn phases(trial: &Trial) -> Phases {
    let record = &trial.record;
    let lookup = record.lookup.as_ref().map(|lookup| &lookup.time);
    let all: [Option<&Distribution>; PHASES.len()] = [
        None,
        Some(&record.connect_time),
        Some(&record.tls_time),
        Some(&record.late_time),
        Some(&record.blocked_time),
        Some(&record.first_byte_time),
        Some(&record.transfer_time),
    ];
    let at = |times: &Distribution, q: f64| {
        let (span, is_bound) = read(times, q).at_least(times, trial.plan.timeout)?;
        let us = span.as_us_f64();
        Some(Time { us, is_bound })
    };
    let mut phases = all.map(|times| [0.5, 0.99].map(|q| times.and_then(|times| at(times, q))));
    // A name is looked up once or a few times: that has no quantiles.
    phases[0][0] = lookup.and_then(|times| times.max()).map(|longest| Time {
        us: longest.as_us_f64(),
        is_bound: false,
    });
    // Below a microsecond nobody waited.
    if let Some(blocked) = phases[4][1]
        && blocked.us < Span::from_us(1).as_us_f64()
    {
        phases[4] = [None; 2];
    }
    phases
}

impl Digest {
    /// The 99th percentile of late time in microseconds.
    pub fn late_p99_us(&self) -> Option<f64> {
        self.phases[LATE][1].map(|time| time.us)
    }
}
