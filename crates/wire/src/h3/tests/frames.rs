use proptest::prelude::*;

use crate::h3::Code;
use crate::h3::frame::{Piece, Reader, Stop, kind, number, put_head, put_number};
use crate::h3::one_way::OneWay;

/// The stream in slices that end at the cuts.
fn slices<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut from = 0;
    let slice = |end| &bytes[std::mem::replace(&mut from, end)..end];
    ends.into_iter().map(slice).collect()
}

/// Frames by their kinds, with what they hold.
type Frames = Vec<(u64, Vec<u8>)>;

/// What a stream that goes one way came to, and how it broke.
fn read_one_way(bytes: &[u8], cuts: &[usize]) -> (Frames, Result<(), Code>) {
    let mut one = OneWay::new(quinn_proto::VarInt::from_u32(3).into());
    let mut seen = Frames::new();
    for slice in slices(bytes, cuts) {
        let taken = one.take(slice, &[], Code::ID).and_then(|rest| {
            let Some(rest) = rest else { return Ok(()) };
            one.take_control(rest, |piece| {
                match piece {
                    Piece::Begin(kind) => seen.push((kind, Vec::new())),
                    Piece::Content(some) | Piece::Whole(_, some) => {
                        seen.last_mut().unwrap().1.extend(some);
                    }
                }
                Ok::<(), Code>(())
            })
        });
        if taken.is_err() {
            return (seen, taken);
        }
    }
    (seen, Ok(()))
}

/// What a stream came to: content joined, other frames by themselves.
fn read(bytes: &[u8], cuts: &[usize], most: usize) -> (Vec<(u64, Vec<u8>)>, bool) {
    let mut reader = Reader::default();
    let mut seen: Vec<(u64, Vec<u8>)> = Vec::new();
    for slice in slices(bytes, cuts) {
        let taken = reader.take(slice, most, |piece| {
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
    fn any_cut_of_a_stream_that_goes_one_way_gives_the_same(
        kind in 0u64..5,
        rest in proptest::collection::vec(prop_oneof![Just(0x20u8), 0u8..9, any::<u8>()], 0..200),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        // The kind in a form that is longer than it has to be, which can be cut.
        let mut stream = vec![0x40, u8::try_from(kind).unwrap()];
        stream.extend(rest);
        prop_assert_eq!(read_one_way(&stream, &cuts), read_one_way(&stream, &[]));
    }

    #[test]
    fn no_bytes_make_it_panic(
        stream in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
    ) {
        prop_assert_eq!(read(&stream, &cuts, 60), read(&stream, &[], 60));
    }
}
