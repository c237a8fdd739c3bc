//! The server's own limit where generator and server were both near theirs.
//!
//! Then a rate is neither clearly the server's nor clearly the generator's. What the server could
//! have done follows from how busy its busiest thread or CPU was: rate ÷ busy share. Batches and
//! locks bend that line: a server that finds fewer requests at once spends more time on each. Four
//! servers were throttled to 50, 70 and 90 % of their limits (see METHODOLOGY.md). The limits of
//! those busy for more than 95 % of the time were within 10 % of the estimate, of those between 85
//! and 95 % up to a third above it. So the rate is the server's own limit only beyond 95 %, and
//! then it is so however busy the generator was.

use model::{Severity, Span, Trial};

use crate::check::Facts;
use crate::thresholds::{BOTH_BUSY, IDLE_SERVER, LIMIT_ERROR, LIMIT_ERROR_BELOW, SERVER_FULL};

/// An estimate of a server's own limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSided {
    /// How busy the server's busiest thread or CPU was.
    pub server_busy: f64,
    /// How busy the generator's busiest thread was.
    pub generator_busy: f64,
    /// Right answers per second that the server could give.
    pub estimate: f64,
    /// At least so many: not fewer than it gave.
    pub low: f64,
    /// At most so many.
    pub high: f64,
    /// Whether the rate is the server's limit within the error of the estimate.
    pub is_server_limit: bool,
}

/// The server's own limit by its `rate` and by how busy both sides were; none where either had more
/// than 15 % left.
pub fn two_sided(rate: f64, server_busy: f64, generator_busy: f64) -> Option<TwoSided> {
    let is_near = |busy: f64| BOTH_BUSY.severity(busy).is_some();
    if !is_near(server_busy) || !is_near(generator_busy) || rate <= 0.0 {
        return None;
    }
    // Two clocks that are read a moment apart may say a little more than all.
    let server_busy = server_busy.min(1.0);
    let is_full = is_full(server_busy);
    let above = if is_full {
        &LIMIT_ERROR
    } else {
        &LIMIT_ERROR_BELOW
    };
    let above = above
        .note
        .expect("the error of the estimate is its note level");
    let estimate = rate / server_busy;
    Some(TwoSided {
        server_busy,
        generator_busy: generator_busy.min(1.0),
        estimate,
        low: rate,
        high: estimate * (1.0 + above),
        is_server_limit: is_full,
    })
}

/// The same of a trial; none where it is not so, or where it cannot be told.
pub(crate) fn of_trial(facts: &Facts<'_>) -> Option<TwoSided> {
    let (_, generator) = facts.record.busiest_worker()?;
    two_sided(facts.record.achieved_rate, server_busy(facts)?, generator)
}

/// Whether the server gave all it had: its busiest thread or CPU was busy for more than 95 % of the
/// window. Then the rate is the server's own limit, within the error of the estimate; a generator
/// that was less busy than the server takes nothing away from that.
pub(crate) fn is_server_full(facts: &Facts<'_>) -> bool {
    server_busy(facts).is_some_and(is_full)
}

fn is_full(server_busy: f64) -> bool {
    SERVER_FULL.severity(server_busy).is_some()
}

/// How busy the server of `trial` was: its busiest thread or CPU, as a share of the window; none
/// where neither was read.
pub fn server_busy_share(trial: &Trial) -> Option<f64> {
    server_busy(&Facts::new(trial))
}

/// How busy the server's busiest thread was, or its busiest CPU: threads that share one are busy
/// in turn. A CPU that the generator shares is busy with the generator, too, and says nothing.
pub(crate) fn server_busy(facts: &Facts<'_>) -> Option<f64> {
    let thread = facts.trial.usage.server.as_ref().and_then(|server| {
        let busiest = server.busiest_thread?;
        (server.window > Span::ZERO).then(|| busiest.as_s_f64() / server.window.as_s_f64())
    });
    let system = facts.trial.usage.system.as_ref();
    let cpus = facts.server_cpus().unwrap_or_default();
    // Ticks of a short window are too coarse to divide by.
    let fine = system.filter(|system| system.tick_share() < 0.02);
    let shared = facts.trial.context.shared_cpus.as_ref();
    let own = fine.filter(|_| shared.is_none_or(Vec::is_empty));
    let cpu = own.and_then(|system| {
        let of_server = system.cpus.iter().filter(|usage| cpus.contains(&usage.cpu));
        of_server
            .map(|usage| usage.busy - usage.steal)
            .max_by(f64::total_cmp)
    });
    thread.into_iter().chain(cpu).max_by(f64::total_cmp)
}

/// Which side was the limit of a rate.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Side {
    /// The server, whose busiest thread or CPU had nothing left.
    Server,
    /// The generator.
    Generator,
    /// One of the two: both were near their limits.
    Either,
    /// Something else: neither was busy.
    Other,
}

impl Side {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "the server's CPU",
            Self::Generator => "the generator",
            Self::Either => "server or generator, both near their limits",
            Self::Other => "neither's CPU",
        }
    }
}

/// Which side was the limit of a trial, by how busy its server was and by the rules that spoke of
/// it; none where none of them names a side. A server that was busy all the time was the limit,
/// however busy the generator was (SRV-11). Where both sides were near theirs, SRV-11 alone does
/// not tell them apart. GEN-01 and GEN-02 name the generator where they object. SRV-05 says that
/// neither was busy; what it takes for a busy server is one that was the limit.
pub fn side<'r>(
    server_busy: Option<f64>,
    rules: impl IntoIterator<Item = (&'r str, Severity)>,
) -> Option<Side> {
    let (mut both, mut generator, mut other) = (false, false, false);
    for (rule, severity) in rules {
        match rule {
            "SRV-11" => both = true,
            "GEN-01" | "GEN-02" => generator |= severity > Severity::Note,
            "SRV-05" => other = true,
            _ => {}
        }
    }
    let is_busy = || server_busy.is_some_and(|busy| IDLE_SERVER.severity(busy).is_some());
    match () {
        () if server_busy.is_some_and(is_full) => Some(Side::Server),
        () if both => Some(Side::Either),
        () if generator => Some(Side::Generator),
        () if other => Some(Side::Other),
        () if is_busy() => Some(Side::Server),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_that_was_the_limit_is_the_one_that_rules_name() {
        let check = |busy: Option<f64>, rules: &[(&str, Severity)], expected: Option<Side>| {
            let found = side(busy, rules.iter().copied());
            assert_eq!(found, expected, "{busy:?} {rules:?}");
        };
        let saturated = ("GEN-01", Severity::Suspect);
        let near = ("GEN-02", Severity::Invalid);
        let both = ("SRV-11", Severity::Note);
        check(None, &[], None);
        check(Some(0.5), &[], None);
        check(Some(0.86), &[], Some(Side::Server));
        check(Some(0.96), &[saturated, near, both], Some(Side::Server));
        check(Some(0.9), &[saturated, both], Some(Side::Either));
        check(Some(0.5), &[saturated], Some(Side::Generator));
        check(None, &[near], Some(Side::Generator));
        check(Some(0.5), &[("GEN-02", Severity::Note)], None);
        check(
            Some(0.5),
            &[("SRV-05", Severity::Suspect)],
            Some(Side::Other),
        );
    }

    #[test]
    fn near_both_limits_the_servers_own_is_estimated() {
        let check = |rate: f64, server: f64, generator: f64, expected: Option<(f64, bool)>| {
            let found = two_sided(rate, server, generator);
            let found = found.map(|found| (found.estimate.round(), found.is_server_limit));
            assert_eq!(found, expected, "{rate} {server} {generator}");
        };
        check(50_000.0, 0.5, 0.99, None);
        check(50_000.0, 0.99, 0.5, None);
        check(50_000.0, 0.85, 0.99, None);
        check(0.0, 0.99, 0.99, None);
        check(50_000.0, 0.88, 0.90, Some((56_818.0, false)));
        check(50_000.0, 0.95, 0.90, Some((52_632.0, false)));
        check(50_000.0, 0.96, 0.90, Some((52_083.0, true)));
        check(50_000.0, 1.02, 0.99, Some((50_000.0, true)));
    }

    #[test]
    fn the_interval_is_as_wide_as_the_error_and_not_below_what_was_measured() {
        let found = two_sided(50_000.0, 0.88, 0.95).unwrap();
        assert!((found.low - 50_000.0).abs() < 1.0, "{found:?}");
        assert!((found.high - 76_705.0).abs() < 1.0, "{found:?}");
        let found = two_sided(50_000.0, 1.0, 0.95).unwrap();
        assert!((found.low - 50_000.0).abs() < 1e-6, "{found:?}");
        assert!((found.high - 55_000.0).abs() < 1e-6, "{found:?}");
    }
}
