//! How a connection begins: with a session of one before it or without, and perhaps with a request
//! that goes out before the handshake is over (0-RTT).

use std::sync::Arc;

use model::tls::HandshakeKind;
use model::{Instant, Span};
use quinn_proto::Dir;

use super::link::{Link, Setup};
use super::session::Crypto;
use super::{Connection, Shared};
use crate::h3::frame;
use crate::tls::{Early, Facts, Offer, SetupError};

/// How long a connection that is of no more use waits for its sessions: they come when the server
/// has heard the end of the handshake.
const PATIENCE: Span = Span::from_ms(500);

/// What connections begin with that show one certificate, or none.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// For handshakes that resume a session if there is one.
    resumed: Arc<Setup>,
    /// Where kinds of handshakes are drawn: for full ones, and for those that begin with a request.
    drawn: Option<[Arc<Setup>; 2]>,
}

impl Beginnings {
    pub(super) fn new(offer: &Offer, name: &str, is_drawn: bool) -> Result<Self, SetupError> {
        let of = |wanted| {
            let crypto = Crypto::new(offer.config(wanted))?;
            Ok(Arc::new(Setup::new(Arc::new(crypto), name)))
        };
        let kinds = || {
            let full = of(Some(HandshakeKind::Full))?;
            Ok([full, of(Some(HandshakeKind::Early))?])
        };
        Ok(Self {
            resumed: of(None)?,
            drawn: is_drawn.then(kinds).transpose()?,
        })
    }

    /// For a handshake that is to be of this kind.
    pub(super) const fn of(&self, wanted: Option<HandshakeKind>) -> &Arc<Setup> {
        match (&self.drawn, wanted) {
            (Some([full, _]), Some(HandshakeKind::Full)) => full,
            (Some([_, early]), Some(HandshakeKind::Early)) => early,
            _ => &self.resumed,
        }
    }

    #[cfg(test)]
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Arc<Setup>> {
        let drawn = self.drawn.iter_mut().flatten();
        std::iter::once(&mut self.resumed).chain(drawn)
    }
}

impl Connection {
    /// Begins the handshake, if it is to begin with a request; whether it may.
    pub(super) fn try_early(&mut self, now: Instant) -> bool {
        if self.wanted == Some(HandshakeKind::Early) && self.link.is_none() {
            self.link = Link::new(&self.setup, now);
            let link = self.link.as_ref();
            if link.is_some_and(|link| link.quic.has_0rtt()) {
                self.early = Early::MayBegin;
                self.open_streams();
            }
        }
        self.early == Early::MayBegin && self.next.is_some()
    }

    /// The exchange in `place` begins: if the handshake is not over, its request goes out early.
    pub(super) fn note_early(&mut self, place: usize) {
        if self.early == Early::MayBegin {
            self.early = Early::Sent;
            self.said = Some((place, self.slots[place].rest.clone()));
        }
    }

    /// The handshake is over.
    pub(super) fn secured(&mut self, shared: Option<&mut Shared>) {
        let Some(link) = &mut self.link else {
            return;
        };
        self.is_established = true;
        let is_taken = link.quic.accepted_0rtt();
        let has_streams = self.early != Early::No && is_taken;
        self.early = self.early.ended(is_taken);
        let facts = link.quic.crypto_session().handshake_data();
        let facts = facts.and_then(|facts| facts.downcast::<Facts>().ok());
        if let (Some(shared), Some(mut facts)) = (shared, facts) {
            facts.is_early = self.early == Early::Taken;
            self.kind = facts.kind();
            shared.tls.add(*facts, self.certificate);
            shared.tls.compare(self.wanted, self.kind, self.early);
            self.stays_until = shared.resumes.then(|| link.now() + PATIENCE);
        }
        if !has_streams {
            self.open_streams();
        }
        self.repeat();
    }

    /// Opens the control stream, and the stream of the first exchange.
    fn open_streams(&mut self) {
        let Some(link) = &mut self.link else {
            return;
        };
        let mut streams = link.quic.streams();
        self.next = streams.open(Dir::Bi);
        if let Some(control) = streams.open(Dir::Uni) {
            // A window that has no room for this makes a peer without use, which requests tell.
            let _written = link.quic.send_stream(control).write(&frame::greeting());
        }
    }

    /// Asks again what the server did not take early, as soon as it allows a stream.
    pub(super) fn repeat(&mut self) {
        if self.early != Early::Refused {
            self.said = None;
        } else if let (Some(link), Some(id)) = (&mut self.link, self.next)
            && let Some((place, bytes)) = self.said.take()
        {
            // Streams of before are no more; they are numbered from the start again.
            self.next = link.quic.streams().open(Dir::Bi);
            self.slots[place].id = Some(id);
            self.slots[place].rest = bytes;
            self.write(place);
        }
    }

    /// Whether sessions to be resumed have come, or none are waited for. The server sends them when
    /// it has heard the end of the handshake, and confirms that (RFC 9001 §4.1.2).
    pub(super) fn has_stayed(&self) -> bool {
        let link = self.link.as_ref();
        let has_come = |link: &Link| link.quic.stats().frame_rx.handshake_done > 0;
        self.stays_until.is_none() || link.is_some_and(has_come)
    }

    /// Until when a connection that is of no more use waits for that.
    #[inline]
    pub(super) fn until(&self) -> Option<Instant> {
        self.stays_until.filter(|_| self.closing)
    }

    /// Time has passed: it may have waited long enough.
    pub(super) fn wait_no_more(&mut self, now: Instant) {
        self.stays_until = self.stays_until.filter(|until| *until > now);
    }
}
