use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile, Stop};
use model::units::{Instant, Rate, Span};
use proptest::prelude::*;

use super::{Schedule, share};

fn plan(arrivals: Arrivals, workers: u32, stop: Stop, seed: u64) -> Plan {
    Plan::try_from(PlanFile {
        arrivals,
        workers,
        stop,
        seed,
        connections: 64,
        warmup: Span::ZERO,
        ..fixture::plan("http://127.0.0.1:1/", &[])
    })
    .unwrap()
}

fn all(plan: &Plan, worker: u32) -> Vec<Instant> {
    let mut schedule = Schedule::new(plan, worker);
    schedule.begin(Instant::from_ns(500));
    std::iter::from_fn(|| schedule.take_due(Instant::FAR_FUTURE)).collect()
}

#[test]
fn fixed_arrivals_are_evenly_spaced_over_all_workers() {
    let arrivals = Arrivals::Fixed {
        rate_per_1000_s: Rate::per_second(3),
    };
    let plan = plan(arrivals, 2, Stop::DurationNs(Span::from_s(1)), 0);
    let at = |ns: u64| Instant::from_ns(500 + ns);
    assert_eq!(all(&plan, 0), [at(0), at(666_666_666)]);
    assert_eq!(all(&plan, 1), [at(333_333_333)]);
}

#[test]
fn poisson_arrivals_have_the_rate_and_the_gaps_they_should() {
    let rate = Rate::per_second(10_000);
    let arrivals = Arrivals::Poisson {
        rate_per_1000_s: rate,
    };
    let plan = plan(arrivals, 2, Stop::DurationNs(Span::from_s(20)), 7);
    let mut both: Vec<_> = [all(&plan, 0), all(&plan, 1)].concat();
    both.sort_unstable();
    let count = both.len();
    // Within 4 standard deviations of 200,000, whose root is 447.
    assert!((198_200..201_800).contains(&count), "{count}, seed 7");
    let mean_ns = 100_000.0;
    let long = both
        .windows(2)
        .filter(|pair| (pair[1] - pair[0]).as_us_f64() * 1e3 > mean_ns)
        .count();
    let share = f64::from(u32::try_from(long).unwrap()) / f64::from(u32::try_from(count).unwrap());
    assert!((share - (-1.0f64).exp()).abs() < 0.01, "{share}, seed 7");
}

#[test]
fn a_count_is_divided_without_remainder() {
    let arrivals = Arrivals::Poisson {
        rate_per_1000_s: Rate::per_second(5),
    };
    let plan = plan(arrivals, 3, Stop::Count(100), 1);
    let counts: Vec<_> = (0..3).map(|worker| all(&plan, worker).len()).collect();
    assert_eq!(counts, [34, 33, 33]);
    assert_eq!(share(2, 2, 3), 0);
}

#[test]
fn a_cut_ends_the_schedule() {
    let arrivals = Arrivals::Fixed {
        rate_per_1000_s: Rate::per_second(1_000),
    };
    let plan = plan(arrivals, 1, Stop::DurationNs(Span::from_s(1)), 0);
    let mut schedule = Schedule::new(&plan, 0);
    schedule.begin(Instant::ZERO);
    schedule.cut(Instant::from_ns(2_500_000));
    let taken = std::iter::from_fn(|| schedule.take_due(Instant::FAR_FUTURE)).count();
    assert_eq!(taken, 3);
}

#[test]
fn a_count_begins_after_the_warm_up() {
    let file = PlanFile {
        arrivals: Arrivals::Fixed {
            rate_per_1000_s: Rate::per_second(1_000),
        },
        stop: Stop::Count(5),
        warmup: Span::from_ms(10),
        ..fixture::plan("http://127.0.0.1:1/", &[])
    };
    assert_eq!(all(&Plan::try_from(file).unwrap(), 0).len(), 15);
}

/// A hundred million per second for an hour are taken in no time, and are as many as they should.
#[test]
fn any_number_of_arrivals_is_taken_at_once() {
    let rate_per_1000_s = Rate::per_second(100_000_000);
    for arrivals in [
        Arrivals::Fixed { rate_per_1000_s },
        Arrivals::Poisson { rate_per_1000_s },
    ] {
        let plan = plan(arrivals, 1, Stop::DurationNs(Span::from_s(3_600)), 5);
        let mut schedule = Schedule::new(&plan, 0);
        schedule.begin(Instant::ZERO);
        let half = schedule
            .take_all_before(Instant::ZERO + Span::from_s(1_800))
            .unwrap();
        let rest = schedule.take_all_before(Instant::FAR_FUTURE).unwrap();
        assert_eq!(schedule.next(), None);
        assert!(half.last < rest.first, "{half:?}, {rest:?}");
        // Each half has 1.8 x 10^11, with a standard deviation of 424,264.
        for part in [half, rest] {
            let off = part.count.abs_diff(180_000_000_000);
            assert!(off < 2_200_000, "{part:?}, seed 5");
        }
    }
}

/// Beyond 10,000 the count is drawn. Its mean is that of counting: the first one, and after it as
/// many as the rate makes. 100,000 draws with a standard deviation of 110 tell a difference of 1.
#[test]
fn arrivals_that_are_drawn_together_are_as_many_as_those_taken_one_by_one() {
    let arrivals = Arrivals::Poisson {
        rate_per_1000_s: Rate::per_second(1_200_000),
    };
    let end = Instant::from_ns(500) + Span::from_ms(10);
    let (mut excess, mut after) = (0.0, 0.0);
    let draws = 100_000;
    for seed in 0..draws {
        let plan = plan(arrivals, 1, Stop::DurationNs(Span::from_s(1)), seed);
        let mut schedule = Schedule::new(&plan, 0);
        schedule.begin(Instant::from_ns(500));
        let first = schedule.next().unwrap();
        let taken = schedule.take_all_before(end).unwrap();
        let expected = 1.0 + (end - first).as_s_f64() * 1_200_000.0;
        assert_eq!(taken.first, first, "seed {seed}");
        assert!(taken.last < end, "seed {seed}");
        excess += taken.count as f64 - expected;
        // The last one before the end is as far from it as any two are from each other.
        after += (end - taken.last).as_us_f64();
    }
    let draws = draws as f64;
    let (excess, after) = (excess / draws, after / draws);
    assert!(excess.abs() < 1.0, "{excess} arrivals too many on average");
    assert!((after - 0.833).abs() < 0.02, "{after} us");
}

proptest! {
    #[test]
    fn the_count_is_the_integral_of_the_rate(
        per_1000_s in 1u64..3_000_000,
        ms in 1u64..2_000,
        workers in 1u32..5,
    ) {
        let rate = Rate::per_1000_s(per_1000_s);
        let span = Span::from_ms(ms);
        let plan = plan(
            Arrivals::Fixed { rate_per_1000_s: rate },
            workers,
            Stop::DurationNs(span),
            0,
        );
        let total: usize = (0..workers).map(|worker| all(&plan, worker).len()).sum();
        // The first is due at the start, so a whole number of gaps ends before the next one.
        let product = u128::from(per_1000_s) * u128::from(span.as_ns());
        let expected = product.div_ceil(1_000_000_000_000);
        // Instants are whole nanoseconds, rounded down: one may slip in at the very end.
        let total = total as u128;
        prop_assert!(total == expected || total == expected + 1, "{} of {}", total, expected);
    }

    /// To take many at once takes those that would have been taken one by one.
    #[test]
    fn arrivals_taken_together_are_those_taken_one_by_one(
        per_1000_s in 1u64..30_000_000,
        poisson in any::<bool>(),
        count in proptest::option::of(1u64..3_000),
        workers in 1u32..5,
        cuts in proptest::collection::vec(0u64..1_000_000_000, 1..6),
    ) {
        let rate_per_1000_s = Rate::per_1000_s(per_1000_s);
        let arrivals = if poisson {
            Arrivals::Poisson { rate_per_1000_s }
        } else {
            Arrivals::Fixed { rate_per_1000_s }
        };
        let stop = count.map_or(Stop::DurationNs(Span::from_ms(200)), Stop::Count);
        let plan = plan(arrivals, workers, stop, 3);
        let mut together = Schedule::new(&plan, 0);
        let mut alone = Schedule::new(&plan, 0);
        together.begin(Instant::from_ns(500));
        alone.begin(Instant::from_ns(500));
        let mut cuts = cuts;
        cuts.sort_unstable();
        for end in cuts.into_iter().map(Instant::from_ns) {
            let mut single = Vec::new();
            while alone.next().is_some_and(|due| due < end) {
                single.extend(alone.take_due(end));
            }
            match together.take_all_before(end) {
                None => prop_assert_eq!(single, []),
                Some(taken) => {
                    prop_assert_eq!(taken.count, single.len() as u64);
                    prop_assert_eq!(Some(&taken.first), single.first());
                    prop_assert_eq!(Some(&taken.last), single.last());
                }
            }
            prop_assert_eq!(together.next(), alone.next());
        }
    }

    #[test]
    fn seed_and_worker_alone_determine_the_arrivals(seed in any::<u64>()) {
        let arrivals = Arrivals::Poisson { rate_per_1000_s: Rate::per_second(1_000) };
        let plan = plan(arrivals, 2, Stop::DurationNs(Span::from_ms(100)), seed);
        prop_assert_eq!(all(&plan, 0), all(&plan, 0));
        prop_assert_ne!(all(&plan, 0), all(&plan, 1));
        prop_assert!(all(&plan, 0).is_sorted());
    }
}
