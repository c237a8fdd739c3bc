//! Ways to a broker: one that breaks, at a word of whoever talks through it, and one that listens.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// It carries bytes until the test ends.
pub(super) struct Cut {
    address: SocketAddr,
    place: Arc<Place>,
}

/// Where it breaks: when `word` was said `nth` times, which is then not carried any further.
struct Place {
    word: String,
    nth: usize,
    said: AtomicUsize,
    cuts: AtomicUsize,
}

impl Cut {
    /// A way to `broker`.
    pub(super) fn start(broker: SocketAddr, word: &str, nth: usize) -> Self {
        let place = Arc::new(Place {
            word: word.to_owned(),
            nth,
            said: AtomicUsize::new(0),
            cuts: AtomicUsize::new(0),
        });
        let at = Arc::clone(&place);
        let address = carry_all(broker, move |bytes| at.is_in(bytes));
        Self { address, place }
    }

    pub(super) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// How often it broke.
    pub(super) fn cuts(&self) -> usize {
        self.place.cuts.load(Ordering::SeqCst)
    }
}

impl Place {
    /// Whether these bytes are as far as it carries them.
    fn is_in(&self, bytes: &[u8]) -> bool {
        let many = String::from_utf8_lossy(bytes).matches(&self.word).count();
        let before = self.said.fetch_add(many, Ordering::SeqCst);
        let is_in = before < self.nth && self.nth <= before + many;
        self.cuts.fetch_add(usize::from(is_in), Ordering::SeqCst);
        is_in
    }
}

/// It carries bytes until the test ends, and keeps what is said to the broker.
pub(super) struct Ear {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Ear {
    /// A way to `broker`.
    pub(super) fn start(broker: SocketAddr) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        let address = carry_all(broker, move |bytes| {
            kept.lock().expect("nobody panics").extend(bytes);
            false
        });
        Self { address, heard }
    }

    pub(super) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// What was said so far, over all connections.
    pub(super) fn heard(&self) -> String {
        let heard = self.heard.lock().expect("nobody panics");
        String::from_utf8_lossy(&heard).into_owned()
    }
}

/// Carries what comes to an address of its own, until `breaks` says so of what is said to `broker`.
fn carry_all<F>(broker: SocketAddr, breaks: F) -> SocketAddr
where
    F: Fn(&[u8]) -> bool + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has an address");
    let breaks = Arc::new(breaks);
    thread::spawn(move || {
        while let Ok((near, _)) = listener.accept() {
            let breaks = Arc::clone(&breaks);
            carry(&near, broker, move |bytes| breaks(bytes));
        }
    });
    address
}

fn carry(near: &TcpStream, broker: SocketAddr, breaks: impl Fn(&[u8]) -> bool + Send + 'static) {
    let Ok(far) = TcpStream::connect(broker) else {
        return;
    };
    let copy = |stream: &TcpStream| stream.try_clone().expect("a copy of a descriptor");
    let (to_near, from_far) = (copy(near), copy(&far));
    let from_near = copy(near);
    thread::spawn(move || pass(from_far, to_near, |_| false));
    thread::spawn(move || pass(from_near, far, breaks));
}

/// Carries bytes on until one end closes, or `breaks` says so.
fn pass(mut from: TcpStream, mut to: TcpStream, breaks: impl Fn(&[u8]) -> bool) {
    let mut bytes = vec![0; 65_536];
    while let Ok(many @ 1..) = from.read(&mut bytes) {
        if breaks(&bytes[..many]) || to.write_all(&bytes[..many]).is_err() {
            break;
        }
    }
    for stream in [&from, &to] {
        drop(stream.shutdown(Shutdown::Both));
    }
}
