//! Encoded content: answers are counted by how they came, and one that came unlike is wrong.

use load::expectation::Expectation;
use load::reference::Findings;
use model::Coding;
use model::coding::Codings;
use model::outcome::Outcome;
use model::record::Record;
use sys::reactor::sim::{Reply, SimServer};

use crate::harness::{count, findings, numbered, right, simulate_with};

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
}

#[test]
fn an_answer_that_is_encoded_unlike_is_wrong_and_counted() {
    let record = simulate(&[GZIP, GZIP, ""], Some(Coding::Gzip));
    let outcomes = record.total.outcomes;
    assert_eq!((outcomes[Outcome::Ok], outcomes[Outcome::Content]), (8, 4));
    let told = &record.examples[0].text;
    assert_eq!(told, "content-encoding is identity instead of gzip");
    let expected = [(Coding::Identity, 4, 20), (Coding::Gzip, 8, 40)];
    assert_eq!(counted(&record.codings), expected);
}
