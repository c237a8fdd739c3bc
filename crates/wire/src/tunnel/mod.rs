//! A tunnel through an HTTP proxy (RFC 9110 §9.3.6): the request for one, and how the answer to it
//! is read.
//!
//! It costs a new connection one round trip to the proxy, and a request nothing.

use crate::client::ProtocolError;
use crate::h1::parse;

/// The longest head of an answer that is read.
pub const HEAD_BYTES: usize = 16 * 1024;

/// The answer that counts comes after at most so many interim ones.
const INTERIM: u32 = 32;

/// Why there is no tunnel.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TunnelError {
    /// The client speaks first in a tunnel, so these bytes came too early to be the server's.
    #[error("the proxy sent {0} bytes after its answer to CONNECT")]
    Excess(usize),
    /// What came is no answer.
    #[error("the proxy did not answer CONNECT as HTTP/1.1 requires: {0}")]
    Protocol(#[from] ProtocolError),
    /// The proxy does not make one.
    #[error("the proxy answered CONNECT with status {0}")]
    Refused(u16),
}

/// Asks for a tunnel to `authority`, a host with its port.
pub fn request(authority: &str, authorization: Option<&str>) -> Vec<u8> {
    let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(value) = authorization {
        head.extend(["Proxy-Authorization: ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A tunnel that was asked for.
#[derive(Debug, Default)]
pub struct Opening {
    /// What has come of the answer.
    head: Vec<u8>,
    /// How much of it was searched for its end, in vain.
    searched: usize,
    interim: u32,
}

impl Opening {
    /// Takes what has come from the proxy: whether the tunnel is open.
    ///
    /// # Errors
    ///
    /// There will be none: the connection is of no more use.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<bool, TunnelError> {
        self.head.extend_from_slice(bytes);
        loop {
            let found = parse::head_end(&self.head, self.searched)?;
            let Some(end) = found.filter(|end| *end <= HEAD_BYTES) else {
                if found.is_some() || self.head.len() > HEAD_BYTES {
                    return Err(ProtocolError::HeadTooLong(HEAD_BYTES).into());
                }
                self.searched = self.head.len();
                return Ok(false);
            };
            match parse::status(&self.head[..end])? {
                101 => return Err(ProtocolError::Switched.into()),
                status if status < 200 => self.pass_interim(end)?,
                // No field of it says anything of the tunnel, not even Content-Length.
                200..300 if self.head.len() == end => return Ok(true),
                200..300 => return Err(TunnelError::Excess(self.head.len() - end)),
                status => return Err(TunnelError::Refused(status)),
            }
        }
    }

    /// An interim answer ends at `end`: another one follows.
    fn pass_interim(&mut self, end: usize) -> Result<(), ProtocolError> {
        self.interim += 1;
        if self.interim > INTERIM {
            return Err(ProtocolError::TooManyInterim(INTERIM));
        }
        self.head.drain(..end);
        self.searched = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
