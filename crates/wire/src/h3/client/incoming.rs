//! What comes: events of QUIC, frames of answers, the server's control stream.

use quinn_proto::{Dir, Event, ReadError, StreamEvent, StreamId as Quic};

use super::link::reason;
use super::{Connection, Shared};
use crate::client::{Broken, ProtocolError, Sink, StreamId, own_part};
use crate::h3::Code;
use crate::h3::frame::{self, Piece, Stop, check_settings, number};
use crate::h3::one_way::{OneWay, begin_control};
use crate::message::Version;

/// Interim answers before the final one.
const INTERIM: u32 = 16;
type Heard = Result<(), ProtocolError>;

const fn broken(code: Code) -> Heard {
    Err(ProtocolError::Http3(code))
}

impl Connection {
    /// Takes all news of QUIC. Where `shared` is missing, only time has passed.
    pub(super) fn hear(&mut self, mut shared: Option<&mut Shared>, sink: &mut impl Sink) -> Heard {
        loop {
            let Some(link) = &mut self.link else {
                return Ok(());
            };
            link.settle();
            let Some(event) = link.quic.poll() else {
                return Ok(());
            };
            match event {
                Event::Connected => self.secured(shared.as_deref_mut()),
                Event::ConnectionLost { reason: why } => {
                    self.has_ended = true;
                    return reason(&why).map_or(Ok(()), Err);
                }
                Event::Stream(event) => {
                    if let Some(shared) = shared.as_deref_mut() {
                        self.hear_stream(shared, event, sink)?;
                    }
                }
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {
                }
            }
        }
    }

    fn hear_stream(
        &mut self,
        shared: &mut Shared,
        event: StreamEvent,
        sink: &mut impl Sink,
    ) -> Heard {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        match event {
            StreamEvent::Opened { dir: Dir::Bi } => return broken(Code::STREAM_CREATION),
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = self.accept() {
                    self.read_one_way(shared, id, sink)?;
                }
            }
            StreamEvent::Readable { id } => match self.place_of(id) {
                Some(place) => return self.read(shared, place, id, sink),
                None if id.dir() == Dir::Uni => return self.read_one_way(shared, id, sink),
                None => {}
            },
            StreamEvent::Writable { id } => {
                if let Some(place) = self.place_of(id) {
                    self.write(place);
                }
            }
            StreamEvent::Available { dir: Dir::Bi } if self.next.is_none() => {
                self.next = link.quic.streams().open(Dir::Bi);
                self.repeat();
            }
            StreamEvent::Available { .. }
            | StreamEvent::Finished { .. }
            | StreamEvent::Stopped { .. } => {}
        }
        Ok(())
    }

    fn accept(&mut self) -> Option<Quic> {
        let id = self.link.as_mut()?.quic.streams().accept(Dir::Uni)?;
        self.one_way.push(OneWay::new(id));
        Some(id)
    }

    /// Reads what has come of the answer in `place`.
    fn read(&mut self, shared: &mut Shared, place: usize, id: Quic, sink: &mut impl Sink) -> Heard {
        sink.first_byte(stream(place));
        loop {
            let next = self.next_chunk(id);
            match next {
                Ok(Some(chunk)) => {
                    self.take(shared, place, &chunk, sink)?;
                    if self.slots[place].id != Some(id) {
                        return Ok(());
                    }
                }
                Ok(None) => return self.complete(place, sink),
                Err(ReadError::Blocked) => return Ok(()),
                Err(ReadError::Reset(code)) => {
                    let code = Code(code.into_inner());
                    shared.tally.resets.add(code);
                    let ended = self.vacate(place);
                    sink.broken(ended, Broken::ResetHttp3(code));
                    return Ok(());
                }
            }
        }
    }

    /// The next bytes of a stream; none at its end.
    fn next_chunk(&mut self, id: Quic) -> Result<Option<bytes::Bytes>, ReadError> {
        let Some(link) = &mut self.link else {
            return Err(ReadError::Blocked);
        };
        let mut stream = link.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return Err(ReadError::Blocked);
        };
        let next = chunks.next(usize::MAX);
        self.is_due |= chunks.finalize().should_transmit();
        next.map(|chunk| chunk.map(|chunk| chunk.bytes))
    }

    /// Reads a slice of the answer in `place`.
    pub(super) fn take(
        &mut self,
        shared: &mut Shared,
        place: usize,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Heard {
        let mut reader = std::mem::take(&mut self.slots[place].reader);
        let id = self.slots[place].id;
        let taken = reader.take(bytes, shared.head_bytes, |piece| {
            if self.slots[place].id != id {
                return Ok(());
            }
            match piece {
                Piece::Begin(kind) => self.begin_frame(place, kind),
                Piece::Content(content) => {
                    self.content(place, content, sink);
                    Ok(())
                }
                Piece::Whole(frame::kind::HEADERS, block) => {
                    self.fields(shared, place, block, sink)
                }
                Piece::Whole(..) => broken(Code::FRAME_UNEXPECTED),
            }
        });
        self.slots[place].reader = reader;
        match taken {
            Ok(()) => Ok(()),
            // It has ended, and what comes after that is nobody's.
            Err(Stop::TooLong) if self.slots[place].id != id => Ok(()),
            Err(Stop::TooLong) => Err(ProtocolError::HeadTooLong(shared.head_bytes)),
            Err(Stop::Told(error)) => Err(error),
        }
    }

    /// RFC 9114 §4.1 and §7.2: which frames may come, and when.
    fn begin_frame(&self, place: usize, kind: u64) -> Heard {
        let slot = &self.slots[place];
        match kind {
            frame::kind::HEADERS if slot.is_past_content => broken(Code::FRAME_UNEXPECTED),
            frame::kind::DATA if !slot.has_head || slot.is_past_content => {
                broken(Code::FRAME_UNEXPECTED)
            }
            // We allow no push.
            frame::kind::PUSH_PROMISE => broken(Code::ID),
            frame::kind::CANCEL_PUSH
            | frame::kind::SETTINGS
            | frame::kind::GOAWAY
            | frame::kind::MAX_PUSH_ID => broken(Code::FRAME_UNEXPECTED),
            _ if frame::is_of_http2(kind) => broken(Code::FRAME_UNEXPECTED),
            _ => Ok(()),
        }
    }

    /// The head of an answer, or what follows its content, has come whole.
    fn fields(
        &mut self,
        shared: &mut Shared,
        place: usize,
        block: &[u8],
        sink: &mut impl Sink,
    ) -> Heard {
        if self.slots[place].has_head {
            self.slots[place].is_past_content = true;
            return self.known.read_trailer(block);
        }
        if shared.tells_heads {
            self.known.forget();
        }
        let fields = self
            .known
            .read(block, shared.head_bytes, &mut shared.text)?;
        let slot = &mut self.slots[place];
        match fields.status {
            0 => return Err(ProtocolError::BadHead("it has no :status")),
            101 => return Err(ProtocolError::Switched),
            100..200 => {
                slot.interim += 1;
                if slot.interim > INTERIM {
                    return Err(ProtocolError::TooManyInterim(INTERIM));
                }
                return Ok(());
            }
            _ => {}
        }
        slot.has_head = true;
        let told = fields.head(Version::Http3, slot.is_head, &shared.text);
        slot.length = told.framing.length();
        sink.head(stream(place), &told);
        Ok(())
    }

    #[inline]
    fn content(&mut self, place: usize, content: &[u8], sink: &mut impl Sink) {
        let slot = &mut self.slots[place];
        let own = own_part(content, slot.length, slot.received);
        slot.received += content.len() as u64;
        if !own.is_empty() {
            sink.content(stream(place), own);
        }
        if slot.length.is_some_and(|length| slot.received > length) {
            let ended = self.reset(place, Code::MESSAGE);
            sink.broken(ended, Broken::Length);
        }
    }

    /// The stream of the answer in `place` has ended.
    fn complete(&mut self, place: usize, sink: &mut impl Sink) -> Heard {
        let slot = &self.slots[place];
        if !slot.reader.is_between() {
            return broken(Code::FRAME);
        }
        if !slot.has_head {
            return broken(Code::REQUEST_INCOMPLETE);
        }
        let is_short = slot.length.is_some_and(|length| slot.received != length);
        let ended = match slot.rest.is_empty() {
            // The server answers without the rest of the request.
            false => self.reset(place, Code::NO_ERROR),
            true => self.vacate(place),
        };
        if is_short {
            sink.broken(ended, Broken::Length);
        } else {
            sink.complete(ended);
        }
        Ok(())
    }

    /// Reads what has come on a stream of the server.
    fn read_one_way(&mut self, shared: &mut Shared, id: Quic, sink: &mut impl Sink) -> Heard {
        let is_it = |one: &OneWay| one.id == id;
        let Some(position) = self.one_way.iter().position(is_it) else {
            return Ok(());
        };
        loop {
            match self.next_chunk(id) {
                Ok(Some(chunk)) => {
                    let mut one = self.one_way.swap_remove(position);
                    let taken = self.take_one_way(shared, &mut one, &chunk, sink);
                    self.one_way.push(one);
                    let last = self.one_way.len() - 1;
                    self.one_way.swap(position, last);
                    taken?;
                }
                Err(ReadError::Blocked) => return Ok(()),
                Ok(None) | Err(ReadError::Reset(_)) => {
                    let one = self.one_way.swap_remove(position);
                    return match one.is_critical() {
                        true => broken(Code::CLOSED_CRITICAL_STREAM),
                        false => Ok(()),
                    };
                }
            }
        }
    }

    fn take_one_way(
        &mut self,
        shared: &mut Shared,
        one: &mut OneWay,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Heard {
        let Some(rest) = one.take(bytes, &self.one_way, Code::ID)? else {
            return Ok(());
        };
        one.take_control(rest, |piece| match piece {
            Piece::Begin(kind) => self.begin_control(kind),
            Piece::Whole(kind, payload) => self.control(shared, kind, payload, sink),
            Piece::Content(_) => Ok(()),
        })
    }

    fn begin_control(&self, kind: u64) -> Heard {
        begin_control(kind, self.has_settings)?;
        match kind {
            // A server pushes, and is not told what it may push.
            frame::kind::MAX_PUSH_ID => broken(Code::FRAME_UNEXPECTED),
            _ => Ok(()),
        }
    }

    fn control(
        &mut self,
        shared: &mut Shared,
        kind: u64,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Heard {
        match kind {
            frame::kind::SETTINGS => {
                self.has_settings = true;
                check_settings(payload).map_err(ProtocolError::Http3)
            }
            frame::kind::GOAWAY => self.go_away(shared, payload, sink),
            _ => Ok(()),
        }
    }

    /// RFC 9114 §5.2: from this stream on, nothing was or will be processed.
    fn go_away(&mut self, shared: &mut Shared, mut payload: &[u8], sink: &mut impl Sink) -> Heard {
        let Some(first) = number(&mut payload) else {
            return broken(Code::FRAME);
        };
        shared.tally.go_aways += 1;
        self.closing = true;
        sink.closing();
        for place in 0..self.slots.len() {
            let id = self.slots[place].id.map(u64::from);
            if id.is_some_and(|id| id >= first) {
                shared.tally.unprocessed += 1;
                let ended = self.reset(place, Code::REQUEST_CANCELLED);
                sink.unprocessed(ended);
            }
        }
        Ok(())
    }
}

fn stream(place: usize) -> StreamId {
    StreamId(u32::try_from(place).unwrap_or(u32::MAX))
}
