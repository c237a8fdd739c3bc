//! Encoded content, as nginx sends it: asked for, counted by how it came, checked as it came.

use std::fs;
use std::process::Command;

use model::Coding;
use model::record::Record;

use crate::support::{need, reserve};
use crate::tls::Files;
use crate::way::{COUNTED, Server, pages, right};

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
        ("http", clear, "--decode=1".to_owned()),
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
        if more == "--decode=1" {
            let decoded = record.decoded.expect("answers were decoded");
            assert_eq!(decoded.bytes.count(), 200 * 300_000);
        }
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

/// Apache, with mod_brotli; ADDRESS stands for where it listens.
const APACHE: &str = "
Listen ADDRESS
ServerName localhost
PidFile FOLDER/pid
ErrorLog FOLDER/errors
DocumentRoot FOLDER/www
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule brotli_module /usr/lib/apache2/modules/mod_brotli.so
SetOutputFilter BROTLI_COMPRESS
";

const CADDY: &str = "
{
  admin off
  auto_https off
}
http://ADDRESS {
  root * FOLDER/www
  header Content-Type text/plain
  encode zstd
  file_server
}
";

#[test]
fn what_apache_and_caddy_encode_is_decoded() {
    let name = "compression::what_apache_and_caddy_encode_is_decoded";
    let Some([apache, caddy]) = need(name, ["apache2", "caddy"]) else {
        return;
    };
    for (program, text, flags, coding) in [
        (apache, APACHE, ["-D", "FOREGROUND", "-f"], Coding::Br),
        (
            caddy,
            CADDY,
            ["run", "--adapter=caddyfile", "--config"],
            Coding::Zstd,
        ),
    ] {
        let (folder, reserved) = (tempfile::tempdir().expect("a folder"), reserve());
        let path = folder.path().display().to_string();
        pages(folder.path());
        let text = text.replace("ADDRESS", &reserved.address.to_string());
        let config = folder.path().join("config");
        fs::write(&config, text.replace("FOLDER", &path)).expect("a file");
        let mut command = Command::new(program);
        command.args(flags).arg(&config).env("HOME", folder.path());
        let server = Server::start(folder, reserved, &mut command, "");
        let url = format!("http://{}/large", server.address());
        let record = right(&url, &format!("--compressed={coding} --decode=1")).record;
        assert_eq!(record.codings[&coding].answers, 200);
        let decoded = record.decoded.expect("answers were decoded");
        assert_eq!((decoded.answers, decoded.left_out), (200, 0));
        assert_eq!(decoded.bytes.count(), 200 * 300_000, "{coding}");
    }
}
