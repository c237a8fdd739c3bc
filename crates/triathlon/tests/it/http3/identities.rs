//! Certificates of clients over HTTP/3: aioquic demands them, checks them, and says whose it saw on
//! which connection.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use model::Outcome;

use super::strangers::{needs_aioquic, start_aioquic};
use crate::identities::{clients, measured};
use crate::support::process::{Running, load};
use crate::tls::Files;

/// What each run has.
const FLAGS: &str = "--http3 --warmup 0s --timeout 5s";

/// Connections by the name in the certificate that aioquic saw on each.
fn connections(running: Running) -> BTreeMap<String, u64> {
    running.signal("TERM");
    let mut counts = BTreeMap::new();
    // Its port stands before them.
    for name in running.finish().stdout.lines().skip(1) {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

/// The names of the certificates, with so many connections each.
fn named<const N: usize>(counts: [u64; N]) -> BTreeMap<String, u64> {
    let names = (0..).map(|number| format!("client-{number:02}"));
    names.zip(counts).collect()
}

#[test]
fn each_connection_of_quic_keeps_its_certificate() {
    let name = "http3::identities::each_connection_of_quic_keeps_its_certificate";
    let Some(mut python) = needs_aioquic(name) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    clients(&files, 3);
    let authority = files.path("ca.pem");
    let demands = [OsStr::new("at once"), authority.as_os_str()];
    let (running, port) = start_aioquic(&mut python, &files, &demands);
    let url = format!("https://127.0.0.1:{port}/small");
    let flags = format!("-n 120 -c 6 -t 2 {FLAGS}");
    let tls = measured(&url, &files, &flags, 120).record.tls;
    assert_eq!(tls.expect("TLS is recorded").by_certificate, [2, 2, 2]);
    // Two fetches before the run are the first one's, on a connection each.
    assert_eq!(connections(running), named([4, 2, 2]));
}

#[test]
fn new_connections_of_quic_show_the_next_certificate() {
    let name = "http3::identities::new_connections_of_quic_show_the_next_certificate";
    let Some(mut python) = needs_aioquic(name) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    clients(&files, 5);
    let authority = files.path("ca.pem");
    let demands = [OsStr::new("at once"), authority.as_os_str()];
    let (running, port) = start_aioquic(&mut python, &files, &demands);
    let url = format!("https://127.0.0.1:{port}/small");
    let flags = format!("-n 60 -c 2 -t 1 {FLAGS} --requests-per-connection 1");
    let tls = measured(&url, &files, &flags, 60).record.tls;
    let tls = tls.expect("TLS is recorded");
    assert_eq!(tls.by_certificate, [12; 5]);
    assert_eq!(connections(running), named([14, 12, 12, 12, 12]));
}

/// Who shows none, or one of another authority, is refused, and told why.
#[test]
fn a_certificate_that_is_demanded_and_missing_is_told() {
    let name = "http3::identities::a_certificate_that_is_demanded_and_missing_is_told";
    let Some(mut python) = needs_aioquic(name) else {
        return;
    };
    let (files, others) = (Files::new(), Files::new());
    files.sign("site", |_| {});
    clients(&others, 1);
    let authority = files.path("ca.pem");
    let demands = [OsStr::new("at once"), authority.as_os_str()];
    let (running, port) = start_aioquic(&mut python, &files, &demands);
    let url = format!("https://127.0.0.1:{port}/small");
    let foreign = format!("--certs {}", others.path("clients").display());
    for (flags, words) in [
        ("", "the TLS alert CertificateRequired"),
        (&foreign, "the TLS alert BadCertificate"),
    ] {
        let flags = format!("-n 6 -c 2 -t 1 {FLAGS} {} {flags}", files.trust());
        let run = load(&url, &flags);
        let record = run.trial().record;
        assert_eq!(record.total.outcomes[Outcome::Tls], 6, "{run:#?}");
        assert_eq!(record.total.outcomes.total(), 6, "{run:#?}");
        let texts: Vec<_> = record.examples.iter().map(|one| &one.text).collect();
        assert!(texts.iter().any(|text| text.contains(words)), "{texts:?}");
    }
    assert_eq!(connections(running), named([]));
}
