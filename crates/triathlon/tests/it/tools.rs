//! Other people's tools: what triathlon takes and prints by their names, beside the real ones.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::serve::Served;
use crate::support::nginx::Nginx;
use crate::support::process::{MEASURED, Run, Running, TRIATHLON, triathlon};
use crate::support::{find, need, not_run};

/// The lines of wrk, by the subcommand and by the name of the program.
#[test]
fn wrk_prints_what_wrk_prints() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    let flags = [
        "-t",
        "1",
        "-c",
        "2",
        "-d",
        "1s",
        "--latency",
        "-H",
        "X-A: 1",
        "--timeout",
        "3s",
    ];
    let words = ["wrk"].into_iter().chain(flags).chain([url.as_str()]);
    let run = triathlon(words).expect_one_of(MEASURED);
    check_wrk(&run.stdout, &url);
    assert!(
        run.stderr.contains("capacity") && !run.stdout.contains("valid"),
        "{run:#?}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("wrk");
    symlink(TRIATHLON, &link).expect("a link");
    let mut by_name = Command::new(&link);
    by_name.args(["-c2", "-t1", "-d1", "-L", &url]);
    let run = Running::start(&mut by_name)
        .finish()
        .expect_one_of(MEASURED);
    check_wrk(&run.stdout, &url);
}

/// What harnesses read of wrk, in its order.
#[track_caller]
fn check_wrk(text: &str, url: &str) {
    let mut rest = text;
    for expected in [
        &format!("Running 1s test @ {url}\n"),
        "  1 threads and 2 connections\n",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n",
        "    Latency  ",
        "    Req/Sec  ",
        "  Latency Distribution\n     50% ",
        "\n     75% ",
        "\n     90% ",
        "\n     99% ",
        " requests in ",
        "B read\nRequests/sec: ",
        "\nTransfer/sec: ",
    ] {
        let found = rest.split_once(expected);
        rest = found
            .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
            .1;
    }
}

/// The names of flags in a help: what lines begin with.
fn names(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in help.lines().map(str::trim) {
        let words = line.split_whitespace();
        for word in words.take_while(|word| word.starts_with('-') && *word != "--") {
            let name = word.split(['=', ',', '[']).next().unwrap_or_default();
            names.push(name.to_owned());
        }
    }
    names
}

/// Each flag that the real program says it has stands in our table, where it is done or refused.
#[test]
fn each_flag_of_the_real_tools_is_in_a_table() {
    let programs = PROGRAMS;
    for (tool, flag) in programs {
        let Some(program) = find(tool) else {
            let name = format!("tools::each_flag_of_the_real_tools_is_in_a_table ({tool})");
            not_run(&name, &format!("{tool} is not installed"));
            continue;
        };
        let said = Command::new(program).arg(flag).output().expect("it starts");
        let said = [said.stdout, said.stderr].concat();
        let theirs = names(&String::from_utf8_lossy(&said));
        assert!(theirs.len() > 5, "{tool}: {theirs:?}");
        let ours = names(&triathlon([tool, "--help"]).expect_code(0).stdout);
        for name in theirs {
            assert!(ours.contains(&name), "{name} of {tool} is in no table");
        }
    }
}

/// The real programs, and the flag that makes each list its flags.
const PROGRAMS: [(&str, &str); 2] = [("ab", "-h"), ("wrk", "--help")];

#[test]
fn what_cannot_be_done_is_refused_with_a_remedy() {
    let check = |line: &str, words: &[&str]| {
        triathlon(line.split_whitespace())
            .expect_code(2)
            .expect_complaint(words);
    };
    check(
        "wrk -s x.lua http://127.0.0.1:1/",
        &["--script", "not supported yet", "triathlon load"],
    );
    check(
        "wrk -c 1 -t 2 http://127.0.0.1:1/",
        &["connections must be >= threads"],
    );
    check("ab -g x http://127.0.0.1:1/", &["ab: -g", "--samples"]);
    check("ab -n 1 -c 2 http://127.0.0.1:1/", &["concurrency level"]);
    check("ab -f SSL3 http://127.0.0.1:1/", &["'SSL3'", "TLS1.2"]);
    check("ab -j http://127.0.0.1:1/", &["-j is no flag of ab"]);
    check("ab -n 1", &["there is no URL"]);
}

/// What stands behind `name` in the line that begins with it.
#[track_caller]
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).trim()
}

/// Runs the real program and ours with the same words.
fn both(program: &std::path::Path, tool: &str, words: &[&str]) -> [Run; 2] {
    let theirs = Running::start(Command::new(program).args(words)).finish();
    let words = [tool].into_iter().chain(words.iter().copied());
    [theirs.expect_code(0), triathlon(words).expect_measured()]
}

#[track_caller]
fn check_equal(runs: &[Run; 2], names: &[&str]) {
    for name in names {
        let [theirs, ours] = runs.each_ref().map(|run| field(&run.stdout, name));
        assert_eq!(ours, theirs, "{name} {runs:#?}");
    }
}

#[test]
fn ab_counts_what_ab_counts() {
    let test = "tools::ab_counts_what_ab_counts";
    let Some([ab, nginx]) = need(test, ["ab", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let folder = tempfile::tempdir().expect("a folder");
    let csv = folder.path().join("e.csv").display().to_string();
    let all = [
        "Server Software:",
        "Server Hostname:",
        "Server Port:",
        "Document Path:",
        "Document Length:",
        "Concurrency Level:",
        "Complete requests:",
        "Failed requests:",
        "HTML transferred:",
    ];
    let there = ["Requests per second:", "Transfer rate:", "Total:", "100%"];
    let url = server.url("a");
    let kept = both(
        &ab,
        "ab",
        &["-q", "-n", "500", "-c", "4", "-k", "-e", &csv, &url],
    );
    check_equal(&kept, &all);
    check_equal(&kept, &["Keep-Alive requests:"]);
    let closed = both(
        &ab,
        "ab",
        &["-q", "-n", "50", "-c", "2", "-H", "X-A: b", &url],
    );
    check_equal(&closed, &all);
    for run in kept.iter().chain(&closed) {
        for name in there {
            assert!(!field(&run.stdout, name).is_empty(), "{name}");
        }
    }
    assert!(!kept[1].stdout.contains("ERROR: "), "{kept:#?}");
    let missing = both(&ab, "ab", &["-q", "-n", "20", "-c", "2", &server.url("b")]);
    check_equal(&missing, &all);
    check_equal(&missing, &["Non-2xx responses:"]);
    let csv = std::fs::read_to_string(csv).expect("-e is written");
    assert!(csv.starts_with("Percentage served,Time in ms\n0,"), "{csv}");
    assert_eq!(csv.lines().count(), 102, "{csv}");
}

/// The time limit of ab ends a run that has more to do, which is then none that was interrupted.
#[test]
fn the_time_limit_of_ab_ends_the_run() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    let words = ["ab", "-t", "1", "-n", "100000000", "-c", "2", "-k", &url];
    let run = triathlon(words).expect_measured();
    let seconds: f64 = field(&run.stdout, "Time taken for tests:")
        .split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a time");
    assert!(seconds >= 0.9, "{run:#?}");
    let complete: u64 = field(&run.stdout, "Complete requests:")
        .parse()
        .expect("a count");
    assert!(complete > 0 && complete < 100_000_000, "{run:#?}");
}

#[test]
fn wrk_says_what_wrk_says() {
    let test = "tools::wrk_says_what_wrk_says";
    let Some([wrk, nginx]) = need(test, ["wrk", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    // As quoted with 30 seconds, which are cut short here.
    let line = "-t 32 -c 1000 -d 2 --latency";
    let url = server.url("a");
    let words: Vec<&str> = line.split(' ').chain([url.as_str()]).collect();
    let [theirs, ours] = both(&wrk, "wrk", &words).map(|run| run.stdout);
    let shape = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| {
            let words = line.split_whitespace();
            let words = words.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
            words.collect::<Vec<_>>().join(" ")
        });
        // Neither has errors here, or each its own.
        lines
            .filter(|line| !line.contains("Socket errors"))
            .collect()
    };
    assert_eq!(shape(&ours), shape(&theirs), "{ours}\n{theirs}");
    let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(head(&ours), head(&theirs));
}
