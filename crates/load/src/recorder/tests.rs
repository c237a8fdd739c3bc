use std::sync::Arc;

use model::event::Phase;
use model::outcome::Outcome;
use model::record::{INTERVALS_MAX, Record};
use model::units::{Bytes, Instant, Span};
use proptest::prelude::*;

use super::{Recorder, Settings};
use crate::exchange::{Cause, Exchange};
use crate::progress::Progress;

const fn at_ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

/// A window from 1 s to 3 s with intervals of 1 s.
fn settings(by_due: bool) -> Settings {
    Settings {
        worker: 0,
        by_due,
        window_start: at_ms(1_000),
        window_end: at_ms(3_000),
        interval: Span::from_s(1),
        samples: 2,
        progress: Arc::new(Progress::default()),
    }
}

fn exchange(due_ms: u64, ended_ms: u64, cause: Option<Cause>) -> Exchange {
    Exchange {
        due: at_ms(due_ms),
        ready: at_ms(due_ms),
        sent: Some(at_ms(due_ms)),
        first_byte: Some(at_ms(ended_ms)),
        ended: at_ms(ended_ms),
        content: Bytes::new(7),
        connect: None,
        cause,
    }
}

/// Records exchanges given by when they were due and ended, in milliseconds.
fn record(by_due: bool, exchanges: &[(u64, u64)]) -> Record {
    let mut recorder = Recorder::new(settings(by_due));
    let mut instants: Vec<_> = exchanges
        .iter()
        .flat_map(|(due, ended)| [(*due, None), (*ended, Some((*due, *ended)))])
        .collect();
    instants.sort_unstable();
    for (at, ended) in instants {
        match ended {
            None => {
                recorder.arrive(at_ms(at));
                recorder.begin(at_ms(at), at_ms(at));
            }
            Some((due, ended)) => recorder.end(&exchange(due, ended, None)),
        }
    }
    recorder.finish(at_ms(5_000))
}

const EXCHANGES: [(u64, u64); 5] = [
    (100, 500),
    (900, 1_400),
    (1_500, 2_500),
    (2_900, 3_400),
    (2_950, 2_990),
];

#[test]
fn an_open_loop_counts_by_due_and_a_closed_one_by_end() {
    let open = record(true, &EXCHANGES);
    assert_eq!(open.total.outcomes[Outcome::Ok], 3);
    assert_eq!((open.total.due, open.total.sent), (3, 3));
    assert_eq!(open.warmup_phase.outcomes[Outcome::Ok], 2);
    assert_eq!(open.response_time.max(), Some(Span::from_ms(1_000)));
    let closed = record(false, &EXCHANGES);
    assert_eq!(closed.total.outcomes[Outcome::Ok], 3);
    assert_eq!(closed.warmup_phase.outcomes[Outcome::Ok], 1);
    assert_eq!(closed.drain_phase.outcomes[Outcome::Ok], 1);
    for record in [open, closed] {
        assert_eq!(record.window, Span::from_s(2));
        assert_eq!(record.intervals.len(), 2);
        let in_intervals: u64 = record
            .intervals
            .iter()
            .map(|one| one.tally.outcomes.total())
            .sum();
        assert_eq!(in_intervals, record.total.outcomes.total());
        assert_eq!(record.total.bytes_content, Bytes::new(21));
        assert_eq!((record.samples.len(), record.samples_dropped), (2, 1));
    }
}

#[test]
fn what_is_in_flight_is_integrated_over_the_window() {
    let record = record(false, &EXCHANGES);
    // Within the window: 400 ms, 1,000 ms, 100 ms and 40 ms.
    assert_eq!(record.workers[0].outstanding_integral_ns, 1_540_000_000);
}

#[test]
fn what_is_not_right_is_censored_and_its_first_example_kept() {
    let mut recorder = Recorder::new(settings(false));
    for (ended, actual) in [(1_200, 503), (1_300, 500)] {
        let cause = Cause::Status {
            actual,
            expected: 200,
        };
        recorder.arrive(at_ms(1_100));
        recorder.begin(at_ms(1_100), at_ms(1_100));
        recorder.end(&exchange(1_100, ended, Some(cause)));
    }
    let record = recorder.finish(at_ms(5_000));
    assert_eq!(record.response_time.censored(), 2);
    assert_eq!(record.response_time.count(), 0);
    assert_eq!(record.total.bytes_content, Bytes::ZERO);
    assert_eq!(record.examples.len(), 1);
    assert_eq!(record.examples[0].text, "status 503 instead of 200");
    assert_eq!(record.examples[0].at, Some(Span::from_ms(200)));
}

#[test]
fn a_window_may_end_early() {
    let mut recorder = Recorder::new(settings(false));
    recorder.roll(at_ms(1_000));
    assert_eq!(recorder.phase(), Phase::Measurement);
    recorder.end_window(at_ms(1_700));
    assert_eq!(recorder.phase(), Phase::Drain);
    let record = recorder.finish(at_ms(2_000));
    assert_eq!(record.window, Span::from_ms(700));
    assert_eq!(record.intervals[0].length, Span::from_ms(700));
}

#[test]
fn a_long_window_has_coarser_intervals_and_loses_nothing() {
    let mut recorder = Recorder::new(Settings {
        window_end: Instant::FAR_FUTURE,
        interval: Span::from_ms(1),
        ..settings(false)
    });
    let count = INTERVALS_MAX as u64 * 5;
    for ms in 1_000..1_000 + count {
        recorder.arrive(at_ms(ms));
        recorder.begin(at_ms(ms), at_ms(ms));
        recorder.end(&exchange(ms, ms, None));
    }
    let record = recorder.finish(at_ms(1_000 + count));
    assert!(record.intervals.len() <= INTERVALS_MAX);
    assert_eq!(record.total.outcomes[Outcome::Ok], count);
    let mut expected = Span::ZERO;
    for interval in &record.intervals {
        assert_eq!(interval.start, expected);
        assert_eq!(
            u128::from(interval.tally.outcomes.total()),
            u128::from(interval.length.as_ns() / 1_000_000)
        );
        expected += interval.length;
    }
    assert_eq!(expected, record.window);
}

proptest! {
    /// However exchanges fall to workers, the merged record counts the same.
    #[test]
    fn records_of_workers_merge_to_the_whole(
        exchanges in proptest::collection::vec((0u64..4_000, 0u64..1_000, any::<bool>()), 0..60),
        by_due in any::<bool>(),
    ) {
        let all: Vec<_> = exchanges
            .iter()
            .filter(|(due, _, _)| *due < 3_000)
            .map(|(due, took, left)| ((*due, due + took), *left))
            .collect();
        let part = |side: Option<bool>| {
            let some: Vec<_> = all
                .iter()
                .filter(|(_, left)| side.is_none_or(|side| side == *left))
                .map(|(exchange, _)| *exchange)
                .collect();
            record(by_due, &some)
        };
        let (whole, mut merged) = (part(None), part(Some(true)));
        merged.merge(part(Some(false)));
        prop_assert_eq!(merged.total, whole.total);
        prop_assert_eq!(merged.warmup_phase, whole.warmup_phase);
        prop_assert_eq!(merged.drain_phase, whole.drain_phase);
        prop_assert_eq!(&merged.response_time, &whole.response_time);
        let tallies = |record: &Record| {
            record.intervals.iter().map(|one| one.tally).collect::<Vec<_>>()
        };
        prop_assert_eq!(tallies(&merged), tallies(&whole));
        let each = merged.workers.iter().map(|worker| worker.outstanding_integral_ns);
        let integral: u64 = each.sum();
        prop_assert_eq!(integral, whole.workers[0].outstanding_integral_ns);
    }
}
