//! Servers as folders: those that the program brings along beyond the first four, and the user's.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::Trial;

use crate::lab::{check_answered, files};
use crate::lab_tls::{check_backlog, check_every_protocol, check_spoken};
use crate::support::process::{Run, triathlon};
use crate::support::{need, not_run};

/// Users wait so long before each request in a lab that asks whether a server is measured, and not
/// how fast it is: at full speed, each window would take all CPUs.
pub(crate) const THINK: &str = "1ms";

/// A lab of one point, of `server` alone.
fn tiny(server: &str, results: &Path, more: &[&str]) -> Run {
    let server = format!("server={server}");
    let results = results.display().to_string();
    let mut arguments = vec!["lab", "--no-lock", "first-heat", &server, "rounds=1"];
    arguments.extend(["repeats=0", "calm=0s"]);
    arguments.push("connections=[2]");
    let think = format!("think={THINK}");
    arguments.push(&think);
    arguments.extend(["duration=100ms", "warmup=20ms", "--hiccups", "0s"]);
    arguments.extend(["--results", &results]);
    arguments.extend(more);
    triathlon(arguments)
}

/// Those that were not measured again because something disturbed them.
fn trials(results: &Path) -> Vec<Trial> {
    let read = |path| fs::read_to_string(path).expect("a readable trial");
    let trials = files(results, "trials").into_iter().map(read);
    trials
        .map(|text| serde_json::from_str(&text).expect("a trial"))
        .filter(|trial: &Trial| trial.point.as_ref().is_none_or(|point| point.attempt == 0))
        .collect()
}

/// Runs a tiny lab of `server`, of which `version` is the beginning of its version and `processes`
/// the least number of its processes.
fn check_measured(server: &str, version: &str, processes: usize, more: &[&str]) -> Vec<Trial> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = tiny(server, folder.path(), more).expect_measured();
    let gaps = files(folder.path(), "gaps");
    assert!(gaps.is_empty(), "{server}: {run:#?}");
    let mut seen = Vec::new();
    for trial in trials(folder.path()) {
        if trial.point.as_ref().is_none_or(|point| point.ceiling) {
            continue;
        }
        seen.push(trial);
    }
    assert_eq!(seen.len(), 2, "{server}: {run:#?}");
    check_facts(&seen, server, version, processes);
    seen
}

/// In each of these trials of `server` something was answered, `version` is the beginning of its
/// version and `processes` the least number of its processes, which stayed the same.
fn check_facts(trials: &[Trial], server: &str, version: &str, processes: usize) {
    for trial in trials {
        if trial.point.as_ref().is_none_or(|point| point.ceiling) {
            continue;
        }
        let is_seen = check_answered(trial);
        let facts = trial.context.server.clone().expect("a server");
        let label = &trial.point.as_ref().expect("a point").id.server;
        assert_eq!(facts.product, server);
        assert!(facts.version.starts_with(version), "{label}: {facts:?}");
        assert_eq!(facts.listener_is_ours, Some(true), "{label}: {facts:?}");
        let before = facts.processes_before.expect("processes");
        assert!(before.len() >= processes, "{label}: {before:?}");
        assert_eq!(Some(before), facts.processes_after, "{label}");
        if is_seen && trial.void.is_none() {
            let usage = trial.usage.server.as_ref().expect("usage");
            assert!(usage.cpu.is_some_and(|cpu| !cpu.is_zero()), "{label}");
        }
    }
}

#[test]
fn h2o_is_a_folder() {
    if need("h2o_is_a_folder", ["h2o"]).is_some() {
        let trials = check_all_of("h2o", &["", "access_log = \"on\""], &["static"]);
        check_facts(&trials, "h2o", "h2o version ", 1);
    }
}

#[test]
fn caddy_is_a_folder() {
    if need("caddy_is_a_folder", ["caddy"]).is_some() {
        let trials = check_all_of("caddy", &["", "access_log = \"on\""], &["static"]);
        check_facts(&trials, "caddy", "2.", 1);
    }
}

/// A rig: a cache, its manager and origin behind it, all metered together.
#[test]
fn varnish_before_origin_is_a_folder() {
    if need("varnish_before_origin_is_a_folder", ["varnishd", "cc"]).is_some() {
        let trials = check_all_of("varnish", &[""], &["static"]);
        check_facts(&trials, "varnish", "varnish-", 3);
    }
}

/// The server behind it is another one, and is asked each time where that is wanted.
#[test]
fn varnish_before_nginx_hits_and_misses() {
    let name = "varnish_before_nginx_hits_and_misses";
    if need(name, ["varnishd", "cc", "nginx"]).is_some() {
        let ways = [
            "server[0].variant=nginx",
            "workload[0].handler=cache-miss",
            "workload[1].handler=cache",
            // What nobody asks is compared with what all ask.
            "think=0s",
        ];
        // A manager and its child, a master and its worker.
        for trial in check_measured("varnish", "varnish-", 4, &ways) {
            let usage = trial.usage.server.as_ref().expect("usage");
            let behind = usage.behind_cpu.expect("nginx is behind it");
            let point = trial.point.as_ref().expect("a point");
            let outcomes = &trial.record.total.outcomes;
            match point.id.workload.as_str() {
                "7-byte file" => assert!(
                    !behind.is_zero() || outcomes[model::Outcome::Ok] == 0,
                    "a miss asks nginx"
                ),
                // Nobody asks it. It may do what it does by itself.
                _ => assert!(behind < usage.cpu.expect("CPU time") / 10, "{behind:?}"),
            }
        }
    }
}

/// Measures `product` in both presets with each line of `ways`, by each of `handlers`: everything
/// is started, asked, loaded, metered and stopped.
fn check_all_of(product: &str, ways: &[&str], handlers: &[&str]) -> Vec<Trial> {
    check_presets_of(product, &["stock", "tuned"], ways, handlers, QUICK)
}

/// How long servers are loaded, and by how much.
#[derive(Clone, Copy)]
struct Window {
    duration: &'static str,
    load: &'static str,
}

/// Until a server has answered.
const QUICK: Window = Window {
    duration: "100ms",
    load: "think = \"1ms\"",
};

/// Over TLS: a server in Java shakes hands for most of a short window.
const SECURE: Window = Window {
    duration: "1s",
    load: "think = \"1ms\"\nprotocol = \"http2-tls\"\n[tls]\ncertificate = \"rsa-2048\"",
};

/// At full speed, until what programs took can be read from the kernel's clock, which has steps.
const METERED: Window = Window {
    duration: "500ms",
    load: "",
};

/// A server in Java takes seconds of CPU time to start, so a lab has it tuned and asks its servlet
/// over what takes most of its configuration. Where servers are measured in full, each preset
/// answers by each handler and speaks every protocol; in a test of `lab`, each answers in clear.
fn check_in_java(product: &str) {
    if in_full() {
        check_all_of(product, &[""], &["static", "java"]);
        return check_every_protocol(product);
    }
    let trials = check_presets_of(product, &["tuned"], &[""], &["java"], SECURE);
    check_backlog(&trials);
    let mut seen = 0;
    for trial in &trials {
        check_spoken(trial);
        let is_ceiling = trial.point.as_ref().is_some_and(|point| point.ceiling);
        let facts = trial.context.server.as_ref().expect("a server");
        assert_eq!(facts.error_log_lines, 0, "{facts:?}");
        assert!(is_ceiling || facts.protocol == "http2-tls", "{facts:?}");
        seen += u32::from(!is_ceiling);
    }
    assert_eq!(seen, 1, "{product}");
}

fn check_presets_of(
    product: &str,
    presets: &[&str],
    ways: &[&str],
    handlers: &[&str],
    window: Window,
) -> Vec<Trial> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = |preset: &str| {
        let table = |way: &&str| {
            // What a failure names.
            let words = format!("{product} {preset} {}", way.replace(['"', '='], ""));
            let label = words.split_whitespace().collect::<Vec<_>>().join(" ");
            format!(
                "[[server]]\nproduct = \"{product}\"\npreset = \"{preset}\"\n\
                 label = \"{label}\"\n{way}\n"
            )
        };
        ways.iter().map(table).collect::<String>()
    };
    let (rounds, duration, load) = match in_full() {
        true => (3, "3s", ""),
        false => (1, window.duration, window.load),
    };
    // Without a warm-up, a server in Java is not warmed up until its rate is steady either.
    let warmup = match product {
        "jetty" | "tomcat" if !in_full() => "0s",
        _ => "20ms",
    };
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"?\"\nrounds = {rounds}\n\
         warmup = \"{warmup}\"\nduration = \"{duration}\"\n{}\
         [[workload]]\nname = \"w\"\nbody = {{ bytes = 600 }}\nhandler = {handlers:?}\n\
         [load]\nconnections = 3\n{load}\n",
        presets
            .iter()
            .map(|preset| server(preset))
            .collect::<String>(),
    );
    let file = folder.path().join("mine.toml").display().to_string();
    fs::write(&file, text).expect("a file");
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let words = [
        "repeats=0",
        "calm=0s",
        "--hiccups",
        "0s",
        "--results",
        &place,
    ];
    let run = triathlon(["lab", "--no-lock", &file].into_iter().chain(words)).expect_measured();
    assert!(files(&results, "gaps").is_empty(), "{product}: {run:#?}");
    let all = trials(&results);
    let of_servers = all.iter().filter(|trial| {
        let point = trial.point.as_ref().expect("a point");
        !point.ceiling
    });
    let mut seen = std::collections::BTreeSet::new();
    for trial in of_servers {
        let point = trial.point.as_ref().expect("a point");
        let facts = trial.context.server.as_ref().expect("a server");
        let outcomes = &trial.record.total.outcomes;
        // A machine that had no CPU for it tells nothing of the server.
        let late = trial.record.drain_phase.outcomes[model::Outcome::Ok];
        let has_answered = outcomes[model::Outcome::Ok] > 0 || late > 0;
        assert!(has_answered || trial.void.is_some(), "{facts:?} {point:?}");
        assert_eq!(outcomes.failures(), 0, "{facts:?} {point:?}");
        assert_eq!(facts.listener_is_ours, Some(true), "{facts:?}");
        // As many CPUs as it was given, read back from its threads.
        assert_eq!(facts.cpus_allowed.as_ref(), Some(&facts.cpus), "{facts:?}");
        seen.insert((point.id.server.clone(), point.id.workload.clone()));
    }
    assert_eq!(
        seen.len(),
        presets.len() * ways.len() * handlers.len(),
        "{seen:?} {run:#?}"
    );
    all
}

/// Whether servers are measured for as long as a lab does, and not only until they have answered.
fn in_full() -> bool {
    std::env::var_os("TRIATHLON_SERVERS_IN_FULL").is_some()
}

/// Seconds of CPU time of `command` started by itself, as the shell counts them.
fn cpu_alone(command: &str) -> f64 {
    const RUNS: u32 = 100;
    let script = format!("i=0; while [ $i -lt {RUNS} ]; do i=$((i+1)); {command}; done; times");
    let told = Command::new("/bin/sh").args(["-c", &script]).output();
    let told = String::from_utf8(told.expect("a shell").stdout).expect("text");
    // Of the children: `0m0.120s 0m0.080s`.
    let line = told.lines().nth(1).expect("the times of children");
    let seconds = line.split_whitespace().map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').expect("a time");
        let seconds: f64 = seconds.parse().expect("seconds");
        minutes.parse::<f64>().expect("minutes") * 60.0 + seconds
    });
    seconds.sum::<f64>() / f64::from(RUNS)
}

/// The programs for CGI that nobody reaps are on the account of the server, and on nobody else's.
fn check_programs_are_metered(trials: &[Trial], handler: &str, alone: f64) {
    let of_it = trials.iter().filter(|trial| {
        let point = trial.point.as_ref().expect("a point");
        !point.ceiling && point.id.server.contains("event") && point.id.workload.ends_with(handler)
    });
    let mut hidden = Vec::new();
    for trial in of_it {
        let usage = trial.usage.server.as_ref().expect("usage");
        match usage.cpu_source.as_str() {
            "proc" => return not_run("apache_by_every_handler", "there are no control groups"),
            // No program came and went in the window: a busy machine may let none run.
            source if source.starts_with("proc") => continue,
            _ => (),
        }
        let (cpu, covered) = (usage.cpu.expect("CPU time"), usage.covered.expect("a part"));
        let share = cpu.as_s_f64() / covered.as_s_f64();
        let each = share / trial.record.achieved_rate;
        assert!(each > alone / 2.0, "{handler}: {each}, {alone} alone");
        let system = trial.usage.system.as_ref().expect("usage of the system");
        let others = system.others.as_ref().expect("a look at others");
        hidden.extend(
            others
                .unseen
                .map(|unseen| unseen.as_s_f64() / cpu.as_s_f64()),
        );
    }
    // Tests beside this one may have programs that nobody reaps, but not all the time.
    assert!(
        hidden.is_empty() || hidden.iter().any(|share| *share < 0.3),
        "{handler}: {hidden:?}"
    );
}

#[test]
fn apache_in_all_variants_and_presets() {
    if need("apache_in_all_variants_and_presets", ["apache2"]).is_some() {
        let ways = ["event", "itk", "prefork", "worker"];
        let ways = ways.map(|name| format!("variant = \"{name}\""));
        check_all_of("apache", &ways.each_ref().map(String::as_str), &["static"]);
    }
}

#[test]
fn apache_by_every_handler() {
    if need("apache_by_every_handler", ["apache2", "perl", "cc"]).is_some() {
        let ways = ["variant = \"event\"", "variant = \"prefork\""];
        let programs = ["cgi-c", "cgi-perl"];
        let both = ["stock", "tuned"];
        let trials = check_presets_of("apache", &both, &ways[..1], &programs, METERED);
        check_all_of("apache", &ways[1..], &programs);
        check_all_of("apache", &ways, &["lua", "perl"]);
        check_programs_are_metered(&trials, "cgi-c", cpu_alone("/bin/true"));
        check_programs_are_metered(&trials, "cgi-perl", cpu_alone("perl -e 1"));
        check_all_of("apache", &[""], &["fastcgi-c", "fastcgi-php"]);
        check_all_of("apache", &ways, &["cache", "cache-miss"]);
    }
}

#[test]
fn nginx_by_every_handler() {
    if need("nginx_by_every_handler", ["nginx"]).is_some() {
        let handlers = ["static", "memory", "perl", "js", "cache", "cache-miss"];
        check_all_of("nginx", &[""], &handlers);
    }
    let programs = ["nginx", "fcgiwrap", "php-fpm8.2", "perl", "cc"];
    if need("nginx_by_every_handler", programs).is_some() {
        let handlers = ["cgi-c", "cgi-perl", "fastcgi-c", "fastcgi-php"];
        check_all_of("nginx", &[""], &handlers);
    }
}

#[test]
fn apache_and_nginx_before_origin_are_proxies() {
    let name = "apache_and_nginx_before_origin_are_proxies";
    if need(name, ["apache2", "nginx"]).is_some() {
        check_all_of("apache", &[""], &["proxy"]);
        check_all_of("nginx", &[""], &["proxy"]);
    }
}

/// The server behind a proxy, as the tests of the lab have it.
const BEHIND: &str = include_str!("../../../lab/src/server/running/fixtures/behind.conf");

/// The same in the words of server.toml.
const BEHIND_PROCESS: &str = include_str!("../../../lab/src/server/running/fixtures/behind.toml");

/// A line of its log for each request: its place on the connection that it came on, the version of
/// HTTP, and what was asked for.
const SEEN: &str = r#"log_format seen "$connection_requests $server_protocol $request_uri";
    access_log "SEEN" seen;"#;

/// The folder of `product` with a server behind it that writes down what it is asked, and the file
/// that it writes to.
fn before_a_log(product: &str) -> (tempfile::TempDir, PathBuf) {
    let only_for = "only_for = [\"proxy\", \"cache\", \"cache-miss\"]";
    let origin = format!(
        "programs = [\"@triathlon\"]\n{only_for}\narguments = [\"serve\", \"{{{{ site }}}}\", \
         \"--listen\", \"127.0.0.1:{{{{ port }}}}\", \"--workers\", \"1\"]"
    );
    let nginx = format!("{only_for}\n{BEHIND_PROCESS}");
    let folder = broken(product, &origin, &nginx);
    let seen = folder.path().join("seen.log");
    let log = SEEN.replace("SEEN", &seen.display().to_string());
    assert!(BEHIND.contains("access_log off;"));
    let behind = BEHIND.replace("access_log off;", &log);
    fs::write(folder.path().join(product).join("behind.conf"), behind).expect("a file");
    (folder, seen)
}

/// How many requests of a trial were sent in all, none of which failed.
fn sent_in(trial: &Trial) -> u64 {
    let record = &trial.record;
    assert_eq!(record.total.outcomes.failures(), 0, "{:?}", record.examples);
    let phases = [&record.warmup_phase, &record.total, &record.drain_phase];
    phases.iter().map(|phase| phase.sent).sum()
}

/// Measures `product` as a cache before such a server: each miss comes there, and of hits the first
/// of each start alone.
fn check_a_cache_asks_behind(product: &str, preset: &str) {
    let (folder, seen) = before_a_log(product);
    let servers = folder.path().display().to_string();
    let preset_key = format!("server[0].preset={preset}");
    let more = [
        "--servers",
        &servers,
        &preset_key,
        "workload[0].handler=cache-miss",
        "workload[1].handler=cache",
    ];
    let results = tempfile::tempdir().expect("a temporary folder");
    let run = tiny(product, results.path(), &more).expect_measured();
    let (mut missed, mut hit) = (0, 0);
    for trial in trials(results.path()) {
        let point = trial.point.as_ref().expect("a point");
        match point.id.workload.as_str() {
            _ if point.ceiling => {}
            "7-byte file" => missed += sent_in(&trial),
            _ => hit += sent_in(&trial),
        }
    }
    let seen = fs::read_to_string(&seen).expect("the log of the server behind");
    let ends = |path: &str| seen.lines().filter(|line| line.ends_with(path)).count();
    let (misses, fetched) = (ends(" /small/7.html"), ends(" /cache/large/102400.bin"));
    let what = format!("{product} {preset}: {missed} and {hit} sent, {misses} and {fetched} came");
    assert_eq!(misses + fetched, seen.lines().count(), "{what}: {seen}");
    assert!(
        misses as u64 >= missed.saturating_sub(4),
        "{what}: {run:#?}"
    );
    // Two connections may ask for it at once.
    assert!((1..=20).contains(&fetched), "{what}: {run:#?}");
}

#[test]
fn a_cache_asks_the_server_behind_once_and_for_each_miss() {
    let name = "a_cache_asks_the_server_behind_once_and_for_each_miss";
    if need(name, ["apache2", "nginx"]).is_some() {
        for product in ["apache", "nginx"] {
            check_a_cache_asks_behind(product, "stock");
            check_a_cache_asks_behind(product, "tuned");
        }
    }
}

/// Measures `product` as a proxy before such a server: each request comes there, on a connection
/// that was there before where `is_kept`.
fn check_asks_behind(product: &str, preset: &str, is_kept: bool) {
    let (folder, seen) = before_a_log(product);
    let servers = folder.path().display().to_string();
    let preset_key = format!("server[0].preset={preset}");
    let more = [
        "--servers",
        &servers,
        &preset_key,
        "workload[0].handler=proxy",
        "workload[1].handler=proxy",
    ];
    let results = tempfile::tempdir().expect("a temporary folder");
    let run = tiny(product, results.path(), &more).expect_measured();
    let all = trials(results.path());
    let of_it = all
        .iter()
        .filter(|trial| trial.point.as_ref().is_some_and(|point| !point.ceiling));
    let (mut sent, mut measured) = (0, 0);
    for trial in of_it {
        sent += sent_in(trial);
        measured += 1;
    }
    assert_eq!(measured, 2, "{run:#?}");
    let seen = fs::read_to_string(&seen).expect("the log of the server behind");
    let lines: Vec<&str> = seen.lines().collect();
    let what = format!("{product} {preset}");
    // What is under way at the end of a trial may never be logged, on two connections. More comes
    // than trials tell: a server that has started is asked whether it is right, and warmed up.
    let came = lines.len() as u64;
    assert!(
        came >= sent.saturating_sub(4),
        "{what}: {sent} sent, {came} came"
    );
    let is_first = |line: &&&str| line.starts_with("1 ");
    let connections = lines.iter().filter(is_first).count();
    assert!(
        lines.iter().all(|line| line.contains(" /proxy/")),
        "{what}: {lines:?}"
    );
    match is_kept {
        // Each start makes new ones, a process of Apache each of its own, and nginx after a
        // thousand requests.
        true => assert!(
            connections <= 40 + lines.len() / 500,
            "{what}: {connections} connections, {came} requests"
        ),
        false => assert_eq!(connections, lines.len(), "{what}"),
    }
    let version = if is_kept { "HTTP/1.1" } else { "HTTP/1.0" };
    assert!(
        lines.iter().all(|line| line.contains(version)),
        "{what}: {lines:?}"
    );
}

/// nginx as it comes makes a connection for each request, in HTTP/1.0; tuned it keeps them. Apache
/// keeps them as it comes.
#[test]
fn a_proxy_asks_the_server_behind_each_time_and_keeps_connections_where_it_is_told_to() {
    let name = "a_proxy_asks_the_server_behind_each_time_and_keeps_connections_where_it_is_told_to";
    if need(name, ["apache2", "nginx"]).is_some() {
        check_asks_behind("nginx", "stock", false);
        check_asks_behind("nginx", "tuned", true);
        check_asks_behind("apache", "stock", true);
        check_asks_behind("apache", "tuned", true);
    }
}

#[test]
fn lighttpd_by_every_handler() {
    if need("lighttpd_by_every_handler", ["lighttpd", "perl", "cc"]).is_some() {
        let handlers = ["static", "cgi-c", "cgi-perl", "fastcgi-c", "lua"];
        check_all_of("lighttpd", &[""], &handlers);
    }
}

#[test]
fn h2o_by_every_handler() {
    if need("h2o_by_every_handler", ["h2o"]).is_some() {
        check_all_of("h2o", &[""], &["ruby"]);
    }
}

#[test]
fn haproxy_before_origin_is_a_folder() {
    if need("haproxy_before_origin_is_a_folder", ["haproxy"]).is_some() {
        check_all_of("haproxy", &[""], &["proxy", "memory"]);
    }
}

#[test]
fn trafficserver_before_origin_is_a_folder() {
    if need(
        "trafficserver_before_origin_is_a_folder",
        ["traffic_server"],
    )
    .is_some()
    {
        check_all_of("trafficserver", &[""], &["cache"]);
        check_all_of("trafficserver", &["access_log = \"buffered\""], &["static"]);
    }
}

#[test]
fn jetty_by_servlet_over_tls() {
    let needed = ["java", "/usr/share/jetty9/start.jar"];
    if need("jetty_by_servlet_over_tls", needed).is_some() {
        check_in_java("jetty");
    }
}

#[test]
fn tomcat_by_servlet_over_tls() {
    let needed = ["java", "/usr/share/tomcat10/bin/catalina.sh"];
    if need("tomcat_by_servlet_over_tls", needed).is_some() {
        check_in_java("tomcat");
    }
}

#[test]
fn mini_httpd_is_a_folder() {
    if need("mini_httpd_is_a_folder", ["mini_httpd"]).is_some() {
        check_all_of("mini-httpd", &["access_log = \"on\""], &["static"]);
    }
}

#[test]
fn mighttpd2_is_a_folder() {
    if need("mighttpd2_is_a_folder", ["mighty"]).is_some() {
        check_all_of("mighttpd2", &["access_log = \"buffered\""], &["static"]);
    }
}

#[test]
fn webfs_is_a_folder() {
    if need("webfs_is_a_folder", ["webfsd"]).is_some() {
        check_all_of("webfs", &["access_log = \"on\""], &["static"]);
    }
}

/// Any command is a server by a script of the user's, here this program.
#[test]
fn a_script_of_the_users_starts_any_server() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("start.sh");
    let own = crate::support::process::program();
    let text = format!("exec {own} serve \"{{site}}\" --listen 127.0.0.1:{{port}} --workers 1\n");
    fs::write(&script, text).unwrap();
    let preset = format!("server[0].preset={}", script.display());
    check_measured("custom", "does not tell its version", 1, &[&preset]);
    let results = tempfile::tempdir().unwrap();
    tiny("custom", results.path(), &[])
        .expect_code(1)
        .expect_complaint(&[
            "it ended at once (exit code 2; servers/custom/server.toml:",
            "give the script that starts it",
        ]);
}

/// Whatever a server waits for before it listens, the lab waits for the server: this one begins
/// when it is told to, by whoever has seen that it waits.
#[test]
fn a_server_that_takes_its_time_to_start_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let made = Command::new("mkfifo").arg(&gate).status();
    assert!(made.expect("mkfifo").success());
    let script = folder.path().join("start.sh");
    let own = crate::support::process::program();
    let text = format!(
        "read word < \"{}\"\nexec {own} serve \"{{site}}\" --listen 127.0.0.1:{{port}} \
         --workers 1\n",
        gate.display()
    );
    fs::write(&script, text).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let teller = {
        let (gate, over) = (gate.clone(), Arc::clone(&over));
        std::thread::spawn(move || {
            let mut told = 0;
            while !over.load(Ordering::SeqCst) {
                // It cannot be opened before somebody reads: the server waits.
                let gate = fs::OpenOptions::new().write(true).open(&gate);
                let said = gate.and_then(|mut gate| gate.write_all(b"go\n"));
                told += u32::from(said.is_ok());
            }
            told
        })
    };
    let preset = format!("server[0].preset={}", script.display());
    check_measured("custom", "does not tell its version", 1, &[&preset]);
    over.store(true, Ordering::SeqCst);
    // Lets the teller go, who waits for a server that does not come.
    let both = fs::OpenOptions::new().read(true).write(true).open(&gate);
    let told = teller.join().expect("a count");
    drop(both);
    assert!(told > 1, "it was told {told} times");
}

/// The bytes that handlers make are those of the file, or nothing is measured.
#[test]
fn a_handler_that_does_not_answer_with_the_bytes_of_the_file_is_a_row() {
    let folder = mine(&MINE.replace("[handler.static]", "[handler.static]\n[handler.other]"));
    let servers = folder.path().display().to_string();
    let results = tempfile::tempdir().unwrap();
    tiny(
        "mine",
        results.path(),
        &["--servers", &servers, "workload[0].handler=other"],
    )
    .expect_complaint(&["wrong answer for '7-byte file'"]);
}

/// A server that everybody has: this program, by a folder of the user's.
const MINE: &str = r#"install = "it is here"

[[process]]
programs = ["@triathlon"]
version = { arguments = ["--version"], pattern = "[0-9.]+" }
arguments = ["serve", "{{ site }}", "--listen", "127.0.0.1:{{ port }}", "--workers", "1"]

[access_log]
off = {}

[handler.static]
[protocol.http1]
"#;

/// A folder of servers with `mine` in it.
fn mine(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/server.toml"), text).expect("a file");
    folder
}

#[test]
fn a_server_of_the_users_is_a_folder_too() {
    let folder = mine(MINE);
    let servers = folder.path().display().to_string();
    check_measured("mine", "", 1, &["--servers", &servers]);
    let listing = triathlon(["lab", "--list", "servers", "--servers", &servers]);
    assert!(listing.stdout.contains("\nmine "), "{listing:#?}");
    let results = tempfile::tempdir().unwrap();
    tiny("mine", results.path(), &[])
        .expect_code(2)
        .expect_complaint(&["the lab knows no product 'mine'"]);
    // What it cannot do is a row, and it was asked for by its name.
    let run = tiny(
        "mine",
        results.path(),
        &["--servers", &servers, "server[0].access_log=on"],
    );
    run.expect_code(1)
        .expect_complaint(&["mine has no access log 'on'; there are off"]);
}

/// Servers that read their configuration again in the middle of each window go on to serve; one
/// whose folder names no signal for that is a row that says so.
#[test]
fn servers_are_told_to_read_their_configuration_again() {
    let name = "servers_are_told_to_read_their_configuration_again";
    let programs = [
        "nginx", "apache2", "lighttpd", "caddy", "haproxy", "h2o", "varnishd", "mighty",
    ];
    let Some(_) = need(name, programs) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Caddy and Varnish by a command; HAProxy and h2o by a process that is there only for that.
    let products = "nginx apache lighttpd origin webfs caddy varnish haproxy h2o mighttpd2";
    let products: Vec<&str> = products.split(' ').collect();
    let servers: String = products
        .iter()
        .map(|product| format!("[[server]]\nproduct = \"{product}\"\n"))
        .collect();
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"?\"\nrounds = 1\nreload = true\n\
         warmup = \"20ms\"\nduration = \"2s\"\n{servers}\
         [[workload]]\nname = \"w\"\nbody = {{ bytes = 600 }}\n[load]\nmode = \"open\"\n\
         rate = 500\nconnections = 8\noverload = true\n"
    );
    let file = folder.path().join("mine.toml").display().to_string();
    fs::write(&file, text).expect("a file");
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let words = [
        "repeats=0",
        "calm=0s",
        "--hiccups",
        "0s",
        "--results",
        &place,
    ];
    let run = triathlon(["lab", "--no-lock", &file].into_iter().chain(words));
    let gap = "webfs cannot be told to read its configuration again";
    assert!(
        format!("{}{}", run.stdout, run.stderr).contains(gap),
        "{run:#?}"
    );
    let mut seen = std::collections::BTreeSet::new();
    for trial in trials(&results) {
        let point = trial.point.as_ref().expect("a point");
        let facts = trial.context.server.as_ref().expect("a server");
        if point.ceiling {
            assert_eq!(facts.reloaded, None, "{facts:?}");
            continue;
        }
        let after = facts.reloaded.expect("it was told");
        assert!(after >= model::Span::from_s(1), "{facts:?}");
        assert_eq!(facts.exit, None, "{facts:?}");
        let outcomes = &trial.record.total.outcomes;
        assert!(outcomes[model::Outcome::Ok] > 0, "{facts:?}");
        // Apache with one process and lighttpd have none for a second or two: what is under way
        // ends first. On a busy machine they are told late, with little of the window left.
        let is_late = after > model::Span::from_ms(1_500);
        let intervals = trial.record.intervals.iter();
        let later = intervals.filter(|one| one.start > after);
        let right: u64 = later
            .map(|one| one.tally.outcomes[model::Outcome::Ok])
            .sum();
        assert!(
            right > 0 || is_late || ["apache", "lighttpd"].contains(&facts.product.as_str()),
            "{facts:?}"
        );
        if ["nginx", "apache", "haproxy", "h2o"].contains(&facts.product.as_str()) {
            assert_ne!(facts.processes_before, facts.processes_after, "{facts:?}");
        }
        seen.insert(facts.product.clone());
    }
    assert_eq!(seen.len(), products.len() - 1, "{seen:?} {run:#?}");
}

/// Its folder says that it gets faster while it runs, and the trials say what came of that.
#[test]
fn a_server_that_is_compiled_while_it_runs_is_warmed_up_until_it_is_steady() {
    let text = format!("steady_within = \"12s\"\n{MINE}");
    let folder = mine(&text);
    let servers = folder.path().display().to_string();
    let results = tempfile::tempdir().unwrap();
    let run = tiny("mine", results.path(), &["--servers", &servers]).expect_measured();
    let said = "of that 12 s for each start of mine, at most, until its rate is steady";
    assert!(run.stderr.contains(said), "{run:#?}");
    assert!(run.stderr.contains("was warmed up for"), "{run:#?}");
    for trial in trials(results.path()) {
        let point = trial.point.expect("a trial of a lab has a point");
        let standing = trial.context.server.and_then(|server| server.standing);
        let warming = standing.and_then(|standing| standing.warming);
        assert_eq!(warming.is_none(), point.ceiling, "{run:#?}");
        // Two documents of four slices at least.
        let is_warm = |warming: model::trial::Warming| warming.took >= model::Span::from_s(4);
        assert!(warming.is_none_or(is_warm), "{warming:?}");
    }
    // Who wants no warm-up gets none.
    let results = tempfile::tempdir().unwrap();
    let more = ["--servers", &servers, "warmup=0s"];
    let run = tiny("mine", results.path(), &more).expect_measured();
    assert!(!run.stderr.contains("warmed up"), "{run:#?}");
}

/// A line that nginx does not know is told in its own words before it starts, with the place.
#[test]
fn a_broken_configuration_is_told_by_the_products_own_test() {
    let name = "a_broken_configuration_is_told_by_the_products_own_test";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let told = [
        "test of its configuration fails (exit code 1; ",
        "nginx/server.toml:",
        ".check): ",
        "[emerg] unknown directive \"no_such_word\" in nginx.conf:",
        "of nginx.conf is 'no_such_word on;', written from ",
        "nginx/tuned.conf",
    ];
    let broken = broken("nginx", "http {\n", "http {\n    no_such_word on;\n");
    let servers = broken.path().display().to_string();
    let results = tempfile::tempdir().unwrap();
    for more in [
        &["--servers", &servers, "--verify"][..],
        &["--servers", &servers],
    ] {
        tiny("nginx", results.path(), more)
            .expect_code(1)
            .expect_complaint(&told);
    }
}

/// Folders of servers in which `product` alone is, with `to` for `from` in its files.
fn broken(product: &str, from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join(product);
    fs::create_dir(&broken).expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for entry in fs::read_dir(root.join("servers").join(product)).expect("its folder") {
        let entry = entry.expect("a file");
        let text = fs::read_to_string(entry.path()).expect("a text");
        fs::write(broken.join(entry.file_name()), text.replace(from, to)).expect("a file");
    }
    folder
}

#[test]
fn a_broken_map_is_told_by_traffic_server_itself() {
    let name = "a_broken_map_is_told_by_traffic_server_itself";
    if need(name, ["traffic_server"]).is_none() {
        return;
    }
    let broken = broken("trafficserver", "map / ", "map ");
    let servers = broken.path().display().to_string();
    let results = tempfile::tempdir().unwrap();
    let told = [
        "the configuration of its trafficserver fails (exit code 1; ",
        "trafficserver/server.toml:",
        "Failed to load remap.config",
    ];
    tiny("trafficserver", results.path(), &["--servers", &servers])
        .expect_code(1)
        .expect_complaint(&told);
}

/// What tests its configuration does so once, however often it starts.
#[test]
fn a_configuration_is_tested_once() {
    let seen = tempfile::tempdir().unwrap();
    let log = seen.path().join("log");
    let line = |what: &str| format!("echo {what} >> '{}'", log.display());
    let text = format!(
        "install = 'it is here'\n[[process]]\nprograms = ['sh']\n\
         check = {{ arguments = ['-c', \"{}\"] }}\narguments = ['-c', \"\"\"{}; exec '{}' serve \
         '{{{{ site }}}}' --listen 127.0.0.1:{{{{ port }}}} --workers 1\"\"\"]\n\
         [access_log.off]\n[handler.static]\n[protocol.http1]\n",
        line("tested"),
        line("started"),
        crate::support::process::program(),
    );
    let folder = mine(&text);
    let servers = folder.path().display().to_string();
    check_measured("mine", "", 1, &["--servers", &servers]);
    let seen = fs::read_to_string(&log).unwrap();
    let seen: Vec<&str> = seen.lines().collect();
    // One start is tried before anything is measured, and another one is measured.
    assert_eq!(seen[..2], ["tested", "started"], "{seen:?}");
    assert!(seen.len() > 2, "{seen:?}");
    assert!(seen[2..].iter().all(|line| *line == "started"), "{seen:?}");
}

#[test]
fn mistakes_in_a_folder_are_told_with_file_and_line() {
    let check = |from: &str, to: &str, code: i32, complaints: &[&str]| {
        assert!(MINE.contains(from), "{from}");
        let folder = mine(&MINE.replacen(from, to, 1));
        let servers = folder.path().display().to_string();
        let results = tempfile::tempdir().unwrap();
        tiny("mine", results.path(), &["--servers", &servers])
            .expect_code(code)
            .expect_complaint(complaints);
    };
    check(
        "{{ site }}",
        "{{ sitte }}",
        2,
        &[
            "mine/server.toml:6: process[0].arguments: there is no value 'sitte'",
            "'site'?",
        ],
    );
    check(
        "[0-9.]+",
        "no version",
        1,
        &["mine/server.toml:5: process[0].version.pattern: 'no version' does not occur in what"],
    );
    check(
        "arguments = [\"serve\",",
        "arguments = [\"surf\",",
        1,
        &["mine/server.toml:6: process[0].arguments)", "surf"],
    );
    check(
        "127.0.0.1:{{ port }}\", \"--workers\", \"1\"]",
        "127.0.0.1:0\"]\nready = { within = \"200ms\" }",
        1,
        &[
            "it is not ready after 0.2 s",
            "mine/server.toml:7: ",
            "it does not listen on port",
        ],
    );
}

#[test]
fn a_workload_that_a_server_does_not_offer_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"[experiment]
name = "first-heat"
question = "?"
rounds = 1
warmup = "20ms"
duration = "200ms"
[[server]]
product = "origin"
[[workload]]
name = "page"
[[workload.request]]
body = { bytes = 7 }
weight = 3
[[workload.request]]
body = { bytes = "20k" }
[[workload]]
name = "script"
needs = ["cgi"]
[[workload.request]]
path = "/cgi-bin/hello"
[load]
connections = 2
"#;
    let file = folder.path().join("mine.toml").display().to_string();
    fs::write(&file, text).unwrap();
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let words = [
        "lab",
        "--no-lock",
        &file,
        "--hiccups",
        "0s",
        "--results",
        &place,
    ];
    let why = "origin does not offer 'cgi', which the workload needs; it offers static, http1";
    let run = triathlon(words)
        .expect_code(1)
        .expect_complaint(&[&format!("not 'script': {why}"), "origin (script)"]);
    let gaps = files(&results, "gaps");
    assert_eq!(gaps.len(), 1, "{run:#?}");
    let gap = fs::read_to_string(&gaps[0]).unwrap();
    assert!(gap.contains(why) && gap.contains("script"), "{gap}");
    // The other workload is measured: both of its requests, three of one for each of the other.
    let measured: Vec<Trial> = trials(&results);
    let of_origin = measured.iter().filter(|trial| {
        let point = trial.point.as_ref().expect("a point");
        !point.ceiling && point.id.workload == "page"
    });
    let of_origin: Vec<&Trial> = of_origin.collect();
    assert_eq!(of_origin.len(), 1, "{run:#?}");
    let is_seen = check_answered(of_origin[0]);
    let classes = &of_origin[0].record.classes;
    assert_eq!(classes.len(), 2, "{run:#?}");
    let is_right = |outcomes: &model::OutcomeCounts| {
        outcomes.failures() == 0 && (outcomes[model::Outcome::Ok] > 0 || !is_seen)
    };
    assert!(
        classes.iter().all(|class| is_right(&class.outcomes)),
        "{run:#?}"
    );
}
