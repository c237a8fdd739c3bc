//! Encoded answers that are decoded: one in so many is kept until it is complete, and what it
//! decodes to is held against what is expected.
//!
//! What is kept is the content as it was sent, so that a stream costs no decoder of its own while
//! it comes, and all of it is bounded: what finds no room is counted, and not decoded. Decoding
//! takes place when an answer is complete, after its end was timed; whoever comes after it waits,
//! which a generator that is asked for this must have the time for.

mod codings;

use model::Coding;
use model::coding::Decoded;
use model::plan::Plan;
use model::units::Bytes;
use sha2::{Digest as _, Sha256};
use wire::StreamId;

pub use self::codings::Fault;
use crate::exchange::Cause;
use crate::expectation::Plain;

/// Content of one answer that is kept, as it was sent.
const ANSWER_MOST: usize = 16 << 20;
/// The same of all that one worker is receiving.
const KEPT_MOST: usize = 64 << 20;
/// No content decodes to more than this: at some 500 MB/s, to find that out takes half a second.
const DECODED_MOST: u64 = 256 << 20;

/// Keeps and decodes the answers of one worker.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Of each class one in so many is decoded, if any is, and how many of it have begun.
    classes: Box<[(Option<u32>, u64)]>,
    /// Redirects are followed, so that some of those that begin lead to others, by a rule.
    leads: bool,
    /// What each exchange has received, by its place and stream; none where nothing is kept.
    kept: Box<[Option<Vec<u8>>]>,
    at_once: usize,
    /// Bytes in all of them.
    held: usize,
    decoded: Decoded,
}

impl Decoder {
    /// That of `plan` for so many connections, if it decodes anything.
    pub(crate) fn new(plan: &Plan, connections: u32) -> Option<Self> {
        let each = plan.requests().iter();
        let classes: Box<[_]> = each.map(|one| (one.expect.decode_one_in, 0)).collect();
        classes.iter().find_map(|(one_in, _)| *one_in)?;
        let at_once = plan.file().at_once() as usize;
        Some(Self {
            classes,
            leads: plan.file().follow.is_some(),
            kept: vec![None; connections as usize * at_once].into(),
            at_once,
            held: 0,
            decoded: Decoded::default(),
        })
    }

    /// One more exchange of `class` begins: whether it is decoded, should it be encoded.
    pub(crate) fn begin(&mut self, class: u16) -> bool {
        let (one_in, begun) = &mut self.classes[usize::from(class)];
        // Fibonacci hashing: no rule of redirects has the same period.
        let position = match self.leads {
            true => begun.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
            false => *begun,
        };
        *begun += 1;
        one_in.is_some_and(|one_in| position.is_multiple_of(u64::from(one_in)))
    }

    /// The head of an encoded answer has come.
    pub(crate) fn open(&mut self, place: u32, stream: StreamId) {
        self.let_go(place, stream);
        let index = self.index(place, stream);
        self.kept[index] = Some(Vec::new());
    }

    /// Content of it has come; whether it is kept.
    pub(crate) fn keep(&mut self, place: u32, stream: StreamId, bytes: &[u8]) -> bool {
        let index = self.index(place, stream);
        let Some(kept) = &mut self.kept[index] else {
            return false;
        };
        let fits = kept.len() + bytes.len() <= ANSWER_MOST;
        if fits && self.held + bytes.len() <= KEPT_MOST {
            kept.extend_from_slice(bytes);
            self.held += bytes.len();
            return true;
        }
        self.decoded.left_out += 1;
        self.let_go(place, stream);
        false
    }

    /// It is complete, or was wrong already: what is wrong with its content.
    pub(crate) fn close(
        &mut self,
        place: u32,
        stream: StreamId,
        coding: Coding,
        plain: Option<&Plain>,
    ) -> Option<Cause> {
        let kept = self.let_go(place, stream)?;
        let result = compare(coding, &kept, plain?, DECODED_MOST);
        self.decoded.answers += 1;
        match result {
            Ok(length) => {
                self.decoded.bytes += Bytes::new(length);
                None
            }
            Err(cause) => Some(cause),
        }
    }

    /// How many were decoded.
    pub(crate) const fn told(&self) -> Decoded {
        self.decoded
    }

    fn let_go(&mut self, place: u32, stream: StreamId) -> Option<Vec<u8>> {
        let index = self.index(place, stream);
        let kept = self.kept[index].take()?;
        self.held -= kept.len();
        Some(kept)
    }

    const fn index(&self, place: u32, stream: StreamId) -> usize {
        place as usize * self.at_once + stream.0 as usize
    }
}

/// Decodes `bytes` and holds them against `plain`; how many they are then.
fn compare(coding: Coding, bytes: &[u8], plain: &Plain, most: u64) -> Result<u64, Cause> {
    let (mut from, mut wrong) = (0, None);
    let decoded = codings::decode(coding, bytes, most, |piece| {
        wrong = plain.check_content(from, piece);
        from += piece.len() as u64;
        wrong.is_none()
    });
    if let Some(cause) = wrong {
        return Err(cause);
    }
    let length = decoded.map_err(|fault| Cause::Undecodable { coding, fault })?;
    plain.check_length(length).map_or(Ok(length), Err)
}

/// Content without its coding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    /// How it begins.
    pub(crate) content: Vec<u8>,
    pub(crate) length: u64,
    /// SHA-256 of all of it, hexadecimal.
    pub(crate) digest: String,
}

/// What `bytes` are without their coding; so many bytes of it are kept.
pub(crate) fn whole(coding: Coding, bytes: &[u8], keep: usize) -> Result<Whole, Fault> {
    let (mut content, mut hash) = (Vec::new(), Sha256::new());
    let length = codings::decode(coding, bytes, DECODED_MOST, |piece| {
        hash.update(piece);
        let room = keep.saturating_sub(content.len());
        content.extend_from_slice(&piece[..piece.len().min(room)]);
        true
    })?;
    Ok(Whole {
        content,
        length,
        digest: model::hex(&hash.finalize()),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use model::fixture;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn hello() -> Plain {
        Plain {
            length: Some(5),
            content: (*b"hello").into(),
            one_in: 1,
        }
    }

    fn decoder(one_in: u32) -> Decoder {
        let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
        file.expect.decode_one_in = Some(one_in);
        file.pipeline = 2;
        Decoder::new(&Plan::try_from(file).unwrap(), 3).expect("it decodes")
    }

    #[test]
    fn one_in_so_many_is_decoded() {
        let mut three = decoder(3);
        let drawn: Vec<bool> = (0..7).map(|_| three.begin(0)).collect();
        assert_eq!(drawn, [true, false, false, true, false, false, true]);
        let mut all = decoder(1);
        assert!((0..9).all(|_| all.begin(0)));
        let mut led = decoder(2);
        led.leads = true;
        let last_hops = (0..1_000).filter(|n| led.begin(0) && n % 2 == 1).count();
        assert!((200..300).contains(&last_hops), "{last_hops}");
        let none = Plan::try_from(fixture::plan("http://127.0.0.1:1/", &[])).unwrap();
        assert!(Decoder::new(&none, 3).is_none());
    }

    #[test]
    fn each_stream_keeps_its_own_content() {
        let mut decoder = decoder(1);
        let [one, other] = [StreamId(0), StreamId(1)];
        let [right, wrong] = [gzip(b"hello"), gzip(b"help!")];
        decoder.open(2, one);
        decoder.open(2, other);
        for (one_byte, other_byte) in right.iter().zip(&wrong) {
            assert!(decoder.keep(2, one, &[*one_byte]));
            assert!(decoder.keep(2, other, &[*other_byte]));
        }
        assert!(!decoder.keep(1, one, b"of nobody"));
        let close =
            |decoder: &mut Decoder, stream| decoder.close(2, stream, Coding::Gzip, Some(&hello()));
        assert_eq!(close(&mut decoder, one), None);
        let differs = Some(Cause::DecodedBody { at: 3 });
        assert_eq!(close(&mut decoder, other), differs);
        assert_eq!(close(&mut decoder, other), None, "it is closed already");
        assert_eq!(decoder.held, 0);
        let told = decoder.told();
        assert_eq!((told.answers, told.bytes.count(), told.left_out), (2, 5, 0));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut decoder = decoder(1);
        let much = vec![0; ANSWER_MOST];
        for place in 0..3 {
            decoder.open(place, StreamId(0));
            assert!(decoder.keep(place, StreamId(0), &much));
        }
        assert!(
            !decoder.keep(0, StreamId(0), b"x"),
            "more than one may have"
        );
        assert_eq!(decoder.held, 2 * ANSWER_MOST);
        decoder.held = KEPT_MOST;
        decoder.open(0, StreamId(1));
        assert!(
            !decoder.keep(0, StreamId(1), b"x"),
            "more than all may have"
        );
        assert_eq!(decoder.told().left_out, 2);
    }

    #[test]
    fn content_is_held_against_what_is_expected() {
        let check = |bytes: &[u8], plain: &Plain, expected: Result<u64, Cause>| {
            assert_eq!(compare(Coding::Gzip, bytes, plain, 100), expected);
        };
        check(&gzip(b"hello"), &hello(), Ok(5));
        check(&gzip(b"hallo"), &hello(), Err(Cause::DecodedBody { at: 1 }));
        let length = |actual| Cause::DecodedLength {
            actual,
            expected: 5,
        };
        check(&gzip(b"hello you"), &hello(), Err(length(9)));
        check(&gzip(b"hell"), &hello(), Err(length(4)));
        let undecodable = |fault| Cause::Undecodable {
            coding: Coding::Gzip,
            fault,
        };
        check(b"hello", &hello(), Err(undecodable(Fault::Cut)));
        check(
            b"hello, I am no gzip at all",
            &hello(),
            Err(undecodable(Fault::Broken)),
        );
        let any = Plain {
            one_in: 1,
            ..Plain::default()
        };
        check(&gzip(b"whatever"), &any, Ok(8));
        let bomb = gzip(&[0; 101]);
        check(&bomb, &any, Err(undecodable(Fault::TooLong(100))));
    }
}
