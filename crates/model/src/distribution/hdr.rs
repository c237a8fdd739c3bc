//! The file form of HdrHistogram, V2: a header, and counts in which zeros in a row are one number.
//!
//! It is written down in HdrHistogram's own encoder (`AbstractHistogram.encodeIntoByteBuffer` in
//! Java, which other languages follow): big-endian numbers; each count, or the negative length of a
//! run of zeros, as a zig-zag LEB128 of at most nine bytes. The whole is packed with zlib behind a
//! header of its own.

use std::io::Read as _;

use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};

use super::zigzag::{LONGEST, put, take};
use super::{Distribution, Shape};

/// What the packed form and the form in it begin with.
const PACKED: u32 = 0x1c84_9304 | 0x10;
const PLAIN: u32 = 0x1c84_9303 | 0x10;
/// Bytes of their headers.
const PACKED_HEADER: usize = 8;
const HEADER: usize = 40;

/// As a packed histogram of nanoseconds.
pub(super) fn write(distribution: &Distribution) -> Vec<u8> {
    let counts = write_counts(distribution);
    let mut plain = Vec::with_capacity(HEADER + counts.len());
    plain.extend(PLAIN.to_be_bytes());
    plain.extend(length(&counts));
    // Nothing is shifted.
    plain.extend(0_u32.to_be_bytes());
    plain.extend(u32::from(distribution.shape.digits).to_be_bytes());
    plain.extend(distribution.shape.lowest().to_be_bytes());
    plain.extend(Shape::HIGHEST.as_ns().to_be_bytes());
    plain.extend(1.0_f64.to_be_bytes());
    plain.extend(counts);
    let mut zlib = Vec::new();
    ZlibEncoder::new(plain.as_slice(), Compression::default())
        .read_to_end(&mut zlib)
        .expect("reading from memory does not fail");
    let mut packed = Vec::with_capacity(PACKED_HEADER + zlib.len());
    packed.extend(PACKED.to_be_bytes());
    packed.extend(length(&zlib));
    packed.extend(zlib);
    packed
}

/// What a histogram counts, packed or plain, with the ends of its buckets as ends; the error is a
/// sentence's end.
pub(super) fn read(bytes: &[u8], shape: Shape) -> Result<Distribution, String> {
    let Some(zlib) = behind(bytes, PACKED, PACKED_HEADER)? else {
        return read_plain(bytes, shape);
    };
    let mut plain = Vec::new();
    let longest = HEADER + shape.len() * LONGEST;
    ZlibDecoder::new(zlib)
        .take(longest as u64)
        .read_to_end(&mut plain)
        .map_err(|error| error.to_string())?;
    read_plain(&plain, shape)
}

fn read_plain(plain: &[u8], shape: Shape) -> Result<Distribution, String> {
    let counts = behind(plain, PLAIN, HEADER)?.ok_or("it is no HdrHistogram of version 2")?;
    let header = &plain[..HEADER];
    let is_ours = header[8..16] == u64::from(shape.digits).to_be_bytes()
        && header[16..24] == shape.lowest().to_be_bytes()
        && header[24..32] == Shape::HIGHEST.as_ns().to_be_bytes();
    if !is_ours {
        return Err("its buckets are not those of this file".to_owned());
    }
    read_counts(counts, shape)
}

/// What lies behind a header of `length` bytes that begins with `cookie` and the length of the
/// rest; none where another cookie stands there.
fn behind(bytes: &[u8], cookie: u32, length: usize) -> Result<Option<&[u8]>, String> {
    if bytes.get(..4) != Some(&cookie.to_be_bytes()) {
        return Ok(None);
    }
    let rest = bytes.get(length..);
    let stated = |rest: &[u8]| u32::try_from(rest.len()).ok().map(u32::to_be_bytes);
    match rest.filter(|rest| bytes.get(4..8) == stated(rest).as_ref().map(<[u8; 4]>::as_slice)) {
        Some(rest) => Ok(Some(rest)),
        None => Err("it is cut off".to_owned()),
    }
}

/// The counts up to the longest value; one zero where there is no value.
fn write_counts(distribution: &Distribution) -> Vec<u8> {
    let mut bytes = Vec::new();
    if distribution.count == 0 {
        put(0, &mut bytes);
    }
    let mut zeros = distribution.used().start;
    let put_zeros = |zeros: usize, bytes: &mut Vec<u8>| match zeros {
        0 => {}
        1 => put(0, bytes),
        more => put(-signed(more as u64), bytes),
    };
    for index in distribution.used() {
        let count = distribution.counts[index];
        if count == 0 {
            zeros += 1;
            continue;
        }
        put_zeros(zeros, &mut bytes);
        put(signed(count), &mut bytes);
        zeros = 0;
    }
    bytes
}

fn read_counts(mut bytes: &[u8], shape: Shape) -> Result<Distribution, String> {
    let wrong = || "its counts cannot be read".to_owned();
    let mut distribution = Distribution::new(shape);
    let mut index = 0_usize;
    while !bytes.is_empty() {
        let number = take(&mut bytes).ok_or_else(wrong)?;
        if number <= 0 {
            // One zero, or a run of them.
            let zeros = usize::try_from(number.unsigned_abs().max(1)).map_err(|_| wrong())?;
            index = index.checked_add(zeros).ok_or_else(wrong)?;
            continue;
        }
        let count = distribution.counts.get_mut(index).ok_or_else(wrong)?;
        *count = number.unsigned_abs();
        let all = distribution.count.checked_add(*count);
        distribution.count = all.ok_or_else(wrong)?;
        let (lowest, width) = shape.range_of(index);
        distribution.min_ns = distribution.min_ns.min(lowest);
        distribution.max_ns = (lowest + width - 1).min(Shape::HIGHEST.as_ns());
        index += 1;
    }
    Ok(distribution)
}

/// The length of `bytes` as a header tells it.
fn length(bytes: &[u8]) -> [u8; 4] {
    let length = u32::try_from(bytes.len()).expect("a histogram takes less than a MiB");
    length.to_be_bytes()
}

/// A count as the form has it, which knows no higher one.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;
    use crate::units::Span;

    /// The same by the crate `hdrhistogram`.
    fn of_another(distribution: &Distribution) -> Vec<u8> {
        let shape = distribution.shape;
        let (low, high) = (shape.lowest(), Shape::HIGHEST.as_ns());
        let mut theirs = Histogram::<u64>::new_with_bounds(low, high, shape.digits).unwrap();
        for (lowest, _, count) in distribution.buckets() {
            theirs.record_n(lowest.as_ns(), count).unwrap();
        }
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        serializer.serialize(&theirs, &mut bytes).unwrap();
        bytes
    }

    fn unpacked(bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut zlib = ZlibDecoder::new(&bytes[PACKED_HEADER..]);
        zlib.read_to_end(&mut plain).unwrap();
        plain
    }

    fn of(shape: Shape, values: &[(u64, u64)]) -> Distribution {
        let mut distribution = Distribution::new(shape);
        for &(ns, times) in values {
            distribution.record_n(Span::from_ns(ns), times);
        }
        distribution
    }

    proptest! {
        #[test]
        fn others_write_and_read_the_same(
            values in proptest::collection::vec((0..4_000_000_000_000_u64, 1..1_u64 << 40), 0..50),
            near in proptest::collection::vec((0..3_000_u64, 1..300_u64), 0..50),
            is_total: bool,
        ) {
            let shape = if is_total { Shape::TOTAL } else { Shape::INTERVAL };
            let values: Vec<(u64, u64)> = [values, near].concat();
            let distribution = of(shape, &values);
            let bytes = write(&distribution);
            prop_assert_eq!(&bytes, &of_another(&distribution));
            let plain = unpacked(&bytes);
            prop_assert_eq!(read(&plain, shape), read(&bytes, shape));
            let read = read(&bytes, shape).unwrap();
            prop_assert_eq!(&read.counts, &distribution.counts);
            prop_assert_eq!(read.count, distribution.count);
            prop_assert_eq!(read.used(), distribution.used());
            let theirs: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!(theirs.len(), distribution.count);
        }

        #[test]
        fn whatever_comes_is_read_or_refused(mut counts: Vec<u8>, is_total: bool) {
            let shape = if is_total { Shape::TOTAL } else { Shape::INTERVAL };
            counts.truncate(1_000);
            if let Ok(read) = read_counts(&counts, shape) {
                prop_assert_eq!(read.counts.iter().sum::<u64>(), read.count);
            }
            let _refused = read(&counts, shape);
        }
    }

    #[test]
    fn others_write_an_empty_one_the_same() {
        for shape in [Shape::TOTAL, Shape::INTERVAL] {
            let empty = Distribution::new(shape);
            let bytes = write(&empty);
            assert_eq!(bytes, of_another(&empty));
            assert_eq!(read(&bytes, shape), Ok(empty));
        }
    }

    #[test]
    fn what_is_broken_is_refused() {
        let good = write(&of(Shape::TOTAL, &[(5_000, 3)]));
        let refused = |bytes: &[u8], shape| read(bytes, shape).unwrap_err();
        for whole in [&good, &unpacked(&good)] {
            for end in 0..whole.len() {
                refused(&whole[..end], Shape::TOTAL);
            }
        }
        let other = refused(&good, Shape::INTERVAL);
        assert_eq!(other, "its buckets are not those of this file");
        let mut foreign = good;
        foreign[3] = 0;
        let foreign = refused(&foreign, Shape::TOTAL);
        assert_eq!(foreign, "it is no HdrHistogram of version 2");
        // A count behind the last bucket, and a run of zeros that is longer than memory.
        let mut behind = Vec::new();
        put(-40_000, &mut behind);
        put(1, &mut behind);
        assert!(read_counts(&behind, Shape::TOTAL).is_err());
        let mut endless = Vec::new();
        (0..3).for_each(|_| put(i64::MIN, &mut endless));
        assert!(read_counts(&endless, Shape::TOTAL).is_err());
    }
}
