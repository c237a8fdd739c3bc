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
