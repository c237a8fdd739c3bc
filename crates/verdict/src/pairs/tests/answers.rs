//! What may be said, and when.

use std::collections::BTreeMap;

use crate::pairs::{
    Answer, Estimate, Family, More, Why, declared_connections, paired, rounds_needed,
    rounds_needed_unpaired, unpaired,
};

/// Rounds whose ratios lie around `ratio`, at most `spread` away from it.
fn around(ratio: f64, spread: f64, rounds: u32) -> Estimate {
    let other: BTreeMap<u32, f64> = (0..rounds)
        .map(|round| (round, 10_000.0 * (1.0 + 0.1 * f64::from(round))))
        .collect();
    let one = other
        .iter()
        .map(|(round, speed)| {
            let sign = if round % 2 == 0 { 1.0 } else { -1.0 };
            let size = 1.0 - 0.1 * f64::from(round / 2);
            (*round, speed * ratio * (1.0 + sign * size * spread))
        })
        .collect();
    paired(&one, &other).unwrap()
}

#[test]
fn one_of_four_answers() {
    let check = |ratio: f64, spread: f64, expected: &str| {
        let estimate = around(ratio, spread, 8);
        let family = Family::of(1);
        let answers = family.answers(&[Some(&estimate)]);
        let text = answers[0].text("faster", "slower", &family);
        assert_eq!(text, expected, "{ratio} {spread}");
    };
    check(1.20, 0.01, "faster (margin 2.0 %)");
    check(0.80, 0.01, "slower (margin 2.0 %)");
    check(1.00, 0.01, "equivalent within 2.0 %");
    check(1.01, 0.005, "equivalent within 2.0 %");
    check(1.03, 0.02, "inconclusive: about 24 more rounds would tell");
    check(0.90, 0.10, "inconclusive: about 3 more rounds would tell");
}

#[test]
fn rounds_that_a_family_needs() {
    for (comparisons, rounds) in [
        (0, 6),
        (1, 6),
        (2, 7),
        (3, 7),
        (4, 8),
        (6, 8),
        (7, 9),
        (45, 11),
    ] {
        assert_eq!(rounds_needed(comparisons, 0.05), rounds, "{comparisons}");
    }
    for (comparisons, rounds) in [(1, 4), (3, 5), (6, 5), (7, 6)] {
        assert_eq!(
            rounds_needed_unpaired(comparisons, 0.05),
            rounds,
            "{comparisons}"
        );
    }
    assert_eq!(rounds_needed(1, 0.01), 8);
}

/// Whatever six rounds show, six comparisons cannot be told apart from chance; eight rounds can.
#[test]
fn fewer_rounds_than_could_ever_tell_say_so() {
    let family = Family::of(6);
    for rounds in [2, 5, 6, 7] {
        let clear = around(3.0, 0.001, rounds);
        let answers = family.answers(&[Some(&clear); 6]);
        let why = Why::FewRounds {
            rounds: rounds as usize,
            needed: 8,
        };
        let expected = Answer::Inconclusive {
            why,
            more_rounds: More::Rounds(8 - u64::from(rounds)),
        };
        assert_eq!(answers, [expected; 6], "{rounds}");
        let text = answers[0].text("faster", "slower", &family);
        let needed = "are too few for 6 comparisons; 8 rounds are needed";
        assert_eq!(text, format!("inconclusive: {rounds} rounds {needed}"));
    }
    let clear = around(3.0, 0.001, 8);
    assert_eq!(family.answers(&[Some(&clear); 6]), [Answer::More; 6]);
}

/// Holm: the clearest is read against a sixth of alpha, and what has passed is no longer counted.
#[test]
fn a_family_is_read_from_its_clearest_member_on() {
    let clear = around(2.0, 0.01, 8);
    let less_clear = {
        // One of eight rounds says the opposite, a little: p is 4 in 256, above a sixth of 5 %.
        let one = (1..=8)
            .zip([0.97, 1.5, 1.5, 1.6, 1.6, 1.7, 1.7, 1.8])
            .collect();
        paired(&one, &(1..=8).map(|round| (round, 1.0)).collect()).unwrap()
    };
    let all = |estimates: &[Option<&Estimate>]| Family::of(6).answers(estimates);
    let alone = all(&[Some(&less_clear)]);
    assert!(
        matches!(
            alone[0],
            Answer::Inconclusive {
                why: Why::Family,
                ..
            }
        ),
        "{alone:?}"
    );
    let text = alone[0].text("faster", "slower", &Family::of(6));
    assert!(
        text.starts_with("inconclusive: among 6 comparisons one may differ this much by chance; "),
        "{text}"
    );
    // Behind three that pass, it is read against a third of alpha.
    let behind = all(&[Some(&less_clear), Some(&clear), Some(&clear), Some(&clear)]);
    assert_eq!(behind, [Answer::More; 4]);
    let behind = all(&[Some(&less_clear), Some(&clear), None, Some(&clear)]);
    assert!(!behind[0].differs(), "{behind:?}");
    assert_eq!(Family::of(1).answers(&[Some(&less_clear)]), [Answer::More]);
}

/// What fails to be equivalent for a family's sake differs by nothing.
#[test]
fn two_that_nearly_pass_for_alike_are_told_so() {
    let family = Family {
        margin: 0.29,
        ..Family::of(22)
    };
    // Two of twelve rounds lie beyond the margin: p is 10 in 4096, above a 22nd of 5 %.
    let ratios = [
        1.30, 1.45, 1.01, 1.02, 0.98, 1.0, 1.03, 0.97, 1.01, 0.99, 1.02, 1.0,
    ];
    let one = (1..=12).zip(ratios).collect();
    let alike = paired(&one, &(1..=12).map(|round| (round, 1.0)).collect()).unwrap();
    let answers = family.answers(&[Some(&alike)]);
    let text = answers[0].text("faster", "slower", &family);
    let expected = "inconclusive: among 22 comparisons one may agree this well by chance; ";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn what_could_not_be_measured_is_said_and_counts() {
    let clear = around(2.0, 0.01, 8);
    let family = Family::of(2);
    let answers = family.answers(&[None, Some(&clear)]);
    assert_eq!(answers[1], Answer::More);
    assert_eq!(
        answers[0].text("faster", "slower", &family),
        "inconclusive: no round counts for both"
    );
    let single = unpaired(&[2.0], &[1.0]).unwrap();
    let answers = Family::of(1).answers(&[Some(&single)]);
    assert_eq!(answers, [Answer::Single]);
}

#[test]
fn nobody_is_asked_for_endless_rounds() {
    // Exactly on the margin no number of rounds tells.
    let on_it = around(1.02, 0.15, 8);
    let family = Family::of(1);
    let answers = family.answers(&[Some(&on_it)]);
    let text = answers[0].text("faster", "slower", &family);
    assert!(
        text == "inconclusive: more than 1,000 rounds would be needed to tell",
        "{text}"
    );
}

/// One round tells nothing of how much rounds differ, however many the other side has.
#[test]
fn what_nobody_knows_is_not_said_to_be_many() {
    let many: Vec<f64> = (0..60)
        .map(|round| 1.0 + 0.001 * f64::from(round))
        .collect();
    let check = |one: f64, comparisons: usize, expected: &str| {
        let estimate = unpaired(&[one], &many).unwrap();
        let family = Family::of(comparisons);
        let answer = family.answers(&[Some(&estimate)])[0];
        let Answer::Inconclusive { more_rounds, .. } = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(more_rounds, More::Unknown);
        assert_eq!(
            serde_json::to_value(more_rounds).unwrap(),
            serde_json::Value::Null
        );
        assert_eq!(answer.text("faster", "slower", &family), expected);
    };
    let nobody = "nothing says how many more rounds would tell";
    check(1.04, 1, &format!("inconclusive: {nobody}"));
    // Beyond all of them: p is 2 in 61, too much for one round among several comparisons.
    let few = "inconclusive: 1 round is too few for 2 comparisons; 5 rounds are needed";
    check(2.0, 2, few);
}

#[test]
fn the_load_of_a_family_is_chosen_by_what_was_asked() {
    assert_eq!(declared_connections(&[1, 16, 64, 256]), Some(64));
    assert_eq!(declared_connections(&[256, 16]), Some(16));
    assert_eq!(declared_connections(&[1_000]), Some(1_000));
    assert_eq!(declared_connections(&[]), None);
}
