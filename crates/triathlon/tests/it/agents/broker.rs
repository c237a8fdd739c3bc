//! `triathlon agent broker`: what it writes, and that a nats-server takes it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::nats::{Nats, agent_with, load_with};
use super::right;
use crate::support::need;
use crate::support::process::triathlon;
use crate::tls::Files;

#[test]
fn a_configuration_is_for_its_owner_and_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("a").join("broker");
    let words = ["agent", "broker", folder.to_str().expect("a plain path")];
    let run = triathlon(words).expect_code(0);
    let path = folder.join("broker.conf");
    let mode = |path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    let text = fs::read_to_string(&path).expect("it can be read");
    let passwords = text.lines().filter_map(|line| {
        let rest = line.split_once("password: \"")?.1;
        Some(rest.split_once('"')?.0.to_owned())
    });
    let passwords: Vec<String> = passwords.collect();
    assert_eq!(passwords.len(), 2, "{text}");
    for (user, password) in ["agent", "me"].iter().zip(&passwords) {
        let user = format!("nats://{user}:{password}@");
        assert!(run.stdout.contains(&user), "no {user}: {run:#?}");
    }
    let start = format!("nats-server -c {}", path.display());
    assert!(run.stdout.contains(&start), "{run:#?}");
    let again = triathlon(words).expect_code(2);
    again.expect_complaint(&["broker.conf exists already", "remove it"]);
    assert_eq!(fs::read_to_string(&path).expect("it can be read"), text);
}

#[test]
fn a_certificate_that_cannot_be_read_is_told_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("broker");
    let path = folder.to_str().expect("a plain path");
    let flags = ["--tls-cert", "/missing.pem", "--tls-key", "/missing.key"];
    let words = ["agent", "broker", path].into_iter().chain(flags);
    let run = triathlon(words).expect_code(2);
    run.expect_complaint(&["--tls-cert", "cannot read /missing.pem"]);
    let run = triathlon(["agent", "broker", path, "--tls-cert", "/x"]).expect_code(2);
    run.expect_complaint(&["--tls-key"]);
    assert!(!folder.exists());
}

#[test]
fn a_broker_over_tls_is_written_and_reached() {
    let name = "a_broker_over_tls_is_written_and_reached";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let files = Files::new();
    files.sign("broker", |_| {});
    let flags = format!(
        "--tls-cert {} --tls-key {} --host localhost",
        files.path("broker.pem").display(),
        files.path("broker.key").display()
    );
    let (nats, [theirs, ours]) = Nats::start_as_written(&nats, &flags);
    for url in [&theirs, &ours] {
        assert!(
            url.starts_with("tls://") && url.contains("@localhost:"),
            "{url}"
        );
    }
    let (authority, server) = (files.path("ca.pem"), right());
    let trusting = [("SSL_CERT_FILE", authority.as_path())];
    let _agent = agent_with(&theirs, "a", "--targets 127.0.0.0/8", &trusting);
    let flags = "--agents a -t 1 -c 2 -n 10";
    load_with(&server.url(), &ours, flags, &trusting)
        .finish()
        .expect_measured();
    assert!(
        nats.folder().join("broker").join("store").is_dir(),
        "its files lie there"
    );
}
