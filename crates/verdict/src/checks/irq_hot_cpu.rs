//! LNK-07: a CPU that is full of interrupts while others idle is the limit of the network path, and
//! not of the server behind it.
//!
//! Each queue of a card interrupts one CPU, which then takes the packets of that queue through the
//! kernel. Reads the time of each CPU in interrupts and softirqs (`/proc/stat`), which is counted
//! in ticks: what is judged is what remains if the reading is a tick too high. Over loopback and
//! between virtual devices it is the sender's CPU that does this work.

use model::environment::PathEnd;
use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::{HOT_CPU, OTHERS_BUSY};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "LNK-07",
    name: "irq-hot-cpu",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Linux Documentation/networking/scaling.rst: RSS and RPS",
    judge: Judge::Alone(judge),
};

/// Whether packets reach this machine by no card of its own.
pub(super) fn has_no_card(facts: &Facts<'_>) -> bool {
    let is_here = facts.is_local() == Some(true) && !facts.is_asked_from_elsewhere();
    let is_virtual = facts.path().is_some_and(PathEnd::is_virtual);
    is_here || is_virtual || facts.is_loopback() == Some(true)
}

/// What has more CPUs take packets of `link`.
pub(super) fn spread(link: &str) -> String {
    format!(
        "Let more CPUs take packets: ethtool -L {link} combined N, or RPS \
         (/sys/class/net/{link}/queues/rx-0/rps_cpus)"
    )
}

fn judge(facts: &Facts<'_>) -> Judgement {
    if has_no_card(facts) {
        return Judgement::NotApplicable;
    }
    let system = facts.trial.usage.system.as_ref();
    let Some(system) = system.filter(|system| !system.cpus.is_empty()) else {
        return Judgement::unknown("the time of each CPU in interrupts");
    };
    let cpus = system.cpus.iter();
    let hot = cpus.max_by(|one, other| one.interrupt.total_cmp(&other.interrupt));
    let Some(hot) = hot.filter(|_| system.cpus.len() > 1) else {
        // There is no other that could help.
        return Judgement::NotApplicable;
    };
    let others = system.cpus.iter().filter(|one| one.cpu != hot.cpu);
    let busy: Vec<f64> = others.map(|one| one.busy).collect();
    let busy = busy.iter().sum::<f64>() / number(busy.len() as u64);
    let severity = HOT_CPU.severity(hot.interrupt - system.tick_share());
    let Some(capacity) = severity.filter(|_| OTHERS_BUSY.severity(busy).is_none()) else {
        return Judgement::Silent;
    };
    let mut say = format!(
        "CPU {} spent {} of the window in interrupts, while the other CPUs were {} busy: this \
         CPU took packets as fast as it could, and the server may be able to answer more.",
        hot.cpu,
        words::share(hot.interrupt),
        words::share(busy)
    );
    let path = facts.path();
    if let Some((link, queues)) = path.and_then(|path| Some((&path.link, path.queues?))) {
        let queues = words::plural(u64::from(queues), "queue");
        say.push_str(&format!(" {link} receives by {queues}."));
    }
    Found::new(&[(Capacity, capacity), (Latency, Suspect)], say)
        .evidence("cpu", hot.cpu)
        .evidence("interrupt_share", hot.interrupt)
        .evidence("others_busy_share", busy)
        .evidence("receive_queues", path.and_then(|path| path.queues))
        .limit(&HOT_CPU)
        .limit(&OTHERS_BUSY)
        .fix(spread(path.map_or("LINK", |path| path.link.as_str())))
        .into()
}
