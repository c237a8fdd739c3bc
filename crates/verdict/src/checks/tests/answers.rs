//! HTTP: what came back.

use model::Outcome;
use model::plan::Level;
use model::record::Example;

use super::{Case, closed, open, six_rounds};

/// Of the right answers, `count` become something else.
fn spoil(trial: &mut model::Trial, outcome: Outcome, count: u64, text: &str) {
    let outcomes = &mut trial.record.total.outcomes;
    outcomes[Outcome::Ok] -= count;
    outcomes[outcome] += count;
    trial.record.examples.push(Example {
        outcome,
        text: text.to_owned(),
        at: None,
    });
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_one_server();
    cases.extend(across_servers());
    cases
}

fn across_servers() -> Vec<Case> {
    vec![
        Case {
            rule: "HTTP-05",
            base: six_rounds,
            provoke: |t| {
                let reference = t[0].record.reference.as_mut().unwrap();
                let coding = ("Content-Encoding".to_owned(), "gzip".to_owned());
                reference.headers.push(coding);
            },
            silent: |_| {},
            missing: Some((|t| t[0].record.reference = None, "coding")),
        },
        Case {
            rule: "HTTP-18",
            base: six_rounds,
            provoke: |t| {
                let field = ("Accept-Encoding".to_owned(), "gzip".to_owned());
                t[0].plan.requests[0].headers.push(field);
            },
            // Another port is another server, not another question.
            silent: |t| "http://127.0.0.1:9090/7".clone_into(&mut t[0].plan.requests[0].url),
            missing: None,
        },
    ]
}

fn of_one_server() -> Vec<Case> {
    vec![
        Case {
            rule: "HTTP-01",
            base: closed,
            provoke: |t| {
                spoil(
                    &mut t[0],
                    Outcome::Read,
                    9_000,
                    "connection reset after 0 bytes",
                );
                spoil(&mut t[0], Outcome::Timeout, 12, "no answer within 5.00 s");
            },
            // What we gave up or left unfinished is not a failure.
            silent: |t| t[0].record.total.outcomes[Outcome::Unfinished] = 64,
            missing: None,
        },
        Case {
            rule: "HTTP-02",
            base: closed,
            provoke: |t| {
                spoil(
                    &mut t[0],
                    Outcome::Status,
                    600_000,
                    "status 503 instead of 200",
                );
            },
            silent: |_| {},
            missing: Some((|t| t[0].plan.expect.level = Level::None, "--expect none")),
        },
        Case {
            rule: "HTTP-03",
            base: closed,
            provoke: |t| spoil(&mut t[0], Outcome::Content, 2, "3 bytes instead of 7"),
            silent: |_| {},
            missing: Some((
                |t| t[0].plan.expect.level = Level::Status,
                "--expect status",
            )),
        },
        Case {
            rule: "HTTP-10",
            base: closed,
            provoke: |t| {
                let reference = t[0].record.reference.as_mut().unwrap();
                "HTTP/1.0".clone_into(&mut reference.version);
            },
            silent: |_| {},
            missing: Some((|t| t[0].record.reference = None, "version")),
        },
        Case {
            rule: "HTTP-09",
            base: closed,
            provoke: |t| {
                t[0].record.total.connections.closed_by_server = 6_000;
                t[0].record.total.close_announced = 6_000;
            },
            silent: |t| {
                // One in a thousand, as planned: who closes first does not matter.
                t[0].plan.requests_per_connection = Some(1_000);
                t[0].record.total.connections.closed_by_server = 300;
                t[0].record.total.connections.closed_by_client = 300;
            },
            missing: Some((
                |t| t[0].record.total.outcomes = model::OutcomeCounts::default(),
                "no exchange ended",
            )),
        },
    ]
}

#[test]
fn a_run_without_any_answer_is_invalid() {
    let mut trial = closed().remove(0);
    trial.record.total.outcomes = model::OutcomeCounts::default();
    trial.record.total.sent = 0;
    let verdict = crate::judge(&trial);
    assert!(verdict.nothing_left());
    let found = super::finding(&verdict, "HTTP-01").unwrap();
    insta::assert_snapshot!("HTTP-01 nothing", super::told(&found));
}

/// Far above its capacity a server answers arrivals of the warm-up alone: those are answers.
#[test]
fn a_server_that_never_comes_to_the_arrivals_of_the_window_is_measured() {
    let mut trial = open().remove(0);
    let mut outcomes = model::OutcomeCounts::default();
    outcomes[Outcome::Shed] = trial.record.total.due;
    trial.record.total.outcomes = outcomes;
    trial.record.response_time.clear();
    for _ in 0..trial.record.total.due {
        trial.record.response_time.record_censored();
    }
    let verdict = crate::judge(&trial);
    assert_eq!(super::finding(&verdict, "HTTP-01"), None);
    let found = super::finding(&verdict, "STA-14").unwrap();
    assert!(found.say.contains("never sent"), "{}", found.say);
    assert!(found.fix[0].contains("-R"), "{found:?}");
}

#[test]
fn servers_that_close_differently_do_not_compare() {
    let mut trials = six_rounds();
    for trial in &mut trials {
        if trial.point.as_ref().unwrap().id.server == "lighttpd" {
            let ended = trial.record.total.outcomes.total();
            trial.record.total.connections.closed_by_server = ended / 100 + 1;
        }
    }
    let verdict = crate::judge_set(&trials).swap_remove(0);
    let found = super::finding(&verdict, "HTTP-09").unwrap();
    insta::assert_snapshot!("HTTP-09 unlike", super::told(&found));
}

#[test]
fn a_dynamic_page_is_told() {
    let mut trial = closed().remove(0);
    let reference = trial.record.reference.as_mut().unwrap();
    reference.dynamic = true;
    "status and length".clone_into(&mut reference.checked);
    let found = super::finding(&crate::judge(&trial), "HTTP-03").unwrap();
    assert_eq!(found.worst(), model::Severity::Note);
    insta::assert_snapshot!("HTTP-03 dynamic", super::told(&found));
}
