//! Content without its coding, piece by piece, in bounded memory.
//!
//! What decodes to very much more than it is (a bomb) costs the time until a bound, and no memory:
//! pieces of [`PIECE`] are handed on and forgotten, and windows are as large as web servers may
//! make them, 16 MiB (RFC 7932 §9.1) or 8 MiB (RFC 9659 §3).

use std::fmt;
use std::io::{ErrorKind, Read};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use model::Coding;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// So many decoded bytes are handed on at once.
pub(super) const PIECE: usize = 64 * 1024;

/// The largest window of Zstandard as a content coding (RFC 9659 §3).
const ZSTD_WINDOW_MOST: u64 = 8 << 20;

/// Why content cannot be decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// It breaks its coding.
    Broken,
    /// It ends within its coding.
    Cut,
    /// It has decoded to so many bytes, and there is more.
    TooLong(u64),
    /// We do not know how.
    Unknown,
    /// It wants more memory than a content coding may.
    Window,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken => f.write_str("it is malformed"),
            Self::Cut => f.write_str("it ends too early"),
            Self::TooLong(most) => write!(f, "it decodes to more than {most} bytes"),
            Self::Unknown => f.write_str("only gzip, br, zstd and deflate can be decoded"),
            Self::Window => f.write_str("it needs a larger window than its coding allows"),
        }
    }
}

/// Hands the content that `bytes` are in `coding` to `each`, in order, until that wants no more.
/// Returns how many bytes that were; more than `most` are a fault. Content of no bytes is nothing
/// in each coding, as a HEAD has it.
pub(super) fn decode(
    coding: Coding,
    bytes: &[u8],
    most: u64,
    each: impl FnMut(&[u8]) -> bool,
) -> Result<u64, Fault> {
    let mut told = Told {
        most,
        length: 0,
        each,
    };
    if bytes.is_empty() {
        return Ok(0);
    }
    match coding {
        Coding::Identity => told.tell(bytes).map(|_| ()),
        Coding::Br => brotli(bytes, &mut told),
        Coding::Deflate => told.drain(ZlibDecoder::new(bytes)).map(|_| ()),
        Coding::Gzip => told.drain(MultiGzDecoder::new(bytes)).map(|_| ()),
        Coding::Zstd => zstd(bytes, &mut told),
        Coding::Other => Err(Fault::Unknown),
    }?;
    Ok(told.length)
}

/// Who is told decoded content, and how much was.
struct Told<F> {
    most: u64,
    length: u64,
    each: F,
}

impl<F: FnMut(&[u8]) -> bool> Told<F> {
    /// Whether more is wanted.
    fn tell(&mut self, piece: &[u8]) -> Result<bool, Fault> {
        self.length += piece.len() as u64;
        if self.length > self.most {
            return Err(Fault::TooLong(self.most));
        }
        Ok((self.each)(piece))
    }

    /// Tells all that comes `from` there; whether more is wanted.
    fn drain(&mut self, mut from: impl Read) -> Result<bool, Fault> {
        let mut piece = vec![0; PIECE];
        loop {
            match from.read(&mut piece) {
                Ok(0) => return Ok(true),
                Ok(count) => {
                    if !self.tell(&piece[..count])? {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(Fault::Cut),
                Err(_) => return Err(Fault::Broken),
            }
        }
    }
}

fn brotli<F: FnMut(&[u8]) -> bool>(bytes: &[u8], told: &mut Told<F>) -> Result<(), Fault> {
    let alloc = StandardAlloc::default;
    let mut state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc> =
        BrotliState::new_strict(alloc(), alloc(), alloc());
    let mut piece = vec![0; PIECE];
    let (mut left, mut at, mut total) = (bytes.len(), 0, 0);
    loop {
        let (mut room, mut end) = (piece.len(), 0);
        let result = BrotliDecompressStream(
            &mut left, &mut at, bytes, &mut room, &mut end, &mut piece, &mut total, &mut state,
        );
        if end > 0 && !told.tell(&piece[..end])? {
            return Ok(());
        }
        match result {
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Err(Fault::Cut),
            BrotliResult::ResultFailure => return Err(Fault::Broken),
            // RFC 7932 §9.1: nothing follows the last meta-block.
            BrotliResult::ResultSuccess if left > 0 => return Err(Fault::Broken),
            BrotliResult::ResultSuccess => return Ok(()),
        }
    }
}

/// Frames, one after the other (RFC 8878 §3.1).
fn zstd<F: FnMut(&[u8]) -> bool>(mut bytes: &[u8], told: &mut Told<F>) -> Result<(), Fault> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(ZSTD_WINDOW_MOST);
    while !bytes.is_empty() {
        let frame = match StreamingDecoder::new_with_decoder(&mut bytes, &mut decoder) {
            Ok(frame) => frame,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                bytes = bytes.get(length..).ok_or(Fault::Cut)?;
                continue;
            }
            Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(Fault::Window),
            Err(_) => return Err(Fault::Broken),
        };
        if !told.drain(frame)? {
            return Ok(());
        }
        let said = decoder.get_checksum_from_data();
        if said.is_some() && said != decoder.get_calculated_checksum() {
            return Err(Fault::Broken);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const TEXT: &[u8] = b"what is said again and again and again is said again";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn all(coding: Coding, bytes: &[u8], most: u64) -> Result<Vec<u8>, Fault> {
        let mut content = Vec::new();
        let keep = |piece: &[u8]| {
            content.extend_from_slice(piece);
            true
        };
        let length = decode(coding, bytes, most, keep)?;
        assert_eq!(length, content.len() as u64);
        Ok(content)
    }

    /// Each coding with what it makes of [`TEXT`].
    fn encoded() -> [(Coding, Vec<u8>); 4] {
        [
            (Coding::Br, BR.to_vec()),
            (Coding::Deflate, deflate(TEXT)),
            (Coding::Gzip, gzip(TEXT)),
            (Coding::Zstd, zstd(TEXT)),
        ]
    }

    /// [`TEXT`], by the reference implementation of Brotli at quality 11.
    const BR: &[u8] = &[
        27, 51, 0, 248, 141, 148, 110, 222, 180, 4, 9, 155, 43, 178, 180, 46, 100, 149, 96, 132,
        209, 10, 196, 208, 14, 67, 72, 237, 229, 126, 75, 5,
    ];

    #[test]
    fn what_was_encoded_comes_back() {
        for (coding, bytes) in encoded() {
            let content = all(coding, &bytes, 1_000);
            assert_eq!(content.as_deref(), Ok(TEXT), "{coding}");
            assert_eq!(all(coding, &[], 1_000), Ok(Vec::new()), "{coding}");
        }
        assert_eq!(all(Coding::Identity, TEXT, 52).as_deref(), Ok(TEXT));
        assert_eq!(all(Coding::Other, TEXT, 1_000), Err(Fault::Unknown));
    }

    #[test]
    fn several_members_and_frames_are_one_content() {
        let twice = [TEXT, TEXT].concat();
        for (coding, bytes) in [(Coding::Gzip, gzip(TEXT)), (Coding::Zstd, zstd(TEXT))] {
            let content = all(coding, &[bytes.as_slice(), &bytes].concat(), 1_000);
            assert_eq!(content, Ok(twice.clone()), "{coding}");
        }
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0], b"abc".as_slice()].concat();
        let content = all(
            Coding::Zstd,
            &[skipped.as_slice(), &zstd(TEXT)].concat(),
            99,
        );
        assert_eq!(content.as_deref(), Ok(TEXT));
        assert_eq!(all(Coding::Zstd, &skipped[..9], 99), Err(Fault::Cut));
    }

    /// However it is cut and whatever bit is wrong, nothing panics; and what is cut is never whole.
    #[test]
    fn what_is_damaged_is_told() {
        for (coding, bytes) in encoded() {
            for length in 1..bytes.len() {
                let content = all(coding, &bytes[..length], 1_000);
                assert!(content.is_err(), "{coding}, {length} bytes: {content:?}");
            }
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let _any = all(coding, &damaged, 100_000);
            }
        }
        let damaged = |mut bytes: Vec<u8>, at: usize| {
            let at = bytes.len() - at;
            bytes[at] ^= 1;
            bytes
        };
        // Its check of the content, and that of a length, are looked at.
        assert_eq!(
            all(Coding::Gzip, &damaged(gzip(TEXT), 8), 99),
            Err(Fault::Broken)
        );
        assert_eq!(
            all(Coding::Gzip, &damaged(gzip(TEXT), 4), 99),
            Err(Fault::Broken)
        );
        assert_eq!(
            all(Coding::Zstd, &damaged(zstd(TEXT), 1), 99),
            Err(Fault::Broken)
        );
        assert_eq!(all(Coding::Gzip, TEXT, 99), Err(Fault::Broken));
        assert_eq!(
            all(Coding::Br, &[BR, b"x"].concat(), 99),
            Err(Fault::Broken)
        );
    }

    #[test]
    fn a_bomb_is_told_at_the_bound() {
        let zeros = vec![0; 1 << 20];
        for (coding, bytes) in [
            (Coding::Deflate, deflate(&zeros)),
            (Coding::Gzip, gzip(&zeros)),
            (Coding::Zstd, zstd(&zeros)),
        ] {
            assert!(bytes.len() < 5_000, "{coding}: {} bytes", bytes.len());
            let mut told = 0;
            let count = |piece: &[u8]| {
                told += piece.len();
                true
            };
            let fault = decode(coding, &bytes, 300_000, count);
            assert_eq!(fault, Err(Fault::TooLong(300_000)), "{coding}");
            assert!(told <= 300_000, "{coding}: {told}");
        }
    }

    #[test]
    fn who_has_seen_enough_is_told_no_more() {
        let zeros = vec![0; 1 << 20];
        let mut calls = 0;
        let once = |_: &[u8]| {
            calls += 1;
            false
        };
        let length = decode(Coding::Gzip, &gzip(&zeros), u64::MAX, once).unwrap();
        assert!(length < 1 << 20);
        assert_eq!(calls, 1);
    }

    #[test]
    fn windows_that_no_server_may_ask_for_are_refused() {
        // A window of 8 MiB is one; one of 9 is not, nor is content of its own of 16 MiB.
        let frame = |rest: &[u8]| [&[0x28, 0xb5, 0x2f, 0xfd], rest].concat();
        let fault = |rest: &[u8]| all(Coding::Zstd, &frame(rest), 1_000).unwrap_err();
        assert_eq!(
            fault(&[0, 13 << 3]),
            Fault::Broken,
            "there is nothing behind"
        );
        assert_eq!(fault(&[0, (13 << 3) + 1]), Fault::Window);
        assert_eq!(fault(&[0xa0, 0, 0, 0, 1]), Fault::Window);
        // Brotli with a window of up to 1 GiB is no coding of HTTP.
        assert_eq!(all(Coding::Br, &[0x11, 0x1e, 0x03], 99), Err(Fault::Broken));
    }
}
