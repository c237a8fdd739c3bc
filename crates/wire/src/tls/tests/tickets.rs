//! Keys of tickets change, by a clock that the test moves.

use std::sync::atomic::{AtomicU64, Ordering};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use super::*;
use crate::tls::tickets::PERIOD_S;

/// Seconds since 1970, as the test says.
#[derive(Debug)]
struct Clock(AtomicU64);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = std::time::Duration::from_secs(self.0.load(Ordering::Relaxed));
        Some(UnixTime::since_unix_epoch(now))
    }
}

const PERIOD: u64 = PERIOD_S as u64;
const VERSIONS: [&[TlsVersion]; 2] = [&[TlsVersion::Tls12], &[TlsVersion::Tls13]];

/// A client, and a server whose clock can be moved.
struct Clocked {
    pair: Pair,
    clock: Arc<Clock>,
    authority: Authority,
}

impl Clocked {
    fn new(versions: &'static [TlsVersion]) -> Self {
        let authority = Authority::new("ours");
        let demands = Demands {
            versions,
            ..demands(&authority)
        };
        let requests = vec![request(0, "GET", "/", None)];
        let clock = Arc::new(Clock(AtomicU64::new(1_800_000_000)));
        let mut pair = Pair::new(demands, authority.site(), requests);
        pair.acceptor = acceptor(&authority, &clock);
        Self {
            pair,
            clock,
            authority,
        }
    }

    fn pass(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Whether one more connection is a session that goes on.
    fn resumes(&mut self) -> bool {
        self.pair.negotiate().resumed
    }
}

fn acceptor(authority: &Authority, clock: &Arc<Clock>) -> Acceptor {
    let clock = Arc::<Clock>::clone(clock);
    Acceptor::with_clock(authority.site(), clock).unwrap()
}

/// After a full handshake at `first`, seconds into a period, and with the server's clock moved by
/// each of `pauses`, whether the next connection resumes. Nothing is asked in between.
#[track_caller]
fn check(first: u64, pauses: &[(u64, bool)]) {
    for versions in VERSIONS {
        let mut clocked = Clocked::new(versions);
        clocked.pass(first);
        assert!(!clocked.resumes(), "the first is a full handshake");
        for (pause, expected) in pauses {
            clocked.pass(*pause);
            let case = format!("{versions:?} at {first}, after {pause} s");
            assert_eq!(clocked.resumes(), *expected, "{case}");
        }
    }
}

#[test]
fn tickets_hold_while_their_key_does() {
    check(0, &[(0, true), (PERIOD - 1, true)]);
    // Made with the key of before: at the first second after the change, and at the last.
    check(0, &[(PERIOD, true)]);
    check(0, &[(2 * PERIOD - 1, true)]);
    check(PERIOD - 1, &[(1, true)]);
    check(PERIOD - 1, &[(PERIOD, true)]);
}

#[test]
fn tickets_of_two_periods_ago_need_a_full_handshake() {
    check(0, &[(2 * PERIOD, false), (0, true)]);
    check(PERIOD - 1, &[(PERIOD + 1, false), (0, true)]);
    check(PERIOD - 1, &[(2 * PERIOD, false)]);
    // However long nobody asked.
    check(0, &[(3 * PERIOD, false)]);
    check(0, &[(100 * PERIOD, false), (PERIOD, true)]);
}

/// The key of a ticket goes even while others keep the server busy.
#[test]
fn keys_are_dropped_one_by_one() {
    for versions in VERSIONS {
        let mut clocked = Clocked::new(versions);
        assert!(!clocked.resumes());
        let requests = vec![request(0, "GET", "/", None)];
        let site = clocked.authority.site();
        let demands = Demands {
            versions,
            ..demands(&clocked.authority)
        };
        let mut other = Pair::new(demands, site, requests);
        other.acceptor = clocked.pair.acceptor.clone();
        assert!(!other.negotiate().resumed);
        for _ in 0..2 {
            clocked.pass(PERIOD);
            assert!(other.negotiate().resumed, "{versions:?}");
        }
        assert!(!clocked.resumes(), "{versions:?}");
    }
}

#[test]
fn a_clock_that_was_set_back_changes_no_key() {
    for versions in VERSIONS {
        let mut clocked = Clocked::new(versions);
        assert!(!clocked.resumes());
        clocked.clock.0.fetch_sub(10 * PERIOD, Ordering::Relaxed);
        assert!(clocked.resumes(), "{versions:?}");
    }
}

#[test]
fn no_server_opens_the_tickets_of_another() {
    for versions in VERSIONS {
        let mut clocked = Clocked::new(versions);
        assert!(!clocked.resumes());
        assert!(clocked.resumes());
        clocked.pair.acceptor = acceptor(&clocked.authority, &clocked.clock);
        assert!(!clocked.resumes(), "{versions:?}");
        assert!(clocked.resumes(), "{versions:?}");
    }
}
