//! HTTP: what came back.

use model::finding::Severity;
use model::plan::Level;
use model::record::Example;
use model::units::Span;
use model::{Outcome, Trial};

use super::{Case, closed, open, six_rounds};

/// Of the right answers, `count` become something else.
fn spoil(trial: &mut Trial, outcome: Outcome, count: u64, text: &str) {
    let outcomes = &mut trial.record.total.outcomes;
    outcomes[Outcome::Ok] -= count;
    outcomes[outcome] += count;
    trial.record.examples.push(Example {
        outcome,
        text: text.to_owned(),
        request: None,
        at: None,
    });
}

/// Six rounds over TLS, with full handshakes; the first trial is of a server whose certificate has
/// that key, and those of all others have one of RSA.
fn secure(key: &str) -> Vec<Trial> {
    let mut trials = six_rounds();
    let first = trials[0].point.as_ref().unwrap().id.server.clone();
    for trial in &mut trials {
        let is_first = trial.point.as_ref().unwrap().id.server == first;
        "https://127.0.0.1:8080/7".clone_into(&mut trial.plan.requests[0].url);
        let mut tls = model::tls::TlsRecord::default();
        let negotiated = model::tls::Negotiated {
            version: "1.3".to_owned(),
            suite: "TLS_AES_128_GCM_SHA256".to_owned(),
            group: Some("X25519".to_owned()),
            key_type: Some(if is_first { key } else { "RSA 2048" }.to_owned()),
            chain_bytes: 700,
            ..model::tls::Negotiated::default()
        };
        tls.add(negotiated, 64);
        trial.record.tls = Some(tls);
    }
    trials
}

/// Six rounds over HTTP/2, with so many streams on a connection, of so many that servers allow.
fn streams(wanted: u32, allowed: u32) -> Vec<Trial> {
    let mut trials = six_rounds();
    for trial in &mut trials {
        trial.plan.protocol = model::plan::Protocol::Http2;
        trial.plan.streams = wanted;
        trial.record.http2 = Some(model::http2::Http2Record {
            connections: 64,
            streams_allowed: Some(allowed),
            ..model::http2::Http2Record::default()
        });
    }
    trials
}

/// One of them with a thread more and without a ceiling, with sessions that allow a request before
/// the end of a handshake, where the plan wants such requests.
fn begun_early() -> Vec<Trial> {
    let mut trials = vec![secure("RSA 2048").swap_remove(0)];
    let trial = &mut trials[0];
    trial.record.workers.push(trial.record.workers[0].clone());
    trial.context.ceiling = None;
    trial.plan.tls = Some(model::tls::TlsFile {
        handshakes: "full:1,early:1".parse().ok(),
        ..model::tls::TlsFile::default()
    });
    let tls = trial.record.tls.as_mut().unwrap();
    let mut early = tls.negotiated[0].negotiated.clone();
    (early.resumed, early.early) = (true, true);
    tls.library = Some("rustls with aws-lc-rs".to_owned());
    tls.add(early, 60);
    trials
}

/// Connections for one request each: 1,000 full handshakes, and so many that resumed a session.
fn handshakes(resumed: u64) -> Vec<Trial> {
    let mut trials = secure("RSA 2048");
    for trial in &mut trials {
        trial.plan.requests_per_connection = Some(1);
        let tls = trial.record.tls.as_mut().unwrap();
        let mut again = tls.negotiated[0].negotiated.clone();
        (again.resumed, again.key_type, again.chain_bytes) = (true, None, 0);
        tls.negotiated[0].count = if resumed > 10_000 { 100 } else { 1_000 };
        if resumed > 0 {
            tls.add(again, resumed);
        }
    }
    trials
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_one_server();
    cases.extend(across_servers());
    cases.extend(of_handshakes());
    cases
}

fn of_handshakes() -> Vec<Case> {
    vec![
        Case {
            rule: "HTTP-15",
            base: begun_early,
            provoke: |t| t[0].plan.tls.as_mut().unwrap().handshakes = None,
            silent: |_| {},
            missing: Some((|t| t[0].record.tls = None, "before their end")),
        },
        Case {
            rule: "HTTP-16",
            base: begun_early,
            provoke: |t| {
                let tls = t[0].record.tls.as_mut().unwrap();
                tls.library = Some("OpenSSL 3.0.17".to_owned());
            },
            // A ceiling that was measured with it has such waits in it.
            silent: |t| {
                let tls = t[0].record.tls.as_mut().unwrap();
                tls.library = Some("OpenSSL 3.0.17".to_owned());
                t[0].context.ceiling = Some(model::trial::Ceiling {
                    rate: 900_000.0,
                    ..model::trial::Ceiling::default()
                });
            },
            missing: Some((
                |t| t[0].record.tls.as_mut().unwrap().library = None,
                "library",
            )),
        },
    ]
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
            rule: "HTTP-11",
            base: || streams(10, 128),
            provoke: |t| t[0].record.http2.as_mut().unwrap().streams_allowed = Some(8),
            // No limit at all is no other limit.
            silent: |t| t[0].record.http2.as_mut().unwrap().streams_allowed = None,
            missing: Some((|t| t[0].record.http2 = None, "streams")),
        },
        Case {
            rule: "HTTP-12",
            base: || streams(1, 128),
            provoke: |t| {
                let http2 = t[0].record.http2.as_mut().unwrap();
                http2.go_aways.insert("NO_ERROR".to_owned(), 1_200);
                http2.resets.insert("REFUSED_STREAM".to_owned(), 3);
            },
            silent: |_| {},
            missing: Some((|t| t[0].record.http2 = None, "HTTP/2")),
        },
        Case {
            rule: "HTTP-14",
            base: || handshakes(0),
            provoke: |t| *t = handshakes(400),
            // One in some hundreds is the first of a worker.
            silent: |t| *t = handshakes(99_900),
            missing: Some((|t| t[0].record.tls = None, "resumed")),
        },
        Case {
            rule: "HTTP-13",
            base: || secure("RSA 2048"),
            provoke: |t| *t = secure("ECDSA P-256"),
            // Nothing of it is read of connections in clear.
            silent: |t| {
                for trial in t {
                    "http://127.0.0.1:9090/7".clone_into(&mut trial.plan.requests[0].url);
                    trial.record.tls = None;
                }
            },
            missing: Some((|t| t[0].record.tls = None, "negotiated")),
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
fn a_point_that_got_another_tls_than_it_asked_for_is_invalid() {
    use model::point::{CERTIFICATE, Value};
    use model::tls::{TlsFile, TlsGroup, TlsSuite, TlsVersion};
    let check = |change: &dyn Fn(&mut TlsFile), key: &str, expected: &str| {
        let mut trial = secure("RSA 2048").swap_remove(0);
        let mut tls = TlsFile::default();
        change(&mut tls);
        trial.plan.tls = Some(tls);
        let point = trial.point.as_mut().unwrap();
        point.id = point
            .id
            .clone()
            .with(CERTIFICATE, Value::Word(key.to_owned()));
        let verdict = crate::judge(&trial);
        let said = super::finding(&verdict, "HTTP-13").map(|found| found.say);
        assert_eq!(said.as_deref().unwrap_or_default(), expected);
        assert_eq!(verdict.nothing_left(), !expected.is_empty());
    };
    check(
        &|tls| tls.versions.push(TlsVersion::Tls12),
        "rsa-2048",
        "This point asks for TLS 1.2, and its connections had TLS 1.3.",
    );
    check(
        &|tls| tls.suites.push(TlsSuite::Aes256Tls13),
        "rsa-2048",
        "This point asks for TLS_AES_256_GCM_SHA384, and its connections had TLS_AES_128_GCM_SHA256.",
    );
    check(
        &|tls| tls.groups.push(TlsGroup::P256),
        "rsa-2048",
        "This point asks for group P-256, and its connections had group X25519.",
    );
    check(
        &|_| {},
        "ecdsa-p256",
        "This point asks for a certificate of ECDSA P-256, and its connections had a certificate of \
         RSA 2048.",
    );
    check(&|tls| tls.groups.push(TlsGroup::X25519), "rsa-2048", "");
}

#[test]
fn a_point_of_resumed_handshakes_has_no_others() {
    use model::point::{HANDSHAKE, Value};
    let said = |trials: Vec<Trial>, kind: &str| {
        let mut trials = trials;
        for trial in &mut trials {
            let point = trial.point.as_mut().unwrap();
            let id = point.id.clone();
            point.id = id.with(HANDSHAKE, Value::Word(kind.to_owned()));
            trial.plan.requests_per_connection = None;
        }
        let verdict = crate::judge_set(&trials).swap_remove(0);
        let found = super::finding(&verdict, "HTTP-14");
        found.map(|found| found.say).unwrap_or_default()
    };
    // 100 full ones beside them.
    assert_eq!(said(handshakes(99_900), "resumed"), "");
    assert_eq!(
        said(handshakes(0), "resumed"),
        "0 % of the handshakes were resumed. The plan wants all of them to be."
    );
    assert_eq!(said(handshakes(0), "full"), "");
    // A rival that does not resume them all is the only one to blame.
    let mut trials = handshakes(99_900);
    let others = handshakes(400);
    for (trial, other) in trials.iter_mut().zip(others).skip(1) {
        trial.record.tls = other.record.tls;
    }
    assert_eq!(said(trials, "resumed"), "");
}

/// A slow server has fewer handshakes within a window, and no fewer first ones: a rule that counted
/// them would strike its slow rounds and leave the fast ones.
#[test]
fn first_handshakes_that_are_over_before_the_window_do_not_count() {
    use model::point::{HANDSHAKE, Value};
    let said = |full: u64, warmup: Span| {
        let mut trials = handshakes(600);
        for trial in &mut trials {
            let id = &mut trial.point.as_mut().unwrap().id;
            *id = id
                .clone()
                .with(HANDSHAKE, Value::Word("resumed".to_owned()));
            (trial.plan.connections, trial.plan.warmup) = (8, warmup);
            trial.record.tls.as_mut().unwrap().negotiated[0].count = full;
        }
        let verdict = crate::judge_set(&trials).swap_remove(0);
        super::finding(&verdict, "HTTP-14").map(|found| found.say)
    };
    assert_eq!(said(8, Span::from_s(1)), None);
    assert!(said(8, Span::ZERO).is_some());
    // A server that gives no tickets with resumed handshakes is told as before.
    let said = said(300, Span::from_s(1)).expect("it objects");
    assert!(said.starts_with("67 % of the handshakes"), "{said}");
}

#[test]
fn early_requests_that_nobody_declared_make_every_claim_invalid() {
    let mut trial = begun_early().remove(0);
    assert_eq!(super::finding(&crate::judge(&trial), "HTTP-15"), None);
    // That sessions are to be resumed does not say that requests may come before.
    let tls = trial.plan.tls.as_mut().unwrap();
    tls.handshakes = "full:1,resumed:1".parse().ok();
    let verdict = crate::judge(&trial);
    let found = super::finding(&verdict, "HTTP-15").expect("it objects");
    assert!(verdict.nothing_left(), "{found:?}");
    assert!(
        found.say.starts_with("In 48 % of the handshakes"),
        "{found:?}"
    );
    // Connections in clear have none.
    "http://127.0.0.1:8080/7".clone_into(&mut trial.plan.requests[0].url);
    (trial.plan.tls, trial.record.tls) = (None, None);
    let verdict = crate::judge(&trial);
    assert_eq!(verdict.coverage.unknown.get("HTTP-15"), None);
}

#[test]
fn one_thread_waits_for_no_lock_of_its_library() {
    let mut trial = begun_early().remove(0);
    trial.record.tls.as_mut().unwrap().library = Some("OpenSSL 3.0.17".to_owned());
    let doubts = |trial: &Trial| {
        let found = super::finding(&crate::judge(trial), "HTTP-16");
        found.is_some()
    };
    assert!(doubts(&trial));
    // A ceiling against the same server says nothing.
    trial.context.ceiling = Some(model::trial::Ceiling {
        rate: 900_000.0,
        same_server: true,
        ..model::trial::Ceiling::default()
    });
    assert!(doubts(&trial));
    trial.record.workers.truncate(1);
    assert!(!doubts(&trial));
}

/// A lab that is continued in the middle of a round makes its certificate anew.
#[test]
fn a_certificate_with_a_signature_of_another_length_is_no_other_certificate() {
    let check = |bytes: u64, expected: bool| {
        let mut trials = secure("RSA 2048");
        let tls = trials[0].record.tls.as_mut().unwrap();
        tls.negotiated[0].negotiated.chain_bytes = bytes;
        let verdict = crate::judge_set(&trials).swap_remove(0);
        let found = super::finding(&verdict, "HTTP-13");
        assert_eq!(found.is_some(), expected, "{bytes}: {found:?}");
    };
    check(703, false);
    check(697, false);
    check(1_900, true);
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
    // Where exchanges failed, patience is no remedy.
    trial.record.total.outcomes[Outcome::Tls] = 16;
    let found = super::finding(&crate::judge(&trial), "HTTP-01").unwrap();
    assert!(found.say.contains("tls 16"), "{}", found.say);
    assert!(found.fix[0].contains("under failures"), "{found:?}");
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

/// A closed loop of a server that stops answering ends its window with a few right answers and no
/// failure: all that was asked then is lost afterwards.
#[test]
fn what_fails_after_the_window_of_a_closed_loop_counts() {
    let mut trial = closed().remove(0);
    trial.record.drain_phase.outcomes[Outcome::Timeout] = 4;
    let found = super::finding(&crate::judge(&trial), "HTTP-01").expect("it is told");
    let said = "4 exchanges sent within the window failed after it: timeout 4.";
    assert_eq!((found.say.as_str(), found.worst()), (said, Severity::Note));
    trial.record.drain_phase.outcomes[Outcome::Timeout] = trial.record.total.outcomes[Outcome::Ok];
    let verdict = crate::judge(&trial);
    let found = super::finding(&verdict, "HTTP-01").expect("it objects");
    assert!(found.say.contains("failed after it: timeout"), "{found:?}");
    assert_eq!(found.worst(), Severity::Invalid);
    // An open loop counts them where they were due.
    let mut trial = open().remove(0);
    trial.record.drain_phase.outcomes[Outcome::Timeout] = trial.record.total.due;
    assert_eq!(super::finding(&crate::judge(&trial), "HTTP-01"), None);
}

/// A server that answers wrongly at once has answered, and more patience would change nothing.
#[test]
fn wrong_answers_are_not_called_unanswered() {
    let mut trial = open().remove(0);
    let due = trial.record.total.due;
    let mut outcomes = model::OutcomeCounts::default();
    outcomes[Outcome::Status] = due;
    trial.record.total.outcomes = outcomes;
    trial.record.response_time.clear();
    trial.record.response_time.record_censored_n(due);
    let verdict = crate::judge(&trial);
    let found = super::finding(&verdict, "STA-14").unwrap();
    assert!(found.say.contains("answered wrongly"), "{}", found.say);
    assert!(!found.fix[0].contains("--timeout"), "{found:?}");
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

/// Of three servers one closes connections: that is the one that does other work.
#[test]
fn a_server_that_closes_as_most_do_still_compares() {
    let mut trials = six_rounds();
    for mut trial in six_rounds() {
        let point = trial.point.as_mut().unwrap();
        if point.id.server == "nginx" {
            "caddy".clone_into(&mut point.id.server);
            trials.push(trial);
        }
    }
    let server = |trial: &Trial| trial.point.as_ref().unwrap().id.server.clone();
    for trial in &mut trials {
        if server(trial) == "lighttpd" {
            let ended = trial.record.total.outcomes.total();
            trial.record.total.connections.closed_by_server = ended / 100 + 1;
        }
    }
    let verdicts = crate::judge_set(&trials);
    for (trial, verdict) in trials.iter().zip(&verdicts) {
        let found = super::finding(verdict, "HTTP-09");
        let unlike = found.filter(|found| found.say.contains("do not do the same work"));
        assert_eq!(unlike.is_some(), server(trial) == "lighttpd", "{unlike:?}");
    }
}

#[test]
fn a_dynamic_page_is_told() {
    let mut trial = closed().remove(0);
    let reference = trial.record.reference.as_mut().unwrap();
    reference.dynamic = true;
    "status and length".clone_into(&mut reference.checked);
    let found = super::finding(&crate::judge(&trial), "HTTP-03").unwrap();
    assert_eq!(found.worst(), Severity::Note);
    insta::assert_snapshot!("HTTP-03 dynamic", super::told(&found));
}

/// Of a drawn mix, the first handshakes of connections are forgiven as far as the mix draws them to
/// resume a session: no further, and never early data that the server refused.
#[test]
fn many_connections_do_not_hide_that_early_data_are_refused() {
    let said = |mix: &str, change: fn(&mut model::tls::TlsRecord)| {
        let mut trials = handshakes(200);
        for trial in &mut trials {
            (trial.plan.connections, trial.plan.warmup) = (1_000, Span::from_s(1));
            trial.plan.tls = Some(model::tls::TlsFile {
                handshakes: mix.parse().ok(),
                ..model::tls::TlsFile::default()
            });
            let tls = trial.record.tls.as_mut().unwrap();
            // Two for each connection, of which the first can resume nothing.
            tls.negotiated[0].count = 1_800;
            tls.not_resumed = 100;
            change(tls);
        }
        let verdict = crate::judge_set(&trials).swap_remove(0);
        super::finding(&verdict, "HTTP-14").map(|found| found.say)
    };
    let mix = "full:80,resumed:10,early:10";
    assert_eq!(said(mix, |tls| tls.not_early = 100), None);
    let wants_more = "20 % of the handshakes were resumed. The plan wants more of them to be.";
    let refused = |tls: &mut model::tls::TlsRecord| {
        (tls.not_early, tls.early_refused) = (100, 100);
    };
    assert_eq!(said(mix, refused).as_deref(), Some(wants_more));
    // A server that allows no early data at all.
    let never = said(mix, |tls| tls.not_early = 200);
    assert_eq!(never.as_deref(), Some(wants_more));
}

/// So a port that speaks TLS answers who asks it without.
#[test]
fn a_request_that_the_server_calls_bad_may_lack_tls() {
    let fix = |status: &str, url: &str| {
        let mut trial = closed().remove(0);
        trial.plan.requests[0].url = url.to_owned();
        let text = format!("status {status} instead of 200");
        spoil(&mut trial, Outcome::Status, 600_000, &text);
        let verdict = crate::judge(&trial);
        let mut findings = verdict.findings.into_iter();
        let found = findings.find(|finding| finding.rule == "HTTP-02").unwrap();
        found.fix.join(" ")
    };
    let hint = "ask it with https://";
    assert!(fix("400", "http://127.0.0.1:8080/").contains(hint));
    assert!(!fix("503", "http://127.0.0.1:8080/").contains(hint));
    assert!(!fix("400", "https://127.0.0.1:8443/").contains(hint));
}

/// What was counted is asked, and not the words of the first example, which may be the odd one.
#[test]
fn most_answers_say_whether_a_server_calls_requests_bad() {
    let fix = |example: &str, counts: [(u16, u64); 2]| {
        let mut trial = closed().remove(0);
        trial.plan.requests[0].url = "http://127.0.0.1:8080/".to_owned();
        spoil(&mut trial, Outcome::Status, 600_000, example);
        trial.record.wrong_statuses = counts.into();
        let verdict = crate::judge(&trial);
        let mut findings = verdict.findings.into_iter();
        let found = findings.find(|finding| finding.rule == "HTTP-02").unwrap();
        found.fix.join(" ").contains("ask it with https://")
    };
    let (bad, busy) = ("status 400 instead of 200", "status 503 instead of 200");
    assert!(fix(busy, [(400, 599_999), (503, 1)]));
    assert!(!fix(bad, [(400, 1), (503, 599_999)]));
}
