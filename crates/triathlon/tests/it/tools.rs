//! Other people's tools: what triathlon takes and prints by their names, beside the real ones.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use model::Outcome;

use crate::serve::Served;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, Running, is_status, load, program, triathlon};
use crate::support::stub::Stub;
use crate::support::{find, need, not_run};
use crate::targets::listening;
use crate::tls::Files;

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
    let run = triathlon(words).expect_judged();
    check_wrk(&run.stdout, &url);
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("wrk");
    symlink(program(), &link).expect("a link");
    let mut by_name = Command::new(&link);
    by_name.args(["-c2", "-t1", "-d1", "-L", &url]);
    let run = Running::start(&mut by_name).finish().expect_judged();
    check_wrk(&run.stdout, &url);
}

/// Each tool answers to a link of its name as to its subcommand: with its help, and of a flag that
/// no tool has.
#[test]
fn each_tool_answers_to_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    for (tool, help) in PROGRAMS.into_iter().chain(IN_NO_PACKAGE).chain([ABC]) {
        let link = folder.path().join(tool);
        symlink(program(), &link).expect("a link");
        let by_name = |word: &str| Running::start(Command::new(&link).arg(word)).finish();
        for help in [help, "--help"] {
            let told = by_name(help).expect_code(0).stdout;
            assert!(told.starts_with(&format!("Usage: {tool} ")), "{told}");
            assert_eq!(told, triathlon([tool, help]).expect_code(0).stdout);
        }
        by_name("--no-such-flag")
            .expect_code(2)
            .expect_complaint(&[&format!("triathlon: {tool}: --no-such-flag is not a flag")]);
    }
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
    let mut missing = Vec::new();
    for (tool, flag) in PROGRAMS {
        match find(tool) {
            Some(program) => check_flags(&program, tool, flag),
            None => missing.push(tool),
        }
    }
    if !missing.is_empty() {
        let name = "tools::each_flag_of_the_real_tools_is_in_a_table";
        not_run(name, &format!("{} is not installed", missing.join(", ")));
    }
}

#[track_caller]
fn check_flags(program: &Path, tool: &str, flag: &str) {
    let said = Command::new(program).arg(flag).output().expect("it starts");
    let said = [said.stdout, said.stderr].concat();
    let theirs = names(&String::from_utf8_lossy(&said));
    assert!(theirs.len() > 5, "{tool}: {theirs:?}");
    let ours = names(&triathlon([tool, "--help"]).expect_code(0).stdout);
    for name in theirs {
        assert!(ours.contains(&name), "{name} of {tool} is in no table");
    }
}

/// The flags of tools that are in no package of Debian, as their sources and pages list them. Where
/// one of them is on this machine, its own list is read, too.
#[test]
fn each_flag_of_tools_in_no_package_is_in_a_table() {
    for (tool, flag) in IN_NO_PACKAGE {
        if let Some(program) = find(tool) {
            check_flags(&program, tool, flag);
        }
    }
    let check = |tool: &str, flags: &str| {
        let ours = names(&triathlon([tool, "--help"]).expect_code(0).stdout);
        for name in flags.split_whitespace() {
            assert!(ours.contains(&name.to_owned()), "{name} of {tool}");
        }
    };
    check(
        "weighttp",
        "-n -t -c -k -K -6 -i -m -H -b -B -C -F -T -A -P -X -p -u -d -l -r -q -h -V",
    );
    check(
        "wrk2",
        "-c --connections -d --duration -t --threads -s --script -H --header -L --latency -U \
         --u_latency --timeout -B --batch_latency -v --version -R --rate",
    );
    check(
        "oha",
        "-n -c -p -z -w --wait-ongoing-requests-after-deadline -q --burst-delay --burst-rate \
         --rand-regex-url --urls-from-file --max-repeat --dump-urls --latency-correction --no-tui \
         --fps -m --method -H --proxy-header -t --connect-timeout -A -d -D -Z -F --form -T -a \
         --aws-session --aws-sigv4 -x --proxy-http-version --proxy-http2 --http-version --http2 \
         --host --disable-compression -r --redirect --disable-keepalive --no-pre-lookup --ipv6 \
         --ipv4 --cacert --cert --key --insecure --connect-to --no-color --unix-socket \
         --vsock-addr --stats-success-breakdown --db-url --debug -o --output --output-format -u \
         --time-unit -h --help -V --version",
    );
}

/// The real programs, and the flag that makes each list its flags.
const PROGRAMS: [(&str, &str); 4] = [
    ("ab", "-h"),
    ("h2load", "--help"),
    ("hey", "-help"),
    ("wrk", "--help"),
];

/// Programs that the suite does not install.
const IN_NO_PACKAGE: [(&str, &str); 3] =
    [("oha", "--help"), ("weighttp", "-h"), ("wrk2", "--help")];

const ABC: (&str, &str) = ("abc", "-h");

/// abc has no flag but that of its help; it takes a range and a URL.
#[test]
fn abc_has_no_flag_but_its_help() {
    let help = triathlon(["abc", "-h"]).expect_code(0).stdout;
    assert_eq!(names(&help), ["-h", "--help"], "{help}");
    let usage = "Usage: abc [FROM-TO:NBR[A]+STEPxROUNDS] <IP[:PORT]/URI>\n";
    assert!(help.starts_with(usage), "{help}");
    for flag in ["-n", "-c", "-k", "-t", "--version"] {
        triathlon(["abc", flag, "1", "127.0.0.1:1/"])
            .expect_code(2)
            .expect_complaint(&[flag, "is not a flag of abc"]);
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_a_remedy() {
    let check = |line: &str, words: &[&str]| {
        triathlon(line.split_whitespace())
            .expect_code(2)
            .expect_complaint(words);
    };
    check(
        "wrk http://127.0.0.1:1/ -- x",
        &["arguments after '--'", "give one with -s"],
    );
    check(
        "wrk -c 1 -t 2 http://127.0.0.1:1/",
        &["connections must be >= threads"],
    );
    check("ab -g x http://127.0.0.1:1/", &["ab: -g", "--samples"]);
    check("ab -n 1 -c 2 http://127.0.0.1:1/", &["concurrency level"]);
    check("ab -f SSL3 http://127.0.0.1:1/", &["'SSL3'", "TLS1.2"]);
    check("ab -j http://127.0.0.1:1/", &["-j is not a flag of ab"]);
    check("ab -n 1", &["there is no URL"]);
    check(
        "h2load -w 16 http://127.0.0.1:1/",
        &["'16': windows have the largest"],
    );
    check(
        "h2load -r 2 -D 1 -c 2 http://127.0.0.1:1/",
        &["-r, -D: they are mutually exclusive"],
    );
    check(
        "h2load -r 3 -n 4 -c 2 http://127.0.0.1:1/",
        &["smaller than or equal to the number of clients"],
    );
    check(
        "oha --http-version 0.9 http://127.0.0.1:1/",
        &["1.1, 2 or 3"],
    );
    check(
        "wrk2 -c 2 http://127.0.0.1:1/",
        &["wrk2: Throughput MUST be specified"],
    );
    check(
        "oha -r 21 http://127.0.0.1:1/",
        &["oha: -r/--redirect", "0 to 20"],
    );
    check(
        "weighttp -n 100000 -c [0-1000 step:10 rounds:3] -t 8 -k http://127.0.0.1:1/",
        &["weighttp: -c", "triathlon abc"],
    );
}

/// What stands behind `name` in the line that begins with it.
#[track_caller]
pub(crate) fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).trim()
}

/// Runs the real program and ours with the same words.
pub(crate) fn both(program: &Path, tool: &str, words: &[&str]) -> [Run; 2] {
    let theirs = Running::start(Command::new(program).args(words)).finish();
    let words = [tool].into_iter().chain(words.iter().copied());
    // Ours says what the run is worth, each time.
    [theirs.expect_code(0), triathlon(words).expect_judged()]
}

#[track_caller]
pub(crate) fn check_equal(runs: &[Run; 2], names: &[&str]) {
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
    let run = triathlon(words).expect_judged();
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

/// The words of what wrk prints, without its numbers.
pub(crate) fn shape(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let words = line.split_whitespace();
        // Of no number at all wrk says nan.
        let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let words = words.filter(|word| !is_number(word) && !word.contains("nan"));
        words.collect::<Vec<_>>().join(" ")
    });
    // Neither has errors here, or each its own.
    lines
        .filter(|line| !line.contains("Socket errors"))
        .collect()
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
    assert_eq!(shape(&ours), shape(&theirs), "{ours}\n{theirs}");
    let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(head(&ours), head(&theirs));
}

/// nginx with a file of seven bytes over TLS, and the files of who signed for it.
fn start_with_tls(nginx: &Path) -> (Files, Nginx) {
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let server = Nginx::start_with_tls(nginx, &[("a", b"seven!\n")], &certificate, &key);
    (files, server)
}

/// The same line over TLS, as it is quoted, too: with 32 threads and 1,000 handshakes.
#[test]
fn wrk_says_over_tls_what_wrk_says() {
    let test = "tools::wrk_says_over_tls_what_wrk_says";
    let Some([wrk, nginx]) = need(test, ["wrk", "nginx"]) else {
        return;
    };
    let (_files, server) = start_with_tls(&nginx);
    let url = server.https_url("a");
    // 30 seconds are cut short: 1,000 handshakes take one or two of them.
    let line = "-t 32 -c 1000 -d 5 --latency";
    let words: Vec<&str> = line.split(' ').chain([url.as_str()]).collect();
    let [theirs, ours] = both(&wrk, "wrk", &words).map(|run| run.stdout);
    assert_eq!(shape(&ours), shape(&theirs), "{ours}\n{theirs}");
    let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(head(&ours), head(&theirs));
    for text in [ours, theirs] {
        let requests: u64 = text
            .lines()
            .find_map(|line| line.trim().split_once(" requests in "))
            .and_then(|(count, _)| count.parse().ok())
            .expect("a count");
        assert!(requests > 0, "{text}");
    }
}

/// Takes what comes on each connection on to `target`, and back, but only after a while.
fn late_relay(target: SocketAddr, after: Duration) -> Stub {
    Stub::start_raw(move |mut near, _| {
        std::thread::sleep(after);
        let Ok(mut far) = TcpStream::connect(target) else {
            return;
        };
        let (Ok(mut from), Ok(mut to)) = (near.try_clone(), far.try_clone()) else {
            return;
        };
        let there = std::thread::spawn(move || {
            let _bytes = std::io::copy(&mut from, &mut to);
            let _over = to.shutdown(Shutdown::Both);
        });
        let _bytes = std::io::copy(&mut far, &mut near);
        let _over = near.shutdown(Shutdown::Both);
        there.join().expect("it copies");
    })
}

/// wrk waits for handshakes that take longer than an answer may.
#[test]
fn a_late_handshake_is_waited_for_as_wrk_waits() {
    let test = "tools::a_late_handshake_is_waited_for_as_wrk_waits";
    let Some([wrk, nginx]) = need(test, ["wrk", "nginx"]) else {
        return;
    };
    let (files, server) = start_with_tls(&nginx);
    let https = server.https_url("a");
    let port = https
        .rsplit(':')
        .next()
        .and_then(|rest| rest.split('/').next());
    let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
    let relay = late_relay(([127, 0, 0, 1], port).into(), Duration::from_millis(1_500));
    let url = format!("https://127.0.0.1:{}/a", relay.address().port());
    let words = ["-t", "2", "-c", "4", "-d", "3", "-T", "1", url.as_str()];
    for run in both(&wrk, "wrk", &words) {
        let complete = run
            .stdout
            .lines()
            .find_map(|line| line.trim().split_once(" requests in "))
            .and_then(|(count, _)| count.parse::<u64>().ok());
        assert!(complete.is_some_and(|count| count > 0), "{run:#?}");
        assert!(!run.stdout.contains("Socket errors"), "{run:#?}");
        // From sending on, without the handshake.
        let latency = field(&run.stdout, "Latency").split_whitespace().next();
        let is_short = |time: &str| time.ends_with("us") || time.ends_with("ms");
        assert!(latency.is_some_and(is_short), "{run:#?}");
    }
    // Our own limit for that, and none of its own: then it is as long as for an answer.
    let flags = format!("-n 4 -c 4 --warmup 0s --timeout 1s {}", files.trust());
    let limited = load(&url, &flags);
    let record = limited.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 0, "{limited:#?}");
    let words = "the TLS handshake was not over within 1.00 s";
    let is_told = record.examples.iter().any(|one| one.text == words);
    assert!(is_told, "{limited:#?}");
    let patient = load(&url, &format!("{flags} --connect-timeout 30s"));
    let outcomes = patient.trial().record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], 4, "{patient:#?}");
}

#[test]
fn h2load_counts_what_h2load_counts() {
    let test = "tools::h2load_counts_what_h2load_counts";
    let Some([h2load, nginx]) = need(test, ["h2load", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let line = ["--h1", "-n", "500", "-c", "4", "-t", "2", url.as_str()];
    let runs = both(&h2load, "h2load", &line);
    let all = [
        "spawning thread #0:",
        "spawning thread #1:",
        "Application protocol:",
        "requests:",
        "status codes:",
    ];
    check_equal(&runs, &all);
    // h2load takes off what heads would have been without compression.
    let data = |run: &Run| {
        let traffic = field(&run.stdout, "traffic:");
        traffic.rsplit(',').next().map(str::to_owned)
    };
    assert_eq!(data(&runs[0]), data(&runs[1]), "{runs:#?}");
    let missing = server.url("b");
    let runs = both(
        &h2load,
        "h2load",
        &["--h1", "-n", "20", "-c", "2", &missing],
    );
    check_equal(&runs, &["requests:", "status codes:"]);
    let turns = "--h1 -n 8 -c 4 -r 2 --rate-period 100ms -T 10s";
    let words: Vec<&str> = turns.split(' ').chain([url.as_str()]).collect();
    let before = server.status().accepts;
    let runs = both(&h2load, "h2load", &words);
    check_equal(
        &runs,
        &["spawning thread #0:", "requests:", "status codes:"],
    );
    // Four of theirs, four of ours, two of the answers before the run, and that of the question.
    assert_eq!(server.status().accepts - before, 11, "{runs:#?}");
    let timed = ["--h1", "-D", "1", "--warm-up-time=1", "-c", "2", &url];
    for run in both(&h2load, "h2load", &timed) {
        for name in [
            "finished in",
            "time for request:",
            "time for connect:",
            "req/s",
        ] {
            assert!(!field(&run.stdout, name).is_empty(), "{name}: {run:#?}");
        }
        assert!(field(&run.stdout, "status codes:").ends_with("0 3xx, 0 4xx, 0 5xx"));
    }
}

/// Over HTTP/2, in clear and with ALPN, on several streams.
#[test]
fn tools_of_http2_count_what_they_count() {
    let test = "tools::tools_of_http2_count_what_they_count";
    let Some([h2load, hey, nginx]) = need(test, ["h2load", "hey", "nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let pages: &[(&str, &[u8])] = &[("a", b"seven!\n")];
    let clear = Nginx::start_http2(&nginx, pages, None);
    let secure = Nginx::start_http2(&nginx, pages, Some((&certificate, &key)));
    let all = [
        "spawning thread #0:",
        "Application protocol:",
        "requests:",
        "status codes:",
    ];
    let data = |run: &Run| {
        let traffic = field(&run.stdout, "traffic:");
        traffic.rsplit(',').next().map(str::to_owned)
    };
    for url in [clear.url("a"), secure.https_url("a")] {
        for streams in ["1", "10"] {
            let line = ["-n", "500", "-c", "4", "-t", "1", "-m", streams, &url];
            let runs = both(&h2load, "h2load", &line);
            check_equal(&runs, &all);
            assert_eq!(data(&runs[0]), data(&runs[1]), "{runs:#?}");
            if url.starts_with("https") {
                check_equal(&runs, &["TLS Protocol:"]);
            }
            for name in ["time for request:", "req/s"] {
                assert!(!field(&runs[1].stdout, name).is_empty(), "{name}");
            }
        }
        let missing = format!("{url}b");
        let runs = both(&h2load, "h2load", &["-n", "20", "-c", "2", &missing]);
        check_equal(&runs, &["requests:", "status codes:"]);
    }
    let url = secure.https_url("a");
    let runs = both(&hey, "hey", &["-h2", "-n", "403", "-c", "4", &url]);
    check_equal(&runs, &["Total data:", "Size/request:", "[200]"]);
    for url in [clear.url("a"), url] {
        let line = "oha --insecure --no-tui --http2 -p 5 -n 300 -c 3";
        let words = line.split(' ').chain([url.as_str()]);
        let text = triathlon(words).expect_judged().stdout;
        assert_eq!(field(&text, "Success rate:"), "100.00%");
        assert_eq!(field(&text, "[200]"), "300 responses");
    }
}

/// Over TLS, bytes are those of the answers.
#[test]
fn tools_over_tls_count_what_they_count() {
    let test = "tools::tools_over_tls_count_what_they_count";
    let Some([ab, h2load, hey, nginx]) = need(test, ["ab", "h2load", "hey", "nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let server = Nginx::start_with_tls(&nginx, &[("a", &[b'x'; 677])], &certificate, &key);
    let url = server.https_url("a");
    let runs = both(&ab, "ab", &["-q", "-k", "-n", "100", "-c", "2", &url]);
    let bytes = ["Total transferred:", "HTML transferred:"];
    check_equal(&runs, &["Complete requests:", bytes[0], bytes[1]]);
    let runs = both(&h2load, "h2load", &["--h1", "-n", "100", "-c", "2", &url]);
    check_equal(&runs, &["requests:", "status codes:", "traffic:"]);
    let once = ["-n", "20", "-c", "2", "-disable-keepalive", &url];
    let runs = both(&hey, "hey", &once);
    check_equal(&runs, &["Total data:", "Size/request:", "[200]"]);
}

/// Each says to the server who it is, as the real one does, and asks for the same.
#[test]
fn tools_name_themselves() {
    let (server, heard) = listening();
    let url = server.url();
    let check = |tool: &str, line: &str, expected: &[&str]| {
        let words = line.split(' ').chain([url.as_str()]);
        triathlon([tool].into_iter().chain(words.clone())).expect_judged();
        let take = || std::mem::take(&mut *heard.lock().expect("nobody panicked"));
        let mut all = take();
        // The real ab waits for a close of this server, which keeps connections.
        if let Some(program) = find(tool).filter(|_| tool != "ab") {
            let mut theirs = Command::new(program);
            Running::start(theirs.args(words)).finish().expect_code(0);
            all.extend(take());
        }
        for text in all.iter().map(|text| text.to_ascii_lowercase()) {
            for part in expected {
                assert!(text.contains(part), "{tool}: no {part:?} in {text}");
            }
        }
    };
    let any = "accept: */*\r\n";
    check("ab", "-n 1", &["user-agent: apachebench/2.3\r\n", any]);
    check("h2load", "--h1 -n 1", &["user-agent: h2load nghttp2/"]);
    let none = "content-length: 0\r\n";
    let line = "-n 1 -c 1 -m POST";
    check("hey", line, &["user-agent: hey/0.0.1\r\n", none]);
    check("weighttp", "-n 1", &["user-agent: weighttp/"]);
    let part = "form-data; name=\"a\"\r\ncontent-type: b/c\r\n\r\n1\r\n--";
    let line = "-n 1 -c 1 --no-tui -F a=1;type=b/c";
    let form = "content-type: multipart/form-data; boundary=";
    check(
        "oha",
        line,
        &["post /", "user-agent: oha/", any, form, part],
    );
}

/// What a script prints while it runs stands before the rates.
#[test]
fn what_a_script_prints_is_there_before_the_rates() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("said.lua").display().to_string();
    let code = "function response() if not said then said = true io.write('heard\\n') end end";
    std::fs::write(&script, code).expect("a file");
    let url = served.url("/a");
    let words = ["-t1", "-c1", "-d1", "-s", &script, &url];
    let mut runs = vec![triathlon(["wrk"].into_iter().chain(words)).expect_judged()];
    if let Some(wrk) = find("wrk") {
        runs.push(Running::start(Command::new(wrk).args(words)).finish());
    }
    for run in runs {
        let (before, _) = run.stdout.split_once("Thread Stats").expect("the rates");
        assert!(before.contains("heard\n"), "{run:#?}");
    }
}

#[test]
fn hey_counts_what_hey_counts() {
    let test = "tools::hey_counts_what_hey_counts";
    let Some([hey, nginx]) = need(test, ["hey", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let runs = both(&hey, "hey", &["-n", "403", "-c", "4", &url]);
    check_equal(&runs, &["Total data:", "Size/request:", "[200]"]);
    let missing = server.url("b");
    let runs = both(
        &hey,
        "hey",
        &["-n", "20", "-c", "2", "-disable-keepalive", &missing],
    );
    check_equal(&runs, &["[404]"]);
    let runs = both(&hey, "hey", &["-n", "20", "-c", "2", "-o", "csv", &url]);
    for run in &runs {
        let mut lines = run.stdout.lines();
        let head = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,\
                    status-code,offset";
        assert_eq!(lines.next(), Some(head), "{run:#?}");
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 20, "{run:#?}");
        let is_whole = |row: &Vec<&str>| row.len() == 8 && row[6] == "200";
        assert!(rows.iter().all(is_whole), "{run:#?}");
    }
    let runs = both(&hey, "hey", &["-z", "1s", "-q", "50", "-c", "2", &url]);
    for name in [
        "Requests/sec:",
        "Average:",
        "10% in",
        // Of fewer than 100 answers hey itself has no 99 %.
        "50% in",
        "DNS+dialup:",
    ] {
        for run in &runs {
            assert!(!field(&run.stdout, name).is_empty(), "{name}: {run:#?}");
        }
    }
}

/// Their real programs are in no package here: what is printed is held against what was sent.
#[test]
fn weighttp_wrk2_and_oha_tell_what_the_server_saw() {
    let test = "tools::weighttp_wrk2_and_oha_tell_what_the_server_saw";
    let Some([nginx]) = need(test, ["nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let run = |line: &str| {
        let words = line.split_whitespace().chain([url.as_str()]);
        triathlon(words).expect_judged().stdout
    };
    // As quoted, with all its connections, which are more than that nginx has places for.
    let served = Served::start(&[("a", b"seven!\n")], "");
    let quoted = "weighttp -n 100000 -c 1000 -t 8 -k";
    let many = served.url("/a");
    let words = quoted.split(' ').chain([many.as_str()]);
    let text = triathlon(words).expect_judged().stdout;
    let expected =
        "100000 total, 100000 started, 100000 done, 100000 succeeded, 0 failed, 0 errored";
    assert_eq!(field(&text, "requests:"), expected);
    assert_eq!(
        field(&text, "status codes:"),
        "100000 2xx, 0 3xx, 0 4xx, 0 5xx"
    );
    assert!(field(&text, "traffic:").ends_with(" bytes http, 700000 bytes data"));
    let text = run("wrk2 -t 1 -c 2 -d 1 -R 200 -L -U");
    let requests: u64 = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in "))
        .and_then(|(count, _)| count.parse().ok())
        .expect("a count");
    assert!(requests <= 200 && requests > 0, "{text}");
    assert_eq!(text.matches("Detailed Percentile spectrum:").count(), 2);
    let text = run("oha --no-tui -n 300 -c 3");
    assert_eq!(field(&text, "Success rate:"), "100.00%");
    assert_eq!(field(&text, "Total data:"), "2.05 KiB");
    assert_eq!(field(&text, "Size/request:"), "7 B");
    assert_eq!(field(&text, "[200]"), "300 responses");
    // The fetches before a run are counted too, twice for each.
    let lines = server.quit();
    let served = lines.iter().filter(|line| line.status == 200).count() as u64;
    assert!(served >= 300 + requests, "{served}");
}

/// What stands in a row of abc, whose columns have the widths that abc prints them with: 7 and
/// three times 8, a comma after each, three blanks and the time of day.
#[track_caller]
fn row_of_abc(line: &str) -> Option<[u64; 4]> {
    let cells: Vec<&str> = line.split(',').collect();
    let [clients, min, mean, max, time] = cells.as_slice() else {
        return None;
    };
    let widths = [clients.len(), min.len(), mean.len(), max.len()];
    assert_eq!(widths, [7, 9, 9, 9], "{line:?}");
    let parts: Vec<&str> = time
        .strip_prefix("   ")
        .expect("blanks")
        .split(':')
        .collect();
    let is_two = |part: &&str| part.len() == 2 && part.parse::<u8>().is_ok();
    assert!(parts.len() == 3 && parts.iter().all(is_two), "{line:?}");
    let number = |text: &str| text.trim_start().parse().expect("a number");
    Some([clients, min, mean, max].map(|text| number(text)))
}

/// What a sweep prints: the line before the table, and its rows. All that stands between and behind
/// them is as abc has it.
#[track_caller]
fn sweep_of_abc(text: &str) -> (String, Vec<[u64; 4]>) {
    let lines: Vec<&str> = text.split('\n').collect();
    let rule = "-".repeat(79);
    let head = [
        "",
        "",
        " Number        Requests per second",
        "   of     ----------------------------",
        "Clients      min       ave       max         Time",
        "--------  --------  --------  --------  --------------",
    ];
    assert_eq!(lines[1..7], head, "{text}");
    let (rows, foot) = lines[7..].split_at(lines.len() - 12);
    let rows: Vec<[u64; 4]> = rows
        .iter()
        .map(|line| row_of_abc(line).unwrap_or_else(|| panic!("{line:?} is no row: {text}")))
        .collect();
    // The sums of the columns, and how long it took.
    let of = |at: usize| rows.iter().map(|row| row[at]).sum::<u64>();
    let sums = format!("min:{}   avg:{}   max:{} Time:", of(1), of(2), of(3));
    let time = foot[1].strip_prefix(sums.as_str());
    let time = time.unwrap_or_else(|| panic!("no {sums:?} in {text}"));
    let (seconds, clock) = time.split_once(" second(s) [").expect("a time");
    let seconds: u64 = seconds.parse().expect("seconds");
    let clock_of = format!(
        "{:02}:{:02}:{:02}]",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    );
    assert_eq!(clock, clock_of, "{text}");
    let behind = [foot[0], foot[2], foot[3], foot[4]];
    assert_eq!(behind, [rule.as_str(), &rule, "", ""], "{text}");
    for row in &rows {
        assert!(row[1] > 0 && row[1] <= row[2] && row[2] <= row[3], "{text}");
    }
    (lines[0].to_owned(), rows)
}

/// The sweep that a well-known page quotes, made small.
#[test]
fn abc_measures_over_a_range_of_connections() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    let bare = url.trim_start_matches("http://");
    let run = triathlon(["abc", "[0-20:200A+10x2]", bare]).expect_measured();
    let (quoted, rows) = sweep_of_abc(&run.stdout);
    assert_eq!(
        quoted,
        quoted_by_abc("200 -c [0-20 step:10 rounds:2]", "-k", &url)
    );
    let connections = rows.iter().map(|row| row[0]);
    assert_eq!(connections.collect::<Vec<_>>(), [1, 10, 20], "{run:#?}");
    expect_rounds_judged(&run, 6);
    let missing = format!("{bare}b");
    let run = triathlon(["abc", "[1-2:20+1x1]", &missing]).expect_measured();
    assert!(run.stdout.contains("* failed responses:20\n"), "{run:#?}");
    triathlon(["abc", "nginx", bare])
        .expect_code(2)
        .expect_complaint(&["'nginx'", "triathlon lab"]);
}

/// The line that stands before the table: as many threads as the machine has CPUs.
fn quoted_by_abc(range: &str, kept: &str, url: &str) -> String {
    let threads = std::thread::available_parallelism().expect("CPUs can be counted");
    format!("weighttp -n {range} -t {threads} {kept} \"{url}\"")
}

/// Each round has a line on standard error, which says what it is worth.
#[track_caller]
fn expect_rounds_judged(run: &Run, rounds: usize) {
    let lines = run.stderr.lines();
    let worth = lines.filter_map(|line| {
        let (round, worth) = line.split_once(": ")?;
        let mut words = worth.split_whitespace();
        let is_claim = round.contains(" connections, round ") && words.next() == Some("capacity");
        words.next().filter(|word| is_claim && is_status(word))
    });
    assert_eq!(worth.count(), rounds, "{run:#?}");
}

/// The quoted sweep from its first to its last number of connections, with three rounds at each,
/// but 1,000 requests in the place of 100,000 and 11 numbers of connections in the place of 101.
#[test]
fn abc_sweeps_as_quoted() {
    if need("tools::abc_sweeps_as_quoted", []).is_none() {
        return;
    }
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    let bare = url.trim_start_matches("http://");
    let run = triathlon(["abc", "[0-1000:1kA+100x3]", bare]).expect_measured();
    let (quoted, rows) = sweep_of_abc(&run.stdout);
    assert_eq!(
        quoted,
        quoted_by_abc("1000 -c [0-1000 step:100 rounds:3]", "-k", &url)
    );
    let connections: Vec<u64> = rows.iter().map(|row| row[0]).collect();
    let expected: Vec<u64> = (0..=1_000).step_by(100).map(|count| count.max(1)).collect();
    assert_eq!(connections, expected, "{run:#?}");
    expect_rounds_judged(&run, 33);
}
