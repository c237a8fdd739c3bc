//! Users who come at a rate, go through a script once and leave.

use model::outcome::Outcome;
use model::plan::pace::mean_rate;
use model::plan::{Arrivals, PlanFile, Stop};
use model::record::UsersRecord;
use model::units::Span;
use sys::Errno;
use sys::reactor::sim::{Kernel, Reply, Then};

use crate::harness::{
    HELLO, all, closed, count, ms, s, simulate, simulate_on, where_kernels_never_fail,
};
use crate::scripts::{hearing, listening, script, text};

/// A user is there for some 12 ms: two answers of a millisecond each, and a wait.
const VISIT: &str = "
    user_rate = 100
    user_arrivals = 'fixed'
    [[step]]
    get = '/front'
    [[step]]
    wait = '10ms'
    [[step]]
    get = '/item'
";

fn seated(text: &str, plan: PlanFile) -> PlanFile {
    let mut plan = script(text)(plan);
    plan.seat_users();
    plan
}

#[test]
fn users_come_at_their_rate_and_leave() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 1_000,
            ..seated(VISIT, closed(20, s(1)))
        };
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(plan, server);
        let users = record.users.clone().expect("they come");
        assert_eq!((users.came, users.seated), (100, 100));
        // The last one is still there.
        assert_eq!((users.left, users.there_most), (99, 2));
        assert_eq!((users.waiting_most, users.wait.max()), (0, Some(ms(0))));
        assert_eq!(users.waited, Some(0));
        // Each has a connection of its own, and closes it, the last one after the window.
        let connections = all(&record).connections;
        assert_eq!(connections.established, 100);
        assert_eq!(connections.closed_by_client, 100, "{connections:?}");
        let heard = text(&heard);
        assert_eq!(heard.matches('f').count(), 100);
        let mut due: Vec<i64> = record
            .samples
            .iter()
            .filter(|one| one.due_ns % 10_000_000 == 0)
            .map(|one| one.due_ns / 1_000_000)
            .collect();
        due.sort_unstable();
        let expected: Vec<i64> = (0..100).map(|user| user * 10).collect();
        assert_eq!(due, expected, "whenever answers come");
    });
}

/// As many come as the integral of the rate says, when it says.
#[test]
fn users_come_by_stages() {
    where_kernels_never_fail(|| {
        let mut plan = PlanFile {
            samples: 4_000,
            stages: ["1s:=100", "1s:=300", "1s:!500/200ms"]
                .map(|stage| stage.parse().unwrap())
                .into(),
            ..seated(VISIT, closed(50, s(3)))
        };
        let rate_per_1000_s = mean_rate(&plan.stages);
        let script = plan.script.as_mut().expect("it has one");
        script.arrivals = Arrivals::Fixed { rate_per_1000_s };
        plan.warmup = ms(500);
        let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(plan, server);
        let users = record.users.clone().expect("they come");
        // 50 in the warm-up, at the rate with which the stages begin; of the peak of 200/s above
        // 300/s, 31/32 of 200 x 0.2 s / ln 2 come within a second.
        assert_eq!(users.came, 50 + 100 + 300 + 300 + 56);
        assert_eq!(users.waited, Some(0), "{users:?}");
        // The first request of each in the first stage is due at its place.
        // A time on the curve is right to a nanosecond.
        let us = record
            .samples
            .iter()
            .map(|one| (one.due_ns + 500).div_euclid(1_000));
        let mut due: Vec<i64> = us.collect();
        due.retain(|due| (0..1_000_000).contains(due) && due % 10_000 == 0);
        due.sort_unstable();
        let expected: Vec<i64> = (0..100).map(|user| user * 10_000).collect();
        assert_eq!(due, expected);
        let scheduled = record.intervals.iter().map(|one| one.scheduled);
        assert!(
            scheduled.flatten().next().is_none(),
            "of requests nobody says"
        );
    });
}

/// Whoever finds all places taken waits, and that is part of the time of the first answer.
#[test]
fn whoever_finds_no_place_waits_for_one() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 1_000,
            ..seated(&VISIT.replace("100", "200"), closed(1, s(1)))
        };
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(plan, server);
        let users = record.users.clone().expect("they come");
        assert_eq!(users.came, 200);
        assert!((70..90).contains(&users.left), "{users:?}");
        assert_eq!(users.there_most, 1);
        assert_eq!(users.seated, users.left + 1);
        assert!(users.waiting_most + 1 >= users.came - users.seated);
        assert_eq!(users.waited, Some(199), "all but the first: {users:?}");
        assert!(users.wait.max().unwrap() > ms(500), "{users:?}");
        let text = text(&heard);
        assert!(text.starts_with("fififi"), "one after the other: {text}");
        let slowest = record.response_time.max().unwrap();
        assert!(slowest > ms(500), "{slowest}");
        assert!(record.blocked_time.max().unwrap() > ms(500));
        assert_eq!(record.late_time.max(), Some(ms(0)), "nobody else is late");
    });
}

/// A generator that wakes up late lets users in late. There is a place for each, and connects take
/// no time: nothing of that is the server's doing.
#[test]
fn a_generator_that_lets_users_in_late_is_late() {
    let text = VISIT.replace(
        "[[step]]\n    wait = '10ms'\n    [[step]]\n    get = '/item'",
        "",
    );
    let kernel = Kernel {
        seed: 5,
        wait_late: ms(5),
        ..Kernel::default()
    };
    let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
    let record = simulate_on(kernel, seated(&text, closed(20, s(10))), server);
    let users = record.users.clone().expect("they come");
    assert_eq!((users.came, users.waited), (1_000, Some(0)));
    assert_eq!(users.wait.max(), Some(ms(0)), "there was a place for each");
    assert_eq!(
        record.total.outcomes[Outcome::Ok],
        1_000,
        "one request each"
    );
    // Every second wait ends late, by half of the 5 ms on average.
    let late = record.late_time.mean().expect("all were sent");
    assert!((Span::from_us(900)..ms(2)).contains(&late), "{late}");
    assert!(record.late_time.max() > Some(ms(4)));
    let blocked = record.blocked_time.mean().expect("each has one");
    assert!(blocked < Span::from_us(10), "{blocked}");
}

/// So it is where the connect fails that was begun late: the server did not keep them waiting.
#[test]
fn a_connect_that_is_begun_late_and_fails_was_late() {
    let text = "
        user_rate = 20
        user_arrivals = 'fixed'
        [[step]]
        get = '/front'
    ";
    let kernel = Kernel {
        seed: 5,
        wait_late: ms(5),
        ..Kernel::default()
    };
    let plan = PlanFile {
        samples: 1_000,
        ..seated(text, closed(20, s(10)))
    };
    let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
    // What follows upon a failure succeeds, so that no place backs off for long.
    let server = server.refusing(|_, number| (number % 2 == 0).then(|| Errno::new(111)));
    let record = simulate_on(kernel, plan, server);
    let outcomes = &record.total.outcomes;
    assert_eq!(
        (outcomes[Outcome::Ok], outcomes[Outcome::Connect]),
        (100, 100)
    );
    let blocked = record.blocked_time.max().expect("each has one");
    assert!(blocked < Span::from_us(10), "{blocked}");
    let late = record.late_time.sum();
    assert!((ms(180)..ms(400)).contains(&late), "{late}");
    for sample in &record.samples {
        assert_eq!(sample.connect_ns, Some(0), "{sample:?}");
    }
}

#[test]
fn they_come_each_for_itself_unless_the_script_says_otherwise() {
    where_kernels_never_fail(|| {
        let text = VISIT.replace("user_arrivals = 'fixed'", "");
        let come = |seed| {
            let plan = PlanFile {
                seed,
                ..seated(&text, closed(50, s(10)))
            };
            let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
            simulate(plan, server).users.expect("they come")
        };
        let users = come(3);
        // 1,000 are expected, and 4 standard deviations are 126.
        assert!((874..1_126).contains(&users.came), "{users:?}");
        assert!(users.there_most > 3, "some come together: {users:?}");
        assert_eq!(users, come(3), "the seed says when");
        assert_ne!(users.came, come(4).came);
    });
}

/// What one knew is not known to the next, who has the same place.
#[test]
fn nobody_knows_what_another_knew() {
    where_kernels_never_fail(|| {
        let text = "
            user_rate = 50
            cookies = true
            [variables]
            name = { counter = 1, once = true }
            [[step]]
            get = '/front'
            take = { token = { header = 'X-Token' } }
            [[step]]
            get = '/item?${name}=${token}'
        ";
        let mut number = 0;
        let (server, heard) = listening(move |request| {
            number += 1;
            let more = match request.contains("/front") {
                true => format!("Set-Cookie: a={number}\r\nX-Token: {number}\r\n"),
                false => String::new(),
            };
            format!("HTTP/1.1 200 OK\r\n{more}Content-Length: 0\r\n\r\n")
        });
        simulate(seated(text, closed(1, s(1))), server);
        let (mut fronts, mut names) = (0, Vec::new());
        for request in heard.try_iter() {
            if request.contains("/front") {
                assert!(!request.contains("Cookie"), "{request}");
                fronts += 1;
                continue;
            }
            let (name, token) = request
                .split_once("/item?")
                .and_then(|(_, rest)| rest.split_once(' '))
                .and_then(|(value, _)| value.split_once('='))
                .expect("the second step");
            assert!(
                request.contains(&format!("Cookie: a={token}\r\n")),
                "{request}"
            );
            names.push(name.parse::<u32>().expect("a number"));
        }
        assert!(fronts > 20, "{fronts}");
        let expected: Vec<u32> = (1..).take(names.len()).collect();
        assert_eq!(names, expected, "each has another name");
    });
}

/// The connections of a user end with its visit, also those that carried parts of a page.
#[test]
fn all_connections_of_a_user_end_with_it() {
    where_kernels_never_fail(|| {
        let text = "
            user_connections = 3
            user_rate = 20
            user_arrivals = 'fixed'
            [[step]]
            get = '/front'
            [[step]]
            parts = [{ get = '/a' }, { get = '/b' }, { get = '/c' }, { get = '/d' }]
        ";
        let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(seated(text, closed(2, s(1))), server);
        let users = record.users.clone().expect("they come");
        assert_eq!((users.came, users.left), (20, 20));
        let connections = all(&record).connections;
        assert_eq!(connections.established, 60, "{connections:?}");
        assert_eq!(connections.closed_by_client, 60, "{connections:?}");
        assert_eq!(record.total.outcomes[Outcome::Ok], 100);
    });
}

#[test]
fn so_many_exchanges_end_the_run() {
    where_kernels_never_fail(|| {
        let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(seated(VISIT, count(4, 31)), server);
        assert_eq!(record.total.outcomes.total(), 31);
    });
}

/// Late, partial and unwilling kernels, and servers that break off: nobody is lost.
#[test]
fn everybody_is_somewhere_on_any_kernel() {
    for seed in 0..300 {
        let (server, _) = hearing(move |number| match (seed + number) % 11 {
            1 => None,
            2 => Some(Reply::new(HELLO).then(Then::Finish)),
            3 => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let rate = 50 + seed * 3;
        let text = VISIT.replace("100", &rate.to_string());
        let plan = PlanFile {
            seed,
            timeout: ms(20),
            requests_per_connection: (seed % 4 == 0).then_some(1),
            stop: match seed % 3 {
                0 => Stop::Count(1 + seed),
                _ => Stop::DurationNs(ms(300)),
            },
            ..seated(&text, closed(1 + u32::try_from(seed % 4).unwrap(), s(1)))
        };
        let asked = plan.clone();
        let record = simulate_on(Kernel::mixture(seed), plan, server);
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total(), "seed {seed}");
        if let Stop::Count(count) = asked.stop {
            assert_eq!(record.total.outcomes.total(), count, "seed {seed}");
        }
        let UsersRecord {
            came,
            seated,
            left,
            there_most,
            waited,
            ..
        } = record.users.expect("they come");
        assert!(came >= seated && seated >= left, "seed {seed}");
        let waited = waited.expect("it is counted");
        assert!(waited <= came, "seed {seed}");
        if matches!(asked.stop, Stop::DurationNs(_)) {
            assert!(came - waited <= seated, "seed {seed}");
        }
        let places = u64::from(asked.connections);
        assert!(
            seated - left <= places && there_most <= places,
            "seed {seed}"
        );
        assert!(
            left > 0 || came < 5 || all.outcomes[Outcome::Ok] < 5,
            "seed {seed}"
        );
    }
}
