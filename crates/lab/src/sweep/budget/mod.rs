//! What an experiment costs in time, and how it is made to fit: points first, then the windows and,
//! as far as the experiment allows, the warm-up with them, then rounds, never below the number that
//! its comparisons need. Where all of that is not enough, what has the least priority is left out,
//! as long as there is some also for the rounds that ranks need. What was scaled is told.

mod present;
mod rounds;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::{
    Counts, LeftOut, OneOrMany, RELOAD_WINDOW_MIN, RateText, ServerVariant, Why,
};
use model::plan::Protocol;
use model::{Experiment, ExperimentFile, Span};
use verdict::words;

use super::{Racer, Slot, schedule, spread};

pub use self::present::Present;
use self::rounds::{comparisons, rounds_to_rank};
pub use self::rounds::{rounds_least, rounds_needed, untold};
use self::work::{START, starts};
pub(crate) use self::work::{Work, block_work, restart, start_time};

/// A shorter window holds too few of a server's own periods to be worth a trial, whatever else the
/// experiment says.
const DURATION_MIN: Span = Span::from_ms(200);
/// Fewer points on an axis are no curve.
const POINTS_MIN: usize = 3;

/// What an experiment costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cost {
    /// Trials, ceilings included.
    pub trials: u32,
    /// Those of them that measure the ceiling.
    pub ceilings: u32,
    /// Starts of servers.
    pub starts: u32,
    /// All of it together.
    pub time: Span,
}

impl Cost {
    /// Of `experiment` with `present` of its servers installed, if no trial is void.
    pub fn of(experiment: &Experiment, present: &Present, at_once: u32) -> Self {
        let is_present = |racer: Racer| racer.is_there(experiment, &|index| present.has(index));
        let one = changed(experiment, |file| file.experiment.rounds = 1);
        // The seed moves trials, and none of them away.
        let cost = Self::of_those(&one, present, (0, at_once), &|slot| is_present(slot.racer));
        let rounds = experiment.rounds();
        Self {
            trials: cost.trials * rounds,
            ceilings: cost.ceilings * rounds,
            starts: cost.starts * rounds,
            time: cost.time * u64::from(rounds),
        }
    }

    /// Of those trials of `experiment`, in the order of `seed`, that are open, if none is void.
    pub fn of_those(
        experiment: &Experiment,
        present: &Present,
        (seed, at_once): (u64, u32),
        is_open: &dyn Fn(&Slot) -> bool,
    ) -> Self {
        let start = |racer| present.start_time(experiment, racer);
        let mut cost = Self {
            trials: 0,
            ceilings: 0,
            starts: 0,
            time: Span::ZERO,
        };
        let rounds = schedule(experiment, seed, at_once);
        for block in rounds.iter().flat_map(|round| &round.blocks) {
            let slots = || block.slots.iter().filter(|slot| is_open(slot));
            let is_ceiling = |slot: &&Slot| matches!(slot.racer, Racer::Ceiling { .. });
            cost.trials += count(slots().count());
            cost.ceilings += count(slots().filter(is_ceiling).count());
            cost.starts += count(starts(experiment, block, is_open).len());
            let work = block_work(experiment, block, is_open, &start, &BTreeSet::new());
            cost.time += work.time();
        }
        cost
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// An experiment that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// It, with what was changed changed.
    pub experiment: Experiment,
    /// What was changed, a sentence each.
    pub said: Vec<String>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
    /// Whether it fits; if not, this is its smallest form.
    pub fits: bool,
    /// What it takes, the checks before the first trial included.
    pub takes: Span,
}

/// What of a budget is planned. The rest is for what is spoilt and measured again, and for what
/// takes longer than reckoned.
pub(crate) fn plannable(budget: Span) -> Span {
    budget - budget / 8
}

/// What it takes to start and ask each server, and each ceiling, before anything is measured.
fn checks(experiment: &Experiment, present: &Present) -> Span {
    let ceilings = super::ceilings(experiment, &|index| present.has(index));
    let all = present.indices().map(Racer::Server).chain(ceilings);
    all.map(|racer| present.bare_start(racer).unwrap_or(START))
        .sum()
}

/// Makes `experiment` take at most `budget` with `present` of its servers installed.
pub fn scale(experiment: &Experiment, present: &Present, at_once: u32, budget: Span) -> Scaled {
    // Whoever is left out moves the others.
    let label = |index: usize| experiment.servers()[index].label.as_str();
    let labels: BTreeSet<&str> = present.indices().map(label).collect();
    let present_of = |candidate: &Experiment| -> Present {
        let servers = candidate.servers().iter().enumerate();
        let by_label: BTreeMap<&str, usize> = servers
            .map(|(index, server)| (server.label.as_str(), index))
            .collect();
        present.renumbered(&|index| by_label.get(label(index)).copied())
    };
    let takes = |candidate: &Experiment| {
        let present = present_of(candidate);
        Cost::of(candidate, &present, at_once).time + checks(candidate, &present)
    };
    let fits = |candidate: &Experiment| takes(candidate) <= plannable(budget);
    let mut said = Vec::new();
    let mut left_out = Vec::new();
    let mut note = |before: &Experiment, after: &Experiment, priority: Option<u32>| {
        let time = budget;
        let why = Why::Budget { time, priority };
        left_out.extend(super::left_out(before, after, why));
    };
    let least_rounds =
        |candidate: &Experiment| rounds_needed(comparisons(candidate, &present_of(candidate)));
    let to_rank = |candidate: &Experiment| rounds_to_rank(candidate, &present_of(candidate));
    // Where ranks are beyond what the budget has, nothing is left out for them.
    let steps = left_out_until(experiment, &labels, &|candidate| {
        fits(&smallest(candidate, to_rank(candidate)))
    });
    let steps = steps.or_else(|_| {
        left_out_until(experiment, &labels, &|candidate| {
            fits(&smallest(candidate, least_rounds(candidate)))
        })
    });
    let (Ok(steps) | Err(steps)) = steps;
    let mut current = experiment.clone();
    for (fewer, priority) in steps {
        said.push(tell_names(&current, &fewer, &labels, priority));
        note(&current, &fewer, Some(priority));
        current = fewer;
    }
    if !fits(&current) {
        let fewer = thin_points(&current, &fits);
        note(&current, &fewer, None);
        current = fewer;
        tell_points(experiment, &current, &mut said);
    }
    if !fits(&current) {
        let shorter = shorten(&current, &fits);
        tell_times(&current, &shorter, &mut said);
        current = shorter;
    }
    let least = least_rounds(&current);
    if !fits(&current) && current.rounds() > least {
        let before = current.rounds();
        let rounds = (least..before)
            .rev()
            .find(|&rounds| fits(&changed(&current, |file| file.experiment.rounds = rounds)))
            .unwrap_or(least);
        current = changed(&current, |file| file.experiment.rounds = rounds);
        said.push(format!("{rounds} rounds instead of {before}"));
    }
    Scaled {
        fits: takes(&current) <= budget,
        takes: takes(&current),
        experiment: current,
        said,
        left_out,
    }
}

/// An experiment with the priority of what it is without.
type Step = (Experiment, u32);

/// `experiment` with one server or workload after the other left out until it is `enough`; an error
/// with all steps where it never is.
fn left_out_until(
    experiment: &Experiment,
    present: &BTreeSet<&str>,
    enough: &dyn Fn(&Experiment) -> bool,
) -> Result<Vec<Step>, Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let current = steps.last().map_or(experiment, |(fewer, _)| fewer);
        if enough(current) {
            return Ok(steps);
        }
        let Some(step) = without_the_least(current, present) else {
            return Err(steps);
        };
        steps.push(step);
    }
}

/// The sentence that tells which of the servers that are present, and which workloads, are in
/// `before` alone.
fn tell_names(
    before: &Experiment,
    after: &Experiment,
    present: &BTreeSet<&str>,
    priority: u32,
) -> String {
    let names = |experiment: &Experiment| -> BTreeSet<String> {
        let servers = experiment.servers().iter();
        let servers = servers.filter(|server| present.contains(server.label.as_str()));
        // Who is asked in a protocol of a workload's own comes and goes with who is not.
        let is_told = |server: &&ServerVariant| {
            let mut others = experiment.servers().iter();
            let alike =
                |other: &ServerVariant| other.name == server.name && !experiment.is_own(other);
            !experiment.is_own(server) || !others.any(alike)
        };
        let servers = servers.filter(is_told);
        let workloads = experiment.workloads().iter().map(|one| one.name.clone());
        servers
            .map(|one| one.label.clone())
            .chain(workloads)
            .collect()
    };
    let gone: Vec<String> = (&names(before) - &names(after)).into_iter().collect();
    format!("{} left out (priority {priority})", words::list(&gone))
}

/// `experiment` without the server or workload that is missed least, and its priority: that of the
/// largest number, and of these the last of the file; none where all have priority 1. Servers that
/// are not here cost nothing, and stay as rows.
fn without_the_least(experiment: &Experiment, present: &BTreeSet<&str>) -> Option<Step> {
    let file = experiment.file();
    let is_present = |index: usize| {
        let without = |file: &mut ExperimentFile| drop(file.server.remove(index));
        let Some(rest) = try_changed(experiment, without) else {
            return false;
        };
        let labels = |of: &Experiment| -> BTreeSet<String> {
            of.servers()
                .iter()
                .map(|server| server.label.clone())
                .collect()
        };
        let mut gone = labels(experiment)
            .difference(&labels(&rest))
            .cloned()
            .collect::<Vec<_>>();
        gone.retain(|label| present.contains(label.as_str()));
        !gone.is_empty()
    };
    let servers = file.server.iter().enumerate();
    let servers = servers
        .map(|(index, server)| (server.priority.unwrap_or(1), false, index))
        .filter(|(priority, _, index)| *priority > 1 && is_present(*index));
    let workloads = file.workload.iter().enumerate();
    let workloads = workloads
        .map(|(index, workload)| (workload.priority.unwrap_or(1), true, index))
        .filter(|(priority, ..)| *priority > 1);
    // Workloads stand behind servers, so they are the last of a file.
    let (priority, is_workload, index) = servers.chain(workloads).max()?;
    let fewer = try_changed(experiment, |file| {
        if is_workload {
            file.workload.remove(index);
            leave_out_what_was_for(file);
        } else {
            file.server.remove(index);
        }
    });
    fewer.map(|fewer| (fewer, priority))
}

/// Leaves out what only protocols have that nothing is asked in any more.
fn leave_out_what_was_for(file: &mut ExperimentFile) {
    let protocols = file.protocols();
    if !protocols.iter().any(|one| one.is_secure()) {
        file.tls = None;
    }
    if protocols.iter().all(|one| one.http() == Protocol::Http1) {
        file.load.streams = 1;
    }
}

/// The form of `experiment` that takes the least time of those that still answer it.
fn smallest(experiment: &Experiment, least_rounds: u32) -> Experiment {
    let least = thin_points(experiment, &|_| false);
    let shortest = with_window(&least, shortest_window(&least));
    changed(&shortest, |file| {
        file.experiment.rounds = file.experiment.rounds.min(least_rounds);
    })
}

/// One point less on the longer axis, until it fits or only the shortest curves are left. Its ends
/// stay, and the connections at which an earlier study has a figure or its readers ask for one.
fn thin_points(experiment: &Experiment, fits: &impl Fn(&Experiment) -> bool) -> Experiment {
    let mut current = experiment.clone();
    loop {
        let connections = current.connections().len();
        let rates = current.rates().len();
        if fits(&current) || connections.max(rates) <= POINTS_MIN {
            return current;
        }
        current = if connections >= rates {
            let named = named_connections(experiment.file());
            let fewer = spread_over(experiment.connections(), connections - 1, &named);
            changed(&current, |file| file.load.connections = Counts::List(fewer))
        } else {
            let fewer = spread(experiment.rates(), rates - 1);
            changed(&current, |file| {
                file.load.rate = Some(OneOrMany::Many(fewer.into_iter().map(RateText).collect()));
            })
        };
    }
}

/// The connections that figures of earlier studies and demands of their readers name.
fn named_connections(file: &ExperimentFile) -> BTreeSet<u32> {
    let published = file.published.iter().filter_map(|one| one.connections);
    let asked = file.asked.iter();
    let asked = asked.flat_map(|one| [one.connections, one.against_connections]);
    published.chain(asked.flatten()).collect()
}

/// At most `count` of `values`, evenly spread, both ends included; the points that are `named` take
/// the places of those next to them.
fn spread_over(values: &[u32], count: usize, named: &BTreeSet<u32>) -> Vec<u32> {
    let mut kept = spread(values, count);
    for &value in named.iter().filter(|value| values.contains(value)) {
        if kept.contains(&value) {
            continue;
        }
        let inner = 1..kept.len().saturating_sub(1);
        let free = inner.filter(|&place| !named.contains(&kept[place]));
        if let Some(place) = free.min_by_key(|&place| kept[place].abs_diff(value)) {
            kept[place] = value;
        }
    }
    kept.sort_unstable();
    kept
}

fn tell_points(before: &Experiment, after: &Experiment, said: &mut Vec<String>) {
    for (what, asked, left) in [
        (
            "connections",
            before.connections().len(),
            after.connections().len(),
        ),
        ("rates", before.rates().len(), after.rates().len()),
    ] {
        if left < asked {
            said.push(format!("{left} of {asked} points on the axis of {what}"));
        }
    }
}

fn tell_times(before: &Experiment, after: &Experiment, said: &mut Vec<String>) {
    let ramp = |of: &Experiment| of.users().ramp();
    for (what, was, now) in [
        ("each window lasts", before.duration(), after.duration()),
        ("servers warm up for", before.warmup(), after.warmup()),
        ("users begin within", ramp(before), ramp(after)),
    ] {
        if now != was {
            said.push(format!("{what} {now} instead of {was}"));
        }
    }
}

/// The shortest window that `experiment` may have.
fn shortest_window(experiment: &Experiment) -> Span {
    let header = &experiment.file().experiment;
    let least = header.duration_min.unwrap_or(DURATION_MIN);
    let reload = if header.reload {
        RELOAD_WINDOW_MIN
    } else {
        Span::ZERO
    };
    least.max(reload).min(experiment.duration())
}

/// `experiment` with shorter windows, and with a warm-up that is shorter by the same factor, but no
/// shorter than the experiment allows. The shortest window has the shortest warm-up.
fn with_window(experiment: &Experiment, window: Span) -> Experiment {
    let shortest = shortest_window(experiment);
    changed(experiment, |file| {
        let header = &mut file.experiment;
        let least = header
            .warmup_min
            .unwrap_or(header.warmup)
            .min(header.warmup);
        let (whole, rest) = (header.duration.as_ns(), window.as_ns());
        let part = |of: Span| {
            let part = u128::from(of.as_ns()) * u128::from(rest) / u128::from(whole.max(1));
            Span::from_ms(u64::try_from(part / 1_000_000).unwrap_or(u64::MAX))
        };
        header.warmup = if window <= shortest {
            least
        } else {
            part(header.warmup).clamp(least, header.warmup)
        };
        header.duration = window;
        file.load.ramp = file.load.ramp.map(part);
    })
}

/// The longest window of whole milliseconds that fits, at least the shortest honest one.
fn shorten(experiment: &Experiment, fits: &impl Fn(&Experiment) -> bool) -> Experiment {
    let with = |ms: u64| with_window(experiment, Span::from_ms(ms));
    let ms = |span: Span| span.as_ns() / 1_000_000;
    let (mut low, mut high) = (ms(shortest_window(experiment)), ms(experiment.duration()));
    if low >= high {
        return with_window(experiment, experiment.duration());
    }
    // `low` is always taken, fitting or not: it is the smallest form.
    while low + 1 < high {
        let middle = low.midpoint(high);
        if fits(&with(middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    with(low)
}

fn changed(experiment: &Experiment, change: impl FnOnce(&mut ExperimentFile)) -> Experiment {
    try_changed(experiment, change).expect("fewer points of a right experiment are right")
}

/// None where nothing would be left, or not the one with whom the others are compared.
fn try_changed(
    experiment: &Experiment,
    change: impl FnOnce(&mut ExperimentFile),
) -> Option<Experiment> {
    let mut file = experiment.file().clone();
    change(&mut file);
    Experiment::try_from(file).ok()
}

#[cfg(test)]
mod tests;
