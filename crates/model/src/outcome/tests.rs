use super::*;

#[test]
fn the_file_form_uses_the_names() {
    let mut counts = OutcomeCounts::default();
    for (n, outcome) in (1..).zip(Outcome::ALL) {
        counts[outcome] = n;
    }
    let json = serde_json::to_value(counts).unwrap();
    for (n, outcome) in (1u64..).zip(Outcome::ALL) {
        assert_eq!(json[outcome.name()], n);
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
    }
    assert_eq!(
        serde_json::from_value::<OutcomeCounts>(json).unwrap(),
        counts
    );
}

#[test]
fn what_we_gave_up_is_not_the_servers_failure() {
    let mut counts = OutcomeCounts::default();
    counts[Outcome::Ok] = 5;
    counts[Outcome::Shed] = 3;
    counts[Outcome::Unfinished] = 2;
    counts[Outcome::Timeout] = 1;
    assert_eq!((counts.total(), counts.failures()), (11, 1));
}

/// A file may hold any counts.
#[test]
fn counts_are_added_up_as_far_as_numbers_go() {
    let mut counts = OutcomeCounts::default();
    counts[Outcome::Timeout] = u64::MAX;
    counts[Outcome::Shed] = 5;
    let other = counts;
    counts.merge(&other);
    assert_eq!(counts[Outcome::Shed], 10);
    for sum in [counts.total(), counts.failures(), counts.lost()] {
        assert_eq!(sum, u64::MAX);
    }
}

#[test]
fn what_got_no_right_answer_is_lost() {
    let mut counts = OutcomeCounts::default();
    counts[Outcome::Ok] = 1;
    counts[Outcome::Timeout] = 2;
    counts[Outcome::Shed] = 4;
    counts[Outcome::Unfinished] = 8;
    assert_eq!((counts.failures(), counts.lost()), (2, 6));
}
