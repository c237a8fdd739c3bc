//! What took the CPUs from generator and server: causes, as far from what was measured as can be.
//!
//! Nothing here reads a rate, a time or an outcome. A trial may therefore be repeated because of
//! what is found here without choosing among results (ADR 0021).

mod shares;
mod takers;

use model::finding::Cause;
use model::usage::{GroupUsage, Others, Spender};
use model::{Span, Trial, Usage};

use crate::check::{Facts, number, part};
use crate::thresholds::{Limit, VOID_FOREIGN, VOID_KEPT, VOID_STEAL};
use crate::words;

pub use shares::{VoidCount, void_shares};
pub use takers::takers;

/// Why `trial` is void; none where nothing took its CPUs, or where nobody could see. Of several
/// causes it is the one that is furthest beyond what is allowed.
pub fn void(trial: &Trial) -> Option<Cause> {
    let facts = Facts::new(trial);
    let foreign = foreign(&facts);
    let found = [
        steal(&facts)
            .ok()
            .map(|steal| cause(&VOID_STEAL, steal.sure, steal.say(), Vec::new())),
        foreign.as_ref().ok().map(|foreign| {
            cause(
                &VOID_FOREIGN,
                foreign.share,
                foreign.say(),
                foreign.who.clone(),
            )
        }),
        kept(&facts).map(|kept| {
            let who = foreign.as_ref().map(|foreign| foreign.who.clone());
            cause(
                &VOID_KEPT,
                kept.by_others,
                kept.say(&facts),
                who.unwrap_or_default(),
            )
        }),
    ];
    found
        .into_iter()
        .flatten()
        .filter(|cause| cause.share > cause.limit)
        .max_by(|one, other| (one.share / one.limit).total_cmp(&(other.share / other.limit)))
}

fn cause(limit: &Limit, share: f64, say: String, who: Vec<Spender>) -> Cause {
    Cause {
        rule: limit.rule.to_owned(),
        share,
        limit: limit
            .invalid
            .expect("what makes a trial void has a level for it"),
        say,
        who,
    }
}

/// Why a cause cannot be told.
pub(crate) enum Blind {
    /// What would be needed was not read.
    Unread(&'static str),
    /// It was read in steps too coarse for this window.
    Coarse(String),
}

/// What the hypervisor gave to other guests of the CPU that lost most.
pub(crate) struct Steal {
    pub(crate) cpu: u32,
    /// As it was read.
    pub(crate) share: f64,
    /// What is left of it if the reading is wrong by a tick.
    pub(crate) sure: f64,
}

impl Steal {
    pub(crate) fn say(&self) -> String {
        let share = words::share(self.share);
        format!(
            "The hypervisor gave {share} of CPU {} to other guests.",
            self.cpu
        )
    }
}

/// A window in which one tick is more than this tells nothing of time that was stolen: it is what
/// makes a trial void.
const COARSE: f64 = 0.05;

pub(crate) fn steal(facts: &Facts<'_>) -> Result<Steal, Blind> {
    let unread = Blind::Unread("how busy each CPU was");
    let Some(system) = facts.trial.usage.system.as_ref() else {
        return Err(unread);
    };
    let part = participants(facts);
    let worst = system
        .cpus
        .iter()
        .filter(|usage| part.is_empty() || part.contains(&usage.cpu))
        .max_by(|one, other| one.steal.total_cmp(&other.steal));
    let Some(worst) = worst else {
        return Err(unread);
    };
    let error = system.tick_share();
    if error > COARSE {
        return Err(Blind::Coarse(format!(
            "the kernel counts stolen time in steps, and one step is {} of this window",
            words::share(error)
        )));
    }
    Ok(Steal {
        cpu: worst.cpu,
        share: worst.steal,
        sure: (worst.steal - error).max(0.0),
    })
}

/// CPU time that neither side used, nor the kernel for them.
pub(crate) struct Foreign {
    /// As a share of the CPUs that generator and server could use.
    pub(crate) share: f64,
    cpus: Vec<u32>,
    /// Who used it; empty in trials that do not tell.
    pub(crate) who: Vec<Spender>,
    /// The time of these CPUs, in seconds.
    whole: f64,
    unseen: Span,
    begun: Option<u64>,
    /// What the kernel's own threads and the rig used, as a share of the same CPUs.
    pub(crate) serving: Option<f64>,
}

/// Fewer tasks than this in a window began as they do on any machine that idles.
const BEGUN_MANY: u64 = 10;

impl Foreign {
    /// Of a machine with so many CPUs that nobody loads; none where they were not watched.
    pub(crate) fn of_machine(others: &Others, cpus: usize) -> Option<Self> {
        let whole = others.window.as_s_f64() * number(cpus as u64);
        let unseen = others.unseen.unwrap_or(Span::ZERO);
        (whole > 0.0).then(|| Self {
            share: ((others.cpu + unseen).as_s_f64() / whole).min(1.0),
            cpus: Vec::new(),
            who: others.top.clone(),
            whole,
            unseen,
            begun: others.begun,
            serving: None,
        })
    }

    pub(crate) fn say(&self) -> String {
        let place = if self.cpus.is_empty() {
            "the machine".to_owned()
        } else {
            format!(
                "{}, where generator and server ran",
                words::named_cpus(&self.cpus)
            )
        };
        let said = format!(
            "Other programs used {} of {place}",
            words::share(self.share)
        );
        let who = self.told();
        if who.is_empty() {
            return format!("{said}.");
        }
        format!("{said}: {}.", who.join(", "))
    }

    /// Those who used it, each with its share: at most the share of all, where one is known to have
    /// run and not where or when.
    pub(crate) fn told(&self) -> Vec<String> {
        let whole = self.whole;
        let share = |cpu: Span| match cpu.as_s_f64() / whole.max(1e-9) {
            more if more > self.share => format!("at most {}", words::share(self.share)),
            share => words::share(share),
        };
        let mut told: Vec<String> = self
            .who
            .iter()
            // What nobody would look for.
            .filter(|spender| spender.cpu.as_s_f64() > 0.001 * whole)
            .map(|spender| format!("{} {}", words::spender(spender), share(spender.cpu)))
            .collect();
        if self.unseen.as_s_f64() > 0.001 * whole {
            let begun = self.begun.filter(|begun| *begun >= BEGUN_MANY);
            let of = begun.map_or_else(String::new, |begun| {
                format!(" ({} began meanwhile)", words::plural(begun, "task"))
            });
            told.push(format!(
                "processes that ended at once or cannot be seen from here{of} {}",
                share(self.unseen)
            ));
        }
        told
    }
}

pub(crate) fn foreign(facts: &Facts<'_>) -> Result<Foreign, Blind> {
    let usage = &facts.trial.usage;
    let Some(system) = usage.system.as_ref() else {
        return Err(Blind::Unread(UNREAD));
    };
    // Between readings that came so late that no tick lies between them, nothing is known of each
    // CPU. Who ran was read before and after.
    let Some(others) = &system.others else {
        return by_ticks(facts);
    };
    let mut cpus = participants(facts);
    let all = cpus.is_empty() || system.cpus.iter().all(|usage| cpus.contains(&usage.cpu));
    if cpus.is_empty() {
        cpus = system.cpus.iter().map(|usage| usage.cpu).collect();
    }
    let whole = others.window.as_s_f64() * number(cpus.len() as u64);
    if whole <= 0.0 {
        return Err(Blind::Unread(UNREAD));
    }
    let unseen = others.unseen.unwrap_or(Span::ZERO);
    let everywhere = (others.cpu + unseen).as_s_f64() / whole;
    let ours: f64 = sides(usage).sum();
    let fits = everywhere <= 1.0 - ours / number(cpus.len() as u64);
    let share = if system.cpus.is_empty() {
        everywhere.min(1.0)
    } else if all && fits {
        everywhere
    } else {
        // Who ran is known to the nanosecond, and where to a tick. An account of more than there
        // was has what somebody used before.
        everywhere.min(here(facts, &cpus, others)).min(1.0)
    };
    Ok(Foreign {
        share,
        cpus,
        who: others.top.clone(),
        whole,
        unseen,
        begun: others.begun,
        serving: Some(others.serving.as_s_f64() / whole),
    })
}

const UNREAD: &str = "CPU time of machine, server and generator over one window";

/// At most so much of `cpus` was used by neither side: what tasks used there by the CPUs' own
/// counters, and what these may have missed.
fn here(facts: &Facts<'_>, cpus: &[u32], others: &Others) -> f64 {
    let usage = &facts.trial.usage;
    let Some(system) = usage.system.as_ref() else {
        return 0.0;
    };
    let tasks: f64 = system
        .cpus
        .iter()
        .filter(|usage| cpus.contains(&usage.cpu))
        .map(|cpu| cpu.user + cpu.system)
        .sum();
    let count = number(cpus.len() as u64);
    let ours: f64 = sides(usage).sum();
    let serving = others.serving.as_s_f64() / others.window.as_s_f64().max(1e-9);
    ((tasks - ours - serving) / count).max(0.0) + system.tick_share()
}

/// What server and generator used, in CPU seconds per second.
fn sides(usage: &Usage) -> impl Iterator<Item = f64> {
    let sides = [&usage.server, &usage.generator];
    sides.into_iter().flatten().filter_map(cpus_used)
}

/// CPU seconds per second.
fn cpus_used(group: &GroupUsage) -> Option<f64> {
    Some(part(group.cpu?, group.window))
}

/// The same of trials that do not tell who ran: by ticks, of the whole machine, without a name.
fn by_ticks(facts: &Facts<'_>) -> Result<Foreign, Blind> {
    let usage = &facts.trial.usage;
    let used = |group: &Option<GroupUsage>| group.as_ref().and_then(cpus_used);
    let (Some(system), Some(server), Some(generator)) = (
        usage.system.as_ref(),
        used(&usage.server),
        used(&usage.generator),
    ) else {
        return Err(Blind::Unread(UNREAD));
    };
    if system.cpus.is_empty() {
        return Err(Blind::Unread(UNREAD));
    }
    if system.window < Span::from_s(1) {
        return Err(Blind::Coarse(
            "this trial has the CPU time of others only in ticks, too coarse for so short a window"
                .to_owned(),
        ));
    }
    let tasks: f64 = system.cpus.iter().map(|cpu| cpu.user + cpu.system).sum();
    let machine = number(system.cpus.len() as u64);
    Ok(Foreign {
        share: ((tasks - server - generator) / machine).max(0.0),
        cpus: Vec::new(),
        who: Vec::new(),
        whole: system.window.as_s_f64() * machine,
        unseen: Span::ZERO,
        begun: None,
        serving: None,
    })
}

/// How long the generator's thread that waited most was ready without a CPU.
pub(crate) struct Kept {
    pub(crate) worker: u32,
    /// Of its window, whoever ran meanwhile.
    pub(crate) share: f64,
    /// Of that, what others had: waiting for threads of one's own is no cause.
    pub(crate) by_others: f64,
}

impl Kept {
    pub(crate) fn say(&self, facts: &Facts<'_>) -> String {
        let who = foreign(facts).map(|foreign| foreign.told());
        let who = who.unwrap_or_default();
        let by = if who.is_empty() {
            String::new()
        } else {
            format!(" CPU time went to {}.", who.join(", "))
        };
        format!(
            "{} was ready to run but had no CPU for {} of the window.{by}",
            words::worker(self.worker, facts.record),
            words::share(self.share)
        )
    }
}

pub(crate) fn kept(facts: &Facts<'_>) -> Option<Kept> {
    let waits: Option<Vec<Kept>> = facts
        .record
        .workers
        .iter()
        .map(|worker| {
            // A thread that has no CPU notices late that its window ends, and waits until then.
            let window = worker.read_over.unwrap_or(worker.window);
            let share = part(worker.runqueue_wait?, window).min(1.0);
            let by_others = if shares_its_cpu(facts, worker.cpu) {
                0.0
            } else {
                share.min(taken_by_others(facts))
            };
            Some(Kept {
                worker: worker.index,
                share,
                by_others,
            })
        })
        .collect();
    let by_size = |one: &Kept, other: &Kept| {
        let key = |kept: &Kept| (kept.by_others, kept.share);
        key(one)
            .partial_cmp(&key(other))
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    waits.unwrap_or_default().into_iter().max_by(by_size)
}

/// Whether a worker that is bound to `cpu` may have waited there for the generator's other threads
/// or for the server. Without a CPU of its own it may.
fn shares_its_cpu(facts: &Facts<'_>, cpu: Option<u32>) -> bool {
    let Some(cpu) = cpu else {
        return true;
    };
    let bound_there = facts
        .record
        .workers
        .iter()
        .filter(|worker| worker.cpu == Some(cpu));
    let server_there = match (&facts.trial.context.shared_cpus, facts.server_cpus()) {
        (_, Some(cpus)) => cpus.contains(&cpu),
        (Some(shared), None) => shared.contains(&cpu),
        (None, None) => facts.is_local() == Some(true),
    };
    bound_there.count() > 1 || server_there
}

/// What others used, of one CPU, while they were watched: if they went on evenly, nobody can have
/// waited for them longer. Without their names a wait on a CPU of one's own is for them all the
/// same.
fn taken_by_others(facts: &Facts<'_>) -> f64 {
    let system = facts.trial.usage.system.as_ref();
    let Some(others) = system.and_then(|system| system.others.as_ref()) else {
        return f64::INFINITY;
    };
    part(
        others.cpu + others.unseen.unwrap_or(Span::ZERO),
        others.window,
    )
}

/// The CPUs of this machine that generator and server could use; none for all, where nobody knows
/// those of a server on this machine.
fn participants(facts: &Facts<'_>) -> Vec<u32> {
    if facts.server_cpus().is_none() && facts.is_local() == Some(true) {
        return Vec::new();
    }
    let mut cpus = match facts.is_asked_from_elsewhere() {
        false => facts.generator_cpus(),
        // They are those of other machines.
        true => Vec::new(),
    };
    cpus.extend(facts.server_cpus().unwrap_or_default());
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

#[cfg(test)]
mod tests;
