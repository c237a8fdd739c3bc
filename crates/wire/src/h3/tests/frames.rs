use proptest::prelude::*;

use crate::h3::frame::{Piece, Reader, Stop, kind, number, put_head, put_number};

/// What a stream came to: content joined, other frames by themselves.
fn read(bytes: &[u8], cuts: &[usize], most: usize) -> (Vec<(u64, Vec<u8>)>, bool) {
    let mut reader = Reader::default();
    let mut seen: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut from = 0;
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    for end in ends {
        let taken = reader.take(&bytes[from..end], most, |piece| {
            match piece {
                Piece::Begin(kind) => seen.push((kind, Vec::new())),
                Piece::Content(content) => seen.last_mut().unwrap().1.extend(content),
                Piece::Whole(kind, payload) => {
                    assert_eq!(seen.last().unwrap(), &(kind, Vec::new()));
                    seen.last_mut().unwrap().1.extend(payload);
                }
            }
            Ok::<(), ()>(())
        });
        if let Err(stop) = taken {
            assert_eq!(stop, Stop::TooLong);
            return (seen, false);
        }
        from = end;
    }
    (seen, reader.is_between())
}

#[test]
fn a_frame_longer_than_the_limit_is_not_held() {
    let mut stream = Vec::new();
    put_head(&mut stream, kind::HEADERS, 101);
    stream.extend_from_slice(&[0; 101]);
    let (seen, is_whole) = read(&stream, &[], 100);
    assert_eq!((seen.len(), is_whole), (1, false));
    // Content may be of any length, and what is dropped, too.
    for kind in [kind::DATA, 0x21] {
        let mut stream = Vec::new();
        put_head(&mut stream, kind, 101);
        stream.extend_from_slice(&[0; 101]);
        assert!(read(&stream, &[], 100).1);
    }
}

proptest! {
    #[test]
    fn numbers_are_read_as_they_were_written(value in 0u64..1 << 62) {
        let mut out = Vec::new();
        put_number(&mut out, value);
        let mut rest = out.as_slice();
        prop_assert_eq!(number(&mut rest), Some(value));
        prop_assert!(rest.is_empty());
        for length in 0..out.len() {
            prop_assert_eq!(number(&mut &out[..length]), None);
        }
    }

    #[test]
    fn any_cut_gives_the_same(
        frames in proptest::collection::vec(
            (prop_oneof![0u64..16, 0u64..1 << 62], proptest::collection::vec(any::<u8>(), 0..90)),
            0..8,
        ),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        let mut stream = Vec::new();
        for (kind, payload) in &frames {
            put_head(&mut stream, *kind, payload.len());
            stream.extend_from_slice(payload);
        }
        let whole = read(&stream, &[], 100);
        prop_assert!(whole.1);
        prop_assert_eq!(whole.0.len(), frames.len());
        prop_assert_eq!(read(&stream, &cuts, 100), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(
        stream in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        prop_assert_eq!(read(&stream, &cuts, 60), read(&stream, &[], 60));
    }
}
