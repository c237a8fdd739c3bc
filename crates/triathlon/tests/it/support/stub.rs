//! Servers that misbehave on purpose: plain sockets and threads, nothing of ours.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a right answer of these servers is: status 200 and these seven bytes.
pub(crate) const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nseven!\n";

/// What a server answers that has no answer left to give.
const FULL: &[u8] = b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n";

/// What to do with the connection after an exchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// Wait for the next request on it.
    Keep,
    /// Close it.
    Close,
}

/// A listening server; it ends when dropped.
pub(crate) struct Stub {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    accepting: Option<JoinHandle<()>>,
}

/// Answers one request (its head is read already) with its number, counted from 0 over all
/// connections.
pub(crate) trait Answer: Fn(&mut TcpStream, u64) -> Next + Send + Sync + 'static {}

impl<F: Fn(&mut TcpStream, u64) -> Next + Send + Sync + 'static> Answer for F {}

impl Stub {
    /// Listens on 127.0.0.1 and answers each request as `answer` does.
    pub(crate) fn start(answer: impl Answer) -> Self {
        Self::start_raw(move |mut stream, requests| {
            while read_head(&mut stream).is_some() {
                let number = requests.fetch_add(1, Ordering::SeqCst);
                if answer(&mut stream, number) == Next::Close {
                    break;
                }
            }
        })
    }

    /// Answers `good` requests rightly, so that references can be taken, and then as `answer` does.
    pub(crate) fn start_after(good: u64, answer: impl Answer) -> Self {
        Self::start(move |stream, number| {
            if number < good {
                send(stream, RIGHT);
                Next::Keep
            } else {
                answer(stream, number - good)
            }
        })
    }

    /// Hands each connection to `serve` as it is, in a thread of its own.
    pub(crate) fn start_raw(serve: impl Fn(TcpStream, &AtomicU64) + Send + Sync + 'static) -> Self {
        Self::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), serve)
    }

    /// Gives `per_second` right answers at most and refuses whatever else is asked. It carries as
    /// many as `bucket` over from idle times.
    pub(crate) fn start_paced(per_second: f64, bucket: f64) -> Self {
        let full = Arc::new(Mutex::new((bucket, Instant::now())));
        Self::start_raw(move |mut stream, _| {
            // The first answer on a connection is free, so that every trial has its reference.
            let mut is_free = true;
            while read_head(&mut stream).is_some() {
                let mut full = full.lock().expect("nobody panicked");
                let gained = full.1.elapsed().as_secs_f64() * per_second;
                *full = ((full.0 + gained).min(bucket), Instant::now());
                if std::mem::take(&mut is_free) || full.0 >= 1.0 {
                    full.0 = (full.0 - 1.0).max(0.0);
                    send(&mut stream, RIGHT);
                } else {
                    send(&mut stream, FULL);
                }
            }
        })
    }

    /// Like [`Stub::start_raw`], on any local address.
    pub(crate) fn listen(
        address: IpAddr,
        serve: impl Fn(TcpStream, &AtomicU64) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let stop = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(AtomicU64::new(0));
        let serve = Arc::new(serve);
        let accepting = std::thread::spawn({
            let (stop, requests) = (stop.clone(), requests.clone());
            move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    // A peer that is gone must not keep a thread: reads end after a while.
                    let quiet = Some(Duration::from_secs(30));
                    let prepared = stream
                        .set_nodelay(true)
                        .and_then(|()| stream.set_read_timeout(quiet));
                    if prepared.is_ok() {
                        let (serve, requests) = (serve.clone(), requests.clone());
                        std::thread::spawn(move || serve(stream, &requests));
                    }
                }
            }
        });
        Self {
            address,
            stop,
            requests,
            accepting: Some(accepting),
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/file", self.address)
    }

    /// Request heads read so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees that it is over.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.accepting.take() {
            thread.join().unwrap_or_default();
        }
    }
}

/// Sends all of `bytes`; a peer that is gone is its own business.
pub(crate) fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap_or_default();
}

/// Reads a request head, up to and including its blank line; none when the peer closed or fell
/// silent.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return None,
        }
    }
    Some(head)
}

/// Holds the connection open until the peer closes it.
pub(crate) fn hold(stream: &mut TcpStream) {
    let mut scrap = [0; 4096];
    loop {
        match stream.read(&mut scrap) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => break,
        }
    }
}
