use proptest::prelude::*;

use super::*;

fn decode(block: &[u8]) -> Result<Vec<(String, String)>, BadBlock> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Decoder::default().decode(block, |name, value| fields.push((text(name), text(value))))?;
    Ok(fields)
}

/// RFC 9204 appendix B.1: the one example without a dynamic table.
#[test]
fn the_example_of_the_rfc() {
    let block = b"\x00\x00\x51\x0b/index.html";
    let expected = vec![(":path".to_owned(), "/index.html".to_owned())];
    assert_eq!(decode(block), Ok(expected));
    let mut out = Vec::new();
    begin(&mut out);
    field(&mut out, b":path", b"/index.html", Form::Plain);
    assert_eq!(out, block);
}

#[test]
fn fields_that_every_peer_knows_are_a_byte_or_two() {
    for (name, value, expected) in [
        (":method", "GET", &[0xd1][..]),
        (":path", "/", &[0xc1]),
        (":status", "200", &[0xd9]),
        ("x-frame-options", "sameorigin", &[0xff, 98 - 63]),
    ] {
        let mut out = Vec::new();
        field(&mut out, name.as_bytes(), value.as_bytes(), Form::Coded);
        assert_eq!(out, expected, "{name}: {value}");
    }
}

#[test]
fn what_names_the_dynamic_table_is_refused() {
    let wrong: [&[u8]; 9] = [
        b"",
        b"\x00",
        // A block that depends on an insertion.
        b"\x01\x00",
        // An entry of the dynamic table, and one behind the base.
        b"\x00\x00\x80",
        b"\x00\x00\x10",
        // Names from there.
        b"\x00\x00\x40\x00",
        b"\x00\x00\x00\x00",
        // An index that the static table does not have.
        b"\x00\x00\xff\x24",
        // A string that is not there whole.
        b"\x00\x00\x51\x0b/index",
    ];
    for block in wrong {
        assert_eq!(decode(block), Err(BadBlock), "{block:?}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        fields in proptest::collection::vec(("[a-z:-]{1,40}", "[ -~]{0,300}"), 0..20),
        is_coded: bool,
    ) {
        let form = if is_coded { Form::Coded } else { Form::Plain };
        let mut block = Vec::new();
        begin(&mut block);
        for (name, value) in &fields {
            field(&mut block, name.as_bytes(), value.as_bytes(), form);
        }
        prop_assert_eq!(decode(&block), Ok(fields));
    }

    #[test]
    fn no_bytes_make_it_panic(block in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _whatever = decode(&block);
    }
}
