//! LNK-01: a full link is what was measured, not the server behind it.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::LINK_USED;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "LNK-01",
    name: "link-saturated",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "IEEE 802.3: a frame has 24 bytes of check, preamble and gap around it",
    judge: Judge::Alone(judge),
};

/// Frame check sequence, preamble and gap: on the wire, and in no counter.
const AROUND_FRAME: u64 = 24;

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_local() == Some(true) {
        return Judgement::NotApplicable;
    }
    let used = links(facts)
        .filter(|link| carried(facts, link))
        .filter_map(|link| Some((link, share(facts, link)?)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((link, share)) = used else {
        return Judgement::unknown("which link carried the answers, and its speed");
    };
    let Some(capacity) = LINK_USED.severity(share) else {
        return Judgement::Silent;
    };
    Found::new(
        &[(Capacity, capacity), (Latency, Suspect)],
        format!(
            "{link} was {} full: the link is what was measured, not the server.",
            words::share(share)
        ),
    )
    .evidence("link", link)
    .evidence("link_used_share", share)
    .limit(&LINK_USED)
    .fix("Ask for smaller pages, or take a faster link")
    .into()
}

/// The links that received anything.
pub(super) fn links<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a str> {
    let system = facts.trial.usage.system.as_ref();
    let names = system.into_iter().flat_map(|system| system.counters.keys());
    names.filter_map(|name| name.strip_prefix("link.")?.strip_suffix(".rx_bytes"))
}

pub(super) fn moved(facts: &Facts<'_>, link: &str, what: &str) -> u64 {
    facts.counter(&format!("link.{link}.{what}")).unwrap_or(0)
}

/// Whether a link carried at least what the generator sent and received.
pub(super) fn carried(facts: &Facts<'_>, link: &str) -> bool {
    let total = &facts.record.total;
    [
        ("rx_bytes", total.bytes_received),
        ("tx_bytes", total.bytes_sent),
    ]
    .into_iter()
    .all(|(what, bytes)| moved(facts, link, what) / 9 * 10 >= bytes.count())
}

/// The busier direction in terms of the link's speed; none where that is unknown.
fn share(facts: &Facts<'_>, link: &str) -> Option<f64> {
    let speed = format!("link.{link}.speed_mbit");
    let speed: u64 = facts.trial.environment.facts.get(&speed)?.parse().ok()?;
    let seconds = facts.trial.usage.system.as_ref()?.window.as_s_f64();
    let bits = |direction: &str| {
        let bytes = moved(facts, link, &format!("{direction}_bytes"));
        let packets = moved(facts, link, &format!("{direction}_packets"));
        number((bytes + packets * AROUND_FRAME) * 8)
    };
    let capacity = number(speed * 1_000_000) * seconds;
    (capacity > 0.0).then(|| bits("rx").max(bits("tx")) / capacity)
}
