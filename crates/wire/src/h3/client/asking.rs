//! What is asked: how an exchange begins, what is left of its request, and how it is given up.

use bytes::Bytes;
use quinn_proto::Dir;

use super::{Connection, Slot};
use crate::client::{Client as _, Refused, StreamId};
use crate::h3::Code;
use crate::message::Request;

impl Connection {
    /// Begins an exchange that sends `bytes`.
    pub(super) fn ask(&mut self, request: &Request, bytes: Bytes) -> Result<StreamId, Refused> {
        if self.is_closing() {
            return Err(Refused::Closing);
        }
        if self.free() == 0 {
            return Err(Refused::Busy);
        }
        let (Some(link), Some(id)) = (&mut self.link, self.next.take()) else {
            return Err(Refused::Busy);
        };
        let place = self.vacant.pop().ok_or(Refused::Busy)?;
        let stream = StreamId(place);
        self.pending.push(stream);
        self.slots[place as usize] = Slot {
            id: Some(id),
            is_head: request.is_head(),
            rest: bytes,
            ..Slot::default()
        };
        self.next = link.quic.streams().open(Dir::Bi);
        self.note_early(place as usize);
        self.closing = request.closes();
        self.write(place as usize);
        Ok(stream)
    }

    /// Hands on what a request has left to be sent, as far as windows allow.
    pub(super) fn write(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        let (Some(link), Some(id)) = (&mut self.link, slot.id) else {
            return;
        };
        self.is_due = true;
        let mut stream = link.quic.send_stream(id);
        while !slot.rest.is_empty() {
            let mut chunks = [std::mem::take(&mut slot.rest)];
            let written = stream.write_chunks(&mut chunks);
            let [rest] = chunks;
            match written {
                Ok(written) if written.chunks == 0 => slot.rest = rest,
                Ok(_) => {}
                Err(quinn_proto::WriteError::Blocked) => {
                    slot.rest = rest;
                    return;
                }
                // It wants no more of it: its answer says why.
                Err(_) => return,
            }
        }
        let _gone_already = stream.finish();
    }

    /// Ends the exchange of `stream`, whose answer nobody waits for any more; false: there is none,
    /// or nothing can be said of it.
    pub(super) fn give_up(&mut self, stream: StreamId) -> bool {
        let place = stream.0 as usize;
        let is_under_way = self.slots.get(place).is_some_and(|slot| slot.id.is_some());
        let may = is_under_way && self.is_established && !self.has_ended;
        if may {
            // What was said early, and not taken, is not said again.
            self.said.take_if(|(said, _)| *said == place);
            self.reset(place, Code::REQUEST_CANCELLED);
            self.is_due = true;
        }
        may
    }

    /// Ends an exchange of which more comes or goes that is of no use.
    pub(super) fn reset(&mut self, place: usize, code: Code) -> StreamId {
        if let (Some(link), Some(id)) = (&mut self.link, self.slots[place].id) {
            let _over = link.quic.recv_stream(id).stop(code.to_quic());
            let _over = link.quic.send_stream(id).reset(code.to_quic());
        }
        self.vacate(place)
    }
}
