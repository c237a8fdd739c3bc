//! HTTP/3 with clients and servers of other people: Caddy, and aioquic, which is Python's and comes
//! by `cargo xtask test`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use model::Outcome;

use super::{LARGE, LOOPS, all_of_them_right, all_right, files};
use crate::support::process::{Running, load};
use crate::support::{need, needs_python, reserve_apart, wait_until};
use crate::tls::Files;

/// Python with aioquic, for test `name`; none if that is not to run here.
pub(super) fn needs_aioquic(name: &str) -> Option<Command> {
    needs_python(name, ["aioquic"])
}

#[test]
fn aioquic_asks_origin() {
    let Some(mut client) = needs_aioquic("http3::strangers::aioquic_asks_origin") else {
        return;
    };
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let large = vec![b'x'; LARGE];
    let served = certificates.serve("site", &files(&large), "--http3 --synthetic --workers 2");
    let url = served.url("");
    let port = url.rsplit(':').next().expect("a port");
    client
        .args([include_str!("client.py"), port.trim_end_matches('/')])
        .arg(certificates.path("ca.pem"));
    let run = Running::start(&mut client).finish().expect_code(0);
    assert_eq!(run.stdout, "content\n", "{run:#?}");
}

/// With and without a proof that we are where we say (a retry).
#[test]
fn load_and_aioquic_agree() {
    let name = "http3::strangers::load_and_aioquic_agree";
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    for (retry, flags) in ["retry", "at once"].into_iter().zip(LOOPS) {
        let Some(mut python) = needs_aioquic(name) else {
            return;
        };
        let (running, port) = start_aioquic(&mut python, &certificates, &[retry.as_ref()]);
        let trust = certificates.trust();
        for (target, streams, count) in [("small", 1, 200), ("small", 10, 200), ("large", 2, 20)] {
            let url = format!("https://127.0.0.1:{port}/{target}");
            let flags = flags.replace("-n 200", &format!("-n {count} -m {streams} {trust}"));
            let trial = all_of_them_right(count, load(&url, &flags));
            let reference = trial.record.reference.expect("a reference");
            assert!(
                reference
                    .headers
                    .iter()
                    .any(|(_, value)| value == "aioquic"),
                "{reference:?}"
            );
        }
        running.signal("TERM");
    }
}

/// A body that comes slowly and then ends with a reset is one failure, and one that never ends
/// times out; what else the connection carries is answered.
#[test]
fn a_body_without_an_end_is_one_failure() {
    let name = "http3::strangers::a_body_without_an_end_is_one_failure";
    let Some(mut python) = needs_aioquic(name) else {
        return;
    };
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let (running, port) = start_aioquic(&mut python, &certificates, &["at once".as_ref()]);
    let flags = format!(
        "-n 60 -c 1 -t 1 -m 4 --warmup 0s --http3 --weights 5,1 {}",
        certificates.trust()
    );
    let measured = |target: &str, flags: &str| {
        let url = format!("https://127.0.0.1:{port}/small");
        let other = format!("https://127.0.0.1:{port}/{target}");
        let trial = load(&url, &format!("{other} {flags}")).trial();
        let [small, other] = trial.record.classes.as_slice() else {
            panic!("{:?}", trial.record.classes);
        };
        let [small, other] = [small.outcomes, other.outcomes];
        assert_eq!(small.total() + other.total(), 60);
        assert!(other.total() > 0);
        (trial, small, other)
    };
    let (trial, small, reset) = measured("reset", &format!("{flags} --timeout 20s"));
    let examples = &trial.record.examples;
    assert_eq!(small[Outcome::Ok], small.total(), "{examples:?}");
    assert_eq!(reset[Outcome::Read], reset.total(), "{examples:?}");
    assert!(
        examples[0].text.contains("H3_INTERNAL_ERROR"),
        "{examples:?}"
    );
    let connections = &trial.record.total.connections;
    assert_eq!((connections.established, connections.broken), (1, 0));
    let (trial, small, stalled) = measured("stall", &format!("{flags} --timeout 500ms"));
    let examples = &trial.record.examples;
    assert!(small[Outcome::Ok] > 0, "{examples:?}");
    assert_eq!(stalled[Outcome::Ok], 0, "{examples:?}");
    assert!(stalled[Outcome::Timeout] > 0, "{examples:?}");
    let of = |outcome| examples.iter().find(|one| one.outcome == outcome);
    // Of seven bytes the server gives all but one, and where CPUs are busy not all in time.
    let told = of(Outcome::Timeout).map_or("", |one| one.text.as_str());
    assert!(told.contains(" of content had come"), "{examples:?}");
    running.signal("TERM");
}

/// aioquic with the certificate of "site", and its port.
pub(super) fn start_aioquic(
    python: &mut Command,
    certificates: &Files,
    arguments: &[&OsStr],
) -> (Running, u16) {
    python
        .arg(include_str!("server.py"))
        .arg(certificates.path("site.pem"))
        .arg(certificates.path("site.key"))
        .args(arguments);
    let mut running = Running::start(python);
    wait_until("aioquic serves", || {
        assert!(!running.ended(), "{}", running.stderr());
        running.stdout().ends_with('\n')
    });
    let port = running.stdout().trim().parse();
    (running, port.expect("a port"))
}

/// Caddy, which shares nothing with us, in both loops.
#[test]
fn load_and_caddy_agree_on_http3() {
    let Some([caddy]) = need("http3::strangers::load_and_caddy_agree_on_http3", ["caddy"]) else {
        return;
    };
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let large = vec![b'x'; LARGE];
    let server = Caddy::start(&caddy, &certificates, &files(&large));
    for flags in LOOPS {
        for (target, streams) in [("small", 1), ("small", 10), ("large", 4)] {
            let flags = format!("{flags} -m {streams} {}", certificates.trust());
            all_right(load(&server.url(target), &flags));
        }
    }
    server.end();
}

/// A server of another make, with a folder of its own.
pub(super) struct Caddy {
    running: Running,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Caddy {
    /// Serves these files over all that it knows.
    pub(super) fn start(caddy: &Path, certificates: &Files, files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("www")).expect("a folder");
        for (name, content) in files {
            std::fs::write(folder.path().join("www").join(name), content).expect("a file");
        }
        let reserved = reserve_apart();
        let port = reserved.address.port();
        let config = format!(
            "{{\n admin off\n auto_https off\n servers {{\n  protocols h1 h2 h3\n }}\n}}\n\
             https://127.0.0.1:{port} {{\n bind 127.0.0.1\n tls {} {}\n root * {}\n \
             file_server\n}}\n",
            certificates.path("site.pem").display(),
            certificates.path("site.key").display(),
            folder.path().join("www").display(),
        );
        std::fs::write(folder.path().join("Caddyfile"), config).expect("a file");
        let mut start = Command::new(caddy);
        start
            .args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"])
            .env("HOME", folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .env("XDG_CONFIG_HOME", folder.path())
            .current_dir(folder.path());
        let mut running = Running::start(&mut start);
        wait_until("Caddy serves", || {
            assert!(!running.ended(), "{}", running.stderr());
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self {
            running,
            port,
            _folder: folder,
        }
    }

    pub(super) fn url(&self, target: &str) -> String {
        format!("https://127.0.0.1:{}/{target}", self.port)
    }

    pub(super) fn end(self) {
        self.running.signal("TERM");
        self.running.finish();
    }
}
