//! The lab's axes of protocol and TLS: what was asked is what was negotiated, for every server.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use model::Trial;
use model::point::{CERTIFICATE, HANDSHAKE, PROTOCOL};
use model::tls::TlsRecord;

use crate::lab::{check_answered, files};
use crate::servers::THINK;
use crate::support::process::{Run, triathlon};
use crate::support::{need, not_run};

/// Windows for one try after the other, until one is long enough for whoever is slow on this
/// machine.
const WINDOWS: [&str; 5] = ["100ms", "400ms", "1600ms", "6400ms", "20s"];

/// What most servers speak beside HTTP/1.1 in clear, in the order of the words.
const ALL: [&str; 3] = ["http1-tls", "http2", "http2-tls"];

/// A lab of one point for each server, protocol and certificate; a server is a product and, behind
/// it, a preset other than the one that holds by itself. It is called like a built-in one, as its
/// results are looked for there.
fn tiny(servers: &[&str], load: &str, results: &Path, more: &[&str]) -> Run {
    let servers: Vec<String> = servers
        .iter()
        .map(|server| {
            let (product, preset) = server.split_once(' ').unwrap_or((server, "tuned"));
            format!("[[server]]\nproduct = \"{product}\"\npreset = \"{preset}\"\n")
        })
        .collect();
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"Which?\"\nrounds = 1\n\
         duration = \"100ms\"\nwarmup = \"20ms\"\n{}\n[[workload]]\nname = \"small\"\n\
         body = {{ bytes = 7 }}\n[load]\nconnections = 2\n{}{load}\n",
        servers.concat(),
        // Who has several requests under way does not wait before each.
        match load.contains("streams") {
            true => String::new(),
            false => format!("think = \"{THINK}\"\n"),
        },
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tiny.toml");
    fs::write(&file, text).expect("a file of the test");
    let (file, results) = (file.display().to_string(), results.display().to_string());
    let mut arguments = vec![
        "lab",
        "--no-lock",
        &file,
        "repeats=0",
        "calm=0s",
        "--hiccups",
        "0s",
        "--results",
        &results,
    ];
    arguments.extend(more);
    triathlon(arguments)
}

fn trials(results: &Path) -> Vec<Trial> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(path).expect("a readable trial");
        serde_json::from_str(&text).expect("a trial")
    };
    files(results, "trials").into_iter().map(read).collect()
}

/// Everything that the record shows of `trial` is what its point says.
pub(crate) fn check_spoken(trial: &Trial) {
    let point = trial.point.as_ref().expect("a point");
    let word = |axis| point.id.value(axis).map(ToString::to_string);
    let (protocol, key) = (word(PROTOCOL).expect("a protocol"), word(CERTIFICATE));
    let said = format!("{} {protocol} {key:?}", point.id.server);
    let record = &trial.record;
    let version = &record.reference.as_ref().expect("a reference").version;
    let (expected, application) = match protocol.as_str() {
        "http2" | "http2-tls" => ("HTTP/2", "h2"),
        "http3" => ("HTTP/3", "h3"),
        _ => ("HTTP/1.1", "http/1.1"),
    };
    assert_eq!(version, expected, "{said}");
    assert_eq!(record.http2.is_some(), expected == "HTTP/2", "{said}");
    let quic = record.quic.as_ref();
    assert_eq!(quic.is_some(), expected == "HTTP/3", "{said}");
    let is_seen = check_answered(trial);
    assert!(
        quic.is_none_or(|quic| quic.version == 1 || !is_seen),
        "{said}: {quic:?}"
    );
    assert_eq!(record.tls.is_some(), key.is_some(), "{said}");
    let is_secure = protocol.ends_with("-tls") || protocol == "http3";
    assert_eq!(is_secure, key.is_some(), "{said}");
    let server = trial.context.server.as_ref().expect("a server");
    assert_eq!(server.listener_is_ours, Some(true), "{said}");
    assert_eq!(
        server.listen_backlog.is_none(),
        protocol == "http3",
        "{said}"
    );
    if let Some(tls) = &record.tls
        && !(tls.negotiated.is_empty() && record.total.due == 0)
    {
        check_negotiated(trial, tls, (application, key.as_deref()), &said);
    }
}

/// What TLS agreed on is what was asked, for everybody.
fn check_negotiated(trial: &Trial, tls: &TlsRecord, asked: (&str, Option<&str>), said: &str) {
    let (application, key) = asked;
    let [kind] = tls.negotiated.as_slice() else {
        panic!("{said}: {tls:?}");
    };
    let negotiated = &kind.negotiated;
    assert_eq!(negotiated.version, "1.3", "{said}");
    assert_eq!(negotiated.suite, "TLS_AES_128_GCM_SHA256", "{said}");
    assert_eq!(negotiated.group.as_deref(), Some("X25519"), "{said}");
    assert!(!negotiated.resumed, "{said}");
    // A server need not take part in choosing a protocol: it speaks HTTP/1.1 then.
    let told = negotiated.application.as_deref().unwrap_or("http/1.1");
    assert_eq!(told, application, "{said}");
    let expected = match key {
        Some("rsa-2048") => "RSA 2048",
        _ => "ECDSA P-256",
    };
    assert_eq!(negotiated.key_type.as_deref(), Some(expected), "{said}");
    let rules = trial
        .verdict
        .findings
        .iter()
        .map(|finding| finding.rule.as_str());
    assert!(
        !rules
            .into_iter()
            .any(|rule| matches!(rule, "HTTP-10" | "HTTP-13")),
        "{said}"
    );
}

#[test]
fn origin_is_measured_over_tls_and_who_lacks_it_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let servers = folder.path().join("servers");
    fs::create_dir_all(servers.join("plain")).unwrap();
    let text = r#"
install = "it is part of this program"
[[process]]
programs = ["@triathlon"]
arguments = ["serve", "{{ site }}", "--listen", "127.0.0.1:{{ port }}"]
[access_log]
off = {}
[handler]
static = {}
"#;
    fs::write(servers.join("plain/server.toml"), text).unwrap();
    let servers = servers.display().to_string();
    let results = folder.path().join("results");
    let run = tiny(
        &["origin", "plain"],
        "protocol = \"http2-tls\"",
        &results,
        &["--servers", &servers],
    )
    // Whoever names a server wants it.
    .expect_code(1)
    .expect_complaint(&["asked for, but not measured: plain"]);
    let trials = trials(&results);
    assert!(
        trials.len() >= 2,
        "one of origin, one of the ceiling: {run:#?}"
    );
    for trial in &trials {
        check_spoken(trial);
    }
    let ceilings = trials
        .iter()
        .filter(|trial| trial.context.ceiling.is_some());
    assert!(
        ceilings.count() >= 1,
        "the ceiling of a protocol is its own"
    );
    let gaps = files(&results, "gaps");
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    let gap = fs::read_to_string(&gaps[0]).unwrap();
    assert!(
        gap.contains("plain does not speak http2-tls here; it speaks http1"),
        "{gap}"
    );
    let directory = gaps[0].ancestors().nth(2).unwrap();
    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    for words in [
        "What connections spoke",
        "TLS 1.3, TLS_AES_128_GCM_SHA256, X25519",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let csv = fs::read_to_string(directory.join("trials.csv")).unwrap_or_else(|_| {
        let path = directory.display().to_string();
        triathlon(["report", &path, "--csv", "-"])
            .expect_code(0)
            .stdout
    });
    assert!(csv.contains("tls_suite"), "{csv}");
    assert!(csv.contains("TLS_AES_128_GCM_SHA256"), "{csv}");
}

/// The trials of a lab of each protocol of `servers`, with a key of that kind where there is TLS,
/// each of which shows what was asked. On a busy machine a window can end before anybody has
/// answered; that tells nothing, and the next of `windows` is longer.
fn measured(
    servers: &[&str],
    protocols: &[&str],
    key: &str,
    windows: &[&str],
    more: &[&str],
) -> Vec<Trial> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut load = format!("protocol = {protocols:?}");
    if !key.is_empty() {
        load.push_str(&format!("\n[tls]\ncertificate = \"{key}\""));
    }
    let mut tries = windows.iter().map(|window| {
        let results = folder.path().join(window);
        let window = format!("duration={window}");
        let more = [&[window.as_str()], more].concat();
        let run = tiny(servers, &load, &results, &more).expect_measured();
        assert!(files(&results, "gaps").is_empty(), "{servers:?}: {run:#?}");
        trials(&results)
    });
    let tells = |trials: &Vec<Trial>| trials.iter().all(check_answered);
    let measured = tries.find(tells).expect("a machine with time for a server");
    for trial in &measured {
        check_spoken(trial);
    }
    measured
}

/// Each protocol, with a key of that kind where there is TLS, of `servers` side by side, of which
/// the last is asked about.
fn check_all(servers: &[&str], protocols: &[&str], key: &str) {
    let server = *servers.last().expect("a server");
    let measured = measured(servers, protocols, key, &WINDOWS, &[]);
    let mut seen = BTreeSet::new();
    for trial in measured {
        let facts = trial.context.server.as_ref().expect("a server");
        if facts.product == server {
            let point = trial.point.expect("a point");
            seen.insert(point.id.value(PROTOCOL).expect("a protocol").to_string());
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(seen, protocols, "{server}");
}

/// Each protocol of `product` in each preset, in one lab, with a key of that kind where there is
/// TLS.
fn check_presets(product: &str, presets: &[&str], protocols: &[&str], key: &str) -> Vec<Trial> {
    let servers: Vec<String> = presets
        .iter()
        .map(|preset| format!("{product} {preset}"))
        .collect();
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    // A server in Java shakes hands for most of a short window, and without a warm-up it is not
    // warmed up until its rate is steady.
    let mut measured = measured(&servers, protocols, key, &WINDOWS[1..], &["warmup=0s"]);
    measured.retain(|trial| trial.point.as_ref().is_some_and(|point| !point.ceiling));
    let mut seen = BTreeSet::new();
    for trial in &measured {
        let facts = trial.context.server.as_ref().expect("a server");
        assert_eq!(facts.error_log_lines, 0, "{facts:?}");
        seen.insert((facts.preset.clone(), facts.protocol.clone()));
    }
    let expected = presets
        .iter()
        .flat_map(|preset| protocols.iter().map(move |one| (preset, one)))
        .map(|(preset, protocol)| ((*preset).to_owned(), (*protocol).to_owned()));
    assert_eq!(seen, expected.collect(), "{product}");
    measured
}

/// As many connections wait to be accepted as the tuned configuration says, as far as the kernel
/// lets them, whichever protocol the port speaks.
pub(crate) fn check_backlog(trials: &[Trial]) {
    let most = fs::read_to_string("/proc/sys/net/core/somaxconn").expect("the kernel's limit");
    let most: u32 = most.trim().parse().expect("a number");
    for trial in trials {
        let facts = trial.context.server.as_ref().expect("a server");
        let is_told = facts.listen_backlog == Some(most.min(4_096));
        assert!(is_told || facts.preset != "tuned", "{facts:?}");
    }
}

/// Each preset of `product` over TLS and with HTTP/2.
pub(crate) fn check_every_protocol(product: &str) {
    let presets = ["stock", "tuned"];
    check_backlog(&check_presets(product, &presets, &ALL, "ecdsa-p256"));
}

#[test]
fn trafficserver_over_tls_and_with_http2() {
    let name = "trafficserver_over_tls_and_with_http2";
    if need(name, ["traffic_server"]).is_some() {
        check_every_protocol("trafficserver");
    }
}

#[test]
fn varnish_with_http2_in_clear() {
    if need("varnish_with_http2_in_clear", ["varnishd", "cc"]).is_some() {
        let presets = ["stock", "tuned"];
        check_backlog(&check_presets("varnish", &presets, &["http2"], ""));
    }
}

#[test]
fn mighttpd2_with_http2_in_clear() {
    if need("mighttpd2_with_http2_in_clear", ["mighty"]).is_some() {
        check_presets("mighttpd2", &["stock", "tuned"], &["http2"], "");
    }
}

/// HTTP/3 beside HTTP/2 over TLS, with an exchange at a time and with several.
#[test]
fn caddy_and_origin_over_http3() {
    if need("caddy_and_origin_over_http3", ["caddy"]).is_none() {
        return;
    }
    let both = ["origin", "caddy"];
    check_all(&both, &["http2-tls", "http3"], "ecdsa-p256");
    check_all(&both, &["http3"], "rsa-2048");
}

#[test]
fn http3_has_a_ceiling_of_its_own_and_who_lacks_it_is_a_row() {
    let name = "http3_has_a_ceiling_of_its_own_and_who_lacks_it_is_a_row";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path();
    let load = "protocol = \"http3\"\nstreams = 4";
    // Who looked at a ceiling has seen a connection: on a busy machine a handshake takes its time.
    let run = tiny(&["origin", "nginx"], load, results, &["duration=300ms"])
        .expect_code(1)
        .expect_complaint(&["asked for, but not measured: nginx"]);
    let trials = trials(results);
    let (ceilings, measured): (Vec<_>, Vec<_>) = trials
        .iter()
        .partition(|trial| trial.point.as_ref().is_some_and(|point| point.ceiling));
    assert!(!ceilings.is_empty() && !measured.is_empty(), "{run:#?}");
    for trial in &trials {
        check_spoken(trial);
        assert_eq!(trial.plan.streams, 4);
    }
    for trial in measured {
        assert!(trial.context.ceiling.is_some(), "{run:#?}");
    }
    let gaps = files(results, "gaps");
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    let gap = fs::read_to_string(&gaps[0]).expect("a gap");
    assert!(
        gap.contains("nginx does not speak http3 here; it speaks http1"),
        "{gap}"
    );
    assert!(
        run.stdout.contains("all connections spoke http3"),
        "{run:#?}"
    );
    let directory = gaps[0].ancestors().nth(2).expect("the folder of the run");
    let page = fs::read_to_string(directory.join("report.html")).expect("a page");
    for words in ["What connections spoke", ">HTTP/3</td>", "QUIC version 1, "] {
        assert!(page.contains(words), "{words}");
    }
    let path = directory.display().to_string();
    let csv = triathlon(["report", &path, "--csv", "-"])
        .expect_code(0)
        .stdout;
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    for name in ["protocol", "quic_version", "tls_suite"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(lines.any(|line| line.contains("http3")), "{csv}");
}

/// A server that is to speak HTTP/3 and takes no datagrams is not ready, whatever else it does.
#[test]
fn who_listens_over_tcp_alone_is_not_ready_for_http3() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let servers = folder.path().join("servers");
    fs::create_dir_all(servers.join("deaf")).expect("a folder");
    let text = r#"
install = "it is part of this program"
[[process]]
programs = ["@triathlon"]
arguments = ["serve", "{{ site }}", "--listen", "127.0.0.1:{{ port }}"]
ready = { within = "300ms" }
[access_log]
off = {}
[handler]
static = {}
[protocol]
http3 = {}
"#;
    fs::write(servers.join("deaf/server.toml"), text).expect("a file");
    let servers = servers.display().to_string();
    let results = folder.path().join("results");
    tiny(
        &["origin", "deaf"],
        "protocol = \"http3\"",
        &results,
        &["--servers", &servers],
    )
    .expect_code(1);
    let gaps = files(&results, "gaps");
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    let gap = fs::read_to_string(&gaps[0]).expect("a gap");
    assert!(gap.contains("it does not listen on UDP port"), "{gap}");
}

#[test]
fn nginx_and_origin_over_tls() {
    if need("nginx_and_origin_over_tls", ["nginx"]).is_none() {
        return;
    }
    let both = ["origin", "nginx"];
    check_all(&both, &["http1-tls", "http2-tls"], "ecdsa-p256");
    check_all(&both, &["http1-tls"], "rsa-2048");
}

/// A connection for each request: full handshakes where these are asked for, and otherwise resumed
/// ones but for the first on each connection.
#[test]
fn handshakes_are_full_or_resumed_as_asked() {
    let name = "handshakes_are_full_or_resumed_as_asked";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    // On a busy machine a window holds too few handshakes to tell one kind from the other.
    let tells = |trials: &Vec<Trial>| {
        trials.iter().all(|trial| {
            let handshakes = trial.record.tls.as_ref().map(TlsRecord::full_and_resumed);
            handshakes.is_none_or(|(full, resumed)| full + resumed > 4)
        })
    };
    let mut tries = (0..5).map(|_| handshakes());
    let trials = tries.find(tells).expect("a machine with time for a server");
    let mut seen = BTreeSet::new();
    for trial in trials {
        let point = trial.point.as_ref().expect("a point");
        let kind = point.id.value(HANDSHAKE).map(ToString::to_string);
        seen.insert((point.id.server.clone(), kind.clone()));
        let Some(kind) = kind else {
            assert_eq!(trial.record.tls, None);
            continue;
        };
        let tls = trial.record.tls.as_ref().expect("what TLS came to");
        let (full, resumed) = tls.full_and_resumed();
        let said = format!("{} {kind}: {tls:?}", point.id.server);
        assert_eq!(tls.failed, 0, "{said}");
        if kind == "full" {
            assert!(full > 2 && resumed == 0, "{said}");
        } else {
            assert!(full <= 2 && resumed > 0, "{said}");
        }
    }
    assert_eq!(seen.len(), 9, "two servers and the ceiling: {seen:#?}");
}

/// The trials of the built-in experiment of handshakes, cut short.
fn handshakes() -> Vec<Trial> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    triathlon([
        "lab",
        "--no-lock",
        "handshakes",
        "server=origin,nginx",
        "certificate=ecdsa-p256",
        "rounds=1",
        "repeats=0",
        "calm=0s",
        "connections=2",
        "warmup=20ms",
        "duration=300ms",
        "--hiccups",
        "0s",
        "--results",
        &results,
    ])
    .expect_measured();
    let folders = fs::read_dir(folder.path().join("handshakes")).expect("results");
    let folder = folders.last().expect("a run").expect("readable").path();
    let files = fs::read_dir(folder.join("trials")).expect("trials");
    let read = |file: std::io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(file.expect("readable").path()).expect("a readable trial");
        serde_json::from_str(&text).expect("a trial")
    };
    files.map(read).collect()
}

#[test]
fn nginx_with_http2_in_clear() {
    if need("nginx_with_http2_in_clear", ["nginx"]).is_none() {
        return;
    }
    check_all(&["origin", "nginx"], &["http1", "http2"], "");
}

#[test]
fn apache_over_tls_and_with_http2() {
    if need("apache_over_tls_and_with_http2", ["apache2"]).is_none() {
        return;
    }
    check_all(&["apache"], &ALL, "ecdsa-p256");
}

#[test]
fn h2o_over_tls_and_with_http2() {
    if need("h2o_over_tls_and_with_http2", ["h2o"]).is_none() {
        return;
    }
    check_all(&["h2o"], &ALL, "ecdsa-p256");
}

#[test]
fn lighttpd_over_tls_and_with_http2() {
    let name = "lighttpd_over_tls_and_with_http2";
    if need(name, ["lighttpd"]).is_none() {
        return;
    }
    let module = Path::new("/usr/lib/lighttpd/mod_openssl.so");
    if !module.exists() {
        return not_run(name, &format!("{} is missing", module.display()));
    }
    check_all(&["lighttpd"], &ALL, "ecdsa-p256");
    check_all(&["lighttpd"], &["http1-tls"], "rsa-2048");
}

#[test]
fn haproxy_over_tls_and_with_http2() {
    if need("haproxy_over_tls_and_with_http2", ["haproxy"]).is_none() {
        return;
    }
    check_all(&["haproxy"], &ALL, "ecdsa-p256");
}

#[test]
fn caddy_over_tls_and_with_http2() {
    if need("caddy_over_tls_and_with_http2", ["caddy"]).is_none() {
        return;
    }
    check_all(&["caddy"], &ALL, "ecdsa-p256");
}

/// Its module for TLS is a package of its own.
#[test]
fn lighttpd_with_http2_in_clear() {
    if need("lighttpd_with_http2_in_clear", ["lighttpd"]).is_none() {
        return;
    }
    check_all(&["lighttpd"], &["http1", "http2"], "");
}

/// Workloads with a protocol of their own, beside one that is asked in clear, and what a reader
/// asks of them by the name that a server has without it.
const OWN: &str = r#"
[[workload]]
name = "small, TLS"
body = { bytes = 7 }
protocol = "http1-tls"
connections = [3]
[[workload]]
name = "small, HTTP/2"
body = { bytes = 7 }
protocol = "http2-tls"
[[asked]]
who = "comment 1"
demand = "What does TLS cost?"
show = "rate"
server = "origin"
workload = "small, TLS"
against_workload = "small"
"#;

/// The workload, the server and the protocol of `trial`.
fn place(trial: &Trial) -> (String, String, String) {
    let point = trial.point.as_ref().expect("a point");
    let protocol = point.id.value(PROTOCOL).expect("a protocol").to_string();
    (point.id.workload.clone(), point.id.server.clone(), protocol)
}

#[test]
fn workloads_of_one_experiment_have_protocols_of_their_own() {
    let name = "workloads_of_one_experiment_have_protocols_of_their_own";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    // On a busy machine a window can end before anybody has answered; that tells nothing.
    let mut tries = WINDOWS.iter().map(|window| {
        let results = folder.path().join(window);
        let window = format!("duration={window}");
        let run = tiny(&["origin", "nginx"], OWN, &results, &[&window]).expect_measured();
        assert!(files(&results, "gaps").is_empty(), "{run:#?}");
        (trials(&results), results)
    });
    let tells = |(trials, _): &(Vec<Trial>, PathBuf)| trials.iter().all(check_answered);
    let (measured, results) = tries.find(tells).expect("a machine with time for a server");
    let mut seen = Vec::new();
    for trial in &measured {
        check_spoken(trial);
        let connections = if place(trial).0 == "small, TLS" { 3 } else { 2 };
        assert_eq!(trial.plan.connections, connections);
        let is_ceiling = trial.point.as_ref().is_some_and(|point| point.ceiling);
        assert_eq!(
            trial.context.ceiling.is_some(),
            !is_ceiling,
            "{:?}",
            trial.point
        );
        seen.push(place(trial));
    }
    seen.sort();
    let expected = [
        ("small", "ceiling", "http1"),
        ("small", "nginx", "http1"),
        ("small", "origin", "http1"),
        ("small, HTTP/2", "ceiling", "http2-tls"),
        ("small, HTTP/2", "nginx http2-tls", "http2-tls"),
        ("small, HTTP/2", "origin http2-tls", "http2-tls"),
        ("small, TLS", "ceiling", "http1-tls"),
        ("small, TLS", "nginx http1-tls", "http1-tls"),
        ("small, TLS", "origin http1-tls", "http1-tls"),
    ];
    let words = |(workload, server, protocol): (&str, &str, &str)| {
        (workload.to_owned(), server.to_owned(), protocol.to_owned())
    };
    assert_eq!(seen, expected.map(words));
    let below = files(&results, "trials")[0]
        .ancestors()
        .nth(2)
        .map(Path::to_owned);
    let below = below.expect("the folder of the run").display().to_string();
    // Nothing is left to measure, and nobody is missed.
    triathlon(["lab", "--no-lock", "--resume", &below]).expect_measured();
    assert_eq!(trials(&results).len(), measured.len());
    let page = fs::read_to_string(Path::new(&below).join("report.html")).expect("a page");
    let answer = "origin http1-tls, small, TLS, 3 connections, relative to origin, small, 2 \
                  connections";
    for words in [answer, "nginx http2-tls"] {
        assert!(page.contains(words), "{words}");
    }
    let said = triathlon(["report", &below]).expect_code(0).stdout;
    assert!(!said.contains("not finished"), "{said}");
    assert!(!said.contains("all connections spoke"), "{said}");
}

#[test]
fn who_cannot_speak_the_protocol_of_a_workload_is_a_row_of_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let servers = folder.path().join("servers");
    fs::create_dir_all(servers.join("plain")).expect("a folder");
    let text = r#"
install = "it is part of this program"
[[process]]
programs = ["@triathlon"]
arguments = ["serve", "{{ site }}", "--listen", "127.0.0.1:{{ port }}"]
[access_log]
off = {}
[handler]
static = {}
"#;
    fs::write(servers.join("plain/server.toml"), text).expect("a file");
    let servers = servers.display().to_string();
    let results = folder.path().join("results");
    let more = ["--servers", &servers];
    let list = tiny(
        &["origin", "plain"],
        OWN,
        &results,
        &["--servers", &servers, "--list"],
    );
    let list = list.expect_code(0).stdout;
    for words in [
        "small, TLS",
        "in http1-tls",
        "in http2-tls",
        "plain http1-tls",
    ] {
        assert!(list.contains(words), "{words}: {list}");
    }
    // Something of it was measured, and each workload was by somebody.
    let run = tiny(&["origin", "plain"], OWN, &results, &more).expect_measured();
    let gaps = files(&results, "gaps");
    let texts: Vec<String> = gaps
        .iter()
        .map(|gap| fs::read_to_string(gap).expect("a gap"))
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    for (workload, protocol) in [("small, TLS", "http1-tls"), ("small, HTTP/2", "http2-tls")] {
        let why = format!("plain does not speak {protocol} here; it speaks http1");
        let is_it = |gap: &&String| gap.contains(&why) && gap.contains(workload);
        assert_eq!(texts.iter().filter(is_it).count(), 1, "{texts:?}");
    }
    let said = "plain does not offer what 'small, TLS' and 'small, HTTP/2' need";
    let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(said), "{run:#?}");
    let measured: BTreeSet<_> = trials(&results).iter().map(place).collect();
    assert_eq!(
        measured
            .iter()
            .filter(|one| one.1.starts_with("plain"))
            .count(),
        1
    );
    assert_eq!(
        measured
            .iter()
            .filter(|one| one.1.starts_with("origin"))
            .count(),
        3
    );
}
