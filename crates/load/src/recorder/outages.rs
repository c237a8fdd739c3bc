//! When no connection could be made: from the first connect that failed to the next that succeeded.
//!
//! Cost: nothing where connects succeed, but a look at one option for each.

use model::record::Outage;
use model::units::{Instant, Span};

/// At most so many are kept: the longest.
const OUTAGES_MAX: usize = 32;

/// One worker's outages.
#[derive(Debug)]
pub(super) struct Outages {
    since: Option<Instant>,
    /// First and last instant of each. It never grows beyond what it was made for.
    over: Vec<(Instant, Instant)>,
}

impl Outages {
    pub(super) fn new() -> Self {
        Self {
            since: None,
            over: Vec::with_capacity(OUTAGES_MAX),
        }
    }

    /// A connect failed at `at`.
    #[cold]
    pub(super) fn failed(&mut self, at: Instant) {
        self.since.get_or_insert(at);
    }

    /// A connect succeeded at `at`.
    #[inline]
    pub(super) fn established(&mut self, at: Instant) {
        if let Some(since) = self.since.take() {
            self.keep(since, at);
        }
    }

    #[cold]
    fn keep(&mut self, since: Instant, until: Instant) {
        let length = |outage: &(Instant, Instant)| outage.1.saturating_since(outage.0);
        if self.over.len() < OUTAGES_MAX {
            self.over.push((since, until));
            return;
        }
        let shortest = self.over.iter_mut().min_by_key(|outage| length(outage));
        if let Some(shortest) =
            shortest.filter(|shortest| length(shortest) < until.saturating_since(since))
        {
            *shortest = (since, until);
        }
    }

    /// Those of the window, as far as they lie in it.
    pub(super) fn finish(mut self, window_start: Instant, window_end: Instant) -> Vec<Outage> {
        self.established(window_end);
        let mut outages: Vec<Outage> = self
            .over
            .iter()
            .filter_map(|(since, until)| {
                let since = (*since).max(window_start);
                let length = (*until).min(window_end).saturating_since(since);
                (length > Span::ZERO).then(|| Outage {
                    start: since - window_start,
                    length,
                })
            })
            .collect();
        outages.sort_by_key(|outage| outage.start);
        outages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    fn outage(start: u64, length: u64) -> Outage {
        Outage {
            start: Span::from_ms(start),
            length: Span::from_ms(length),
        }
    }

    #[test]
    fn an_outage_lasts_from_the_first_failure_to_the_next_success() {
        let mut outages = Outages::new();
        outages.established(at(1_000));
        for ms in [2_100, 2_110, 2_900] {
            outages.failed(at(ms));
        }
        outages.established(at(3_100));
        outages.established(at(3_200));
        outages.failed(at(5_900));
        assert_eq!(
            outages.finish(at(1_000), at(6_000)),
            [outage(1_100, 1_000), outage(4_900, 100)]
        );
    }

    #[test]
    fn only_what_lies_in_the_window_counts() {
        let mut outages = Outages::new();
        outages.failed(at(100));
        outages.established(at(200));
        outages.failed(at(900));
        outages.established(at(1_200));
        assert_eq!(outages.finish(at(1_000), at(6_000)), [outage(0, 200)]);
    }

    #[test]
    fn of_too_many_the_longest_are_kept() {
        let mut outages = Outages::new();
        for number in 0..100 {
            outages.failed(at(number * 100));
            outages.established(at(number * 100 + number.max(1)));
        }
        let kept = outages.finish(at(0), at(20_000));
        assert_eq!(kept.len(), OUTAGES_MAX);
        assert!(kept.iter().all(|outage| outage.length >= Span::from_ms(68)));
    }
}
