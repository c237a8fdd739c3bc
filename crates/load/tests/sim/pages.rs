//! Users who ask for several things together, as browsers ask for the parts of a page.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use load::expectation::Expectation;
use load::reference::Findings;
use model::outcome::Outcome;
use model::plan::{PlanFile, Stop};
use model::record::{Page, Record};
use model::units::Span;
use sys::reactor::sim::{Kernel, Reply, Then};

use crate::harness::{
    HELLO, all, closed, count, findings, ms, s, simulate, simulate_all, simulate_on, simulate_with,
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
pub(crate) fn seated(text: &str, plan: PlanFile) -> PlanFile {
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

/// Parts that a user fills in go out together as those do whose bytes are fixed, as far as the
/// longest that they can be finds room in one send.
#[test]
fn parts_that_are_filled_in_are_sent_together() {
    where_kernels_never_fail(|| {
        // A value in a target may be three times as long as it is by itself.
        let cases = [
            (1, 20..=20),
            (400, 20..=20),
            (1_000, 21..=49),
            (1_400, 50..=50),
        ];
        for (length, arrivals) in cases {
            let (short, long) = ("s".repeat(length / 2 + 1), "l".repeat(length));
            let steps = format!(
                "[variables]
                number = {{ counter = 7 }}
                text = {{ list = ['{short}', '{long}'] }}
                [[step]]
                get = '/front?${{number}}'
                [[step]]
                parts = [
                    {{ get = '/a?${{number}}=${{text}}' }},
                    {{ get = '/b' }},
                    {{ get = '/c?${{text}}' }},
                    {{ get = '/d?${{number}}' }},
                ]"
            );
            let plan = PlanFile {
                pipeline: 8,
                ..seated(&steps, count(1, 50))
            };
            let (server, heard) = listening(|_| HELLO.to_owned());
            let seen = server.counts();
            let record = simulate(plan, server);
            let examples = &record.examples;
            assert_eq!(record.total.outcomes[Outcome::Ok], 50, "{examples:?}");
            let heard: Vec<String> = heard.try_iter().collect();
            let target = |request: &String| request.split(' ').nth(1).map(str::to_owned);
            let targets: Vec<String> = heard.iter().filter_map(target).collect();
            let expected = (0..10).flat_map(|round| {
                let (number, text) = (7 + round, if round % 2 == 0 { &short } else { &long });
                let first = format!("/front?{number}");
                let parts = [
                    format!("/a?{number}={text}"),
                    "/b".to_owned(),
                    format!("/c?{text}"),
                    format!("/d?{number}"),
                ];
                [vec![first], parts.to_vec()].concat()
            });
            assert_eq!(targets, expected.collect::<Vec<String>>());
            let came = seen.arrivals.load(Ordering::Relaxed);
            assert!(arrivals.contains(&came), "{came} of {length}");
            let bytes = seen.bytes.load(Ordering::Relaxed);
            assert_eq!(all(&record).bytes_sent.count(), bytes);
        }
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
/// pages no part comes twice, whether its bytes are fixed or filled in.
#[test]
fn each_part_ends_once_on_any_kernel() {
    let known = "user_connections = 3\n[variables]\nname = { counter = 1 }\n";
    let filled_in = PAGE.replace("user_connections = 3", known);
    let filled_in = filled_in.replace("' }", "?${name}' }");
    for seed in 0..300 {
        let (server, heard) = hearing(move |number| match (seed + number) % 13 {
            1 => None,
            2 => Some(Reply::new(HELLO).then(Then::Finish)),
            3 => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let users = 1 + u32::try_from(seed % 4).unwrap();
        let page: &str = if seed % 5 < 2 { PAGE } else { &filled_in };
        let plan = PlanFile {
            seed,
            timeout: ms(20),
            requests_per_connection: (seed % 4 == 0).then_some(3),
            pipeline: if seed % 3 == 0 { 2 } else { 1 },
            stop: match seed % 2 {
                0 => Stop::Count(1 + seed),
                _ => Stop::DurationNs(ms(100)),
            },
            ..seated(page, closed(users, s(1)))
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

/// A page of three parts, over up to two connections, and 100 ms later the next one.
const SMALL: &str = "
    user_connections = 2
    [[step]]
    name = 'small'
    get = '/front'
    [[step]]
    parts = [{ get = '/a' }, { get = '/b' }, { get = '/c' }]
    [[step]]
    wait = '100ms'
";

/// The pages of a record with one of them: its name, complete, failed, and the times added up.
fn pages(record: &Record) -> (&str, u64, u64, Span) {
    let [page] = &record.pages[..] else {
        panic!("{:?}", record.pages);
    };
    let Page { name, failed, time } = page;
    (name, page.complete(), *failed, time.sum())
}

/// It takes 5 ms to the server, 1 ms there, and 5 ms back: a request takes 11 ms, a connect 10 ms.
#[test]
fn the_time_of_a_page_is_from_when_it_was_due_to_the_end_of_its_last_part() {
    where_kernels_never_fail(|| {
        let far = |pages: u64| {
            let (server, _heard) = hearing(|_| Some(Reply::new(HELLO)));
            simulate(seated(SMALL, count(1, pages * 4)), server.with_delay(ms(5)))
        };
        // The page itself has come after 21 ms, with the connect; the first part after 32 ms, the
        // second one after 42 ms, on a connection that is made for it, and the third one, behind
        // the first, after 43 ms.
        let record = far(1);
        assert_eq!(pages(&record), ("small", 1, 0, ms(43)));
        // Then there are two connections: two parts at once, then the third one.
        let record = far(3);
        assert_eq!(pages(&record), ("small", 3, 0, ms(43 + 33 + 33)));
        let time = &record.pages[0].time;
        assert_eq!((time.min(), time.max()), (Some(ms(33)), Some(ms(43))));
        // Where nobody asks for parts, there are none.
        let (server, _heard) = hearing(|_| Some(Reply::new(HELLO)));
        let alone = seated("[[step]]\nget = '/front'", count(1, 3));
        assert!(simulate(alone, server).pages.is_empty());
    });
}

/// Whatever of a page fails, and in whatever way: it has no time.
#[test]
fn a_page_of_which_something_fails_is_counted_apart() {
    where_kernels_never_fail(|| {
        let wrong = "HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nhello";
        let replies: [fn(&str) -> Option<Reply>; 3] = [
            |_| None,
            |wrong| Some(Reply::new(wrong)),
            |_| Some(Reply::new("").then(Then::Reset)),
        ];
        // In the second of three pages: the page itself, and one of its parts.
        for which in [4, 5, 7] {
            for reply in replies {
                let (server, _heard) = hearing(move |number| match number {
                    number if number == which => reply(wrong),
                    _ => Some(Reply::new(HELLO)),
                });
                let plan = PlanFile {
                    timeout: ms(20),
                    ..seated(SMALL, count(1, 12))
                };
                let record = simulate(plan, server);
                assert_eq!(record.total.outcomes[Outcome::Ok], 11, "{which}");
                assert_eq!(pages(&record), ("small", 2, 1, ms(6)), "{which}");
            }
        }
        // A server that is not there: what was never sent has failed, too.
        let (server, _heard) = hearing(|_| Some(Reply::new(HELLO)));
        let server = server.refusing(|_, number| (number == 0).then(|| sys::Errno::new(111)));
        let record = simulate(seated(SMALL, count(1, 8)), server);
        let (_, complete, failed, _) = pages(&record);
        assert_eq!((complete, failed), (1, 1));
    });
}

/// A page takes 3 ms, and after 100 ms comes the next one: they end at 3, 106, 209, 312 ms.
#[test]
fn pages_count_that_end_within_the_window() {
    where_kernels_never_fail(|| {
        let check = |warmup: u64, window: u64, expected: u64| {
            let plan = PlanFile {
                warmup: ms(warmup),
                ..seated(SMALL, closed(1, ms(window)))
            };
            let (server, _heard) = hearing(|_| Some(Reply::new(HELLO)));
            let record = simulate(plan, server);
            let told = pages(&record);
            let all = ("small", expected, 0, ms(3 * expected));
            assert_eq!(told, all, "{warmup} {window}");
        };
        check(0, 210, 3);
        // What ends at the end of the window is not in it.
        check(0, 209, 2);
        // One that began before the window and ends in it is.
        check(105, 100, 1);
        check(106, 100, 1);
        check(107, 100, 0);
        check(107, 103, 1);
    });
}

/// Users who find no place wait for one: that is part of the time of their first page.
#[test]
fn the_time_of_a_page_includes_the_wait_for_a_place() {
    where_kernels_never_fail(|| {
        let coming = format!("user_rate = 1000\nuser_arrivals = 'fixed'\n{SMALL}");
        let coming = coming.replace("'100ms'", "'1ms'");
        let (server, _heard) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(seated(&coming, count(1, 12)), server);
        let (_, complete, failed, time) = pages(&record);
        let users = record.users.as_ref().expect("they come");
        let waits: Span = users.wait.sum();
        assert_eq!((complete, failed), (3, 0));
        assert!(waits > ms(0));
        assert_eq!(time, ms(9) + waits);
    });
}

/// Each page ends once, whatever becomes of its requests, and pages of all workers are added up.
#[test]
fn each_page_is_told_once_on_any_kernel() {
    for seed in 0..100 {
        let (server, _heard) = hearing(move |number| match (seed + number) % 13 {
            1 => None,
            2 => Some(Reply::new(HELLO).then(Then::Finish)),
            3 => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let plan = PlanFile {
            seed,
            timeout: ms(20),
            requests_per_connection: (seed % 4 == 0).then_some(3),
            pipeline: if seed % 3 == 0 { 2 } else { 1 },
            ..seated(PAGE, count(1, 120))
        };
        let record = simulate_on(Kernel::mixture(seed), plan, server);
        let (_, complete, failed, _) = pages(&record);
        assert_eq!(complete + failed, 20, "seed {seed}");
        let wrong = 120 - record.total.outcomes[Outcome::Ok];
        assert!(failed <= wrong && wrong <= failed * 6, "seed {seed}");
    }
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            workers: 2,
            ..seated(SMALL, count(2, 16))
        };
        let record = simulate_all(plan, || hearing(|_| Some(Reply::new(HELLO))).0);
        assert_eq!(pages(&record), ("small", 4, 0, ms(12)));
    });
}
