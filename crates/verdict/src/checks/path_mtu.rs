//! LNK-11: ends of one way whose largest packets differ.
//!
//! TCP keeps to the smaller of two, if each end tells the other; between them may be a device that
//! drops the larger. Agents whose links differ do not make the same load. A link whose packets are
//! not of the stock size is reported by LNK-03 of the doctor, for each machine.

use model::environment::Environment;
use model::finding::Claim::{Capacity, Comparison, Latency};
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "LNK-11",
    name: "mtu-of-ends",
    claims: &[Capacity, Latency, Comparison],
    mandatory: false,
    source: "RFC 9293 §3.7.1: each end of TCP tells the largest segment that it takes",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    // Of one machine alone nobody looked at the other end, and loopback has but one.
    if !facts.is_asked_from_elsewhere() || facts.is_loopback() == Some(true) {
        return Judgement::NotApplicable;
    }
    let of_agent = |name: &str| format!("agent {name}");
    let agents = facts.trial.agents.iter();
    let agents = agents.map(|share| (of_agent(&share.agent), &share.environment));
    let servers = ("the servers' machine".to_owned(), &facts.trial.environment);
    let mut known: Vec<(String, &str, u64)> = Vec::new();
    let mut unread = Vec::new();
    for (whose, environment) in [servers].into_iter().chain(agents) {
        match mtu(environment) {
            Some((link, mtu)) => known.push((whose, link, mtu)),
            None => unread.push(whose),
        }
    }
    let is_one = known.windows(2).all(|two| two[0].2 == two[1].2);
    if is_one && unread.is_empty() {
        return Judgement::Silent;
    }
    if is_one {
        return Judgement::unknown(format!(
            "the largest packet of {}: nothing there read its link",
            words::list(&unread)
        ));
    }
    let told = |(whose, link, mtu): &(String, &str, u64)| {
        format!("{} bytes of {link} of {whose}", words::count(*mtu))
    };
    let told: Vec<String> = known.iter().map(told).collect();
    let mut found = Found::all(
        CHECK.claims,
        Note,
        format!(
            "The largest packets (MTU) of the links differ: {}. TCP keeps to the smaller, and a \
             device between them may drop the larger.",
            words::list(&told)
        ),
    );
    for (whose, _, mtu) in &known {
        found = found.evidence(&format!("mtu of {whose}"), *mtu);
    }
    found
        .fix("Give all links of the way the same MTU (ip link set LINK mtu BYTES)")
        .into()
}

fn mtu(environment: &Environment) -> Option<(&str, u64)> {
    let path = environment.path.as_ref()?;
    Some((path.link.as_str(), path.mtu?))
}
