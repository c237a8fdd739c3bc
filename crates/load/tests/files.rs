//! How many files are open while a load runs, against what the check of limits allows for. It is
//! the only test of its process, for others would open files, too.

#![allow(
    clippy::print_stderr,
    reason = "the figure is for whoever watches, and a bound alone does not tell it"
)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use model::fixture;
use model::plan::{Backend, Plan, PlanFile, Stop};

const CONNECTIONS: u32 = 24;
const WORKERS: u32 = 4;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server in this process, and how many connections it has taken so far.
fn serve() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || answer(stream));
        }
    });
    (address, taken)
}

/// One request after the other, until the connection ends.
fn answer(mut stream: TcpStream) {
    let mut asked = Vec::new();
    let mut room = [0; 1_024];
    while let Ok(count @ 1..) = stream.read(&mut room) {
        asked.extend_from_slice(&room[..count]);
        if asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
}

fn open_files() -> u64 {
    let files = fs::read_dir("/proc/self/fd").expect("/proc is there");
    // One of them is the folder that is being read.
    (files.count() as u64).saturating_sub(1)
}

/// The most files that were open while a load ran on `backend`, without those of the server.
fn most_open(backend: Backend) -> u64 {
    let (address, taken) = serve();
    let plan = Plan::try_from(PlanFile {
        connections: CONNECTIONS,
        workers: WORKERS,
        backend,
        stop: Stop::Count(40_000),
        ..fixture::plan(&format!("http://{address}/"), &[address])
    })
    .expect("a plan that can run");
    let mut most = 0;
    let record = load::run(&plan, &Arc::default(), &mut |_| {
        most = most.max(open_files());
    });
    let record = record.expect("it can be measured");
    let connections = record.total.connections.established;
    assert!(connections <= u64::from(CONNECTIONS), "none was made anew");
    // Those that the server took before the run, to look at the answer, are counted as open still.
    most.saturating_sub(1 + taken.load(Ordering::Relaxed))
}

/// Sockets of io_uring stand in a table of their own, and count to the same limit.
#[test]
fn no_more_files_are_open_than_were_allowed_for() {
    let allowed = u64::from(CONNECTIONS) + load::files_beside(u64::from(WORKERS));
    for backend in [Backend::Readiness, Backend::Auto] {
        let most = most_open(backend);
        eprintln!("{backend:?}: {most} files open of {allowed} allowed for");
        assert!(most <= allowed, "{backend:?}: {most} of {allowed}");
    }
}
