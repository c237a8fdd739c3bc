//! LNK-12: a card that spreads what it receives over few queues lets few CPUs take packets.
//!
//! Reads how many receive queues the link of the way has, and how many CPUs the kernel hands
//! packets on to by itself (RPS). At the servers' end they are compared with the CPUs of the
//! server, at the generator's end with those of its threads. It is a note: LNK-07 says whether a
//! CPU had too much of it.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::Note;

use super::irq_hot_cpu::{has_no_card, spread};
use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::CPUS_PER_QUEUE;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "LNK-12",
    name: "receive-queues",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Linux Documentation/networking/scaling.rst: RSS and RPS",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if has_no_card(facts) {
        return Judgement::NotApplicable;
    }
    let Some(path) = facts.path() else {
        return Judgement::unknown("which link carried the answers, and how many queues it has");
    };
    let link = path.link.as_str();
    let Some(queues) = path.queues.filter(|queues| *queues > 0) else {
        return Judgement::unknown(format!("how many queues {link} receives by"));
    };
    let (whose, cpus) = match facts.is_asked_from_elsewhere() {
        true => {
            let online = &facts.trial.environment.cpus_online;
            let cpus = facts.server_cpus().unwrap_or(online);
            ("the server", cpus.len())
        }
        false => ("the generator", facts.generator_cpus().len()),
    };
    if cpus == 0 {
        return Judgement::unknown(format!("how many CPUs {whose} may use"));
    }
    let per = |takers: u32| number(cpus as u64) / f64::from(takers);
    if CPUS_PER_QUEUE.severity(per(queues)).is_none() {
        return Judgement::Silent;
    }
    let Some(handed_on) = path.rps_cpus else {
        return Judgement::unknown(format!(
            "whether the kernel hands packets of {link} on to other CPUs (RPS)"
        ));
    };
    let takers = queues.max(handed_on);
    if CPUS_PER_QUEUE.severity(per(takers)).is_none() {
        return Judgement::Silent;
    }
    Found::all(
        CHECK.claims,
        Note,
        format!(
            "{link} receives by {}, so that {} for {whose}, which has {}, and may be full before \
             the others.",
            words::plural(u64::from(queues), "queue"),
            match takers {
                1 => "one CPU takes all packets".to_owned(),
                takers => format!("{takers} CPUs take all packets"),
            },
            words::plural(cpus as u64, "CPU"),
        ),
    )
    .evidence("link", link)
    .evidence("receive_queues", queues)
    .evidence("rps_cpus", handed_on)
    .evidence("cpus", cpus)
    .limit(&CPUS_PER_QUEUE)
    .fix(spread(link))
    .into()
}
