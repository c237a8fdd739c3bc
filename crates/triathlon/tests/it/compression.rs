//! Encoded content, as nginx sends it: asked for, counted by how it came, checked as it came.

use model::Coding;
use model::record::Record;

use crate::support::need;
use crate::tls::Files;
use crate::way::{COUNTED, Server, right};

const GZIP: &str = "gzip on; gzip_min_length 1; gzip_types *;";

/// What was counted: codings, answers, bytes of content.
fn counted(record: &Record) -> Vec<(Coding, u64, u64)> {
    let codings = record.codings.iter();
    let counted = codings.map(|(coding, coded)| (*coding, coded.answers, coded.bytes.count()));
    counted.collect()
}

#[test]
fn nginx_compresses_where_it_is_asked_to() {
    let name = "compression::nginx_compresses_where_it_is_asked_to";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("server", |_| {});
    let tls = format!(
        "listen ADDRESS ssl http2; ssl_certificate {}; ssl_certificate_key {};",
        files.path("server.pem").display(),
        files.path("server.key").display()
    );
    let trust = files.trust();
    let clear = "listen ADDRESS;";
    for (scheme, listen, more) in [
        ("http", clear, String::new()),
        ("http", clear, "--backend readiness".to_owned()),
        ("https", tls.as_str(), trust.clone()),
        ("https", tls.as_str(), format!("{trust} --http2 -m 3")),
    ] {
        let server = Server::nginx(&nginx, &format!("{listen} {GZIP}"), "");
        let url = format!("{scheme}://{}/large", server.address());
        let record = right(&url, &format!("--compressed {more}")).record;
        let reference = record.reference.as_ref().expect("a reference");
        assert!(reference.length < 30_000, "{} bytes", reference.length);
        assert!(reference.checked.contains("content-encoding gzip"));
        let expected = [(Coding::Gzip, 200, 200 * reference.length)];
        assert_eq!(counted(&record), expected, "{more}");
        assert_eq!(server.quit().len(), COUNTED);
    }
    // It knows no other coding, and compresses nothing that is not asked for.
    let server = Server::nginx(&nginx, &format!("{clear} {GZIP}"), "");
    let url = format!("http://{}/large", server.address());
    for more in [
        "",
        "--compressed=br,zstd",
        "--compressed -H Accept-Encoding:br",
    ] {
        let record = right(&url, more).record;
        assert_eq!(counted(&record), [(Coding::Identity, 200, 200 * 300_000)]);
    }
}
