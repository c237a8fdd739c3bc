//! HTTP/2 against a scripted peer, frame by frame: what becomes of exchanges that share a
//! connection when it goes away, resets one, changes its settings, or opens no window.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use load::settings;
use model::outcome::Outcome;
use model::plan::{Plan, PlanFile, Protocol};
use model::record::Record;
use model::units::Span;
use sys::reactor::sim::{Kernel, Reply, Service, Sim, SimServer, Then};
use sys::reactor::{Reactor as _, Settings};

use crate::harness::{all, audited, count, findings, kernel, ms, open, where_kernels_never_fail};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a short payload")
        .to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings_of(values: &[(u16, u32)]) -> Vec<u8> {
    let values = values
        .iter()
        .flat_map(|(number, value)| [&number.to_be_bytes()[..], &value.to_be_bytes()].concat());
    frame(SETTINGS, 0, 0, &values.collect::<Vec<u8>>())
}

/// Status 200, content-length 5 and hello.
fn hello(stream: u32) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, b"\x88\x0f\x0d\x015");
    [head, frame(0, END_STREAM, stream, b"hello")].concat()
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(
        GOAWAY,
        0,
        0,
        &[last.to_be_bytes(), code.to_be_bytes()].concat(),
    )
}

/// One that greets with `values` and gives the requests of each connection what `answer` says of
/// their stream.
fn server(
    values: &[(u16, u32)],
    answer: impl FnMut(u32) -> Option<Reply> + Send + 'static,
) -> SimServer {
    server_told(values, answer, |_, _| None)
}

/// The same, which gives whoever resets a stream what `told` says of it and of the code.
fn server_told(
    values: &[(u16, u32)],
    mut answer: impl FnMut(u32) -> Option<Reply> + Send + 'static,
    mut told: impl FnMut(u32, u32) -> Option<Reply> + Send + 'static,
) -> SimServer {
    let greeting = settings_of(values);
    let number = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
    let of_frame = move |bytes: &[u8]| {
        if bytes.starts_with(b"PRI") {
            return Some(Reply::new(greeting.clone()));
        }
        let id = number(bytes.get(5..)?.first_chunk()?);
        match bytes[3] {
            HEADERS => answer(id),
            RST_STREAM => told(id, number(bytes[9..].first_chunk()?)),
            _ => None,
        }
    };
    SimServer::new(Service::Constant(ms(1)), of_frame).with_lengths(|bytes| match bytes {
        [b'P', b'R', b'I', ..] => Some(24),
        [a, b, c, _, _, _, _, _, _, ..] => Some(9 + u32::from_be_bytes([0, *a, *b, *c]) as usize),
        _ => None,
    })
}

fn simulate(file: PlanFile, streams: u32, server: SimServer) -> Record {
    simulate_on(kernel(), file, streams, server)
}

fn simulate_on(kernel: Kernel, mut file: PlanFile, streams: u32, server: SimServer) -> Record {
    file.protocol = Protocol::Http2;
    file.streams = streams;
    let findings = findings(&file);
    let plan = Plan::try_from(file).expect("a plan that can run");
    let settings = Settings {
        // A whole frame of content goes out at once.
        copy_bytes: 20 * 1024,
        ..settings(plan.connections_of(0))
    };
    let sim = Sim::new(server, &settings).with_kernel(kernel);
    let start = sim.now();
    let told = (Arc::default(), Arc::default());
    audited(|| load::http2_worker_of(&plan, &findings, 0, sim, told.0, told.1).run(start))
}

/// Both loops: 100 exchanges over 2 connections.
fn loops() -> [PlanFile; 2] {
    let timeout = ms(200);
    [
        PlanFile {
            timeout,
            ..count(2, 100)
        },
        PlanFile {
            timeout,
            ..open(2, 1_000, ms(100))
        },
    ]
}

/// Every arrival has exactly one outcome.
#[track_caller]
fn check(record: &Record, expected: &[(Outcome, u64)]) {
    let outcomes = all(record).outcomes;
    let examples = &record.examples;
    assert_eq!(outcomes.total(), 100, "{outcomes:?} {examples:?}");
    assert_eq!(all(record).due, 100, "{examples:?}");
    for (outcome, count) in expected {
        assert_eq!(outcomes[*outcome], *count, "{outcomes:?} {examples:?}");
    }
}

#[test]
fn streams_are_answered() {
    where_kernels_never_fail(|| {
        for file in loops() {
            for streams in [1, 10] {
                let record = simulate(
                    file.clone(),
                    streams,
                    server(&[], |id| Some(Reply::new(hello(id)))),
                );
                check(&record, &[(Outcome::Ok, 100)]);
                let http2 = record.http2.unwrap();
                assert_eq!(http2.connections, 2);
                assert!(http2.go_aways.is_empty() && http2.resets.is_empty());
            }
        }
    });
}

/// More begins at once than goes out at once: what stands behind is sent when it comes to the
/// front, and each exchange is as long as the server worked on it.
#[test]
fn requests_that_do_not_fit_into_one_send_wait_for_the_next() {
    where_kernels_never_fail(|| {
        for mut file in loops() {
            // A server without a table gets each request whole.
            file.requests[0].headers = vec![("x-long".to_owned(), "y".repeat(700))];
            let server = server(&[(1, 0)], |id| Some(Reply::new(hello(id))));
            let record = simulate(file, 40, server);
            check(&record, &[(Outcome::Ok, 100)]);
            assert_eq!(all(&record).sent, 100);
            let service = &record.service_time;
            assert_eq!((service.min(), service.max()), (Some(ms(1)), Some(ms(1))));
        }
    });
}

#[test]
fn bytes_in_any_pieces_are_the_same_answers() {
    where_kernels_never_fail(|| {
        for file in loops() {
            let server = server(&[], |id| Some(Reply::new(hello(id))));
            let record = simulate(file, 4, server.in_segments(3, Span::from_us(1)));
            check(&record, &[(Outcome::Ok, 100)]);
        }
    });
}

/// No more streams are open than the server allows, and it is told.
#[test]
fn a_limit_of_streams_is_kept() {
    where_kernels_never_fail(|| {
        for file in loops() {
            let server = server(&[(3, 2)], |id| Some(Reply::new(hello(id))));
            let record = simulate(file, 10, server);
            check(&record, &[(Outcome::Ok, 100)]);
            let http2 = record.http2.unwrap();
            assert_eq!(http2.streams_allowed, Some(2));
            assert_eq!(http2.connections_limited, 2);
        }
    });
}

/// A server that allows none for now, and more in mid-run, is waited for.
#[test]
fn settings_that_change_in_mid_run_hold() {
    where_kernels_never_fail(|| {
        for file in loops() {
            let mut answered = 0;
            let server = server(&[(3, 1)], move |id| {
                answered += 1;
                let more = match answered {
                    10 => settings_of(&[(3, 8)]),
                    20 => settings_of(&[(1, 0), (4, 1_000)]),
                    30 => settings_of(&[(3, 3)]),
                    _ => Vec::new(),
                };
                Some(Reply::new([more, hello(id)].concat()))
            });
            let record = simulate(file, 8, server);
            check(&record, &[(Outcome::Ok, 100)]);
            let http2 = record.http2.unwrap();
            assert_eq!(http2.settings_changes, 3);
            assert_eq!(http2.streams_allowed, Some(1));
        }
    });
}

/// An exchange that the server resets has failed, and the others go on on the same connection.
#[test]
fn a_reset_is_that_of_one_stream() {
    where_kernels_never_fail(|| {
        for file in loops() {
            for (code, name) in [(7, "REFUSED_STREAM"), (2, "INTERNAL_ERROR"), (99, "other")] {
                let mut number = 0;
                let server = server(&[], move |id| {
                    number += 1;
                    let is_reset = number % 10 == 0;
                    Some(Reply::new(if is_reset {
                        reset(id, code)
                    } else {
                        hello(id)
                    }))
                });
                let record = simulate(file.clone(), 4, server);
                check(&record, &[(Outcome::Ok, 90), (Outcome::Read, 10)]);
                assert_eq!(record.http2.as_ref().unwrap().resets[name], 10);
                assert_eq!(all(&record).connections.established, 2);
                let text = &record.examples[0].text;
                assert!(text.contains("reset the stream"), "{text}");
            }
        }
    });
}

/// A stream of which nothing more comes times out, however much comes on the others.
#[test]
fn a_stream_that_stalls_times_out_beside_streams_that_are_answered() {
    type Answer = fn(u32) -> Option<Vec<u8>>;
    let stalled: [Answer; 3] = [
        |_| None,
        |id| Some(frame(HEADERS, END_HEADERS, id, b"\x88\x0f\x0d\x015")),
        |id| {
            let head = frame(HEADERS, END_HEADERS, id, b"\x88\x0f\x0d\x015");
            Some([head, frame(0, 0, id, b"he")].concat())
        },
    ];
    where_kernels_never_fail(|| {
        for file in loops() {
            for (stalled, told) in stalled.into_iter().zip(["no answer", "0 bytes", "2 bytes"]) {
                let mut number = 0;
                let server = server(&[], move |id| {
                    number += 1;
                    let answer = match number {
                        10 => stalled(id),
                        _ => Some(hello(id)),
                    };
                    answer.map(Reply::new)
                });
                let record = simulate(file.clone(), 4, server);
                check(&record, &[(Outcome::Ok, 99), (Outcome::Timeout, 1)]);
                let example = &record.examples[0];
                assert!(example.text.contains(told), "{}", example.text);
            }
        }
    });
}

/// 100 exchanges over one connection, in both loops, which go on for longer than one may take. At
/// the end of that time others are under way.
fn loops_beyond_a_timeout() -> [PlanFile; 2] {
    let timeout = Span::from_us(10_500);
    [
        PlanFile {
            timeout,
            ..count(1, 100)
        },
        PlanFile {
            timeout,
            ..open(1, 1_000, ms(100))
        },
    ]
}

/// One that is late is cancelled alone: it costs no other one anything, and its connection goes on.
/// The server may have answered by then, or begun to.
#[test]
fn a_stream_that_times_out_costs_no_other() {
    type Late = fn(u32) -> Option<Vec<u8>>;
    let late: [Late; 4] = [
        |_| None,
        |id| Some(hello(id)),
        |id| Some(frame(HEADERS, END_HEADERS, id, b"\x88\x0f\x0d\x015")),
        |id| Some(reset(id, 8)),
    ];
    where_kernels_never_fail(|| {
        for file in loops_beyond_a_timeout() {
            for late in late {
                let mut number = 0;
                let answer = move |id| {
                    number += 1;
                    (number != 10).then(|| Reply::new(hello(id)))
                };
                let codes = Arc::new(AtomicU32::new(0));
                let seen = Arc::clone(&codes);
                let server = server_told(&[], answer, move |id, code| {
                    seen.fetch_add(code, Ordering::Relaxed);
                    late(id).map(Reply::new)
                });
                let record = simulate(file.clone(), 4, server);
                check(&record, &[(Outcome::Ok, 99), (Outcome::Timeout, 1)]);
                let counts = all(&record).connections;
                assert_eq!((counts.established, counts.broken), (1, 0), "{counts:?}");
                assert_eq!(all(&record).cancelled, 1);
                assert_eq!(codes.load(Ordering::Relaxed), 8, "CANCEL, once");
            }
        }
    });
}

/// Each place that one had is free for the next, however many have timed out.
#[test]
fn streams_that_time_out_leave_their_places() {
    where_kernels_never_fail(|| {
        for file in loops_beyond_a_timeout() {
            // More than there are places, one after the other.
            let mut number = 0;
            let server = server(&[(3, 4)], move |id| {
                number += 1;
                (number % 10 != 5).then(|| Reply::new(hello(id)))
            });
            let record = simulate(file, 4, server);
            check(&record, &[(Outcome::Ok, 90), (Outcome::Timeout, 10)]);
            assert_eq!(all(&record).cancelled, 10);
            let counts = all(&record).connections;
            assert_eq!((counts.established, counts.broken), (1, 0), "{counts:?}");
        }
    });
}

/// Where nothing was heard since the one that is late was sent, nobody may be there: its connection
/// is closed, and whoever shares it has lost it.
#[test]
fn a_connection_on_which_nothing_is_heard_is_closed() {
    where_kernels_never_fail(|| {
        let file = PlanFile {
            timeout: Span::from_us(10_500),
            ..count(1, 13)
        };
        // The ninth is sent before the eighth is answered, and those behind it then. Its time is up
        // first: it is cancelled, and the last one begins in its place. Then theirs is.
        let mut number = 0;
        let server = server(&[], move |id| {
            number += 1;
            (number < 9).then(|| Reply::new(hello(id)))
        });
        let record = simulate(file, 4, server);
        let outcomes = all(&record).outcomes;
        assert_eq!(outcomes[Outcome::Ok], 8, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Timeout], 4, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Read], 1, "{outcomes:?}");
        let counts = all(&record).connections;
        assert_eq!((counts.established, counts.broken), (1, 1), "{counts:?}");
        assert_eq!(
            all(&record).cancelled,
            1,
            "the others went with the connection"
        );
    });
}

/// One that has taken leave is let go of when what it has begun is answered or cancelled.
#[test]
fn a_stream_that_times_out_may_be_the_last_of_its_connection() {
    where_kernels_never_fail(|| {
        for file in loops_beyond_a_timeout() {
            let mut number = 0;
            let server = server(&[], move |id| {
                number += 1;
                match number {
                    10 => Some(Reply::new(go_away(id, 0))),
                    _ => Some(Reply::new(hello(id))),
                }
            });
            let record = simulate(file, 4, server);
            check(&record, &[(Outcome::Timeout, 1)]);
            let counts = all(&record).connections;
            assert_eq!((counts.established, counts.broken), (2, 0), "{counts:?}");
        }
    });
}

/// What stands behind the last stream of a GOAWAY asks again, on another connection, and none is
/// charged.
#[test]
fn exchanges_behind_a_goaway_ask_again() {
    where_kernels_never_fail(|| {
        for file in loops() {
            // The fifth request of a connection is its last.
            let server = server(&[], |id| match id {
                0..9 => Some(Reply::new(hello(id))),
                9 => Some(Reply::new([go_away(9, 0), hello(9)].concat()).then(Then::Finish)),
                _ => None,
            });
            let record = simulate(file, 4, server);
            check(&record, &[(Outcome::Ok, 100)]);
            let http2 = record.http2.clone().unwrap();
            assert!(http2.go_aways["NO_ERROR"] >= 19, "{http2:?}");
            let is_closed = all(&record).passed.is_none();
            assert!(http2.unprocessed > 0 || !is_closed, "{http2:?}");
            assert_eq!(all(&record).connections.broken, 0);
        }
    });
}

/// A GOAWAY that says that something went wrong is counted with its code; what was not answered
/// has lost its connection.
#[test]
fn a_server_that_gives_up_says_why() {
    where_kernels_never_fail(|| {
        for file in loops() {
            let mut number = 0;
            let server = server(&[], move |id| {
                number += 1;
                if number % 20 == 0 {
                    let bye = go_away(id, 11);
                    return Some(Reply::new(bye).then(Then::Finish));
                }
                Some(Reply::new(hello(id)))
            });
            let record = simulate(file, 1, server);
            check(&record, &[]);
            let http2 = record.http2.clone().unwrap();
            assert!(http2.go_aways["ENHANCE_YOUR_CALM"] >= 4, "{http2:?}");
            let outcomes = all(&record).outcomes;
            assert!(outcomes[Outcome::Read] >= 4, "{outcomes:?}");
        }
    });
}

/// Content that finds no window times out, and the run ends.
#[test]
fn a_window_that_stays_closed_is_a_timeout() {
    for mut file in loops() {
        // More than the window at first, in base64.
        file.requests[0].body_base64 = Some("AAAA".repeat(30_000));
        file.requests[0].method = "POST".to_owned();
        file.timeout = ms(20);
        let record = simulate(file, 2, server(&[(4, 0)], |_| None));
        check(&record, &[(Outcome::Ok, 0)]);
        let outcomes = all(&record).outcomes;
        assert!(outcomes[Outcome::Timeout] > 0, "{outcomes:?}");
        assert!(record.http2.unwrap().window_stalls > 0);
    }
}

/// A server that opens no stream at all: what waits is given up in the end, and nothing hangs.
#[test]
fn no_stream_at_all_ends_the_run() {
    for file in loops() {
        let mut greeted = false;
        let server = server(&[(3, 0)], move |_| {
            greeted = !greeted;
            None
        });
        let record = simulate(
            PlanFile {
                stop: model::plan::Stop::DurationNs(ms(100)),
                ..file
            },
            2,
            server,
        );
        let outcomes = all(&record).outcomes;
        assert_eq!(outcomes[Outcome::Ok], 0, "{outcomes:?}");
        assert_eq!(outcomes.total(), all(&record).due, "{outcomes:?}");
    }
}

#[test]
fn what_is_no_http2_is_the_protocols_fault() {
    let garbage: [&[u8]; 3] = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0\0\0\x06\0\0\0\0\0",
        b"\xff",
    ];
    for file in loops() {
        for bytes in garbage {
            let bytes = bytes.to_vec();
            let is_byte = bytes.len() == 1;
            let server = SimServer::new(Service::Constant(ms(1)), move |_| {
                Some(Reply::new(bytes.clone()).then(Then::Finish))
            });
            let record = simulate(
                file.clone(),
                2,
                server.with_lengths(|bytes| Some(bytes.len())),
            );
            check(&record, &[(Outcome::Ok, 0)]);
            // A byte alone is not known to be wrong before the connection ends.
            let outcomes = all(&record).outcomes;
            assert!(is_byte || outcomes[Outcome::Protocol] > 0, "{outcomes:?}");
        }
    }
}

/// Kernels that are late, partial and short of room, before servers that reset, take leave, or fall
/// silent at times: each arrival ends in exactly one outcome, and every run ends.
#[test]
fn streams_end_once_on_any_kernel() {
    for seed in 0..300_u32 {
        let streams = 1 + seed % 7;
        let mut number = 0;
        let answer = move |stream: u32| {
            number += 1;
            match (seed % 5, number % (3 + seed % 11)) {
                (1, 0) => Some(Reply::new(reset(stream, 8))),
                (2, 0) => Some(Reply::new(go_away(stream.saturating_sub(2), 0)).then(Then::Finish)),
                (3, 0) => None,
                (4, 0) => Some(Reply::new(hello(stream)).then(Then::Reset)),
                _ => Some(Reply::new(hello(stream))),
            }
        };
        for plan in loops() {
            let plan = PlanFile {
                timeout: ms(5 + u64::from(seed % 40)),
                ..plan
            };
            let server = server(&[(3, 1 + seed % 4)], answer);
            let kernel = Kernel::mixture(u64::from(seed));
            let all = all(&simulate_on(kernel, plan, streams, server));
            assert_eq!(all.due, all.outcomes.total(), "seed {seed}: {all:?}");
        }
    }
}
