//! The sessions of one worker's connections, to be resumed.
//!
//! rustls' own store keeps eight tickets of a server. A worker with a thousand connections that
//! reconnect together would find it empty, and measure a mix that nobody asked for.

#![expect(
    clippy::disallowed_types,
    reason = "the library shares its store; each worker has its own, so nobody waits"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets that are kept; the oldest goes first. A server sends two on each connection, usually.
const TICKETS: usize = 4_096;

/// What one worker has of one server. The lock is never waited for: each worker has its own.
#[derive(Default)]
pub(super) struct Store(Mutex<Sessions>);

#[derive(Default)]
struct Sessions {
    /// How much the server takes early in the session that was lent last.
    early_bytes: u32,
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Store {
    /// How much the server takes before the handshake is over, in the session that was lent last.
    pub(super) fn early_bytes(&self) -> usize {
        usize::try_from(self.sessions().early_bytes).unwrap_or(0)
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for connections whose handshake is to be a full one: what they are given is kept, and
/// they are lent nothing.
#[derive(Debug)]
pub(super) struct Keeping(pub(super) Arc<Store>);

impl ClientSessionStore for Keeping {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(name, group);
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(name)
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(name, value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        self.0.remove_tls12_session(name);
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(name, value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl ClientSessionStore for Store {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.sessions().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.sessions().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.sessions().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.sessions().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.sessions().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let tickets = &mut self.sessions().tickets;
        if tickets.len() == TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let sessions = &mut self.sessions();
        let ticket = sessions.tickets.pop_back();
        let early_bytes = ticket
            .as_ref()
            .map(Tls13ClientSessionValue::max_early_data_size);
        sessions.early_bytes = early_bytes.unwrap_or(0);
        ticket
    }
}
