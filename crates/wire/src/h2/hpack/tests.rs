use proptest::prelude::*;

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, BadBlock> {
    let mut fields = Vec::new();
    decoder.decode(block, |name, value| {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        fields.push(format!("{}: {}", text(name), text(value)));
    })?;
    Ok(fields)
}

#[track_caller]
fn check(blocks: &[(&str, &[&str])]) {
    let mut decoder = Decoder::default();
    for (hex, expected) in blocks {
        assert_eq!(decoded(&mut decoder, &bytes(hex)).unwrap(), *expected);
    }
}

#[test]
fn integers() {
    for (hex, prefix, value) in [("0a", 5, 10), ("1f9a0a", 5, 1337), ("2a", 8 - 1, 42)] {
        assert_eq!(integer(&mut bytes(hex).as_slice(), prefix), Ok(value));
    }
    for hex in ["1f", "1f80", "1fffffffffff", "1f8080808001"] {
        assert_eq!(
            integer(&mut bytes(hex).as_slice(), 5),
            Err(BadBlock),
            "{hex}"
        );
    }
}

#[test]
fn single_fields() {
    check(&[(
        "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
        &["custom-key: custom-header"],
    )]);
    check(&[("040c2f73616d706c652f70617468", &[":path: /sample/path"])]);
    check(&[("100870617373776f726406736563726574", &["password: secret"])]);
    check(&[("82", &[":method: GET"])]);
}

/// RFC 7541 C.3 and C.4: the same three requests, without and with the Huffman code.
#[test]
fn requests() {
    let first: &[&str] = &[
        ":method: GET",
        ":scheme: http",
        ":path: /",
        ":authority: www.example.com",
    ];
    let second: &[&str] = &[
        ":method: GET",
        ":scheme: http",
        ":path: /",
        ":authority: www.example.com",
        "cache-control: no-cache",
    ];
    let third: &[&str] = &[
        ":method: GET",
        ":scheme: https",
        ":path: /index.html",
        ":authority: www.example.com",
        "custom-key: custom-value",
    ];
    check(&[
        ("828684410f7777772e6578616d706c652e636f6d", first),
        ("828684be58086e6f2d6361636865", second),
        (
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            third,
        ),
    ]);
    check(&[
        ("828684418cf1e3c2e5f23a6ba0ab90f4ff", first),
        ("828684be5886a8eb10649cbf", second),
        ("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", third),
    ]);
}

/// RFC 7541 C.6, with a table of 256 bytes that loses entries.
#[test]
fn answers() {
    let date = "date: Mon, 21 Oct 2013 20:13:21 GMT";
    let cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    check(&[
        ("3fe101", &[]),
        (
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863\
             c78f0b97c8e9ae82ae43d3",
            &[
                ":status: 302",
                "cache-control: private",
                date,
                "location: https://www.example.com",
            ],
        ),
        (
            "4883640effc1c0bf",
            &[
                ":status: 307",
                "cache-control: private",
                date,
                "location: https://www.example.com",
            ],
        ),
        (
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b3\
             35dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
            &[
                ":status: 200",
                "cache-control: private",
                "date: Mon, 21 Oct 2013 20:13:22 GMT",
                "location: https://www.example.com",
                "content-encoding: gzip",
                cookie,
            ],
        ),
    ]);
}

#[test]
fn what_breaks_the_coding_is_refused() {
    for hex in [
        "80",             // index 0
        "be",             // an index that nothing has
        "ffffffffff0f",   // one that nothing can have
        "40",             // a name that does not come
        "400a6375",       // one that does not come whole
        "3fe21f",         // a larger table than was agreed
        "8220",           // its size after a field
        "0084ffffffff00", // the end of the string within it
        "008118",         // eight bits that are no word and no filling
        "0082f8ff",       // a filling of eight bits
    ] {
        let refused = decoded(&mut Decoder::default(), &bytes(hex));
        assert_eq!(refused, Err(BadBlock), "{hex}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        fields in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 1..40), prop::collection::vec(any::<u8>(), 0..200)),
            0..20,
        ),
        form in prop::sample::select(vec![Form::Kept, Form::Passing, Form::Plain]),
    ) {
        let mut block = Vec::new();
        for (name, value) in &fields {
            field(&mut block, name, value, form);
        }
        let mut decoder = Decoder::default();
        let mut read = Vec::new();
        let result = decoder.decode(&block, |name, value| {
            read.push((name.to_vec(), value.to_vec()));
        });
        prop_assert!(result.is_ok());
        prop_assert_eq!(read, fields);
    }

    #[test]
    fn nothing_makes_it_panic_or_grow(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..20),
    ) {
        let mut decoder = Decoder::default();
        for block in &blocks {
            let _any = decoder.decode(block, |_, _| {});
            prop_assert!(decoder.table.size <= TABLE_SIZE);
            prop_assert!(decoder.table.bytes.len() <= 2 * TABLE_SIZE + 800);
        }
    }
}
