//! What a connection begins with before its protocol does: a server is told who asks, or a proxy is
//! asked for a tunnel. As long as that is not answered the connection is being made: the time
//! belongs to the connect, and where there is no tunnel, the connect has failed.

use model::units::Instant;
use sys::reactor::{Reactor, Transmit};
use wire::Client;
use wire::tunnel::TunnelError;

use super::Worker;
use crate::exchange::Cause;
use crate::pool::{Connection, Pool};
use crate::recorder::Recorder;

/// Bytes came for the connection in `place`, which is not open: whether the tunnel is that a proxy
/// was asked for; none if nobody asked for one.
#[cold]
pub(super) fn hear_proxy<C: Client>(
    pool: &mut Pool<C>,
    recorder: &mut Recorder,
    place: u32,
    at: Instant,
    bytes: &[u8],
) -> Option<Result<bool, TunnelError>> {
    let (_, opening) = pool.opening(place)?;
    let heard = opening.as_mut()?.handle_bytes(bytes);
    recorder.add_bytes_received(bytes.len() as u64, at);
    Some(heard)
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Says on a new connection what it begins with; whether its protocol may begin.
    #[cold]
    pub(super) fn introduce(&mut self, place: u32, at: Instant) -> bool {
        let host = self.pool.host(place);
        let (Some(preamble), Connection::Connecting { key, opening, .. }) =
            (&mut self.preamble, self.pool.connection(place))
        else {
            return true;
        };
        let key = *key;
        *opening = preamble.opening();
        let is_answered = opening.is_some();
        self.out.clear();
        preamble.write((place, host), &self.reactor, key, &mut self.out);
        match self.reactor.send(key, Transmit::copied(&self.out)) {
            Ok(_) => !is_answered,
            Err(refused) => {
                self.reactor.reset(key);
                self.connect_failed(place, at, Cause::Write(refused));
                false
            }
        }
    }

    /// The proxy at the other end of `place` has said whether there is a tunnel.
    #[cold]
    pub(super) fn hear_of_tunnel(
        &mut self,
        place: u32,
        at: Instant,
        heard: Result<bool, TunnelError>,
    ) {
        match heard {
            Ok(true) => self.begin_protocol(place, at),
            Ok(false) => {}
            Err(error) => self.give_up_tunnel(place, at, Cause::Tunnel(error)),
        }
    }

    /// There will be no tunnel, if the proxy at the other end of `place` was asked for one.
    #[cold]
    pub(super) fn give_up_tunnel(&mut self, place: u32, at: Instant, cause: Cause) {
        let Some((key, Some(_))) = self.pool.opening(place) else {
            return;
        };
        let sent = self.reactor.bytes_taken(key);
        self.recorder.add_bytes_sent(sent, at);
        self.reactor.close(key);
        self.connect_failed(place, at, cause);
    }
}
