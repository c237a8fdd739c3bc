//! What is asked: how an exchange begins, and what is left of its request.

use bytes::Bytes;
use quinn_proto::Dir;

use super::{Connection, Slot};
use crate::client::{Client as _, Refused, StreamId};
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
}
