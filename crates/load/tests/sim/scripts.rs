//! Users who follow a script: in order, each at the time that it says, whatever the server does.

use std::sync::mpsc::{Receiver, channel};

use model::outcome::Outcome;
use model::plan::{PlanFile, ScriptFile, Stop};
use model::record::Record;
use sys::reactor::sim::{Kernel, Reply, Service, SimServer, Then};

use crate::harness::{
    HELLO, all, closed, count, ms, s, simulate, simulate_all, simulate_on, where_kernels_never_fail,
};

pub(crate) fn script(text: &str) -> impl Fn(PlanFile) -> PlanFile {
    let script = model::script::read("script", text, Some("http://sim/"), &model::script::Alone);
    let script = script.unwrap_or_else(|mistake| panic!("{mistake}"));
    move |plan| PlanFile {
        requests: script.requests.clone(),
        script: Some(script.steps.clone()),
        ..plan
    }
}

/// What a server was asked, by the first letter of each path.
pub(crate) type Heard = Receiver<char>;

/// One that says hello after a millisecond, but for what `answer` makes of the number of a request.
pub(crate) fn hearing(
    answer: impl Fn(u64) -> Option<Reply> + Send + 'static,
) -> (SimServer, Heard) {
    let (tell, heard) = channel();
    let mut number = 0;
    let server = SimServer::new(Service::Constant(ms(1)), move |request| {
        let mut rest = request.iter().skip_while(|byte| **byte != b'/').skip(1);
        let letter = rest.next().map_or(' ', |byte| char::from(*byte));
        // Where nobody listens any more, nobody wants to know.
        let _unheard = tell.send(letter);
        number += 1;
        answer(number - 1)
    });
    (server, heard)
}

pub(crate) fn text(heard: &Heard) -> String {
    heard.try_iter().collect()
}

const SHOP: &str = "
    [[step]]
    get = '/front'
    [[step]]
    wait = '10ms'
    [[step]]
    repeat = 2
    [[step.step]]
    get = '/item'
    [[step.step]]
    wait = '5ms'
    [[step]]
    post = '/buy'
    body = 'one'
";

#[test]
fn steps_come_in_order_and_waits_are_as_long_as_they_say() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 100,
            ..script(SHOP)(count(1, 10))
        };
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(plan, server);
        assert_eq!(text(&heard), "fiibfiibfi");
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            10,
            "{:?}",
            record.examples
        );
        let names: Vec<(&str, u64)> = record
            .classes
            .iter()
            .map(|class| (class.name.as_str(), class.outcomes.total()))
            .collect();
        assert_eq!(
            names,
            [("GET /front", 3), ("GET /item", 5), ("POST /buy", 2)]
        );
        // From the end of one answer to when the next request was due, which it was sent at.
        let waits: Vec<i64> = record
            .samples
            .windows(2)
            .map(|two| {
                assert_eq!(two[1].sent_ns, Some(two[1].due_ns));
                (two[1].due_ns - two[0].ended_ns) / 1_000
            })
            .collect();
        let once = [10_000, 5_000, 5_000, 0];
        assert_eq!(waits, [once, once, [10_000, 0, 0, 0]].concat()[..9]);
        let slowest = record.response_time.max().unwrap();
        assert!(slowest < ms(2), "a wait is no response time: {slowest}");
    });
}

/// A server that closes after each answer, or at every third request without one, does not bring
/// the steps out of order.
#[test]
fn the_order_outlives_connections() {
    where_kernels_never_fail(|| {
        let closing = || HELLO.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let (server, heard) = hearing(move |_| Some(Reply::new(closing()).then(Then::Finish)));
        let record = simulate(script(SHOP)(count(1, 9)), server);
        assert_eq!(text(&heard), "fiibfiibf");
        assert_eq!(all(&record).connections.established, 9);

        let (server, heard) = hearing(|number| match number % 3 {
            2 => Some(Reply::new("").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let record = simulate(script(SHOP)(count(1, 9)), server);
        assert_eq!(text(&heard), "fiibfiibf", "a step that failed is over");
        assert_eq!(record.total.outcomes[Outcome::Ok], 6);
    });
}

/// As many requests on a connection as one user has steps, and as many as bring it out of step.
#[test]
fn the_order_outlives_our_own_closes() {
    where_kernels_never_fail(|| {
        for most in 1..=5 {
            let plan = PlanFile {
                requests_per_connection: Some(most),
                ..script(SHOP)(count(1, 20))
            };
            let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
            let record = simulate(plan, server);
            assert_eq!(text(&heard), "fiib".repeat(5), "{most}");
            assert_eq!(record.total.outcomes[Outcome::Ok], 20, "{most}");
        }
    });
}

/// A server that closes idle connections unannounced: what was not handed in is asked again by the
/// user whose it is, in its place.
#[test]
fn what_a_server_did_not_process_is_asked_again_on_any_kernel() {
    for seed in 0..200 {
        // The next request meets the close of the connection.
        let (server, heard) = hearing(|number| {
            let reply = Reply::new(HELLO);
            Some(match number % 4 {
                3 => reply.then(Then::Finish),
                _ => reply,
            })
        });
        let plan = PlanFile {
            seed,
            ..script(SHOP)(closed(1, s(1)))
        };
        let kernel = Kernel {
            failed_sends_per_1000: 0,
            failed_connects_per_1000: 0,
            ..Kernel::mixture(seed)
        };
        let record = simulate_on(kernel, plan, server);
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total(), "seed {seed}");
        let heard = text(&heard);
        let expected = "fiib".repeat(heard.len());
        if all.outcomes.failures() == 0 {
            assert!(expected.starts_with(&heard), "seed {seed}: {heard}");
        }
    }
}

fn shares(record: &Record) -> Vec<u64> {
    let counts = record.classes.iter().map(|class| class.outcomes.total());
    counts.collect()
}

#[test]
fn branches_and_chances_have_their_shares() {
    let text = "
        [[step]]
        [[step.branch]]
        weight = 7
        step = [{ get = '/a' }]
        [[step.branch]]
        weight = 3
        step = [{ get = '/b' }, { get = '/c' }]
        [[step]]
        chance = '25%'
        get = '/d'
        [[step]]
        get = '/e'
    ";
    let plan = PlanFile {
        workers: 2,
        ..script(text)(count(20, 20_000))
    };
    let record = simulate_all(plan, || hearing(|_| Some(Reply::new(HELLO))).0);
    let counts = shares(&record);
    let rounds = counts[4];
    for (count, share) in counts.iter().zip([70, 30, 30, 25, 100]) {
        let seen = count * 100 / rounds;
        assert!(seen.abs_diff(share) <= 2, "{counts:?}, seed 1");
    }
}

/// A hundred users who begin evenly within a second: each has its own connection, from then on.
#[test]
fn users_begin_when_the_start_says() {
    where_kernels_never_fail(|| {
        let text = "start = 'uniform:0s-1s'\n[[step]]\nget = '/a'\n[[step]]\nwait = '10s'\n";
        let plan = PlanFile {
            samples: 1_000,
            ..script(text)(closed(100, s(2)))
        };
        let record = simulate(plan, hearing(|_| Some(Reply::new(HELLO))).0);
        assert_eq!(record.total.outcomes[Outcome::Ok], 100);
        assert_eq!(all(&record).connections.established, 100);
        let mut due: Vec<i64> = record.samples.iter().map(|one| one.due_ns).collect();
        due.sort_unstable();
        let half = due[50] / 1_000_000;
        assert!((400..600).contains(&half), "{half} ms, seed 1");
        let connects = record.samples.iter().filter(|one| one.connect_ns.is_some());
        assert_eq!(connects.count(), 100);
    });
}

/// What users do is the plan's and their own, not the server's: with a slower server each of them
/// takes the same way.
#[test]
fn the_same_seed_takes_the_same_ways() {
    let text = "
        [[step]]
        chance = '50%'
        get = '/a'
        [[step]]
        repeat = '0-3'
        get = '/b'
        [[step]]
        get = '/c'
        [[step]]
        wait = 'exp:1ms'
    ";
    let run = |seed: u64, kernel: Kernel| {
        let plan = PlanFile {
            seed,
            ..script(text)(count(1, 300))
        };
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        simulate_on(kernel, plan, server);
        self::text(&heard)
    };
    let late = Kernel {
        wait_late: ms(1),
        ..Kernel::default()
    };
    assert_eq!(run(5, Kernel::default()), run(5, late));
    assert_ne!(run(5, Kernel::default()), run(6, Kernel::default()));
}

/// Late, partial and unwilling kernels: each request ends once, and a count is exact.
#[test]
fn each_request_of_a_script_ends_once_on_any_kernel() {
    for seed in 0..300 {
        let (server, _) = hearing(move |number| match (seed + number) % 11 {
            1 => None,
            2 => Some(Reply::new(HELLO).then(Then::Finish)),
            3 => Some(Reply::new("HTTP/1.1 408 Bye\r\n\r\n").then(Then::Finish)),
            4 => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let plan = PlanFile {
            seed,
            timeout: ms(20),
            warmup: ms(seed % 3 * 10),
            requests_per_connection: (seed % 4 == 0).then_some(3),
            stop: match seed % 2 {
                0 => Stop::Count(1 + seed),
                _ => Stop::DurationNs(ms(100)),
            },
            ..script(SHOP)(closed(1 + u32::try_from(seed % 9).unwrap(), s(1)))
        };
        let asked = plan.clone();
        let record = simulate_on(Kernel::mixture(seed), plan, server);
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total(), "seed {seed}");
        if let (Stop::Count(count), true) = (asked.stop, asked.warmup.is_zero()) {
            assert_eq!(record.total.outcomes.total(), count, "seed {seed}");
        }
    }
}

/// The steps of a plan are read back as they were written.
#[test]
fn a_script_survives_its_plan() {
    let plan = script(SHOP)(closed(1, s(1)));
    let text = serde_json::to_string(&plan).unwrap();
    let read: PlanFile = serde_json::from_str(&text).unwrap();
    assert_eq!(read, plan);
    assert_ne!(read.script, Some(ScriptFile::default()));
}

/// What a server was asked, whole.
pub(crate) type Requests = Receiver<String>;

pub(crate) fn listening(
    mut answer: impl FnMut(&str) -> String + Send + 'static,
) -> (SimServer, Requests) {
    let (tell, heard) = channel();
    let server = SimServer::new(Service::Constant(ms(1)), move |request| {
        let text = String::from_utf8_lossy(request).into_owned();
        let reply = Reply::new(answer(&text));
        let _unheard = tell.send(text);
        Some(reply)
    });
    (server, heard)
}

/// A user logs in with a name of its own, keeps the cookie and the token of the answer, and sends
/// both back: the server refuses whoever comes with another's.
#[test]
fn users_keep_what_is_theirs() {
    where_kernels_never_fail(|| {
        let text = "
        cookies = true
        [variables]
        name = { counter = 1, once = true }
        [[step]]
        get = '/login?${name}'
        take = { token = { json = '/token' } }
        [[step]]
        repeat = 2
        get = '/account/${token}'
        contains = 'hello'
    ";
        let answer = |request: &str| {
            let target = request.split(' ').nth(1).expect("a target");
            if let Some(name) = target.strip_prefix("/login?") {
                let content = format!("{{\"token\": \"t{name}\"}}");
                let length = content.len();
                return format!(
                    "HTTP/1.1 200 OK\r\nSet-Cookie: id={name}\r\nContent-Length: {length}\r\n\r\n\
                 {content}"
                );
            }
            let name = target.strip_prefix("/account/t").expect("no other path");
            let is_theirs = request.contains(&format!("\r\nCookie: id={name}\r\n"));
            match is_theirs {
                true => HELLO.to_owned(),
                false => HELLO.replace("200 OK", "403 Forbidden"),
            }
        };
        let (server, heard) = listening(answer);
        let plan = PlanFile {
            requests_per_connection: Some(4),
            ..script(text)(count(7, 700))
        };
        let findings = load::reference::Findings {
            expectations: vec![
                load::expectation::Expectation {
                    no_error: true,
                    ..load::expectation::Expectation::default()
                };
                2
            ],
            ..crate::harness::findings(&plan)
        };
        let record = crate::harness::simulate_with(plan, &findings, server);
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            700,
            "{:?}",
            record.examples
        );
        let heard: Vec<String> = heard.try_iter().collect();
        for name in 1..=7 {
            let logins = heard
                .iter()
                .filter(|one| one.starts_with(&format!("GET /login?{name} ")));
            assert!(
                logins.count() > 20,
                "user {name} comes again under the same name"
            );
        }
    });
}

/// A server that gives no token, and one that does not say hello.
#[test]
fn an_answer_without_what_is_wanted_is_wrong() {
    where_kernels_never_fail(|| {
        let text = "
        [[step]]
        get = '/a'
        take = { token = { header = 'X-Token' } }
        [[step]]
        get = '/b'
        contains = 'good bye'
    ";
        let (server, _) = listening(|_| HELLO.to_owned());
        let record = simulate(script(text)(count(1, 10)), server);
        assert_eq!(record.total.outcomes[Outcome::Content], 10);
        let text = &record.examples[0].text;
        assert!(text.contains("lacks a value"), "{text}");
    });
}
