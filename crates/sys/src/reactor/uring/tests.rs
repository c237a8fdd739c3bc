use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;

use super::*;
use crate::testing::not_run;

impl Uring {
    /// As on a kernel that does not carry silent sends out as it should.
    pub(in super::super) fn without_silence(mut self) -> Self {
        self.is_silence_right = false;
        self
    }
}

fn settings(connections: u32) -> Settings {
    Settings {
        connections,
        copies: 8,
        copy_bytes: 64,
    }
}

/// None where this system does not permit io_uring, or this kernel does not keep silent.
fn silent_uring(connections: u32) -> Option<Uring> {
    let uring = Uring::new(&settings(connections)).ok()?;
    uring.is_silence_right.then_some(uring)
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Waits for one event, within a bound that only a broken reactor reaches.
fn wait_for<T>(uring: &mut Uring, mut wanted: impl FnMut(Key, &Event<'_>) -> Option<T>) -> T {
    let deadline = uring.now() + Span::from_s(20);
    loop {
        while let Some(completion) = uring.next() {
            if let Some(found) = wanted(completion.key, &completion.event) {
                return found;
            }
        }
        assert!(uring.wait(deadline) < deadline, "nothing happened");
    }
}

fn connect(uring: &mut Uring, target: SocketAddr) -> Key {
    let key = uring.connect(target, None).unwrap();
    wait_for(uring, |of, event| {
        (of == key && matches!(event, Event::Connected)).then_some(())
    });
    key
}

fn pair(uring: &mut Uring) -> (Key, TcpStream) {
    let (listener, address) = listener();
    let key = connect(uring, address);
    (key, listener.accept().unwrap().0)
}

#[test]
fn the_kernel_says_nothing_of_a_send_that_went() {
    let Some(mut uring) = silent_uring(4) else {
        return not_run("io_uring is not permitted, or not silent, here");
    };
    let (key, mut peer) = pair(&mut uring);
    let stored = uring.store(b"hello".to_vec());
    let copied = Transmit::copied(b"copy!");
    for (transmit, is_silent) in [
        (Transmit::stored(stored), true),
        (Transmit::stored(stored).with_notice(), false),
        (copied.clone(), true),
        (copied.with_notice(), false),
    ] {
        let before = uring.bytes_taken(key);
        assert_eq!(uring.send(key, transmit), Ok(Handed::Now));
        assert_eq!(uring.bytes_taken(key), before, "nothing was handed in");
        uring.submit();
        let mut bytes = [0; 5];
        peer.read_exact(&mut bytes).unwrap();
        assert_eq!(uring.ring.is_drained(), is_silent);
        uring.poll();
        assert_eq!(uring.bytes_taken(key), before + 5);
        while uring.next().is_some() {}
    }
}

/// Sends until nothing more finds room, however late a busy kernel carries over what was sent: each
/// time it refuses, all that fits the other side is there before it is asked again.
fn fill(socket: &OwnedFd) -> usize {
    /// Bytes that the other side has not acknowledged (`SIOCOUTQ`), and those never sent.
    const UNACKNOWLEDGED: libc::Ioctl = 0x5411;
    const UNSENT: libc::Ioctl = 0x894b;
    let count = |what| {
        let mut bytes: libc::c_int = 0;
        // SAFETY: both requests write one int to where they are told.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut bytes) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
        bytes
    };
    let mut sent = 0;
    loop {
        let before = sent;
        while let Ok(count) = socket::send(socket, &[b'x'; 1 << 16], false) {
            sent += count;
        }
        if sent == before {
            return sent;
        }
        // What the other side has no room for may stay on its way.
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(2);
        while count(UNACKNOWLEDGED) != count(UNSENT) && std::time::Instant::now() < patience {
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_finds_no_room_at_once_follows() {
    const LONG: usize = 5_000_000;
    let settings = Settings {
        connections: 4,
        copies: 2,
        copy_bytes: u32::try_from(LONG).unwrap(),
    };
    let uring = Uring::new(&settings).ok();
    let Some(mut uring) = uring.filter(|uring| uring.is_silence_right) else {
        return not_run("io_uring is not permitted, or not silent, here");
    };
    for (length, is_copied) in [(1, false), (1, true), (LONG, false), (LONG, true)] {
        let (key, mut peer) = pair(&mut uring);
        // Fill the socket, so that the silent send finds no room at all.
        let socket = &uring.connections.get(key).unwrap().socket;
        let before = fill(socket);
        let bytes = vec![b'y'; length];
        if is_copied {
            uring.send(key, Transmit::copied(&bytes)).unwrap();
        } else {
            let stored = uring.store(bytes);
            uring.send(key, Transmit::stored(stored)).unwrap();
        }
        uring.submit();
        uring.poll();
        assert_eq!(uring.bytes_taken(key), 0);
        let sending = uring.connections.get(key).unwrap().sending;
        assert_eq!(sending, connection::Sending::Bytes);
        let handed = uring.send(key, Transmit::copied(b"end").with_tag(7));
        assert_eq!(handed, Ok(Handed::Behind));
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; before + length + 3];
            peer.read_exact(&mut bytes).unwrap();
            bytes.split_off(before)
        });
        wait_for(&mut uring, |_, event| {
            matches!(event, Event::Begun { tag: 7 }).then_some(())
        });
        assert_eq!(uring.bytes_taken(key), length as u64);
        uring.submit();
        let bytes = reader.join().unwrap();
        assert!(bytes[..length].iter().all(|byte| *byte == b'y'));
        assert_eq!(&bytes[length..], b"end");
        uring.close(key);
    }
}

/// What comes to the front goes only after the caller was told, however long that takes.
#[test]
fn nothing_begins_before_the_caller_knows() {
    let Some(mut uring) = silent_uring(4) else {
        return not_run("io_uring is not permitted, or not silent, here");
    };
    let (key, mut peer) = pair(&mut uring);
    let stored = Transmit::stored(uring.store(b"hello".to_vec()));
    let copied = Transmit::copied(b"HELLO");
    let mut before = 0;
    for (first, second) in [(&stored, &stored), (&copied, &stored), (&copied, &copied)] {
        uring.send(key, first.clone()).unwrap();
        let behind = second.clone().with_tag(1);
        assert_eq!(uring.send(key, behind), Ok(Handed::Behind));
        uring.submit();
        uring.poll();
        for _ in 0..5 {
            // The event waits in the batch; nothing of it goes.
            uring.submit();
            assert!(!uring.ring.is_queued());
        }
        assert_eq!(uring.bytes_taken(key), before + 5);
        let completion = uring.next().unwrap();
        assert!(matches!(completion.event, Event::Begun { tag: 1 }));
        uring.submit();
        let mut bytes = [0; 10];
        peer.read_exact(&mut bytes).unwrap();
        assert!(bytes.eq_ignore_ascii_case(b"hellohello"));
        uring.poll();
        while uring.next().is_some() {}
        before += 10;
    }
}

/// A copy is free again when its send has gone, and not before: also where its connection was
/// closed meanwhile.
#[test]
fn copies_are_used_again_and_again() {
    let Some(mut uring) = silent_uring(4) else {
        return not_run("io_uring is not permitted, or not silent, here");
    };
    let (listener, address) = listener();
    for round in 0..20_u8 {
        let pairs: Vec<(Key, TcpStream)> = (0..4)
            .map(|_| (connect(&mut uring, address), listener.accept().unwrap().0))
            .collect();
        for (key, _) in &pairs {
            uring.send(*key, Transmit::copied(&[round; 64])).unwrap();
            uring.finish(*key);
        }
        for (key, _) in &pairs[2..] {
            uring.close(*key);
        }
        uring.poll();
        for (_, peer) in &pairs {
            let mut bytes = Vec::new();
            let mut peer = peer;
            peer.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, [round; 64]);
        }
        while uring.next().is_some() {}
        for (key, _) in &pairs[..2] {
            uring.close(*key);
        }
    }
}

/// However many operations are asked for, none of them goes before the next submit.
#[test]
fn a_full_queue_hands_nothing_in() {
    let Some(mut uring) = silent_uring(200) else {
        return not_run("io_uring is not permitted, or not silent, here");
    };
    let (listener, address) = listener();
    let mut peers = Vec::new();
    let keys: Vec<Key> = (0..200)
        .map(|_| {
            let key = connect(&mut uring, address);
            peers.push(listener.accept().unwrap().0);
            key
        })
        .collect();
    uring.poll();
    let stored = uring.store(b"x".to_vec());
    for key in &keys {
        uring.send(*key, Transmit::stored(stored)).unwrap();
        uring.pause(*key);
    }
    for peer in &mut peers {
        peer.set_nonblocking(true).unwrap();
        assert!(peer.read(&mut [0; 1]).is_err(), "nothing has gone");
        peer.set_nonblocking(false).unwrap();
    }
    uring.submit();
    for peer in &mut peers {
        peer.read_exact(&mut [0; 1]).unwrap();
    }
}

/// With several targets, each connect goes to its own, however full the queue was.
#[test]
fn connects_go_to_their_targets() {
    let Ok(mut uring) = Uring::new(&settings(100)) else {
        return not_run("io_uring is not permitted here");
    };
    let ((ours, one), (_two_listens, two)) = (listener(), listener());
    let mut peers = Vec::new();
    let keys: Vec<Key> = (0..98)
        .map(|_| {
            let key = connect(&mut uring, one);
            peers.push(ours.accept().unwrap().0);
            key
        })
        .collect();
    let stored = uring.store(b"x".to_vec());
    for asked in 110..140 {
        // So many operations are in line before the first connect.
        for key in &keys {
            uring.resume(*key);
        }
        for _ in 0..3 {
            uring.poll();
            while uring.next().is_some() {}
        }
        for key in &keys {
            uring.send(*key, Transmit::stored(stored)).unwrap();
        }
        for key in keys.iter().take(asked - keys.len()) {
            uring.pause(*key);
        }
        let connects = [one, two].map(|target| (uring.connect(target, None).unwrap(), target));
        let mut connected = 0;
        while connected < 2 {
            connected += wait_for(&mut uring, |_, event| match event {
                Event::Connected => Some(1),
                Event::ConnectFailed { error } => panic!("{asked}: {error}"),
                _ => None,
            });
        }
        for (key, target) in connects {
            assert_eq!(uring.peer(key), Some(target), "{asked} in line");
            uring.reset(key);
        }
    }
}

/// A connect that is given up in the turn in which it began disturbs nobody who takes its place.
#[test]
fn a_connect_that_was_given_up_at_once_is_forgotten() {
    let Ok(mut uring) = Uring::new(&settings(1)) else {
        return not_run("io_uring is not permitted here");
    };
    let ((_one_listens, one), (_two_listens, two)) = (listener(), listener());
    for _ in 0..50 {
        for target in [one, two, one] {
            let key = uring.connect(target, None).unwrap();
            uring.close(key);
        }
        let key = connect(&mut uring, two);
        assert_eq!(uring.peer(key), Some(two));
        uring.reset(key);
    }
}

/// For want of memory a send fails, and the connection is whole: no end of the stream follows.
#[test]
fn want_of_memory_does_not_end_the_stream() {
    let Some(mut uring) = silent_uring(4) else {
        return not_run("io_uring is not permitted, or not silent, here");
    };
    for number in [libc::ENOBUFS, libc::ENOMEM] {
        let error = Errno::new(number);
        assert!(error.is_out_of_memory());
        let (key, mut peer) = pair(&mut uring);
        let stored = uring.store(b"hello".to_vec());
        uring.send(key, Transmit::stored(stored)).unwrap();
        uring.submit();
        // As if the kernel had said so.
        uring.not_silent(operations::Purpose::Silent.of(key), -number);
        let failed = wait_for(&mut uring, |_, event| match event {
            Event::SendFailed { error } => Some(*error),
            _ => None,
        });
        assert_eq!(failed, error);
        peer.write_all(b"still here").unwrap();
        wait_for(&mut uring, |_, event| match event {
            Event::Received { bytes, .. } => (*bytes == b"still here").then_some(()),
            other => panic!("{other:?}"),
        });
        uring.close(key);
    }
}

/// After a send that failed on a broken connection the end of the stream follows, also where the
/// reset came together with the last bytes.
#[test]
fn the_end_follows_a_failed_send() {
    let Ok(mut uring) = Uring::new(&settings(4)) else {
        return not_run("io_uring is not permitted here");
    };
    for _ in 0..20 {
        let (key, mut peer) = pair(&mut uring);
        peer.write_all(b"bytes").unwrap();
        let peer = OwnedFd::from(peer);
        socket::set_reset_on_close(&peer).unwrap();
        drop(peer);
        wait_for(&mut uring, |_, event| {
            matches!(event, Event::Received { .. }).then_some(())
        });
        let stored = uring.store(b"hello".to_vec());
        uring.send(key, Transmit::stored(stored)).unwrap();
        wait_for(&mut uring, |_, event| {
            matches!(event, Event::Ended { .. }).then_some(())
        });
        uring.close(key);
    }
}

#[test]
fn the_receives_of_closed_connections_are_over_before_the_rest_is_cancelled() {
    const MANY: usize = 200;
    let Ok(mut uring) = Uring::new(&settings(256)) else {
        return not_run("io_uring is not permitted here");
    };
    let pairs: Vec<(Key, TcpStream)> = (0..MANY).map(|_| pair(&mut uring)).collect();
    for (key, _) in &pairs {
        uring.close(*key);
    }
    uring.submit();
    uring.carry_out();
    uring.ring.cancel_all().unwrap();
    let mut left = 0;
    while let Some(completion) = uring.ring.pop() {
        left += usize::from(completion.result() == -libc::ECANCELED);
    }
    // The watch for a wake-up is one.
    assert!(left <= 1, "{left} of {MANY} were still under way");
    for (_, mut peer) in pairs {
        assert_eq!(peer.read(&mut [0; 1]).unwrap(), 0);
    }
}
