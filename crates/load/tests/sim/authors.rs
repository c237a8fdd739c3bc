//! Authors: who make the requests while the run goes on, hear the answers, let connections wait.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};

use load::author::{Author, Seat};
use load::settings;
use model::outcome::Outcome;
use model::plan::{LuaFile, Plan, PlanFile};
use model::record::Record;
use model::units::Span;
use sys::reactor::Reactor as _;
use sys::reactor::sim::{Kernel, Reply, Service, Sim, SimServer, Then};

use crate::harness::{
    HELLO, all, audited, closed, count, findings, kernel, ms, open, s, where_kernels_never_fail,
};

/// An author who numbers its requests, hands over `batch` of them at once, and writes down what it
/// is asked and told.
#[derive(Debug)]
struct Numbers {
    next: u64,
    batch: u64,
    padding: usize,
    wait: Span,
    /// It fails instead of this request.
    fails_at: u64,
    /// It stops after so many answers.
    stops_after: u64,
    answers: u64,
    diary: Sender<String>,
}

impl Author for Numbers {
    fn request(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if self.next >= self.fails_at {
            return Err("n.lua:7: no more".to_owned());
        }
        for _ in 0..self.batch {
            let (number, padding) = (self.next, "x".repeat(self.padding));
            let text = format!("GET /{number} HTTP/1.1\r\nHost: sim\r\nP: {padding}\r\n\r\n");
            out.extend_from_slice(text.as_bytes());
            self.next += 1;
        }
        let _unread = self.diary.send("request".to_owned());
        Ok(())
    }

    fn answer(&mut self, status: u16, head: &[u8], content: &[u8]) -> Result<(), String> {
        assert!(head.starts_with(b"HTTP/1.1 ") && head.ends_with(b"\r\n\r\n"));
        self.answers += 1;
        let content = String::from_utf8_lossy(content);
        let _unread = self.diary.send(format!("{status} {content}"));
        Ok(())
    }

    fn delay(&mut self) -> Result<Span, String> {
        let _unread = self.diary.send("delay".to_owned());
        Ok(self.wait)
    }

    fn has_stopped(&self) -> bool {
        self.answers >= self.stops_after
    }
}

fn numbers() -> (Numbers, Receiver<String>) {
    let (diary, read) = channel();
    let numbers = Numbers {
        next: 0,
        batch: 1,
        padding: 0,
        wait: Span::ZERO,
        fails_at: u64::MAX,
        stops_after: u64::MAX,
        answers: 0,
        diary,
    };
    (numbers, read)
}

fn led(plan: PlanFile) -> PlanFile {
    PlanFile {
        lua: Some(LuaFile {
            name: "n.lua".to_owned(),
            asks: true,
            hears: true,
            waits: plan.arrivals.rate().is_none(),
            ..LuaFile::default()
        }),
        ..plan
    }
}

/// The numbers that a server was asked for, in their order.
type Heard = Receiver<u64>;

fn hearing(answer: impl Fn(u64) -> Option<Reply> + Send + 'static) -> (SimServer, Heard) {
    let (tell, heard) = channel();
    let mut count = 0;
    let server = SimServer::new(Service::Constant(ms(1)), move |request| {
        let text = String::from_utf8_lossy(request);
        let number = text.split(['/', ' ']).nth(2);
        let number = number.and_then(|number| number.parse().ok());
        // Where nobody listens any more, nobody wants to know.
        let _unheard = tell.send(number.unwrap_or(u64::MAX));
        count += 1;
        answer(count - 1)
    });
    (server, heard)
}

fn all_of(heard: &Heard) -> Vec<u64> {
    heard.try_iter().collect()
}

fn simulate(kernel: Kernel, file: PlanFile, server: SimServer, author: Numbers) -> Record {
    let found = findings(&file);
    let plan = Plan::try_from(file).expect("a plan that can run");
    let mut settings = settings(plan.connections_of(0));
    settings.copy_bytes = 8 * 1024;
    let sim = Sim::new(server, &settings).with_kernel(kernel);
    let start = sim.now();
    let seat = Seat {
        author: Some(Box::new(author)),
        target: None,
        asked: Arc::default(),
    };
    audited(|| load::led_worker_of(&plan, &found, 0, sim, seat, Arc::default()).run(start))
}

#[test]
fn an_author_is_asked_and_told_in_turn() {
    where_kernels_never_fail(|| {
        let (author, diary) = numbers();
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let author = Numbers {
            wait: ms(10),
            ..author
        };
        let plan = PlanFile {
            samples: 10,
            ..led(count(1, 3))
        };
        let record = simulate(kernel(), plan, server, author);
        assert_eq!(record.total.outcomes[Outcome::Ok], 3, "{record:?}");
        assert_eq!(all_of(&heard), [0, 1, 2]);
        let said: Vec<String> = diary.try_iter().collect();
        let once = ["delay", "request", "200 hello"];
        assert_eq!(said[..9], [once, once, once].concat());
        for sample in &record.samples {
            assert_eq!(sample.sent_ns, Some(sample.due_ns), "a wait is no lateness");
        }
        let waits = record.samples.windows(2);
        let waits: Vec<i64> = waits.map(|two| two[1].due_ns - two[0].ended_ns).collect();
        assert_eq!(waits, [10_000_000, 10_000_000]);
    });
}

/// Three at once, and the next three when all of them were answered, as wrk does it.
#[test]
fn a_batch_goes_out_at_once_and_is_answered_before_the_next() {
    where_kernels_never_fail(|| {
        let (author, diary) = numbers();
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let author = Numbers { batch: 3, ..author };
        let plan = PlanFile {
            pipeline: 3,
            samples: 100,
            ..led(count(1, 9))
        };
        let seen = server.counts();
        let record = simulate(kernel(), plan, server, author);
        assert_eq!(record.total.outcomes[Outcome::Ok], 9, "{record:?}");
        let arrivals = seen.arrivals.load(Ordering::Relaxed);
        assert_eq!(arrivals, 3, "what is handed over at once is sent at once");
        assert_eq!(all_of(&heard), (0..9).collect::<Vec<u64>>());
        let said: Vec<String> = diary.try_iter().collect();
        let once = ["delay", "request", "200 hello", "200 hello", "200 hello"];
        assert_eq!(said[..15], [once, once, once].concat());
        let due: Vec<i64> = record.samples.iter().map(|sample| sample.due_ns).collect();
        assert!(
            due[0] == due[2] && due[3] == due[5] && due[2] < due[3],
            "{due:?}"
        );
    });
}

/// Longer than what is copied on its way.
#[test]
fn a_long_request_arrives_whole() {
    where_kernels_never_fail(|| {
        let (author, _) = numbers();
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let author = Numbers {
            padding: 100_000,
            ..author
        };
        let record = simulate(kernel(), led(count(2, 10)), server, author);
        assert_eq!(record.total.outcomes[Outcome::Ok], 10, "{record:?}");
        assert_eq!(all_of(&heard).len(), 10);
    });
}

#[test]
fn a_mistake_ends_the_run() {
    where_kernels_never_fail(|| {
        for fails_at in [0, 1, 5] {
            let (author, _) = numbers();
            let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
            let author = Numbers { fails_at, ..author };
            let record = simulate(kernel(), led(closed(3, s(100))), server, author);
            let all = all(&record);
            assert!(record.interrupted);
            assert_eq!(all.due, all.outcomes.total());
            assert_eq!(all_of(&heard).len() as u64, fails_at);
            assert_eq!(all.outcomes[Outcome::Ok], fails_at);
        }
    });
}

/// Two connections: what the other one had asked is answered, and nobody is told.
#[test]
fn an_author_that_stops_is_asked_nothing_more() {
    where_kernels_never_fail(|| {
        for plan in [closed(2, s(2)), open(2, 500, s(2)), count(2, 100)] {
            let (author, diary) = numbers();
            let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
            let author = Numbers {
                stops_after: 5,
                ..author
            };
            let record = simulate(kernel(), led(plan), server, author);
            let all = all(&record);
            assert_eq!(all.due, all.outcomes.total());
            let heard = all_of(&heard);
            assert!((5..=7).contains(&heard.len()), "{heard:?}");
            let told = diary.try_iter().filter(|line| line.starts_with("200"));
            assert_eq!(told.count(), 5);
            assert!(!record.interrupted);
            let has_note = |note: &String| note.contains("the Lua script stopped a thread");
            assert!(record.notes.iter().any(has_note), "{:?}", record.notes);
        }
    });
}

/// Each arrival of an open loop asks for one request.
#[test]
fn an_open_loop_asks_its_author_too() {
    where_kernels_never_fail(|| {
        let (author, _) = numbers();
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let record = simulate(kernel(), led(open(4, 1_000, s(1))), server, author);
        assert_eq!(record.total.outcomes[Outcome::Ok], 1_000);
        assert_eq!(all_of(&heard), (0..1_000).collect::<Vec<u64>>());
    });
}

/// Late, partial and unwilling kernels, and servers that close and reset: each request ends once,
/// and what the server did not process is the same when it is asked again.
#[test]
fn every_request_ends_once_on_any_kernel() {
    for seed in 0..150 {
        for batch in [1, 3] {
            let (author, _) = numbers();
            let closing = HELLO.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
            let (server, heard) = hearing(move |number| match number % 7 {
                2 => Some(Reply::new(closing.clone()).then(Then::Finish)),
                4 => Some(Reply::new(HELLO).then(Then::Finish)),
                6 => Some(Reply::new("").then(Then::Reset)),
                _ => Some(Reply::new(HELLO)),
            });
            let author = Numbers { batch, ..author };
            let pipeline = u32::try_from(batch).unwrap();
            let kernel = Kernel::mixture(seed);
            let plan = PlanFile {
                pipeline,
                seed,
                ..led(closed(3, s(1)))
            };
            let record = simulate(kernel, plan, server, author);
            let all = all(&record);
            assert_eq!(all.due, all.outcomes.total(), "seed {seed}, {batch}");
            let heard = all_of(&heard);
            assert!(
                heard.iter().all(|number| *number != u64::MAX),
                "seed {seed}"
            );
        }
    }
    for seed in 0..20 {
        let (author, _) = numbers();
        let (server, _) = hearing(|_| Some(Reply::new(HELLO)));
        let author = Numbers { batch: 4, ..author };
        let plan = PlanFile {
            pipeline: 4,
            seed,
            ..led(count(3, 50))
        };
        let record = simulate(Kernel::mixture(seed), plan, server, author);
        assert_eq!(record.total.outcomes.total(), 50, "seed {seed}");
    }
}

/// Answers come at odd times, and yet whoever waits asks at a whole half millisecond of the run:
/// those who wait nearly equally long ask together.
#[test]
fn waits_end_at_ticks() {
    where_kernels_never_fail(|| {
        let (author, _) = numbers();
        let author = Numbers {
            wait: Span::from_us(1_234),
            ..author
        };
        let service = Service::Constant(Span::from_us(77));
        let server = SimServer::new(service, |_| Some(Reply::new(HELLO)));
        let plan = PlanFile {
            samples: 100,
            ..led(count(3, 30))
        };
        let record = simulate(kernel(), plan, server, author);
        assert_eq!(record.total.outcomes[Outcome::Ok], 30, "{record:?}");
        let due: Vec<i64> = record.samples.iter().map(|sample| sample.due_ns).collect();
        assert_eq!(due.len(), 30);
        assert!(due.iter().all(|due| due % 500_000 == 0), "{due:?}");
        // From one to the next of a connection: the wait, the service and the rest of a tick.
        assert_eq!(due[3] - due[0], 1_500_000, "{due:?}");
    });
}
