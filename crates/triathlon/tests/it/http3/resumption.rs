//! Handshakes of QUIC by their kinds: full ones, those that resume a session, and those that begin
//! with a request.

use model::{Outcome, Trial};

use super::strangers::Caddy;
use crate::support::process::{Run, load};
use crate::support::{need, wait_until};
use crate::tls::{Files, https};

const PAGES: &[(&str, &[u8])] = &[("small", b"seven!\n")];

/// A connection for each of 300 requests.
const EACH: &str = "-n 300 -c 2 -t 1 --warmup 0s --timeout 5s --http3 --requests-per-connection 1";

/// All was answered rightly, and each handshake is counted as what it was.
#[track_caller]
fn all_counted(run: &Run) -> Trial {
    let trial = run.trial();
    let record = &trial.record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 300, "{run:#?}");
    assert_eq!(record.total.outcomes.total(), 300, "{run:#?}");
    let tls = record.tls.as_ref().expect("TLS is recorded");
    let (full, resumed) = tls.full_and_resumed();
    assert_eq!(full + resumed, 300, "{tls:?}");
    assert_eq!(tls.full_time.count(), full, "{tls:?}");
    assert_eq!(tls.early_time.count(), tls.early(), "{tls:?}");
    assert_eq!(tls.resumed_time.count(), resumed - tls.early(), "{tls:?}");
    assert_eq!(record.tls_time.count(), 300, "{tls:?}");
    trial
}

#[test]
fn kinds_of_handshakes_are_as_many_as_were_drawn() {
    let files = Files::new();
    files.sign("site", |_| {});
    let flags = "--http3 --tls-early-data --access-log log";
    let served = files.serve("site", PAGES, flags);
    let mix = "--handshakes full:1,resumed:1,early:2";
    let flags = format!("{EACH} {mix} {}", files.trust());
    let run = load(&https(&served.url("/small")), &flags);
    let tls = all_counted(&run).record.tls.expect("TLS is recorded");
    let (full, resumed) = tls.full_and_resumed();
    // A few come before there are sessions.
    assert!((50..110).contains(&full), "{tls:?}");
    assert!((50..110).contains(&(resumed - tls.early())), "{tls:?}");
    assert!((110..190).contains(&tls.early()), "{tls:?}");
    assert_eq!(tls.early_refused, 0, "{tls:?}");
    // Two fetches before the run are in the log, and each request once.
    let read = || std::fs::read_to_string(served.path().join("log")).expect("a log");
    wait_until("the log is whole", || read().lines().count() == 302);
    // Without the flag no session allows it, and nothing is sent early.
    let closed = files.serve("site", PAGES, "--http3");
    let run = load(&https(&closed.url("/small")), &flags);
    let tls = all_counted(&run).record.tls.expect("TLS is recorded");
    assert_eq!((tls.early(), tls.early_refused), (0, 0), "{tls:?}");
    assert!((110..190).contains(&tls.not_early), "{tls:?}");
}

#[test]
fn sessions_are_resumed_unless_they_may_not_be() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", PAGES, "--http3");
    let url = https(&served.url("/small"));
    for each in [EACH, &EACH.replace("connection 1", "connection 0")] {
        let flags = format!("{each} {}", files.trust());
        let tls = all_counted(&load(&url, &flags)).record.tls;
        let (full, resumed) = tls.expect("TLS is recorded").full_and_resumed();
        assert!(full >= 1 && resumed > 280, "{full} full, {resumed} resumed");
        let flags = format!("{flags} --no-resumption");
        let tls = all_counted(&load(&url, &flags)).record.tls;
        assert_eq!(tls.expect("TLS is recorded").full_and_resumed(), (300, 0));
    }
}

/// Many exchanges at once on connections that begin with one of them.
#[test]
fn streams_follow_an_early_request() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", PAGES, "--http3 --tls-early-data");
    let flags = format!(
        "-n 2000 -c 2 -t 1 -m 8 --warmup 0s --timeout 5s --http3 --requests-per-connection 20 \
         --handshakes full:1,early:3 {}",
        files.trust()
    );
    let run = load(&https(&served.url("/small")), &flags);
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 2_000, "{run:#?}");
    assert_eq!(record.total.outcomes.total(), 2_000, "{run:#?}");
    let tls = record.tls.expect("TLS is recorded");
    assert!(tls.early() > 40, "{tls:?}");
    assert_eq!(tls.early_time.count(), tls.early(), "{tls:?}");
}

/// Caddy resumes sessions; whether it takes requests early is its own choice, and told.
#[test]
fn caddy_resumes_sessions_of_quic() {
    let name = "http3::resumption::caddy_resumes_sessions_of_quic";
    let Some([caddy]) = need(name, ["caddy"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let server = Caddy::start(&caddy, &files, PAGES);
    let flags = format!("{EACH} {}", files.trust());
    let url = server.url("small");
    let mix = format!("{flags} --handshakes full:1,resumed:2");
    let tls = all_counted(&load(&url, &mix)).record.tls;
    let (full, resumed) = tls.expect("TLS is recorded").full_and_resumed();
    assert!((60..150).contains(&full), "{full} full, {resumed} resumed");
    let mix = format!("{flags} --handshakes full:1,early:2");
    let tls = all_counted(&load(&url, &mix)).record.tls;
    let tls = tls.expect("TLS is recorded");
    let wanted = tls.early() + tls.early_refused + tls.not_early;
    assert!((150..250).contains(&wanted), "{tls:?}");
    server.end();
}
