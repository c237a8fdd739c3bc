//! GEN-17: agents make one load only as far as their clocks can be compared.
//!
//! Agents begin at one instant. The offset of a clock is corrected, but it is known only within an
//! interval, which round trips before the load give; two windows may be apart by the two largest of
//! these together. For that long at both edges a part of the load is missing, and the server has an
//! easier time: that is compared with the window, or with the shortest stage of a load whose rate
//! changes. Where the servers' machine was metered by its own clock, the interval of each agent is
//! compared with the window for the cost of an answer, too, with that of the servers' machine where
//! a third one asked for the load.
//!
//! A clock that is far off is noted although its offset was corrected: a time service may have set
//! it between the comparison and the start, so that its agent began too early or too late. And
//! evenly spaced arrivals of several agents are noted where they may come in pairs; random ones
//! stay random, however far agents are apart.

use std::collections::BTreeMap;

use model::environment::Timekeeping;
use model::finding::Claim::{self, Capacity, Comparison, Latency, Resources};
use model::finding::Severity;
use model::plan::Arrivals;
use model::trial::Offset;
use model::{Span, Trial};

use crate::check::{Check, Facts, Found, Judge, Judgement, part};
use crate::thresholds::{APART_OF_GAP, APART_OF_STAGE, LATE_FLOOR_US, OFFSET_OF_STAGE};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-17",
    name: "agents-apart",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "An answer was given between question and receipt: each round trip bounds the offset",
    judge: Judge::Alone(judge),
};

/// One thing that is wrong with the clocks.
struct Part {
    claims: &'static [Claim],
    severity: Severity,
    say: String,
    fix: &'static str,
}

fn judge(facts: &Facts<'_>) -> Judgement {
    let trial = facts.trial;
    let is_metered = trial.usage.server.is_some();
    if trial.agents.is_empty() || (trial.agents.len() == 1 && !is_metered) {
        return Judgement::NotApplicable;
    }
    let parts = [
        windows(facts),
        meters(facts),
        far_agent(facts),
        far_servers(facts),
        spacing(trial),
    ];
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return Judgement::Silent;
    }
    let mut severity: BTreeMap<Claim, Severity> = BTreeMap::new();
    for part in &parts {
        for claim in part.claims {
            let known = severity.entry(*claim).or_insert(part.severity);
            *known = (*known).max(part.severity);
        }
    }
    let severity: Vec<(Claim, Severity)> = severity.into_iter().collect();
    let say: Vec<&str> = parts.iter().map(|part| part.say.as_str()).collect();
    let mut found = Found::new(&severity, say.join(" "))
        .evidence("apart_ns", trial.windows_apart_at_most().as_ns())
        .limit(&APART_OF_STAGE)
        .limit(&OFFSET_OF_STAGE)
        .limit(&APART_OF_GAP);
    let agents = trial.agents.iter();
    let clocks = agents.map(|share| (share.agent.as_str(), share.clock()));
    for (whose, clock) in clocks.chain(trial.servers_clock.map(|clock| (SERVERS, clock))) {
        found = found
            .evidence(&format!("offset_ns of {whose}"), clock.offset_ns)
            .evidence(&format!("within_ns of {whose}"), clock.within.as_ns());
    }
    let mut fixes: Vec<&str> = parts.iter().map(|part| part.fix).collect();
    fixes.dedup();
    fixes
        .into_iter()
        .fold(found, |found, fix| found.fix(fix))
        .into()
}

const SERVERS: &str = "the servers' machine";
const NEARER: &str = "Use a NATS server that is nearer to all agents, or measure for longer";
const TIME_SERVER: &str = "Let all machines follow a time server (chrony, systemd-timesyncd)";
const RANDOM: &str = "Ask for random arrivals (--poisson), which stay random";

/// The shortest time for which the load is to be one thing: the window or a stage of it.
fn shortest(facts: &Facts<'_>) -> (Span, &'static str) {
    let window = facts.record.window;
    let stages = facts.trial.plan.stages.iter().map(|stage| stage.length);
    // A stage without length is a jump from one rate to another.
    let stage = stages.filter(|length| !length.is_zero()).min();
    match stage.filter(|stage| *stage < window) {
        Some(stage) => (stage, "the shortest stage"),
        None => (window, "the window"),
    }
}

/// Windows that do not coincide.
fn windows(facts: &Facts<'_>) -> Option<Part> {
    if facts.trial.agents.len() < 2 {
        return None;
    }
    let apart = facts.trial.windows_apart_at_most();
    let (length, whose) = shortest(facts);
    let share = part(apart, length);
    Some(Part {
        claims: &[Capacity, Latency, Comparison],
        severity: APART_OF_STAGE.severity(share)?,
        say: format!(
            "The clocks of the agents could be compared only roughly. Two agents may have begun \
             up to {} apart: for up to {} of {whose} not all of them may have made their load.",
            apart.people(),
            words::share(share)
        ),
        fix: NEARER,
    })
}

/// The meters of the servers' machine, read when the window begins and ends by its own clock.
fn meters(facts: &Facts<'_>) -> Option<Part> {
    facts.trial.usage.server.as_ref()?;
    let shares = facts.trial.agents.iter();
    let agent = shares.map(|one| one.clock_offset_within).max()?;
    let servers = facts.trial.servers_clock;
    let within = agent + servers.map_or(Span::ZERO, |clock| clock.within);
    let share = part(within, facts.record.window);
    Some(Part {
        claims: &[Resources],
        severity: APART_OF_STAGE.severity(share)?,
        say: format!(
            "What the server consumed was read over a window that may begin up to {} before or \
             after that of an agent, {} of the window.",
            within.people(),
            words::share(share)
        ),
        fix: NEARER,
    })
}

/// The clock of an agent that is certainly furthest away.
fn far_agent(facts: &Facts<'_>) -> Option<Part> {
    let shares = facts.trial.agents.iter();
    let furthest = shares.max_by_key(|share| share.clock().least())?;
    let kept = furthest.environment.timekeeping.as_ref();
    Some(Part {
        claims: &[Capacity, Latency],
        ..far(&furthest.agent, furthest.clock(), kept, shortest(facts))?
    })
}

/// The clock by which meters were read.
fn far_servers(facts: &Facts<'_>) -> Option<Part> {
    facts.trial.usage.server.as_ref()?;
    let clock = facts.trial.servers_clock?;
    let kept = facts.trial.environment.timekeeping.as_ref();
    far(SERVERS, clock, kept, (facts.record.window, "the window"))
}

fn far(
    whose: &str,
    clock: Offset,
    kept: Option<&Timekeeping>,
    (length, of_what): (Span, &str),
) -> Option<Part> {
    let share = part(clock.least(), length);
    let way = match clock.offset_ns < 0 {
        true => "behind",
        false => "ahead",
    };
    let severity = OFFSET_OF_STAGE.severity(share)?;
    let mut say = format!(
        "The clock of {whose} was {} {way}, which is {} of {of_what}. The start allowed for that, \
         unless something set the clock before the load began.",
        Span::from_ns(clock.offset_ns.unsigned_abs()).people(),
        words::share(share)
    );
    if kept.is_some_and(|kept| !kept.synchronised) {
        say.push_str(" The kernel there says that the clock is not synchronised.");
    }
    Some(Part {
        claims: &[Resources],
        severity,
        say,
        fix: TIME_SERVER,
    })
}

/// Evenly spaced arrivals that may come in pairs.
fn spacing(trial: &Trial) -> Option<Part> {
    let Arrivals::Fixed { rate_per_1000_s } = trial.plan.arrivals else {
        return None;
    };
    if trial.agents.len() < 2 {
        return None;
    }
    let gap_us = 1e6 / rate_per_1000_s.as_per_second_f64();
    // One machine sends them no more evenly than this.
    LATE_FLOOR_US.severity(gap_us)?;
    let apart = trial.windows_apart_at_most();
    let share = apart.as_us_f64() / gap_us;
    Some(Part {
        claims: &[Latency],
        severity: APART_OF_GAP.severity(share)?,
        say: format!(
            "Requests were to be sent evenly, one every {gap_us:.0} µs, but the starts of two \
             agents may be up to {} apart: some requests may have been sent in pairs.",
            apart.people()
        ),
        fix: RANDOM,
    })
}
