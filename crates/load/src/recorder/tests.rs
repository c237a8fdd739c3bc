use std::sync::Arc;

use model::event::Phase;
use model::outcome::Outcome;
use model::record::{INTERVALS_MAX, Record};
use model::units::{Bytes, Instant, Span};
use proptest::prelude::*;

use super::{Recorder, Settings};
use crate::exchange::{Cause, Exchange};
use crate::progress::Progress;
use crate::schedule::Arrivals;

const fn at_ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

/// A window from 1 s to 3 s with intervals of 1 s.
fn settings(by_due: bool) -> Settings {
    Settings {
        worker: 0,
        by_due,
        window: Some(Span::from_s(2)),
        interval: Span::from_s(1),
        classes: 1,
        samples: Some(2),
        progress: Arc::new(Progress::default()),
    }
}

fn recorder(settings: Settings) -> Recorder {
    let mut recorder = Recorder::new(settings);
    recorder.begin(at_ms(1_000));
    recorder
}

fn finish(recorder: Recorder, at: u64) -> Record {
    recorder.finish(at_ms(at), std::iter::empty())
}

fn exchange(due_ms: u64, ended_ms: u64, cause: Option<Cause>) -> Exchange {
    Exchange {
        due: at_ms(due_ms),
        ready: at_ms(due_ms),
        sent: Some(at_ms(due_ms)),
        first_byte: Some(at_ms(ended_ms)),
        ended: at_ms(ended_ms),
        content: Bytes::new(7),
        coding: None,
        connect: None,
        begun_late: Span::ZERO,
        class: Some(0),
        cause,
    }
}

/// Two answers whose content came 30 and 40 ms behind their first byte, one that came at once, and
/// one that never came.
#[test]
fn a_transfer_is_from_the_first_byte_to_the_last() {
    let mut recorder = recorder(settings(false));
    for (ended, first, cause) in [
        (1_040, 1_010, None),
        (1_050, 1_010, None),
        (1_010, 1_010, None),
        (1_020, 1_010, Some(Cause::LacksText)),
    ] {
        recorder.arrive(at_ms(1_000));
        recorder.send(at_ms(1_000));
        let first_byte = Some(at_ms(first));
        recorder.end(&Exchange {
            first_byte,
            ..exchange(1_000, ended, cause)
        });
    }
    let times = finish(recorder, 5_000).transfer_time;
    assert_eq!((times.count(), times.censored()), (3, 1));
    assert_eq!(
        (times.min(), times.max()),
        (Some(Span::ZERO), Some(Span::from_ms(40)))
    );
    assert_eq!(times.sum(), Span::from_ms(70));
}

/// Records exchanges given by when they were due and ended, in milliseconds.
fn record(by_due: bool, exchanges: &[(u64, u64)]) -> Record {
    let mut recorder = recorder(settings(by_due));
    let mut instants: Vec<_> = exchanges
        .iter()
        .flat_map(|(due, ended)| [(*due, None), (*ended, Some((*due, *ended)))])
        .collect();
    instants.sort_unstable();
    for (at, ended) in instants {
        match ended {
            None => {
                recorder.arrive(at_ms(at));
                recorder.send(at_ms(at));
            }
            Some((due, ended)) => recorder.end(&exchange(due, ended, None)),
        }
    }
    finish(recorder, 5_000)
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
    let mut recorder = recorder(settings(false));
    for (ended, actual) in [(1_200, 503), (1_300, 500)] {
        let cause = Cause::Status {
            actual,
            expected: 200,
        };
        recorder.arrive(at_ms(1_100));
        recorder.send(at_ms(1_100));
        recorder.end(&exchange(1_100, ended, Some(cause)));
    }
    let record = finish(recorder, 5_000);
    assert_eq!(record.response_time.censored(), 2);
    assert_eq!(record.response_time.count(), 0);
    assert_eq!(record.total.bytes_content, Bytes::ZERO);
    assert_eq!(record.examples.len(), 1);
    assert_eq!(record.examples[0].text, "status 503 instead of 200");
    assert_eq!(record.examples[0].at, Some(Span::from_ms(200)));
    assert_eq!(record.examples[0].request, None, "there is one");
}

#[test]
fn of_several_requests_the_first_that_failed_is_named() {
    let mut recorder = recorder(Settings {
        classes: 2,
        ..settings(false)
    });
    let cause = Cause::Status {
        actual: 404,
        expected: 200,
    };
    for (class, cause) in [(0, None), (1, Some(cause)), (0, Some(cause))] {
        recorder.arrive(at_ms(1_100));
        recorder.send(at_ms(1_100));
        recorder.end(&Exchange {
            class: Some(class),
            ..exchange(1_100, 1_200, cause)
        });
    }
    let record = recorder.finish(at_ms(5_000), ["front page", "buy"].into_iter());
    assert_eq!(record.examples[0].request.as_deref(), Some("buy"));
    assert_eq!(
        record.examples[0].told(),
        "'buy': status 404 instead of 200"
    );
}

#[test]
fn a_window_may_end_early() {
    let mut recorder = recorder(settings(false));
    recorder.roll(at_ms(1_000));
    assert_eq!(recorder.phase(), Phase::Measurement);
    recorder.end_window(at_ms(1_700));
    assert_eq!(recorder.phase(), Phase::Drain);
    let record = finish(recorder, 2_000);
    assert_eq!(record.window, Span::from_ms(700));
    assert_eq!(record.intervals[0].length, Span::from_ms(700));
}

#[test]
fn a_long_window_has_coarser_intervals_and_loses_nothing() {
    let mut recorder = recorder(Settings {
        window: None,
        interval: Span::from_ms(1),
        ..settings(false)
    });
    let count = INTERVALS_MAX as u64 * 5;
    for ms in 1_000..1_000 + count {
        recorder.arrive(at_ms(ms));
        recorder.send(at_ms(ms));
        recorder.end(&exchange(ms, ms, None));
    }
    let record = finish(recorder, 1_000 + count);
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

/// Intervals merge one pair at a time: none of them pays for all, and the record is the same as
/// if they had been long from the start.
#[test]
fn intervals_that_merge_step_by_step_end_as_long_ones() {
    for count in [
        1, 599, 600, 601, 602, 700, 899, 900, 901, 1_199, 1_200, 1_201, 1_800, 5_001,
    ] {
        let mut recorder = recorder(Settings {
            window: None,
            interval: Span::from_ms(1),
            ..settings(false)
        });
        for ms in 1_000..1_000 + count {
            recorder.arrive(at_ms(ms));
            recorder.send(at_ms(ms));
            recorder.end(&exchange(ms, ms, None));
        }
        let record = finish(recorder, 1_000 + count);
        let lengths: Vec<_> = record.intervals.iter().map(|one| one.length).collect();
        let (last, whole) = lengths.split_last().unwrap();
        assert!(
            whole.windows(2).all(|two| two[0] == two[1]),
            "{count}: {lengths:?}"
        );
        assert!(whole.iter().all(|one| one >= last), "{count}: {lengths:?}");
        let all: u64 = record
            .intervals
            .iter()
            .map(|one| one.tally.outcomes.total())
            .sum();
        assert_eq!(all, count);
    }
}

#[test]
fn ages_at_the_edges_are_those_of_what_was_in_flight_then() {
    let record = record(false, &EXCHANGES);
    let worker = &record.workers[0];
    assert_eq!(worker.age_at_start, Some(Span::from_ms(100)), "since 900");
    assert_eq!(worker.age_at_end, Some(Span::from_ms(100)), "since 2,900");
}

/// The window is from 1 s to 3 s.
#[test]
fn what_was_under_way_through_the_whole_window_is_counted() {
    let check = |by_due: bool, sent: u64, ended: u64, expected: u64| {
        let record = record(by_due, &[(sent, ended)]);
        assert_eq!(record.workers[0].stalled, Some(expected), "{sent} {ended}");
    };
    for by_due in [false, true] {
        check(by_due, 900, 3_100, 1);
        check(by_due, 900, 3_000, 1);
        check(by_due, 900, 2_999, 0);
        check(by_due, 1_000, 3_100, 0);
        check(by_due, 800, 900, 0);
        check(by_due, 2_900, 3_100, 0);
    }
}

/// Arrivals that are given up together are counted as if each had been.
#[test]
fn arrivals_that_are_shed_together_count_as_one_by_one() {
    let arrivals = |first, last, count| Arrivals {
        count,
        first: at_ms(first),
        last: at_ms(last),
    };
    let cause = Cause::ShedFull(7);
    let mut recorder = recorder(settings(true));
    recorder.shed(&arrivals(0, 999, 1_000), at_ms(1_000), cause);
    recorder.shed(&arrivals(1_000, 1_999, 1_000), at_ms(2_000), cause);
    assert_eq!(recorder.outstanding(), 0);
    let record = finish(recorder, 3_000);
    for tally in [record.warmup_phase, record.total] {
        assert_eq!(
            (tally.due, tally.outcomes[Outcome::Shed], tally.sent),
            (1_000, 1_000, 0)
        );
    }
    assert_eq!(record.response_time.censored(), 1_000);
    assert_eq!(record.blocked_time.count(), 1_000);
    let mean = record.blocked_time.mean().unwrap();
    assert!(mean.as_ns().abs_diff(500_000_000) < 2_000_000, "{mean}");
    assert_eq!(record.examples[0].text, "7 requests were waiting already");
    assert_eq!(record.samples_dropped, 1_000);
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

/// What has ended is counted some at once where there are many requests, and none is lost.
#[test]
fn of_many_requests_each_has_its_own_exchanges() {
    const REQUESTS: u16 = 40;
    let mut recorder = recorder(Settings {
        classes: usize::from(REQUESTS),
        ..settings(false)
    });
    // No multiple of how many are counted at once.
    for number in 0..1_003_u16 {
        recorder.arrive(at_ms(1_000));
        recorder.send(at_ms(1_000));
        let class = number * 7 % REQUESTS;
        let cause = (number % 5 == 0).then_some(Cause::LacksText);
        recorder.end(&Exchange {
            class: Some(class),
            ..exchange(1_000, 1_001 + u64::from(class), cause)
        });
    }
    let record = finish(recorder, 5_000);
    assert_eq!(record.classes.len(), usize::from(REQUESTS));
    for (class, told) in (0..REQUESTS).zip(&record.classes) {
        let numbers = (0..1_003).filter(|number| number * 7 % REQUESTS == class);
        let (wrong, right): (Vec<u16>, Vec<u16>) = numbers.partition(|number| number % 5 == 0);
        let times = &told.response_time;
        assert_eq!(times.count(), right.len() as u64);
        assert_eq!(times.censored(), wrong.len() as u64);
        assert_eq!(told.outcomes[Outcome::Ok], right.len() as u64);
        assert_eq!(told.bytes_content, Bytes::new(7 * right.len() as u64));
        let alone = (!right.is_empty()).then(|| Span::from_ms(1 + u64::from(class)));
        assert_eq!((times.min(), times.max()), (alone, alone));
    }
    assert_eq!(
        record.response_time.count(),
        record.total.outcomes[Outcome::Ok]
    );
}

/// A named threshold of a rate is about what came in the window, as that of all requests is.
#[test]
fn what_came_in_the_window_is_counted_for_each_request() {
    let mut recorder = recorder(Settings {
        classes: 2,
        ..settings(true)
    });
    // The window is from 1 s to 3 s.
    for (class, due, ended) in [
        (0, 900, 950),
        (0, 900, 1_200),
        (1, 2_000, 2_500),
        (1, 2_900, 2_950),
        (1, 2_950, 3_050),
    ] {
        recorder.arrive(at_ms(due));
        recorder.send(at_ms(due));
        recorder.end(&Exchange {
            class: Some(class),
            ..exchange(due, ended, None)
        });
    }
    let record = recorder.finish(at_ms(4_000), ["a", "b"].into_iter());
    let counts = record.classes.iter();
    let counts: Vec<(u64, u64)> = counts
        .map(|class| (class.outcomes[Outcome::Ok], class.right_in_it()))
        .collect();
    assert_eq!(counts, [(0, 1), (3, 2)]);
    assert_eq!(record.total.right_in_it(), 3);
    let threshold: model::threshold::Threshold = "{b}: rate>=1".parse().unwrap();
    assert_eq!(threshold.judge(&record).value, Some(1.0));
}

#[test]
fn statuses_that_nobody_expected_are_counted_by_themselves() {
    let mut recorder = recorder(settings(false));
    for (ended, actual) in [(900, 500), (1_100, 503), (1_200, 404), (2_000, 503)] {
        recorder.arrive(at_ms(ended));
        recorder.send(at_ms(ended));
        let cause = match actual {
            404 => Cause::ErrorStatus(actual),
            _ => Cause::Status {
                actual,
                expected: 200,
            },
        };
        recorder.end(&exchange(ended, ended, Some(cause)));
    }
    let mut record = finish(recorder, 4_000);
    assert_eq!(record.wrong_statuses, [(404, 1), (503, 2)].into());
    assert_eq!(record.total.outcomes[Outcome::Status], 3);
    record.merge(record.clone());
    assert_eq!(record.wrong_statuses, [(404, 2), (503, 4)].into());
}
