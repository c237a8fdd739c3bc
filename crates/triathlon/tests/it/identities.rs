//! Connections that show a certificate of the client each, of those in a folder: nginx writes down
//! whose certificate it saw on which connection.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::{Outcome, Trial};
use rcgen::DnType;

use crate::support::need;
use crate::support::nginx::{Nginx, Seen};
use crate::support::process::load;
use crate::tls::Files;

/// Signs so many certificates of clients into a folder.
pub(crate) fn clients(files: &Files, count: usize) {
    std::fs::create_dir(files.path("clients")).expect("a folder");
    for number in 0..count {
        files.sign(&format!("clients/client-{number:02}"), |params| {
            let name = format!("client-{number:02}");
            params.distinguished_name.push(DnType::CommonName, name);
        });
    }
}

fn server(nginx: &Path, files: &Files) -> Nginx {
    Nginx::start_naming_clients(
        nginx,
        &[("small", b"seven!\n")],
        &files.path("site.pem"),
        &files.path("site.key"),
        &files.path("ca.pem"),
    )
}

/// Connections by the certificate that nginx saw on each.
fn connections(seen: &[Seen]) -> BTreeMap<&str, usize> {
    let each: BTreeSet<(&str, u64)> = seen
        .iter()
        .map(|one| (one.client.as_str(), one.connection))
        .collect();
    let mut counts = BTreeMap::new();
    for (client, _) in each {
        *counts.entry(client).or_default() += 1;
    }
    counts
}

/// All went well, and nothing of the clients is stored.
#[track_caller]
pub(crate) fn measured(url: &str, files: &Files, flags: &str, count: u64) -> Trial {
    let folder = files.path("clients").display().to_string();
    let flags = format!("{flags} {} --certs {folder}", files.trust());
    let run = load(url, &flags);
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], count, "{:?}", trial.record.examples);
    assert_eq!(outcomes.total(), count, "{run:#?}");
    for secret in ["client-", folder.as_str()] {
        assert!(!run.stdout.contains(secret), "{secret} is stored");
    }
    let key = std::fs::read_to_string(files.path("clients/client-00.key")).expect("a key");
    for line in key.lines().filter(|line| !line.starts_with('-')) {
        assert!(!run.stdout.contains(line), "a line of a key is stored");
    }
    let tls = trial.plan.tls.as_ref().expect("TLS is wanted");
    assert_eq!(tls.certificates_folder.as_deref(), Some("(redacted)"));
    trial
}

#[test]
fn each_connection_keeps_its_certificate() {
    let name = "identities::each_connection_keeps_its_certificate";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    clients(&files, 3);
    for version in ["1.2", "1.3"] {
        let server = server(&nginx, &files);
        let flags = format!("-n 120 -c 6 -t 2 --warmup 0s --timeout 5s --tls-version {version}");
        let trial = measured(&server.https_url("small"), &files, &flags, 120);
        let tls = trial.record.tls.expect("TLS is recorded");
        assert_eq!(tls.by_certificate, [2, 2, 2]);
        // Two fetches before the run are the first one's, on a connection each.
        let seen = server.quit_and_name();
        let expected = [
            ("CN=client-00", 4),
            ("CN=client-01", 2),
            ("CN=client-02", 2),
        ];
        assert_eq!(connections(&seen), BTreeMap::from(expected));
        assert!(seen.iter().all(|one| one.status == 200), "{seen:?}");
    }
}

/// Sessions belong to a certificate: who resumes one is who it was made for.
#[test]
fn new_connections_show_the_next_certificate_where_there_are_more() {
    let name = "identities::new_connections_show_the_next_certificate_where_there_are_more";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    clients(&files, 5);
    for version in ["1.2", "1.3"] {
        let server = server(&nginx, &files);
        let flags = format!(
            "-n 60 -c 2 -t 1 --warmup 0s --timeout 5s --requests-per-connection 1 \
             --tls-version {version}"
        );
        let trial = measured(&server.https_url("small"), &files, &flags, 60);
        let tls = trial.record.tls.expect("TLS is recorded");
        let (full, resumed) = tls.full_and_resumed();
        assert_eq!(tls.by_certificate.iter().sum::<u64>(), full + resumed);
        assert!(full >= 5 && resumed >= 30, "{full} full, {resumed} resumed");
        let seen = server.quit_and_name();
        let counts = connections(&seen);
        assert_eq!(counts.len(), 5, "{counts:?}");
        for (client, count) in counts {
            // Two fetches before the run are the first one's.
            let before = if client == "CN=client-00" { 2 } else { 0 };
            assert_eq!(count - before, 12, "{client}");
        }
        assert!(seen.iter().any(|one| one.is_resumed), "{seen:?}");
    }
}

#[test]
fn a_folder_that_holds_no_certificates_is_told() {
    let files = Files::new();
    clients(&files, 1);
    let folder = files.path("clients");
    let check = |flags: &str, code: i32, words: &[&str]| {
        let folder = folder.display();
        load("https://127.0.0.1:1/", &format!("--certs {folder} {flags}"))
            .expect_code(code)
            .expect_complaint(words);
    };
    check("--cert x.pem --key x.key", 2, &["--certs", "--cert"]);
    std::fs::remove_file(folder.join("client-00.key")).expect("a file");
    check("", 1, &["--certs", "client-00.pem holds no private key"]);
    std::fs::remove_file(folder.join("client-00.pem")).expect("a file");
    check("", 1, &["--certs", "holds no certificate", "NAME.key"]);
    std::fs::remove_dir(&folder).expect("a folder");
    check("", 1, &["--certs: cannot read"]);
    load(
        "http://127.0.0.1:1/",
        &format!("--certs {}", folder.display()),
    )
    .expect_code(2)
    .expect_complaint(&["http://, which has none"]);
}
