//! The loop allocates nothing: counted on the thread of a real worker, with a real kernel, from
//! its first wait to its last. What lies before is the start, what lies after is the record.

use std::cell::Cell;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use load::expectation::Expectation;
use load::reference::Findings;
use load::settings;
use model::Outcome;
use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile, ProxyProtocol, ProxyVersion, Renewal, Stop};
use model::units::{Instant, Rate, Span};
use sys::allocations::{Counting, of_this_thread};
use sys::reactor::{
    Activity, Completion, Handed, Key, Reactor, Readiness, Refused, Stored, Transmit, Uring, Waker,
};

#[global_allocator]
static COUNTING: Counting = Counting;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const EXCHANGES: u64 = 4_000;

/// A reactor that notes at each wait what its thread has allocated so far.
struct Watched<R> {
    inner: R,
    first: Rc<Cell<Option<u64>>>,
    last: Rc<Cell<u64>>,
}

impl<R: Reactor> Reactor for Watched<R> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn wait_resolution(&self) -> Span {
        self.inner.wait_resolution()
    }
    fn slots(&self) -> usize {
        self.inner.slots()
    }
    fn now(&self) -> Instant {
        self.inner.now()
    }
    fn activity(&self) -> Activity {
        self.inner.activity()
    }
    fn waker(&self) -> io::Result<Waker> {
        self.inner.waker()
    }
    fn store(&mut self, bytes: Vec<u8>) -> Stored {
        self.inner.store(bytes)
    }
    fn discard(&mut self, bytes: Stored) {
        self.inner.discard(bytes);
    }
    fn connect(&mut self, target: SocketAddr, source: Option<SocketAddr>) -> Result<Key, Refused> {
        self.inner.connect(target, source)
    }
    fn limit_received(&mut self, bytes: Option<u32>) {
        self.inner.limit_received(bytes);
    }
    fn local(&self, key: Key) -> Option<SocketAddr> {
        self.inner.local(key)
    }
    fn peer(&self, key: Key) -> Option<SocketAddr> {
        self.inner.peer(key)
    }
    fn sends_at_once(&self) -> bool {
        self.inner.sends_at_once()
    }
    fn may_send(&self, key: Key) -> bool {
        self.inner.may_send(key)
    }
    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused> {
        self.inner.send(key, transmit)
    }
    fn bytes_taken(&self, key: Key) -> u64 {
        self.inner.bytes_taken(key)
    }
    fn skip(&mut self, key: Key, count: u64) {
        self.inner.skip(key, count);
    }
    fn pause(&mut self, key: Key) {
        self.inner.pause(key);
    }
    fn resume(&mut self, key: Key) {
        self.inner.resume(key);
    }
    fn finish(&mut self, key: Key) {
        self.inner.finish(key);
    }
    fn close(&mut self, key: Key) {
        self.inner.close(key);
    }
    fn reset(&mut self, key: Key) {
        self.inner.reset(key);
    }
    fn submit(&mut self) {
        self.inner.submit();
    }
    fn wait(&mut self, deadline: Instant) -> Instant {
        self.last.set(of_this_thread());
        if self.first.get().is_none() {
            self.first.set(Some(of_this_thread()));
        }
        self.inner.wait(deadline)
    }
    fn poll(&mut self) -> Instant {
        self.inner.poll()
    }
    fn next(&mut self) -> Option<Completion<'_>> {
        self.inner.next()
    }
}

/// Says hello to each request, and closes where that is asked for.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut text = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        text.extend_from_slice(&chunk[..count]);
        while let Some(end) = text.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head: Vec<u8> = text.drain(..end + 4).collect();
            stream.write_all(HELLO)?;
            if head.to_ascii_lowercase().windows(5).any(|b| b == b"close") {
                return Ok(());
            }
        }
    }
}

fn start_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    // It ends with the test.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(|| serve(stream));
        }
    });
    address
}

fn plan(address: SocketAddr) -> PlanFile {
    PlanFile {
        stop: Stop::Count(EXCHANGES),
        connections: 8,
        timeout: Span::from_s(30),
        samples: 256,
        interval: Span::from_ms(10),
        ..fixture::plan(&format!("http://{address}/"), &[address])
    }
}

fn check<R: Reactor>(file: PlanFile, reactor: R, what: &str) {
    let findings = Findings {
        expectations: vec![
            Expectation {
                status: Some(200),
                length: Some(5),
                content: (*b"hello").into(),
                ..Expectation::default()
            };
            file.requests.len()
        ],
        references: vec![None; file.requests.len()],
        targets: vec![file.addresses.clone()],
        tally: model::record::Tally::default(),
        notes: Vec::new(),
    };
    let plan = Plan::try_from(file).expect("a plan that can run");
    let (first, last) = (Rc::default(), Rc::default());
    let watched = Watched {
        inner: reactor,
        first: Rc::clone(&first),
        last: Rc::clone(&last),
    };
    let start = watched.now();
    let (progress, stop) = (Arc::default(), Arc::default());
    let worker = load::worker_of(&plan, &findings, 0, watched, progress, stop);
    let record = worker.run(start);
    assert_eq!(record.total.outcomes[Outcome::Ok], EXCHANGES, "{what}");
    let first = first.get().expect("a worker waits");
    assert_eq!(last.get() - first, 0, "allocations of {what}");
    assert!(of_this_thread() > last.get(), "the record is allocated");
}

fn check_both(file: &PlanFile, what: &str) {
    let room = settings(file.connections);
    let readiness = Readiness::new(&room).expect("epoll is everywhere");
    check(file.clone(), readiness, &format!("{what} by readiness"));
    // Where io_uring is not permitted there is nothing to count.
    if let Ok(uring) = Uring::new(&room) {
        check(file.clone(), uring, &format!("{what} by io_uring"));
    }
}

#[test]
fn a_closed_loop_allocates_nothing() {
    check_both(&plan(start_server()), "a closed loop");
}

#[test]
fn a_loop_that_connects_again_and_again_allocates_nothing() {
    let file = PlanFile {
        requests_per_connection: Some(7),
        ..plan(start_server())
    };
    check_both(&file, "a loop of short connections");
}

#[test]
fn a_loop_with_a_pipeline_allocates_nothing() {
    let file = PlanFile {
        pipeline: 4,
        ..plan(start_server())
    };
    check_both(&file, "a loop with a pipeline");
}

/// Each connection says first who asks.
#[test]
fn a_loop_that_renews_its_connections_allocates_nothing() {
    let file = PlanFile {
        renewal: Renewal {
            opened_per_1000_s: Some(Rate::per_second(100_000)),
            lifetime: Some(Span::from_ms(50)),
            last_of_million: Some(200_000),
            ..Renewal::default()
        },
        ..plan(start_server())
    };
    check_both(&file, "a loop that renews its connections");
}

#[test]
fn a_loop_that_tells_who_asks_allocates_nothing() {
    // The server takes the line for a part of the head.
    let file = PlanFile {
        requests_per_connection: Some(7),
        proxy_protocol: Some(ProxyProtocol {
            version: ProxyVersion::V1,
            sources: vec![[192, 0, 2, 1].into(), [192, 0, 2, 2].into()],
        }),
        ..plan(start_server())
    };
    check_both(&file, "a loop with headers of the PROXY protocol");
}

#[test]
fn a_script_allocates_nothing() {
    let address = start_server();
    let text = "
        [[step]]
        get = '/a'
        [[step]]
        chance = '50%'
        get = '/b'
        [[step]]
        repeat = '1-3'
        [[step.step]]
        get = '/c'
        [[step.step]]
        wait = 'exp:10us'
        [[step]]
        parts = [{ get = '/d' }, { get = '/e' }]
    ";
    let base = format!("http://{address}/");
    let script = model::script::read("script", text, Some(&base), &model::script::Alone);
    let script = script.expect("a script");
    let file = PlanFile {
        requests: script.requests,
        script: Some(script.steps),
        requests_per_connection: Some(7),
        ..plan(address)
    };
    check_both(&file, "users of a script");
}

/// What users draw is written into memory that is there before the start.
#[test]
fn users_with_values_allocate_nothing() {
    let address = start_server();
    let text = "
        [variables]
        turn = { list = ['a', 'bb', 'ccc'] }
        chance = { list = ['a', 'bb', 'ccc'], pick = 'random' }
        count = { counter = 95 }
        dice = { random = [1, 1000] }
        [[step]]
        get = '/${turn}/${chance}?${count}'
        headers = [['X-Dice', '${dice}']]
        [[step]]
        get = '/fixed'
    ";
    let base = format!("http://{address}/");
    let script = model::script::read("script", text, Some(&base), &model::script::Alone);
    let script = script.expect("a script");
    let file = PlanFile {
        requests: script.requests,
        script: Some(script.steps),
        ..plan(address)
    };
    check_both(&file, "users with values");
}

#[test]
fn an_open_loop_allocates_nothing() {
    let file = PlanFile {
        arrivals: Arrivals::Poisson {
            rate_per_1000_s: Rate::per_second(20_000),
        },
        ..plan(start_server())
    };
    check_both(&file, "an open loop");
}
