use super::*;

#[test]
fn numbers_are_readable() {
    let check = |shown: String, expected: &str| assert_eq!(shown, expected);
    check(count(0), "0");
    check(count(999), "999");
    check(count(1_000), "1,000");
    check(count(1_234_567), "1,234,567");
    check(rate(0.5), "0.500");
    check(rate(12.34), "12.3");
    check(rate(99.7), "99.7");
    check(rate(62_345.6), "62,346");
    check(share(0.0), "0 %");
    check(share(0.98), "98 %");
    check(share(0.0234), "2.3 %");
    check(share(0.000_41), "0.041 %");
    check(plural(1, "core"), "1 core");
    check(plural(2_000, "line"), "2,000 lines");
    check(plural(0, "process"), "0 processes");
    check(plural(2, "entry"), "2 entries");
    check(plural(1, "entry"), "1 entry");
    check(cpus(&[3, 0, 1, 2, 8]), "0-3,8");
    check(cpus(&[]), "");
    check(named_cpus(&[1]), "CPU 1");
    check(named_cpus(&[0, 1, 4]), "CPUs 0-1,4");
}
