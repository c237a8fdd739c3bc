use model::coding::{Coded, Coding};
use model::distribution::Shape;
use model::fixture::{self, Heat};
use model::http2::Http2Record;
use model::plan::{Protocol, Think};
use model::record::{Example, Lookup};
use model::{Bytes, Outcome, Span, Trial};

use super::*;
use crate::Run;

const PLAIN: Style = Style {
    colour: false,
    width: WIDTH,
};

fn judged_trial(change: impl FnOnce(&mut Trial), base: Trial) -> Trial {
    let mut trial = base;
    change(&mut trial);
    trial.verdict = ::verdict::judge(&trial);
    trial
}

fn is_narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{line}");
        assert_eq!(line, line.trim_end());
    }
}

fn check(name: &str, text: &str) {
    is_narrow(text);
    insta::assert_snapshot!(name, text);
}

#[test]
fn lines_are_as_wide_as_the_terminal() {
    let mut trial = judged_trial(
        |trial| trial.record.notes.push("word ".repeat(40)),
        fixture::open(),
    );
    let trials = Heat::default().trials();
    let mut run = Run::default();
    for trial in &trials {
        run.add(trial);
    }
    run.judge(&::verdict::judge_set(&trials));
    run.sort();
    trial.record.window = Span::from_s(10);
    for (columns, widest) in [(40, 60), (60, 60), (72, 72), (200, 100)] {
        let style = Style::new(false, Some(columns));
        let text = super::trial(&trial, style) + &latency(&trial, style) + &lab(&run, style);
        let longest = text.lines().map(|line| line.chars().count()).max();
        let longest = longest.expect("there are lines");
        assert!(longest <= widest, "{columns}: {longest}\n{text}");
        assert!(longest > widest - 12, "{columns}: {longest}\n{text}");
    }
}

#[test]
fn a_bound_that_another_rule_forbids_is_marked() {
    let saturated = |trial: &mut Trial| {
        trial.record.workers[0].busy = Span::from_ms(9_900);
        trial.usage.server.as_mut().unwrap().busiest_thread = Some(Span::from_s(6));
    };
    let text = trial(&judged_trial(saturated, fixture::closed()), PLAIN);
    assert!(text.contains("at least 60,000/s right answers ("), "{text}");
    let wrong = |trial: &mut Trial| {
        saturated(trial);
        let outcomes = &mut trial.record.total.outcomes;
        let ok = outcomes[Outcome::Ok];
        outcomes[Outcome::Ok] = ok / 2;
        outcomes[Outcome::Status] = ok - ok / 2;
    };
    let forbidden = judged_trial(wrong, fixture::closed());
    assert!(forbidden.verdict.generator_limited);
    let text = trial(&forbidden, PLAIN);
    let expected = "at least 60,000/s right answers, invalid (";
    assert!(text.contains(expected), "{text}");
    // A lab shows it as it shows any number that does not hold.
    let mut run = Run::default();
    run.add(&forbidden);
    assert_eq!(
        run.digests()[0].rate_standing(),
        ::verdict::analysis::Standing::Struck
    );
}

/// At a rate a trial claims no capacity: where its latency is invalid, its rate is no result.
#[test]
fn the_rate_of_a_scheduled_run_is_struck_with_its_latency() {
    let style = Style::new(true, Some(WIDTH));
    let line = |change: fn(&mut Trial)| {
        let trial = judged_trial(change, fixture::open());
        let text = super::trial(&trial, style);
        let line = text.lines().find(|line| line.starts_with("rate "));
        let rate = format!("{}/s", ::verdict::words::rate(trial.record.achieved_rate));
        (line.expect("a line").to_owned(), rate)
    };
    let (right, rate) = line(|_| {});
    assert!(right.contains(&style.bold(&rate)), "{right}");
    let (wrong, rate) = line(|trial| {
        let outcomes = &mut trial.record.total.outcomes;
        outcomes[Outcome::Status] = outcomes[Outcome::Ok] / 2;
        outcomes[Outcome::Ok] -= outcomes[Outcome::Status];
    });
    let struck = format!("{} right answers, invalid (", style.struck(&rate));
    assert!(wrong.contains(&struck), "{wrong}");
}

/// What the text says of response times in a closed loop, without its line breaks.
fn closed_loop(change: impl FnOnce(&mut Trial)) -> String {
    let trial = judged_trial(change, fixture::closed());
    let text = super::trial(&trial, PLAIN);
    let said = text.split("Closed loop: ").nth(1).expect("it is said");
    let said = said.split("(-R)").next().expect("it ends so");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_mean_counts_all_exchanges_in_flight() {
    let at = |protocol, pipeline, streams, allowed| {
        closed_loop(|trial| {
            (trial.plan.connections, trial.record.achieved_rate) = (2, 8_000.0);
            trial.plan.protocol = protocol;
            (trial.plan.pipeline, trial.plan.streams) = (pipeline, streams);
            trial.record.http2 = allowed;
        })
    };
    let one = at(Protocol::Http1, 1, 1, None);
    assert!(one.contains("connections / rate = 250 µs"), "{one}");
    // Where the run ends before all connections are busy, there is no such mean.
    let few = closed_loop(|trial| {
        trial.plan.connections = 10;
        trial.plan.stop = model::plan::Stop::Count(7);
    });
    assert!(!few.contains("connections / rate"), "{few}");
    let pipelined = at(Protocol::Http1, 4, 1, None);
    assert!(
        pipelined.contains("up to 8 exchanges in flight"),
        "{pipelined}"
    );
    assert!(
        pipelined.contains("in flight / rate = 1.00 ms"),
        "{pipelined}"
    );
    let streams = at(Protocol::Http2, 1, 8, None);
    assert!(streams.contains("in flight / rate = 2.00 ms"), "{streams}");
    let allowed = Http2Record {
        streams_allowed: Some(2),
        ..Http2Record::default()
    };
    let few = at(Protocol::Http2, 1, 8, Some(allowed));
    assert!(few.contains("in flight / rate = 500 µs"), "{few}");
    let users = closed_loop(|trial| {
        let time = Span::from_ms(20);
        trial.plan.think = Some(Think::Constant { time });
    });
    assert!(users.starts_with("each user waits"), "{users}");
    assert!(!users.contains('='), "{users}");
}

#[test]
fn a_name_that_was_looked_up_is_told_below_the_times() {
    let mut trial = fixture::closed();
    assert!(!times::times(&trial, PLAIN).contains("look-up"));
    let found = vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    trial.record.lookup = Some(Lookup::of(Span::from_us(1_250), found));
    let told = times::times(&trial, PLAIN);
    let line = told.lines().last().expect("a line");
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "look-up once before the start, 1.25 ms: 2 addresses: 192.0.2.1, 2001:db8::1"
    );
    trial.record.lookup = trial.record.lookup.map(|mut lookup| {
        lookup.merge(Lookup::of(
            Span::from_us(10),
            vec!["192.0.2.1".parse().unwrap()],
        ));
        lookup
    });
    let told = times::times(&trial, PLAIN);
    assert!(
        told.contains("2 times before the start, at most 1.25 ms"),
        "{told}"
    );
}

#[test]
fn encodings_are_told_where_they_matter() {
    let told = |codings: &[(Coding, u64, u64)], asks: bool| {
        let mut trial = fixture::closed();
        if asks {
            let field = ("Accept-Encoding".to_owned(), "gzip".to_owned());
            trial.plan.requests[0].headers.push(field);
        }
        let coded = |(coding, answers, bytes): &(Coding, u64, u64)| {
            let (answers, bytes) = (*answers, Bytes::new(*bytes));
            (*coding, Coded { answers, bytes })
        };
        trial.record.codings = codings.iter().map(coded).collect();
        let text = encoding::encoding(&trial, PLAIN);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (plain, gzip) = (
        (Coding::Identity, 1, 2 << 20),
        (Coding::Gzip, 1_234, 5 << 10),
    );
    assert_eq!(told(&[], true), "", "an older trial says nothing");
    assert_eq!(told(&[plain], false), "");
    let none = told(&[plain], true);
    assert!(none.contains("none of the answers was encoded"), "{none}");
    let some = told(&[plain, gzip], false);
    assert!(some.contains("1 answer (2.00 MiB) not encoded"), "{some}");
    assert!(
        some.contains("1,234 answers in gzip (5.00 KiB as sent)"),
        "{some}"
    );
    let mut trial = fixture::closed();
    let gzip = Coded {
        answers: 12,
        bytes: Bytes::new(100),
    };
    trial.record.codings = [(Coding::Gzip, gzip)].into();
    trial.record.decoded = Some(model::coding::Decoded {
        answers: 5,
        bytes: Bytes::new(1 << 10),
        left_out: 1,
    });
    let text = encoding::encoding(&trial, PLAIN);
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "; 5 answers decoded and checked in the whole run (1.00 KiB), and 1 too long";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_closed_loop() {
    let trial = judged_trial(|_| {}, fixture::closed());
    check("closed", &super::trial(&trial, PLAIN));
}

#[test]
fn a_mix_of_requests() {
    let mix = |trial: &mut Trial| {
        let other = model::RequestFile {
            method: "POST".to_owned(),
            ..model::RequestFile::get("http://127.0.0.1:8080/search?q=a+rather+long+question")
        };
        trial.plan.requests.push(other);
        trial.plan.pipeline = 4;
        trial.plan.connections /= 4;
        let record = &mut trial.record;
        record.workers[0].connections /= 4;
        let mut class = model::record::Class {
            name: "GET /7".to_owned(),
            outcomes: record.total.outcomes,
            sent: record.total.sent,
            response_time: record.response_time.clone(),
            ..Default::default()
        };
        record.classes.push(class.clone());
        class.name = "POST /search?q=a+rather+long+question".to_owned();
        class.outcomes[Outcome::Status] += 3;
        record.classes.push(class);
    };
    let trial = judged_trial(mix, fixture::closed());
    check("mix", &super::trial(&trial, PLAIN));
}

#[test]
fn whole_pages() {
    let paged = |trial: &mut Trial| {
        let time = trial.record.response_time.clone();
        let page = |name: &str, failed| model::record::Page {
            name: name.to_owned(),
            failed,
            time: time.clone(),
        };
        trial.record.pages = vec![page("front page", 0), page("GET /search", 1_234)];
    };
    let trial = judged_trial(paged, fixture::closed());
    let told = super::trial(&trial, PLAIN);
    let words: Vec<&str> = told.split_whitespace().collect();
    let words = words.join(" ");
    for said in [
        "front page and its parts: 600,000 complete ",
        "GET /search and its parts: 600,000 complete, 1,234 failed ",
        "Page times are from when a page was due to the end of its last part, of complete pages: \
         those of which something failed are not in them.",
    ] {
        assert!(words.contains(said), "{said}: {told}");
    }
    let trial = judged_trial(|_| {}, fixture::closed());
    assert!(!super::trial(&trial, PLAIN).contains("Page times"));
}

#[test]
fn an_open_loop() {
    let trial = judged_trial(|_| {}, fixture::open());
    check("open", &super::trial(&trial, PLAIN));
    check("spectrum_open", &latency(&trial, PLAIN));
}

#[test]
fn a_spectrum() {
    let trial = judged_trial(|_| {}, fixture::closed());
    check("spectrum_closed", &latency(&trial, PLAIN));
}

#[test]
fn a_generator_that_was_the_limit() {
    let trial = judged_trial(
        |trial| {
            trial.record.workers[0].busy = Span::from_ms(9_930);
            let server = trial.usage.server.as_mut().unwrap();
            server.busiest_thread = Some(Span::from_s(6));
        },
        fixture::closed(),
    );
    check("limited", &super::trial(&trial, PLAIN));
}

#[test]
fn failures_timeouts_and_facts_unread() {
    let trial = judged_trial(
        |trial| {
            let outcomes = &mut trial.record.total.outcomes;
            outcomes[Outcome::Ok] -= 9_400;
            outcomes[Outcome::Read] = 9_000;
            outcomes[Outcome::Timeout] = 400;
            trial.record.total.bytes_content = Bytes::new(590_600 * 7);
            trial.record.service_time = fixture::spread(Shape::TOTAL, 1.05e6, 590_600);
            trial.record.response_time = fixture::spread(Shape::TOTAL, 1.055e6, 590_600);
            trial.record.intervals[9].tally.outcomes[Outcome::Ok] -= 9_400;
            trial.record.rate_it();
            trial.record.total.connections.asked = 9_400;
            trial.record.total.connections.established = 9_400;
            trial.record.total.connections.broken = 9_400;
            trial.record.total.connections.backed_off = 9_000;
            for _ in 0..400 {
                trial.record.response_time.record_censored();
            }
            for (outcome, text, at) in [
                (Outcome::Read, "connection reset after 120 bytes", 310),
                (Outcome::Timeout, "no answer within 5.00 s", 5_002),
            ] {
                trial.record.examples.push(Example {
                    outcome,
                    text: text.to_owned(),
                    request: None,
                    at: Some(Span::from_ms(at)),
                });
            }
            trial.usage.server = None;
            trial.usage.system = None;
            trial.context.shared_cpus = None;
            trial.record.notes = vec![
                "io_uring is not permitted here (kernel.io_uring_disabled = 2); readiness is used"
                    .to_owned(),
            ];
            "readiness".clone_into(&mut trial.record.backend);
        },
        fixture::closed(),
    );
    check("failures", &super::trial(&trial, PLAIN));
}

#[test]
fn a_sample_of_a_few_shows_few_quantiles() {
    let shaped = fixture::Shaped {
        rate: 30.0,
        connections: 1,
        ..fixture::Shaped::default()
    };
    let trial = judged_trial(|_| {}, shaped.trial());
    check("few", &super::trial(&trial, PLAIN));
    check("spectrum_few", &latency(&trial, PLAIN));
}

#[test]
fn nothing_measured_at_all() {
    let trial = judged_trial(
        |trial| {
            let record = &mut trial.record;
            record.total = model::record::Tally::default();
            record.response_time.clear();
            record.service_time.clear();
            record.late_time.clear();
            record.first_byte_time.clear();
            record.blocked_time.clear();
            record.intervals.clear();
            record.rate_it();
        },
        fixture::closed(),
    );
    check("nothing", &super::trial(&trial, PLAIN));
    check("spectrum_nothing", &latency(&trial, PLAIN));
}

#[test]
fn a_verdict_alone() {
    let trial = judged_trial(|trial| trial.plan.warmup = Span::ZERO, fixture::closed());
    check("judged", &judged("trial.json", &trial.verdict, PLAIN));
}

/// How many timeouts cost no connection stands where they are told, if there were any.
#[test]
fn timeouts_that_were_cancelled_alone() {
    let told = |cancelled| {
        let change = |trial: &mut Trial| {
            trial.plan.protocol = Protocol::Http2;
            let total = &mut trial.record.total;
            total.outcomes[Outcome::Ok] -= 1_400;
            total.outcomes[Outcome::Timeout] = 1_400;
            total.cancelled = cancelled;
        };
        let text = trial(&judged_trial(change, fixture::closed()), PLAIN);
        let line = text.lines().find(|line| line.starts_with("timeout "));
        line.expect("timeouts are told").to_owned()
    };
    assert_eq!(told(0), "timeout     1,400");
    let some = "timeout     1,400; 1,380 cancelled alone, so that the connection went on";
    assert_eq!(told(1_380), some);
}

#[test]
fn an_experiment() {
    let mut trials = Heat {
        connections: vec![1, 64],
        window: Span::from_s(10),
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        let point = trial.point.as_ref().unwrap();
        if point.id.server == "lighttpd" && point.id.workload == "seven-bytes" {
            trial.record.total.outcomes[Outcome::Timeout] = 40;
            trial.record.total.sent += 40;
            "lighttpd with its log on".clone_into(&mut trial.point.as_mut().unwrap().id.server);
        }
    }
    let mut run = Run::default();
    "first-heat".clone_into(&mut run.name);
    "Which server answers fastest, and what does a request cost?".clone_into(&mut run.question);
    run.notes = vec![
        "Not measured: h2o. It is not installed. To measure it: apt-get install h2o".to_owned(),
    ];
    for trial in &trials {
        run.add(trial);
    }
    run.judge(&::verdict::judge_set(&trials));
    run.sort();
    check("lab", &lab(&run, PLAIN));
}

/// `invalid` alone does not say of what.
#[test]
fn a_row_names_the_claims_that_are_invalid() {
    use model::finding::{Claim, ClaimVerdict, Status};
    let mut trials = Heat::of_one("nginx", 2).trials();
    let mut said = |of: [(Claim, Status); 3]| {
        let mut run = Run::default();
        for trial in &mut trials {
            let claim = |status| ClaimVerdict {
                status,
                because: Vec::new(),
                partial: false,
            };
            trial.verdict.claims = of.map(|(made, status)| (made, claim(status))).into();
            run.add(trial);
        }
        lab(&run, PLAIN)
    };
    let worth = |status| {
        [
            (Claim::Capacity, status),
            (Claim::Comparison, status),
            (Claim::Resources, Status::Valid),
        ]
    };
    let text = said(worth(Status::Invalid));
    assert!(text.contains("  invalid: capacity, comparison\n"), "{text}");
    let text = said(worth(Status::Valid));
    assert!(!text.contains("invalid:"), "{text}");
}

#[test]
fn colour_is_a_choice() {
    let trial = judged_trial(|_| {}, fixture::closed());
    assert!(!super::trial(&trial, PLAIN).contains('\x1b'));
    assert!(super::trial(&trial, Style::new(true, None)).contains("\x1b[32mvalid"));
}

#[test]
fn long_words_stay_whole() {
    assert_eq!(wrap("a bb ccc", 4), ["a bb", "ccc"]);
    assert_eq!(wrap("incomprehensible", 4), ["incomprehensible"]);
    assert_eq!(wrap("", 4), [""]);
}
