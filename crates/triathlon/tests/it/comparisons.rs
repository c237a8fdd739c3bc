//! What docs/comparisons.md says of real experiments, by the rules of today.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::process::triathlon;

/// What `judge` says of a stored experiment before it lists the trials, on one line.
fn answers(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pack = root.join(format!("record/comparisons/{name}.pack"));
    let run = triathlon(["judge", &pack.display().to_string()]);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    let text = words.join(" ");
    let end = text.find(" suspect. ").expect("a count of points");
    text[..end].to_owned()
}

/// The answers of `text` that tell an order: `origin: faster`.
fn orders(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let pairs = words.windows(2);
    pairs
        .filter(|pair| pair[0].ends_with(':') && ["faster", "slower"].contains(&pair[1]))
        .map(|pair| pair.join(" "))
        .collect()
}

#[test]
fn a_server_is_neither_faster_nor_slower_than_itself_in_ten_real_experiments() {
    for run in 1..=10 {
        let text = answers(&format!("a-a-{run}"));
        assert_eq!(orders(&text), BTreeSet::new(), "{run}: {text}");
        assert!(text.contains("other: inconclusive"), "{run}: {text}");
    }
}

#[test]
fn three_first_races_in_a_row_are_mostly_valid_and_order_servers_alike() {
    for run in 1..=3 {
        let text = answers(&format!("first-heat-{run}"));
        let expected = ["apache: slower", "origin: faster"].map(str::to_owned);
        assert_eq!(orders(&text), BTreeSet::from(expected), "{run}: {text}");
        let counts = text
            .rsplit_once("Of 16 points over 8 rounds: ")
            .and_then(|(_, counts)| counts.split_once(" valid"));
        let valid: u32 = counts.expect("a count").0.parse().expect("a number");
        // Four of five.
        assert!(valid >= 13, "{run}: {text}");
    }
}
