//! Two results of each kind, their answers and their limits.

use model::fixture::{self, Heat, Shaped};
use model::plan::{Arrivals, ScriptFile, StepFile};
use model::point::{CONNECTIONS, Value};
use model::probe::{Pass, ProbeResult, Series};
use model::record::UsersRecord;
use model::{Outcome, Rate, Trial};

use super::*;

fn heat(seed: u64, factor: f64, rounds: u32) -> Vec<Trial> {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds,
        seed,
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        trial.record.achieved_rate *= factor;
    }
    trials
}

fn side(name: &str, kind: Kind, trials: &[Trial]) -> Side {
    let mut side = Side::new(name, kind);
    for trial in trials {
        side.add(trial);
    }
    side
}

fn labs(a: &[Trial], b: &[Trial]) -> Compared {
    compare(&side("old", Kind::Lab, a), &side("new", Kind::Lab, b))
}

fn row<'a>(compared: &'a Compared, place: &str, metric: &str) -> &'a Row {
    let found = compared
        .rows
        .iter()
        .find(|row| row.place == place && row.metric.name == metric);
    found.unwrap_or_else(|| panic!("{place} {metric}: {compared:#?}"))
}

/// The same point as in the report of the lab: of an even number with as many connections, the
/// lower of the two in the middle.
#[test]
fn the_declared_point_is_that_of_the_report() {
    use model::point::RATE;
    let mut trials = heat(1, 1.0, 8);
    for trial in &mut trials {
        let id = &mut trial.point.as_mut().unwrap().id;
        let is_fast = *id.value(CONNECTIONS).unwrap() == Value::Count(1);
        let rate = Value::Count(if is_fast { 200_000 } else { 500 });
        *id = id.clone().with(CONNECTIONS, Value::Count(64));
        *id = id.clone().with(RATE, rate);
    }
    let compared = labs(&trials, &trials);
    let declared = compared.rows.iter().filter(|row| row.is_declared);
    let declared: Vec<&str> = declared.map(|row| row.place.as_str()).collect();
    assert!(
        !declared.is_empty() && declared.iter().all(|place| place.contains(" 500")),
        "{declared:?}"
    );
}

#[test]
fn one_comparison_for_each_server_and_workload_is_declared() {
    let compared = labs(&heat(1, 1.0, 8), &heat(2, 1.1, 8));
    assert_eq!(compared.family.comparisons, 2);
    let declared: Vec<(&str, &str)> = compared
        .rows
        .iter()
        .filter(|row| row.is_declared)
        .map(|row| (row.place.as_str(), row.metric.name))
        .collect();
    assert_eq!(
        declared,
        [
            ("nginx, seven-bytes, 64 connections", "rate"),
            ("origin, seven-bytes, 64 connections", "rate"),
        ]
    );
    assert!(compared.rows[..2].iter().all(|row| row.is_declared));
    assert!(compared.caveat.contains("between the two sessions"));
    let nginx = row(&compared, "nginx, seven-bytes, 64 connections", "rate");
    assert_eq!(nginx.text, "faster (margin 2.0 %)", "{nginx:?}");
    let ratio = nginx.estimate.as_ref().unwrap();
    assert!((ratio.ratio - 1.1).abs() < 0.02, "{ratio:?}");
    // What is not declared has an interval and is never called faster.
    let other = row(&compared, "nginx, seven-bytes, 1 connection", "rate");
    assert_eq!(other.answer, Answer::Undeclared);
    assert!(other.estimate.as_ref().unwrap().interval.unwrap().low > 1.02);
    assert!(!other.text.contains("faster"), "{}", other.text);
    assert!(compared.only.is_empty() && compared.configuration.is_empty());
}

#[test]
fn less_of_a_cost_is_cheaper_and_the_same_is_equivalent() {
    let same = labs(&heat(1, 1.0, 10), &heat(2, 1.0, 10));
    for server in ["nginx", "origin"] {
        let place = format!("{server}, seven-bytes, 64 connections");
        let found = row(&same, &place, "rate");
        assert_eq!(found.text, "equivalent within 2.0 %", "{found:?}");
    }
    for (metric, more, less) in [
        ("cpu", "dearer", "cheaper"),
        ("p99", "slower", "faster"),
        ("rate", "faster", "slower"),
    ] {
        let metric = metric_named(metric).unwrap();
        assert_eq!((metric.more, metric.less), (more, less));
    }
}

#[test]
fn too_few_rounds_say_how_many_are_needed() {
    let compared = labs(&heat(1, 1.0, 3), &heat(2, 2.0, 3));
    let nginx = row(&compared, "nginx, seven-bytes, 64 connections", "rate");
    assert_eq!(
        nginx.text,
        "inconclusive: 3 rounds are too few for 2 comparisons; 5 rounds are needed"
    );
    assert_eq!(nginx.estimate.as_ref().unwrap().interval, None);
}

#[test]
fn rounds_whose_claim_is_invalid_count_and_are_told() {
    let mut spoilt = heat(2, 1.0, 8);
    for trial in &mut spoilt {
        let point = trial.point.as_ref().unwrap();
        if point.id.server == "nginx" && point.round <= 2 {
            // Half of its answers were wrong: nothing that it claims holds.
            let total = &mut trial.record.total.outcomes;
            let ok = total[Outcome::Ok];
            total[Outcome::Ok] = ok / 2;
            total[Outcome::Status] = ok - ok / 2;
        }
    }
    let compared = labs(&heat(1, 1.0, 8), &spoilt);
    let nginx = row(&compared, "nginx, seven-bytes, 64 connections", "rate");
    assert_eq!((nginx.b.rounds, nginx.b.left_out), (8, 0), "{nginx:?}");
    assert!(
        nginx
            .text
            .ends_with("; 2 rounds of B counted although a rule objects"),
        "{}",
        nginx.text
    );
}

#[test]
fn single_trials_have_a_ratio_and_no_answer() {
    let load = |rate| {
        let shaped = Shaped {
            rate,
            ..Shaped::default()
        };
        side("one", Kind::Load, &[shaped.trial()])
    };
    let compared = compare(&load(60_000.0), &load(30_000.0));
    let rate = row(&compared, "the run", "rate");
    assert_eq!(rate.answer, Answer::Single);
    assert!((rate.estimate.as_ref().unwrap().ratio - 0.5).abs() < 1e-3);
    assert_eq!(compared.caveat, SINGLE);
    let limit: Limit = "rate:-3%".parse().unwrap();
    assert_eq!(limit.of(rate), Crossed::Inconclusive);
    let said = limit.text(rate, Crossed::Inconclusive);
    assert_eq!(
        said,
        "rate:-3% is inconclusive: rate, the run: one trial each has no interval; give folders of \
         several"
    );
}

/// Two rounds of which one is spoilt are two values, of which all count.
#[test]
fn two_rounds_of_which_one_is_spoilt_are_no_single_values() {
    let spoilt = |seed: u64, factor: f64| {
        let mut trials = heat(seed, factor, 2);
        for trial in &mut trials {
            if trial.point.as_ref().unwrap().round == 1 {
                trial.void = Some(model::finding::Cause::default());
            }
        }
        trials
    };
    let compared = labs(&spoilt(1, 1.0), &spoilt(2, 2.0));
    let nginx = row(&compared, "nginx, seven-bytes, 64 connections", "rate");
    assert_eq!((nginx.a.rounds, nginx.b.rounds), (1, 1));
    assert_eq!(nginx.estimate.as_ref().unwrap().sample.rounds(), 2);
    assert_eq!(
        nginx.text,
        "inconclusive: 2 rounds are too few for 2 comparisons; 5 rounds are needed; suspect, \
         because it rests on both rounds as they were first measured, and only 1 of them had the \
         CPUs to themselves; what stands for A and B is of the 1 and 1 rounds that count of each"
    );
    assert_eq!(compared.caveat, DRIFT);
}

#[test]
fn where_nothing_is_declared_that_is_said() {
    let (one, mut other) = (heat(1, 1.0, 8), heat(2, 1.0, 8));
    for trial in &mut other {
        trial.point.as_mut().unwrap().id.workload = "another".to_owned();
    }
    let compared = labs(&one, &other);
    assert_eq!(compared.family.comparisons, 0);
    assert_eq!(
        compared.declared,
        "Declared: no comparison, because A and B have nothing in common of which one is declared. \
         All rows have an interval of their own and no answer."
    );
}

/// Where several groups share a server, a round has several trials of it, and is one round.
#[test]
fn trials_of_several_groups_are_one_round() {
    let shared = |seed: u64| {
        let mut trials = heat(seed, 1.0, 8);
        let mut again = trials.clone();
        for trial in &mut again {
            trial.point.as_mut().unwrap().group = 1;
        }
        trials.extend(again);
        trials
    };
    let mut spoilt = shared(2);
    for trial in &mut spoilt {
        let point = trial.point.as_ref().unwrap();
        match (point.round, point.group) {
            (1 | 2, _) => {
                let total = &mut trial.record.total.outcomes;
                let ok = total[Outcome::Ok];
                total[Outcome::Ok] = ok / 2;
                total[Outcome::Status] = ok - ok / 2;
            }
            // Of the fourth round the other group has it.
            (3, _) | (4, 1) => trial.void = Some(model::finding::Cause::default()),
            _ => {}
        }
    }
    let compared = labs(&shared(1), &spoilt);
    let nginx = row(&compared, "nginx, seven-bytes, 64 connections", "rate");
    assert_eq!((nginx.b.rounds, nginx.b.left_out), (7, 1));
    assert!(
        nginx.text.ends_with(
            "; 1 round of B left out as disturbed; 2 rounds of B counted although a rule objects"
        ),
        "{}",
        nginx.text
    );
}

#[test]
fn what_differs_around_them_comes_by_name() {
    let mut other = heat(2, 1.0, 6);
    for trial in &mut other {
        trial.environment.kernel = Some("Linux 6.19.1".to_owned());
        trial.environment.time = Some("2026-11-21T10:00:00Z".to_owned());
        trial
            .environment
            .sysctls
            .insert("net.core.somaxconn".into(), "128".into());
        let server = trial.context.server.as_mut().unwrap();
        let text = "worker_processes 1;\nlisten 127.0.0.1:41234;\nsendfile off;\n";
        server
            .configuration
            .insert("nginx.conf".into(), text.into());
        server.command = vec![
            "nginx".into(),
            "-p".into(),
            "/tmp/triathlon-b2Cd3f/server-x1Y2z3/".into(),
        ];
    }
    let mut one = heat(1, 1.0, 6);
    for trial in &mut one {
        let server = trial.context.server.as_mut().unwrap();
        let text = "worker_processes 1;\nlisten 127.0.0.1:39999;\nsendfile on;\n";
        server
            .configuration
            .insert("nginx.conf".into(), text.into());
        server.command = vec![
            "nginx".into(),
            "-p".into(),
            "/tmp/triathlon-A1b2C3/server-Q9w8E7/".into(),
        ];
    }
    let compared = labs(&one, &other);
    let said = |differences: &[Difference]| -> Vec<String> {
        let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
        differences
            .iter()
            .map(|d| format!("{}: {} / {}", d.what, of(&d.a), of(&d.b)))
            .collect()
    };
    assert_eq!(
        said(&compared.environment),
        [
            "kernel: Linux 6.18.0 / Linux 6.19.1",
            "sysctls net.core.somaxconn: 4096 / 128",
        ]
    );
    assert_eq!(
        said(&compared.configuration),
        [
            "nginx nginx.conf: sendfile on; / sendfile off;",
            "origin nginx.conf: sendfile on; / sendfile off;",
        ]
    );
}

#[test]
fn places_that_only_one_has_are_named() {
    let mut fewer = heat(2, 1.0, 6);
    fewer.retain(|trial| trial.point.as_ref().unwrap().id.server != "origin");
    let compared = labs(&heat(1, 1.0, 6), &fewer);
    assert_eq!(
        compared.only,
        [
            "only A has origin, seven-bytes, 1 connection",
            "only A has origin, seven-bytes, 64 connections",
        ]
    );
}

/// Trials of earlier versions name no rate among their axes.
#[test]
fn loads_that_differ_in_their_rate_alone_are_not_pooled() {
    let open = |seed: u64| {
        let mut trials = heat(seed, 1.0, 6);
        for trial in &mut trials {
            let point = trial.point.as_mut().unwrap();
            let rate = if point.id.connections() == 1 {
                1_000
            } else {
                2_000
            };
            point.id = point.id.clone().with(CONNECTIONS, Value::Count(64));
            trial.plan.arrivals = Arrivals::Fixed {
                rate_per_1000_s: Rate::per_second(rate),
            };
        }
        trials
    };
    let compared = labs(&open(1), &open(2));
    for rate in ["1,000/s", "2,000/s"] {
        let place = format!("nginx, seven-bytes, {rate} over 64 connections");
        assert_eq!(row(&compared, &place, "cpu").a.rounds, 6, "{rate}");
    }
    // One of the two rates is declared, for each server.
    assert_eq!(compared.family.comparisons, 2);
}

#[test]
fn passes_of_probes_are_their_rounds() {
    let probe = |factor: u64| ProbeResult {
        probe: "socket".to_owned(),
        population: 60,
        environment: fixture::environment(),
        passes: (1..=5)
            .map(|number| Pass {
                number,
                series: vec![Series::counted(
                    "socket",
                    (0..60)
                        .map(|n| factor * (1_000 + n + u64::from(number)))
                        .collect(),
                )],
                ..Pass::default()
            })
            .collect(),
        ..ProbeResult::default()
    };
    let compared = compare(
        &Side::of_probes("A", &[probe(1)]),
        &Side::of_probes("B", &[probe(2)]),
    );
    let end = row(&compared, "socket", "end");
    assert!(end.is_declared);
    assert_eq!(end.text, "dearer (margin 2.0 %)");
    // The medians of both stand beside their ratio.
    let ratio = end.b.median / end.a.median;
    assert!((ratio - 2.0).abs() < 1e-9, "{end:?}");
    assert_eq!(
        row(&compared, "socket", "beginning").answer,
        Answer::Undeclared
    );
}

#[test]
fn a_limit_fails_where_the_whole_interval_lies_beyond() {
    let rate_of = |factor: f64| labs(&heat(1, 1.0, 8), &heat(2, factor, 8));
    let check = |factor: f64, limit: &str, expected: Crossed| {
        let limit: Limit = limit.parse().unwrap();
        for (row, crossed) in limit.of_all(&rate_of(factor)) {
            assert_eq!(crossed, expected, "{factor} {limit} {row:?}");
        }
    };
    check(0.90, "rate:-3%", Crossed::Beyond);
    check(0.97, "rate:-3%", Crossed::Inconclusive);
    check(1.00, "rate:-3%", Crossed::Within);
    check(1.10, "rate:-3%", Crossed::Within);
    check(1.10, "rate:+5%", Crossed::Beyond);
    check(1.00, "rate:+5%", Crossed::Within);
    let none: Limit = "end:+5%".parse().unwrap();
    assert!(none.of_all(&rate_of(1.0)).is_empty());
}

/// A server that stopped answering within the timeout is slower by at least so much, and that is
/// enough to fail by; how much faster the other one is nobody knows.
#[test]
fn a_limit_holds_what_is_certain_of_bounds() {
    let place = "nginx, seven-bytes, 64 connections";
    let unanswered = |rounds: u32| {
        let mut trials = heat(2, 1.0, 8);
        for trial in &mut trials {
            if trial.point.as_ref().unwrap().round <= rounds {
                let times = &mut trial.record.response_time;
                times.record_censored_n(times.count() + 1);
            }
        }
        trials
    };
    let (sound, bad) = (heat(1, 1.0, 8), unanswered(8));
    let limit: Limit = "p50:+10%".parse().unwrap();
    let worse = labs(&sound, &bad);
    let worse = row(&worse, place, "p50");
    assert_eq!(limit.of(worse), Crossed::Beyond);
    assert!(worse.b.at_least && !worse.a.at_least);
    assert_eq!((worse.bound(), worse.ends().1), (Some("B"), None));
    assert!(
        worse.text.starts_with("no answer: too few requests of B"),
        "{}",
        worse.text
    );
    let better = labs(&bad, &sound);
    let better = row(&better, place, "p50");
    assert_eq!(limit.of(better), Crossed::Within);
    let gain: Limit = "p50:-10%".parse().unwrap();
    assert_eq!(gain.of(better), Crossed::Beyond);
    assert_eq!(gain.of(worse), Crossed::Within);
    let both = labs(&bad, &bad);
    assert_eq!(limit.of(row(&both, place, "p50")), Crossed::Inconclusive);
    // A bound above the middle leaves the middle what it is; ratios with it are bounds.
    let one = labs(&sound, &unanswered(1));
    let one = row(&one, place, "p50");
    assert!(!one.b.at_least && one.bound() == Some("B"));
}

#[test]
fn a_limit_that_is_none_says_what_is_allowed() {
    for (text, why) in [
        ("rate", "'rate' has no ':'"),
        ("speed:-3%", "'speed' is not a metric"),
        ("rate:-3", "'-3' does not end in %"),
        ("rate:3%", "'3%' has no sign"),
        ("rate:-%", "'-%' is not a change above -100%"),
        ("rate:-100%", "'-100%' is not a change above -100%"),
        ("rate:+inf%", "'+inf%' is not a change above -100%"),
    ] {
        let error = text.parse::<Limit>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{why}; write METRIC:CHANGE%")),
            "{error}"
        );
        let all = "rate, cpu, p50, p99, page_p50, page_p99, memory, beginning, end, course";
        assert!(error.ends_with(&format!("metrics: {all}")), "{error}");
    }
    // As they were written, though a hundredth of 7 is no number of a computer.
    for text in ["p99:+10%", "p99:+7%", "rate:-0.07%", "p50:+2500%"] {
        let limit: Limit = text.parse().unwrap();
        assert_eq!(limit.to_string(), text);
    }
}

#[test]
fn what_something_spoilt_and_was_measured_again_counts_once() {
    let (one, other) = (heat(1, 1.0, 8), heat(2, 1.1, 8));
    let place = "nginx, seven-bytes, 64 connections";
    let whole = row(&labs(&one, &other), place, "rate").clone();
    let mut again = other.clone();
    for trial in &other {
        let point = trial.point.as_ref().unwrap();
        if point.round > 2 || point.ceiling {
            continue;
        }
        // The first attempt was slow, as others had the CPUs; the second is what it would be.
        let mut first = trial.clone();
        first.record.achieved_rate /= 100.0;
        first.void = Some(model::finding::Cause::default());
        again.push(first);
        for one in &mut again {
            let found = one.point.as_mut().unwrap();
            if (&found.id, found.round) == (&point.id, point.round) && one.void.is_none() {
                found.attempt = 1;
            }
        }
    }
    assert_eq!(*row(&labs(&one, &again), place, "rate"), whole);
    // One that could not be measured again is left out, and said to be.
    let mut spoilt = other;
    for trial in &mut spoilt {
        if trial.point.as_ref().unwrap().round == 1 {
            trial.record.achieved_rate /= 100.0;
            trial.void = Some(model::finding::Cause::default());
        }
    }
    let left = row(&labs(&one, &spoilt), place, "rate").clone();
    assert_eq!((left.b.rounds, left.b.left_out), (7, 1));
    assert!(left.text.contains("1 round of B left out"), "{}", left.text);
}

/// Something had the CPUs in most rounds: all of them count then, as they were first measured.
#[test]
fn spoilt_rounds_count_where_the_others_are_too_few() {
    let spoil = |trials: &mut Vec<Trial>, rounds: u32| {
        for trial in trials {
            if trial.point.as_ref().unwrap().round <= rounds {
                trial.void = Some(model::finding::Cause::default());
            }
        }
    };
    let place = "nginx, seven-bytes, 64 connections";
    let (one, mut other) = (heat(1, 1.0, 8), heat(2, 2.0, 8));
    // Two comparisons of rounds that were not measured together need five of each.
    spoil(&mut other, 3);
    let enough = row(&labs(&one, &other), place, "rate").clone();
    assert_eq!(
        (enough.unspoilt, enough.b.rounds, enough.b.left_out),
        (None, 5, 3)
    );
    spoil(&mut other, 4);
    let compared = labs(&one, &other);
    let few = row(&compared, place, "rate").clone();
    assert_eq!(
        (few.unspoilt, few.b.rounds, few.b.left_out),
        (Some(4), 4, 4)
    );
    assert_eq!(few.estimate.as_ref().unwrap().sample.rounds(), 8);
    assert_eq!(
        few.text,
        "faster (margin 2.0 %); suspect, because it rests on all 8 rounds as they were first \
         measured, and only 4 of them had the CPUs to themselves; what stands for A and B is of \
         the 8 and 4 rounds that count of each"
    );
    let limit: Limit = "rate:+50%".parse().unwrap();
    assert_eq!(limit.of(&few), Crossed::Beyond);
    assert!(limit.text(&few, Crossed::Beyond).contains("failed"));
}

/// Two servers of one lab whose claim to be compared is invalid have no ratio to fail by; the same
/// server of two labs has one.
#[test]
fn what_was_not_measured_alike_is_not_compared_within_a_lab() {
    let told = |rules: &str| {
        let side = |label: &str| {
            let mut side = Side::of_server(label, "server");
            for trial in heat(1, 1.0, 8) {
                side.add(&trial);
            }
            side
        };
        let (one, other) = (side("nginx"), side("origin"));
        let mut rounds = one.values();
        for values in rounds.values_mut() {
            values.unspoilt.unlike_by = vec![rules.to_owned(); 8];
        }
        let (key, ours) = rounds.iter().next().unwrap();
        let theirs = other.values();
        let draft = |is_paired| Draft::new(key, [ours, &theirs[key]], is_paired, None);
        assert!(draft(false).estimate.is_some());
        (draft(true).estimate, draft(true).forbidden)
    };
    let (estimate, forbidden) = told("HTTP-11");
    assert_eq!(estimate, None);
    let why = "A and B were not measured alike (HTTP-11)";
    assert_eq!(forbidden.as_deref(), Some(why));
}

#[test]
fn where_a_round_is_no_result_its_spoilt_attempt_is_none_either() {
    let place = "nginx, seven-bytes, 64 connections";
    let (one, mut other) = (heat(1, 1.0, 8), heat(2, 2.0, 8));
    let mut spoilt = other.clone();
    for (trial, again) in spoilt.iter_mut().zip(&mut other) {
        trial.void = Some(model::finding::Cause::default());
        again.point.as_mut().unwrap().attempt = 1;
        // What was measured again failed.
        let total = &mut again.record.total.outcomes;
        total[Outcome::Status] = total[Outcome::Ok] / 2;
    }
    other.extend(spoilt);
    let row = row(&labs(&one, &other), place, "rate").clone();
    assert_eq!((row.unspoilt, row.b.rounds, row.b.left_out), (None, 8, 0));
    assert_eq!(row.estimate, None);
    let why = "most rounds of B are invalid (GEN-13)";
    assert_eq!(row.text, format!("no answer: {why}"));
    let limit: Limit = "rate:+50%".parse().unwrap();
    assert_eq!(limit.of(&row), Crossed::Inconclusive);
    let said = limit.text(&row, Crossed::Inconclusive);
    assert!(said.ends_with(why), "{said}");
}

#[test]
fn ends_of_the_way_that_differ_are_told_and_round_trips_are_not() {
    let side = |mtu: u64, round_trip: u64| {
        let mut trial = fixture::closed();
        trial.environment.path = Some(model::environment::PathEnd {
            link: "eth0".to_owned(),
            mtu: Some(mtu),
            offloads: [("gro".to_owned(), mtu > 1_500)].into(),
            round_trip_at_most: Some(model::Span::from_us(round_trip)),
            ..model::environment::PathEnd::default()
        });
        // What its clock is wrong by is never twice the same.
        trial.environment.timekeeping = Some(model::environment::Timekeeping {
            synchronised: true,
            error_at_most: model::Span::from_us(mtu),
            error_estimated: model::Span::from_us(round_trip),
            correction_left_ns: -7 - i64::from(mtu > 1_500),
            kept_by: vec!["chronyd".to_owned()],
            chrony: Some(model::environment::Chrony {
                source: Some(model::environment::TimeSource::Network),
                stratum: 2 + u32::from(mtu > 1_500),
                offset_ns: 7 + i64::from(mtu > 1_500),
                root_delay: model::Span::from_us(mtu),
                root_dispersion: model::Span::from_us(round_trip),
            }),
            ptp_clocks: Vec::new(),
        });
        trial.agents = vec![fixture::share("a", 0..1, trial.clone())];
        let mut side = Side::new("x", Kind::Load);
        side.add(&trial);
        side.environment
    };
    let told = facts::differences(&side(1_500, 50), &side(9_000, 60));
    let names: Vec<&str> = told.iter().map(|one| one.what.as_str()).collect();
    let expected = [
        "agent a path mtu",
        "agent a path offloads gro",
        "path mtu",
        "path offloads gro",
    ];
    assert_eq!(names, expected);
    assert_eq!(told[2].b.as_deref(), Some("9000"));
}

#[test]
fn one_measurement_under_two_names_is_told_from_two() {
    let heat = heat(1, 1.0, 8);
    let apart = labs(&heat, &self::heat(2, 2.0, 8));
    assert_eq!(apart.caveat, DRIFT);
    let same = labs(&heat, &heat);
    assert_eq!(same.caveat, SAME);
    // What was interrupted, and what went on from it.
    let part: Vec<Trial> = heat.iter().take(9).cloned().collect();
    assert_eq!(labs(&part, &heat).caveat, SAME);
}

/// Both keep up with the rate that the generator set: who is slow is told by the times.
#[test]
fn of_an_open_loop_the_median_response_time_is_declared() {
    let open = |seed: u64| {
        let trial = |number| Shaped {
            seed: seed + number,
            ..Shaped::default()
        };
        let trials = (0..6).map(|number| {
            let mut trial = trial(number).trial();
            trial.plan.arrivals = fixture::open().plan.arrivals;
            trial
        });
        side("one", Kind::Load, &trials.collect::<Vec<_>>())
    };
    let compared = compare(&open(1), &open(100));
    let declared = compared.rows.iter().filter(|row| row.is_declared);
    let declared: Vec<&str> = declared.map(|row| row.metric.name).collect();
    assert_eq!(declared, ["p50"]);
}

/// Users who come are compared by their times, too, in which those count that had no answer; the
/// claim behind these is the one that their trials make.
#[test]
fn of_users_who_come_the_median_response_time_is_declared() {
    let of_users = |seed: u64, waiting: u64, is_bad: bool| {
        let mut trials = heat(seed, 1.0, 8);
        for trial in &mut trials {
            trial.plan.script = Some(ScriptFile {
                arrivals: Arrivals::Fixed {
                    rate_per_1000_s: Rate::per_second(9),
                },
                steps: vec![StepFile::Ask(0)],
                ..ScriptFile::default()
            });
            let ended = trial.record.total.outcomes.total();
            let before = trial.record.warmup_phase.outcomes.total();
            trial.record.users = Some(UsersRecord {
                came: before + ended * waiting,
                ..UsersRecord::default()
            });
            if is_bad {
                let total = &mut trial.record.total.outcomes;
                total[Outcome::Status] = std::mem::take(&mut total[Outcome::Ok]);
            }
        }
        trials
    };
    let place = "nginx, seven-bytes, 64 connections";
    let compared = labs(&of_users(1, 1, false), &of_users(2, 3, false));
    let p50 = row(&compared, place, "p50");
    assert!(
        p50.is_declared && !p50.a.at_least && p50.b.at_least,
        "{p50:?}"
    );
    let compared = labs(&of_users(1, 1, false), &of_users(2, 1, true));
    let rate = row(&compared, place, "rate");
    assert!(rate.text.contains("invalid"), "{}", rate.text);
}

/// `--servers` names two that differ in what tells them apart: in the log, or in the protocol.
#[test]
fn servers_that_differ_in_an_axis_are_compared_where_they_are_named() {
    use model::point::ACCESS_LOG;
    let mut trials = heat(1, 1.0, 8);
    for trial in &mut trials {
        let id = &mut trial.point.as_mut().unwrap().id;
        let log = if id.server == "nginx" { "on" } else { "off" };
        *id = id.clone().with(ACCESS_LOG, Value::Word(log.to_owned()));
    }
    let side = |label: &str| {
        let mut side = Side::of_server(label, "origin against nginx");
        trials.iter().for_each(|trial| side.add(trial));
        side
    };
    let compared = compare(&side("nginx"), &side("origin"));
    assert!(!compared.rows.is_empty() && compared.only.is_empty());
}

#[test]
fn where_both_sides_are_invalid_both_are_named() {
    let mut spoilt = heat(1, 1.0, 8);
    for trial in &mut spoilt {
        let total = &mut trial.record.total.outcomes;
        let ok = total[Outcome::Ok];
        total[Outcome::Ok] = ok / 2;
        total[Outcome::Status] = ok - ok / 2;
    }
    let compared = labs(&spoilt, &spoilt);
    let found = row(&compared, "nginx, seven-bytes, 64 connections", "rate");
    let why = found.forbidden.as_deref().unwrap_or_default();
    assert!(
        why.starts_with("most rounds of A (") && why.contains(") and of B ("),
        "{why}"
    );
}
