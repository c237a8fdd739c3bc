//! One request and its response: five instants, bytes, outcome; and why it went wrong.

use std::fmt;

use model::Coding;
use model::outcome::Outcome;
use model::units::{Bytes, Instant, Span};
use sys::Errno;
use sys::reactor::Refused;
use wire::tls::TlsError;
use wire::tunnel::TunnelError;
use wire::{Broken, ProtocolError};

use crate::decoding::Fault;
use crate::pool::REFUSALS_MOST;

/// One request and its response. It carries facts; meanings are methods.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// When the schedule wanted it sent; in a closed loop, when the one before it ended.
    pub due: Instant,
    /// When a connection was free for it: the later of due and the moment one became free.
    pub ready: Instant,
    /// Just before the call that handed its first byte to the kernel; none if it was shed or
    /// never connected.
    pub sent: Option<Instant>,
    /// When the first byte of the answer was read.
    pub first_byte: Option<Instant>,
    /// When its last byte had been delivered, or when it failed.
    pub ended: Instant,
    /// Content received, as it was sent.
    pub content: Bytes,
    /// How that is encoded; none if no head of an answer came.
    pub coding: Option<Coding>,
    /// How long the connect took, if it was the first on its connection, or until it failed.
    pub connect: Option<Span>,
    /// How late we began to make that connection for it, where we could have begun before.
    pub begun_late: Span,
    /// Which request of the plan it was; none if it never began.
    pub class: Option<u16>,
    /// What went wrong, if anything.
    pub cause: Option<Cause>,
}

impl Exchange {
    /// How it ended.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        self.cause.map_or(Outcome::Ok, Cause::outcome)
    }

    /// What a user would have waited. Includes our own lateness, on purpose (ADR 0004).
    #[inline]
    pub fn response_time(&self) -> Span {
        self.ended - self.due
    }

    /// What the server took.
    #[inline]
    pub fn service_time(&self) -> Option<Span> {
        self.sent.map(|sent| self.ended.saturating_since(sent))
    }

    /// Until the answer began.
    #[inline]
    pub fn first_byte_time(&self) -> Option<Span> {
        Some(self.first_byte?.saturating_since(self.sent?))
    }

    /// No connection was free, and we did not keep it waiting for one: the server's doing.
    #[inline]
    pub fn blocked_time(&self) -> Span {
        (self.ready - self.due).saturating_sub(self.begun_late)
    }

    /// A connection was free and we had not sent yet, or one could have been made and we had not
    /// begun: our doing. The verdict reads this one. What was not sent has one if we began late to
    /// make the connection that failed.
    #[inline]
    pub fn late_time(&self) -> Option<Span> {
        match self.sent {
            Some(sent) => Some(sent.saturating_since(self.ready) + self.begun_late),
            None => (!self.begun_late.is_zero()).then_some(self.begun_late),
        }
    }
}

/// Why an exchange is not a right answer: enough to tell it in words later.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cause {
    /// The content differs from the reference at this position.
    Body {
        /// The first byte that differs.
        at: u64,
    },
    /// The content is encoded in another way than expected.
    Coding {
        /// How it came.
        actual: Coding,
        /// How it should have come.
        expected: Coding,
    },
    /// The connect failed.
    Connect(Refused),
    /// No connection within the plan's timeout.
    ConnectTimeout(Span),
    /// Decoded, the content differs from the decoded reference at this position.
    DecodedBody {
        /// The first byte that differs.
        at: u64,
    },
    /// Decoded, the content has another length than expected.
    DecodedLength {
        /// What came.
        actual: u64,
        /// What should have come.
        expected: u64,
    },
    /// A status from 400 on, where no other is expected.
    ErrorStatus(u16),
    /// The peer ended the connection too early.
    Ended {
        /// How far the answer had come.
        how: Broken,
        /// Content received.
        content: u64,
        /// None: in order.
        error: Option<Errno>,
    },
    /// Its connection was given up because of another exchange on it.
    GivenUp,
    /// The peer ended the connection within the handshake.
    HandshakeEnded(Option<Errno>),
    /// The handshake was not over within the plan's timeout.
    HandshakeTimeout(Span),
    /// The content lacks the text that the script wants in it.
    LacksText,
    /// The answer lacks a value that the script takes from it.
    LacksValue,
    /// The content has another length than expected.
    Length {
        /// What came.
        actual: u64,
        /// What should have come.
        expected: u64,
    },
    /// The answer is not the protocol.
    Protocol(ProtocolError),
    /// The run ended before a connection was free for it.
    ShedAtEnd,
    /// It was due for so long, and not sent.
    ShedDeadline(Span),
    /// The backlog was full.
    ShedFull(usize),
    /// Another status than expected.
    Status {
        /// What came.
        actual: u16,
        /// What should have come.
        expected: u16,
    },
    /// No complete answer within the plan's timeout.
    Timeout {
        /// The plan's timeout.
        after: Span,
        /// Content received until then.
        content: u64,
        /// Whether any byte of the answer had come.
        begun: bool,
    },
    /// The proxy makes no tunnel to the server.
    Tunnel(TunnelError),
    /// The proxy ended the connection before it had answered.
    TunnelEnded(Option<Errno>),
    /// The proxy had not answered within the plan's timeout.
    TunnelTimeout(Span),
    /// The content cannot be decoded.
    Undecodable {
        /// How it is encoded.
        coding: Coding,
        /// Why not.
        fault: Fault,
    },
    /// Under way when the run was cut short.
    Unfinished,
    /// The server had said too often in a row that it processes nothing.
    Unprocessed,
    /// The request could not be sent.
    Write(Refused),
}

impl Cause {
    /// The status that came instead of the expected one.
    pub const fn wrong_status(self) -> Option<u16> {
        match self {
            Self::ErrorStatus(actual) | Self::Status { actual, .. } => Some(actual),
            _ => None,
        }
    }

    /// The outcome that counts it.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Body { .. }
            | Self::Coding { .. }
            | Self::DecodedBody { .. }
            | Self::DecodedLength { .. }
            | Self::LacksText
            | Self::LacksValue
            | Self::Length { .. }
            | Self::Undecodable { .. } => Outcome::Content,
            Self::Connect(_)
            | Self::ConnectTimeout(_)
            | Self::Tunnel(_)
            | Self::TunnelEnded(_)
            | Self::TunnelTimeout(_) => Outcome::Connect,
            Self::Ended { .. } | Self::GivenUp | Self::Unprocessed => Outcome::Read,
            Self::HandshakeEnded(_)
            | Self::HandshakeTimeout(_)
            | Self::Protocol(ProtocolError::Tls(_)) => Outcome::Tls,
            Self::Protocol(_) => Outcome::Protocol,
            Self::ShedAtEnd | Self::ShedDeadline(_) | Self::ShedFull(_) => Outcome::Shed,
            Self::ErrorStatus(_) | Self::Status { .. } => Outcome::Status,
            Self::Timeout { .. } => Outcome::Timeout,
            Self::Unfinished => Outcome::Unfinished,
            Self::Write(_) => Outcome::Write,
        }
    }
}

impl Cause {
    /// Whether the server's certificate was refused here: each handshake would end so.
    pub(crate) const fn refuses_certificate(&self) -> bool {
        matches!(
            self,
            Self::Protocol(ProtocolError::Tls(TlsError::Certificate(_)))
        )
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body { .. }
            | Self::Coding { .. }
            | Self::DecodedBody { .. }
            | Self::DecodedLength { .. }
            | Self::LacksText
            | Self::LacksValue
            | Self::Length { .. }
            | Self::Undecodable { .. } => self.tell_content(f),
            Self::Connect(error) => write!(f, "the connect failed: {error}"),
            Self::ConnectTimeout(after) => write!(f, "no connection within {after}"),
            Self::Ended {
                how,
                content,
                error,
            } => tell_end(f, *how, *content, *error),
            Self::ErrorStatus(actual) => write!(f, "status {actual}, which is an error"),
            Self::GivenUp => {
                f.write_str("its connection was closed because another exchange on it had failed")
            }
            Self::HandshakeEnded(None) => {
                f.write_str("the server closed the connection within the TLS handshake")
            }
            Self::HandshakeEnded(Some(error)) => {
                write!(f, "the connection broke within the TLS handshake: {error}")
            }
            Self::HandshakeTimeout(after) => {
                write!(f, "the TLS handshake was not over within {after}")
            }
            Self::Protocol(error) => error.fmt(f),
            Self::ShedAtEnd => f.write_str("no connection became free for it before the end"),
            Self::ShedDeadline(after) => {
                write!(f, "it was not sent within {after} of its due time")
            }
            Self::ShedFull(bound) => write!(f, "{bound} requests were waiting already"),
            Self::Status { actual, expected } => {
                write!(f, "status {actual} instead of {expected}")
            }
            Self::Timeout {
                after,
                begun: false,
                ..
            } => write!(f, "no answer within {after}"),
            Self::Timeout { after, content, .. } => write!(
                f,
                "no complete answer within {after}: {content} bytes of content had come"
            ),
            Self::Tunnel(error) => error.fmt(f),
            Self::TunnelEnded(None) => {
                f.write_str("the proxy closed the connection before it had answered CONNECT")
            }
            Self::TunnelEnded(Some(error)) => write!(
                f,
                "the connection broke before the proxy had answered CONNECT: {error}"
            ),
            Self::TunnelTimeout(after) => {
                write!(f, "the proxy did not answer CONNECT within {after}")
            }
            Self::Unfinished => f.write_str("under way when the run was cut short"),
            Self::Unprocessed => write!(
                f,
                "the server closed {REFUSALS_MOST} connections in a row without an answer"
            ),
            Self::Write(error) => write!(f, "the request could not be sent: {error}"),
        }
    }
}

impl Cause {
    /// What is wrong with the content.
    fn tell_content(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body { at } => write!(f, "the body differs from the reference at byte {at}"),
            Self::Coding { actual, expected } => {
                write!(f, "content-encoding is {actual} instead of {expected}")
            }
            Self::DecodedBody { at } => {
                write!(
                    f,
                    "the decoded body differs from the reference at byte {at}"
                )
            }
            Self::DecodedLength { actual, expected } => {
                write!(f, "{actual} bytes of decoded content instead of {expected}")
            }
            Self::LacksText => {
                f.write_str("the content lacks the text that the script wants in it")
            }
            Self::LacksValue => {
                f.write_str("the answer lacks a value that the script takes from it")
            }
            Self::Length { actual, expected } => {
                write!(f, "{actual} bytes of content instead of {expected}")
            }
            Self::Undecodable { coding, fault } => {
                write!(f, "the {coding} content does not decode: {fault}")
            }
            _ => Ok(()),
        }
    }
}

/// How an answer ended too early.
fn tell_end(
    f: &mut fmt::Formatter<'_>,
    how: Broken,
    content: u64,
    error: Option<Errno>,
) -> fmt::Result {
    match how {
        Broken::Length => {
            return write!(
                f,
                "{content} bytes of content came, which is not what content-length says"
            );
        }
        Broken::Reset(code) => {
            return write!(
                f,
                "the server reset the stream ({code}) after {content} bytes of content"
            );
        }
        Broken::ResetHttp3(code) => {
            return write!(
                f,
                "the server reset the stream ({code}) after {content} bytes of content"
            );
        }
        _ => {}
    }
    match error {
        None => f.write_str("the server closed the connection ")?,
        Some(error) => write!(f, "the connection broke ({error}) ")?,
    }
    match how {
        Broken::Unanswered => f.write_str("without an answer"),
        Broken::InHead => f.write_str("within the head of the answer"),
        Broken::InContent | Broken::Length | Broken::Reset(_) | Broken::ResetHttp3(_) => {
            write!(f, "after {content} bytes of content")
        }
        Broken::Cut => write!(
            f,
            "after {content} bytes of close-delimited content, without close_notify"
        ),
    }
}
