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
    let points = ["Of 16 points", "Of 4 points"]
        .iter()
        .find_map(|of| text.find(of));
    let points = points.expect("a count of points");
    let end = text[points..].find(". ").expect("the end of it");
    text[..points + end].to_owned()
}

/// Who is faster or slower by the answers of `text`: of `origin, lighttpd: faster` both.
fn orders(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut orders = BTreeSet::new();
    for (place, answer) in words.iter().enumerate() {
        if !["faster", "slower"].contains(answer) {
            continue;
        }
        let mut before = words[..place].iter().rev();
        let last = before.next().and_then(|word| word.strip_suffix(':'));
        let others = before.map_while(|word| word.strip_suffix(','));
        for server in last.into_iter().chain(others) {
            orders.insert(format!("{server}: {answer}"));
        }
    }
    orders
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
fn first_races_in_a_row_are_mostly_valid_and_order_servers_alike() {
    let check = |run: u32, expected: &[&str]| {
        let text = answers(&format!("first-heat-{run}"));
        let expected = expected.iter().map(|order| (*order).to_owned());
        assert_eq!(orders(&text), expected.collect(), "{run}: {text}");
        let counts = text
            .rsplit_once("Of 16 points over 8 rounds: ")
            .and_then(|(_, counts)| counts.split_once(" valid"));
        let valid: u32 = counts.expect("a count").0.parse().expect("a number");
        // Four of five.
        assert!(valid >= 13, "{run}: {text}");
    };
    for run in 1..=4 {
        check(run, &["apache: slower", "origin: faster"]);
    }
    // On another machine, whose neighbours are quieter.
    for run in 5..=7 {
        let expected = ["apache: slower", "lighttpd: faster", "origin: faster"];
        check(run, &expected);
    }
    // On one that takes two or three times as long for a request.
    for run in 8..=10 {
        check(run, &["apache: slower", "origin: faster"]);
    }
}

#[test]
fn first_races_beside_other_programs_name_them_and_answer_alike_once_they_end() {
    let check = |name: &str, expected: &str, valid: &str| {
        let text = answers(name);
        let start = "Something other than server and generator used the CPUs in ";
        let first = text.strip_prefix(start).expect(&text);
        let (_, takers) = first.split_once(" trials: ").expect(&text);
        assert!(takers.starts_with(expected), "{takers}");
        let again = "20 of them were measured again together with their rivals. ";
        assert!(text.contains(again), "{text}");
        assert!(text.ends_with(valid), "{text}");
        let orders = orders(&text);
        for order in ["origin: faster", "apache: slower"] {
            assert!(orders.contains(order), "{text}");
        }
        for order in ["origin: slower", "lighttpd: slower", "apache: faster"] {
            assert!(!orders.contains(order), "{text}");
        }
    };
    let halved = "12 valid, 4 suspect";
    check("beside-half-of-each-cpu", "halfburner in 67 ", halved);
    let spawned = "short-lived processes of spawner in 70,";
    check(
        "beside-short-lived-processes",
        spawned,
        "11 valid, 5 suspect",
    );
    check("beside-a-kernel-thread", "[napi] in 58 ", "16 valid");
}
