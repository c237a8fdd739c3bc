//! What an experiment asks for: another way to the server, or CPUs that both sides share.

use model::experiment::{Network, Placement};
use model::finding::{Claim, Severity};
use model::point::{NETWORK, PLACEMENT, Value};
use model::{Distribution, Outcome, OutcomeCounts};

use super::*;

/// A trial of a lab with a value on an axis.
fn asked(axis: &str, word: &str) -> Trial {
    let mut trial = of_lab().swap_remove(0);
    let point = trial.point.as_mut().unwrap();
    point.id = point.id.clone().with(axis, Value::Word(word.to_owned()));
    trial
}

/// One over a pair of devices, of which the generator's received so many bytes.
fn over_veth(received: u64) -> Trial {
    let mut trial = asked(NETWORK, Network::Veth.name());
    let sent = trial.record.total.bytes_sent.count();
    let counters = &mut trial.usage.system.as_mut().unwrap().counters;
    for (name, value) in [
        ("asks.rx_bytes", received),
        ("asks.tx_bytes", sent + sent / 2),
        ("asks.tx_packets", 600_000),
        ("answers.rx_bytes", sent + sent / 2),
        ("lo.rx_packets", 0),
    ] {
        counters.insert(format!("link.{name}"), value);
    }
    trial
}

#[test]
fn a_pair_of_devices_is_named_with_what_it_carried() {
    let received = fixture_bytes();
    let found = finding(&judge(&over_veth(2 * received)), "LNK-02").unwrap();
    assert_eq!(found.worst(), Severity::Note);
    assert_eq!(found.evidence["device"], "asks");
    assert_eq!(found.evidence["packets_sent"], 600_000);
    assert_eq!(found.evidence["packets_over_loopback"], 0);
    assert!(found.say.contains("virtual Ethernet"), "{}", found.say);
}

fn fixture_bytes() -> u64 {
    of_lab()[0].record.total.bytes_received.count()
}

#[test]
fn a_load_that_went_another_way_is_no_measurement_over_devices() {
    let found = finding(&judge(&over_veth(7)), "LNK-02").unwrap();
    assert_eq!(found.worst(), Severity::Invalid);
    let mut unread = over_veth(7);
    unread.usage.system = None;
    let said = judge(&unread).coverage.unknown;
    assert!(said["LNK-02"].contains("devices"), "{said:?}");
}

#[test]
fn sharing_that_was_asked_for_is_told_and_strikes_nothing() {
    let shared = |word: &str| {
        let mut trial = asked(PLACEMENT, word);
        trial.context.shared_cpus = Some(vec![0]);
        trial.usage.system.as_mut().unwrap().cpus[0].busy = 0.99;
        finding(&judge(&trial), "GEN-06").unwrap()
    };
    let found = shared(Placement::Shared.name());
    assert_eq!(found.worst(), Severity::Suspect);
    assert_eq!(found.severity[&Claim::Comparison], Severity::Note);
    assert!(
        found.say.contains("as the experiment asks"),
        "{}",
        found.say
    );
    // Nobody asked for this.
    let found = shared(Placement::Apart.name());
    assert_eq!(found.worst(), Severity::Invalid);
}

/// One of a server that loses a tenth of its visitors and closes four connections for each request.
fn overrun(asked: bool) -> Trial {
    let mut trial = of_lab().swap_remove(0);
    trial.context.overload = asked;
    let total = &mut trial.record.total;
    let right = total.outcomes[Outcome::Ok];
    total.outcomes[Outcome::Read] += right / 10;
    total.connections.closed_by_server = 4 * right;
    trial
}

#[test]
fn what_a_server_does_under_too_much_load_is_a_result_where_it_is_asked_for() {
    for rule in ["HTTP-01", "HTTP-09"] {
        let found = finding(&judge(&overrun(false)), rule).unwrap();
        assert!(found.worst() > Severity::Note, "{rule}");
        let asked = finding(&judge(&overrun(true)), rule).unwrap();
        assert_eq!(asked.worst(), Severity::Note, "{rule}");
        assert!(asked.say.starts_with(&found.say), "{}", asked.say);
        assert!(asked.say.contains("experiment asks"), "{}", asked.say);
        assert_eq!(asked.evidence, found.evidence);
    }
    let closed = finding(&judge(&overrun(true)), "HTTP-09").unwrap();
    assert!(closed.say.contains("for each request"), "{}", closed.say);
    // Nothing right came: there is no result, whatever was asked for.
    let mut nothing = overrun(true);
    nothing.record.total.outcomes = OutcomeCounts::default();
    nothing.record.response_time = Distribution::default();
    let found = finding(&judge(&nothing), "HTTP-01").unwrap();
    assert_eq!(found.worst(), Severity::Invalid);
}
