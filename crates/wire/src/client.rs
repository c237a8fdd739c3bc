//! The client side of a connection: what every protocol offers to the loop that drives it.

use model::http2::Http2Record;
use model::quic::QuicRecord;
use model::tls::{HandshakeKind, Negotiated, TlsRecord};
use model::{Instant, Mark};

use crate::h2::Code;
use crate::h3;
use crate::h3::client::QuicError;
use crate::message::{Head, Request, RequestId};
use crate::tls::TlsError;

/// One exchange in flight on a connection: its place among as many as the connection carries at
/// once, below [`Client::capacity`]. A place is free again once its exchange has ended.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StreamId(pub u32);

/// Why an exchange could not begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// As many are in flight as may be.
    Busy,
    /// The connection takes no more.
    Closing,
}

/// How the peer ended the byte stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// It will send no more.
    Finished,
    /// It broke the connection.
    Reset,
    /// It will send no more, and did not say so in TLS: anybody may have cut the stream.
    Truncated,
}

/// How far an answer had come when the connection ended under it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Broken {
    /// Not one byte of it had come.
    Unanswered,
    /// Its head was incomplete.
    InHead,
    /// Its content was incomplete.
    InContent,
    /// Its content ends with the connection, and that ended without TLS's `close_notify`.
    Cut,
    /// Its content is not as long as its head says; the connection goes on.
    Length,
    /// The server ended it and nothing else, with this code.
    Reset(Code),
    /// The same in HTTP/3.
    ResetHttp3(h3::Code),
}

/// What should be sent next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transmit {
    /// The bytes of a request, fixed before the run: sent from where they lie.
    Fixed {
        /// Whose bytes; all of them.
        request: RequestId,
        /// The exchange whose first byte is among them.
        starts: Option<StreamId>,
    },
    /// Nothing for now.
    Nothing,
    /// Bytes appended to `out`.
    Written {
        /// The exchange whose first byte is among them, or the first of
        /// [several](Client::also_starts).
        starts: Option<StreamId>,
    },
}

/// What the peer sent is not the protocol that was agreed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProtocolError {
    /// The first bytes are not those of an answer.
    #[error("the answer does not begin with HTTP/1.")]
    NotHttp,
    /// The first bytes are a record of TLS, as servers send it that expect TLS.
    #[error("the server answers in TLS: is it an https:// port?")]
    InTls,
    /// The head breaks the grammar.
    #[error("the head of the answer is malformed: {0}")]
    BadHead(&'static str),
    /// The head is longer than we read.
    #[error("the head of the answer is longer than {0} bytes")]
    HeadTooLong(usize),
    /// Content-Length is not a number, or several differ.
    #[error("Content-Length is not one number")]
    BadLength,
    /// The chunked coding breaks the grammar.
    #[error("the chunked coding is malformed")]
    BadChunk,
    /// More bytes than the head announced.
    #[error("more bytes came than the answer announced")]
    Excess,
    /// Bytes that answer nothing.
    #[error("bytes came that answer no request")]
    Unsolicited,
    /// A frame, or where it stands, breaks HTTP/2.
    #[error("the server broke HTTP/2 ({0})")]
    Http2(Code),
    /// A frame, or where it stands, breaks HTTP/3.
    #[error("the server broke HTTP/3 ({0})")]
    Http3(h3::Code),
    /// The server says that something is wrong, and has closed the connection.
    #[error("the server closed the connection with the HTTP/3 code {0}")]
    ClosedHttp3(h3::Code),
    /// Something is wrong below HTTP/3.
    #[error("{0}")]
    Quic(#[from] QuicError),
    /// The server did not take HTTP/2 when it was offered inside TLS.
    #[error("the server did not agree to HTTP/2 (ALPN)")]
    NotAgreed,
    /// What comes is no HTTP/2.
    #[error("the server does not answer in HTTP/2")]
    NotHttp2,
    /// Interim answers without an end.
    #[error("more than {0} interim answers came before the final one")]
    TooManyInterim(u32),
    /// TLS failed.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// 101 without being asked.
    #[error("the server switched protocols without being asked")]
    Switched,
}

impl From<h3::Code> for ProtocolError {
    fn from(code: h3::Code) -> Self {
        Self::Http3(code)
    }
}

/// The part of `content` that belongs to an answer of `length` bytes, of which `received` have
/// come, so that what is handed on does not depend on how the bytes are cut.
#[inline]
pub(crate) fn own_part(content: &[u8], length: Option<u64>, received: u64) -> &[u8] {
    let room = length.map_or(u64::MAX, |length| length.saturating_sub(received));
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    content.get(..room).unwrap_or(content)
}

/// Where a connection tells what happens on it.
pub trait Sink {
    /// The first byte of an answer has come. May be told more than once; the first counts.
    fn first_byte(&mut self, stream: StreamId);
    /// The head of the final answer is complete.
    fn head(&mut self, stream: StreamId, head: &Head<'_>);
    /// A slice of the content, in order.
    fn content(&mut self, stream: StreamId, bytes: &[u8]);
    /// So many bytes of content were drained unread.
    fn skipped(&mut self, stream: StreamId, count: u64);
    /// The answer is complete.
    fn complete(&mut self, stream: StreamId);
    /// The connection ended before the answer was complete, or the exchange did by itself.
    fn broken(&mut self, stream: StreamId, how: Broken);
    /// The server has announced that it takes no more exchanges.
    fn closing(&mut self) {}
    /// The server has not processed this exchange and will not: another connection may ask again.
    fn unprocessed(&mut self, stream: StreamId) {
        self.broken(stream, Broken::Unanswered);
    }
}

/// The client side of one HTTP connection over a byte stream, or over datagrams. It owns no socket
/// and no clock.
pub trait Client: Sized {
    /// What the connections of one worker have in common.
    type Shared;

    /// Whether connections begin with a handshake of their own, before any exchange.
    const HANDSHAKES: bool = false;

    /// Whether an exchange may end without an answer while its connection goes on, and places may
    /// become free without the end of one.
    const MULTIPLEXES: bool = false;

    /// Whether several exchanges may begin before what they send is asked for, and it goes out
    /// together.
    const GATHERS: bool = false;

    /// Whether all that is sent is written here, so that nobody is asked for the bytes of a request
    /// by [`Transmit::Fixed`].
    const WRITES: bool = false;

    /// Whether what is sent and received are datagrams: each that comes is handled by itself, and
    /// the peer is told when a connection ends, because nothing else would tell it.
    const DATAGRAMS: bool = false;

    /// Of how many who can be told apart connections are one each: 1 where they do not say who they
    /// are, or all say the same.
    fn identities(_: &Self::Shared) -> usize {
        1
    }

    /// The next connections are of this one of them, from 0 on.
    fn take_identity(_: &mut Self::Shared, _: usize) {}

    /// A connection on which nothing has happened yet.
    fn new(shared: &mut Self::Shared) -> Self;

    /// Whether the handshake is over, if there is one.
    #[inline]
    fn is_established(&self) -> bool {
        true
    }

    /// Of which kind that handshake was.
    fn handshake(&self) -> HandshakeKind {
        HandshakeKind::Full
    }

    /// Whether an exchange may begin although the handshake has only begun, or begins now (0-RTT).
    #[inline]
    fn may_begin_early(&mut self, _: Instant) -> bool {
        false
    }

    /// Whether a connection that has nothing under way may be let go of: what it is to bring for
    /// those after it, sessions to be resumed, has come or will not.
    #[inline]
    fn may_part(&self) -> bool {
        true
    }

    /// Nothing will be asked any more: where the protocol has a word for that, it is sent.
    fn finish(&mut self) {}

    /// Whether the peer has said that it sends no more, before its stream ended.
    #[inline]
    fn has_ended(&self) -> bool {
        false
    }

    /// What the handshake came to.
    fn negotiated(&self) -> Option<Negotiated> {
        None
    }

    /// What the handshakes of one worker's connections came to.
    fn tell(_: &Self::Shared) -> Option<TlsRecord> {
        None
    }

    /// What HTTP/2 did on one worker's connections.
    fn tell_http2(_: &Self::Shared) -> Option<Http2Record> {
        None
    }

    /// What QUIC did on one worker's connections.
    fn tell_quic(_: &Self::Shared) -> Option<QuicRecord> {
        None
    }

    /// The most exchanges that it can ever carry at once.
    fn capacity(&self) -> u32;

    /// How many exchanges could begin now; 0 from the moment it is closing.
    fn free(&self) -> u32;

    /// Whether it takes no more exchanges, ever: one side has said so.
    fn is_closing(&self) -> bool;

    /// Begins an exchange, or refuses.
    ///
    /// # Errors
    ///
    /// As many are in flight as may be, or the connection takes no more.
    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused>;

    /// Begins an exchange that sends this message, as HTTP/1.1 has it, instead of what `request`
    /// was compiled to; the answer is one to `request`. Unless the protocol
    /// [writes](Self::WRITES) requests, whoever sends the message has it already.
    ///
    /// # Errors
    ///
    /// As for [`Client::begin`].
    #[inline]
    fn begin_as(&mut self, request: &Request, _message: &[u8]) -> Result<StreamId, Refused> {
        self.begin(request)
    }

    /// Ends an exchange that nobody waits for any more, and tells the peer; the connection goes on.
    /// The sink is told nothing more of it, and its place is free again. False: it has ended
    /// already, or the protocol cannot end it alone, or cannot yet; then nothing has changed.
    fn cancel(&mut self, _: StreamId) -> bool {
        false
    }

    /// Takes what was received. `bytes` may be changed in place (TLS) and are dead on return;
    /// `sink` gets heads, slices of content and ends: no copy.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol: the connection is of no more use, and the exchanges that the
    /// sink was not told the end of have failed.
    fn handle_bytes(
        &mut self,
        shared: &mut Self::Shared,
        now: Instant,
        bytes: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError>;

    /// The peer finished or reset: decides close-delimited content and truncation.
    fn handle_end(
        &mut self,
        shared: &mut Self::Shared,
        now: Instant,
        how: End,
        sink: &mut impl Sink,
    );

    /// How many content bytes may be drained unread.
    fn skippable(&self) -> u64;

    /// The news that `count` bytes, at most [`Client::skippable`], were drained unread.
    fn handle_skipped(&mut self, now: Instant, count: u64, sink: &mut impl Sink);

    /// The instant that [`Client::poll_timeout`] named has come. What it names next is later.
    fn handle_timeout(&mut self, now: Instant, sink: &mut impl Sink);

    /// Whether [`Client::poll_transmit`] has something to send: asked after every input.
    fn wants_transmit(&self) -> bool;

    /// What should be sent next: called until it says nothing. What it gives is sent; it is not
    /// asked for again.
    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Transmit;

    /// The exchanges whose first byte is among what was [written](Transmit::Written) last, beside
    /// the one that was told with it.
    #[inline]
    fn also_starts(&self) -> &[StreamId] {
        &[]
    }

    /// How many bytes more than its message a request takes at most that has just begun, if it
    /// alone is what goes out next; none: something else goes out before it, or with it.
    #[inline]
    fn adds(&self) -> Option<usize> {
        Some(0)
    }

    /// When the protocol itself wants to be woken.
    fn poll_timeout(&self) -> Option<Instant>;

    /// How the datagrams of what was written last are marked.
    #[inline]
    fn mark(&self) -> Mark {
        Mark::NotCapable
    }

    /// The mark of the datagram that is handled next.
    #[inline]
    fn hear_mark(&mut self, _: Mark) {}

    /// How long each datagram of what was written last is; the last of them may be shorter.
    fn segment(&self) -> usize {
        0
    }

    /// The connection is to be let go of: appends what the peer is to be told; false: nothing.
    fn farewell(&mut self, _: &mut Self::Shared, _: Instant, _: &mut Vec<u8>) -> bool {
        false
    }
}
