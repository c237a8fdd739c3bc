//! Rules that only a real server, or real counters of the kernel, can provoke.

use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use model::finding::{Claim, Finding, Severity};
use model::{Trial, Verdict};

use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::{load, triathlon};
use crate::tls::{Files, https};

fn finding<'a>(verdict: &'a Verdict, rule: &str) -> Option<&'a Finding> {
    verdict.findings.iter().find(|found| found.rule == rule)
}

/// Which of these rules object to a trial that was changed after it was measured, as `triathlon
/// judge` says.
fn objecting<'a>(trial: &Trial, path: &Path, rules: &[&'a str]) -> Vec<&'a str> {
    let text = serde_json::to_string(trial).expect("a trial can be written");
    std::fs::write(path, text).expect("a file");
    let path = path.display().to_string();
    let said = triathlon(["judge", "--json", &path])
        .expect_measured()
        .stdout;
    let verdict: Verdict = serde_json::from_str(&said).expect("a verdict");
    let objects = |rule: &&&str| finding(&verdict, rule).is_some();
    rules.iter().filter(objects).copied().collect()
}

/// nginx takes requests before the end of handshakes. Where the plan wants that, no rule objects;
/// the same counts without that wish are what nobody may claim anything from.
#[test]
fn early_requests_of_nginx_are_declared_or_invalid() {
    let name = "judged::early_requests_of_nginx_are_declared_or_invalid";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let pages: &[(&str, &[u8])] = &[("small", b"seven!\n")];
    let server = Nginx::start_with_early_data(&nginx, pages, &certificate, &key);
    let flags = format!(
        "-n 300 -c 2 -t 2 --warmup 0s --timeout 5s --requests-per-connection 1 \
         --handshakes full:1,resumed:1,early:2 {}",
        files.trust()
    );
    let mut trial = load(&server.https_url("small"), &flags).trial();
    let tls = trial.record.tls.as_mut().expect("TLS is recorded");
    assert!(tls.early() > 40, "{tls:?}");
    assert_eq!(tls.library.as_deref(), Some("rustls with aws-lc-rs"));
    let both = ["HTTP-15", "HTTP-16"];
    for rule in both {
        assert_eq!(finding(&trial.verdict, rule), None);
        assert_eq!(trial.verdict.coverage.unknown.get(rule), None);
    }
    let path = files.path("trial.json");
    // What another generator could have measured.
    tls.library = Some("OpenSSL 3.0.17".to_owned());
    assert_eq!(objecting(&trial, &path, &both), ["HTTP-16"]);
    let wanted = trial.plan.tls.as_mut().expect("the plan wants TLS");
    wanted.handshakes = None;
    assert_eq!(objecting(&trial, &path, &both), both);
}

/// A program that reads none of the datagrams that are sent to it, until this is dropped.
struct Deaf {
    stop: Arc<AtomicBool>,
    sender: Option<JoinHandle<()>>,
}

impl Deaf {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let deaf = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let to = deaf.local_addr().expect("an address");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let is_over = Arc::clone(&stop);
        // Its room is full after some hundred of them: from here on each is one too many.
        for _ in 0..2_000 {
            let _full_or_not = sender.send_to(&[0; 1_000], to);
        }
        let sender = std::thread::spawn(move || {
            let _never_read = deaf;
            while !is_over.load(Ordering::Relaxed) {
                let _dropped = sender.send_to(&[0; 1_000], to);
                std::thread::yield_now();
            }
        });
        Self {
            stop,
            sender: Some(sender),
        }
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(sender) = self.sender.take() {
            let _nobody_panicked = sender.join();
        }
    }
}

#[test]
fn datagrams_that_the_kernel_drops_are_told() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "--http3");
    let url = https(&served.url("/small"));
    let flags = format!("-d 1s -c 2 -t 1 --warmup 0s --http3 {}", files.trust());
    let trial = load(&url, &flags).trial();
    assert_eq!(trial.verdict.coverage.unknown.get("TCP-18"), None);
    let _deaf = Deaf::start();
    for (pace, claim, expected) in [
        ("", Claim::Capacity, Severity::Suspect),
        ("-R 200", Claim::Latency, Severity::Invalid),
    ] {
        let trial = load(&url, &format!("{flags} {pace}")).trial();
        let found = finding(&trial.verdict, "TCP-18").expect("datagrams are dropped");
        assert_eq!(found.severity.get(&claim), Some(&expected), "{found:?}");
        assert!(found.say.contains("received and dropped"), "{found:?}");
    }
}
