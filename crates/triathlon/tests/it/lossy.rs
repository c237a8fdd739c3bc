//! A network that loses one packet in thirty and lets one in twenty come after the next: each
//! exchange is answered all the same, over TCP and over UDP, in both loops.
//!
//! The network is a TUN device in a namespace of its own, with a relay in Python behind it.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use model::{Outcome, Trial};
use sys::namespace::Namespace;

use crate::network::needs_network;
use crate::support::process::{Run, Running, command, load};
use crate::support::{LIMIT, need, not_run, wait_until};
use crate::tls::Files;

/// Where the server is, and the name by which it is asked: what is sent to the one comes back from
/// the other.
const NEAR: &str = "198.18.0.1:443";
const FAR: &str = "198.18.0.2:443";

/// The two loops.
const LOOPS: [&str; 2] = ["-n 60", "-n 60 -R 300"];

/// The protocols.
const SPEAKS: [&str; 3] = ["", "--http2 -m 3", "--http3 -m 3"];

/// Lets `ip` make the device.
fn make_device(ip: &Path) {
    for line in [
        "link set lo up",
        "tuntap add dev tun0 mode tun",
        "addr add 198.18.0.1/30 dev tun0",
        "link set tun0 up",
    ] {
        let mut command = Command::new(ip);
        let status = command.args(line.split(' ')).stdin(Stdio::null()).status();
        assert!(status.expect("ip starts").success(), "{line}");
    }
}

/// The relay, at work.
fn start_relay(python: &Path, seed: u64) -> Running {
    let mut command = Command::new(python);
    command.args(["-c", include_str!("lossy.py"), "tun0", &seed.to_string()]);
    let mut relay = Running::start(&mut command);
    wait_until("the relay is ready", || {
        assert!(!relay.ended(), "{}", relay.stderr());
        relay.stdout() == "ready\n"
    });
    relay
}

#[track_caller]
fn all_right(run: Run) -> Trial {
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], 60, "{run:#?}");
    assert_eq!(outcomes.total(), 60, "{run:#?}");
    trial
}

#[test]
fn a_network_that_loses_and_reorders_loses_no_answer() {
    let name = "lossy::a_network_that_loses_and_reorders_loses_no_answer";
    let Some([ip, python]) = need(name, ["ip", "python3"]) else {
        return;
    };
    if !Path::new("/dev/net/tun").exists() {
        return not_run(name, "this system has no TUN devices");
    }
    if !needs_network(name) {
        return;
    }
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    std::fs::create_dir(certificates.path("www")).expect("a folder");
    std::fs::write(certificates.path("www/file"), vec![b'x'; 5_000]).expect("a file");
    let network = Namespace::create().expect("it was made before");
    let _inside = network.enter().expect("it can be entered");
    make_device(&ip);
    let seed = 1;
    let relay = start_relay(&python, seed);
    let words = "--http3 --tls-cert site.pem --tls-key site.key";
    let words = ["serve", "www", "--listen", NEAR]
        .into_iter()
        .chain(words.split(' '));
    let mut server = Running::start(command(words).current_dir(certificates.path("")));
    wait_until("the server listens", || {
        assert!(!server.ended(), "it ended: {}", server.stderr());
        TcpStream::connect(NEAR).is_ok()
    });

    let mut lost = 0;
    let pairs = SPEAKS
        .into_iter()
        .flat_map(|speaks| LOOPS.map(|of_loop| (speaks, of_loop)));
    // Where the next exchange is far, nothing but a timer of QUIC tells that one was lost.
    for (speaks, of_loop) in pairs.chain([("--http3", "-n 60 -R 20")]) {
        let trust = certificates.trust();
        let flags = "-c 6 -t 1 --warmup 0s --timeout 30s --servername localhost";
        let flags = format!("{of_loop} {flags} {trust} {speaks}");
        let trial = all_right(load(&format!("https://{FAR}/file"), &flags));
        lost += trial.record.quic.map_or(0, |quic| quic.packets_lost);
    }
    assert!(lost > 0, "QUIC tells what it missed (seed {seed})");
    relay.signal("TERM");
    let said = relay.finish_within(10 * LIMIT).stdout;
    let counts = said.trim_start_matches("ready").split_whitespace();
    let counts: Vec<u64> = counts
        .map(|count| count.parse().expect("a count"))
        .collect();
    assert!(
        counts.len() == 3 && counts.iter().all(|count| *count > 0),
        "{said}"
    );
}
