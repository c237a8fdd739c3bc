//! HTTP/2, the server side of one connection: streams are answered as far as windows allow, a frame
//! of each in turn, and bodies of requests are read and dropped.
//!
//! Handlers see each request as the text that it would be in HTTP/1.1 and write answers as for it,
//! so both versions serve the same. What the client can make grow is bounded: heads, streams,
//! requests that wait, answers that wait, and frames that ask for work and bring nothing
//! (`patience`).
//!
//! Cost: a copy of each answer, and of each request into text. An idle connection keeps a table of
//! HPACK of at most 8 KiB, and that only if its client used it.

pub(crate) mod answer;
mod incoming;
pub(crate) mod request;
mod stream;

use std::marker::PhantomData;

use model::{Instant, Span};

use self::answer::{LastHead, Table};
use self::request::{Builder, Wrong};
use self::stream::{Halt, Stage, Stream, Way};
use super::frame::{self, Code};
use super::hpack::Decoder;
use super::reader::Reader;
use super::settings::{self, Settings, WINDOW_AT_FIRST};
use crate::h1::server::ServerLimits;
use crate::service::{Handler, Service, Transmit};

/// Streams that may be open at once: what nginx allows.
const STREAMS: u32 = 128;
/// No further answer is begun while so many bytes wait to be sent.
const ANSWERS_LIMIT: usize = 8 * 1024;
/// Nor while so many bytes of answers wait for windows.
const HELD_LIMIT: usize = 64 * 1024;
/// Requests that wait take no more memory than this in all.
const WAITING_LIMIT: usize = 256 * 1024;
/// So much is handed over at once.
const PIECE: usize = 16 * 1024;
/// How many frames that bring nothing a client may send; each answer that it takes adds some.
const PATIENCE: u32 = 500;
const PATIENCE_PER_ANSWER: u32 = 10;
/// What a request that its client gives up costs of that: 50 in a row end the connection.
const PATIENCE_PER_RESET: u32 = 10;
/// A body that grows by this much within the body's time has earned as much time again.
const BODY_PROGRESS: u32 = 32 * 1024;

/// Streams that were reset last are remembered: the client may have sent more on them before it
/// heard of that (RFC 9113 §5.1).
const RESET_REMEMBERED: usize = 16;

/// The server side of one HTTP/2 connection.
#[derive(Debug)]
pub struct Server<F, K> {
    limits: ServerLimits,
    /// How much of the preface has come.
    preface: usize,
    /// The client's settings have come.
    is_greeted: bool,
    reader: Reader,
    decoder: Decoder,
    builder: Builder,
    /// A head that comes in several frames.
    block: Option<Block>,
    settings: Settings,
    /// How much content may be sent.
    window: i64,
    /// Content that was received since the client was last told that more may come.
    unannounced: u32,
    streams: Vec<Stream<F>>,
    /// Whose turn it is.
    turn: usize,
    /// The last stream that was opened.
    last: u32,
    /// Those that we reset last, the latest first; zeros where there were fewer.
    reset: [u32; RESET_REMEMBERED],
    patience: u32,
    requests: u64,
    ending: Ending,
    has_peer_ended: bool,
    /// Frames that wait to be sent.
    out: Vec<u8>,
    last_head: LastHead,
    table: Table,
    deadline: Instant,
    kept: PhantomData<K>,
}

/// A head of which not all frames have come.
#[derive(Debug)]
struct Block {
    stream: u32,
    is_end: bool,
    bytes: Vec<u8>,
}

/// How near its end a connection is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ending {
    /// It closes when all is sent.
    Closing { linger: bool },
    /// The client was told; the streams that are open are still answered.
    Draining,
    /// It goes on.
    Open,
    /// It is reset when all is sent.
    Resetting,
}

impl<F: Clone, K> Server<F, K> {
    /// A connection on which nothing has been received.
    pub fn new(now: Instant, limits: ServerLimits) -> Self {
        Self {
            limits,
            preface: 0,
            is_greeted: false,
            reader: Reader::default(),
            decoder: Decoder::default(),
            builder: Builder::default(),
            block: None,
            settings: Settings::default(),
            window: i64::from(WINDOW_AT_FIRST),
            unannounced: 0,
            streams: Vec::new(),
            turn: 0,
            last: 0,
            reset: [0; RESET_REMEMBERED],
            patience: PATIENCE,
            requests: 0,
            ending: Ending::Open,
            has_peer_ended: false,
            out: Vec::new(),
            last_head: LastHead::default(),
            table: Table::default(),
            deadline: now + limits.head_time,
            kept: PhantomData,
        }
    }

    /// Our settings, before anything else.
    fn greet(&mut self) {
        let head = u32::try_from(self.limits.head.head).unwrap_or(u32::MAX);
        let values = [(settings::STREAMS, STREAMS), (settings::HEAD_SIZE, head)];
        frame::settings(&mut self.out, &values);
    }

    /// Ends the connection, and tells why.
    fn go_away(&mut self, code: Code) {
        frame::go_away(&mut self.out, self.last, code);
        self.streams.clear();
        self.block = None;
        self.ending = Ending::Closing {
            linger: code != Code::NO_ERROR,
        };
    }

    /// Ends a stream on which the client may still send.
    fn reset_stream(&mut self, id: u32, code: Code) {
        frame::reset(&mut self.out, id, code);
        self.reset.rotate_right(1);
        self.reset[0] = id;
    }

    /// The client asked for work that brings nothing; false: too often.
    fn spend(&mut self, amount: u32) -> Result<(), Code> {
        self.patience = self.patience.checked_sub(amount).ok_or(Code::CALM)?;
        Ok(())
    }

    fn held(&self) -> usize {
        self.streams.iter().map(Stream::held).sum()
    }

    /// Whether another answer may be begun.
    fn may_answer(&self) -> bool {
        let is_answering = |stream: &&Stream<F>| matches!(stream.stage, Stage::Answering);
        let answers = self.streams.iter().filter(is_answering);
        self.out.len() < ANSWERS_LIMIT && answers.map(Stream::held).sum::<usize>() < HELD_LIMIT
    }

    /// A whole request has come: it is answered, or waits for that.
    fn ask(
        &mut self,
        now: Instant,
        mut stream: Stream<F>,
        text: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        self.requests += 1;
        self.deadline = now + self.limits.idle_time;
        if self.may_answer() {
            stream.stage = Stage::Answering;
            stream.answer.begin(text, handler);
            return self.go_on(now, stream, handler);
        }
        if self.held() + text.len() > WAITING_LIMIT {
            self.reset_stream(stream.id, Code::REFUSED);
            return self.spend(1);
        }
        stream.stage = Stage::Waiting(text.to_vec());
        self.streams.push(stream);
        Ok(())
    }

    /// Refuses a request that is none.
    fn reject(
        &mut self,
        now: Instant,
        mut stream: Stream<F>,
        wrong: Wrong,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let (status, why) = match wrong {
            Wrong::Malformed => {
                self.reset_stream(stream.id, Code::PROTOCOL);
                return self.spend(1);
            }
            Wrong::TargetTooLong => (414, "the target of the request is too long"),
            Wrong::TooLarge => (431, "the request head is too large"),
        };
        self.spend(1)?;
        let line = self.builder.line().to_vec();
        self.reject_with(now, &mut stream, (status, why), &line, handler);
        self.go_on(now, stream, handler)
    }

    fn reject_with(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        wrong: (u16, &str),
        line: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        self.requests += 1;
        self.deadline = now + self.limits.idle_time;
        stream.stage = Stage::Answering;
        stream.answer.reject(wrong, line, handler);
    }

    /// Writes what may go out of an answer, and keeps the rest.
    fn go_on(
        &mut self,
        now: Instant,
        mut stream: Stream<F>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        match self.write(now, &mut stream, handler)? {
            Halt::Done => self.end_answer(stream, handler),
            Halt::Full | Halt::Later => self.streams.push(stream),
            Halt::Close => self.ending = Ending::Closing { linger: false },
            Halt::Reset => self.ending = Ending::Resetting,
        }
        Ok(())
    }

    fn write(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<Halt, Code> {
        let before = self.out.len();
        let mut short = 0;
        let mut way = Way {
            out: &mut self.out,
            last_head: &mut self.last_head,
            table: &mut self.table,
            window: &mut self.window,
            full: ANSWERS_LIMIT,
            short: &mut short,
        };
        let halt = stream.write(now, &mut way, handler);
        if self.out.len() > before {
            self.deadline = now + self.limits.idle_time;
        }
        self.spend(short)?;
        Ok(halt)
    }

    /// An answer is out.
    fn end_answer(&mut self, stream: Stream<F>, handler: &mut impl Handler<File = F, Kept = K>) {
        if stream.is_half_open {
            // What the client still sends is of no use (RFC 9113 §8.1).
            self.reset_stream(stream.id, Code::NO_ERROR);
        }
        stream.answer.drop(handler);
        self.patience = PATIENCE.min(self.patience + PATIENCE_PER_ANSWER);
        if self.requests >= self.limits.requests && self.ending == Ending::Open {
            self.drain();
        }
    }

    /// No new stream; those that are open are still answered.
    fn drain(&mut self) {
        frame::go_away(&mut self.out, self.last, Code::NO_ERROR);
        self.ending = Ending::Draining;
    }

    /// Lets streams write in turn until enough is written, and begins answers that waited.
    fn write_streams(&mut self, now: Instant, handler: &mut impl Handler<File = F, Kept = K>) {
        for _ in 0..self.streams.len() {
            if self.out.len() >= ANSWERS_LIMIT || self.is_over() || self.streams.is_empty() {
                return;
            }
            let place = self.turn % self.streams.len();
            let mut stream = self.streams.swap_remove(place);
            match &mut stream.stage {
                Stage::Reading(_) => {
                    self.put_back(place, stream);
                    continue;
                }
                Stage::Waiting(_) if !self.may_answer() => {
                    self.put_back(place, stream);
                    continue;
                }
                Stage::Waiting(text) => {
                    let text = std::mem::take(text);
                    stream.stage = Stage::Answering;
                    stream.answer.begin(&text, handler);
                }
                Stage::Answering => {}
            }
            match self.write(now, &mut stream, handler) {
                Ok(Halt::Done) => self.end_answer(stream, handler),
                Ok(Halt::Full | Halt::Later) => self.put_back(place, stream),
                Ok(Halt::Close) => self.ending = Ending::Closing { linger: false },
                Ok(Halt::Reset) => self.ending = Ending::Resetting,
                Err(code) => self.go_away(code),
            }
        }
    }

    /// Puts a stream back where it was: the next one is next.
    fn put_back(&mut self, place: usize, stream: Stream<F>) {
        self.streams.push(stream);
        let last = self.streams.len() - 1;
        self.streams.swap(place, last);
        self.turn = place + 1;
    }

    const fn is_over(&self) -> bool {
        matches!(self.ending, Ending::Closing { .. } | Ending::Resetting)
    }

    /// The end of the first delay that was ordered.
    fn next_pause(&self) -> Option<Instant> {
        let streams = self.streams.iter();
        streams.filter_map(|stream| stream.answer.until()).min()
    }

    /// Keeps little memory for a connection on which nothing is under way: most are idle.
    fn release(&mut self) {
        self.out = Vec::new();
        self.last_head = LastHead::default();
        self.streams = Vec::new();
        self.builder = Builder::default();
        self.decoder.release();
        self.reader.release();
    }
}

impl<F: Clone, K> Service for Server<F, K> {
    type File = F;
    type Kept = K;

    fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        if let Err(code) = self.take(now, bytes, handler)
            && !self.is_over()
        {
            self.go_away(code);
        }
    }

    fn handle_end(&mut self) {
        self.has_peer_ended = true;
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Transmit<F, K> {
        if self.out.is_empty() && !self.is_over() {
            self.write_streams(now, handler);
        }
        if self.out.len() > PIECE {
            out.extend(self.out.drain(..PIECE));
            return Transmit::Bytes;
        }
        if !self.out.is_empty() {
            out.append(&mut self.out);
            return Transmit::Bytes;
        }
        let is_served = self.streams.is_empty();
        match self.ending {
            Ending::Closing { linger } => Transmit::Close { linger },
            Ending::Resetting => Transmit::Reset,
            Ending::Draining if is_served => Transmit::Close { linger: true },
            _ if self.has_peer_ended && !self.has_to_write() => Transmit::Close { linger: false },
            Ending::Draining | Ending::Open => {
                if let Some(until) = self.next_pause() {
                    let span: Span = until.saturating_since(now);
                    return Transmit::Pause(span);
                }
                if self.is_idle() {
                    self.release();
                }
                Transmit::Nothing
            }
        }
    }

    fn handle_timeout(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        if self.is_over() {
            return;
        }
        let at = self.poll_timeout();
        if self.body_deadline() != Some(at) {
            self.go_away(Code::NO_ERROR);
        } else if let Err(code) = self.refuse_slow(at, handler) {
            self.go_away(code);
        }
    }

    /// While the body of a request comes in, the connection is not idle.
    fn poll_timeout(&self) -> Instant {
        match self.body_deadline() {
            Some(at) if self.block.is_some() => at.min(self.deadline),
            Some(at) => at,
            None => self.deadline,
        }
    }

    fn is_full(&self) -> bool {
        false
    }

    fn is_idle(&self) -> bool {
        self.streams.is_empty()
            && self.out.is_empty()
            && self.block.is_none()
            && self.reader.is_between()
    }

    fn finish(&mut self) {
        if self.ending == Ending::Open {
            self.drain();
        }
    }

    fn is_multiplexed(&self) -> bool {
        true
    }
}

impl<F: Clone, K> Server<F, K> {
    /// Whether anything can go out without another word of the client.
    fn has_to_write(&self) -> bool {
        self.streams.iter().any(|stream| match &stream.stage {
            Stage::Answering => {
                stream.answer.until().is_some()
                    || !stream.answer.is_stalled() && stream.window.min(self.window) > 0
            }
            Stage::Reading(_) => false,
            Stage::Waiting(_) => true,
        })
    }
}

#[cfg(test)]
mod tests;
