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
    check(limit_of_memory(Bytes::new(8 << 20)), "8.0 MiB");
    check(limit_of_memory(Bytes::new(u64::MAX)), "no limit");
}

#[test]
fn how_a_clock_is_kept_is_told_in_a_few_words() {
    let check = |synchronised: bool, kept_by: &[&str], expected: &str| {
        let clock = Timekeeping {
            synchronised,
            error_at_most: Span::from_us(1_200),
            kept_by: kept_by.iter().map(|name| (*name).to_owned()).collect(),
            ..Timekeeping::default()
        };
        assert_eq!(timekeeping(&clock), expected);
    };
    check(true, &[], "synchronised, at most 1.20 ms wrong");
    let two = ["phc2sys", "ptp4l"];
    let said = "synchronised by phc2sys and ptp4l, at most 1.20 ms wrong";
    check(true, &two, said);
    check(false, &[], "not synchronised");
    check(false, &["ntpd"], "not synchronised yet by ntpd");
}

#[test]
fn what_chronyd_says_is_told_and_so_are_ptp_clocks() {
    let check = |chrony: Option<Chrony>, ptp: &[&str], expected: &str| {
        let clock = Timekeeping {
            kept_by: vec!["chronyd".to_owned()],
            chrony,
            ptp_clocks: ptp.iter().map(|name| (*name).to_owned()).collect(),
            ..Timekeeping::default()
        };
        let expected = format!("not synchronised yet by chronyd; {expected}");
        assert_eq!(timekeeping(&clock), expected);
    };
    let by = |source: Option<TimeSource>, offset_ns: i64| {
        Some(Chrony {
            source,
            stratum: 3,
            offset_ns,
            root_delay: Span::from_us(900),
            root_dispersion: Span::from_us(70),
        })
    };
    check(None, &[], "what chronyd says is unknown");
    check(by(None, 0), &[], "chronyd follows nothing yet");
    check(
        by(Some(TimeSource::Network), 1_500),
        &[],
        "chronyd follows a server on the network (stratum 3), 1.50 µs ahead, root delay 900 µs, \
         root dispersion 70.0 µs",
    );
    check(
        by(Some(TimeSource::Ptp), -1_500),
        &["ptp_kvm"],
        "chronyd follows a PTP clock (stratum 3), 1.50 µs behind, root delay 900 µs, root \
         dispersion 70.0 µs; PTP clock of ptp_kvm",
    );
    let two = ["ice", "ptp_kvm"];
    check(
        None,
        &two,
        "what chronyd says is unknown; PTP clocks of ice and ptp_kvm",
    );
}
