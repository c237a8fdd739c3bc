//! One connection of the readiness reactor: what is known to be ready, and the next step of it.

use std::io;
use std::os::fd::OwnedFd;

use model::units::Instant;

use super::super::outgoing::{Outgoing, Piece, Queue, Rest};
use super::super::{Event, Handed, Refused, SENDS_MAX, Transmit};
use crate::datagram::{Batch, Channel};
use crate::socket::stamps::{KernelTimes, Stamps};
use crate::{Errno, clock, socket};

/// Before a body that is skipped only the head is read: what is copied with it is wasted.
const HEAD_BYTES: usize = 4 * 1024;
/// So many receives after the last skip are still kept small.
const SMALL_RECEIVES: u8 = 8;
/// One discarding call asks for at most this, so that the count fits everywhere.
const DISCARD_BYTES: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    phase: Phase,
    /// The kernel may have something to read.
    readable: bool,
    /// The peer has finished or broken: read on until that comes.
    peer_ended: bool,
    writable: bool,
    paused: bool,
    finishing: bool,
    /// A tagged send has come to the front, and when: to be told.
    begun: Option<(u32, Instant)>,
    /// Sends asked to be told of have gone.
    notice: bool,
    send_failed: Option<Errno>,
    small_receives: u8,
    skipping: u64,
    sends: Queue,
    taken: u64,
    /// It is a Unix socket, where nothing can be dropped inside the kernel.
    is_unix: bool,
    /// Where it carries datagrams.
    channel: Option<Box<Channel>>,
    /// Where the kernel notes when bytes go and come.
    stamps: Option<Box<Stamps>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Connecting,
    Established,
    /// The end of the stream was told.
    Ended,
    /// Refused at once, to be told.
    Refused(Errno),
}

/// How much of a piece the kernel took.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Gone {
    All,
    Partly,
    /// It failed: to be told.
    Wrong,
}

/// What advancing a connection brought.
#[derive(Debug)]
pub(super) enum Step {
    Nothing,
    /// So many bytes lie in the buffer.
    Received(usize),
    /// Datagrams lie in the buffer.
    Datagrams(Batch),
    /// A send with this tag came to the front at that instant.
    Begun(u32, Instant),
    Event(Event<'static>),
}

/// Accepts a connection, if one waits.
pub(super) fn do_accept(listener: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    loop {
        match socket::accept(listener) {
            Ok(socket) => return Ok(Some(socket)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            // The peer gave up while in line (accept(2)): the next one.
            Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Connection {
    pub(super) fn connecting(socket: OwnedFd, failed: Option<Errno>) -> Self {
        let phase = match failed {
            Some(error) if error.number() != libc::EINPROGRESS => Phase::Refused(error),
            _ => Phase::Connecting,
        };
        Self::new(socket, phase)
    }

    pub(super) fn accepted(socket: OwnedFd) -> Self {
        Self::new(socket, Phase::Established)
    }

    fn new(socket: OwnedFd, phase: Phase) -> Self {
        Self {
            socket,
            phase,
            readable: false,
            peer_ended: false,
            writable: false,
            paused: false,
            finishing: false,
            begun: None,
            notice: false,
            send_failed: None,
            small_receives: 0,
            skipping: 0,
            sends: Queue::default(),
            taken: 0,
            is_unix: false,
            channel: None,
            stamps: None,
        }
    }

    /// The same, for datagrams.
    pub(super) fn with_channel(self, channel: Channel) -> Self {
        Self {
            channel: Some(Box::new(channel)),
            ..self
        }
    }

    /// The same, on a Unix socket.
    pub(super) fn on_unix(self) -> Self {
        Self {
            is_unix: true,
            ..self
        }
    }

    pub(super) const fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(super) const fn bytes_taken(&self) -> u64 {
        self.taken
    }

    /// The kernel is to note when bytes go and come from now on; whether it does.
    pub(super) fn note_times(&mut self) -> bool {
        if self.channel.is_none() && !self.is_unix {
            self.stamps = Stamps::begin(&self.socket).ok().map(Box::new);
        }
        self.stamps.is_some()
    }

    /// What it noted.
    pub(super) fn kernel_times(&mut self) -> KernelTimes {
        let stamps = self.stamps.as_mut();
        stamps.map_or_else(KernelTimes::default, |stamps| {
            stamps.told(&self.socket, self.taken)
        })
    }

    /// Whether the kernel says that the connection is broken, or only has times to tell.
    fn is_broken(&mut self, event: &mio::event::Event) -> bool {
        let says = event.is_error() || event.is_write_closed();
        match &mut self.stamps {
            Some(stamps) if says => {
                let has_times = stamps.read_sent(&self.socket);
                !has_times || event.is_read_closed()
            }
            _ => says,
        }
    }

    /// Takes note of what the kernel says.
    pub(super) fn note(&mut self, event: &mio::event::Event) {
        let broken = self.is_broken(event);
        self.readable |= event.is_readable() || broken;
        self.writable |= event.is_writable() || broken;
        self.peer_ended |= event.is_read_closed() || broken;
    }

    /// Whether there is a step to take without further word from the kernel.
    pub(super) const fn has_more(&self) -> bool {
        self.has_news()
            || match self.phase {
                Phase::Connecting => self.writable,
                Phase::Established => {
                    (self.readable && !self.paused) || (self.writable && !self.sends.is_empty())
                }
                Phase::Ended => self.writable && !self.sends.is_empty(),
                Phase::Refused(_) => true,
            }
    }

    /// Whether there is something to tell of sends.
    pub(super) const fn has_news(&self) -> bool {
        self.notice || self.begun.is_some() || self.send_failed.is_some()
    }

    /// Whether one more send has room.
    pub(super) const fn has_room(&self) -> bool {
        self.may_send() && self.sends.len() < SENDS_MAX
    }

    const fn may_send(&self) -> bool {
        matches!(self.phase, Phase::Established | Phase::Ended) && !self.finishing
    }

    /// Takes one step.
    pub(super) fn advance(&mut self, outgoing: &mut Outgoing, buffer: &mut [u8]) -> Step {
        match self.phase {
            Phase::Connecting if self.writable => return self.connected(),
            Phase::Connecting => return Step::Nothing,
            Phase::Refused(error) => return Step::Event(Event::ConnectFailed { error }),
            Phase::Established | Phase::Ended => {}
        }
        if self.writable && !self.sends.is_empty() {
            self.send_on(outgoing);
        }
        if let Some((tag, at)) = self.begun.take() {
            return Step::Begun(tag, at);
        }
        if let Some(error) = self.send_failed.take() {
            if self.channel.is_some() {
                // The kernel tells only once that nobody is there.
                return self.ended(Some(error));
            }
            return Step::Event(Event::SendFailed { error });
        }
        if std::mem::take(&mut self.notice) {
            return Step::Event(Event::Sent);
        }
        if !self.readable || self.paused || self.phase == Phase::Ended {
            return Step::Nothing;
        }
        if self.channel.is_some() {
            self.receive_datagrams(buffer)
        } else if self.skipping > 0 {
            self.discard(buffer)
        } else {
            self.receive(buffer)
        }
    }

    /// Sends at once what it can.
    #[inline]
    pub(super) fn send(
        &mut self,
        outgoing: &mut Outgoing,
        transmit: Transmit<'_>,
    ) -> Result<Handed, Refused> {
        if !self.may_send() {
            return Err(Refused::Stale);
        }
        if self.sends.len() >= SENDS_MAX || !outgoing.may_append() {
            return Err(Refused::Queue);
        }
        let at_once = self.sends.is_empty();
        let mut piece = outgoing.piece(transmit)?;
        if !at_once {
            outgoing.append(&mut self.sends, None, piece);
            return Ok(Handed::Behind);
        }
        piece.tag = None;
        if self.send_piece(outgoing, &mut piece) == Gone::Partly {
            outgoing.append(&mut self.sends, None, piece);
        } else {
            outgoing.release(&piece);
        }
        Ok(Handed::Now)
    }

    /// Sends until the kernel takes no more.
    #[inline]
    fn send_on(&mut self, outgoing: &mut Outgoing) {
        while let Some(front) = outgoing.front_mut(&self.sends) {
            if let Some(tag) = front.tag {
                if self.begun.is_some() {
                    // One at a time is told: this one is sent when the one before was.
                    return;
                }
                front.tag = None;
                self.begun = Some((tag, clock::monotonic()));
            }
            let mut piece = outgoing.take_front(&mut self.sends);
            match self.send_piece(outgoing, &mut piece) {
                Gone::All => outgoing.release(&piece),
                Gone::Partly => {
                    outgoing.prepend(&mut self.sends, None, piece);
                    return;
                }
                Gone::Wrong => {
                    outgoing.release(&piece);
                    outgoing.clear(&mut self.sends);
                }
            }
        }
        if self.finishing {
            self.shutdown();
        }
    }

    /// Hands over the datagrams of one piece, all or none.
    fn send_datagrams(&mut self, outgoing: &Outgoing, piece: &mut Piece) -> Gone {
        let (Some(channel), Rest::Bytes(bytes)) = (&self.channel, outgoing.rest(piece)) else {
            return Gone::All;
        };
        match channel.send(&self.socket, bytes, usize::from(piece.segment), piece.mark) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.writable = false;
                return Gone::Partly;
            }
            // One that is too long for the way is lost: it was sent to find that out.
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {}
            Err(error) => {
                self.send_failed = Some(Errno::of(&error));
                return Gone::Wrong;
            }
            Ok(()) => {}
        }
        piece.done = piece.length;
        self.taken += piece.length;
        self.notice |= piece.notify;
        Gone::All
    }

    /// Sends what the kernel takes of one piece.
    #[inline]
    fn send_piece(&mut self, outgoing: &Outgoing, piece: &mut Piece) -> Gone {
        if self.channel.is_some() {
            return self.send_datagrams(outgoing, piece);
        }
        if let Some(stamps) = &mut self.stamps {
            stamps.sends();
        }
        while piece.done < piece.length {
            let result = match outgoing.rest(piece) {
                Rest::Bytes(bytes) => socket::send(&self.socket, bytes, piece.more),
                Rest::File(file, offset, length) => {
                    let length = usize::try_from(length.min(DISCARD_BYTES)).unwrap_or(0);
                    match socket::send_file(&self.socket, file, offset, length) {
                        Ok(0) if length > 0 => Err(Errno::new(libc::EIO).into()),
                        other => other,
                    }
                }
            };
            match result {
                Ok(count) => {
                    piece.done += count as u64;
                    self.taken += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.writable = false;
                    return Gone::Partly;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.send_failed = Some(Errno::of(&error));
                    return Gone::Wrong;
                }
            }
        }
        self.notice |= piece.notify;
        Gone::All
    }

    pub(super) const fn skip(&mut self, count: u64) {
        self.skipping += count;
        self.small_receives = SMALL_RECEIVES;
    }

    pub(super) const fn pause(&mut self) {
        self.paused = true;
    }

    /// Goes on receiving; whether something may be there already.
    pub(super) const fn resume(&mut self) -> bool {
        self.paused = false;
        self.has_more()
    }

    pub(super) fn finish(&mut self) {
        self.finishing = true;
        if self.sends.is_empty() {
            self.shutdown();
        }
    }

    /// Lets go of what was to be sent.
    pub(super) fn release(&mut self, outgoing: &mut Outgoing) {
        outgoing.clear(&mut self.sends);
    }

    fn shutdown(&self) {
        // It fails only on a connection that is broken already, which receiving will tell.
        drop(socket::shutdown_write(&self.socket));
    }

    fn connected(&mut self) -> Step {
        match socket::take_error(&self.socket) {
            None => {
                self.phase = Phase::Established;
                Step::Event(Event::Connected)
            }
            Some(error) => Step::Event(Event::ConnectFailed { error }),
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> Step {
        let size = if self.small_receives > 0 {
            self.small_receives -= 1;
            HEAD_BYTES.min(buffer.len())
        } else {
            buffer.len()
        };
        let received = match &mut self.stamps {
            None => socket::receive(&self.socket, &mut buffer[..size]),
            Some(stamps) => stamps.receive(&self.socket, &mut buffer[..size]),
        };
        match received {
            Ok(0) => self.ended(None),
            Ok(count) => {
                // Less than was asked for: the socket is drained, unless its end is there too.
                self.readable = count == size || self.peer_ended;
                Step::Received(count)
            }
            Err(error) => self.no_bytes(&error),
        }
    }

    fn receive_datagrams(&mut self, buffer: &mut [u8]) -> Step {
        let Some(channel) = &self.channel else {
            return Step::Nothing;
        };
        match channel.receive(&self.socket, buffer) {
            Ok(batch) if batch.length == 0 => Step::Nothing,
            Ok(batch) => Step::Datagrams(batch),
            Err(error) => self.no_bytes(&error),
        }
    }

    fn discard(&mut self, buffer: &mut [u8]) -> Step {
        let most = if self.is_unix {
            buffer.len() as u64
        } else {
            DISCARD_BYTES
        };
        let asked = self.skipping.min(most);
        let count = usize::try_from(asked).unwrap_or(0);
        let dropped = match &mut self.stamps {
            Some(stamps) => stamps.discard(&self.socket, count),
            None if self.is_unix => socket::receive(&self.socket, &mut buffer[..count]),
            None => socket::discard(&self.socket, count),
        };
        match dropped {
            Ok(0) => self.ended(None),
            Ok(count) => {
                let count = count as u64;
                debug_assert!(count <= self.skipping, "no more than asked for");
                self.skipping -= count;
                self.readable = count == asked || self.peer_ended;
                Step::Event(Event::Skipped { count })
            }
            Err(error) => self.no_bytes(&error),
        }
    }

    fn no_bytes(&mut self, error: &io::Error) -> Step {
        match error.kind() {
            io::ErrorKind::WouldBlock => {
                self.readable = false;
                Step::Nothing
            }
            io::ErrorKind::Interrupted => Step::Nothing,
            _ => self.ended(Some(Errno::of(error))),
        }
    }

    const fn ended(&mut self, error: Option<Errno>) -> Step {
        self.phase = Phase::Ended;
        self.readable = false;
        Step::Event(Event::Ended { error })
    }
}
