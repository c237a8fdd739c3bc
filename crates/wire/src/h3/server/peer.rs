//! One connection: its streams in turn, its end.

use model::Instant;
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId};

use super::request::LastRequest;
use super::stream::{Halt, Stage, Stream};
use crate::h1::request::Rejection;
use crate::h1::server::ServerLimits;
use crate::h2::server::answer::LastHead;
use crate::h2::server::request::Builder;
use crate::h3::Code;
use crate::h3::frame::{self, put_head, put_number};
use crate::h3::one_way::OneWay;
use crate::h3::qpack::Decoder;
use crate::service::Handler;
use crate::tls::is_safe;

/// No further answer is begun while so many bytes of answers wait for windows.
const HELD_LIMIT: usize = 64 * 1024;
/// Requests that wait take no more memory than this in all.
const WAITING_LIMIT: usize = 256 * 1024;
/// How much work that brings nothing a client may ask for; each answer that it takes adds some.
const PATIENCE: u32 = 500;
const PATIENCE_PER_ANSWER: u32 = 10;
/// What a request that its client gives up costs of that: 50 in a row end the connection.
pub(super) const RESET: u32 = 10;

/// One connection.
#[derive(Debug)]
pub(super) struct Peer<F> {
    pub(super) quic: Connection,
    pub(super) streams: Vec<Stream<F>>,
    pub(super) one_way: Vec<OneWay>,
    pub(super) has_settings: bool,
    /// Our own stream that goes one way.
    control: Option<StreamId>,
    pub(super) builder: Builder,
    pub(super) decoder: Decoder,
    last_head: LastHead,
    pub(super) last_request: LastRequest,
    patience: u32,
    requests: u64,
    /// The first stream that was not accepted.
    pub(super) after_last: u64,
    /// No new request; those under way are still answered.
    pub(super) is_draining: bool,
    /// It is closed, or is to be.
    pub(super) is_over: bool,
    /// It is among those that are counted as open.
    pub(super) is_counted: bool,
    pub(super) code: Code,
    deadline: Instant,
    pub(super) timer: Option<Instant>,
    pub(super) is_due: bool,
}

impl<F: Clone> Peer<F> {
    pub(super) fn new(now: Instant, quic: Connection, limits: &ServerLimits) -> Self {
        Self {
            quic,
            streams: Vec::new(),
            one_way: Vec::new(),
            has_settings: false,
            control: None,
            builder: Builder::default(),
            decoder: Decoder::default(),
            last_head: LastHead::default(),
            last_request: LastRequest::default(),
            patience: PATIENCE,
            requests: 0,
            after_last: 0,
            is_draining: false,
            is_over: false,
            is_counted: true,
            code: Code::NO_ERROR,
            deadline: now + limits.head_time,
            timer: None,
            is_due: false,
        }
    }

    /// Takes one piece of news of QUIC.
    pub(super) fn hear<K>(
        &mut self,
        now: Instant,
        event: Event,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        if self.is_over {
            return;
        }
        let heard = match event {
            Event::Connected => {
                self.deadline = now + limits.idle_time;
                self.greet();
                Ok(())
            }
            Event::ConnectionLost { .. } => {
                self.is_over = true;
                Ok(())
            }
            Event::Stream(event) => match event {
                StreamEvent::Opened { dir } => self.accept(now, dir, limits, handler),
                StreamEvent::Readable { id } if id.dir() == Dir::Uni => self.read_one_way(id),
                StreamEvent::Readable { id } => self.read(now, id, limits, handler),
                StreamEvent::Stopped { id, .. } => self.stopped(id, handler),
                StreamEvent::Writable { .. }
                | StreamEvent::Finished { .. }
                | StreamEvent::Available { .. } => Ok(()),
            },
            Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {
                Ok(())
            }
        };
        if let Err(code) = heard {
            self.end(code);
        }
    }

    fn greet(&mut self) {
        self.control = self.quic.streams().open(Dir::Uni);
        if let Some(id) = self.control {
            // There is room for four bytes, or the client is of no use.
            let _written = self.quic.send_stream(id).write(&frame::greeting());
        }
    }

    /// The client wants no more of an answer.
    fn stopped<K>(
        &mut self,
        id: StreamId,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        if let Some(place) = self.streams.iter().position(|stream| stream.id == id) {
            let mut stream = self.streams.remove(place);
            self.refuse(id, Code::REQUEST_CANCELLED);
            stream.let_go(handler);
            self.spend(RESET)?;
        }
        Ok(())
    }

    /// The client asked for work that brings nothing.
    pub(super) fn spend(&mut self, amount: u32) -> Result<(), Code> {
        self.patience = self
            .patience
            .checked_sub(amount)
            .ok_or(Code::EXCESSIVE_LOAD)?;
        Ok(())
    }

    /// The connection ends here, for that reason.
    pub(super) const fn end(&mut self, code: Code) {
        if !self.is_over {
            self.is_over = true;
            self.code = code;
        }
    }

    /// No request after those under way.
    pub(super) fn drain(&mut self) {
        if std::mem::replace(&mut self.is_draining, true) {
            return;
        }
        let mut payload = Vec::new();
        put_number(&mut payload, self.after_last);
        let mut word = Vec::new();
        put_head(&mut word, frame::kind::GOAWAY, payload.len());
        word.extend_from_slice(&payload);
        if let Some(id) = self.control {
            // Without room for it the client hears of the end when it comes.
            let _written = self.quic.send_stream(id).write(&word);
        }
    }

    /// When it is to be looked at, whatever QUIC wants.
    pub(super) fn next_look(&self) -> Instant {
        let streams = self.streams.iter();
        let of_streams = streams.filter_map(Stream::next_look);
        of_streams
            .min()
            .unwrap_or(Instant::FAR_FUTURE)
            .min(self.deadline)
    }

    /// Ends what has taken too long.
    pub(super) fn look(&mut self, now: Instant) {
        if self.is_over {
            return;
        }
        let overdue: Vec<StreamId> = (self.streams.iter())
            .filter(|stream| stream.is_reading() && stream.deadline <= now)
            .map(|stream| stream.id)
            .collect();
        for id in overdue {
            self.refuse(id, Code::REQUEST_INCOMPLETE);
            self.streams.retain(|stream| stream.id != id);
        }
        if self.deadline <= now {
            self.end(Code::NO_ERROR);
        }
    }

    fn held(&self, is_counted: impl Fn(&Stage) -> bool) -> usize {
        let streams = self.streams.iter();
        let counted = streams.filter(|stream| is_counted(&stream.stage));
        counted.map(Stream::held).sum()
    }

    fn may_answer(&self) -> bool {
        self.held(|stage| matches!(stage, Stage::Answering)) < HELD_LIMIT
    }

    /// Whether a request has to wait until the client has proven who it is: it came before the end
    /// of the handshake, so whoever saw it can send it again (RFC 8470 §3), and that may do harm.
    fn is_unproven(&self, stream: &Stream<F>, text: &[u8]) -> bool {
        self.quic.is_handshaking() && (stream.received > 0 || !is_safe(text))
    }

    /// A whole request has come: it is answered, or waits for that; false: it is refused.
    pub(super) fn ask<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        text: Vec<u8>,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<bool, Code> {
        self.requests += 1;
        self.deadline = now + limits.idle_time;
        if self.requests >= limits.requests {
            self.drain();
        }
        if self.may_answer() && !self.is_unproven(stream, &text) {
            stream.stage = Stage::Answering;
            stream.answer.begin(&text, handler);
            return Ok(true);
        }
        let waiting = self.held(|stage| matches!(stage, Stage::Waiting(_)));
        if waiting + text.len() > WAITING_LIMIT {
            self.refuse(stream.id, Code::REQUEST_REJECTED);
            self.spend(1)?;
            return Ok(false);
        }
        stream.stage = Stage::Waiting(text);
        Ok(true)
    }

    /// Refuses a request in words.
    pub(super) fn reject<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        wrong: (u16, &str),
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        self.requests += 1;
        self.deadline = now + limits.idle_time;
        let line = match std::mem::replace(&mut stream.stage, Stage::Answering) {
            Stage::Reading(text) | Stage::Waiting(text) => Rejection::line_of(&text).to_vec(),
            Stage::Answering | Stage::Head => self.builder.line().to_vec(),
        };
        stream.answer.reject(wrong, &line, handler);
    }

    /// Writes what may go out of answers, and begins those that waited.
    pub(super) fn go_on<K>(
        &mut self,
        now: Instant,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        if self.is_over {
            return;
        }
        let mut held = self.held(|stage| matches!(stage, Stage::Answering));
        let mut streams = std::mem::take(&mut self.streams);
        // In the order in which they came, which is that in which QUIC sends them.
        streams.retain_mut(|stream| {
            let has_to_wait = match &stream.stage {
                Stage::Waiting(text) => held >= HELD_LIMIT || self.is_unproven(stream, text),
                _ => stream.is_reading(),
            };
            if has_to_wait {
                return true;
            }
            match &mut stream.stage {
                Stage::Waiting(text) => {
                    let text = std::mem::take(text);
                    stream.stage = Stage::Answering;
                    stream.answer.begin(&text, handler);
                }
                _ => held -= stream.held(),
            }
            let (halt, has_written) =
                stream.write(now, &mut self.quic, &mut self.last_head, handler);
            if has_written {
                self.deadline = now + limits.idle_time;
            }
            match halt {
                Halt::Done => self.end_answer(stream),
                Halt::Later => {
                    held += stream.held();
                    return true;
                }
                Halt::Broken => self.refuse(stream.id, Code::INTERNAL),
                Halt::Close => self.end(Code::NO_ERROR),
                Halt::Reset => self.end(Code::INTERNAL),
            }
            stream.let_go(handler);
            false
        });
        self.streams = streams;
        let is_served = self.streams.is_empty() && self.quic.streams().send_streams() <= 1;
        if self.is_draining && is_served {
            self.end(Code::NO_ERROR);
        }
    }

    /// An answer has been handed to QUIC whole.
    fn end_answer(&mut self, stream: &Stream<F>) {
        if stream.is_half_open {
            // What the client still sends is of no use (RFC 9114 §4.1).
            let _over = self
                .quic
                .recv_stream(stream.id)
                .stop(Code::NO_ERROR.to_quic());
        }
        self.patience = PATIENCE.min(self.patience + PATIENCE_PER_ANSWER);
    }

    /// Lets go of everything: the connection is over.
    pub(super) fn clear<K>(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        for mut stream in std::mem::take(&mut self.streams) {
            stream.let_go(handler);
        }
        self.one_way = Vec::new();
        self.last_head = LastHead::default();
        self.last_request = LastRequest::default();
    }
}
