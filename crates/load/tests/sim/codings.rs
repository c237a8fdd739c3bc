//! Encoded content: answers are counted by how they came, one that came unlike is wrong, and where
//! the plan says so they are decoded.

use std::io::Write as _;
use std::slice;

use flate2::Compression;
use flate2::write::GzEncoder;
use load::LoadError;
use load::expectation::Expectation;
use load::reference::{Findings, establish};
use load::settings;
use model::Coding;
use model::coding::Codings;
use model::outcome::Outcome;
use model::plan::{Plan, PlanFile};
use model::record::Record;
use sys::reactor::sim::{Reply, Sim, SimServer};

use crate::harness::{count, findings, numbered, right, simulate_with, where_kernels_never_fail};

/// One that says hello, encoded as these fields have it in turn.
fn server(fields: &'static [&'static str]) -> SimServer {
    let mut turn = fields.iter().cycle();
    numbered(move |_| {
        let fields = turn.next().expect("a cycle has no end");
        Some(Reply::new(format!(
            "HTTP/1.1 200 OK\r\n{fields}Content-Length: 5\r\n\r\nhello"
        )))
    })
}

/// Twelve exchanges with it, whose answers are to be encoded so.
fn simulate(fields: &'static [&'static str], expected: Option<Coding>) -> Record {
    let file = count(1, 12);
    let findings = Findings {
        expectations: vec![Expectation {
            coding: expected,
            ..right()
        }],
        ..findings(&file)
    };
    simulate_with(file, &findings, server(fields))
}

fn counted(codings: &Codings) -> Vec<(Coding, u64, u64)> {
    let counted = codings.iter();
    let counted = counted.map(|(coding, coded)| (*coding, coded.answers, coded.bytes.count()));
    counted.collect()
}

const GZIP: &str = "Content-Encoding: gzip\r\n";

#[test]
fn answers_are_counted_by_how_they_are_encoded() {
    where_kernels_never_fail(|| {
        let check = |fields: &'static [&'static str], expected: &[(Coding, u64, u64)]| {
            let record = simulate(fields, None);
            assert_eq!(record.total.outcomes[Outcome::Ok], 12);
            assert_eq!(counted(&record.codings), expected, "{fields:?}");
        };
        check(&[""], &[(Coding::Identity, 12, 60)]);
        check(&[GZIP], &[(Coding::Gzip, 12, 60)]);
        check(
            &["", GZIP, "content-encoding: BR\r\n"],
            &[
                (Coding::Identity, 4, 20),
                (Coding::Br, 4, 20),
                (Coding::Gzip, 4, 20),
            ],
        );
        check(
            &["Content-Encoding: gzip\r\nContent-Encoding: br\r\n"],
            &[(Coding::Other, 12, 60)],
        );
    });
}

#[test]
fn an_answer_that_is_encoded_unlike_is_wrong_and_counted() {
    where_kernels_never_fail(|| {
        let record = simulate(&[GZIP, GZIP, ""], Some(Coding::Gzip));
        let outcomes = record.total.outcomes;
        assert_eq!((outcomes[Outcome::Ok], outcomes[Outcome::Content]), (8, 4));
        let told = &record.examples[0].text;
        assert_eq!(told, "content-encoding is identity instead of gzip");
        let expected = [(Coding::Identity, 4, 20), (Coding::Gzip, 8, 40)];
        assert_eq!(counted(&record.codings), expected);
    });
}

/// What `text` is in gzip, as hard as that is tried.
fn gzip(text: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(text).expect("memory has room");
    encoder.finish().expect("memory has room")
}

/// One that has these contents in turn, said to be gzip.
fn encoding(contents: Vec<Vec<u8>>) -> SimServer {
    numbered(move |number| {
        let turn = usize::try_from(number).expect("a few") % contents.len();
        let content = &contents[turn];
        let head = format!(
            "HTTP/1.1 200 OK\r\n{GZIP}Content-Length: {}\r\n\r\n",
            content.len()
        );
        Some(Reply::new([head.as_bytes(), content].concat()))
    })
}

/// 12 exchanges of 2 connections of which one in `one_in` is decoded.
fn decoding(one_in: u32) -> PlanFile {
    let mut file = count(2, 12);
    file.expect.decode_one_in = Some(one_in);
    file
}

/// What is fetched before the run from who has these contents.
fn fetch(file: &PlanFile, contents: Vec<Vec<u8>>) -> Result<Findings, LoadError> {
    let plan = Plan::try_from(file.clone()).expect("a plan that can run");
    let mut sim = Sim::new(encoding(contents), &settings(4));
    establish(
        &mut sim,
        &plan,
        slice::from_ref(&file.addresses),
        &mut || false,
    )
}

/// A page of 400 KB that gzip makes a twentieth of.
fn page() -> Vec<u8> {
    (0..20_000u32)
        .flat_map(|n| format!("{:020}", n % 977).into_bytes())
        .collect()
}

#[test]
fn answers_are_decoded_and_held_against_the_decoded_reference() {
    where_kernels_never_fail(|| {
        let page = page();
        // The same page, encoded unlike each time, is the same page.
        let contents = || vec![gzip(&page, 1), gzip(&page, 9)];
        for (one_in, decoded) in [(1, 12), (5, 3), (1_000, 1)] {
            let file = decoding(one_in);
            let found = fetch(&file, contents()).expect("a reference");
            let reference = found.references[0].clone().expect("one");
            assert!(reference.dynamic, "as it was sent: {reference:?}");
            assert!(
                found.notes[0].contains("decode to the same content; checked:"),
                "{:?}",
                found.notes
            );
            let plain = reference.decoded.expect("it is decoded");
            assert_eq!(plain.length, page.len() as u64);
            let record = simulate_with(file, &found, encoding(contents()));
            assert_eq!(
                record.total.outcomes[Outcome::Ok],
                12,
                "{:?}",
                record.examples
            );
            let told = record.decoded.expect("some were decoded");
            assert_eq!((told.answers, told.left_out), (decoded, 0));
            assert_eq!(told.bytes.count(), decoded * page.len() as u64);
        }
    });
}

#[test]
fn what_does_not_decode_is_a_wrong_answer() {
    where_kernels_never_fail(|| {
        let page = page();
        let right = gzip(&page, 6);
        let mut broken = right.clone();
        let length = broken.len();
        broken[length - 6] ^= 1;
        let mut other = page.clone();
        other[399_000] ^= 1;
        let check = |wrong: Vec<u8>, expected: &str| {
            let file = decoding(1);
            let found = fetch(&file, vec![gzip(&page, 1), right.clone()]).expect("a reference");
            let server = encoding(vec![right.clone(), right.clone(), wrong]);
            let record = simulate_with(file, &found, server);
            let outcomes = record.total.outcomes;
            assert_eq!(
                (outcomes[Outcome::Ok], outcomes[Outcome::Content]),
                (8, 4),
                "{expected}"
            );
            let told = &record.examples[0].text;
            assert!(told.contains(expected), "{told}");
        };
        check(broken, "the gzip content does not decode: it is malformed");
        check(
            right[..length - 20].to_vec(),
            "does not decode: it ends too early",
        );
        check(
            gzip(&other, 6),
            "the decoded body differs from the reference at byte 399000",
        );
        check(
            gzip(&page[1..], 6),
            "the decoded body differs from the reference at byte 38",
        );
        check(
            gzip(&[page.clone(), vec![0; 7]].concat(), 6),
            "400007 bytes of decoded content instead",
        );
    });
}

/// Where content changes, it has to decode all the same.
#[test]
fn a_page_that_changes_is_decoded_as_far_as_it_is_the_same() {
    where_kernels_never_fail(|| {
        let pages = [gzip(b"<p>at 10:59:01", 6), gzip(b"<p>at 10:59:02", 6)];
        let file = decoding(1);
        let found = fetch(&file, pages.to_vec()).expect("a reference");
        assert!(found.references[0].as_ref().expect("one").dynamic);
        let record = simulate_with(file.clone(), &found, encoding(pages.to_vec()));
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            12,
            "{:?}",
            record.examples
        );
        let wrong = encoding(vec![b"<p>at 10:59:03".to_vec()]);
        let record = simulate_with(file, &found, wrong);
        assert_eq!(record.total.outcomes[Outcome::Content], 12);
    });
}

#[test]
fn a_reference_that_does_not_decode_is_no_reference() {
    let error = fetch(
        &decoding(1),
        vec![b"this is no gzip, whatever it says".to_vec()],
    );
    let told = error.expect_err("nothing to measure").to_string();
    assert!(told.contains("the gzip content does not decode"), "{told}");
    let mut file = decoding(1);
    file.expect.length = Some(5);
    fetch(&file, vec![gzip(b"hello", 6)]).expect("five bytes, decoded");
    let error = fetch(&file, vec![gzip(b"hell", 6)]).expect_err("another length");
    let told = error.to_string();
    assert!(
        told.contains("4 bytes of content instead of 5 (decoded"),
        "{told}"
    );
}
