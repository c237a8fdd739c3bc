//! When the kernel sent and received what a TCP socket carries (`SO_TIMESTAMPING`, described in the
//! kernel's Documentation/networking/timestamping.rst). It needs no privilege.
//!
//! Once one socket of a machine asks for it, the kernel reads its clock for every packet that comes
//! in to any socket. What was stamped on the way out is told on the socket's error queue, which
//! looks to epoll like an error until it is read.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread;
use std::time::Duration;

use model::units::{Instant, Span};

use super::set;
use crate::clock;

/// What is asked for: times from software, of bytes that leave for the device and of bytes that
/// come in; those that leave are numbered by the last byte of each, and come without content.
const WANTED: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// `SO_TIMESTAMPING_NEW` of asm-generic/socket.h: whose times have 64 bits everywhere. The messages
/// that tell them are of this kind, too.
const SO_TIMESTAMPING: libc::c_int = 65;
/// `SCM_TSTAMP_SND` of linux/errqueue.h: it was handed to the device.
const HANDED_TO_DEVICE: u32 = 0;

/// The clock of the day and the monotonic one may part by so much between two readings, in
/// nanoseconds, before a time between them is not believed: somebody has set the clock.
const STEP: i64 = 50_000;

/// Times read from the error queue at once, before others have their turn.
const READS_MOST: usize = 16;

/// For how long times must come until it is taken that they stay.
const STAYS: Span = Span::from_ms(1);

/// As long as this lives, the kernel notes when packets come in.
///
/// The first socket of a machine that asks for it has no times at once: a thread of the kernel
/// switches them on (`net_enable_timestamp` of net/core/dev.c), when it has a CPU. Where the last
/// socket that asked is just gone, it may first switch them off.
#[derive(Debug)]
pub struct Noting {
    _socket: OwnedFd,
}

impl Noting {
    /// Asks the kernel, and waits until it does so; a second at most.
    ///
    /// # Errors
    ///
    /// There is no such socket.
    pub fn begin() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let socket = OwnedFd::from(socket);
        let flags = libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
        let flags = libc::c_int::try_from(flags).unwrap_or(0);
        set(&socket, libc::SOL_SOCKET, SO_TIMESTAMPING, flags)?;
        let end = clock::monotonic() + Span::from_s(1);
        let mut first = None;
        while clock::monotonic() < end {
            super::send(&socket, b"?", false)?;
            let (mut buffer, mut control) = ([0; 1], Control::default());
            let mut stamps = Stamps::default();
            if receive_message(&socket, Read::Stream(&mut buffer), &mut control).is_ok() {
                stamps.note(&control);
            }
            // The first time may be one of those before it switches off.
            match (stamps.received, first) {
                (None, _) => first = None,
                (Some(_), None) => first = Some(clock::monotonic()),
                (Some(_), Some(first)) if clock::monotonic() > first + STAYS => break,
                (Some(_), Some(_)) => {}
            }
            thread::sleep(Duration::from_micros(100));
        }
        Ok(Self { _socket: socket })
    }
}

/// What the kernel says of one connection's bytes, on the monotonic clock.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct KernelTimes {
    /// When it handed the last byte that was sent on the connection to the device.
    pub sent: Option<Instant>,
    /// When it received the last of the bytes that were told to have come.
    pub received: Option<Instant>,
}

/// The times of one socket, as the kernel tells them: on the clock of the day.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// Of which last byte, counted from the first of the connection, and when.
    sent: Option<(u32, i64)>,
    received: Option<i64>,
    /// How far the clocks were apart when something was sent last.
    apart: i64,
}

impl Stamps {
    /// Asks the kernel for the times of `socket`, which is established and has sent nothing.
    pub(crate) fn begin(socket: &OwnedFd) -> io::Result<Self> {
        let ask = |flags: u32| {
            let flags = libc::c_int::try_from(flags).unwrap_or(0);
            set(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, flags)
        };
        // From Linux 6.12 on: no times of what comes in, should another process alone want them.
        let filtered = WANTED | libc::SOF_TIMESTAMPING_OPT_RX_FILTER;
        ask(filtered).or_else(|_| ask(WANTED))?;
        Ok(Self {
            apart: clocks_apart(),
            ..Self::default()
        })
    }

    /// Bytes are about to be sent.
    pub(crate) fn sends(&mut self) {
        self.apart = clocks_apart();
    }

    /// Receives as [`super::receive`] does, and notes when the last of it came.
    pub(crate) fn receive(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
        let mut control = Control::default();
        let count = receive_message(socket, Read::Stream(buffer), &mut control)?;
        self.note(&control);
        Ok(count)
    }

    /// Drops bytes as [`super::discard`] does, and notes when the last of it came.
    pub(crate) fn discard(&mut self, socket: &OwnedFd, count: usize) -> io::Result<usize> {
        let mut control = Control::default();
        let dropped = receive_message(socket, Read::Dropped(count), &mut control)?;
        self.note(&control);
        Ok(dropped)
    }

    /// Reads what is told of bytes that went out; whether anything was.
    pub(crate) fn read_sent(&mut self, socket: &OwnedFd) -> bool {
        for read in 0..READS_MOST {
            let mut control = Control::default();
            if receive_message(socket, Read::Errors, &mut control).is_err() {
                return read > 0;
            }
            self.note(&control);
        }
        true
    }

    /// What is known, where `taken` bytes were sent in all.
    pub(crate) fn told(&mut self, socket: &OwnedFd, taken: u64) -> KernelTimes {
        self.read_sent(socket);
        let apart = clocks_apart();
        if (apart - self.apart).abs() > STEP {
            return KernelTimes::default();
        }
        let last = taken.wrapping_sub(1) & u64::from(u32::MAX);
        let of_last = self.sent.filter(|(byte, _)| u64::from(*byte) == last);
        let instant = |of_day: i64| u64::try_from(of_day - apart).ok().map(Instant::from_ns);
        KernelTimes {
            sent: of_last.and_then(|(_, at)| instant(at)),
            received: self.received.and_then(instant),
        }
    }

    /// Takes what one message says beside its bytes.
    fn note(&mut self, control: &Control) {
        let (mut time, mut of_byte) = (None, None);
        for (level, kind, content) in control.messages() {
            match (level, kind) {
                (libc::SOL_SOCKET, SO_TIMESTAMPING) => time = software_time(content),
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    of_byte = Some(handed_to_device(content));
                }
                _ => {}
            }
        }
        match (time, of_byte) {
            (Some(time), None) => self.received = Some(time),
            (Some(time), Some(Some(byte))) => self.sent = Some((byte, time)),
            _ => {}
        }
    }
}

/// How far the clock of the day is before the monotonic one, in nanoseconds: the best of a few
/// readings, between which this thread may be kept from its CPU.
fn clocks_apart() -> i64 {
    let ns = |span: Span| i64::try_from(span.as_ns()).unwrap_or(0);
    let (mut best, mut apart) = (Span::from_ns(u64::MAX), 0);
    for _ in 0..5 {
        let before = clock::monotonic();
        let of_day = clock::realtime();
        let between = clock::monotonic().saturating_since(before);
        if between < best {
            best = between;
            apart = ns(of_day) - ns(before.saturating_since(Instant::ZERO)) - ns(between) / 2;
        }
        if best < Span::from_us(1) {
            break;
        }
    }
    apart
}

/// The first of three times is that of software; zero, where there is none.
fn software_time(content: &[u8]) -> Option<i64> {
    let number = |from: usize| {
        let bytes = content.get(from..from + 8)?;
        Some(i64::from_ne_bytes(bytes.try_into().ok()?))
    };
    let time = number(0)? * 1_000_000_000 + number(8)?;
    (time > 0).then_some(time)
}

/// Which byte was handed to the device, if a `sock_extended_err` says that.
fn handed_to_device(content: &[u8]) -> Option<u32> {
    let number = |from: usize| {
        let bytes = content.get(from..from + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let is_time =
        *content.get(4)? == libc::SO_EE_ORIGIN_TIMESTAMPING && number(8)? == HANDED_TO_DEVICE;
    number(12).filter(|_| is_time)
}

/// Room for what the kernel says beside bytes: three times, an error and an address.
#[derive(Debug)]
#[repr(C, align(8))]
struct Control {
    bytes: [u8; 248],
    length: usize,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            bytes: [0; 248],
            length: 0,
        }
    }
}

impl Control {
    /// Level, kind and content of each message.
    fn messages(&self) -> impl Iterator<Item = (libc::c_int, libc::c_int, &[u8])> {
        let mut rest = &self.bytes[..self.length.min(self.bytes.len())];
        std::iter::from_fn(move || {
            let head = size_of::<libc::cmsghdr>();
            let length = usize::from_ne_bytes(rest.get(..size_of::<usize>())?.try_into().ok()?);
            let number = |from: usize| {
                let bytes = rest.get(from..from + size_of::<libc::c_int>())?;
                Some(libc::c_int::from_ne_bytes(bytes.try_into().ok()?))
            };
            let level = number(std::mem::offset_of!(libc::cmsghdr, cmsg_level))?;
            let kind = number(std::mem::offset_of!(libc::cmsghdr, cmsg_type))?;
            let content = rest.get(head..length)?;
            let next = length.next_multiple_of(size_of::<usize>());
            rest = rest.get(next..).unwrap_or(&[]);
            Some((level, kind, content))
        })
    }
}

/// What is read.
enum Read<'a> {
    /// The bytes that came, into a buffer.
    Stream(&'a mut [u8]),
    /// At most so many of them, which are dropped.
    Dropped(usize),
    /// The error queue.
    Errors,
}

/// Reads, with what the kernel says beside the bytes; how many there were.
fn receive_message(socket: &OwnedFd, read: Read<'_>, control: &mut Control) -> io::Result<usize> {
    let (base, length, flags) = match read {
        Read::Stream(buffer) => (buffer.as_mut_ptr(), buffer.len(), 0),
        Read::Dropped(count) => (std::ptr::null_mut(), count, libc::MSG_TRUNC),
        Read::Errors => (std::ptr::null_mut(), 0, libc::MSG_ERRQUEUE),
    };
    let mut piece = libc::iovec {
        iov_base: base.cast(),
        iov_len: length,
    };
    // SAFETY: a msghdr is integers and pointers, for which all zeroes is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.as_mut_ptr().cast();
    message.msg_controllen = control.bytes.len() as _;
    // SAFETY: all that the message points to is live and of the lengths given; with MSG_TRUNC on
    // TCP, and for the error queue, which has no content here, the kernel writes no bytes.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    control.length = message.msg_controllen as _;
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests;
