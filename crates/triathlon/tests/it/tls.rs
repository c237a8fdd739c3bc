//! TLS from outside: our load against origin, nginx and servers that misbehave, and other people's
//! clients against origin. The authority and all its mistakes are made by the test.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::{Outcome, Trial};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};

use crate::serve::Served;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, Running, load, triathlon};
use crate::support::stub::{self, RIGHT, Stub};
use crate::support::{need, wait_until};

/// Files of an authority, and of what it signed.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Files {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut params = CertificateParams::new(Vec::new()).expect("a certificate of the test");
        // One that had the name of another would be taken for that one.
        let name = folder.path().display().to_string();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a certificate of the test");
        let pem = params
            .self_signed(&key)
            .expect("a certificate of the test")
            .pem();
        std::fs::write(folder.path().join("ca.pem"), pem).expect("a certificate of the test");
        let issuer = Issuer::new(params, key);
        Self { folder, issuer }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `--cacert` with this authority.
    pub(crate) fn trust(&self) -> String {
        format!("--cacert {}", self.path("ca.pem").display())
    }

    /// Writes NAME.pem and NAME.key: a certificate for 127.0.0.1 and localhost, but for `change`.
    pub(crate) fn sign(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) {
        let names = ["127.0.0.1", "localhost"].map(str::to_owned);
        let mut params = CertificateParams::new(names).expect("a certificate of the test");
        change(&mut params);
        let key = KeyPair::generate().expect("a certificate of the test");
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("a certificate of the test");
        std::fs::write(self.path(&format!("{name}.pem")), certificate.pem())
            .expect("a certificate of the test");
        std::fs::write(self.path(&format!("{name}.key")), key.serialize_pem())
            .expect("a certificate of the test");
    }

    /// Origin with the certificate NAME.
    pub(crate) fn serve(&self, name: &str, files: &[(&str, &[u8])], flags: &str) -> Served {
        let certificate = self.path(&format!("{name}.pem"));
        let key = self.path(&format!("{name}.key"));
        Served::start(
            files,
            &format!(
                "--tls-cert {} --tls-key {} {flags}",
                certificate.display(),
                key.display()
            ),
        )
    }

    /// What a server of the test shows.
    fn config(&self, name: &str, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        let certificate =
            std::fs::read(self.path(&format!("{name}.pem"))).expect("a certificate of the test");
        let key =
            std::fs::read(self.path(&format!("{name}.key"))).expect("a certificate of the test");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = rustls::pki_types::CertificateDer::pem_slice_iter(&certificate);
        ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("a certificate of the test")
            .with_no_client_auth()
            .with_single_cert(
                chain
                    .collect::<Result<_, _>>()
                    .expect("a certificate of the test"),
                PrivateKeyDer::from_pem_slice(&key).expect("a certificate of the test"),
            )
            .expect("a certificate of the test")
    }
}

pub(crate) fn https(url: &str) -> String {
    url.replace("http://", "https://")
}

/// The two loops: 40 exchanges over 4 connections.
pub(crate) const LOOPS: [&str; 2] = [
    "-n 40 -c 4 -t 2 --warmup 0s --timeout 2s",
    "-n 40 -R 400 -c 4 -t 2 --warmup 0s --timeout 2s",
];

#[track_caller]
fn all_right(run: Run) -> Trial {
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    let examples = &trial.record.examples;
    assert_eq!(outcomes[Outcome::Ok], outcomes.total(), "{examples:?}");
    assert!(outcomes.total() > 0, "{run:#?}");
    run.expect_measured();
    trial
}

#[test]
fn load_and_origin_agree() {
    let files = Files::new();
    files.sign("site", |_| {});
    let big = vec![b'x'; 1_000_000];
    let served = files.serve("site", &[("small", b"seven!\n"), ("big", &big)], "");
    let trust = files.trust();
    for version in ["1.2", "1.3"] {
        for flags in LOOPS {
            for target in ["/small", "/big"] {
                let flags = format!("{flags} {trust} --tls-version {version}");
                let trial = all_right(load(&https(&served.url(target)), &flags));
                let record = &trial.record;
                let tls = record.tls.as_ref().expect("TLS is recorded");
                let (full, resumed) = tls.full_and_resumed();
                assert_eq!(full + resumed, 4, "{tls:?}");
                assert_eq!(record.tls_time.count(), 4, "{tls:?}");
                assert_eq!(tls.failed, 0, "{tls:?}");
                let negotiated = &tls.negotiated[0].negotiated;
                assert_eq!(negotiated.version, version);
                assert_eq!(negotiated.key_type.as_deref(), Some("ECDSA P-256"));
                assert_eq!(negotiated.application.as_deref(), Some("http/1.1"));
                let reference = record.reference.as_ref().expect("a reference");
                let before = reference.tls.as_ref().expect("TLS of the reference");
                assert_eq!(before.version, version);
            }
        }
    }
}

#[test]
fn sessions_are_resumed_on_new_connections() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "");
    let each = format!("{} --requests-per-connection 1 {}", LOOPS[0], files.trust());
    for version in ["1.2", "1.3"] {
        let flags = format!("{each} --tls-version {version}");
        let trial = all_right(load(&https(&served.url("/small")), &flags));
        let (full, resumed) = trial.record.tls.as_ref().unwrap().full_and_resumed();
        // The first ones of four connections have nothing to resume.
        assert!(resumed >= 30 && full >= 2, "{full} full, {resumed} resumed");
        assert_eq!(full + resumed, trial.record.tls_time.count());
        let flags = format!("{flags} --no-resumption");
        let trial = all_right(load(&https(&served.url("/small")), &flags));
        let (full, resumed) = trial.record.tls.as_ref().unwrap().full_and_resumed();
        assert!(resumed == 0 && full >= 40, "{full} full, {resumed} resumed");
    }
}

#[test]
fn what_is_asked_for_is_negotiated_and_shown() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "");
    let url = https(&served.url("/small"));
    let flags = format!(
        "{} {} --tls-groups x25519mlkem768 --tls-suites TLS_AES_128_GCM_SHA256",
        LOOPS[0],
        files.trust()
    );
    let trial = all_right(load(&url, &flags));
    let negotiated = trial.record.tls.unwrap().negotiated.remove(0).negotiated;
    assert_eq!(negotiated.group.as_deref(), Some("X25519MLKEM768"));
    assert_eq!(negotiated.suite, "TLS_AES_128_GCM_SHA256");
    let words = ["load", &url].into_iter().chain(flags.split_whitespace());
    let shown = triathlon(words).expect_measured().stdout;
    for words in [
        "4 handshakes full, 0 resumed",
        "TLS 1.3, TLS_AES_128_GCM_SHA256, X25519MLKEM768, certificate ECDSA P-256",
        "handshake",
    ] {
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words), "no '{words}' in {shown}");
    }
}

#[test]
fn nothing_of_a_key_is_stored() {
    let files = Files::new();
    files.sign("site", |_| {});
    files.sign("client", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "");
    let key = files.path("client.key");
    let flags = format!(
        "{} {} --cert {} --key {}",
        LOOPS[0],
        files.trust(),
        files.path("client.pem").display(),
        key.display()
    );
    let run = load(&https(&served.url("/small")), &flags);
    let key = std::fs::read_to_string(&key).unwrap();
    for line in key.lines().filter(|line| !line.starts_with('-')) {
        assert!(!run.stdout.contains(line), "a line of the key is stored");
    }
    all_right(run);
}

#[test]
fn what_cannot_be_is_refused() {
    let check = |flags: &str, code: i32, words: &[&str]| {
        load("https://127.0.0.1:1/", flags)
            .expect_code(code)
            .expect_complaint(words);
    };
    check("--tls-groups P-521", 2, &["P-521", "X25519, P-256"]);
    check("--tls-suites DES", 2, &["DES", "TLS_AES_128_GCM_SHA256"]);
    check("--tls-version 1.1", 2, &["1.1", "1.2, 1.3"]);
    check("--cert x.pem", 2, &["--key"]);
    check("-k --cacert x.pem", 2, &["--cacert"]);
    check(
        "--tls-version 1.2 --tls-suites TLS_AES_128_GCM_SHA256",
        2,
        &["--tls-suites", "TLS 1.2"],
    );
    check("--cacert /no/such.pem", 1, &["--cacert", "/no/such.pem"]);
    load("http://127.0.0.1:1/", "-k")
        .expect_code(2)
        .expect_complaint(&["http://, which has none"]);
}

#[test]
fn a_certificate_made_on_request_is_said_to_be_that() {
    let served = Served::start(&[("small", b"seven!\n")], "--tls-self-signed");
    let said = served.stderr();
    assert!(said.contains("self-signed"), "{said}");
    let start = said.find("-----BEGIN").expect("a certificate");
    let ca = served.path().join("own.pem");
    std::fs::write(&ca, &said[start..]).unwrap();
    let url = https(&served.url("/small"));
    all_right(load(
        &url,
        &format!("{} --cacert {}", LOOPS[0], ca.display()),
    ));
    let trial = all_right(load(&url, &format!("{} -k", LOOPS[0])));
    assert!(trial.plan.tls.unwrap().insecure);
}

#[test]
fn a_certificate_is_read_anew_on_sighup() {
    let (before, after) = (Files::new(), Files::new());
    before.sign("site", |_| {});
    after.sign("site", |_| {});
    let served = before.serve("site", &[("small", b"seven!\n")], "");
    let url = https(&served.url("/small"));
    all_right(load(&url, &format!("{} {}", LOOPS[0], before.trust())));
    for file in ["site.pem", "site.key"] {
        std::fs::copy(after.path(file), before.path(file)).unwrap();
    }
    served.running().signal("HUP");
    wait_until("it is read", || served.stderr().contains("was read again"));
    all_right(load(&url, &format!("{} {}", LOOPS[0], after.trust())));
    std::fs::write(before.path("site.key"), "no key").unwrap();
    served.running().signal("HUP");
    wait_until("it is refused", || {
        served.stderr().contains("the old certificate stays")
    });
    all_right(load(&url, &format!("{} {}", LOOPS[0], after.trust())));
}

/// Against a server that shows `certificate`, or does what `serve` says after a handshake, all
/// exchanges of both loops end as `expected`, and an example has these words.
#[track_caller]
pub(crate) fn check(expected: Outcome, words: &str, url: &str, flags: &str) {
    for of_loop in LOOPS {
        let of_loop = of_loop.replace("--timeout 2s", "--timeout 500ms");
        let run = load(url, &format!("{of_loop} {flags}"));
        assert!(run.wall < Duration::from_secs(40), "{run:#?}");
        let trial = run.trial();
        let outcomes = trial.record.total.outcomes;
        // In an open loop what finds no connection is shed in the end.
        let others = outcomes[Outcome::Shed];
        assert_eq!(outcomes.total(), 40, "{run:#?}");
        assert_eq!(outcomes[expected] + others, 40, "{run:#?}");
        assert!(outcomes[expected] > 0, "{run:#?}");
        assert!(of_loop.contains("-R") || others == 0, "{run:#?}");
        let mut examples = trial.record.examples.iter();
        let example = examples.find(|example| example.outcome == expected);
        let text = example.map_or("", |example| &example.text);
        assert!(text.contains(words), "{text}");
        let contradicts = |finding: &&model::Finding| finding.rule == "GEN-13";
        assert!(
            !trial.verdict.findings.iter().any(|f| contradicts(&f)),
            "{run:#?}"
        );
    }
}

#[test]
fn certificates_that_are_no_good() {
    let files = Files::new();
    let trust = files.trust();
    files.sign("expired", |params| {
        params.not_after = date_time_ymd(2020, 1, 1);
    });
    let other = CertificateParams::new(vec!["other.test".to_owned()]).unwrap();
    files.sign("other", |params| *params = other);
    let theirs = Files::new();
    theirs.sign("site", |_| {});
    let small: &[(&str, &[u8])] = &[("small", b"seven!\n")];
    let served = files.serve("expired", small, "");
    let url = https(&served.url("/small"));
    refused("it has expired", &url, &trust);
    let served = files.serve("other", small, "");
    let url = https(&served.url("/small"));
    refused("it is for another name (--servername", &url, &trust);
    let named = format!("{} {trust} --servername other.test", LOOPS[0]);
    all_right(load(&url, &named));
    let served = theirs.serve("site", small, "");
    let url = https(&served.url("/small"));
    refused("its issuer is not known here (--cacert", &url, &trust);
    all_right(load(&url, &format!("{} -k", LOOPS[0])));
}

/// A certificate that is refused here ends the run before it begins: each of its exchanges would
/// fail.
#[track_caller]
pub(crate) fn refused(words: &str, url: &str, flags: &str) {
    load(url, &format!("-d 60s {flags}"))
        .expect_code(1)
        .expect_complaint(&["nothing can be measured at", words, "--insecure (-k)"]);
}

#[test]
fn servers_that_speak_something_else() {
    let files = Files::new();
    files.sign("site", |_| {});
    let old = secured(&files, &[&rustls::version::TLS12], |_| {});
    let flags = format!("{} --tls-version 1.3", files.trust());
    check(Outcome::Tls, "TLS", &https(&old.url()), &flags);
    let clear = Served::start(&[("small", b"seven!\n")], "");
    let url = https(&clear.url("/small"));
    check(Outcome::Tls, "is it an http:// port?", &url, &files.trust());
}

#[test]
fn handshakes_that_end_too_early_or_never() {
    let files = Files::new();
    let silent = Stub::start_raw(|mut stream, _| stub::hold(&mut stream));
    let url = https(&silent.url());
    check(
        Outcome::Tls,
        "was not over within 500",
        &url,
        &files.trust(),
    );
    let leaving = Stub::start_raw(|mut stream, _| {
        let _hello = stream.read(&mut [0; 4_096]);
    });
    let url = https(&leaving.url());
    check(
        Outcome::Tls,
        "within the TLS handshake",
        &url,
        &files.trust(),
    );
}

/// What ends with the connection is whole only where TLS said so.
#[test]
fn streams_that_end_without_close_notify() {
    let files = Files::new();
    files.sign("site", |_| {});
    const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nseven!\n";
    let cut = secured(&files, rustls::ALL_VERSIONS, |stream| {
        let _may_be_gone = stream.write_all(ENDLESS).and_then(|()| stream.flush());
    });
    let url = https(&cut.url());
    check(Outcome::Read, "without close_notify", &url, &files.trust());
    let told = secured(&files, rustls::ALL_VERSIONS, |stream| {
        stream.conn.send_close_notify();
        let _may_be_gone = stream.flush();
    });
    let url = https(&told.url());
    check(Outcome::Read, "without an answer", &url, &files.trust());
    let whole = secured(&files, rustls::ALL_VERSIONS, |stream| {
        let _may_be_gone = stream.write_all(ENDLESS);
        stream.conn.send_close_notify();
        let _may_be_gone = stream.flush();
        // It is the client's turn to close.
        stub::hold(&mut stream.sock);
    });
    for of_loop in LOOPS {
        all_right(load(
            &https(&whole.url()),
            &format!("{of_loop} {}", files.trust()),
        ));
    }
}

#[test]
fn an_alert_in_the_middle() {
    let files = Files::new();
    files.sign("site", |_| {});
    let broken = secured(&files, rustls::ALL_VERSIONS, |stream| {
        // A record that no key of this connection made.
        let record = [23, 3, 3, 0, 32];
        let _may_be_gone = stream.sock.write_all(&record);
        let _may_be_gone = stream.sock.write_all(&[7; 32]);
        stub::hold(&mut stream.sock);
    });
    let url = https(&broken.url());
    check(
        Outcome::Tls,
        "a record cannot be decrypted",
        &url,
        &files.trust(),
    );
}

pub(crate) type Stream = StreamOwned<ServerConnection, TcpStream>;

/// A server that answers two requests rightly, so that a reference can be taken, and each one after
/// them as `answer` does, before it closes.
pub(crate) fn secured(
    files: &Files,
    versions: &[&'static SupportedProtocolVersion],
    answer: impl Fn(&mut Stream) + Send + Sync + 'static,
) -> Stub {
    let config = Arc::new(files.config("site", versions));
    Stub::start_raw(move |stream, requests| {
        let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
        let mut stream = StreamOwned::new(connection, stream);
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        if requests.fetch_add(1, Ordering::SeqCst) < 2 {
            let _may_be_gone = stream.write_all(RIGHT).and_then(|()| stream.flush());
            stub::hold(&mut stream.sock);
        } else {
            answer(&mut stream);
        }
    })
}

#[test]
fn load_against_nginx() {
    let Some([nginx]) = need("tls::load_against_nginx", ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let big = vec![b'x'; 300_000];
    let pages: &[(&str, &[u8])] = &[("small", b"seven!\n"), ("big", &big)];
    let paths = (files.path("site.pem"), files.path("site.key"));
    let server = Nginx::start_with_tls(&nginx, pages, &paths.0, &paths.1);
    for file in ["small", "big"] {
        for version in ["1.2", "1.3"] {
            for of_loop in LOOPS {
                let flags = format!("{of_loop} {} --tls-version {version}", files.trust());
                let trial = all_right(load(&server.https_url(file), &flags));
                let tls = trial.record.tls.expect("TLS is recorded");
                assert_eq!(tls.negotiated[0].negotiated.version, version);
                assert_eq!(tls.failed, 0);
            }
        }
    }
}

/// nginx gives nothing to clients whose certificate it does not trust, or who have none.
#[test]
fn nginx_sees_who_we_are() {
    let Some([nginx]) = need("tls::nginx_sees_who_we_are", ["nginx"]) else {
        return;
    };
    let (files, others) = (Files::new(), Files::new());
    files.sign("site", |_| {});
    files.sign("client", |_| {});
    others.sign("client", |_| {});
    let server = Nginx::start_with_clients(
        &nginx,
        &[("small", b"seven!\n")],
        &files.path("site.pem"),
        &files.path("site.key"),
        &files.path("ca.pem"),
    );
    let url = server.https_url("small");
    let shows = |whose: &Files| {
        let (certificate, key) = (whose.path("client.pem"), whose.path("client.key"));
        format!("--cert {} --key {}", certificate.display(), key.display())
    };
    for version in ["1.2", "1.3"] {
        for of_loop in LOOPS {
            let flags = format!("{of_loop} {} --tls-version {version}", files.trust());
            all_right(load(&url, &format!("{flags} {}", shows(&files))));
            // nginx ends the handshake well, and answers in words.
            for stranger in [flags.clone(), format!("{flags} {}", shows(&others))] {
                let trial = load(&url, &stranger).trial();
                let outcomes = trial.record.total.outcomes;
                assert_eq!(outcomes[Outcome::Ok], 0, "{:?}", trial.record.examples);
                assert!(outcomes[Outcome::Status] > 0, "{outcomes:?}");
                let mut examples = trial.record.examples.iter();
                assert!(examples.any(|one| one.text.contains("status 400")));
            }
        }
    }
}

#[test]
fn curl_and_openssl_against_origin() {
    let name = "tls::curl_and_openssl_against_origin";
    let Some([curl, openssl]) = need(name, ["curl", "openssl"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let big: Vec<u8> = (0..1_000_000u32).flat_map(u32::to_le_bytes).collect();
    let served = files.serve("site", &[("small", b"seven!\n"), ("big", &big)], "");
    let ca = files.path("ca.pem");
    for version in ["--tlsv1.3", "--tls-max=1.2"] {
        let copy = files.path("copy");
        let version: &[&str] = match version {
            "--tlsv1.3" => &["--tlsv1.3"],
            _ => &["--tls-max", "1.2"],
        };
        let mut command = Command::new(&curl);
        command.args([
            "--silent",
            "--show-error",
            "--fail",
            "--http1.1",
            "--cacert",
        ]);
        command.arg(&ca).args(version).arg("-o").arg(&copy);
        command.arg(https(&served.url("/big")));
        Running::start(&mut command).finish().expect_code(0);
        assert!(
            std::fs::read(&copy).unwrap() == big,
            "the file arrived changed"
        );
    }
    for (flag, expected) in [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")] {
        let run = s_client(&openssl, &served, &ca, flag);
        assert!(run.stdout.contains(expected), "{run:#?}");
        assert!(
            run.stdout.contains("Verify return code: 0 (ok)"),
            "{run:#?}"
        );
    }
    // Connections that are made anew with full handshakes, and with resumed ones.
    for kind in ["-new", "-reuse"] {
        let address = served.url("").replace("http://", "");
        let mut command = Command::new(&openssl);
        command.args(["s_time", "-connect", &address, kind, "-time", "1"]);
        command.args(["-www", "/small", "-CAfile"]).arg(&ca);
        let run = Running::start(&mut command).finish().expect_code(0);
        let told = run.stdout.lines().last().unwrap_or_default();
        let (_, bytes) = told
            .split_once("seconds, ")
            .unwrap_or_else(|| panic!("{run:#?}"));
        let bytes = bytes.split(' ').next().and_then(|count| count.parse().ok());
        assert!(bytes.is_some_and(|count: u64| count > 7), "{run:#?}");
    }
}

fn s_client(openssl: &Path, served: &Served, ca: &Path, flag: &str) -> Run {
    let address = served.url("").replace("http://", "");
    let mut command = Command::new(openssl);
    command.args(["s_client", "-connect", &address, flag, "-CAfile"]);
    command.arg(ca).args(["-alpn", "http/1.1"]);
    command.stdin(std::process::Stdio::null());
    Running::start(&mut command).finish()
}
