//! LNK-01: a full link is what was measured, not the server behind it.

use model::environment::PathEnd;
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
    let is_here = facts.is_local() == Some(true) && !facts.is_asked_from_elsewhere();
    let is_virtual = facts.path().is_some_and(PathEnd::is_virtual);
    if is_here || is_virtual || facts.is_loopback() == Some(true) {
        return Judgement::NotApplicable;
    }
    let (link, share) = match used(facts) {
        Ok(used) => used,
        Err(missing) => return Judgement::unknown(missing),
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

/// The link that carried the answers, with the share of its speed that was used; else what is not
/// known.
fn used<'a>(facts: &Facts<'a>) -> Result<(&'a str, f64), String> {
    let Some(path) = facts.path() else {
        // Nobody looked which one it is: it is the fullest of those that may be it.
        let stored = |link| Some((link, share(facts, link, stored_speed(facts, link)?)?));
        let all = links(facts).filter(|link| carried(facts, link));
        let fullest = all
            .filter_map(stored)
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        return fullest.ok_or_else(|| "which link carried the answers, and its speed".to_owned());
    };
    let link = path.link.as_str();
    if !links(facts).any(|one| one == link) {
        return Err(format!("the counters of {link} over the window"));
    }
    if !carried(facts, link) {
        return Err(format!(
            "which link carried the answers: the route names {link}, which carried less"
        ));
    }
    let speed = path.speed_mbit.or_else(|| stored_speed(facts, link));
    let used = speed.and_then(|speed| share(facts, link, speed));
    let used = used.ok_or_else(|| {
        format!("the speed of {link}: its driver does not report it, as in many virtual machines")
    });
    Ok((link, used?))
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
    let (here, there) = match facts.is_asked_from_elsewhere() {
        false => (total.bytes_received, total.bytes_sent),
        // What the generator receives the servers' machine sends.
        true => (total.bytes_sent, total.bytes_received),
    };
    [("rx_bytes", here), ("tx_bytes", there)]
        .into_iter()
        .all(|(what, bytes)| moved(facts, link, what) / 9 * 10 >= bytes.count())
}

/// What earlier versions stored of the speed of each link.
fn stored_speed(facts: &Facts<'_>, link: &str) -> Option<u64> {
    let speed = format!("link.{link}.speed_mbit");
    facts.trial.environment.facts.get(&speed)?.parse().ok()
}

/// The busier direction in terms of the link's speed; none where nothing was counted.
fn share(facts: &Facts<'_>, link: &str, speed_mbit: u64) -> Option<f64> {
    let seconds = facts.trial.usage.system.as_ref()?.window.as_s_f64();
    let bits = |direction: &str| {
        let bytes = moved(facts, link, &format!("{direction}_bytes"));
        let packets = moved(facts, link, &format!("{direction}_packets"));
        number((bytes + packets * AROUND_FRAME) * 8)
    };
    let capacity = number(speed_mbit * 1_000_000) * seconds;
    (capacity > 0.0).then(|| bits("rx").max(bits("tx")) / capacity)
}
