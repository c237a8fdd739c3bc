//! Questions to the kernel by netlink: a socket for each, and its answers one after the other.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::socket::own;

/// The header of a message: `struct nlmsghdr` of linux/netlink.h.
const HEADER: usize = 16;
/// A bound on replies: 10,000 of 32 KB hold more than a machine has sockets that listen.
const REPLIES_MOST: u32 = 10_000;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// Which part of the kernel: `NETLINK_ROUTE`.
    pub(crate) family: libc::c_int,
    /// The kind of message: `RTM_GETROUTE`.
    pub(crate) kind: u16,
    /// Whether all that there is is asked for, and not one thing.
    pub(crate) is_dump: bool,
    /// What follows the header.
    pub(crate) body: &'a [u8],
}

/// Asks, and lets `hear` have what follows the header of each answer.
pub(crate) fn ask(question: &Question<'_>, hear: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let socket = open(question.family)?;
    send(&socket, &message(question))?;
    let mut buffer = vec![0_u8; 32 * 1024];
    for _ in 0..REPLIES_MOST {
        let length = receive(&socket, &mut buffer, 0)?;
        let has_more = parse(&buffer[..length], hear)?;
        if !has_more || !question.is_dump {
            return Ok(());
        }
    }
    Err(io::Error::other("netlink does not come to an end"))
}

/// Tells each of `bodies` as a message of that kind, some at once. What is not there any more is no
/// error; the kernel answers nothing but errors.
pub(crate) fn tell(family: libc::c_int, kind: u16, bodies: &[Vec<u8>]) -> io::Result<()> {
    let socket = open(family)?;
    let mut buffer = vec![0_u8; 32 * 1024];
    for some in bodies.chunks(TOLD_AT_ONCE) {
        let messages = some.iter().flat_map(|body| {
            message(&Question {
                family,
                kind,
                is_dump: false,
                body,
            })
        });
        send(&socket, &messages.collect::<Vec<u8>>())?;
        // The kernel has done all of it when the call returns.
        while let Some(length) = answered(receive(&socket, &mut buffer, libc::MSG_DONTWAIT))? {
            match parse(&buffer[..length], &mut |_| ()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// So many messages are told at once: their errors find room in the socket.
const TOLD_AT_ONCE: usize = 100;

/// None where there is no answer yet.
fn answered(received: io::Result<usize>) -> io::Result<Option<usize>> {
    match received {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        received => received.map(Some),
    }
}

fn open(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes numbers and returns a new descriptor.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, family) };
    match fd {
        -1 => Err(io::Error::last_os_error()),
        fd => Ok(own(fd)),
    }
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer is live and as long as said.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    match sent {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn receive(socket: &OwnedFd, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the buffer is live and as long as said.
    let got = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            flags,
        )
    };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

fn message(question: &Question<'_>) -> Vec<u8> {
    let dump = if question.is_dump {
        libc::NLM_F_DUMP
    } else {
        0
    };
    let flags = u16::try_from(libc::NLM_F_REQUEST | dump).expect("a few small bits");
    let length = u32::try_from(HEADER + question.body.len()).expect("questions are short");
    let mut bytes = Vec::with_capacity(HEADER + question.body.len());
    bytes.extend(length.to_ne_bytes());
    bytes.extend(question.kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes()); // sequence
    bytes.extend(0_u32.to_ne_bytes()); // port: the kernel
    bytes.extend(question.body);
    bytes
}

/// Reads the messages of one reply; false when it was the last.
fn parse(mut bytes: &[u8], hear: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0).and_then(|length| usize::try_from(length).ok());
        let length = length.unwrap_or(usize::MAX);
        let kind = libc::c_int::from(u16_at(bytes, 4).unwrap_or(0));
        if length < HEADER || length > bytes.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "netlink sent a message cut short",
            ));
        }
        let body = &bytes[HEADER..length];
        if kind == libc::NLMSG_DONE {
            return Ok(false);
        }
        if kind == libc::NLMSG_ERROR {
            let errno = u32_at(body, 0).unwrap_or(0).cast_signed();
            return Err(io::Error::from_raw_os_error(errno.wrapping_neg()));
        }
        hear(body);
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(true)
}

/// An attribute (`struct rtattr` of linux/rtnetlink.h) with this value.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).expect("addresses are short");
    let mut bytes = Vec::with_capacity(usize::from(length).next_multiple_of(4));
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(usize::from(length).next_multiple_of(4), 0);
    bytes
}

/// The attributes of an answer behind `header` bytes of its own: kind and value.
pub(crate) fn attributes(answer: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = answer.get(header..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A number of 16 bits in the machine's own order.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

/// A number of 32 bits in the machine's own order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_message_is_refused() {
        let mut bytes = 200_u32.to_ne_bytes().to_vec();
        bytes.resize(40, 0);
        assert!(parse(&bytes, &mut |_| ()).is_err());
        assert!(parse(&[], &mut |_| ()).unwrap());
    }

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let mut bytes = vec![0; 12];
        bytes.extend(attribute(1, &[192, 0, 2, 7]));
        bytes.extend(attribute(9, &[5]));
        bytes.extend(attribute(4, &7_u32.to_ne_bytes()));
        let found: Vec<(u16, &[u8])> = attributes(&bytes, 12).collect();
        let seven = 7_u32.to_ne_bytes();
        assert_eq!(
            found,
            [(1, &[192, 0, 2, 7][..]), (9, &[5][..]), (4, &seven[..])]
        );
        // One that is cut short, and one of no length, end it.
        assert_eq!(attributes(&bytes[..bytes.len() - 1], 12).count(), 2);
        assert_eq!(attributes(&[0; 16], 12).count(), 0);
        assert_eq!(attributes(&[], 12).count(), 0);
    }
}
