use std::collections::BTreeMap;

use model::Outcome;
use model::fixture::{self, Heat};
use model::outcome::OutcomeCounts;
use model::units::Span;

use super::*;

#[test]
fn clean_trials_are_valid() {
    let check = |trial: &Trial, claims: &[Claim]| {
        let verdict = judge(trial);
        let loud: Vec<_> = verdict
            .findings
            .iter()
            .filter(|finding| finding.worst() > Severity::Note)
            .collect();
        assert!(loud.is_empty(), "{loud:?}");
        assert_eq!(verdict.status, Status::Valid);
        assert_eq!(verdict.coverage.unknown, BTreeMap::new());
        let made: Vec<Claim> = verdict.claims.keys().copied().collect();
        assert_eq!(made, claims);
        assert!(verdict.claims.values().all(|claim| !claim.partial));
    };
    check(&fixture::closed(), &[Claim::Capacity, Claim::Resources]);
    check(&fixture::open(), &[Claim::Latency, Claim::Resources]);
}

#[test]
fn coverage_counts_every_rule_once() {
    let coverage = judge(&fixture::closed()).coverage;
    let unknown = u32::try_from(coverage.unknown.len()).unwrap();
    assert_eq!(
        coverage.evaluated + coverage.not_applicable + unknown,
        coverage.rules
    );
}

#[test]
fn an_unread_mandatory_fact_makes_a_verdict_partial() {
    let mut trial = fixture::closed();
    trial.context.shared_cpus = None;
    let verdict = judge(&trial);
    assert_eq!(verdict.status, Status::Valid);
    assert!(verdict.claims[&Claim::Capacity].partial);
    assert!(verdict.coverage.unknown.contains_key("GEN-06"));
}

#[test]
fn with_hardly_anything_read_the_verdict_is_unknown() {
    let mut trial = fixture::closed();
    trial.context.shared_cpus = None;
    trial.usage.system = None;
    trial.record.workers.clear();
    trial.record.reference = None;
    trial.plan.addresses.clear();
    trial.record.intervals.clear();
    let verdict = judge(&trial);
    assert_eq!(verdict.claims[&Claim::Capacity].status, Status::Unknown);
    assert!(!verdict.nothing_left());
}

#[test]
fn a_saturated_generator_leaves_a_lower_bound() {
    let mut trial = fixture::closed();
    trial.record.workers[0].busy = Span::from_ms(9_900);
    trial.usage.server.as_mut().unwrap().busiest_thread = Some(Span::from_s(6));
    let verdict = judge(&trial);
    assert!(verdict.generator_limited);
    assert_eq!(verdict.claims[&Claim::Capacity].status, Status::Invalid);
    assert_eq!(
        verdict.claims[&Claim::Capacity].because,
        ["GEN-01", "GEN-02"]
    );
    assert_eq!(verdict.claims[&Claim::Resources].status, Status::Valid);
    assert!(!verdict.nothing_left());
}

#[test]
fn a_finding_about_a_claim_that_is_not_made_is_not_told() {
    let mut trial = fixture::closed();
    trial.environment.clocksource = Some("hpet".to_owned());
    assert!(judge(&trial).findings.iter().all(|f| f.rule != "GEN-11"));
}

#[test]
fn quantiles_are_those_the_sample_carries() {
    let check = |rate: f64, expected: &[&str]| {
        let shaped = fixture::Shaped {
            rate,
            ..fixture::Shaped::default()
        };
        assert_eq!(judge(&shaped.trial()).quantiles, expected, "{rate}");
    };
    check(60_000.0, &["p50", "p75", "p90", "p99", "p99_9", "p99_99"]);
    check(100.0, &["p50", "p75", "p90", "p99"]);
    check(1.0, &[]);
}

#[test]
fn an_experiment_that_went_well_is_valid_at_every_point() {
    let trials = Heat {
        workloads: vec![("seven-bytes", 7)],
        window: Span::from_s(10),
        ..Heat::default()
    }
    .trials();
    let loud: Vec<String> = judge_set(&trials)
        .iter()
        .zip(&trials)
        .filter(|(_, trial)| trial.point.as_ref().is_some_and(|p| p.id.server == "nginx"))
        .flat_map(|(verdict, trial)| {
            let point = trial.point.clone().unwrap();
            verdict
                .findings
                .iter()
                .filter(|finding| finding.worst() > Severity::Note)
                .map(move |finding| format!("{} {}", point.id.connections(), finding.say))
        })
        .collect();
    assert_eq!(loud, [] as [String; 0]);
}

#[test]
fn what_the_doctor_found_carries_over() {
    let mut trial = fixture::closed();
    let mut condition = model::Condition::default();
    let sysctls = &mut condition.environment.sysctls;
    sysctls.insert("net.core.somaxconn".to_owned(), "128".to_owned());
    trial.environment.doctor = crate::doctor::examine(&condition).findings();
    let verdict = judge(&trial);
    let carried = verdict
        .findings
        .iter()
        .find(|finding| finding.rule == "TCP-08")
        .unwrap();
    assert_eq!(
        carried.severity.get(&Claim::Capacity),
        Some(&Severity::Suspect)
    );
    assert!(
        !carried.severity.contains_key(&Claim::Latency),
        "a closed loop claims no latency"
    );
    assert_eq!(verdict.claims[&Claim::Capacity].status, Status::Suspect);
    // A rule that reads the trial itself has the last word.
    let spoken = |id: &str| {
        verdict
            .findings
            .iter()
            .filter(|finding| finding.rule == id)
            .count()
    };
    assert!(spoken("LNK-02") <= 1);
}

#[test]
fn what_the_doctor_found_of_the_server_is_told_once() {
    use model::condition::{ListenerCondition, OpenFiles, ServerCondition};
    let mut trial = fixture::closed();
    let condition = model::Condition {
        at_once: Some(600),
        server: Some(ServerCondition {
            name: "nginx".to_owned(),
            open_files: vec![OpenFiles {
                pid: 7,
                soft: Some(100),
                hard: None,
            }],
            listeners: Some(vec![ListenerCondition {
                address: ([0, 0, 0, 0], 8080).into(),
                waiting: 0,
                backlog: 511,
            }]),
            ..ServerCondition::default()
        }),
        ..model::Condition::default()
    };
    let examination = crate::doctor::examine_server(&condition);
    assert!(examination.unknown.contains_key("CPU-16"));
    assert!(examination.not_applicable.is_empty());
    let server = trial.context.server.get_or_insert_default();
    server.doctor = examination.findings();
    server.open_files_limit = Some(100);
    trial.plan.connections = 600;
    let verdict = judge(&trial);
    let said = |id: &str| {
        let of_rule = verdict.findings.iter().filter(|finding| finding.rule == id);
        of_rule
            .map(|finding| finding.say.as_str())
            .collect::<Vec<_>>()
    };
    assert!(matches!(said("TCP-07")[..], [say] if say.contains("511")));
    // The trial's own rule has the last word on the limit.
    assert!(matches!(said("SRV-03")[..], [say] if say.starts_with("The server may have 100")));
}

#[test]
fn a_run_without_one_right_answer_measured_nothing() {
    // The outcomes of a run whose arrivals became none but these; the rest was never sent.
    let check = |base: fn() -> Trial, outcomes: &[(Outcome, u64)], right: u64, empty: bool| {
        let mut trial = base();
        let total = &mut trial.record.total;
        total.outcomes = OutcomeCounts::default();
        for &(outcome, count) in outcomes {
            total.outcomes[outcome] = count;
        }
        if let Some(passed) = &mut total.passed {
            passed.right = right;
        }
        let verdict = judge(&trial);
        let found = verdict
            .findings
            .iter()
            .find(|finding| finding.rule == "HTTP-01");
        let said = found.map_or("", |finding| &finding.say);
        assert_eq!(
            said.ends_with("nothing was measured."),
            empty,
            "{outcomes:?}: {said}"
        );
        assert!(!empty || verdict.nothing_left(), "{:?}", verdict.claims);
    };
    for base in [fixture::closed, fixture::open] {
        check(base, &[], 0, true);
        check(base, &[(Outcome::Unfinished, 64)], 0, true);
        check(
            base,
            &[(Outcome::Shed, 9_000), (Outcome::Unfinished, 64)],
            0,
            true,
        );
        check(base, &[(Outcome::Timeout, 9_000)], 0, true);
        check(
            base,
            &[(Outcome::Status, 1), (Outcome::Shed, 9_000)],
            0,
            true,
        );
        check(
            base,
            &[(Outcome::Ok, 1), (Outcome::Timeout, 9_000)],
            0,
            false,
        );
    }
    // Answers to arrivals from before the window are answers.
    check(fixture::open, &[(Outcome::Shed, 9_000)], 1, false);
}

#[test]
fn a_generator_at_its_limit_beside_a_server_at_its_own_leaves_a_valid_rate() {
    let check = |server_ms: u64, generator_ms: u64, status: Status, limited: bool| {
        let mut trial = fixture::closed();
        trial.record.workers[0].busy = Span::from_ms(generator_ms);
        trial.usage.server.as_mut().unwrap().busiest_thread = Some(Span::from_ms(server_ms));
        let verdict = judge(&trial);
        let of = format!("{server_ms} {generator_ms}");
        assert_eq!(verdict.claims[&Claim::Capacity].status, status, "{of}");
        assert_eq!(verdict.generator_limited, limited, "{of}");
        let estimate = verdict.findings.iter().find(|f| f.rule == "SRV-11");
        let are_both_near = server_ms > 8_500 && generator_ms > 8_500;
        assert_eq!(estimate.is_some(), are_both_near, "{of}");
    };
    check(9_700, 9_900, Status::Valid, false);
    check(8_800, 9_900, Status::Invalid, true);
    check(5_000, 9_900, Status::Invalid, true);
    // A generator that is less busy takes nothing away from what the server's own limit is.
    check(9_700, 8_300, Status::Valid, false);
    check(9_700, 7_500, Status::Valid, false);
    check(8_800, 8_300, Status::Suspect, false);
    check(8_800, 7_500, Status::Suspect, false);
}

/// A CPU that the generator shares is busy with the generator, too.
#[test]
fn a_shared_cpu_does_not_say_that_the_server_was_full() {
    let check = |shared: Option<Vec<u32>>, severity: Severity| {
        let mut trial = rounds(&[60_000.0], &[]).remove(0);
        trial.context.ceiling = None;
        trial.record.workers[0].busy = Span::from_ms(7_500);
        trial.usage.server.as_mut().unwrap().busiest_thread = Some(Span::from_ms(4_000));
        let own = crate::check::Facts::new(&trial)
            .server_cpus()
            .unwrap()
            .to_vec();
        for cpu in &mut trial.usage.system.as_mut().unwrap().cpus {
            if own.contains(&cpu.cpu) {
                (cpu.busy, cpu.steal) = (1.0, 0.0);
            }
        }
        trial.context.shared_cpus = shared;
        let verdict = judge(&trial);
        let found = verdict.findings.iter().find(|f| f.rule == "GEN-02");
        assert_eq!(found.unwrap().worst(), severity);
    };
    check(Some(Vec::new()), Severity::Note);
    check(Some(vec![0]), Severity::Suspect);
}

/// Rounds of one point, in which `disturbed` had something else on their CPUs.
fn rounds(rates: &[f64], disturbed: &[u32]) -> Vec<Trial> {
    let mut trials = Heat {
        window: Span::from_s(10),
        ceiling: false,
        ..Heat::of_one("nginx", u32::try_from(rates.len()).unwrap())
    }
    .trials();
    for (trial, rate) in trials.iter_mut().zip(rates) {
        trial.record.achieved_rate = *rate;
        if disturbed.contains(&trial.point.as_ref().unwrap().round) {
            disturb(trial);
        }
    }
    trials
}

/// A compiler ran for a third of the time of both CPUs.
fn disturb(trial: &mut Trial) {
    let others = trial
        .usage
        .system
        .as_mut()
        .unwrap()
        .others
        .as_mut()
        .unwrap();
    others.cpu = others.window / 3 * 2;
    others.top = vec![model::usage::Spender {
        name: "cc1".to_owned(),
        processes: 2,
        short_lived: false,
        cpu: others.cpu,
    }];
}

fn rules_of(verdict: &Verdict, at_least: Severity) -> Vec<&str> {
    let findings = verdict.findings.iter();
    findings
        .filter(|finding| finding.worst() >= at_least)
        .map(|finding| finding.rule.as_str())
        .collect()
}

#[test]
fn a_wide_spread_is_rough_and_valid_however_long_the_window() {
    let rates = [47_000.0, 58_000.0, 66_000.0, 75_000.0, 91_000.0, 108_000.0];
    let order = [3, 0, 5, 1, 4, 2];
    let trials = rounds(&order.map(|place: usize| rates[place]), &[]);
    for verdict in judge_set(&trials) {
        assert_eq!(verdict.status, Status::Valid, "{:?}", verdict.findings);
        let precision = verdict
            .findings
            .iter()
            .find(|f| f.rule == "STA-12")
            .unwrap();
        assert_eq!(precision.worst(), Severity::Note);
        assert!(
            precision.say.contains("the rate is rough (within"),
            "{}",
            precision.say
        );
    }
}

/// Eight rounds of one point, each with a rate that moves by so many per cent over its window.
fn drifting(drifts: [i64; 8]) -> Vec<Trial> {
    let mut trials = rounds(&[60_000.0; 8], &[]);
    for (trial, drift) in trials.iter_mut().zip(drifts) {
        for (place, interval) in (0..).zip(&mut trial.record.intervals) {
            interval.tally.outcomes[Outcome::Ok] = (60_000 + 60 * drift * place).cast_unsigned();
        }
    }
    trials
}

#[test]
fn windows_that_drift_either_way_are_noise_and_count() {
    let either = [40, -30, 1, -1, 30, -40, 1, -1];
    for (verdict, drift) in judge_set(&drifting(either)).iter().zip(either) {
        let found = verdict.findings.iter().find(|f| f.rule == "STA-03");
        assert_eq!(found.is_some(), i64::abs(drift) > 10, "{drift}");
        assert!(found.is_none_or(|found| found.worst() == Severity::Note));
    }
}

#[test]
fn a_drift_that_all_rounds_share_strikes_them_all() {
    let all = [15, 20, 1, 30, 18, 16, 14, 25];
    for verdict in judge_set(&drifting(all)) {
        let found = verdict.findings.iter().find(|f| f.rule == "STA-03");
        let found = found.expect("it is told of each round");
        assert_eq!(found.worst(), Severity::Invalid);
        assert!(
            found.say.contains("by the median of 8 rounds"),
            "{}",
            found.say
        );
    }
}

#[test]
fn what_a_cause_explains_is_not_told_again() {
    let mut trial = fixture::closed();
    // The rate fell by a tenth while a compiler ran.
    for (second, interval) in (0..).zip(&mut trial.record.intervals) {
        interval.tally.outcomes[Outcome::Ok] = 64_500 - 1_000 * second;
    }
    let alone = judge(&trial);
    assert_eq!(rules_of(&alone, Severity::Suspect), ["STA-03"]);
    let status = alone.claims[&Claim::Capacity].status;
    disturb(&mut trial);
    for cpu in &mut trial.usage.system.as_mut().unwrap().cpus {
        cpu.user += 0.5;
    }
    let verdict = judge(&trial);
    assert_eq!(rules_of(&verdict, Severity::Suspect), ["CPU-08"]);
    assert_eq!(verdict.coverage.explained["STA-03"], "CPU-08");
    assert!(verdict.claims[&Claim::Capacity].status >= status);
    let cause = &verdict.findings[0];
    assert_eq!(cause.evidence["explains"], serde_json::json!(["STA-03"]));
    assert!(cause.say.contains("cc1 (2 processes)"), "{}", cause.say);
}

#[test]
fn a_small_cause_does_not_make_what_it_explains_better() {
    let mut trial = fixture::closed();
    for (second, interval) in (0..).zip(&mut trial.record.intervals) {
        interval.tally.outcomes[Outcome::Ok] = 78_000 - 4_000 * second;
    }
    let others = trial
        .usage
        .system
        .as_mut()
        .unwrap()
        .others
        .as_mut()
        .unwrap();
    others.cpu = others.window / 15;
    let verdict = judge(&trial);
    assert_eq!(rules_of(&verdict, Severity::Suspect), ["CPU-08"]);
    assert_eq!(verdict.claims[&Claim::Capacity].status, Status::Invalid);
}

#[test]
fn camps_are_looked_for_in_rounds_that_nothing_disturbed() {
    let high = |round: u32| f64::from(round) * 100.0 + 63_000.0;
    let rates: Vec<f64> = (1..=8)
        .map(|round| {
            if round % 4 == 1 {
                high(round) / 1.5
            } else {
                high(round)
            }
        })
        .collect();
    let has_camps = |disturbed: &[u32]| {
        let verdicts = judge_set(&rounds(&rates, disturbed));
        let seen = verdicts
            .iter()
            .filter(|v| rules_of(v, Severity::Note).contains(&"STA-05"));
        seen.count()
    };
    assert_eq!(has_camps(&[]), 8);
    assert_eq!(has_camps(&[1, 5]), 0);
    // Camps that were there all the time stay.
    assert!(has_camps(&[2, 3]) > 0);
    // With too few left nobody can say.
    let verdicts = judge_set(&rounds(&rates, &[1, 2, 5]));
    let why = &verdicts[3].coverage.cannot_apply["STA-05"];
    assert!(why.contains("3 of 8 rounds"), "{why}");
}

#[test]
fn camps_are_a_doubt_where_the_interval_leaves_one_out() {
    let check = |count: u32, of_low: u32, expected: Severity| {
        let rate = |round| {
            let base = if round < of_low { 41_000.0 } else { 63_000.0 };
            base + f64::from(round) * 10.0
        };
        let rates: Vec<f64> = (0..count).map(rate).collect();
        for verdict in judge_set(&rounds(&rates, &[])) {
            let camps = verdict.findings.iter().find(|f| f.rule == "STA-05");
            assert_eq!(camps.unwrap().worst(), expected, "{of_low} of {count}");
        }
    };
    check(6, 3, Severity::Note);
    check(8, 2, Severity::Note);
    check(20, 10, Severity::Note);
    check(20, 4, Severity::Suspect);
    check(20, 16, Severity::Suspect);
}

#[test]
fn what_is_of_the_machine_is_told_once() {
    let mut trials = rounds(&[60_000.0; 6], &[]);
    for trial in &mut trials {
        trial.environment.virtualised = Some(true);
    }
    let verdicts = judge_set(&trials);
    for rule in ["CPU-03", "LNK-02"] {
        let told = verdicts
            .iter()
            .filter(|v| rules_of(v, Severity::Note).contains(&rule));
        assert_eq!(told.count(), 1, "{rule}");
    }
    // A trial that is judged alone tells it itself.
    assert!(rules_of(&judge(&trials[3]), Severity::Note).contains(&"CPU-03"));
}

#[test]
fn a_drift_is_seen_in_a_window_of_any_length() {
    let check = |intervals: usize, length_ms: u64, status: Status, can: bool| {
        let mut trial = fixture::closed();
        let record = &mut trial.record;
        let each = Span::from_ms(length_ms);
        record.window = each * intervals as u64;
        let step = record.intervals[0].clone();
        record.intervals = (0..intervals as u64)
            .map(|place| {
                let mut interval = step.clone();
                (interval.start, interval.length) = (each * place, each);
                interval.tally.outcomes[Outcome::Ok] = 2_000 - 40 * place;
                interval
            })
            .collect();
        let verdict = judge(&trial);
        let found = rules_of(&verdict, Severity::Suspect).contains(&"STA-03");
        assert_eq!(
            found, can,
            "{intervals} of {length_ms} ms: {:?}",
            verdict.coverage
        );
        let told = verdict.coverage.cannot_apply.get("STA-03");
        assert_eq!(told.is_none(), can, "{told:?}");
        let capacity = &verdict.claims[&Claim::Capacity];
        assert!(capacity.status >= status, "{capacity:?}");
        assert!(can || capacity.partial);
    };
    check(10, 35, Status::Suspect, true);
    check(10, 1_000, Status::Suspect, true);
    check(4, 10, Status::Valid, false);
}

#[test]
fn links_take_no_part_over_loopback() {
    let mut trial = fixture::closed();
    let mut condition = model::Condition::default();
    condition.links = [("lo", 65_536, false), ("eth0", 1_452, true)]
        .map(|(name, mtu, device)| model::condition::Link {
            name: name.to_owned(),
            mtu: Some(mtu),
            device,
            ..model::condition::Link::default()
        })
        .into();
    trial.environment.doctor = crate::doctor::examine(&condition).findings();
    let accused = |trial: &Trial| rules_of(&judge(trial), Severity::Note).contains(&"LNK-03");
    assert!(!accused(&trial));
    "192.0.2.7:80".clone_into(&mut trial.record.reference.as_mut().unwrap().address);
    assert!(accused(&trial));
    // Its own packets are as large as somebody made them.
    condition.links[0].mtu = Some(1_500);
    let mut trial = fixture::closed();
    trial.environment.doctor = crate::doctor::examine(&condition).findings();
    assert!(accused(&trial));
}
