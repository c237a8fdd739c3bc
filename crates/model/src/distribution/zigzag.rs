//! The numbers of HdrHistogram's file form: zig-zag LEB128 of at most nine bytes, of which the
//! ninth has eight bits, so that any number of 64 bits has a form.

/// The most bytes that a number takes.
pub const LONGEST: usize = 9;

/// Writes one number: zig-zag, then seven bits a byte; the ninth byte has eight.
pub fn put(number: i64, bytes: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 1..LONGEST {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            return bytes.push(low & 0x7f);
        }
        bytes.push(low | 0x80);
    }
    bytes.push(rest.to_le_bytes()[0]);
}

/// Takes one number off the front; none where the bytes end within it.
pub fn take(bytes: &mut &[u8]) -> Option<i64> {
    let mut zigzag = 0_u64;
    for at in 0..LONGEST {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = at + 1 == LONGEST;
        let bits = if is_last { byte } else { byte & 0x7f };
        zigzag |= u64::from(bits) << (7 * at);
        if is_last || byte < 0x80 {
            break;
        }
    }
    Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_number_is_read_as_written(number: i64) {
            let mut bytes = Vec::new();
            put(number, &mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!((take(&mut rest), rest.len()), (Some(number), 0));
        }
    }

    #[test]
    fn numbers_have_the_bytes_of_the_form() {
        let check = |number: i64, expected: &[u8]| {
            let mut bytes = Vec::new();
            put(number, &mut bytes);
            assert_eq!(bytes, expected, "{number}");
            for end in 0..bytes.len() {
                assert_eq!(take(&mut &bytes[..end]), None, "{number}");
            }
        };
        check(0, &[0]);
        check(-1, &[1]);
        check(63, &[0x7e]);
        check(64, &[0x80, 1]);
        check(
            i64::MAX,
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        );
        check(i64::MIN, &[0xff; 9]);
    }
}
