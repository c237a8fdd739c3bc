use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::*;

/// Both ends of a connection; the first one's times are noted.
fn pair() -> (OwnedFd, Stamps, TcpStream) {
    let _noting = Noting::begin().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    let client = OwnedFd::from(client);
    let stamps = Stamps::begin(&client).unwrap();
    (client, stamps, server)
}

/// Tries a few times: the end of another process's sockets may switch times off for a moment.
fn sometimes(check: impl Fn() -> Option<()>) {
    assert!(
        (0..10).any(|_| check().is_some()),
        "no time in ten attempts"
    );
}

#[test]
fn the_kernel_tells_when_bytes_went_and_came() {
    sometimes(bytes_went_and_came);
}

fn bytes_went_and_came() -> Option<()> {
    let (client, mut stamps, mut server) = pair();
    let mut taken = 0;
    for request in [&b"one"[..], b"another"] {
        let begun = clock::monotonic();
        stamps.sends();
        taken += crate::socket::send(&client, request, false).unwrap() as u64;
        let mut heard = vec![0; request.len()];
        server.read_exact(&mut heard).unwrap();
        let heard_at = clock::monotonic();
        server.write_all(b"answer").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(stamps.receive(&client, &mut buffer).unwrap(), 6);
        let received_at = clock::monotonic();
        let told = stamps.told(&client, taken);
        let (sent, received) = (told.sent.unwrap(), told.received?);
        // The clocks are read one after the other.
        let near = Span::from_us(50);
        assert!(begun <= sent + near && sent <= heard_at + near, "{told:?}");
        assert!(heard_at <= received + near, "{told:?} {heard_at:?}");
        assert!(received <= received_at + near, "{told:?} {received_at:?}");
    }
    Some(())
}

/// The first connection that asks for times has them from its first byte on.
#[test]
fn the_kernel_notes_what_comes_as_soon_as_that_was_asked_for() {
    let is_noted = || {
        let noting = Noting::begin().unwrap();
        let (client, mut stamps, mut server) = pair();
        server.write_all(b"first").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(stamps.receive(&client, &mut buffer).unwrap(), 5);
        let received = stamps.told(&client, 0).received;
        drop(noting);
        received.is_some()
    };
    let count = (0..20).filter(|_| is_noted()).count();
    assert!(count >= 18, "{count} of 20");
}

#[test]
fn bytes_that_are_dropped_have_a_time_too() {
    sometimes(dropped_bytes_have_a_time);
}

fn dropped_bytes_have_a_time() -> Option<()> {
    let (client, mut stamps, mut server) = pair();
    let before = clock::monotonic();
    server.write_all(&[7; 100]).unwrap();
    assert_eq!(stamps.discard(&client, 60).unwrap(), 60);
    let mut buffer = [0; 64];
    let received = stamps.told(&client, 0).received?;
    assert!(before <= received + Span::from_us(50));
    assert_eq!(stamps.receive(&client, &mut buffer).unwrap(), 40);
    assert!(buffer.starts_with(&[7; 40]));
    Some(())
}

#[test]
fn a_time_of_other_bytes_is_none_of_these() {
    let (client, mut stamps, mut server) = pair();
    stamps.sends();
    let taken = crate::socket::send(&client, b"three", false).unwrap() as u64;
    server.read_exact(&mut [0; 5]).unwrap();
    assert!(stamps.told(&client, taken).sent.is_some());
    assert_eq!(stamps.told(&client, taken + 1).sent, None);
    // Somebody set the clock meanwhile.
    stamps.apart += 1_000_000_000;
    assert_eq!(stamps.told(&client, taken), KernelTimes::default());
}

#[test]
fn messages_are_read_with_their_edges() {
    let said = |bytes: &[u8]| {
        let mut control = Control::default();
        control.bytes[..bytes.len()].copy_from_slice(bytes);
        control.length = bytes.len();
        let told = control.messages();
        told.map(|(level, kind, content)| (level, kind, content.to_vec()))
            .collect::<Vec<_>>()
    };
    let message = |level: i32, kind: i32, content: &[u8]| {
        let length = size_of::<libc::cmsghdr>() + content.len();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let mut two = message(1, 65, &[5; 3]);
    two.extend(message(0, 11, &[]));
    let expected = vec![(1, 65, vec![5; 3]), (0, 11, Vec::new())];
    assert_eq!(said(&two), expected);
    assert_eq!(said(&[]), Vec::new());
    // One that says that it is longer, or shorter, than it can be ends the list.
    for length in [0_usize, 15, 400, usize::MAX] {
        let mut bytes = message(1, 65, &[5; 3]);
        bytes[..8].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(said(&bytes), Vec::new(), "{length}");
    }
}

#[test]
fn only_what_was_handed_to_the_device_is_a_time_of_sending() {
    let error = |origin: u8, info: u32, byte: u32| {
        let mut bytes = 42_u32.to_ne_bytes().to_vec();
        bytes.extend([origin, 0, 0, 0]);
        bytes.extend(info.to_ne_bytes());
        bytes.extend(byte.to_ne_bytes());
        handed_to_device(&bytes)
    };
    assert_eq!(error(4, 0, 99), Some(99));
    // Scheduled, acknowledged, and an error of the network.
    assert_eq!(error(4, 1, 99), None);
    assert_eq!(error(4, 2, 99), None);
    assert_eq!(error(2, 0, 99), None);
    assert_eq!(handed_to_device(&[0; 7]), None);
}
