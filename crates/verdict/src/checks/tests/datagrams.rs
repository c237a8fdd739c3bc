//! UDP, which HTTP/3 goes over.

use model::http2::Http2Record;
use model::plan::Protocol;
use model::quic::QuicRecord;

use super::{Case, closed, finding, open};

const COUNTERS: [&str; 3] = ["Udp.InErrors", "Udp.RcvbufErrors", "Udp.SndbufErrors"];

/// A trial over HTTP/3 in which nothing was dropped.
fn over(mut trials: Vec<model::Trial>) -> Vec<model::Trial> {
    let trial = &mut trials[0];
    trial.plan.protocol = Protocol::Http3;
    trial.record.quic = Some(QuicRecord {
        datagrams_sent: 600_000,
        datagrams_received: 600_000,
        packets_lost: 7,
        ..QuicRecord::default()
    });
    for name in COUNTERS {
        count(&mut trials, name, 0);
    }
    trials
}

fn count(trials: &mut [model::Trial], name: &str, value: u64) {
    let system = trials[0].usage.system.as_mut().unwrap();
    system.counters.insert(name.to_owned(), value);
}

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        rule: "TCP-18",
        base: || over(closed()),
        provoke: |t| {
            // The kernel counts a full buffer among the errors, too.
            count(t, "Udp.InErrors", 1_200);
            count(t, "Udp.RcvbufErrors", 1_200);
        },
        // Nothing of it is read where nothing goes over UDP.
        silent: |t| {
            t[0].plan.protocol = Protocol::Http2;
            t[0].record.http2 = Some(Http2Record::default());
            count(t, "Udp.InErrors", 1_200);
        },
        missing: Some((
            |t| t[0].usage.system.as_mut().unwrap().counters.clear(),
            "datagrams",
        )),
    }]
}

#[test]
fn what_was_dropped_is_said_of_either_direction_and_of_ipv6() {
    let said = |counts: &[(&str, u64)]| {
        let mut trials = over(open());
        for (name, value) in counts {
            count(&mut trials, name, *value);
        }
        let found = finding(&crate::judge(&trials[0]), "TCP-18");
        found.map(|found| (found.worst().name(), found.say))
    };
    assert_eq!(said(&[]), None);
    assert_eq!(said(&[("Udp6.InErrors", 0)]), None);
    let all = "over all programs";
    let (worst, say) = said(&[("Udp6.RcvbufErrors", 1)]).expect("one is dropped");
    assert_eq!(worst, "invalid", "a time of QUIC may be one of its timers");
    assert!(
        say.starts_with("1 datagram was received and dropped"),
        "{say}"
    );
    assert!(say.contains(all), "{say}");
    let (_, say) = said(&[("Udp.SndbufErrors", 3)]).expect("three found no room");
    assert!(say.starts_with("3 datagrams found no room"), "{say}");
    let both = said(&[("Udp.InErrors", 2), ("Udp.SndbufErrors", 3)]);
    let (_, say) = both.expect("both are told");
    assert!(
        say.starts_with("2 datagrams were received and dropped"),
        "{say}"
    );
    assert!(say.contains("3 found no room"), "{say}");
}
