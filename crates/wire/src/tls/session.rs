//! What both sides of TLS have in common: records in, plain bytes out, and back.

use std::fmt;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, ReadEarlyData,
    TransmitTlsData, UnbufferedStatus,
};
use rustls::{CommonState, Error};

/// The most plain bytes of one record (RFC 8446 §5.1).
pub(super) const RECORD: usize = 16 * 1024;
/// The most that encryption adds to a record: header, nonce, type and tag.
pub(super) const OVERHEAD: usize = 64;

/// One side of a connection, as rustls has it: two types with the same methods.
pub(super) trait Side {
    type Data;

    fn process<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;

    fn state(&self) -> &CommonState;

    /// Whether bytes may go out behind the first message of the handshake (RFC 8446 §2.3).
    fn takes_early(_: &mut TransmitTlsData<'_, Self::Data>) -> bool {
        false
    }

    /// Encrypts `plain` into `room` for that, which is long enough; how long that became.
    fn encrypt_early(
        _: &mut TransmitTlsData<'_, Self::Data>,
        _plain: &[u8],
        _room: &mut [u8],
    ) -> Option<usize> {
        None
    }

    /// Appends what a client sent so.
    fn read_early(_: ReadEarlyData<'_, '_, Self::Data>, _out: &mut Vec<u8>) -> Result<(), Error> {
        Ok(())
    }
}

impl Side for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn takes_early(transmit: &mut TransmitTlsData<'_, Self::Data>) -> bool {
        transmit.may_encrypt_early_data().is_some()
    }

    fn encrypt_early(
        transmit: &mut TransmitTlsData<'_, Self::Data>,
        plain: &[u8],
        room: &mut [u8],
    ) -> Option<usize> {
        let mut early = transmit.may_encrypt_early_data()?;
        early.encrypt(plain, room).ok()
    }

    fn process<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(bytes)
    }

    fn state(&self) -> &CommonState {
        self
    }
}

impl Side for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn read_early(
        mut early: ReadEarlyData<'_, '_, Self::Data>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        while let Some(record) = early.next_record() {
            out.extend_from_slice(record?.payload);
        }
        Ok(())
    }

    fn process<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(bytes)
    }

    fn state(&self) -> &CommonState {
        self
    }
}

/// One side of a connection, with what waits on both ways.
pub(super) struct Session<S> {
    pub(super) side: S,
    /// The start of a record of which the rest has not come.
    partial: Vec<u8>,
    /// Messages of TLS itself that wait to be sent.
    waiting: Vec<u8>,
    /// The peer has said that it sends no more.
    pub(super) has_ended: bool,
    /// A client: the first message is held back, so that a request can go with it.
    pub(super) holds: bool,
    /// A client: a request may go out before the handshake is over.
    pub(super) takes_early: bool,
    /// A client: the server has taken early data, and was told where it ends.
    pub(super) ended_early: bool,
    /// A server: what came before the handshake was over, and was given to nobody yet. It is no
    /// more than the session's ticket allowed.
    pub(super) early: Vec<u8>,
}

impl<S> fmt::Debug for Session<S> {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

/// Why taking bytes stopped.
pub(super) enum Stop<E> {
    /// Whoever got the plain bytes did not want them.
    Inner(E),
    /// TLS failed.
    Tls(Error),
}

impl<S: Side> Session<S> {
    pub(super) const fn new(side: S) -> Self {
        Self {
            side,
            partial: Vec::new(),
            waiting: Vec::new(),
            has_ended: false,
            holds: false,
            takes_early: false,
            ended_early: false,
            early: Vec::new(),
        }
    }

    /// Whether the handshake is over.
    #[inline]
    pub(super) fn is_established(&self) -> bool {
        !self.side.state().is_handshaking()
    }

    /// Takes what was received; `deliver` gets the plain bytes. After an error nothing else may be
    /// asked of it but what waits to be sent.
    pub(super) fn receive<E>(
        &mut self,
        bytes: &mut [u8],
        deliver: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        if self.partial.is_empty() {
            let used = self.process(bytes, deliver)?;
            self.partial.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.partial);
        buffer.extend_from_slice(bytes);
        let used = self.process(&mut buffer, deliver)?;
        if used < buffer.len() {
            buffer.drain(..used);
            self.partial = buffer;
        }
        Ok(())
    }

    /// Lets TLS do what it wants to without new bytes: a client speaks first.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        match self.receive(&mut [], |_| Ok::<(), Error>(())) {
            Ok(()) => Ok(()),
            Err(Stop::Inner(error) | Stop::Tls(error)) => Err(error),
        }
    }

    /// Returns how many bytes are of no more use.
    fn process<E>(
        &mut self,
        bytes: &mut [u8],
        mut deliver: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<usize, Stop<E>> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state } = self.side.process(&mut bytes[used..]);
            used += discard;
            match state {
                Err(error) => {
                    self.keep_alert(&mut bytes[used..]);
                    return Err(Stop::Tls(error));
                }
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    if !self.early.is_empty() {
                        deliver(&std::mem::take(&mut self.early)).map_err(Stop::Inner)?;
                    }
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(Stop::Tls)?;
                        used += record.discard;
                        deliver(record.payload).map_err(Stop::Inner)?;
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    let start = self.waiting.len();
                    append(&mut self.waiting, |room| match message.encode(room) {
                        Err(EncodeError::InsufficientSize(size)) => Err(Some(size)),
                        Err(EncodeError::AlreadyEncoded) => Err(None),
                        Ok(length) => Ok(length),
                    });
                    self.ended_early |= is_end_of_early_data(&self.waiting[start..]);
                }
                // What waits is sent before anything else.
                Ok(ConnectionState::TransmitTlsData(mut transmit)) => {
                    if self.holds && S::takes_early(&mut transmit) {
                        self.takes_early = true;
                        return Ok(used);
                    }
                    transmit.done();
                }
                Ok(ConnectionState::ReadEarlyData(early)) => {
                    S::read_early(early, &mut self.early).map_err(Stop::Tls)?;
                }
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(
                    ConnectionState::BlockedHandshake
                    | ConnectionState::Closed
                    | ConnectionState::WriteTraffic(_),
                ) => return Ok(used),
                // There are no others.
                Ok(_) => return Ok(used),
            }
        }
    }

    /// After a failure TLS may have an alert to send. `bytes` are those that were not used: rustls
    /// remembers how far it was in them, and panics where they are missing.
    #[cold]
    fn keep_alert(&mut self, bytes: &mut [u8]) {
        let UnbufferedStatus { state, .. } = self.side.process(bytes);
        if let Ok(ConnectionState::EncodeTlsData(mut message)) = state {
            append(&mut self.waiting, |room| match message.encode(room) {
                Err(EncodeError::InsufficientSize(size)) => Err(Some(size)),
                Err(EncodeError::AlreadyEncoded) => Err(None),
                Ok(length) => Ok(length),
            });
        }
    }

    /// Whether messages of TLS itself wait to be sent.
    #[inline]
    pub(super) const fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Moves as much of that as `most` bytes to `out`.
    pub(super) fn take_waiting(&mut self, out: &mut Vec<u8>, most: usize) {
        if self.waiting.len() <= most {
            if out.is_empty() {
                out.extend_from_slice(&self.waiting);
            } else {
                out.append(&mut self.waiting);
            }
            self.waiting = Vec::new();
        } else {
            out.extend(self.waiting.drain(..most));
        }
    }

    /// Appends `plain`, encrypted, to `out`, for a client whose handshake has only begun and whose
    /// first message is held back. False: the server's ticket does not allow it.
    #[must_use]
    pub(super) fn encrypt_early(&mut self, plain: &[u8], out: &mut Vec<u8>) -> bool {
        let UnbufferedStatus { state, .. } = self.side.process(&mut []);
        let Ok(ConnectionState::TransmitTlsData(mut transmit)) = state else {
            return false;
        };
        let start = out.len();
        let records = plain.len() / RECORD + 1;
        out.resize(start + plain.len() + records * OVERHEAD, 0);
        let written = S::encrypt_early(&mut transmit, plain, &mut out[start..]);
        out.truncate(start + written.unwrap_or(0));
        written.is_some()
    }

    /// Appends `plain`, encrypted, to `out`. False: TLS takes no more, because the connection is
    /// closing or its keys are used up.
    #[must_use]
    pub(super) fn encrypt(&mut self, plain: &[u8], out: &mut Vec<u8>) -> bool {
        let UnbufferedStatus { state, .. } = self.side.process(&mut self.partial);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = state else {
            return false;
        };
        let records = plain.len() / RECORD + 1;
        let guess = plain.len() + records * OVERHEAD;
        append_guess(out, guess, |room| match traffic.encrypt(plain, room) {
            Ok(length) => Ok(length),
            Err(EncryptError::InsufficientSize(size)) => Err(Some(size)),
            Err(EncryptError::EncryptExhausted) => Err(None),
        })
    }

    /// Appends the message that says that no more comes, if it can be said.
    pub(super) fn say_goodbye(&mut self) {
        let UnbufferedStatus { state, .. } = self.side.process(&mut self.partial);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            let waiting = &mut self.waiting;
            append_guess(waiting, OVERHEAD, |room| {
                match traffic.queue_close_notify(room) {
                    Ok(length) => Ok(length),
                    Err(EncryptError::InsufficientSize(size)) => Err(Some(size)),
                    Err(EncryptError::EncryptExhausted) => Err(None),
                }
            });
        }
    }
}

/// Whether this record is the end of early data, which a client sends where the server has taken
/// some. rustls tells of that in its other interface alone, so it is known by its length: no other
/// message of a handshake is without content (RFC 8446 §4.5), and header, type and tag are always
/// of 5, 1 and 16 bytes.
fn is_end_of_early_data(record: &[u8]) -> bool {
    const APPLICATION_DATA: u8 = 23;
    const LENGTH: usize = 5 + 4 + 1 + 16;
    record.len() == LENGTH && record[0] == APPLICATION_DATA
}

/// Appends what `write` writes, as much room as it wants.
fn append(
    out: &mut Vec<u8>,
    write: impl FnMut(&mut [u8]) -> Result<usize, Option<InsufficientSizeError>>,
) {
    append_guess(out, 0, write);
}

/// The same, beginning with `room`.
fn append_guess(
    out: &mut Vec<u8>,
    mut room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<InsufficientSizeError>>,
) -> bool {
    let start = out.len();
    loop {
        out.resize(start + room, 0);
        match write(&mut out[start..]) {
            Ok(length) => {
                out.truncate(start + length);
                return true;
            }
            Err(Some(InsufficientSizeError { required_size })) if required_size > room => {
                room = required_size;
            }
            Err(_) => {
                out.truncate(start);
                return false;
            }
        }
    }
}
