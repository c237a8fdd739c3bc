//! Each rule is provoked, stays silent on a counter-example, and says what it could not read.
//!
//! The wording of each provoked finding is reviewed as a snapshot.

mod answers;
mod apart;
mod datagrams;
mod generator;
mod machine;
mod page;
mod paths;
mod statistics;
mod ways;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use model::Trial;
use model::finding::{Finding, Severity, Verdict};
use model::fixture::{self, Heat};
use model::http2::Http2Record;
use model::plan::{Protocol, Think};
use model::record::Outage;
use model::units::Span;

use crate::{judge, judge_set};

/// Changes the trials of a case.
type Change = fn(&mut Vec<Trial>);

/// How one rule is tested. Of several trials, the first is looked at.
struct Case {
    rule: &'static str,
    base: fn() -> Vec<Trial>,
    /// Makes the rule object.
    provoke: Change,
    /// Comes close, without reason to object.
    silent: Change,
    /// Takes away what the rule reads, and a word of what it then says; none where it reads what
    /// every trial has.
    missing: Option<(Change, &'static str)>,
}

fn cases() -> Vec<Case> {
    [
        generator::cases(),
        apart::cases(),
        machine::cases(),
        paths::cases(),
        datagrams::cases(),
        answers::cases(),
        statistics::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn closed() -> Vec<Trial> {
    vec![fixture::closed()]
}

fn open() -> Vec<Trial> {
    vec![fixture::open()]
}

/// A trial of an experiment, alone.
fn of_lab() -> Vec<Trial> {
    six_rounds()[..1].to_vec()
}

/// Six rounds of two servers over three numbers of connections; the first is a saturated nginx.
fn six_rounds() -> Vec<Trial> {
    static TRIALS: OnceLock<Vec<Trial>> = OnceLock::new();
    TRIALS.get_or_init(invent).clone()
}

fn invent() -> Vec<Trial> {
    let mut trials = Heat {
        servers: vec!["nginx", "lighttpd"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 16, 64],
        rounds: 6,
        window: Span::from_s(10),
        ..Heat::default()
    }
    .trials();
    trials.sort_by_key(|trial| {
        let point = trial.point.as_ref().unwrap();
        let wanted = point.id.server == "nginx" && point.id.connections() == 64;
        (!wanted, point.sequence)
    });
    trials
}

fn verdict_of(trials: &[Trial]) -> Verdict {
    match trials {
        [alone] => judge(alone),
        several => judge_set(several).swap_remove(0),
    }
}

fn finding(verdict: &Verdict, rule: &str) -> Option<Finding> {
    verdict
        .findings
        .iter()
        .find(|finding| finding.rule == rule)
        .cloned()
}

fn told(finding: &Finding) -> String {
    let severity: Vec<String> = finding
        .severity
        .iter()
        .map(|(claim, severity)| format!("{claim}: {}", severity.name()))
        .collect();
    format!(
        "{} {}\n{}\n\n{}\n\n{}\n",
        finding.rule,
        finding.name,
        severity.join(", "),
        finding.say,
        finding.fix.join("\n")
    )
}

#[test]
fn each_rule_objects_when_provoked() {
    for case in cases() {
        let mut trials = (case.base)();
        (case.provoke)(&mut trials);
        let verdict = verdict_of(&trials);
        let Some(found) = finding(&verdict, case.rule) else {
            panic!(
                "{} was provoked and said nothing: {:?}",
                case.rule, verdict.coverage
            );
        };
        assert!(
            !found.say.is_empty() && !found.source.is_empty(),
            "{}",
            case.rule
        );
        insta::assert_snapshot!(case.rule, told(&found));
    }
}

#[test]
fn each_rule_is_silent_on_a_counter_example() {
    for case in cases() {
        let mut trials = (case.base)();
        (case.silent)(&mut trials);
        let verdict = verdict_of(&trials);
        assert_eq!(finding(&verdict, case.rule), None, "{}", case.rule);
        assert_eq!(
            verdict.coverage.unknown.get(case.rule),
            None,
            "{}",
            case.rule
        );
    }
}

#[test]
fn each_rule_says_what_it_could_not_read() {
    for case in cases() {
        let Some((take_away, expected)) = case.missing else {
            continue;
        };
        let mut trials = (case.base)();
        take_away(&mut trials);
        let verdict = verdict_of(&trials);
        let said = verdict.coverage.unknown.get(case.rule);
        assert!(
            said.is_some_and(|said| said.contains(expected)),
            "{}: {said:?}",
            case.rule
        );
        assert_eq!(finding(&verdict, case.rule), None, "{}", case.rule);
    }
}

/// One worker, all of whose connections were refused for a second.
fn an_outage(trial: &mut Trial) {
    let length = Span::from_s(1);
    let worker = &mut trial.record.workers[0];
    worker.outages = vec![Outage {
        start: Span::from_ms(2_100),
        length,
    }];
    worker.backed_off = length * u64::from(worker.connections);
    let backed_off = worker.backed_off.as_ns();
    worker.outstanding_integral_ns = worker.outstanding_integral_ns.saturating_sub(backed_off);
}

#[test]
fn an_outage_is_named_and_is_not_the_generators_fault() {
    for mut trials in [closed(), open()] {
        let trial = &mut trials[0];
        an_outage(trial);
        let verdict = judge(trial);
        let found = finding(&verdict, "HTTP-01").expect("an outage is told");
        let said = "No connection was accepted from 2.1 s to 3.1 s.";
        assert!(found.say.ends_with(said), "{}", found.say);
        assert!(found.worst() >= Severity::Suspect);
        assert_eq!(finding(&verdict, "GEN-05"), None);
        assert!(!verdict.generator_limited);
    }
}

#[test]
fn what_idles_is_a_place_for_an_exchange() {
    // Four exchanges fit on each connection, and one on average is in flight.
    let pipelined = |allowed: Option<u32>| {
        let mut trial = fixture::closed();
        trial.plan.protocol = Protocol::Http2;
        trial.plan.streams = 4;
        trial.record.http2 = Some(Http2Record {
            streams_allowed: allowed,
            ..Http2Record::default()
        });
        finding(&judge(&trial), "GEN-05").map(|found| found.say)
    };
    let said = pipelined(None).expect("three of four places idle");
    assert!(said.starts_with("Each slot for an exchange"), "{said}");
    // The server allowed one alone: no place idles.
    assert_eq!(pipelined(Some(1)), None);
}

#[test]
fn users_who_think_do_not_idle() {
    let users = |late: Span| {
        let mut trial = fixture::closed();
        let time = Span::from_ms(20);
        trial.plan.think = Some(Think::Constant { time });
        trial.record.workers[0].outstanding_integral_ns /= 20;
        let count = trial.record.late_time.count();
        trial.record.late_time.clear();
        trial.record.late_time.record_n(late, count);
        finding(&judge(&trial), "GEN-05").map(|found| found.worst())
    };
    assert_eq!(users(Span::from_us(10)), None);
    assert_eq!(users(Span::from_us(400)), Some(Severity::Invalid));
}

#[test]
fn no_rule_is_without_a_case() {
    let tested: BTreeSet<&str> = cases().iter().map(|case| case.rule).collect();
    let rules: BTreeSet<&str> = crate::rules().iter().map(|check| check.id).collect();
    assert_eq!(tested, rules);
    assert_eq!(rules.len(), crate::rules().len(), "two rules share an id");
}

#[test]
fn every_limit_belongs_to_a_rule() {
    let of_trials = crate::rules().iter().map(|check| check.id);
    let rules: BTreeSet<&str> = of_trials
        .chain(crate::doctor::rules().map(|rule| rule.id))
        .collect();
    for limit in crate::thresholds::ALL {
        assert!(rules.contains(limit.rule), "{}", limit.rule);
        assert!(!limit.source.is_empty());
    }
}
