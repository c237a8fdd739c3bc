use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile, Stop, pace};
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

#[test]
fn a_count_is_over_when_one_more_would_be_due() {
    let rate_per_1000_s = Rate::per_second(1_000);
    let of = |arrivals, workers, index| {
        let plan = plan(arrivals, workers, Stop::Count(5), 7);
        let mut schedule = Schedule::new(&plan, index);
        schedule.begin(Instant::from_ns(300));
        let drawn = schedule.clone();
        let taken = std::iter::from_fn(|| schedule.take_due(Instant::FAR_FUTURE));
        (taken.last(), schedule.over(), drawn)
    };
    let fixed = Arrivals::Fixed { rate_per_1000_s };
    let uniform = Arrivals::Uniform { rate_per_1000_s };
    for (arrivals, workers, index) in [(fixed, 1, 0), (fixed, 3, 0), (fixed, 3, 2), (uniform, 2, 1)]
    {
        let (last, over, _) = of(arrivals, workers, index);
        assert_eq!(
            over,
            Instant::from_ns(5_000_300),
            "{arrivals:?} {workers} {index}"
        );
        assert!(last.unwrap() < over);
    }
    let (last, over, mut cut) = of(Arrivals::Poisson { rate_per_1000_s }, 1, 0);
    assert!(last.unwrap() < over, "{last:?} {over:?}, seed 7");
    cut.cut(Instant::from_ns(400));
    assert!(cut.over() <= Instant::from_ns(400));
}

/// A hundred million per second for an hour are taken in no time, and are as many as they should.
#[test]
fn any_number_of_arrivals_is_taken_at_once() {
    let rate_per_1000_s = Rate::per_second(100_000_000);
    for arrivals in [
        Arrivals::Fixed { rate_per_1000_s },
        Arrivals::Poisson { rate_per_1000_s },
        Arrivals::Uniform { rate_per_1000_s },
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

/// Arrivals of `kind` at a rate that changes by `stages`, after `warmup`.
fn staged(kind: u8, stages: &str, warmup: Span, workers: u32, seed: u64) -> Plan {
    let stages: Vec<_> = stages.split(',').map(|one| one.parse().unwrap()).collect();
    let rate_per_1000_s = pace::mean_rate(&stages);
    Plan::try_from(PlanFile {
        arrivals: match kind {
            0 => Arrivals::Fixed { rate_per_1000_s },
            1 => Arrivals::Uniform { rate_per_1000_s },
            _ => Arrivals::Poisson { rate_per_1000_s },
        },
        stop: Stop::DurationNs(pace::length(&stages)),
        stages,
        workers,
        seed,
        warmup,
        connections: 64,
        ..fixture::plan("http://127.0.0.1:1/", &[])
    })
    .unwrap()
}

/// What all workers send, in order.
fn together(plan: &Plan) -> Vec<Instant> {
    let each = (0..plan.file().workers).flat_map(|worker| all(plan, worker));
    let mut all: Vec<Instant> = each.collect();
    all.sort_unstable();
    all
}

#[test]
fn a_ramp_and_a_step_are_where_they_should_be() {
    // 0 to 10/s within 2 s: the k-th at sqrt(k / 2.5). Then 2/s for a second.
    let plan = staged(0, "2s:10,1s:=2", Span::ZERO, 1, 0);
    let at: Vec<f64> = all(&plan, 0)
        .into_iter()
        .map(|at| (at - Instant::from_ns(500)).as_s_f64())
        .collect();
    let mut expected: Vec<f64> = (0..10).map(|k| (f64::from(k) / 2.5).sqrt()).collect();
    expected.extend([2.0, 2.5]);
    assert_eq!(at.len(), expected.len(), "{at:?}");
    for (at, expected) in at.iter().zip(expected) {
        assert!((at - expected).abs() < 1e-8, "{at} for {expected}");
    }
}

/// A jump to ten times the rate, of which half has gone after each half-life.
#[test]
fn a_flash_crowd_decays() {
    for kind in 0..3 {
        let plan = staged(kind, "10s:=1000,10s:!11000/1s", Span::ZERO, 3, 11);
        let all = together(&plan);
        for second in 0u32..10 {
            let from = Instant::from_ns(500) + Span::from_s(10 + u64::from(second));
            let count = all
                .iter()
                .filter(|at| (from..from + Span::from_s(1)).contains(at))
                .count();
            // The integral of 1000 + 10000 x 2^-t.
            let more = 10_000.0 / std::f64::consts::LN_2 * 0.5f64.powi(second.cast_signed() + 1);
            let expected = 1_000.0 + more;
            let off = (count as f64 - expected).abs();
            let allowed = if kind == 2 {
                5.0 * expected.sqrt()
            } else {
                2.0
            };
            assert!(
                off < allowed,
                "{kind}, {second}: {count} for {expected}, seed 11"
            );
        }
    }
}

#[test]
fn uniform_arrivals_lie_each_in_its_place_at_random() {
    let arrivals = Arrivals::Uniform {
        rate_per_1000_s: Rate::per_second(1_000),
    };
    let plan = plan(arrivals, 3, Stop::DurationNs(Span::from_s(20)), 9);
    let all = together(&plan);
    assert_eq!(all.len(), 20_000);
    let mut sum = 0.0;
    for (at, position) in all.iter().zip(0u64..) {
        let within = *at - (Instant::from_ns(500) + Span::from_ms(position));
        assert!(within < Span::from_ms(1), "{at:?} at {position}, seed 9");
        sum += within.as_us_f64();
    }
    // The mean of 20,000 draws from 0 to 1000, with a standard deviation of 2.
    assert!((sum / 20_000.0 - 500.0).abs() < 10.0, "{sum}, seed 9");
}

/// A warm-up, and stages enough that a schedule is taken in pieces of all kinds.
const STAGES: [&str; 4] = [
    "300ms:2k,500ms:=100,200ms:0",
    "100ms:=0,400ms:!9k/50ms",
    "1s:30k",
    "200ms:=500,300ms:!1/100ms,500ms:2k",
];

proptest! {
    /// Where the place of each arrival is a matter of its position, it is none of the workers.
    #[test]
    fn workers_together_send_what_one_would(
        kind in 0u8..2,
        stages in 0usize..4,
        seed in any::<u64>(),
        workers in 2u32..9,
        warmup in 0u64..50,
    ) {
        let plan = |workers| staged(kind, STAGES[stages], Span::from_ms(warmup), workers, seed);
        prop_assert_eq!(together(&plan(1)), together(&plan(workers)));
    }

    /// Between any two instants there are as many as the integral of the rate makes.
    #[test]
    fn the_count_is_the_integral_of_a_rate_that_changes(
        kind in 0u8..3,
        stages in 0usize..4,
        workers in 1u32..5,
        from in 0u64..1_000,
        length in 0u64..1_000,
    ) {
        let plan = staged(kind, STAGES[stages], Span::ZERO, workers, 5);
        let curve = plan.curve().unwrap();
        let (from, to) = (Span::from_ms(from), Span::from_ms(from + length));
        let expected = curve.count_until(to) - curve.count_until(from);
        let start = Instant::from_ns(500);
        let window = start + from..start + to;
        let count = together(&plan).iter().filter(|at| window.contains(at)).count();
        let off = (count as f64 - expected).abs();
        let allowed = if kind == 2 { 6.0 * expected.sqrt() + 6.0 } else { 2.0 };
        prop_assert!(off <= allowed, "{count} for {expected}");
    }

    /// To take many of a changing rate at once takes those that would have been taken one by one.
    #[test]
    fn arrivals_of_a_changing_rate_are_taken_together(
        kind in 0u8..3,
        stages in 0usize..4,
        workers in 1u32..5,
        cuts in proptest::collection::vec(0u64..1_100_000_000, 1..6),
    ) {
        let plan = staged(kind, STAGES[stages], Span::ZERO, workers, 3);
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
            let taken = together.take_all_before(end);
            // A process that draws its count at once draws others.
            if kind == 2 && taken.is_some_and(|taken| taken.count > 9_000) {
                return Ok(());
            }
            prop_assert_eq!(taken.map_or(0, |taken| taken.count), single.len() as u64);
            prop_assert_eq!(taken.map(|taken| taken.first), single.first().copied());
            prop_assert_eq!(taken.map(|taken| taken.last), single.last().copied());
            prop_assert_eq!(together.next(), alone.next());
        }
    }

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
