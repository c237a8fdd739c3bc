use super::*;

fn outgoing() -> Outgoing {
    Outgoing::new(&Settings {
        connections: 1,
        copies: 2,
        copy_bytes: 4,
    })
}

fn bytes_of(outgoing: &Outgoing, piece: &Piece) -> Vec<u8> {
    match outgoing.rest(piece) {
        Rest::Bytes(bytes) => bytes.to_vec(),
        Rest::File(..) => panic!("not a file"),
    }
}

#[test]
fn stored_bytes_outlive_their_discarding_while_in_use() {
    let mut outgoing = outgoing();
    let stored = outgoing.store(b"hello".to_vec());
    let mut piece = outgoing.piece(Transmit::stored(stored)).unwrap();
    outgoing.discard(stored);
    piece.done = 2;
    assert_eq!(bytes_of(&outgoing, &piece), b"llo");
    assert_eq!(
        outgoing.piece(Transmit::stored(stored)).unwrap_err(),
        Refused::Stale
    );
    outgoing.release(&piece);
    assert!(outgoing.stored.is_empty());
}

#[test]
fn the_pool_of_copies_is_bounded_and_reused() {
    let mut outgoing = outgoing();
    assert_eq!(
        outgoing.piece(Transmit::copied(b"12345")).unwrap_err(),
        Refused::TooLong
    );
    let first = outgoing.piece(Transmit::copied(b"ab")).unwrap();
    let second = outgoing.piece(Transmit::copied(b"cd")).unwrap();
    assert_eq!(bytes_of(&outgoing, &first), b"ab");
    assert_eq!(bytes_of(&outgoing, &second), b"cd");
    assert_eq!(
        outgoing.piece(Transmit::copied(b"ef")).unwrap_err(),
        Refused::Buffers
    );
    outgoing.release(&first);
    assert!(outgoing.piece(Transmit::copied(b"ef")).is_ok());
}

#[test]
fn a_queue_keeps_its_order_and_its_bound() {
    let mut outgoing = outgoing();
    let stored: Vec<Stored> = (0..SENDS_MAX + 1)
        .map(|n| outgoing.store(vec![0; n + 1]))
        .collect();
    let mut queue = Queue::default();
    for round in 0..3 {
        for stored in &stored[..SENDS_MAX] {
            assert!(!queue.is_full(), "{round}");
            queue.push(outgoing.piece(Transmit::stored(*stored)).unwrap());
        }
        assert!(queue.is_full());
        for n in 0..SENDS_MAX - 1 {
            let piece = queue.pop().unwrap();
            assert_eq!(piece.length, n as u64 + 1);
            outgoing.release(&piece);
        }
        queue.clear(&mut outgoing);
        assert!(queue.is_empty());
    }
}
