//! STA-03: a rate that drifts has no single value.
//!
//! Reads the rate of each interval of the window, whatever its length; fewer than ten show no
//! trend, and then the claim is partial. The slope is Theil and Sen's (the median of all pairwise
//! slopes), its significance Mann and Kendall's, so that one odd second is neither.
//!
//! Where a point has several rounds, their drifts are judged together (ADR 0025). A server that is
//! not warm, a token bucket and a log that grows bend each round the same way. What bends one round
//! up and another one down is noise, which the interval over the rounds shows already: to strike
//! such rounds would be to choose among results by their values.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::summary::{Drift, INTERVALS_MIN, Rounds, Trend};
use crate::thresholds::DRIFT;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-03",
    name: "non-stationary",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Theil-Sen and Mann-Kendall; Uta et al., NSDI 2020: clouds shape by token buckets",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let own = match peers.entry.trend {
        Trend::Staged => return Judgement::NotApplicable,
        Trend::Unread => return Judgement::unknown("rates per interval"),
        Trend::TooFew(intervals) => {
            return Judgement::CannotApply(format!(
                "a trend needs {INTERVALS_MIN} intervals, and this window has {intervals}"
            ));
        }
        Trend::Seen(drift) => drift,
    };
    let rounds: Vec<Drift> = peers
        .point()
        .into_iter()
        .flat_map(|point| peers.undisturbed(&point.trials))
        .filter_map(|entry| match entry.trend {
            Trend::Seen(drift) => Some(drift),
            _ => None,
        })
        .collect();
    let what = if peers.entry.is_scheduled {
        "median response time"
    } else {
        "rate"
    };
    let severity = severity(own).filter(|_| own.is_significant);
    let measured = peers.point().map_or(0, |point| point.trials.len());
    if rounds.len() < 2 && measured > 1 {
        // By itself a round would be accused for what it measured.
        return Judgement::too_disturbed(rounds.len(), measured);
    }
    if rounds.len() < 2 {
        let Some(severity) = severity else {
            return Judgement::Silent;
        };
        let say = format!(
            "The {what} {} over the window: it was not steady.",
            moved(own)
        );
        return found(severity, say, own, None);
    }
    match (common(&rounds), severity) {
        (Some(common), _) => {
            let drift = common.drift;
            let say = format!(
                "The {what} {} over the window, by the median of {} rounds (at least {}): it was \
                 not steady.",
                moved(drift),
                rounds.len(),
                words::share(common.at_least)
            );
            found(common.severity, say, drift, Some(common.at_least))
        }
        (None, Some(_)) => {
            let say = format!(
                "The {what} {} over this window but not over the others: that is part of the \
                 spread between rounds.",
                moved(own)
            );
            found(Severity::Note, say, own, None)
        }
        (None, None) => Judgement::Silent,
    }
}

/// How far it drifts matters, not how surely.
fn severity(drift: Drift) -> Option<Severity> {
    DRIFT.severity(drift.share.abs())
}

/// What the windows of several rounds have in common.
struct Common {
    /// The drift of their median.
    drift: Drift,
    /// The drift that they have for sure.
    at_least: f64,
    severity: Severity,
}

/// The drift that the rounds have in common, and what it does. What is sure of it counts: the end
/// of the interval of their median that is nearer to zero, or the drift that more than half of them
/// reach, the same way and each of them for sure.
///
/// The median alone would not do. Of 20 points with 8 rounds of noise each, one in six reports has
/// a point whose rounds all drift the same way by chance, some of them hardly.
fn common(rounds: &[Drift]) -> Option<Common> {
    let summary = Rounds::of(rounds.iter().map(|round| round.share))?;
    let way = summary.median.signum();
    let by_interval = summary.interval.map_or(0.0, |interval| {
        (interval.low * way).min(interval.high * way)
    });
    let mut sure: Vec<f64> = rounds
        .iter()
        .filter(|round| round.is_significant && round.share * way > 0.0)
        .map(|round| round.share.abs())
        .collect();
    sure.sort_by(|one, other| other.total_cmp(one));
    // More than half of the rounds drift by as much.
    let by_majority = sure.get(rounds.len() / 2).copied().unwrap_or(0.0);
    let at_least = by_interval.max(by_majority);
    Some(Common {
        drift: Drift {
            share: summary.median,
            is_significant: true,
            intervals: rounds.iter().map(|round| round.intervals).min()?,
        },
        at_least,
        severity: DRIFT.severity(at_least)?,
    })
}

fn found(severity: Severity, say: String, drift: Drift, at_least: Option<f64>) -> Judgement {
    let mut found = Found::all(CHECK.claims, severity, say)
        .evidence("drift", drift.share)
        .evidence("intervals", drift.intervals)
        .limit(&DRIFT);
    if let Some(at_least) = at_least {
        found = found.evidence("drift_at_least", at_least);
    }
    if severity == Severity::Note {
        return found.into();
    }
    found
        .fix(
            "Warm up longer (load: --warmup; lab: settle for new connections, warmup for a server \
             that has just started); look for thermal limits, token buckets, growing logs",
        )
        .into()
}

/// `rose by 12 %`.
fn moved(drift: Drift) -> String {
    let way = if drift.share > 0.0 { "rose" } else { "fell" };
    format!("{way} by {}", words::share(drift.share.abs()))
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF as _, Normal};

    use super::*;

    /// The share of 2,000 points that the rule accuses, where the rate of each of 20 intervals
    /// strays by a tenth from that of the one before, and drifts by `drift` over the window, with
    /// `severity` or worse.
    fn accused(rounds: usize, drift: f64, severity: Severity) -> f64 {
        let normal = Normal::new(0.0, 1.0).unwrap();
        let mut random = model::Random::new(1);
        let mut draw = || {
            let high = u32::try_from(random.next_u64() >> 32).unwrap();
            normal.inverse_cdf((f64::from(high) + 0.5) / 4_294_967_296.0)
        };
        let mut window = || {
            let mut level: f64 = 100.0;
            let values: Vec<f64> = (0..20)
                .map(|place| {
                    level += 10.0 * draw() + (100.0 - level) / 4.0;
                    level.max(1.0) + drift * 100.0 * f64::from(place) / 20.0
                })
                .collect();
            Drift::over(&values)
        };
        let mut count = 0_u32;
        for _ in 0..2_000 {
            let rounds: Vec<Drift> = (0..rounds).map(|_| window()).collect();
            let found = common(&rounds).map(|common| common.severity);
            count += u32::from(found >= Some(severity));
        }
        f64::from(count) / 2_000.0
    }

    #[test]
    fn noise_is_not_taken_for_a_drift() {
        for rounds in [2, 3, 4, 6, 8] {
            let share = accused(rounds, 0.0, Severity::Suspect);
            assert!(share < 0.06, "{rounds} rounds: {share}");
        }
    }

    /// A report has twenty points, and one that is invalid is struck from its answer.
    #[test]
    fn noise_makes_no_point_invalid() {
        for rounds in [6, 8] {
            let share = accused(rounds, 0.0, Severity::Invalid);
            assert!(share < 0.005, "{rounds} rounds: {share}");
        }
    }

    /// Eight rounds of a server on a machine whose speed changed by a quarter in steps.
    #[test]
    fn rounds_that_drift_one_way_by_chance_make_no_point_invalid() {
        let shares = [0.04, 0.39, 0.03, 0.29, 0.18, 0.02, 0.13, 0.16];
        let rounds = shares.map(|share| Drift {
            share,
            is_significant: false,
            intervals: 10,
        });
        let severity = common(&rounds).map(|common| common.severity);
        assert!(severity < Some(Severity::Invalid), "{severity:?}");
    }

    #[test]
    fn a_drift_of_all_rounds_is_seen_through_noise() {
        let suspect = accused(8, 0.5, Severity::Suspect);
        assert!(suspect > 0.9, "{suspect}");
        let invalid = accused(8, 0.8, Severity::Invalid);
        assert!(invalid > 0.9, "{invalid}");
    }
}
