use super::*;

#[test]
fn results_of_the_harness_add_up() {
    let mut counts = Counts::default();
    for line in [
        "running 3 tests",
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; finished in 0.02s",
        "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; finished in 4.00s",
    ] {
        counts.add_line(line);
    }
    let expected = Counts {
        passed: 15,
        failed: 2,
        ignored: 1,
    };
    assert_eq!(counts, expected);
}
