//! `connect` and `request` against servers of other people, who keep their own books.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::{folder, probe, read};
use crate::support::nginx::{Nginx, per_connection};
use crate::support::process::Running;
use crate::support::{need, reserve, wait_until};

/// Small, and no multiple of ten.
const POPULATION: u32 = 205;
const PASSES: u32 = 3;

/// Runs both probes against `url` and holds every raw sample against what was asked.
fn ask(url: &str) {
    let results = tempfile::tempdir().expect("a folder");
    let (population, passes) = (POPULATION.to_string(), PASSES.to_string());
    let arguments = [
        "connect",
        "request",
        "--url",
        url,
        "--population",
        &population,
        "--passes",
        &passes,
    ];
    let run = Running::start(&mut probe(&arguments, results.path()))
        .finish()
        .expect_code(0);
    let folder = folder(results.path());
    // Every connect, and before every tenth one five requests.
    let each: Vec<u32> = (1..=POPULATION).collect();
    let tenth: Vec<u32> = each.iter().copied().filter(|n| n % 10 == 0).collect();
    let fives: Vec<u32> = tenth.iter().flat_map(|n| [*n; 5]).collect();
    let way = read(&folder, "connect.json").facts;
    let way = way.get("waits by").map(String::as_str);
    assert_eq!(way, Some("epoll"), "{run:?}");
    for (file, series, expected) in [
        ("connect.json", "connect", &each),
        ("request-close.json", "connect", &fives),
        ("request-close.json", "request", &fives),
        ("request-keep-alive.json", "connect", &tenth),
        ("request-keep-alive.json", "request", &fives),
    ] {
        let result = read(&folder, file);
        assert_eq!(result.facts.get("server").map(String::as_str), Some(url));
        let passes = result.points(series);
        assert_eq!(passes.len(), 3, "{file}: {run:?}");
        for points in passes {
            let at: Vec<u32> = points.iter().map(|(n, _)| *n).collect();
            assert_eq!(&at, expected, "{file}, {series}");
            assert!(points.iter().all(|(_, ns)| *ns > 0.0), "{file}, {series}");
        }
    }
}

#[test]
fn nginx_has_seen_what_was_sampled() {
    let name = "probe::nginx_has_seen_what_was_sampled";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let nginx = Nginx::start(&nginx, &[("file", &[b'x'; 1_024])]);
    ask(&nginx.url("file"));
    let lines = nginx.quit();
    assert!(lines.iter().all(|line| line.status == 200), "{lines:?}");
    let mut connections = [0; 6];
    for requests in per_connection(&lines).into_values() {
        connections[usize::try_from(requests).expect("a few")] += 1;
    }
    // Each pass: 20 times five connections of one request, 20 times one of five, and the one that
    // learns how long an answer is; and each of the three probes asks once before it begins.
    assert_eq!(connections, [0, 3 * (20 * 5 + 1 + 3), 0, 0, 0, 3 * 20]);
}

#[test]
fn lighttpd_is_asked_too() {
    let name = "probe::lighttpd_is_asked_too";
    let Some([lighttpd]) = need(name, ["lighttpd"]) else {
        return;
    };
    let place = tempfile::tempdir().expect("a folder");
    let reserved = reserve();
    let (address, port) = (reserved.address, reserved.address.port());
    fs::write(place.path().join("file"), [b'x'; 1_024]).expect("a file");
    let configuration = place.path().join("lighttpd.conf");
    let text = format!(
        "server.document-root = \"{}\"\nserver.bind = \"127.0.0.1\"\nserver.port = {port}\n\
         server.max-keep-alive-requests = 1000\nserver.max-read-idle = 600\n",
        place.path().display()
    );
    fs::write(&configuration, text).expect("a configuration");
    let mut server = start(&lighttpd, &configuration);
    wait_until("lighttpd listens", || {
        assert!(!server.ended(), "lighttpd ended: {}", server.stderr());
        TcpStream::connect(address).is_ok()
    });
    ask(&format!("http://{address}/file"));
}

fn start(program: &Path, configuration: &Path) -> Running {
    Running::start(
        Command::new(program)
            .arg("-D")
            .arg("-f")
            .arg(configuration)
            .env("LC_ALL", "C"),
    )
}

#[test]
fn a_server_that_is_not_there_is_missed_before_anything_is_measured() {
    let results = tempfile::tempdir().expect("a folder");
    let nobody = reserve();
    let url = format!("http://{}/", nobody.address);
    Running::start(&mut probe(&["connect", "--url", &url], results.path()))
        .finish()
        .expect_code(1)
        .expect_complaint(&["no server answers at", &url]);
    assert_eq!(fs::read_dir(results.path()).expect("results").count(), 0);
}
