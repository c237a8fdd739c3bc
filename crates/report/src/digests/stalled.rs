//! Connections that got no answer in the whole window, although a request was under way on each.

use model::{Span, Trial};
use verdict::analysis::Measure;

use super::{Cell, Digest};

/// What they are, for readers.
pub(crate) const STALLED: &str = "A stalled connection got no answer in the whole window, although \
    a request was under way on it all the time: sent before the window began, and not over when it \
    ended. The number is the median of the rounds, and beside it stands the most of one round \
    where that is more. Where a record does not count them (those made before they were counted do \
    not), it is the most there can have been: how long the requests under way at the end of the \
    window had been so, added up, divided by the length of the window.";

/// So many of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalled {
    /// How many.
    pub connections: f64,
    /// Whether they are at most so many.
    pub is_at_most: bool,
}

/// So many of a point.
#[derive(Clone, Debug)]
pub struct StalledOver {
    /// Over the rounds that count.
    pub measure: Measure,
    /// Whether they are at most so many.
    pub is_at_most: bool,
    /// The most of a round, and whether they are at most so many.
    pub most: (f64, bool),
}

impl Stalled {
    /// None where connections may have several requests under way, and where nothing tells.
    #[expect(clippy::cast_precision_loss, reason = "a count of connections")]
    pub(super) fn of(trial: &Trial) -> Option<Self> {
        let (record, plan) = (&trial.record, &trial.plan);
        let has_streams = record.http2.is_some() || record.quic.is_some();
        if has_streams || plan.pipeline > 1 || record.window.is_zero() {
            return None;
        }
        let workers = record.workers.iter().filter(|one| one.connections > 0);
        let counted: Option<u64> = workers.clone().map(|one| one.stalled).sum();
        let ages: Option<Vec<Span>> = workers.map(|one| one.age_at_end).collect();
        let most = |ages: Vec<Span>| {
            let all: u64 = ages.iter().map(|age| age.as_ns()).sum();
            (all / record.window.as_ns()).min(u64::from(plan.connections))
        };
        let (count, is_counted) = match counted {
            Some(count) => (count, true),
            None => (most(ages?), false),
        };
        Some(Self {
            connections: count as f64,
            is_at_most: !is_counted && count > 0,
        })
    }
}

impl Cell<'_> {
    /// Its stalled connections; none where no round that counts tells.
    pub(crate) fn stalled(&self) -> Option<StalledOver> {
        let of = |digest: &Digest| digest.stalled.map(|stalled| stalled.connections);
        let measure = self.value(self.response_claim(), of)?;
        let most = self.counting().filter_map(of).max_by(f64::total_cmp)?;
        let is_bound = |digest: &Digest| digest.stalled.is_some_and(|one| one.is_at_most);
        let has_bounds = self.counting().any(is_bound);
        Some(StalledOver {
            is_at_most: has_bounds && measure.median > 0.0,
            measure,
            most: (most, has_bounds && most > 0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    /// Of a trial of one worker whose window is a second long.
    fn of(stalled: Option<u64>, age_ms: Option<u64>, change: fn(&mut Trial)) -> Option<Stalled> {
        let mut trial = fixture::closed();
        trial.record.window = Span::from_s(1);
        trial.record.workers.truncate(1);
        let worker = &mut trial.record.workers[0];
        (worker.stalled, worker.age_at_end) = (stalled, age_ms.map(Span::from_ms));
        worker.connections = 64;
        change(&mut trial);
        Stalled::of(&trial)
    }

    #[test]
    fn it_is_what_was_counted_or_a_bound_or_not_known() {
        let found = |connections, is_at_most| {
            Some(Stalled {
                connections,
                is_at_most,
            })
        };
        assert_eq!(of(Some(0), Some(3_500), |_| {}), found(0.0, false));
        assert_eq!(of(Some(2), None, |_| {}), found(2.0, false));
        assert_eq!(of(None, Some(3_500), |_| {}), found(3.0, true));
        // One that was stalled would have been under way for a second alone.
        assert_eq!(of(None, Some(999), |_| {}), found(0.0, false));
        assert_eq!(of(None, Some(1_000_000), |_| {}), found(64.0, true));
        assert_eq!(of(None, None, |_| {}), None);
        let two = |trial: &mut Trial| trial.plan.pipeline = 2;
        assert_eq!(of(Some(2), None, two), None);
        let http2 = |trial: &mut Trial| trial.record.http2 = Some(Default::default());
        assert_eq!(of(Some(2), None, http2), None);
    }
}
