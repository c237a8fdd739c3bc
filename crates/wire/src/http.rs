//! The server side of a connection whose version of HTTP shows in its first bytes: a client of
//! HTTP/2 begins with a preface that no request of HTTP/1.1 begins with (RFC 9113 §3.3, §3.4).
//!
//! A client that agreed to HTTP/2 inside TLS (ALPN) speaks nothing else: another beginning ends the
//! connection (RFC 9113 §3.4).
//!
//! Cost: a comparison of the first bytes of each connection, and a branch for each input.

use model::Instant;

use crate::h1;
use crate::h1::server::ServerLimits;
use crate::h2::{self, PREFACE};
use crate::service::{Handler, Service, Transmit};
use crate::tls::HTTP_2;

/// The server side of one connection, HTTP/1.1 or HTTP/2.
#[derive(Debug)]
pub enum Server<F, K> {
    /// It has received as much of the preface of HTTP/2, and nothing else.
    New {
        /// What it may ask.
        limits: ServerLimits,
        /// How much of the preface.
        preface: usize,
        /// What it would be.
        one: h1::server::Server<F, K>,
    },
    /// HTTP/1.1.
    One(h1::server::Server<F, K>),
    /// HTTP/2.
    Two(Box<h2::server::Server<F, K>>),
}

impl<F: Clone, K> Server<F, K> {
    /// A connection on which nothing has been received.
    pub fn new(now: Instant, limits: ServerLimits) -> Self {
        Self::New {
            limits,
            preface: 0,
            one: h1::server::Server::new(now, limits),
        }
    }

    /// Which version the first bytes are of.
    fn begin(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        let Self::New {
            limits,
            preface,
            one,
        } = self
        else {
            return;
        };
        let wanted = &PREFACE[*preface..];
        let count = wanted.len().min(bytes.len());
        if wanted[..count] != bytes[..count] {
            let limits = *limits;
            let held = std::mem::take(preface);
            let mut one = std::mem::replace(one, h1::server::Server::new(now, limits));
            if held > 0 {
                one.handle_bytes(now, &PREFACE[..held], handler);
            }
            one.handle_bytes(now, bytes, handler);
            *self = Self::One(one);
            return;
        }
        *preface += count;
        if *preface == PREFACE.len() {
            let mut two = Box::new(h2::server::Server::new(now, *limits));
            two.handle_bytes(now, PREFACE, handler);
            two.handle_bytes(now, &bytes[count..], handler);
            *self = Self::Two(two);
        }
    }
}

impl<F: Clone, K> Service for Server<F, K> {
    type File = F;
    type Kept = K;

    fn agree(&mut self, now: Instant, application: &[u8]) {
        if let Self::New {
            limits, preface: 0, ..
        } = self
            && application == HTTP_2
        {
            *self = Self::Two(Box::new(h2::server::Server::new(now, *limits)));
        }
    }

    #[inline]
    fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        match self {
            Self::New { .. } => self.begin(now, bytes, handler),
            Self::One(one) => one.handle_bytes(now, bytes, handler),
            Self::Two(two) => two.handle_bytes(now, bytes, handler),
        }
    }

    fn handle_end(&mut self) {
        match self {
            Self::New { one, .. } | Self::One(one) => one.handle_end(),
            Self::Two(two) => two.handle_end(),
        }
    }

    #[inline]
    fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Transmit<F, K> {
        match self {
            Self::New { one, .. } | Self::One(one) => one.poll_transmit(now, out, handler),
            Self::Two(two) => two.poll_transmit(now, out, handler),
        }
    }

    fn handle_timeout(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        match self {
            Self::New { one, .. } | Self::One(one) => one.handle_timeout(handler),
            Self::Two(two) => two.handle_timeout(handler),
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Instant {
        match self {
            Self::New { one, .. } | Self::One(one) => one.poll_timeout(),
            Self::Two(two) => two.poll_timeout(),
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        match self {
            Self::New { one, .. } | Self::One(one) => one.is_full(),
            Self::Two(two) => two.is_full(),
        }
    }

    #[inline]
    fn is_idle(&self) -> bool {
        match self {
            Self::New { preface, one, .. } => *preface == 0 && one.is_idle(),
            Self::One(one) => one.is_idle(),
            Self::Two(two) => two.is_idle(),
        }
    }

    fn finish(&mut self) {
        match self {
            Self::New { one, .. } | Self::One(one) => one.finish(),
            Self::Two(two) => two.finish(),
        }
    }

    fn is_multiplexed(&self) -> bool {
        matches!(self, Self::Two(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LIMITS, Site};

    /// The beginning of what a server says to a client that agreed to `application`.
    fn answer(application: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut server = Server::new(Instant::ZERO, LIMITS);
        let mut site = Site::default();
        server.agree(Instant::ZERO, application);
        server.handle_bytes(Instant::ZERO, bytes, &mut site);
        let mut out = Vec::new();
        let transmit = server.poll_transmit(Instant::ZERO, &mut out, &mut site);
        match transmit {
            Transmit::Kept(kept) => kept.as_bytes().to_vec(),
            _ => out,
        }
    }

    #[test]
    fn who_agreed_to_http2_speaks_nothing_else() {
        let get = b"GET /kept HTTP/1.1\r\nHost: a\r\n\r\n";
        assert!(answer(b"http/1.1", get).starts_with(b"HTTP/1.1 200 OK"));
        assert!(answer(b"", get).starts_with(b"HTTP/1.1 200 OK"));
        // A GOAWAY frame with the code PROTOCOL_ERROR.
        let go_away = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01";
        assert_eq!(answer(b"h2", get), go_away);
        assert_eq!(answer(b"h2", b"PRI * HTTP/2.0\r\n\r\nSN"), go_away);
        // Whoever agreed to nothing may still speak it.
        for application in [&b"h2"[..], b""] {
            let told = answer(application, PREFACE);
            assert_eq!(told[3], 4, "settings come first");
        }
    }
}
