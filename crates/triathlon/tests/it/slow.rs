//! Connections that read and send slowly, against nginx: the right bytes arrive, and not sooner.

use model::Outcome;
use model::record::Record;
use model::units::Span;

use crate::support::need;
use crate::support::process::load;
use crate::way::Server;

/// Two right answers over two slow connections, none sooner than `least`.
#[track_caller]
fn check(url: &str, flags: &str, least: Span) -> Record {
    let run = load(url, &format!("-n 2 -c 2 -t 1 --timeout 60s {flags}"));
    let record = run.expect_measured().trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 2, "{record:?}");
    let fastest = record.service_time.min().expect("two came");
    assert!(fastest >= least, "{flags}: {fastest}");
    record
}

#[test]
fn slow_readers_and_senders_get_right_answers() {
    let name = "slow_readers_and_senders_get_right_answers";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let server = Server::nginx(&nginx, "listen ADDRESS;", "");
    let url = |path: &str| format!("http://{}/{path}", server.address());
    // 300,000 bytes at that pace are 2.9 s; what the kernel kept came at once.
    let record = check(&url("large"), "--slow-read 100k", Span::from_s(1));
    let slowed = record.slowed.expect("they were slow");
    assert_eq!((slowed.connections, slowed.pieces_sent), (2, 0));
    assert!(slowed.bytes_read.count() > 2 * 300_000, "{slowed:?}");
    assert_eq!(record.backend, "readiness");
    // A request has some 70 bytes, and a piece 20 of them.
    let record = check(&url("small"), "--slow-send 200", Span::ZERO);
    let slowed = record.slowed.expect("they were slow");
    assert_eq!(slowed.connections, 2);
    assert!(slowed.pieces_sent >= 6, "{slowed:?}");
    let requests = server.quit().len();
    assert_eq!(requests, 2 * (2 + 2), "fetches before the run, too");
}
