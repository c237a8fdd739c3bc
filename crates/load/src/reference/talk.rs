//! One exchange under way, with everything about its answer kept.

use model::Coding;
use model::tls::Negotiated;
use model::units::{Instant, Span};
use sha2::{Digest as _, Sha256};
use wire::tunnel::Opening;
use wire::{Broken, Client, End, Head, Sink, StreamId};

use crate::exchange::Cause;
use crate::worker::handshake_ended;

/// Content that is kept to compare others with; of longer content only the start is compared.
pub(super) const CONTENT_KEPT: usize = 16 * 1024 * 1024;

/// A complete answer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) version: String,
    pub(super) head_bytes: u64,
    pub(super) framing: &'static str,
    pub(super) coding: Coding,
    pub(super) fields: Vec<(String, String)>,
    pub(super) content: Vec<u8>,
    pub(super) length: u64,
    /// SHA-256 of the content, hexadecimal.
    pub(super) digest: String,
    pub(super) tls: Option<Negotiated>,
    /// It is a redirect that is not followed only because so many before it were.
    pub(super) leads_on: bool,
}

/// One exchange under way.
pub(super) struct Talk<C> {
    pub(super) client: C,
    pub(super) collect: Collect,
    /// The tunnel that a proxy was asked for, as long as it has not answered.
    pub(super) opening: Option<Opening>,
    /// The server can be talked to.
    pub(super) is_connected: bool,
    /// When the request was begun.
    pub(super) asked_at: Option<Instant>,
}

impl<C: Client> Talk<C> {
    pub(super) fn receive(
        &mut self,
        shared: &mut C::Shared,
        at: Instant,
        bytes: &mut [u8],
    ) -> Result<(), Cause> {
        if let Some(opening) = &mut self.opening {
            self.is_connected = opening.handle_bytes(bytes).map_err(Cause::Tunnel)?;
            if self.is_connected {
                self.opening = None;
            }
            return Ok(());
        }
        let (client, collect) = (&mut self.client, &mut self.collect);
        client
            .handle_bytes(shared, at, bytes, collect)
            .map_err(Cause::Protocol)?;
        if self.client.has_ended() && self.collect.over.is_none() {
            return self.end(shared, at, None);
        }
        Ok(())
    }

    /// Time has passed that the protocol waited for.
    pub(super) fn wake(&mut self, shared: &mut C::Shared, at: Instant) -> Result<(), Cause> {
        self.client.handle_timeout(at, &mut self.collect);
        if self.client.has_ended() && self.collect.over.is_none() {
            return self.end(shared, at, None);
        }
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        shared: &mut C::Shared,
        at: Instant,
        error: Option<sys::Errno>,
    ) -> Result<(), Cause> {
        if self.opening.is_some() {
            return Err(Cause::TunnelEnded(error));
        }
        let how = error.map_or(End::Finished, |_| End::Reset);
        self.collect.error = error;
        self.client.handle_end(shared, at, how, &mut self.collect);
        if C::HANDSHAKES && self.asked_at.is_none() {
            return Err(handshake_ended::<C>(error));
        }
        Ok(())
    }

    pub(super) const fn timed_out(&self, after: Span) -> Cause {
        if self.opening.is_some() {
            Cause::TunnelTimeout(after)
        } else if !self.is_connected {
            Cause::ConnectTimeout(after)
        } else if C::HANDSHAKES && self.asked_at.is_none() {
            Cause::HandshakeTimeout(after)
        } else {
            Cause::Timeout {
                after,
                content: self.collect.answer.length,
                begun: self.collect.first_byte,
            }
        }
    }

    pub(super) fn answer(self) -> Answer {
        let tls = self.client.negotiated();
        Answer {
            tls,
            ..self.collect.answer()
        }
    }
}

/// Keeps the whole answer.
#[derive(Default)]
pub(super) struct Collect {
    answer: Answer,
    hash: Sha256,
    error: Option<sys::Errno>,
    first_byte: bool,
    /// Set when the exchange is over: with what went wrong, or nothing.
    pub(super) over: Option<Option<Cause>>,
}

impl Collect {
    fn answer(mut self) -> Answer {
        let digest = self.hash.finalize();
        self.answer.digest = model::hex(&digest);
        self.answer
    }
}

impl Sink for Collect {
    fn first_byte(&mut self, _stream: StreamId) {
        self.first_byte = true;
    }

    fn head(&mut self, _stream: StreamId, head: &Head<'_>) {
        self.answer.status = head.status;
        self.answer.version = head.version.to_string();
        self.answer.head_bytes = head.bytes.len() as u64;
        self.answer.framing = head.framing.name();
        self.answer.coding = head.coding;
        self.answer.fields = head
            .fields()
            .into_iter()
            .map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()))
            .collect();
    }

    fn content(&mut self, _stream: StreamId, bytes: &[u8]) {
        self.answer.length += bytes.len() as u64;
        self.hash.update(bytes);
        let room = CONTENT_KEPT.saturating_sub(self.answer.content.len());
        self.answer
            .content
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn skipped(&mut self, _stream: StreamId, _count: u64) {}

    fn complete(&mut self, _stream: StreamId) {
        self.over = Some(None);
    }

    fn broken(&mut self, _stream: StreamId, how: Broken) {
        self.over = Some(Some(Cause::Ended {
            how,
            content: self.answer.length,
            error: self.error,
        }));
    }
}
