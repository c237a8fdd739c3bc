//! HTTP/2, the client side of one connection: as many exchanges at once as the plan wants and the
//! peer allows.
//!
//! Windows are as large as they can be, so that ours never hold a server back. Heads are read only
//! as far as a check needs, and one like the one before is not read at all.
//!
//! Cost: requests are a frame of a few bytes each after the first on a connection. A connection
//! allocates when it is made, and its table when the peer first uses it.

pub(crate) mod answer;
mod incoming;
mod pending;
pub(crate) mod request;
mod tally;

use std::sync::Arc;

use model::Instant;
use model::http2::Http2Record;

pub use self::request::{Encoded, encode};

use self::answer::Heads;
use self::pending::Pending;
use self::request::transcribe;
use self::tally::Tally;
use super::PREFACE;
use super::frame::{self, Code, PAYLOAD, flag};
use super::hpack;
use super::reader::Reader;
use super::settings::{self, Settings, WINDOW_AT_FIRST, WINDOW_LARGEST};
use crate::client::{Broken, Client, End, ProtocolError, Refused, Sink, StreamId, Transmit};
use crate::message::Request;
use crate::tls::Inner;

/// The peer is told of room again when so much of a window is used.
const WINDOW_USED: u64 = 1 << 30;
/// No stream beyond this one (RFC 9113 §5.1.1).
const LAST_STREAM: u32 = 0x7fff_ffff;
/// What waits to be sent on behalf of the peer, whatever it asks for.
const OUT_LIMIT: usize = 256 * 1024;
/// The head of a frame of content, and enough of that to be worth it.
const LEAST: usize = 64;

/// What the connections of one worker have in common.
#[derive(Debug)]
pub struct Shared {
    /// Exchanges at once that the plan wants on a connection.
    streams: u32,
    /// The most that is sent at once.
    piece: usize,
    /// The longest head that is read.
    head_bytes: usize,
    /// Each head is told whole, also one like the one before.
    tells_heads: bool,
    tally: Tally,
    /// The last head that was read, as HTTP/1.1 would have it.
    text: Vec<u8>,
}

impl Shared {
    /// For connections with up to `streams` exchanges at once, which send up to `piece` bytes at
    /// once and read heads up to `head_bytes`.
    pub fn new(streams: u32, piece: usize, head_bytes: usize) -> Self {
        Self {
            streams,
            piece,
            head_bytes,
            tells_heads: false,
            tally: Tally::default(),
            text: Vec::with_capacity(4_096),
        }
    }

    /// The same, which tells each head whole if it `tells_heads`, for whoever reads fields of it.
    #[must_use]
    pub fn telling(self, tells_heads: bool) -> Self {
        Self {
            tells_heads,
            ..self
        }
    }
}

/// How the next request is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Table {
    /// The peer has what all requests have in common.
    Filled,
    /// It has nothing yet.
    New,
    /// It has no room for it.
    None,
    /// The same, and has to be told that we know.
    Shrunk,
}

/// One exchange.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// The number of its stream; 0: there is none.
    id: u32,
    is_head: bool,
    /// The head of its answer has come.
    has_head: bool,
    interim: u32,
    /// How long its content should be.
    length: Option<u64>,
    /// How long it is so far.
    received: u64,
    /// How much of its window is used.
    used: u64,
    /// What is left to be sent of its content begins there.
    content: Option<Arc<[u8]>>,
    sent: usize,
    /// How much of that may be sent.
    window: i64,
    /// It waits for a window, which is counted.
    is_stalled: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    reader: Reader,
    /// A head of which not all frames have come.
    block: Option<Block>,
    heads: Heads,
    settings: Settings,
    is_greeted: bool,
    slots: Box<[Slot]>,
    /// The place that was looked for last.
    latest: usize,
    /// Places without an exchange.
    vacant: Vec<u32>,
    next: u32,
    /// How much content may be sent.
    window: i64,
    /// How much of our own window is used.
    used: u64,
    table: Table,
    closing: bool,
    /// Frames that wait to be sent.
    out: Vec<u8>,
    /// The requests among them.
    pending: Pending,
    /// Exchanges with content that is to be sent.
    uploads: Vec<u32>,
    /// How often content had to wait for a window.
    stalls: u64,
    piece: usize,
}

/// A head of which not all frames have come.
#[derive(Debug)]
struct Block {
    id: u32,
    is_end: bool,
    bytes: Vec<u8>,
}

impl Client for Connection {
    type Shared = Shared;

    const MULTIPLEXES: bool = true;
    const GATHERS: bool = true;
    const WRITES: bool = true;

    fn new(shared: &mut Shared) -> Self {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(PREFACE);
        let values = [(settings::PUSH, 0), (settings::WINDOW, WINDOW_LARGEST)];
        frame::settings(&mut out, &values);
        frame::window_update(&mut out, 0, WINDOW_LARGEST - WINDOW_AT_FIRST);
        shared.tally.connections += 1;
        Self {
            reader: Reader::default(),
            block: None,
            heads: Heads::default(),
            settings: Settings::default(),
            is_greeted: false,
            slots: vec![Slot::default(); shared.streams as usize].into(),
            latest: 0,
            vacant: (0..shared.streams).rev().collect(),
            next: 1,
            window: i64::from(WINDOW_AT_FIRST),
            used: 0,
            table: Table::New,
            closing: false,
            out,
            pending: Pending::new(shared.streams),
            uploads: Vec::new(),
            stalls: 0,
            piece: shared.piece,
        }
    }

    fn tell_http2(shared: &Shared) -> Option<Http2Record> {
        Some(shared.tally.tell())
    }

    #[inline]
    fn capacity(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    #[inline]
    fn free(&self) -> u32 {
        if self.closing {
            return 0;
        }
        // Until the peer has said how many it takes, one more than it takes would be refused.
        let limit = match self.is_greeted {
            true => self.capacity().min(self.settings.streams),
            false => self.capacity().min(1),
        };
        limit.saturating_sub(self.in_flight())
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.closing
    }

    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused> {
        let encoded = request.h2();
        let content = encoded.content.clone();
        let stream = self.take_place(request, content)?;
        let block = match self.table {
            Table::Filled => &encoded.again,
            Table::New => &encoded.first,
            Table::None | Table::Shrunk => &encoded.plain,
        };
        self.write_head(stream, block);
        if self.table == Table::New {
            self.table = Table::Filled;
        }
        Ok(stream)
    }

    fn begin_as(&mut self, request: &Request, message: &[u8]) -> Result<StreamId, Refused> {
        let mut block = Vec::with_capacity(message.len());
        let from = transcribe(message, request.h2().is_secure, |name, value| {
            hpack::field(&mut block, name, value, hpack::Form::Plain);
        });
        let content = Some(&message[from..]).filter(|content| !content.is_empty());
        let stream = self.take_place(request, content.map(Arc::from))?;
        self.write_head(stream, &block);
        Ok(stream)
    }

    fn cancel(&mut self, stream: StreamId) -> bool {
        let place = stream.0 as usize;
        let is_under_way = self.slots.get(place).is_some_and(|slot| slot.id != 0);
        let may = is_under_way && self.is_greeted;
        if may {
            // Its head, if that waits, goes out before this: the peer's table follows from it.
            self.reset(place, Code::CANCEL);
        }
        may
    }

    #[inline]
    fn handle_bytes(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        bytes: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        self.handle_plain(shared, now, bytes, sink)
    }

    fn handle_end(&mut self, shared: &mut Shared, _: Instant, _: End, sink: &mut impl Sink) {
        self.closing = true;
        self.pending.clear();
        self.out.clear();
        shared.tally.stalls += std::mem::take(&mut self.stalls);
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            if slot.id == 0 {
                continue;
            }
            let is_in_head = self.block.as_ref().is_some_and(|block| block.id == slot.id);
            let reached = match slot.has_head {
                true => Broken::InContent,
                false if is_in_head => Broken::InHead,
                false => Broken::Unanswered,
            };
            sink.broken(self.vacate(place), reached);
        }
    }

    #[inline]
    fn skippable(&self) -> u64 {
        0
    }

    fn handle_skipped(&mut self, _: Instant, _: u64, _: &mut impl Sink) {}

    fn handle_timeout(&mut self, _: Instant, _: &mut impl Sink) {}

    #[inline]
    fn wants_transmit(&self) -> bool {
        !self.out.is_empty() || self.may_upload()
    }

    fn poll_transmit(&mut self, _: Instant, out: &mut Vec<u8>) -> Transmit {
        let count = self.out.len().min(self.piece);
        self.pending.take(count, self.out.len() - count);
        out.extend_from_slice(&self.out[..count]);
        if count == self.out.len() {
            self.out.clear();
            self.upload(out);
            self.count_stalls();
        } else {
            self.out.drain(..count);
        }
        if out.is_empty() {
            return Transmit::Nothing;
        }
        let starts = self.pending.started().first().copied();
        Transmit::Written { starts }
    }

    #[inline]
    fn also_starts(&self) -> &[StreamId] {
        self.pending.started().get(1..).unwrap_or_default()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

impl Inner for Connection {
    const APPLICATION: &'static [u8] = b"h2";
    const IS_AGREED: bool = true;

    fn handle_plain(
        &mut self,
        shared: &mut Shared,
        _: Instant,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let taken = self.take(shared, bytes, sink);
        self.count_stalls();
        shared.tally.stalls += std::mem::take(&mut self.stalls);
        if taken.is_err() {
            self.closing = true;
            self.pending.clear();
            self.out.clear();
        }
        taken
    }
}

impl Connection {
    /// A place and a stream for a request that begins now.
    fn take_place(
        &mut self,
        request: &Request,
        content: Option<Arc<[u8]>>,
    ) -> Result<StreamId, Refused> {
        if self.closing {
            return Err(Refused::Closing);
        }
        if self.free() == 0 {
            return Err(Refused::Busy);
        }
        let place = self.vacant.pop().ok_or(Refused::Busy)?;
        let id = self.next;
        self.next += 2;
        let content = content.filter(|content| !content.is_empty());
        if content.is_some() {
            self.uploads.push(place);
        }
        self.slots[place as usize] = Slot {
            id,
            is_head: request.is_head(),
            content,
            window: i64::from(self.settings.window),
            ..Slot::default()
        };
        let stream = StreamId(place);
        self.closing = request.closes() || self.next > LAST_STREAM;
        Ok(stream)
    }

    /// Writes the head of the request that has just begun.
    fn write_head(&mut self, stream: StreamId, block: &[u8]) {
        let slot = &self.slots[stream.0 as usize];
        let flags = match slot.content {
            None => flag::END_STREAM,
            Some(_) => 0,
        };
        let at = self.out.len();
        if self.table == Table::Shrunk {
            let mut told = Vec::with_capacity(block.len() + 1);
            hpack::resize(&mut told, 0);
            told.extend_from_slice(block);
            frame::headers(&mut self.out, slot.id, &told, flags);
            self.table = Table::None;
        } else {
            frame::headers(&mut self.out, slot.id, block, flags);
        }
        self.pending.push(stream, at, self.out.len() - at);
    }

    /// Exchanges under way.
    #[inline]
    fn in_flight(&self) -> u32 {
        self.capacity() - u32::try_from(self.vacant.len()).unwrap_or(0)
    }

    /// The place of the exchange with stream `id`.
    #[inline]
    fn place_of(&mut self, id: u32) -> Option<usize> {
        // The frames of an answer come one after the other.
        if self.slots.get(self.latest).is_none_or(|slot| slot.id != id) {
            self.latest = self.slots.iter().position(|slot| slot.id == id)?;
        }
        Some(self.latest)
    }

    /// The exchange in `place` is over.
    #[inline]
    fn vacate(&mut self, place: usize) -> StreamId {
        let slot = &mut self.slots[place];
        slot.id = 0;
        let was_sending = slot.content.take().is_some();
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        self.vacant.push(place);
        let stream = StreamId(place);
        if was_sending {
            self.uploads.retain(|upload| *upload != place);
        }
        self.pending.forget(stream);
        stream
    }

    /// Content that has come to wait for a window is counted.
    fn count_stalls(&mut self) {
        for place in &self.uploads {
            let slot = &mut self.slots[*place as usize];
            let is_stalled = slot.window.min(self.window) <= 0;
            let was_stalled = std::mem::replace(&mut slot.is_stalled, is_stalled);
            self.stalls += u64::from(is_stalled && !was_stalled);
        }
    }

    fn may_upload(&self) -> bool {
        let may = |place: &u32| self.slots[*place as usize].window > 0;
        self.window > 0 && self.uploads.iter().any(may)
    }

    /// Appends as much content as windows and the size of a piece allow.
    #[expect(clippy::cast_possible_wrap, reason = "a frame has at most 16 KiB")]
    fn upload(&mut self, out: &mut Vec<u8>) {
        let mut index = 0;
        while index < self.uploads.len() && out.len() + LEAST < self.piece {
            let slot = &mut self.slots[self.uploads[index] as usize];
            let content = slot.content.as_deref().unwrap_or_default();
            let rest = &content[slot.sent.min(content.len())..];
            let window = usize::try_from(slot.window.min(self.window)).unwrap_or(0);
            if window == 0 {
                index += 1;
                continue;
            }
            let room = (self.piece - frame::HEAD - out.len()).min(PAYLOAD);
            let count = rest.len().min(window).min(room);
            let is_last = count == rest.len();
            frame::data(out, slot.id, count, is_last);
            out.extend_from_slice(&rest[..count]);
            slot.sent += count;
            slot.window -= count as i64;
            self.window -= count as i64;
            if is_last {
                slot.content = None;
                self.uploads.swap_remove(index);
            }
        }
    }

    /// Ends an exchange of which more comes or goes that is of no use.
    fn reset(&mut self, place: usize, code: Code) -> StreamId {
        frame::reset(&mut self.out, self.slots[place].id, code);
        self.vacate(place)
    }
}

#[cfg(test)]
mod tests;
