//! One event loop for connections, shaped by completions, with several backends.
//!
//! The caller says what it wants (connect, send, skip, close), hands it all to the kernel with
//! [`Reactor::submit`], [`Reactor::wait`] or [`Reactor::poll`], and then takes what has happened,
//! one [`Completion`] after the other, from [`Reactor::next`] until that returns none:
//!
//! ```text
//! loop {
//!     let now = reactor.wait(deadline);             // hands in, then blocks
//!     while let Some(completion) = reactor.next() { // one batch
//!         let key = completion.key;
//!         match completion.event {
//!             Event::Received { bytes, .. } => protocol.handle_bytes(completion.at, bytes),
//!             ...
//!         }                                         // the loan of `bytes` ends here
//!         reactor.send(key, Transmit::stored(request))?;
//!     }
//! }
//! ```
//!
//! **Receiving is automatic** from the moment a connection is established until
//! [`pause`](Reactor::pause), [`Event::Ended`] or [`close`](Reactor::close).
//!
//! **Time.** [`Completion::at`] is one reading of the clock right after the call that delivered
//! it: with io_uring all completions of a batch share one, with readiness each receive has its own.
//! When a send was handed in, the caller reads itself: right before [`Reactor::send`] or right
//! before the submit, as [`Reactor::sends_at_once`] says. [`Event::Begun`] tells of those that
//! waited behind others.
//!
//! **Bounds.** Everything is allocated by the constructor from [`Settings`] (only
//! [`Reactor::store`] may allocate later). What does not fit is [`Refused`], never queued without
//! bound; what was refused inside is counted in [`Activity`].
//!
//! **Threads.** A reactor is created in the thread that uses it and stays there.
//!
//! The backends: `uring` (Linux 6.1 and later, where permitted), `readiness` (epoll, so Linux too)
//! and `sim` (a virtual clock and network, for tests; the only one that is not Linux alone).

mod meter;
mod outgoing;
mod readiness;
pub mod sim;
mod uring;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use model::Mark;
use model::units::{Instant, Span};

pub use self::readiness::Readiness;
pub use self::sim::Sim;
pub use self::uring::{Unavailable, Uring};
use crate::Errno;
pub use crate::slots::Key;
pub use crate::socket::stamps::{KernelTimes, Noting};

/// How much a reactor has room for. All of it is allocated at the start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Connections at once. The place of a closed one is free at once.
    pub connections: u32,
    /// Sends of copied bytes at once (see [`Source::Copied`]).
    pub copies: u32,
    /// The most bytes that one such send may have.
    pub copy_bytes: u32,
}

impl Settings {
    /// Room for nothing.
    pub(crate) const NOTHING: Self = Self {
        connections: 0,
        copies: 0,
        copy_bytes: 0,
    };
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 1_024,
            copies: 64,
            copy_bytes: 4_096,
        }
    }
}

/// Why a reactor did not take what it was given.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Every place for a copied send is in use: send again after the next batch.
    #[error("all buffers for copied bytes are in use")]
    Buffers,
    /// The kernel refused the socket: no descriptor left, no such source address.
    #[error("{0}")]
    Kernel(Errno),
    /// The connection already has [`SENDS_MAX`] sends under way, or all connections together have
    /// as many as there are connections and copies.
    #[error("too many sends under way on this connection")]
    Queue,
    /// Every place for a connection is in use, perhaps by connections that the kernel is still
    /// closing: connect again a little later.
    #[error("all places for connections are in use")]
    Slots,
    /// The connection or the stored bytes of that key are no more, or not yet established.
    #[error("no such connection")]
    Stale,
    /// More bytes than [`Settings::copy_bytes`].
    #[error("too many bytes for one copied send")]
    TooLong,
}

/// Sends that one connection may have under way: a head, a body and a few pipelined ones.
pub const SENDS_MAX: usize = 4;

/// An accept that failed, usually for want of descriptors, is tried again after so long, or when a
/// connection was closed.
const ACCEPT_RETRY: Span = Span::from_ms(10);

/// Finds bytes that were given to [`Reactor::store`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Stored(pub(crate) Key);

/// When the first byte of a send goes to the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Handed {
    /// Later: another send on this connection is still before it. If it has a tag,
    /// [`Event::Begun`] tells when it comes to the front.
    Behind,
    /// Within this very call where the backend [sends at once](Reactor::sends_at_once), else with
    /// the next [`submit`](Reactor::submit), [`wait`](Reactor::wait) or [`poll`](Reactor::poll).
    Now,
}

/// Where the bytes of a send come from.
#[derive(Clone, Debug)]
pub enum Source<'a> {
    /// From this slice, which is copied into a buffer of the reactor.
    Copied(&'a [u8]),
    /// From a file, without passing through this process. The file is kept open until sent.
    File {
        /// The file.
        file: Arc<File>,
        /// The first byte.
        offset: u64,
        /// How many bytes. A file that turns out shorter is [`Event::SendFailed`] with `EIO`.
        length: u64,
    },
    /// From where they lie, without copying: all of what was stored.
    Stored(Stored),
}

/// One send.
#[derive(Clone, Debug)]
pub struct Transmit<'a> {
    /// The bytes.
    pub source: Source<'a>,
    /// Another send on this connection follows at once, so a short segment may wait for it.
    pub more: bool,
    /// Tell with [`Event::Sent`] when these bytes and all before them have gone to the kernel.
    pub notify: bool,
    /// Tell with [`Event::Begun`] when these bytes come to the front, should they not be there at
    /// once.
    pub tag: Option<u32>,
    /// Where datagrams are sent: how long each is, the last perhaps shorter; 0: there is one.
    pub segment: u16,
    /// Where datagrams are sent: how each is marked.
    pub mark: Mark,
}

impl<'a> Transmit<'a> {
    /// Sends `bytes`, copying them.
    pub const fn copied(bytes: &'a [u8]) -> Self {
        Self::new(Source::Copied(bytes))
    }

    /// Sends `length` bytes of `file` from `offset` on.
    pub const fn file(file: Arc<File>, offset: u64, length: u64) -> Self {
        Self::new(Source::File {
            file,
            offset,
            length,
        })
    }

    /// Sends what was stored, from where it lies.
    pub const fn stored(bytes: Stored) -> Self {
        Self::new(Source::Stored(bytes))
    }

    const fn new(source: Source<'a>) -> Self {
        Self {
            source,
            more: false,
            notify: false,
            tag: None,
            segment: 0,
            mark: Mark::NotCapable,
        }
    }

    /// The same, as datagrams of so many bytes each, marked like that.
    pub const fn in_datagrams(mut self, segment: u16, mark: Mark) -> Self {
        self.segment = segment;
        self.mark = mark;
        self
    }

    /// The same, with another send to follow at once.
    pub const fn with_more(mut self) -> Self {
        self.more = true;
        self
    }

    /// The same, with [`Event::Sent`] when it is done.
    pub const fn with_notice(mut self) -> Self {
        self.notify = true;
        self
    }

    /// The same, with [`Event::Begun`] if it is handed in [behind](Handed::Behind) another send.
    pub const fn with_tag(mut self, tag: u32) -> Self {
        self.tag = Some(tag);
        self
    }
}

/// Something that happened on a connection.
#[derive(Debug)]
pub struct Completion<'a> {
    /// Which connection. Keys that the caller closed never appear.
    pub key: Key,
    /// The clock, read right after the call that delivered this.
    pub at: Instant,
    /// What.
    pub event: Event<'a>,
}

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A listener has a new connection; it is established, and receiving has begun. Only a
    /// reactor that was told to [`Listen`] says this.
    Accepted {
        /// Which listener, by its position in the order of [`Listen::listen`].
        listener: usize,
    },
    /// A send with a tag that was handed in [behind](Handed::Behind) another one has come to the
    /// front. It is told once, and not at all if a send before it fails or the connection closes.
    ///
    /// Where the backend [sends at once](Reactor::sends_at_once), [`Completion::at`] is the clock
    /// read right before its first byte was handed to the kernel. Elsewhere the first byte goes
    /// with the next submit after this event, as for [`Handed::Now`].
    Begun {
        /// Which, as [`Transmit::with_tag`] named it.
        tag: u32,
    },
    /// The connect did not succeed. The key is dead: nothing needs closing.
    ConnectFailed {
        /// Why.
        error: Errno,
    },
    /// The connect succeeded: sends are accepted, and receiving has begun.
    Connected,
    /// The stream from the peer is over; all bytes before were delivered. Nothing more will be
    /// received. Sends may still go on. [`Reactor::close`] is due at some time.
    Ended {
        /// None: the peer finished in order (FIN). Else how it broke, usually a reset.
        error: Option<Errno>,
    },
    /// Bytes from the peer, lent until the completion is dropped; they may be changed in place.
    Received {
        /// At least one.
        bytes: &'a mut [u8],
        /// How they were marked, where they are a datagram.
        mark: Mark,
    },
    /// A send failed, and all sends of the connection with it. [`Reactor::close`] is due.
    ///
    /// If the connection broke (a reset, usually), what was received before may still be delivered,
    /// then [`Event::Ended`]. If this machine had no memory for the send
    /// ([`Errno::is_out_of_memory`]) or a file was shorter than was said (`EIO`), the connection
    /// stands and nothing follows: part of the bytes may have gone, so it cannot be used for more.
    SendFailed {
        /// Why.
        error: Errno,
    },
    /// All sends of the connection up to one that asked for notice have gone to the kernel.
    Sent,
    /// Bytes that [`Reactor::skip`] asked to drop have arrived and were dropped.
    Skipped {
        /// How many since the last such event. All of them add up to what was asked.
        count: u64,
    },
}

/// What a reactor has done since it was created. Subtract two readings for a window.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Activity {
    /// Time blocked, waiting for something to happen.
    pub waited: Span,
    /// Time spent in polls that found nothing, and between two such polls.
    pub spun: Span,
    /// Calls of [`Reactor::wait`] or [`Reactor::poll`] that brought at least one completion.
    pub batches: u64,
    /// Completions handed out.
    pub events: u64,
    /// Connections accepted by the kernel and closed at once, because no place was free.
    pub accepts_refused: u64,
    /// Accepts that failed, for instance for want of descriptors.
    pub accepts_failed: u64,
}

impl Activity {
    /// What was done since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            waited: self.waited.saturating_sub(earlier.waited),
            spun: self.spun.saturating_sub(earlier.spun),
            batches: self.batches - earlier.batches,
            events: self.events - earlier.events,
            accepts_refused: self.accepts_refused - earlier.accepts_refused,
            accepts_failed: self.accepts_failed - earlier.accepts_failed,
        }
    }

    /// The part of `window` that was neither waiting nor empty polls.
    pub const fn busy(&self, window: Span) -> Span {
        window.saturating_sub(self.waited).saturating_sub(self.spun)
    }
}

/// One event loop over many connections. The module's text says how its parts play together.
///
/// Keys of closed connections are answered with [`Refused::Stale`] or, where nothing is returned,
/// ignored. A key's index is below [`Reactor::slots`], so that callers keep arrays beside it.
pub trait Reactor {
    /// The name of the backend, as the record tells it: `uring`, `readiness`, `sim`.
    fn name(&self) -> &'static str;

    /// The finest wait that this backend makes.
    fn wait_resolution(&self) -> Span;

    /// The bound of key indexes.
    fn slots(&self) -> usize;

    /// The clock of this reactor: the monotonic one, or a virtual one.
    fn now(&self) -> Instant;

    /// What it has done so far.
    fn activity(&self) -> Activity;

    /// Something with which another thread ends this reactor's wait.
    fn waker(&self) -> io::Result<Waker>;

    /// Keeps `bytes` where they are, to be sent any number of times without copying. This is for
    /// before the run, and for caches: it may allocate.
    fn store(&mut self, bytes: Vec<u8>) -> Stored;

    /// Forgets stored bytes, as soon as no send needs them any more.
    fn discard(&mut self, bytes: Stored);

    /// Begins to connect to `target`, from `source` if given. Ends with [`Event::Connected`] or
    /// [`Event::ConnectFailed`]; there is no timeout but the kernel's and the caller's
    /// [`close`](Reactor::close). Where the reactor was told that all connections lead to a Unix
    /// socket, they do, and both addresses mean nothing.
    fn connect(&mut self, target: SocketAddr, source: Option<SocketAddr>) -> Result<Key, Refused>;

    /// Of connections that are made from now on, the kernel is to keep at most so many bytes that
    /// were not received, so that a peer of one who receives slowly feels it; none: as many as it
    /// likes. The kernel doubles the number for its own use, and has a least one of some KiB; on
    /// Unix sockets it keeps what the peer may send.
    fn limit_received(&mut self, bytes: Option<u32>);

    /// The address at this end; none if the connection is gone, or on a Unix socket.
    fn local(&self, key: Key) -> Option<SocketAddr>;

    /// The address at the other end; none if the connection is gone, or on a Unix socket.
    fn peer(&self, key: Key) -> Option<SocketAddr>;

    /// Whether [`connect`](Reactor::connect) and [`send`](Reactor::send) call the kernel
    /// themselves: then a caller who wants to know when a request was sent reads the clock right
    /// before each of them. Where not, it reads the clock right before the call that submits.
    fn sends_at_once(&self) -> bool;

    /// Whether [`send`](Reactor::send) has room for one more piece on this connection, and for one
    /// more that is copied. A caller asks before it takes bytes out of a protocol, so that what
    /// finds no room waits where it is.
    fn may_send(&self, key: Key) -> bool;

    /// Sends on an established connection, after whatever was handed in before on it. Partial
    /// sends are continued inside. The readiness backend calls the kernel at once, io_uring with
    /// the next submit.
    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused>;

    /// How many bytes the kernel has taken on this connection in all.
    fn bytes_taken(&self, key: Key) -> u64;

    /// From now on the kernel is to note when it sends and receives on a connection that has just
    /// been established; whether this backend has that, and the kernel does so.
    fn note_times(&mut self, _key: Key) -> bool {
        false
    }

    /// What the kernel noted of a connection that [`note_times`](Reactor::note_times) was asked of.
    fn kernel_times(&mut self, _key: Key) -> KernelTimes {
        KernelTimes::default()
    }

    /// Drops the next `count` bytes from the peer unread and uncopied; adds to what is still to be
    /// dropped. They arrive as [`Event::Skipped`], whatever of them had been received already
    /// included; bytes after them are received as usual.
    fn skip(&mut self, key: Key, count: u64);

    /// Stops receiving on this connection. What was already taken from the kernel (at most a few
    /// buffers) is still delivered.
    fn pause(&mut self, key: Key);

    /// Goes on receiving.
    fn resume(&mut self, key: Key);

    /// Says to the peer that nothing more comes (FIN), once all sends are done.
    fn finish(&mut self, key: Key);

    /// Closes at once in good order; sends that the kernel has not taken are dropped. The key is
    /// dead from now on.
    fn close(&mut self, key: Key);

    /// Closes with a reset: no TIME_WAIT, what is under way is lost. The key is dead from now on.
    fn reset(&mut self, key: Key);

    /// Hands all that was asked so far to the kernel.
    fn submit(&mut self);

    /// Submits, then blocks until something happened, `deadline` has passed, a [`Waker`] was used
    /// or a signal came. Returns the clock right after. What was not yet taken from the batch
    /// before stays in line. [`Instant::FAR_FUTURE`] waits for ever.
    fn wait(&mut self, deadline: Instant) -> Instant;

    /// Submits and looks what has happened, without blocking. Returns the clock right after.
    fn poll(&mut self) -> Instant;

    /// The next completion of this batch; none at its end. The loan of the one before has ended.
    fn next(&mut self) -> Option<Completion<'_>>;
}

/// What servers need beside a [`Reactor`]: to listen.
pub trait Listen: Reactor {
    /// Accepts connections from `listener` from now on ([`crate::socket::listen`] makes one). Each
    /// is told with [`Event::Accepted`]. An accept that fails is counted in
    /// [`Activity::accepts_failed`] and tried again a little later.
    fn listen(&mut self, listener: OwnedFd) -> io::Result<()>;

    /// Accepts no more connections and closes all listeners. What was accepted stays.
    fn stop_listening(&mut self);
}

/// Ends a reactor's wait from another thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Waker {
    event: Option<Arc<OwnedFd>>,
}

impl Waker {
    pub(crate) const fn of(event: Arc<OwnedFd>) -> Self {
        Self { event: Some(event) }
    }

    /// Ends the wait that is under way, or the next one.
    pub fn wake(&self) {
        let Some(event) = &self.event else {
            return;
        };
        let one: u64 = 1;
        crate::socket::write_number(event, one);
    }
}

#[cfg(test)]
mod tests;
