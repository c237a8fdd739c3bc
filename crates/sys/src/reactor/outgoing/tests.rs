use super::*;

fn outgoing() -> Outgoing {
    Outgoing::new(&Settings {
        connections: 1,
        copies: 2,
        copy_bytes: 4,
    })
    .unwrap()
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

fn queue_of(outgoing: &mut Outgoing, lengths: &[usize]) -> Queue {
    let mut queue = Queue::default();
    for length in lengths {
        let stored = outgoing.store(vec![0; *length]);
        let piece = outgoing.piece(Transmit::stored(stored)).unwrap();
        outgoing.append(&mut queue, None, piece);
        outgoing.discard(stored);
    }
    queue
}

#[test]
fn queues_share_the_pool_and_keep_their_order() {
    let mut outgoing = Outgoing::new(&Settings {
        connections: 4,
        copies: 4,
        copy_bytes: 1,
    })
    .unwrap();
    for round in 0..3 {
        let mut one = queue_of(&mut outgoing, &[2, 3]);
        let mut two = queue_of(&mut outgoing, &[5, 6, 7]);
        let stored = outgoing.store(vec![0; 1]);
        let first = outgoing.remainder(Lent::Stored(stored), 0, false).unwrap();
        outgoing.discard(stored);
        outgoing.prepend(&mut one, None, first);
        let mut three = Queue::default();
        let stored = outgoing.store(vec![0; 4]);
        let only = outgoing.remainder(Lent::Stored(stored), 3, false).unwrap();
        outgoing.discard(stored);
        assert!(outgoing.may_append(), "{round}");
        outgoing.prepend(&mut three, None, only);
        for (queue, lengths) in [
            (&mut one, &[1, 2, 3][..]),
            (&mut two, &[5, 6, 7]),
            (&mut three, &[4]),
        ] {
            assert_eq!(queue.len(), lengths.len());
            for length in lengths {
                assert_eq!(outgoing.front(queue).unwrap().length, *length);
                outgoing.drop_front(queue);
            }
            assert!(queue.is_empty() && outgoing.front(queue).is_none());
        }
        assert!(outgoing.stored.is_empty());
    }
}

#[test]
fn an_abandoned_piece_stays_until_the_kernel_is_done() {
    let mut outgoing = outgoing();
    let queue = queue_of(&mut outgoing, &[2, 3, 4]);
    assert!(!outgoing.may_append(), "one connection and two copies");
    let first = queue.front();
    outgoing.abandon(queue);
    assert_eq!(outgoing.stored.len(), 1);
    outgoing.end_of_piece(first);
    assert!(outgoing.stored.is_empty());
    assert_eq!(outgoing.pool.used, 0);
}

#[test]
fn condemned_bytes_stay_until_they_are_freed() {
    let mut outgoing = outgoing();
    let stored = outgoing.store(b"hello".to_vec());
    outgoing.condemn(stored);
    assert!(outgoing.lend(&Source::Stored(stored)).is_none());
    let piece = outgoing.remainder(Lent::Stored(stored), 1, false).unwrap();
    outgoing.end_turn();
    assert_eq!(bytes_of(&outgoing, &piece), b"ello");
    outgoing.release(&piece);
    assert!(outgoing.stored.is_empty());
}

#[test]
fn copies_of_silent_sends_stay_until_the_end_of_the_turn() {
    let mut outgoing = outgoing();
    for _ in 0..3 {
        let whole = outgoing.lend(&Source::Copied(b"ab")).unwrap();
        let part = outgoing.lend(&Source::Copied(b"cdef")).unwrap();
        assert!(outgoing.lend(&Source::Copied(b"g")).is_none());
        assert!(!outgoing.has_room());
        let piece = outgoing.remainder(part, 3, false).unwrap();
        assert_eq!(outgoing.lent(whole), b"ab");
        outgoing.end_turn();
        // What remains of a send is no more that of a silent one.
        assert_eq!(outgoing.free.len(), 1);
        assert_eq!(bytes_of(&outgoing, &piece), b"f");
        outgoing.release(&piece);
        assert_eq!(outgoing.free.len(), 2);
    }
    assert!(outgoing.lend(&Source::Copied(b"12345")).is_none());
}
