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
    assert!(matches!(said("SRV-03")[..], [say] if say.starts_with("The server may open 100")));
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
