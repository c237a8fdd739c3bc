use super::*;
use model::Condition;
use model::condition::Link;
use verdict::doctor::examine;
use verdict::sysctl::{Machine, judge, parse};

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

fn told(file: &str, text: &str, kernel: &str) -> String {
    let kernel = kernel.parse().unwrap();
    let objections = judge(text, Machine::new(kernel));
    settings(file, kernel, &parse(text).0, &objections)
}

#[test]
fn a_file_that_is_fine_says_so() {
    let text = told(
        "mine.conf",
        "vm.swappiness = 10\nnet.ipv4.tcp_sack = 1\n",
        "6.1",
    );
    assert!(text.contains("2 settings were looked at:\n"), "{text}");
    assert!(
        text.contains("1  fine: no rule objects to vm.swappiness\n"),
        "{text}"
    );
    assert!(text.contains("1  without effect on a benchmark"), "{text}");
    let text = told("empty.conf", "# nothing\n", "6.1");
    assert!(
        text.contains("There is no setting in it: a line is 'name = value'.\n"),
        "{text}"
    );
}

#[test]
fn settings_are_told_line_by_line() {
    let text = "net.core.somaxconn = 100000\nnet.ipv4.tcp_tw_recycle = 1\n\
                net.core.somaxcon = 4096\nvm.swappiness = 10\n";
    insta::assert_snapshot!(told("sysctl.conf", text, "6.1"));
}

#[test]
fn a_dump_of_all_settings_is_counted_and_not_recited() {
    let dump = include_str!("../../../verdict/src/sysctl/fixtures/dump-6.18.conf");
    insta::assert_snapshot!(told("dump", dump, "6.18"));
}
