//! The server side of a connection: what every protocol offers to the loop that drives it.

use std::net::IpAddr;

use model::{Instant, Span};

use crate::h1::request::{Rejection, RequestHead};

/// Whether the connection goes on after an answer, and what its head must say about that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Persistence {
    /// It ends: `Connection: close`.
    Close,
    /// It goes on because the client asked: `Connection: keep-alive` (HTTP/1.0).
    KeepAlive,
    /// It goes on, as is usual in HTTP/1.1.
    Usual,
}

/// A part of an answer, sent after the bytes that were written at once, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Part<F> {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The connection ends here, whatever was promised.
    Close,
    /// The start of a file again and again, from where it lies: any length costs the same memory.
    Cycle {
        /// Which.
        file: F,
        /// How much of it each time.
        block: u64,
        /// How much in all.
        length: u64,
    },
    /// A part of a file, from where it lies.
    File {
        /// Which.
        file: F,
        /// Where in it.
        offset: u64,
        /// How much of it.
        length: u64,
    },
    /// Nothing for a while.
    Pause(Span),
    /// The connection is reset here, whatever was promised.
    Reset,
    /// Nothing ever again; the connection stays open until a limit of time ends it.
    Stall,
}

/// An answer that was given before, and holds for a request that has come.
#[derive(Clone, Debug)]
pub struct Repeat<F, K> {
    /// How long the head of the request is.
    pub request_length: usize,
    /// The head of the answer, and as much of its content as was kept.
    pub kept: K,
    /// What follows.
    pub rest: Option<Part<F>>,
}

/// Who answers.
pub trait Handler {
    /// An open file, whatever that is to the one who sends it.
    type File: Clone;
    /// The bytes of an answer that are kept to be sent again.
    type Kept;

    /// Finds the answer if `bytes` begin with the head of a request without a body that was
    /// answered before, on a connection that goes on, and the answer still holds.
    fn repeat(&mut self, bytes: &[u8]) -> Option<Repeat<Self::File, Self::Kept>>;

    /// Appends `kept` to `out`, because other answers are sent together with it.
    fn copy(&mut self, kept: &Self::Kept, out: &mut Vec<u8>);

    /// An empty buffer with room, if there is one to lend.
    fn lend(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes back a buffer that is not needed now.
    fn take_back(&mut self, _: Vec<u8>) {}

    /// Appends `length` bytes of `file` from `offset` on to `out`: what is encrypted passes through
    /// memory. False: they cannot be read.
    fn read(&mut self, _: &Self::File, _offset: u64, _length: usize, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Who asks from now on, where one protocol serves many.
    fn set_peer(&mut self, _: IpAddr) {}

    /// Whether a body should be sent at all. Where not, the answer goes out without it.
    fn wants_body(&mut self, request: &RequestHead<'_>) -> bool;

    /// Appends the head of an answer, and as much of its content as is at hand, to `out`; returns
    /// the rest. The body of the request has been read and dropped.
    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<Self::File>>;

    /// Appends the answer to what is no acceptable request to `out`. `line` is as much of the
    /// request line as is known. The connection ends after it.
    fn reject(&mut self, status: u16, line: &[u8], why: &str, out: &mut Vec<u8>);
}

/// What should happen next on the way to the client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Transmit<F, K> {
    /// The bytes in `out` should be sent, before or together with what comes next.
    Bytes,
    /// Everything is sent; the connection should be closed.
    Close {
        /// The client may still be sending: stop sending, and read on for a while before closing,
        /// so that a reset does not overtake the answer (RFC 9112 §9.6).
        linger: bool,
    },
    /// A part of a file should be sent.
    File {
        /// Which.
        file: F,
        /// Where in it.
        offset: u64,
        /// How much of it.
        length: u64,
    },
    /// What was kept should be sent from where it lies, before what comes next; `out` is empty.
    Kept(K),
    /// Nothing for now.
    Nothing,
    /// Nothing for a while; then ask again.
    Pause(Span),
    /// The connection should be reset.
    Reset,
}

/// The server side of one HTTP connection over a byte stream. It owns no socket and no clock.
pub trait Service {
    /// An open file.
    type File;
    /// The bytes of an answer that are kept to be sent again.
    type Kept;

    /// The client and this side have agreed inside TLS to the protocol of that name (ALPN), before
    /// anything was received.
    fn agree(&mut self, _now: Instant, _application: &[u8]) {}

    /// Takes what was received. Answers are ready for [`Service::poll_transmit`] on return.
    fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = Self::File, Kept = Self::Kept>,
    );

    /// The peer will send no more. What it asked before is still answered.
    fn handle_end(&mut self);

    /// What should be sent next; bytes are appended to `out`. Asked again after bytes and what was
    /// kept, and after anything else when that is done.
    fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        handler: &mut impl Handler<File = Self::File, Kept = Self::Kept>,
    ) -> Transmit<Self::File, Self::Kept>;

    /// The instant that [`Service::poll_timeout`] named has come.
    fn handle_timeout(&mut self, handler: &mut impl Handler<File = Self::File, Kept = Self::Kept>);

    /// When the protocol itself wants to be woken. Does not hold while something is being sent.
    fn poll_timeout(&self) -> Instant;

    /// Whether nothing more should be received for now: the client asks faster than it reads.
    fn is_full(&self) -> bool;

    /// Whether no request is under way.
    fn is_idle(&self) -> bool;

    /// No request after the one under way, if any.
    fn finish(&mut self);

    /// Whether other answers may go out within a [`Transmit::Pause`]: then what is received ends
    /// it, and it is ordered again for what is left of it.
    fn is_multiplexed(&self) -> bool {
        false
    }
}

impl Rejection {
    /// The request line, or as much of it as there is.
    pub(crate) fn line_of(bytes: &[u8]) -> &[u8] {
        let end = memchr::memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
        &bytes[..end.min(8 * 1024)]
    }
}
