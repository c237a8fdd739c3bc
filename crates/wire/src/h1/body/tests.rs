use proptest::prelude::*;

use super::*;

/// Everything that comes out of `bytes` when they arrive in pieces that end at `cuts`.
fn decode_in_pieces(bytes: &[u8], cuts: &[usize]) -> Result<(Vec<u8>, usize, bool), ChunkedError> {
    let mut decoder = ChunkedDecoder::new();
    let mut content = Vec::new();
    let mut start = 0;
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    for end in ends {
        while start < end && !decoder.is_end() {
            let decoded = decoder.decode(&bytes[start..end])?;
            assert!(decoded.consumed > 0, "no progress at {start}");
            assert_eq!(decoded.is_end, decoder.is_end());
            content.extend_from_slice(decoded.content);
            start += decoded.consumed;
        }
    }
    Ok((content, start, decoder.is_end()))
}

#[track_caller]
fn check(bytes: &[u8], content: &[u8], rest: usize) {
    let decoded = decode_in_pieces(bytes, &[]).unwrap();
    assert_eq!(decoded, (content.to_vec(), bytes.len() - rest, true));
    let each_byte: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(decode_in_pieces(bytes, &each_byte).unwrap(), decoded);
}

#[test]
fn whole_bodies_are_decoded() {
    check(b"0\r\n\r\n", b"", 0);
    check(b"5\r\nhello\r\n0\r\n\r\n", b"hello", 0);
    check(b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", b"hello!", 0);
    check(b"A\r\n0123456789\r\n000\r\n\r\nGET /", b"0123456789", 5);
    check(
        b"a;x=y;z=\"q r\"\r\n0123456789\r\n0;last\r\n\r\n",
        b"0123456789",
        0,
    );
    check(b"5  \r\nhello\r\n0\t\r\n\r\n", b"hello", 0);
    check(
        b"5 ; a\t= \"b;\\\"\\\\ \xff\" ;c ; d=e\r\nhello\r\n0\r\n\r\n",
        b"hello",
        0,
    );
    check(b"2\r\n\r\n\r\n0\r\n\r\n", b"\r\n", 0);
    check(b"1\r\nx\r\n0\r\nDigest: abc\r\nX-Y:\r\n\r\n", b"x", 0);
}

#[track_caller]
fn check_error(bytes: &[u8], error: ChunkedError) {
    assert_eq!(
        decode_in_pieces(bytes, &[]),
        Err(error),
        "{}",
        bytes.escape_ascii()
    );
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    check_error(b"\r\n", ChunkedError::Size);
    check_error(b";x\r\n", ChunkedError::Size);
    check_error(b" 5\r\nhello\r\n", ChunkedError::Size);
    check_error(b"5\nhello\n0\n\n", ChunkedError::Size);
    check_error(b"5\rhello", ChunkedError::Size);
    check_error(b"0x5\r\nhello\r\n", ChunkedError::Size);
    check_error(b"+5\r\nhello\r\n", ChunkedError::Size);
    check_error(b"-1\r\n", ChunkedError::Size);
    check_error(b"5 5\r\nhello\r\n", ChunkedError::Size);
    check_error(b"5_0\r\n", ChunkedError::Size);
    check_error(b"10000000000000000\r\n", ChunkedError::Size);
    check_error(b"00000000000000005\r\n", ChunkedError::Size);
    check_error(b"5 x\r\nhello\r\n", ChunkedError::Size);
    for extension in [
        ";",
        ";;a",
        ";a;",
        "; ",
        ";a ",
        ";a=",
        ";a= ",
        ";a=b ",
        ";bad[=x",
        ";a=[",
        ";=x",
        ";a=b=c",
        ";a b",
        ";a=b c",
        ";a=\"b",
        ";a=\"b\" ",
        ";a=\"b\"c",
        ";a=\"b\\",
        ";a=\"\0\"",
        ";a=\"\\\0\"",
    ] {
        let text = format!("5{extension}\r\nhello\r\n");
        check_error(text.as_bytes(), ChunkedError::Extension);
    }
    check_error(b"5;a\nb\r\nhello\r\n", ChunkedError::Extension);
    check_error(b"5;a\0\r\nhello\r\n", ChunkedError::Extension);
    check_error(b"5\r\nhello!\r\n", ChunkedError::ChunkEnd);
    check_error(b"5\r\nhello\n0\r\n", ChunkedError::ChunkEnd);
    check_error(b"5\r\nhello\r0\r\n", ChunkedError::ChunkEnd);
    check_error(b"0\r\n\n", ChunkedError::Trailer);
    check_error(b"0\r\n\r\r\n", ChunkedError::Trailer);
    check_error(b"0\r\n folded: x\r\n\r\n", ChunkedError::Trailer);
    check_error(b"0\r\nno colon\r\n\r\n", ChunkedError::Trailer);
    check_error(b"0\r\nX : y\r\n\r\n", ChunkedError::Trailer);
    check_error(b"0\r\nX: y\n\r\n", ChunkedError::Trailer);
}

#[test]
fn a_size_in_a_request_has_no_blanks_after_it() {
    for text in ["5 \r\nhello\r\n", "5\t\r\nhello\r\n", "0 \r\n\r\n"] {
        let decoded = ChunkedDecoder::for_request().decode(text.as_bytes());
        assert_eq!(decoded, Err(ChunkedError::Size), "{text:?}");
    }
    let extension = b"5 ; a = b\r\nhello";
    let decoded = ChunkedDecoder::for_request().decode(extension).unwrap();
    assert_eq!(decoded.content, b"hello");
}

#[test]
fn what_surrounds_the_content_is_bounded() {
    let mut one_long = b"5;".to_vec();
    one_long.resize(SURROUNDINGS_LIMIT as usize + 10, b'x');
    check_error(&one_long, ChunkedError::Limit);
    check_error(
        &b"1;xxxxxxxxxxxxxxx\r\nx\r\n".repeat(1_100),
        ChunkedError::Limit,
    );
    let mut trailers = b"0\r\n".to_vec();
    trailers.extend_from_slice(&b"a: bcdefghijklmn\r\n".repeat(1_200));
    check_error(&trailers, ChunkedError::Limit);
}

#[test]
fn content_may_be_skipped_unread() {
    let mut decoder = ChunkedDecoder::new();
    assert_eq!(decoder.skippable(), 0);
    assert_eq!(
        decoder.decode(b"ffffffffffffffff\r\n").unwrap().consumed,
        18
    );
    assert_eq!(decoder.skippable(), u64::MAX);
    decoder.skip(u64::MAX - 1);
    assert_eq!(decoder.decode(b"x\r\n0\r\n\r\n").unwrap().content, b"x");
    assert!(decoder.decode(b"\r\n0\r\n\r\n").unwrap().is_end);
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
        extension in "(;[a-z]{1,5}(=[a-z0-9]{1,3})?)?",
        trailer in "([A-Za-z-]{1,8}: [ -~]{0,20}\r\n){0,3}",
        rest in prop::collection::vec(any::<u8>(), 0..10),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            bytes.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("0\r\n{trailer}\r\n").as_bytes());
        let length = bytes.len();
        bytes.extend_from_slice(&rest);
        prop_assert_eq!(decode_in_pieces(&bytes, &cuts), Ok((chunks.concat(), length, true)));
    }

    #[test]
    fn garbage_is_judged_the_same_however_split(
        bytes in prop::collection::vec(
            prop::sample::select(b"05aF;= \t\r\n\r\n:xX\"\\\0".to_vec()), 0..60),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        prop_assert_eq!(decode_in_pieces(&bytes, &cuts), decode_in_pieces(&bytes, &[]));
    }
}
