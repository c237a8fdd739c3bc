//! What a connection offers in its handshake: by the certificate of the client that it shows, and
//! by the kind that the handshake is to be of.

use std::sync::Arc;

use model::Random;
use model::tls::{HandshakeKind, HandshakeMix};
use rustls::ClientConfig;

use super::store::Store;

/// What becomes of a request that goes out before the handshake is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Early {
    /// There is none, and may be none.
    No,
    /// There may be one.
    MayBegin,
    /// It has gone out.
    Sent,
    /// The server did not take it: it is to be sent again.
    Refused,
    /// The server took it.
    Taken,
}

impl Early {
    /// The same when the handshake is over, and the server took what came early, or did not.
    pub(crate) const fn ended(self, is_taken: bool) -> Self {
        match self {
            Self::Sent if is_taken => Self::Taken,
            Self::Sent => Self::Refused,
            _ => Self::No,
        }
    }
}

/// What connections offer that show one certificate, or none.
#[derive(Debug)]
pub(crate) struct Offer {
    config: Arc<ClientConfig>,
    /// Where kinds of handshakes are drawn, what the others offer.
    kinds: Option<Kinds>,
}

impl Offer {
    pub(super) fn of(config: ClientConfig, kinds: Option<Kinds>) -> Self {
        Self {
            config: Arc::new(config),
            kinds,
        }
    }

    /// For a handshake that is to be of this kind.
    pub(crate) fn config(&self, wanted: Option<HandshakeKind>) -> &Arc<ClientConfig> {
        match (&self.kinds, wanted) {
            (Some(kinds), Some(HandshakeKind::Full)) => &kinds.full,
            (Some(kinds), Some(HandshakeKind::Early)) => &kinds.early,
            _ => &self.config,
        }
    }

    /// How much the server takes before the end of a handshake that is to be of this kind, and that
    /// has begun.
    pub(super) fn early_bytes(&self, wanted: Option<HandshakeKind>) -> usize {
        match (&self.kinds, wanted) {
            (Some(kinds), Some(HandshakeKind::Early)) => kinds.store.early_bytes(),
            _ => 0,
        }
    }
}

/// What connections offer whose handshake is to be of a certain kind.
#[derive(Debug)]
pub(super) struct Kinds {
    /// For full ones.
    full: Arc<ClientConfig>,
    /// For those that begin with a request.
    early: Arc<ClientConfig>,
    /// What sessions are lent from.
    store: Arc<Store>,
}

impl Kinds {
    pub(super) fn new(full: ClientConfig, early: ClientConfig, store: Arc<Store>) -> Self {
        Self {
            full: Arc::new(full),
            early: Arc::new(early),
            store,
        }
    }
}

/// Says of each connection of which kind its handshake is to be.
#[derive(Debug)]
pub(crate) struct Draw {
    full_below: usize,
    resumed_below: usize,
    all: usize,
    random: Random,
}

impl Draw {
    pub(super) fn new(mix: HandshakeMix, random: Random) -> Self {
        let [full_below, resumed, begun] =
            [mix.full, mix.resumed, mix.early].map(|weight| weight as usize);
        Self {
            full_below,
            resumed_below: full_below + resumed,
            all: full_below + resumed + begun,
            random,
        }
    }

    pub(crate) fn kind(&mut self) -> HandshakeKind {
        match self.random.below(self.all) {
            drawn if drawn < self.full_below => HandshakeKind::Full,
            drawn if drawn < self.resumed_below => HandshakeKind::Resumed,
            _ => HandshakeKind::Early,
        }
    }
}
