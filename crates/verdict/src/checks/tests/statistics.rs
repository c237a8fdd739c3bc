//! STA: what the sample carries.

use model::Outcome;
use model::fixture::spread;
use model::units::Span;
use model::{Claim, Severity};

use super::{Case, closed, of_lab, open, six_rounds};

/// Makes the rate of this server at this number of connections what `rate` makes of the round.
fn set_rate(trials: &mut [model::Trial], connections: u32, rate: impl Fn(u32) -> f64) {
    for trial in trials {
        let point = trial.point.as_ref().unwrap();
        if point.id.server == "nginx" && point.id.connections() == connections {
            trial.record.achieved_rate = rate(point.round);
        }
    }
}

fn intervals(trial: &mut model::Trial, answers: fn(u64) -> u64) {
    for (second, interval) in (0..).zip(&mut trial.record.intervals) {
        interval.tally.outcomes[Outcome::Ok] = answers(second);
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_one_trial();
    cases.extend(across_trials());
    cases
}

fn of_one_trial() -> Vec<Case> {
    vec![
        Case {
            rule: "STA-01",
            base: open,
            provoke: |t| {
                t[0].record.response_time = spread(model::distribution::Shape::TOTAL, 34e3, 900);
            },
            silent: |t| {
                t[0].record.response_time =
                    spread(model::distribution::Shape::TOTAL, 34e3, 1_000_000);
            },
            missing: None,
        },
        Case {
            rule: "STA-03",
            base: closed,
            provoke: |t| intervals(&mut t[0], |second| 63_000 - 700 * second),
            // One odd second is no trend.
            silent: |t| {
                intervals(
                    &mut t[0],
                    |second| if second == 4 { 20_000 } else { 60_000 },
                );
            },
            missing: Some((|t| t[0].record.intervals.clear(), "interval")),
        },
        Case {
            rule: "STA-10",
            base: closed,
            provoke: |t| t[0].record.workers[0].outstanding_integral_ns /= 2,
            silent: |t| {
                // Answers that straddle the edges of the window.
                t[0].record.workers[0].outstanding_integral_ns -= 40_000_000;
            },
            missing: Some((
                |t| t[0].record.workers[0].outstanding_integral_ns = 0,
                "in flight",
            )),
        },
        Case {
            rule: "STA-12",
            base: closed,
            provoke: |t| t[0].record.window = Span::from_s(2),
            silent: |_| {},
            missing: Some((|t| t[0].record.window = Span::ZERO, "window")),
        },
        Case {
            rule: "STA-14",
            base: open,
            provoke: |t| {
                for _ in 0..2_400 {
                    t[0].record.response_time.record_censored();
                }
            },
            silent: |_| {},
            missing: Some((|t| t[0].record.response_time.clear(), "response times")),
        },
    ]
}

fn across_trials() -> Vec<Case> {
    vec![
        Case {
            rule: "STA-02",
            base: six_rounds,
            provoke: |t| t.retain(|trial| trial.point.as_ref().is_some_and(|p| p.round % 2 == 1)),
            silent: |_| {},
            missing: Some((|t| t.truncate(1), "rounds")),
        },
        Case {
            rule: "STA-05",
            base: six_rounds,
            provoke: |t| {
                set_rate(t, 64, |round| {
                    f64::from(round) * 100.0 + if round % 2 == 0 { 63_000.0 } else { 41_000.0 }
                });
            },
            // A single straggler is no camp.
            silent: |t| set_rate(t, 64, |round| if round == 3 { 41_000.0 } else { 63_000.0 }),
            missing: Some((|t| t.truncate(1), "rounds")),
        },
        Case {
            rule: "STA-06",
            base: six_rounds,
            provoke: |t| {
                for connections in [1, 16, 64] {
                    set_rate(t, connections, |round| {
                        70_000.0 - 1_000.0 * f64::from(round)
                    });
                }
            },
            // One point alone is no drift of the server.
            silent: |t| set_rate(t, 64, |round| 70_000.0 - 1_000.0 * f64::from(round)),
            missing: Some((|t| t.truncate(1), "rounds")),
        },
        Case {
            rule: "STA-09",
            base: six_rounds,
            provoke: |_| {},
            silent: |t| set_rate(t, 64, |_| 90_000.0),
            missing: Some((|t| t.truncate(1), "same server")),
        },
        Case {
            rule: "STA-11",
            base: six_rounds,
            provoke: |t| set_rate(t, 64, |_| 90_000.0),
            silent: |_| {},
            missing: Some((|t| t.truncate(1), "same server")),
        },
    ]
}

#[test]
fn rules_about_rounds_need_the_rounds() {
    let verdict = crate::judge(&of_lab()[0]);
    for rule in ["STA-02", "STA-05", "STA-06", "STA-09", "STA-11"] {
        assert!(verdict.coverage.unknown.contains_key(rule), "{rule}");
    }
    assert!(verdict.claims[&Claim::Comparison].partial);
}

#[test]
fn a_machine_that_slows_down_for_all_bends_no_comparison() {
    let check = |of_nginx: fn(u32) -> f64, of_lighttpd: fn(u32) -> f64, expected: &[&str]| {
        let mut trials = six_rounds();
        for trial in &mut trials {
            let point = trial.point.as_ref().unwrap();
            let rate = match point.id.server.as_str() {
                "nginx" => of_nginx(point.round),
                _ => of_lighttpd(point.round),
            };
            trial.record.achieved_rate = 70_000.0 * rate;
        }
        let verdicts = crate::judge_set(&trials);
        let mut accused: Vec<&str> = std::iter::zip(&trials, &verdicts)
            .filter(|(_, verdict)| super::finding(verdict, "STA-06").is_some())
            .map(|(trial, _)| trial.point.as_ref().unwrap().id.server.as_str())
            .collect();
        accused.sort_unstable();
        accused.dedup();
        assert_eq!(accused, expected);
    };
    let steady = |_: u32| 1.0;
    let falling = |round: u32| 1.0 - 0.04 * f64::from(round);
    // A machine that others use more and more, and not evenly.
    let machine = |round: u32| [1.0, 0.9, 0.97, 0.8, 0.85, 0.7][(round as usize - 1) % 6];
    check(steady, steady, &[]);
    check(falling, falling, &[]);
    check(machine, machine, &[]);
    check(falling, steady, &["lighttpd", "nginx"]);
    // Under what the machine does, rounds of nginx alone are in no order.
    let both = |round: u32| {
        (1.0 - 0.04 * f64::from(round)) * [1.0, 0.9, 0.97, 0.8, 0.85, 0.7][(round as usize - 1) % 6]
    };
    check(both, machine, &["lighttpd", "nginx"]);
}

#[test]
fn a_healthy_curve_is_no_doubt_about_its_end() {
    let check = |counts: &[u32], rate: fn(u32, u32) -> f64, expected: bool| {
        let mut trials = six_rounds();
        trials.retain(|trial| {
            let point = trial.point.as_ref();
            point.is_some_and(|point| counts.contains(&point.id.connections()))
        });
        for &connections in counts {
            set_rate(&mut trials, connections, |round| rate(connections, round));
        }
        let verdicts = crate::judge_set(&trials);
        let told = verdicts
            .iter()
            .any(|v| super::finding(v, "STA-11").is_some());
        assert_eq!(told, expected, "{counts:?}");
    };
    // What every server does from one connection to 64, whose knee lies in between.
    let healthy = |connections: u32, _: u32| if connections == 1 { 9_000.0 } else { 60_000.0 };
    check(&[1, 64], healthy, false);
    check(&[1, 16, 64], healthy, false);
    // Rounds that differ among each other are no rise, whatever their medians do.
    let noisy = |connections: u32, round: u32| {
        let up = (round + connections / 64).is_multiple_of(2);
        if up {
            60_000.0
        } else {
            40_000.0 + f64::from(connections) * 100.0
        }
    };
    check(&[16, 64], noisy, false);
    // It rises in each round.
    let rising = |connections: u32, round: u32| f64::from(connections * 1_000 + round);
    check(&[16, 64], rising, true);
}

#[test]
fn rounds_that_agree_are_sharp_and_need_no_word() {
    let verdict = crate::judge_set(&short_rounds()).swap_remove(0);
    assert_eq!(super::finding(&verdict, "STA-12"), None);
}

/// Six rounds of two seconds, the looked-at server's first.
fn short_rounds() -> Vec<model::Trial> {
    let mut trials = six_rounds();
    for trial in &mut trials {
        trial.record.window = Span::from_s(2);
    }
    trials
}

#[test]
fn each_number_has_its_own_precision() {
    let mut trials = short_rounds();
    set_rate(&mut trials, 64, |round| {
        60_000.0 + 5_000.0 * f64::from(round)
    });
    let verdict = crate::judge_set(&trials).swap_remove(0);
    let found = super::finding(&verdict, "STA-12").unwrap();
    // A request costs the same CPU time in each round all the same.
    assert_eq!(found.worst(), Severity::Note);
    assert!(
        found.say.contains("CPU time per exchange is sharp"),
        "{}",
        found.say
    );
    insta::assert_snapshot!("STA-12 mixed", super::told(&found));
}

#[test]
fn a_rate_that_the_plan_set_proves_no_agreement() {
    let mut trials = short_rounds();
    for trial in &mut trials {
        let round = trial.point.as_ref().unwrap().round;
        trial.plan.arrivals = model::plan::Arrivals::Fixed {
            rate_per_1000_s: model::Rate::per_second(2_000),
        };
        trial.record.response_time = spread(
            model::distribution::Shape::TOTAL,
            1e6 + 1e5 * f64::from(round),
            4_000,
        );
    }
    let verdict = crate::judge_set(&trials).swap_remove(0);
    let found = super::finding(&verdict, "STA-12").unwrap();
    assert_eq!(found.worst(), Severity::Note);
    assert!(
        found.say.contains("response times are rough"),
        "{}",
        found.say
    );
}

/// A window of 350 ms in which each of 64 connections gets `usual` but for one stall: the integral
/// begins and ends with the window, the service times do not.
fn stalled(straddling: Span) -> model::Trial {
    let mut trial = closed().remove(0);
    let record = &mut trial.record;
    record.window = Span::from_ms(350);
    record.total.outcomes = model::outcome::OutcomeCounts::default();
    record.total.outcomes[Outcome::Ok] = 64 * 340;
    record.service_time.clear();
    record.service_time.record_n(Span::from_ms(1), 64 * 339);
    record.service_time.record_n(straddling, 64);
    // All 64 were in flight all the time, however long the first of them had been before.
    record.workers[0].outstanding_integral_ns = 64 * 350_000_000;
    trial
}

#[test]
fn a_stall_over_the_edge_of_a_short_window_is_no_lost_exchange() {
    // 339 ms of short ones, and one that reached 11 ms into the window: of 60 ms, or of 11.
    for straddling in [60, 11] {
        let verdict = crate::judge(&stalled(Span::from_ms(straddling)));
        assert_eq!(super::finding(&verdict, "STA-10"), None, "{straddling}");
    }
}

/// 160 connections, of which 96 wait for their answer from before the window until after it.
fn starving() -> model::Trial {
    let mut trial = stalled(Span::from_ms(1));
    trial.record.workers[0].outstanding_integral_ns = 64 * 340_000_000 + 96 * 350_000_000;
    trial.plan.connections = 160;
    trial.record.workers[0].age_at_start = Some(Span::from_ms(96 * 70));
    trial.record.workers[0].age_at_end = Some(Span::from_ms(96 * 420));
    trial
}

#[test]
fn who_waits_for_the_whole_window_is_no_lost_exchange() {
    let verdict = crate::judge(&starving());
    assert_eq!(super::finding(&verdict, "STA-10"), None);
}

#[test]
fn what_is_in_flight_for_no_connection_is_lost() {
    let mut trial = starving();
    // The connections know of half of them only.
    trial.record.workers[0].age_at_end = Some(Span::from_ms(48 * 420));
    trial.record.workers[0].age_at_start = Some(Span::from_ms(48 * 70));
    let found = super::finding(&crate::judge(&trial), "STA-10").unwrap();
    assert_eq!(found.worst(), Severity::Invalid);
}

#[test]
fn what_is_missing_beyond_the_edges_is_seen_in_a_short_window_too() {
    let mut trial = stalled(Span::from_ms(11));
    // One answer in eight went unrecorded: more than the longest 64 can explain.
    trial.record.service_time.clear();
    trial
        .record
        .service_time
        .record_n(Span::from_ms(1), 64 * 296);
    trial.record.service_time.record_n(Span::from_ms(11), 64);
    trial.record.total.outcomes[Outcome::Ok] = 64 * 297;
    let found = super::finding(&crate::judge(&trial), "STA-10").unwrap();
    assert_eq!(found.worst(), Severity::Suspect);
}

#[test]
fn more_in_flight_than_connections_is_a_bug() {
    let mut trial = closed().remove(0);
    trial.record.workers[0].outstanding_integral_ns = 700_000_000_000;
    let found = super::finding(&crate::judge(&trial), "STA-10").unwrap();
    assert_eq!(found.worst(), Severity::Invalid);
    insta::assert_snapshot!("STA-10 places", super::told(&found));
}
