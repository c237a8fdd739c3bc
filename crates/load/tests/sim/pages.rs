//! Users who ask for several things together, as browsers ask for the parts of a page.

use std::collections::BTreeMap;

use load::expectation::Expectation;
use load::reference::Findings;
use model::outcome::Outcome;
use model::plan::{PlanFile, Stop};
use sys::reactor::sim::{Kernel, Reply, Then};

use crate::harness::{
    HELLO, all, closed, count, findings, ms, s, simulate, simulate_on, simulate_with,
    where_kernels_never_fail,
};
use crate::scripts::{hearing, listening, script, text};

/// A page of five parts, over up to three connections.
const PAGE: &str = "
    user_connections = 3
    [[step]]
    get = '/front'
    [[step]]
    parts = [{ get = '/a' }, { get = '/b' }, { get = '/c' }, { get = '/d' }, { get = '/e' }]
";

/// The plan of so many users of a script.
fn seated(text: &str, plan: PlanFile) -> PlanFile {
    let mut plan = script(text)(plan);
    plan.seat_users();
    plan
}

#[test]
fn parts_come_after_their_document_and_over_all_connections_of_a_user() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 100,
            ..seated(PAGE, count(1, 18))
        };
        assert_eq!(plan.connections, 3);
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(plan, server);
        assert_eq!(record.total.outcomes[Outcome::Ok], 18);
        assert_eq!(all(&record).connections.established, 3);
        let heard = text(&heard);
        for (round, page) in heard.as_bytes().chunks(6).enumerate() {
            let mut letters = page.to_vec();
            assert_eq!(letters[0], b'f', "{heard}");
            letters.sort_unstable();
            assert_eq!(letters, b"abcdef", "round {round}: {heard}");
        }
        // Once all connections are there: three at once when the page has come, the other two when
        // those have, and the next page when all have. An answer takes a millisecond.
        let mut last: Vec<(i64, i64)> = record
            .samples
            .iter()
            .map(|one| (one.sent_ns.unwrap(), one.due_ns))
            .collect();
        last.sort_unstable();
        let last = &last[12..];
        let from = last[0].0;
        let sent: Vec<i64> = last.iter().map(|(sent, _)| (sent - from) / 1_000).collect();
        assert_eq!(sent, [0, 1_000, 1_000, 1_000, 2_000, 2_000], "{last:?}");
        let due: Vec<i64> = last.iter().map(|(_, due)| (due - from) / 1_000).collect();
        assert_eq!(due, [0, 1_000, 1_000, 1_000, 1_000, 1_000], "{last:?}");
    });
}

/// With one connection they come one after the other; pipelined, all at once.
#[test]
fn one_connection_carries_as_many_as_it_can() {
    where_kernels_never_fail(|| {
        let alone = PAGE.replace("user_connections = 3", "");
        let check = |pipeline: u32, expected: &[i64]| {
            let plan = PlanFile {
                samples: 100,
                pipeline,
                ..seated(&alone, count(1, 12))
            };
            let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
            let record = simulate(plan, server);
            assert_eq!(text(&heard), "fabcdefabcde");
            let sent = record.samples[6..].iter().map(|one| one.sent_ns.unwrap());
            let from = record.samples[6].sent_ns.unwrap();
            let sent: Vec<i64> = sent.map(|sent| (sent - from) / 1_000).collect();
            assert_eq!(sent, expected, "{pipeline}");
        };
        check(1, &[0, 1_000, 2_000, 3_000, 4_000, 5_000]);
        check(8, &[0, 1_000, 1_000, 1_000, 1_000, 1_000]);
    });
}

/// A server that closes each connection, or leaves requests unanswered, loses no part, and nobody
/// goes on before the last one.
#[test]
fn a_page_is_whole_whatever_becomes_of_connections() {
    where_kernels_never_fail(|| {
        let closing = HELLO.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let (server, heard) = hearing(move |_| Some(Reply::new(closing.clone())));
        let record = simulate(seated(PAGE, count(1, 60)), server);
        assert_eq!(record.total.outcomes[Outcome::Ok], 60);
        for page in text(&heard).as_bytes().chunks(6) {
            assert_eq!(page[0], b'f');
        }
        // One in five gets no answer: it ends with its time, and the page without it.
        let (server, heard) = hearing(|number| (number % 5 != 4).then(|| Reply::new(HELLO)));
        let plan = PlanFile {
            timeout: ms(20),
            ..seated(PAGE, count(1, 60))
        };
        let record = simulate(plan, server);
        assert_eq!(record.total.outcomes.total(), 60);
        let heard = text(&heard);
        for page in heard.as_bytes().chunks(6) {
            let mut letters = page.to_vec();
            letters.sort_unstable();
            assert_eq!((page[0], &letters[..]), (b'f', &b"abcdef"[..]), "{heard}");
        }
    });
}

/// Late, partial and unwilling kernels: each request ends once, a count is exact, and between two
/// pages no part comes twice.
#[test]
fn each_part_ends_once_on_any_kernel() {
    for seed in 0..300 {
        let (server, heard) = hearing(move |number| match (seed + number) % 13 {
            1 => None,
            2 => Some(Reply::new(HELLO).then(Then::Finish)),
            3 => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let users = 1 + u32::try_from(seed % 4).unwrap();
        let plan = PlanFile {
            seed,
            timeout: ms(20),
            requests_per_connection: (seed % 4 == 0).then_some(3),
            pipeline: if seed % 3 == 0 { 2 } else { 1 },
            stop: match seed % 2 {
                0 => Stop::Count(1 + seed),
                _ => Stop::DurationNs(ms(100)),
            },
            ..seated(PAGE, closed(users, s(1)))
        };
        let asked = plan.clone();
        // What could not be sent is over, and no server heard of it.
        let mut kernel = Kernel::mixture(seed);
        if users == 1 {
            kernel.failed_sends_per_1000 = 0;
            kernel.failed_connects_per_1000 = 0;
        }
        let record = simulate_on(kernel, plan, server);
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total(), "seed {seed}");
        if let Stop::Count(count) = asked.stop {
            assert_eq!(record.total.outcomes.total(), count, "seed {seed}");
        }
        if users == 1 {
            let heard = text(&heard);
            for page in heard.split('f') {
                let mut letters: Vec<char> = page.chars().collect();
                letters.sort_unstable();
                let before = letters.len();
                letters.dedup();
                assert_eq!(letters.len(), before, "seed {seed}: {heard}");
            }
        }
    }
}

/// Users know what is theirs on all of their connections, also of answers that come side by side.
#[test]
fn what_a_user_knows_goes_over_all_of_its_connections() {
    where_kernels_never_fail(|| {
        let steps = "
            user_connections = 2
            [variables]
            name = { counter = 1, once = true }
            [[step]]
            parts = [
                { get = '/a?${name}', take = { a = { json = '/token' } } },
                { get = '/b?${name}', take = { b = { json = '/token' } } },
                { get = '/c?${name}', take = { c = { json = '/token' } } },
            ]
            [[step]]
            get = '/next?${name}=${a}${b}${c}'
        ";
        let (server, heard) = listening(|request| {
            let target = request.split(' ').nth(1).unwrap_or_default();
            let (path, name) = target.split_once('?').unwrap_or_default();
            let content = format!("{{\"token\": \"{}{name}\"}}", &path[1..]);
            let length = content.len();
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{content}")
        });
        let plan = seated(steps, count(3, 60));
        let right = Expectation {
            no_error: true,
            ..Expectation::default()
        };
        let findings = Findings {
            expectations: vec![right; 4],
            ..findings(&plan)
        };
        simulate_with(plan, &findings, server);
        let mut by_name: BTreeMap<String, u32> = BTreeMap::new();
        for request in heard.try_iter() {
            let target = request.split(' ').nth(1).unwrap_or_default();
            if let Some((name, tokens)) = target
                .strip_prefix("/next?")
                .and_then(|rest| rest.split_once('='))
            {
                assert_eq!(tokens, format!("a{name}b{name}c{name}"));
                *by_name.entry(name.to_owned()).or_default() += 1;
            }
        }
        let counts: Vec<u32> = by_name.into_values().collect();
        assert_eq!(counts, [5, 5, 5]);
    });
}

/// All connections of a user come from its address.
#[test]
fn a_user_has_one_address() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            sources: vec![[127, 0, 0, 2].into(), [127, 0, 0, 3].into()],
            ..seated(PAGE, count(2, 60))
        };
        let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(plan, server);
        assert_eq!(record.connections_from, [3, 3]);
    });
}
