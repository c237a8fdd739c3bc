//! A browser opens a page with pictures that origin serves, over HTTP/2 and over HTTP/3: all of
//! them are drawn, in that protocol, and nothing is complained of.

use std::path::Path;
use std::process::Command;

use crate::serve::Served;
use crate::support::process::Running;
use crate::support::{need, wait_until};
use crate::tls::{Files, https};

const PICTURES: usize = 12;

/// It says when all has loaded: how many pictures have a size, and in which protocols what came.
const PAGE: &str = r#"<!DOCTYPE html><title>pictures</title><link rel="icon" href="data:,">
<body><pre id="answer"></pre>PICTURES<script>
window.addEventListener('load', () => {
  const drawn = [...document.images].filter((image) => image.naturalWidth === 20).length;
  const entries = ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind));
  const protocols = [...new Set(entries.map((entry) => entry.nextHopProtocol))];
  const answer = drawn + ' of ' + entries.length + ': ' + protocols;
  document.getElementById('answer').textContent = answer;
});
</script></body>"#;

const PICTURE: &[u8] = br#"<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">
<circle cx="10" cy="10" r="9"/></svg>"#;

/// The digest of a certificate's key by which the browser is told to trust it.
fn key_digest(openssl: &Path, certificate: &Path) -> String {
    let script = "\"$1\" x509 -in \"$2\" -pubkey -noout | \"$1\" pkey -pubin -outform der \
                  | \"$1\" dgst -sha256 -binary | \"$1\" enc -base64";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script, "sh"])
        .args([openssl, certificate]);
    let run = Running::start(&mut shell).finish().expect_code(0);
    run.stdout.trim().to_owned()
}

/// What the page says when the browser has opened it.
fn open(browser: &Path, url: &str, digest: &str, more: &[String]) -> String {
    let profile = tempfile::tempdir().expect("a folder for the browser's profile");
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--ignore-certificate-errors-spki-list={digest}"))
        .args(more)
        .arg(url);
    let run = Running::start(&mut command).finish();
    assert!(!run.stderr.contains("CONSOLE"), "{run:#?}");
    let answer = run.stdout.split_once("<pre id=\"answer\">");
    let answer = answer.and_then(|(_, rest)| rest.split_once("</pre>"));
    answer.unwrap_or_else(|| panic!("{run:#?}")).0.to_owned()
}

#[test]
fn a_page_with_pictures_over_http2_and_http3() {
    let name = "browser::a_page_with_pictures_over_http2_and_http3";
    let Some([browser, openssl]) = need(name, ["chromium", "openssl"]) else {
        return;
    };
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let digest = key_digest(&openssl, &certificates.path("site.pem"));
    let names: Vec<String> = (0..PICTURES).map(|n| format!("{n}.svg")).collect();
    let tags = names.iter().map(|name| format!("<img src=\"{name}\">\n"));
    let page = PAGE.replace("PICTURES", &tags.collect::<String>());
    let pictures = names.iter().map(|name| (name.as_str(), PICTURE));
    let files: Vec<(&str, &[u8])> = pictures.chain([("index.html", page.as_bytes())]).collect();
    let flags = "--http3 --access-log log";
    for (protocol, logged) in [("h2", "HTTP/2.0"), ("h3", "HTTP/3.0")] {
        let served: Served = certificates.serve("site", &files, flags);
        let url = https(&served.url("/"));
        let authority = url.trim_start_matches("https://").trim_end_matches('/');
        let more = match protocol {
            "h2" => vec!["--disable-quic".to_owned()],
            _ => vec![
                "--enable-quic".to_owned(),
                format!("--origin-to-force-quic-on={authority}"),
            ],
        };
        let said = open(&browser, &url, &digest, &more);
        let expected = format!("{PICTURES} of {}: {protocol}", PICTURES + 1);
        assert_eq!(said, expected);
        wait_until("the log has all of them", || {
            let log = std::fs::read_to_string(served.path().join("log")).unwrap_or_default();
            log.lines().filter(|line| line.contains(logged)).count() == PICTURES + 1
        });
    }
}
