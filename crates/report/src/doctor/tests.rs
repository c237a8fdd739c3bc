use super::*;
use model::Condition;
use model::condition::Link;
use verdict::doctor::examine;
use verdict::sysctl::{Machine, judge};

fn examined() -> Examination {
    let mut condition = Condition::default();
    for (key, value) in [
        ("net.core.somaxconn", "128"),
        ("net.ipv4.ip_local_port_range", "32768 60999"),
        ("net.ipv4.tcp_rmem", "4096 30000000 30000000"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ] {
        condition
            .environment
            .sysctls
            .insert(key.to_owned(), value.to_owned());
    }
    condition.environment.virtualised = Some(true);
    condition.environment.cpus_allowed = vec![0, 1];
    condition.links.push(Link {
        device: false,
        name: "lo".to_owned(),
        mtu: Some(1_500),
        speed_mbit: None,
    });
    examine(&condition)
}

#[test]
fn the_worst_comes_first_and_says_what_to_do() {
    insta::assert_snapshot!(examination(&examined()));
}

#[test]
fn the_script_undoes_what_it_does() {
    let script = fix_script(&examined());
    insta::assert_snapshot!(script);
    let nothing = fix_script(&Examination::default());
    assert!(nothing.contains("Nothing was found"), "{nothing}");
}

#[test]
fn settings_are_told_line_by_line() {
    let text = "net.core.somaxconn = 100000\nnet.ipv4.tcp_tw_recycle = 1\n";
    let objections = judge(text, Machine::new("6.1".parse().unwrap()));
    insta::assert_snapshot!(settings("sysctl.conf", "6.1".parse().unwrap(), &objections));
}

#[test]
fn a_dump_of_all_settings_is_counted_and_not_recited() {
    let dump = include_str!("../../../verdict/src/sysctl/fixtures/dump-6.18.conf");
    let kernel = "6.18".parse().unwrap();
    insta::assert_snapshot!(settings("dump", kernel, &judge(dump, Machine::new(kernel))));
}
