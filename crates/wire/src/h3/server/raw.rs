//! What nobody but a test does: a server whose clients may begin no request before it says so.

use std::sync::Arc;

use model::Instant;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{Dir, ServerConfig};

use super::{Server, transport};
use crate::h1::server::ServerLimits;
use crate::h3::APPLICATION;
use crate::service::Handler;
use crate::tls::Acceptor;

impl<F: Clone> Server<F> {
    /// One that shows what `acceptor` shows, and allows no stream for a request before
    /// [`Server::allow`].
    pub(in crate::h3) fn reserved(acceptor: &Acceptor, limits: ServerLimits, most: u32) -> Self {
        let mut server = Self::new(acceptor, limits, most).unwrap();
        let crypto = QuicServerConfig::try_from(acceptor.for_quic(APPLICATION)).unwrap();
        let mut transport = transport(&limits);
        transport.max_concurrent_bidi_streams(0_u32.into());
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        server.endpoint.set_server_config(Some(Arc::new(config)));
        server
    }

    /// Those who are there may begin so many requests at once from now on.
    pub(in crate::h3) fn allow<K>(
        &mut self,
        now: Instant,
        streams: u32,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        for place in 0..self.peers.len() {
            if let Some(peer) = &mut self.peers[place] {
                peer.quic
                    .set_max_concurrent_streams(Dir::Bi, streams.into());
                self.follow(place, now, handler);
            }
        }
    }
}
