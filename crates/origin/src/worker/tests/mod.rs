mod script;

use sys::allocations::{self, Bytes};
use sys::file::Folder;

use self::script::{Counts, Script};
use super::*;
use crate::connection::Http;

/// Where it is in the middle of a day, and of a tick.
const START: Instant = Instant::from_ns(1_000_100_000_000);

/// A worker with room for so many, on a folder with `small` (7 bytes) and `large` (100,000).
fn worker(places: u32, change: impl FnOnce(&mut Settings)) -> (Worker<Script>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small"), "7 bytes").unwrap();
    std::fs::write(folder.path().join("large"), vec![b'x'; 100_000]).unwrap();
    let mut settings = Settings::new(folder.path().to_owned(), Vec::new());
    settings.synthetic = true;
    settings.connections = places;
    settings.revalidation = Span::from_s(1_000);
    change(&mut settings);
    let script = Script::new(places);
    let opened = Folder::open(folder.path()).unwrap();
    let site = Site::new(&settings, opened, 0).unwrap();
    let control = Arc::new(Control::default());
    let worker = Worker::new(script, Vec::new(), site, Arc::new(settings), control).unwrap();
    (worker, folder)
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// The answer to `request` on that connection.
fn ask(worker: &mut Worker<Script>, key: Key, request: &str, now: Instant) -> String {
    worker.reactor.say(key, request);
    worker.turn(now);
    worker.reactor.heard(key)
}

fn after(ms: u64) -> Instant {
    START + Span::from_ms(ms)
}

#[test]
fn an_answer_that_was_given_before_is_not_copied() {
    let targets = [
        "/small",
        "/large",
        "/.triathlon/null",
        "/.triathlon/null?bytes=16000",
        "/.triathlon/null?bytes=64G",
        "/.triathlon/synthetic?bytes=10k&status=503",
    ];
    for target in targets {
        let (mut worker, _folder) = worker(2, |_| {});
        let key = worker.reactor.connect_one();
        let request = get(target);
        let first = ask(&mut worker, key, &request, START);
        assert!(first.starts_with("HTTP/1.1 "), "{target}: {first}");
        assert!(worker.reactor.counts.copied_bytes > 0, "{target}");
        assert_eq!(ask(&mut worker, key, &request, START), first, "{target}");

        let many: Vec<String> = vec![request.clone(); 100];
        worker.reactor.counts = Counts::default();
        let has_file = target == "/large" || target.ends_with("64G");
        for request in many {
            assert_eq!(ask(&mut worker, key, &request, START), first, "{target}");
            if target.ends_with("64G") {
                break; // it goes on for a while
            }
        }
        let counts = &worker.reactor.counts;
        assert_eq!((counts.copied_bytes, counts.stores), (0, 0), "{target}");
        if !has_file {
            assert_eq!((counts.sends, counts.notices), (100, 0), "{target}");
        }
    }
}

#[test]
fn an_answer_that_was_given_before_costs_no_memory() {
    let (mut worker, _folder) = worker(2, |_| {});
    let key = worker.reactor.connect_one();
    for _ in 0..3 {
        ask(&mut worker, key, &get("/small"), START);
    }
    for _ in 0..100 {
        worker.reactor.say(key, &get("/small"));
        let before = allocations::of_this_thread();
        worker.turn(START);
        // The text that the script keeps for the test is one.
        assert!(allocations::of_this_thread() - before <= 1);
        worker.reactor.heard(key);
    }
}

#[test]
fn answers_that_go_together_are_one_send() {
    let (mut worker, _folder) = worker(2, |_| {});
    let key = worker.reactor.connect_one();
    let one = ask(&mut worker, key, &get("/small"), START);
    worker.reactor.counts = Counts::default();
    let five = ask(&mut worker, key, &get("/small").repeat(5), START);
    assert_eq!(five, one.repeat(5));
    assert_eq!(worker.reactor.counts.sends, 1);
}

#[test]
fn a_kept_answer_has_the_date_of_today() {
    let (mut worker, _folder) = worker(2, |_| {});
    let key = worker.reactor.connect_one();
    for _ in 0..2 {
        ask(&mut worker, key, &get("/small"), START);
    }
    assert_eq!(worker.reactor.counts.stores, 1);
    for _ in 0..3 {
        worker.second += 1;
        worker.reactor.counts = Counts::default();
        let text = String::from_utf8(wire::date::format(worker.second).to_vec()).unwrap();
        for _ in 0..10 {
            let answer = ask(&mut worker, key, &get("/small"), START);
            assert!(
                answer.contains(&format!("\r\nDate: {text}\r\n")),
                "{answer}"
            );
        }
        assert_eq!(worker.reactor.counts.stores, 1);
        assert_eq!(worker.reactor.stored_count(), 1, "the old one is forgotten");
    }
}

#[test]
fn what_the_reactor_keeps_is_bounded() {
    let (mut worker, _folder) = worker(2, |_| {});
    let key = worker.reactor.connect_one();
    for size in 0..3_000 {
        let request = get(&format!("/.triathlon/null?bytes={}", 10_000 + size));
        for _ in 0..2 {
            ask(&mut worker, key, &request, START);
        }
        let stored = worker.reactor.stored_count();
        assert!(stored <= 512, "{stored} after {size}");
    }
    assert!(worker.reactor.stored_count() > 100);
}

#[test]
fn an_idle_connection_costs_little_memory() {
    const MANY: u32 = 4_000;
    let (mut worker, _folder) = worker(MANY, |_| {});
    let requests = [
        get("/small"),
        get("/missing"),
        get("/large"),
        get("/small").repeat(50),
        "POST /.triathlon/null HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123456789".into(),
    ];
    // What all of them share.
    let first = worker.reactor.connect_one();
    for request in &requests {
        ask(&mut worker, first, request, START);
    }
    let before = Bytes::of_this_thread();
    for _ in 1..MANY {
        let key = worker.reactor.connect_one();
        for request in &requests {
            // It comes in two pieces, so that the first must be kept.
            let (start, end) = request.split_at(request.len() - 3);
            ask(&mut worker, key, start, START);
            ask(&mut worker, key, end, START);
        }
    }
    assert_eq!(worker.open, MANY as usize);
    let held = Bytes::of_this_thread().held_since(&before) / u64::from(MANY);
    let beside = (size_of_val(&worker.timeouts) as u64).div_ceil(u64::from(MANY))
        + worker.timeouts.bytes_each()
        + size_of::<Option<Box<Connection<Http>>>>() as u64;
    assert!(held + beside <= 1_024, "{held} and {beside}");
}

#[test]
fn a_turn_looks_at_those_whose_time_is_up_and_at_nobody_else() {
    const MANY: u32 = 4_000;
    let (mut worker, _folder) = worker(MANY, |_| {});
    let keys: Vec<Key> = (0..MANY).map(|_| worker.reactor.connect_one()).collect();
    worker.turn(START);
    worker.reactor.counts = Counts::default();
    // Their time is 10 s; one of them asks something every half second.
    for ms in (500..10_000).step_by(500) {
        ask(&mut worker, keys[0], &get("/small"), after(ms));
    }
    let looks = worker.reactor.counts.looks.get();
    assert!(looks <= 3 * 20, "{looks} looks");
    let mut turns = 0;
    while worker.reactor.open() > 1 {
        turns += 1;
        let before = worker.reactor.open();
        worker.turn(after(10_500));
        assert!(before - worker.reactor.open() <= LOOKS);
        assert!(turns <= MANY, "{} are still there", worker.reactor.open());
    }
    assert!(worker.reactor.is_open(keys[0]));
    let wakeup = worker.wakeup();
    assert!(wakeup > after(10_500), "there is nothing more to do now");
}

#[test]
fn connections_end_when_their_time_is_up() {
    let (mut worker, _folder) = worker(8, |settings| {
        settings.limits.idle_time = Span::from_s(60);
        settings.limits.head_time = Span::from_s(10);
        settings.limits.body_time = Span::from_s(30);
        settings.send_time = Span::from_s(40);
    });
    let keys: Vec<Key> = (0..5).map(|_| worker.reactor.connect_one()).collect();
    let [silent, slow, idle, body, stuck] = keys[..] else {
        panic!("five");
    };
    worker.turn(START);
    ask(&mut worker, slow, "GET / HT", START);
    ask(&mut worker, idle, &get("/small"), START);
    let post = "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1";
    ask(&mut worker, body, post, START);
    worker.reactor.is_stuck = true;
    ask(&mut worker, stuck, &get("/small"), START);
    worker.reactor.is_stuck = false;
    worker.turn(after(9_999));
    assert_eq!(worker.reactor.open(), 5);
    worker.turn(after(10_250));
    assert!(!worker.reactor.is_open(silent));
    assert!(worker.reactor.heard(slow).starts_with("HTTP/1.1 408 "));
    worker.turn(after(29_999));
    assert!(worker.reactor.is_open(body));
    worker.turn(after(30_250));
    assert!(worker.reactor.heard(body).starts_with("HTTP/1.1 408 "));
    // One byte of the answer is progress.
    worker.reactor.take(stuck, 1);
    worker.turn(after(31_000));
    worker.turn(after(41_000));
    assert!(worker.reactor.is_open(stuck) && worker.reactor.is_open(idle));
    worker.turn(after(59_999));
    assert!(worker.reactor.is_open(idle));
    worker.turn(after(60_250));
    assert!(!worker.reactor.is_open(idle) && worker.reactor.is_open(stuck));
    for ms in (60_500..=90_500).step_by(500) {
        worker.turn(after(ms));
    }
    assert_eq!(worker.reactor.open(), 0);
    assert_eq!(worker.wakeup(), Instant::FAR_FUTURE);
}

#[test]
fn a_delay_is_exact_and_forgotten_with_its_connection() {
    let (mut worker, _folder) = worker(2, |_| {});
    let key = worker.reactor.connect_one();
    let request = get("/.triathlon/synthetic?delay=3ms");
    assert_eq!(ask(&mut worker, key, &request, START), "");
    assert_eq!(worker.wakeup(), after(3));
    worker.turn(after(3));
    assert!(worker.reactor.heard(key).starts_with("HTTP/1.1 200 "));
    ask(&mut worker, key, &request, START);
    assert_eq!(worker.pauses.len(), 1);
    worker.drop(key);
    assert!(worker.pauses.is_empty());
}

#[test]
fn a_stop_is_told_to_one_after_the_other() {
    const MANY: u32 = 1_000;
    let (mut worker, _folder) = worker(MANY, |_| {});
    let keys: Vec<Key> = (0..MANY).map(|_| worker.reactor.connect_one()).collect();
    worker.turn(START);
    ask(&mut worker, keys[700], "GET /small HTTP/1.1\r\n", START);
    worker.control.stop.store(true, Ordering::Relaxed);
    let mut turns = 0;
    loop {
        let before = worker.reactor.open();
        assert!(!worker.turn(START), "one has asked");
        turns += 1;
        assert!(!worker.reactor.listens);
        assert!(before - worker.reactor.open() <= LOOKS);
        if worker.wakeup() > START {
            break;
        }
    }
    assert_eq!(turns, (MANY as usize).div_ceil(LOOKS));
    assert_eq!(worker.reactor.open(), 1);
    worker.reactor.say(keys[700], "Host: x\r\n\r\n");
    let is_over = worker.turn(after(1)) || worker.turn(after(1));
    assert!(is_over && worker.reactor.open() == 0);
}
