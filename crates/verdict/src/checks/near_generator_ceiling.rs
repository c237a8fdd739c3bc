//! GEN-02: a rate close to what this generator can do at all says nothing about the server.
//!
//! Where the server's busiest thread or CPU was busy for more than 95 % of the time, the rate is
//! the server's own limit (SRV-11), however near the generator was to its own. Then this is a note.

use model::finding::Claim::Capacity;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::limit;
use crate::thresholds::CEILING_SHARE;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-02",
    name: "near-generator-ceiling",
    claims: &[Capacity],
    mandatory: true,
    source: "The generator's rate against a null responder, measured in every round",
    judge: Judge::Alone(judge),
};

/// How far the generator was from its own limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Headroom {
    /// The larger of the two below.
    pub(crate) value: f64,
    /// Ceiling in terms of the rate; none where the ceiling says nothing.
    by_ceiling: Option<f64>,
    /// What the busy share leaves.
    by_busy: Option<f64>,
}

/// The larger of ceiling ÷ rate and 1 ÷ busy share. Where origin itself is the system under test,
/// the ceiling was measured against the same program and says nothing.
pub(crate) fn headroom(facts: &Facts<'_>) -> Option<Headroom> {
    let rate = facts.record.achieved_rate;
    let ceiling = facts.trial.context.ceiling.as_ref();
    let by_ceiling = ceiling
        .filter(|ceiling| !ceiling.same_server && rate > 0.0)
        .map(|ceiling| ceiling.rate / rate);
    let by_busy = facts
        .record
        .busiest_worker()
        .filter(|(_, busy)| *busy > 0.0)
        .map(|(_, busy)| 1.0 / busy);
    let value = by_ceiling
        .into_iter()
        .chain(by_busy)
        .max_by(f64::total_cmp)?;
    Some(Headroom {
        value,
        by_ceiling,
        by_busy,
    })
}

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some(headroom) = headroom(facts) else {
        return Judgement::unknown("a ceiling, and the busy share of the generator's workers");
    };
    let Some(severity) = CEILING_SHARE.severity(1.0 / headroom.value) else {
        return Judgement::Silent;
    };
    let is_servers = limit::is_server_full(facts);
    let rate = words::rate(facts.record.achieved_rate);
    let mut say = match (&facts.trial.context.ceiling, headroom.by_ceiling) {
        (Some(ceiling), Some(_)) => format!(
            "This generator reaches {}{}/s here against a server that does nothing, and this \
             server was measured at {rate}/s.",
            if ceiling.at_least { "at least " } else { "" },
            words::rate(ceiling.rate),
        ),
        _ => format!("The server was measured at {rate}/s."),
    };
    if let Some((_, busy)) = facts.record.busiest_worker() {
        say += &format!(
            " The generator's busiest thread was {} busy.",
            words::share(busy)
        );
    }
    say += &format!(
        " The generator could reach {:.2} times this rate (headroom): {}.",
        headroom.value,
        if is_servers {
            "the server was at its own limit"
        } else if severity == model::Severity::Invalid {
            "the rate is a lower bound, and the server may be faster"
        } else {
            "the server may be a little faster than this"
        }
    );
    let severity = match is_servers {
        true => model::Severity::Note,
        false => severity,
    };
    Found::new(&[(Capacity, severity)], say)
        .evidence("headroom", headroom.value)
        .evidence("ceiling_over_rate", headroom.by_ceiling)
        .evidence("one_over_busy_share", headroom.by_busy)
        .limit(&CEILING_SHARE)
        .fix(
            "Give the generator more CPUs (load: -t, --cpus; lab: servers with fewer cores) or \
             another machine",
        )
        .into()
}
