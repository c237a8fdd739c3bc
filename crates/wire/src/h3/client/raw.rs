//! What nobody but a test does: draws that are known, and streams with any bytes on them.

use std::sync::Arc;

use quinn_proto::{Dir, StreamId as Quic};

use super::early::Beginnings;
use super::link::transport;
use super::{Connection, Shared, Slot};
use crate::client::{ProtocolError, Sink};
use crate::h3::Code;

impl Shared {
    /// Draws of QUIC follow from `seed`.
    pub(in crate::h3) fn seed(&mut self, seed: [u8; 32]) {
        for setup in self.beginnings.iter_mut().flat_map(Beginnings::all) {
            Arc::make_mut(setup).seed = Some(seed);
        }
    }

    /// A server may send only so many bytes that were not taken.
    pub(in crate::h3) fn narrow(&mut self, window: u32) {
        for setup in self.beginnings.iter_mut().flat_map(Beginnings::all) {
            let mut transport = transport();
            transport.receive_window(window.into());
            let config = &mut Arc::make_mut(setup).config;
            config.transport_config(Arc::new(transport));
        }
    }
}

impl Connection {
    /// Says `bytes` on a new stream, whatever they mean; its number.
    pub(in crate::h3) fn say_raw(&mut self, bytes: &[u8], is_one_way: bool, is_all: bool) -> u64 {
        let quic = &mut self.link.as_mut().unwrap().quic;
        let dir = if is_one_way { Dir::Uni } else { Dir::Bi };
        let kept = self.next.take().filter(|_| !is_one_way);
        let id = kept.or_else(|| quic.streams().open(dir)).unwrap();
        let mut stream = quic.send_stream(id);
        assert_eq!(stream.write(bytes), Ok(bytes.len()));
        if is_all {
            stream.finish().unwrap();
        }
        self.next = quic.streams().open(Dir::Bi);
        self.is_due = true;
        id.into()
    }

    /// Hears `bytes` as part of the answer to the only request under way.
    pub(in crate::h3) fn hear_raw(
        &mut self,
        shared: &mut Shared,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let is_under_way = |slot: &Slot| slot.id.is_some();
        let place = self.slots.iter().position(is_under_way).unwrap();
        self.take(shared, place, bytes, sink)
    }

    /// How often the server was told that no more of an answer is wanted, and that no more of a
    /// request comes.
    pub(in crate::h3) fn cancelled_raw(&self) -> (u64, u64) {
        let sent = self.link.as_ref().unwrap().quic.stats().frame_tx;
        (sent.stop_sending, sent.reset_stream)
    }

    /// Gives up the stream of that number.
    pub(in crate::h3) fn give_up_raw(&mut self, id: u64) {
        let quic = &mut self.link.as_mut().unwrap().quic;
        let id = Quic::from(quinn_proto::VarInt::from_u64(id).unwrap());
        let _over = quic
            .send_stream(id)
            .reset(Code::REQUEST_CANCELLED.to_quic());
        self.is_due = true;
    }
}
