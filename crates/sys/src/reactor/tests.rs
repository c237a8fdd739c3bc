//! What every backend must do alike. The peer is a thread on plain blocking sockets.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use super::*;
use crate::socket;

/// What the peer does with a request, which is a line.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) then: Then,
}

/// What the peer does after an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Then {
    Continue,
    Finish,
    Reset,
}

/// `echo TEXT`, `body COUNT`, `last COUNT` (then FIN), `break COUNT` (then RST).
pub(super) fn answer(line: &str) -> Answer {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let count = rest.parse().unwrap_or(0);
    let (bytes, then) = match verb {
        "echo" => (rest.as_bytes().to_vec(), Then::Continue),
        "body" => (pattern(count), Then::Continue),
        "last" => (pattern(count), Then::Finish),
        "break" => (pattern(count), Then::Reset),
        _ => panic!("no such request: {verb}"),
    };
    Answer { bytes, then }
}

/// Bytes in which every shift shows.
pub(super) fn pattern(count: usize) -> Vec<u8> {
    (0..=250).cycle().take(count).collect()
}

/// Serves `connections` connections, each until it ends, then stops.
fn peer(connections: usize) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let serving: Vec<_> = (0..connections)
            .map(|_| {
                let (stream, _) = listener.accept().unwrap();
                std::thread::spawn(move || serve(stream))
            })
            .collect();
        for thread in serving {
            thread.join().unwrap();
        }
    });
    (address, thread)
}

fn serve(mut stream: impl Read + Write + Into<OwnedFd>) {
    let mut line = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        for byte in &buffer[..count] {
            if *byte != b'\n' {
                line.push(*byte);
                continue;
            }
            let answer = answer(std::str::from_utf8(&line).unwrap());
            line.clear();
            if stream.write_all(&answer.bytes).is_err() {
                return;
            }
            match answer.then {
                Then::Continue => {}
                Then::Finish => return,
                Then::Reset => {
                    let socket: OwnedFd = stream.into();
                    socket::set_reset_on_close(&socket).unwrap();
                    return;
                }
            }
        }
    }
}

/// A completion without its loan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Seen {
    Accepted,
    Begun(u32),
    ConnectFailed(Errno),
    Connected,
    Ended(Option<Errno>),
    Received(Vec<u8>),
    SendFailed(Errno),
    Sent,
    Skipped(u64),
}

fn owned(event: Event<'_>) -> Seen {
    match event {
        Event::Accepted { .. } => Seen::Accepted,
        Event::Begun { tag } => Seen::Begun(tag),
        Event::ConnectFailed { error } => Seen::ConnectFailed(error),
        Event::Connected => Seen::Connected,
        Event::Ended { error } => Seen::Ended(error),
        Event::Received { bytes, .. } => Seen::Received(bytes.to_vec()),
        Event::SendFailed { error } => Seen::SendFailed(error),
        Event::Sent => Seen::Sent,
        Event::Skipped { count } => Seen::Skipped(count),
    }
}

/// The next completion, within a bound that only a broken backend reaches.
fn next<R: Reactor>(reactor: &mut R) -> (Key, Seen) {
    let deadline = reactor.now() + Span::from_s(20);
    loop {
        if let Some(Completion { key, at, event }) = reactor.next() {
            assert!(at <= deadline, "{}", reactor.name());
            return (key, owned(event));
        }
        let now = reactor.wait(deadline);
        assert!(now < deadline, "{}: nothing happened", reactor.name());
    }
}

fn connected<R: Reactor>(reactor: &mut R, target: SocketAddr) -> Key {
    let key = reactor.connect(target, None).unwrap();
    assert_eq!(next(reactor), (key, Seen::Connected), "{}", reactor.name());
    key
}

/// Receives exactly `count` bytes on `key`.
fn receive<R: Reactor>(reactor: &mut R, key: Key, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        match next(reactor) {
            (of, Seen::Received(more)) if of == key => bytes.extend(more),
            other => panic!("{}: {other:?} after {}", reactor.name(), bytes.len()),
        }
    }
    assert_eq!(bytes.len(), count, "{}", reactor.name());
    bytes
}

pub(super) fn echoes<R: Reactor>(reactor: &mut R, target: SocketAddr) {
    let stored = reactor.store(b"echo hello\n".to_vec());
    let key = connected(reactor, target);
    for round in 0..100 {
        let handed = reactor.send(key, Transmit::stored(stored));
        assert_eq!(handed, Ok(Handed::Now), "{}", reactor.name());
        reactor.submit();
        assert_eq!(receive(reactor, key, 5), b"hello", "{round}");
        let text = format!("echo number {round}\n");
        let copied = Transmit::copied(text.as_bytes()).with_notice();
        reactor.send(key, copied).unwrap();
        let mut bytes = Vec::new();
        let mut sent = 0;
        while sent == 0 || bytes.len() + 6 < text.len() {
            match next(reactor) {
                (_, Seen::Received(more)) => bytes.extend(more),
                (_, Seen::Sent) => sent += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bytes, text.as_bytes()[5..text.len() - 1]);
    }
    assert!(reactor.bytes_taken(key) > 100 * 11);
    assert!(reactor.activity().events > 200);
    reactor.close(key);
    assert_eq!(
        reactor.send(key, Transmit::stored(stored)),
        Err(Refused::Stale)
    );
}

pub(super) fn receives_large_bodies<R: Reactor>(reactor: &mut R, target: SocketAddr) {
    let key = connected(reactor, target);
    for count in [1, 4_095, 4_096, 4_097, 65_536, 100_000, 3_000_000, 7] {
        let text = format!("body {count}\n");
        reactor
            .send(key, Transmit::copied(text.as_bytes()))
            .unwrap();
        let bytes = receive(reactor, key, count);
        assert!(bytes == pattern(count), "{}: {count}", reactor.name());
    }
    reactor.close(key);
}

pub(super) fn skips_exactly<R: Reactor>(reactor: &mut R, target: SocketAddr) {
    let key = connected(reactor, target);
    for (count, first) in [
        (100_000, 1_000),
        (100_000, 1),
        (3_000_000, 50),
        (5_000, 10),
        (6, 3),
    ] {
        for after in [0, 1, 20] {
            let text = format!("body {count}\n");
            reactor
                .send(key, Transmit::copied(text.as_bytes()))
                .unwrap();
            // As a client does: some bytes are read, then most of what remains is skipped.
            let mut head = Vec::new();
            while head.len() < first {
                match next(reactor) {
                    (_, Seen::Received(bytes)) => head.extend(bytes),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(head, pattern(count)[..head.len()]);
            if head.len() + after >= count {
                let rest = receive(reactor, key, count - head.len());
                assert_eq!(rest, pattern(count)[head.len()..]);
                continue;
            }
            let to_skip = (count - head.len() - after) as u64;
            reactor.skip(key, to_skip);
            let mut skipped = 0;
            while skipped < to_skip {
                match next(reactor) {
                    (_, Seen::Skipped(more)) => skipped += more,
                    other => panic!("{}: {other:?} {skipped}/{to_skip}", reactor.name()),
                }
            }
            assert_eq!(skipped, to_skip, "{}", reactor.name());
            let rest = receive(reactor, key, after);
            assert_eq!(rest, pattern(count)[count - after..]);
        }
    }
    // Everything of an answer, asked for before it is there, and the answer after it.
    reactor.skip(key, 1_000);
    reactor
        .send(key, Transmit::copied(b"body 1000\necho x\n"))
        .unwrap();
    let mut skipped = 0;
    while skipped < 1_000 {
        match next(reactor) {
            (_, Seen::Skipped(more)) => skipped += more,
            other => panic!("{}: {other:?}", reactor.name()),
        }
    }
    assert_eq!(receive(reactor, key, 1), b"x");
    // The stream ends while something is still to be skipped.
    reactor.send(key, Transmit::copied(b"last 10\n")).unwrap();
    reactor.skip(key, 1_000_000);
    let mut skipped = 0;
    loop {
        match next(reactor) {
            (_, Seen::Skipped(more)) => skipped += more,
            (_, Seen::Ended(None)) => break,
            other => panic!("{}: {other:?}", reactor.name()),
        }
    }
    assert_eq!(skipped, 10, "{}", reactor.name());
    reactor.close(key);
}

pub(super) fn tells_how_streams_end<R: Reactor>(reactor: &mut R, target: SocketAddr) {
    let key = connected(reactor, target);
    reactor.send(key, Transmit::copied(b"last 100\n")).unwrap();
    assert_eq!(receive(reactor, key, 100), pattern(100));
    assert_eq!(next(reactor), (key, Seen::Ended(None)));
    reactor.close(key);

    let key = connected(reactor, target);
    reactor.send(key, Transmit::copied(b"break 0\n")).unwrap();
    let reset = Errno::new(libc::ECONNRESET);
    assert_eq!(next(reactor), (key, Seen::Ended(Some(reset))));
    reactor.reset(key);
}

pub(super) fn tells_refusals<R: Reactor>(reactor: &mut R, nobody: SocketAddr) {
    let refused = Seen::ConnectFailed(Errno::new(libc::ECONNREFUSED));
    for _ in 0..3 {
        let key = reactor.connect(nobody, None).unwrap();
        assert_eq!(next(reactor), (key, refused.clone()), "{}", reactor.name());
        assert_eq!(
            reactor.send(key, Transmit::copied(b"x")),
            Err(Refused::Stale)
        );
    }
}

/// Connections come and go by the hundred; places are reused, and no word of a dead one is heard.
pub(super) fn keeps_many_apart<R: Reactor>(reactor: &mut R, target: SocketAddr, count: usize) {
    for round in 0..3 {
        let keys: Vec<Key> = (0..count)
            .map(|_| reactor.connect(target, None).unwrap())
            .collect();
        for _ in &keys {
            assert_eq!(next(reactor).1, Seen::Connected);
        }
        for (n, key) in keys.iter().enumerate() {
            let text = format!("echo {round} {n}\n");
            reactor
                .send(*key, Transmit::copied(text.as_bytes()))
                .unwrap();
        }
        for _ in &keys {
            let (key, seen) = next(reactor);
            let n = keys.iter().position(|k| *k == key).expect("one of ours");
            assert_eq!(seen, Seen::Received(format!("{round} {n}").into_bytes()));
        }
        for key in keys {
            reactor.close(key);
        }
    }
}

fn settings() -> Settings {
    Settings {
        connections: 128,
        copies: 128,
        copy_bytes: 256,
    }
}

fn nobody() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// Runs what needs a peer for so many connections, and sees that the peer got its end of each.
fn with_peer<R: Reactor>(mut reactor: R, connections: usize, run: fn(&mut R, SocketAddr)) {
    let (address, thread) = peer(connections);
    run(&mut reactor, address);
    drop(reactor);
    thread.join().unwrap();
}

/// A listener for `reactor`, on a port of the kernel's choice.
fn listening<R: Listen>(reactor: &mut R) -> SocketAddr {
    let listener = socket::listen((Ipv4Addr::LOCALHOST, 0).into(), 128, false).unwrap();
    let address = socket::local_address(&listener).unwrap();
    reactor.listen(listener).unwrap();
    address
}

/// Both ends of a connection of a reactor with itself: ours, then the accepted one.
fn both_ends<R: Listen>(reactor: &mut R) -> (Key, Key) {
    let address = listening(reactor);
    let ours = reactor.connect(address, None).unwrap();
    let mut theirs = None;
    let mut connected = false;
    while theirs.is_none() || !connected {
        match next(reactor) {
            (key, Seen::Connected) if key == ours => connected = true,
            (key, Seen::Accepted) => theirs = Some(key),
            other => panic!("{}: {other:?}", reactor.name()),
        }
    }
    let theirs = theirs.expect("just seen");
    assert_eq!(reactor.peer(ours), Some(address));
    assert!(reactor.peer(theirs).is_some());
    (ours, theirs)
}

fn serves_itself<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    let stored = reactor.store(b"ping".to_vec());
    for _ in 0..50 {
        reactor.send(ours, Transmit::stored(stored)).unwrap();
        assert_eq!(receive(&mut reactor, theirs, 4), b"ping");
        reactor
            .send(theirs, Transmit::copied(b"pong").with_more())
            .unwrap();
        reactor.send(theirs, Transmit::stored(stored)).unwrap();
        assert_eq!(receive(&mut reactor, ours, 8), b"pongping");
    }
    reactor.discard(stored);
    assert_eq!(
        reactor.send(ours, Transmit::stored(stored)),
        Err(Refused::Stale)
    );
    // Half closed: the other direction still carries.
    reactor.send(ours, Transmit::copied(b"bye")).unwrap();
    reactor.finish(ours);
    assert_eq!(receive(&mut reactor, theirs, 3), b"bye");
    assert_eq!(next(&mut reactor), (theirs, Seen::Ended(None)));
    reactor.send(theirs, Transmit::copied(b"late")).unwrap();
    assert_eq!(receive(&mut reactor, ours, 4), b"late");
    reactor.close(theirs);
    assert_eq!(next(&mut reactor), (ours, Seen::Ended(None)));
    reactor.close(ours);

    let (ours, theirs) = both_ends(&mut reactor);
    reactor.reset(ours);
    let reset = Errno::new(libc::ECONNRESET);
    assert_eq!(next(&mut reactor), (theirs, Seen::Ended(Some(reset))));
    reactor.close(theirs);
    reactor.stop_listening();
}

/// More than the socket buffers hold: partial sends go on by themselves, in order.
fn sends_what_does_not_fit<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    let size = 8_000_000;
    let stored = reactor.store(pattern(size));
    reactor.send(ours, Transmit::stored(stored)).unwrap();
    reactor
        .send(ours, Transmit::copied(b"end").with_notice())
        .unwrap();
    reactor.finish(ours);
    let (mut bytes, mut sent) = (Vec::new(), false);
    loop {
        match next(&mut reactor) {
            (key, Seen::Received(more)) if key == theirs => bytes.extend(more),
            (key, Seen::Sent) if key == ours && !sent => sent = true,
            (key, Seen::Ended(None)) if key == theirs => break,
            other => panic!("{}: {other:?}", reactor.name()),
        }
    }
    if !sent {
        assert_eq!(next(&mut reactor), (ours, Seen::Sent));
    }
    assert_eq!(bytes.len(), size + 3, "{}", reactor.name());
    assert!(bytes[..size] == pattern(size));
    assert_eq!(&bytes[size..], b"end");
    assert_eq!(reactor.bytes_taken(ours), size as u64 + 3);
}

/// A send behind another one tells when it comes to the front, once, and only if it has a tag.
fn tells_when_a_send_begins<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    let size = 8_000_000;
    let stored = reactor.store(pattern(size));
    let send = |reactor: &mut R, transmit| reactor.send(ours, transmit).unwrap();
    assert_eq!(
        send(&mut reactor, Transmit::stored(stored).with_tag(1)),
        Handed::Now
    );
    for transmit in [
        Transmit::copied(b"one").with_tag(2),
        Transmit::copied(b"two"),
        Transmit::copied(b"three").with_tag(3).with_notice(),
    ] {
        assert_eq!(send(&mut reactor, transmit), Handed::Behind);
    }
    let (mut count, mut told) = (0, Vec::new());
    while count < size + 11 || told.len() < 3 {
        match next(&mut reactor) {
            (key, Seen::Received(more)) if key == theirs => count += more.len(),
            (key, seen @ (Seen::Begun(_) | Seen::Sent)) if key == ours => told.push(seen),
            other => panic!("{}: {other:?}", reactor.name()),
        }
        assert!(
            count <= size || told.contains(&Seen::Begun(2)),
            "{}: told after its bytes had come",
            reactor.name()
        );
    }
    assert_eq!(told, [Seen::Begun(2), Seen::Begun(3), Seen::Sent]);
}

fn sends_files<R: Listen>(mut reactor: R) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&pattern(1_000_000)).unwrap();
    let file = Arc::new(file);
    let (ours, theirs) = both_ends(&mut reactor);
    for (offset, length) in [(0, 1_000_000), (1, 100_000), (999_999, 1), (7, 70_000)] {
        reactor
            .send(theirs, Transmit::copied(b"head").with_more())
            .unwrap();
        reactor
            .send(
                theirs,
                Transmit::file(Arc::clone(&file), offset as u64, length as u64),
            )
            .unwrap();
        reactor.send(theirs, Transmit::copied(b"tail")).unwrap();
        let bytes = receive(&mut reactor, ours, length + 8);
        assert_eq!(&bytes[..4], b"head");
        assert!(bytes[4..4 + length] == pattern(1_000_000)[offset..offset + length]);
        assert_eq!(&bytes[4 + length..], b"tail");
    }
    // A file that turns out shorter than was said.
    reactor
        .send(theirs, Transmit::file(Arc::clone(&file), 999_990, 20))
        .unwrap();
    let mut received = 0;
    let error = loop {
        match next(&mut reactor) {
            (key, Seen::Received(bytes)) if key == ours => received += bytes.len(),
            (key, Seen::SendFailed(error)) if key == theirs => break error,
            other => panic!("{}: {other:?}", reactor.name()),
        }
    };
    assert!(received <= 10);
    assert_eq!(error, Errno::new(libc::EIO));
}

fn pauses<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    reactor.send(theirs, Transmit::copied(b"one")).unwrap();
    assert_eq!(receive(&mut reactor, ours, 3), b"one");
    reactor.pause(ours);
    reactor.submit();
    let stored = reactor.store(pattern(4_000_000));
    reactor.send(theirs, Transmit::stored(stored)).unwrap();
    let mut early = Vec::new();
    let deadline = reactor.now() + Span::from_ms(20);
    while reactor.wait(deadline) < deadline {
        while let Some(completion) = reactor.next() {
            match owned(completion.event) {
                Seen::Received(bytes) => early.extend(bytes),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(early.len() < 1_000_000, "{}", reactor.name());
    reactor.resume(ours);
    let rest = receive(&mut reactor, ours, 4_000_000 - early.len());
    early.extend(rest);
    assert!(early == pattern(4_000_000), "{}", reactor.name());
}

pub(super) fn waits_until_its_deadline<R: Reactor>(mut reactor: R) {
    for us in [0, 1, 50, 300, 1_500, 3_250] {
        let before = reactor.activity();
        let deadline = reactor.now() + Span::from_us(us);
        let now = reactor.wait(deadline);
        assert!(now >= deadline, "{}: {us} us", reactor.name());
        assert!(reactor.next().is_none());
        let activity = reactor.activity().since(&before);
        assert_eq!((activity.batches, activity.events), (0, 0));
        assert!(us < 50 || activity.waited > Span::ZERO, "{us}");
    }
    let before = reactor.activity().spun;
    reactor.poll();
    let now = reactor.poll();
    assert!(reactor.activity().spun > before);
    assert!(now <= reactor.now());
}

fn wakes_up<R: Reactor>(mut reactor: R) {
    for _ in 0..3 {
        let waker = reactor.waker().unwrap();
        let thread = std::thread::spawn(move || waker.wake());
        let deadline = reactor.now() + Span::from_s(20);
        assert!(reactor.wait(deadline) < deadline, "{}", reactor.name());
        assert!(reactor.next().is_none());
        thread.join().unwrap();
    }
}

/// Sends of one turn arrive in the order in which they were handed in, whatever they are made of.
fn keeps_the_order_of_sends<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    let letters: Vec<Stored> = (b'a'..=b'd').map(|c| reactor.store(vec![c; 70])).collect();
    for round in 0..200 {
        let mut expected = Vec::new();
        for (n, letter) in letters.iter().enumerate() {
            // Which of them are copied changes from round to round.
            let transmit = if round >> n & 1 == 0 {
                expected.extend([b"abcd"[n]; 70]);
                Transmit::stored(*letter)
            } else {
                expected.extend(b"copied");
                Transmit::copied(b"copied")
            };
            let handed = reactor.send(ours, transmit).unwrap();
            assert!(handed == Handed::Now || n > 0, "{}", reactor.name());
            if round & 16 > 0 {
                reactor.submit();
            }
        }
        assert_eq!(receive(&mut reactor, theirs, expected.len()), expected);
    }
    assert!(reactor.bytes_taken(ours) > 200 * 4 * 6);
    // The end of the stream follows the last of them.
    reactor.send(ours, Transmit::stored(letters[0])).unwrap();
    reactor.send(ours, Transmit::stored(letters[1])).unwrap();
    reactor.finish(ours);
    assert_eq!(receive(&mut reactor, theirs, 140)[70..], [b'b'; 70]);
    assert_eq!(next(&mut reactor), (theirs, Seen::Ended(None)));
}

/// Stored bytes may be discarded as soon as they were handed in.
fn sends_what_is_discarded<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    for size in [10, 4_000_000, 1] {
        for _ in 0..3 {
            let stored = reactor.store(pattern(size));
            reactor.send(ours, Transmit::stored(stored)).unwrap();
            reactor.discard(stored);
            assert_eq!(
                reactor.send(ours, Transmit::stored(stored)),
                Err(Refused::Stale)
            );
            // Memory that is free is used again.
            let other = reactor.store(vec![0xff; size]);
            assert!(receive(&mut reactor, theirs, size) == pattern(size));
            reactor.discard(other);
        }
    }
    // Closing with a send that waits for room, and storing what takes its place.
    let stored = reactor.store(vec![0; 32_000_000]);
    reactor.send(ours, Transmit::stored(stored)).unwrap();
    reactor.submit();
    reactor.discard(stored);
    reactor.close(ours);
    loop {
        match next(&mut reactor) {
            (key, Seen::Received(_)) if key == theirs => {}
            (key, Seen::Ended(None)) if key == theirs => break,
            other => panic!("{}: {other:?}", reactor.name()),
        }
    }
}

/// Every connection is closed and opened again within one turn: there is a place for each.
pub(super) fn reconnects_at_once<R: Reactor>(reactor: &mut R, target: SocketAddr) {
    let count = 16;
    let connect = |reactor: &mut R| -> Vec<Key> {
        (0..count)
            .map(|_| reactor.connect(target, None).unwrap())
            .collect()
    };
    let mut keys = connect(reactor);
    for _ in 0..3 {
        for _ in 0..count {
            assert_eq!(next(reactor).1, Seen::Connected, "{}", reactor.name());
        }
        for _ in 0..4 {
            for key in keys {
                reactor.close(key);
            }
            keys = connect(reactor);
        }
    }
    let mut connected: Vec<Key> = (0..count).map(|_| next(reactor).0).collect();
    connected.sort_unstable();
    keys.sort_unstable();
    assert_eq!(connected, keys, "{}", reactor.name());
}

/// Leaves this process so few descriptors that a test can use up all of them.
fn limit_descriptors() {
    let limit = libc::rlimit {
        rlim_cur: 512,
        rlim_max: 512,
    };
    // SAFETY: the limit is read, and lives through the call.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Waits until an accept fails. In one batch no listener is asked twice, so no more fail than
/// listeners for which somebody waits.
fn fails_to_accept<R: Listen>(reactor: &mut R, listeners: u64) {
    let deadline = reactor.now() + Span::from_s(20);
    let before = reactor.activity().accepts_failed;
    let mut failed = 0;
    while failed == 0 {
        let now = reactor.wait(deadline);
        assert!(now < deadline, "{}: no accept failed", reactor.name());
        assert!(reactor.next().is_none(), "{}", reactor.name());
        failed = reactor.activity().accepts_failed - before;
    }
    assert!(failed <= listeners, "{}: {failed}", reactor.name());
}

/// One batch without a completion. Descriptors of what was closed before are free after it.
fn nothing_happens<R: Reactor>(reactor: &mut R) {
    let deadline = reactor.now() + Span::from_ms(1);
    reactor.wait(deadline);
    assert!(reactor.next().is_none(), "{}", reactor.name());
}

/// The next completion, for a caller that never has time to wait.
fn next_in_haste<R: Reactor>(reactor: &mut R) -> (Key, Seen) {
    let deadline = reactor.now() + Span::from_s(20);
    loop {
        if let Some(Completion { key, event, .. }) = reactor.next() {
            return (key, owned(event));
        }
        let now = reactor.wait(Instant::ZERO);
        assert!(now < deadline, "{}: nothing happened", reactor.name());
    }
}

/// Without descriptors accepts fail; when there are some again, those who waited are accepted, and
/// no listener is asked twice. No other connection need be open.
fn recovers_from_want_of_descriptors<R: Listen>(mut reactor: R) {
    let addresses = [listening(&mut reactor), listening(&mut reactor)];
    let mut waiting = vec![TcpStream::connect(addresses[0]).unwrap()];
    // The kernel hands it to the reactor, which accepts it first.
    let (first, seen) = next(&mut reactor);
    assert_eq!(seen, Seen::Accepted);
    reactor.close(first);
    nothing_happens(&mut reactor);
    for take in [next, next_in_haste, next] {
        // Sockets of our own first: then nothing is left.
        let targets = [addresses[0], addresses[1], addresses[0]];
        let sockets = targets.map(|target| socket::outgoing(target, None).unwrap());
        let mut used_up = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            used_up.push(file);
        }
        for ((socket, target), listeners) in sockets.iter().zip(targets).zip([1, 2, 2]) {
            socket::connect(socket, target).unwrap();
            fails_to_accept(&mut reactor, listeners);
        }
        for _ in 0..3 {
            fails_to_accept(&mut reactor, 2);
        }
        drop(used_up);
        for _ in targets {
            let (key, seen) = take(&mut reactor);
            assert_eq!(seen, Seen::Accepted, "{}", reactor.name());
            reactor.close(key);
        }
        waiting.extend(sockets.into_iter().map(TcpStream::from));
        // Nobody else is there, and both listeners still stand.
        nothing_happens(&mut reactor);
    }
    reactor.stop_listening();
    for address in addresses {
        assert!(TcpStream::connect(address).is_err(), "{}", reactor.name());
    }
}

/// Runs one test of this binary in a process of its own, which may use up all descriptors.
fn alone(name: &str) {
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program)
        .args(["--exact", "--nocapture", name])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {text}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{name}: {text}");
}

/// Says to a test that it runs in a process of its own.
const ALONE: &str = "TRIATHLON_TEST_ALONE";

fn asks_for_room_for_a_copy<R: Listen>(mut reactor: R) {
    let (ours, theirs) = both_ends(&mut reactor);
    let stored = reactor.store(vec![b'x'; 32_000_000]);
    reactor.send(ours, Transmit::stored(stored)).unwrap();
    for key in [ours, theirs] {
        assert!(reactor.may_send(key), "{}", reactor.name());
    }
    reactor.send(ours, Transmit::copied(b"the only")).unwrap();
    for key in [ours, theirs] {
        assert!(!reactor.may_send(key), "{}", reactor.name());
        assert_eq!(
            reactor.send(key, Transmit::copied(b"x")),
            Err(Refused::Buffers)
        );
    }
}

fn bounds_its_queues<R: Listen>(mut reactor: R) {
    let (ours, _) = both_ends(&mut reactor);
    assert_eq!(
        reactor.send(ours, Transmit::copied(&[0; 257])),
        Err(Refused::TooLong)
    );
    let stored = reactor.store(vec![b'x'; 32_000_000]);
    for _ in 0..SENDS_MAX {
        assert!(reactor.may_send(ours), "{}", reactor.name());
        reactor.send(ours, Transmit::stored(stored)).unwrap();
    }
    assert!(!reactor.may_send(ours), "{}", reactor.name());
    assert_eq!(
        reactor.send(ours, Transmit::stored(stored)),
        Err(Refused::Queue)
    );
    reactor.reset(ours);
    assert!(!reactor.may_send(ours), "{}", reactor.name());
    let slots = reactor.slots();
    let refused = (0..=slots)
        .find_map(|_| reactor.connect(nobody(), None).err())
        .expect("there is a bound");
    assert_eq!(refused, Refused::Slots);
}

/// The whole suite for one backend; `$new` gives none where this system does not permit it.
macro_rules! suite {
    ($backend:ident, $new:expr) => {
        mod $backend {
            use super::*;

            fn run(test: impl FnOnce(Box<dyn Fn() -> Made>)) {
                if $new(&settings()).is_some() {
                    test(Box::new(|| $new(&settings()).expect("it just worked")));
                }
            }

            #[test]
            fn echo() {
                run(|new| with_peer(new(), 1, echoes));
            }

            #[test]
            fn large_bodies() {
                run(|new| with_peer(new(), 1, receives_large_bodies));
            }

            #[test]
            fn skip() {
                run(|new| with_peer(new(), 1, skips_exactly));
            }

            #[test]
            fn ends() {
                run(|new| with_peer(new(), 2, tells_how_streams_end));
            }

            #[test]
            fn many() {
                run(|new| with_peer(new(), 300, |r, target| keeps_many_apart(r, target, 100)));
            }

            #[test]
            fn refusal() {
                run(|new| tells_refusals(&mut new(), nobody()));
            }

            #[test]
            fn pause() {
                run(|new| pauses(new()));
            }

            #[test]
            fn both_sides() {
                run(|new| serves_itself(new()));
            }

            #[test]
            fn partial_sends() {
                run(|new| sends_what_does_not_fit(new()));
            }

            #[test]
            fn begun() {
                run(|new| tells_when_a_send_begins(new()));
            }

            #[test]
            fn order() {
                run(|new| keeps_the_order_of_sends(new()));
            }

            #[test]
            fn discarded() {
                run(|new| sends_what_is_discarded(new()));
            }

            #[test]
            fn descriptors() {
                if std::env::var_os(ALONE).is_some() {
                    limit_descriptors();
                    run(|new| recovers_from_want_of_descriptors(new()));
                } else {
                    let (_, path) = module_path!().split_once("::").unwrap();
                    alone(&format!("{path}::descriptors"));
                }
            }

            #[test]
            fn reconnect() {
                let settings = Settings {
                    connections: 16,
                    ..settings()
                };
                if let Some(mut reactor) = $new(&settings) {
                    // Nobody accepts, so the kernel keeps them all in line.
                    let address = (Ipv4Addr::LOCALHOST, 0).into();
                    let listener = socket::listen(address, 4_096, false).unwrap();
                    let address = socket::local_address(&listener).unwrap();
                    reconnects_at_once(&mut reactor, address);
                }
            }

            #[test]
            fn room() {
                let settings = Settings {
                    copies: 1,
                    ..settings()
                };
                if let Some(reactor) = $new(&settings) {
                    asks_for_room_for_a_copy(reactor);
                }
            }

            #[test]
            fn files() {
                run(|new| sends_files(new()));
            }

            #[test]
            fn deadlines() {
                run(|new| waits_until_its_deadline(new()));
            }

            #[test]
            fn waker() {
                run(|new| wakes_up(new()));
            }

            #[test]
            fn bounds() {
                run(|new| bounds_its_queues(new()));
            }
        }
    };
}

/// What differs over a Unix socket: how it is found, and that the kernel drops nothing.
mod unix {
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};

    use super::*;

    /// A path that no other test has.
    fn path(name: &str) -> PathBuf {
        let own = format!("triathlon-sys-{}-{name}", std::process::id());
        std::env::temp_dir().join(own)
    }

    fn anywhere() -> SocketAddr {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    }

    fn with_peer<R: Reactor>(mut reactor: R, path: &Path, connections: usize, run: Test<R>) {
        let listener = UnixListener::bind(path).unwrap();
        assert_eq!(socket::unix::owner(path).unwrap(), std::process::id());
        drop(listener.accept().unwrap());
        let thread = std::thread::spawn(move || {
            let accepted = (0..connections).map(|_| listener.accept().unwrap().0);
            let serving: Vec<_> = accepted
                .map(|stream| std::thread::spawn(move || serve(stream)))
                .collect();
            for thread in serving {
                thread.join().unwrap();
            }
        });
        run(&mut reactor, anywhere());
        drop(reactor);
        thread.join().unwrap();
        std::fs::remove_file(path).unwrap();
    }

    type Test<R> = fn(&mut R, SocketAddr);

    /// Where nobody listens any more, and where nobody ever did.
    fn is_refused<R: Reactor>(at: impl Fn(&Path) -> R, name: &str) {
        let path = path(name);
        drop(UnixListener::bind(&path).unwrap());
        tells_refusals(&mut at(&path), anywhere());
        std::fs::remove_file(&path).unwrap();
        let mut reactor = at(&path);
        let key = reactor.connect(anywhere(), None).unwrap();
        let missing = Seen::ConnectFailed(Errno::new(libc::ENOENT));
        assert_eq!(next(&mut reactor), (key, missing));
    }

    /// A queue of connections to be accepted that is full fails a connect at once, and does not
    /// block it.
    fn queue_is_full<R: Reactor>(at: impl Fn(&Path) -> R, name: &str) {
        let path = path(name);
        let listener = OwnedFd::from(UnixListener::bind(&path).unwrap());
        rustix::net::listen(&listener, 1).unwrap();
        let mut reactor = at(&path);
        let mut told = Vec::new();
        for _ in 0..4 {
            reactor.connect(anywhere(), None).unwrap();
            told.push(next(&mut reactor).1);
        }
        let full = Seen::ConnectFailed(Errno::new(libc::EAGAIN));
        assert_eq!(told[..2], [Seen::Connected, Seen::Connected]);
        assert_eq!(told[2..], [full.clone(), full]);
        drop(reactor);
        std::fs::remove_file(&path).unwrap();
    }

    fn all<R: Reactor>(make: impl Fn() -> Option<R>, at: fn(R, Option<&Path>) -> io::Result<R>) {
        let Some(reactor) = make() else {
            return;
        };
        let name = reactor.name();
        let at = |path: &Path| at(make().expect("it just worked"), Some(path)).unwrap();
        for (test, connections, run) in [
            ("echo", 1, echoes as Test<R>),
            ("body", 1, receives_large_bodies),
            ("skip", 1, skips_exactly),
            ("many", 60, |r, target| keeps_many_apart(r, target, 20)),
        ] {
            let path = path(&format!("{name}-{test}"));
            with_peer(at(&path), &path, connections, run);
        }
        is_refused(at, &format!("{name}-refused"));
        queue_is_full(at, &format!("{name}-full"));
    }

    #[test]
    fn readiness() {
        all(|| Readiness::new(&settings()).ok(), Readiness::leading_to);
    }

    #[test]
    fn uring() {
        all(|| Uring::new(&settings()).ok(), Uring::leading_to);
    }

    #[test]
    fn a_path_that_is_too_long_is_refused() {
        let long = "x".repeat(socket::unix::PATH_MOST + 1);
        let reactor = Readiness::new(&settings()).unwrap();
        assert!(reactor.leading_to(Some(Path::new(&long))).is_err());
    }
}

mod epoll {
    use super::*;
    type Made = Readiness;
    suite!(readiness, |settings| Readiness::new(settings).ok());
}

mod io_uring {
    use super::*;
    type Made = Uring;
    suite!(uring, |settings| Uring::new(settings).ok());

    /// As on a kernel that does not carry silent sends out as it should.
    mod told {
        use super::*;
        suite!(uring, |settings| Uring::new(settings)
            .ok()
            .map(Uring::without_silence));
    }

    #[test]
    fn where_it_is_missing_a_sentence_says_why() {
        if let Err(unavailable) = Uring::new(&settings()) {
            assert!(unavailable.to_string().len() > 30, "{unavailable}");
        }
    }
}
