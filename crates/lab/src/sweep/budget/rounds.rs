//! How many rounds the comparisons of an experiment need, and what fewer cannot tell.

use model::Experiment;
use model::experiment::Workload;
use verdict::words;

use super::Present;

/// The fewest rounds that can answer so many comparisons, and have an interval in any case.
pub fn rounds_needed(comparisons: usize) -> u32 {
    let rounds = verdict::pairs::rounds_needed(comparisons, verdict::pairs::ALPHA);
    u32::try_from(rounds).expect("the logarithm of a count is small")
}

/// The fewest rounds to which `experiment` can be cut with `present` of its servers installed: as
/// many as its comparisons need, or all where it has fewer.
pub fn rounds_least(experiment: &Experiment, present: &Present) -> u32 {
    rounds_needed(comparisons(experiment, present)).min(experiment.rounds())
}

/// The fewest rounds that a budget leaves as long as there is something else to leave out: as many
/// as the comparisons need, and as many as it takes to rank the servers of each workload.
pub(super) fn rounds_to_rank(experiment: &Experiment, present: &Present) -> u32 {
    let workloads = experiment.workloads().iter();
    let pairs = workloads.map(|workload| {
        let asked = asked(experiment, present, workload);
        verdict::pairs::ranked_pairs(asked)
    });
    let needed = rounds_needed(pairs.max().unwrap_or(0));
    needed.max(rounds_needed(comparisons(experiment, present)))
}

/// How many comparisons `experiment` has with `present` of its servers installed: one for each
/// workload and each server that it is asked of, but the reference.
pub(super) fn comparisons(experiment: &Experiment, present: &Present) -> usize {
    let workloads = experiment.workloads().iter();
    let rivals = workloads.map(|one| asked(experiment, present, one).saturating_sub(1));
    rivals.sum()
}

/// Of how many servers `workload` is asked.
fn asked(experiment: &Experiment, present: &Present, workload: &Workload) -> usize {
    let servers = experiment.servers().iter().enumerate();
    let present = servers.filter(|(index, _)| present.has(*index));
    let asked = present.filter(|(_, server)| experiment.asks(workload, server.speech));
    asked.count()
}

/// What the rounds of `experiment` cannot tell with `present` of its servers installed, a sentence;
/// none where there are enough.
pub fn untold(experiment: &Experiment, present: &Present) -> Option<String> {
    let rounds = experiment.rounds();
    let comparisons = comparisons(experiment, present);
    let needed = rounds_needed(comparisons);
    if rounds >= needed {
        return None;
    }
    let shown = words::plural(u64::from(rounds), "round");
    let least = rounds_needed(0);
    let interval = if rounds < least {
        format!("there are no 95 % intervals below {least}")
    } else {
        "there are intervals".to_owned()
    };
    let answer = match comparisons {
        0 => String::new(),
        1 => format!(", and 1 comparison of servers has an answer from {needed} on"),
        _ => format!(", and {comparisons} comparisons of servers have answers from {needed} on"),
    };
    Some(format!(
        "{shown} cannot tell which server is faster: {interval}{answer}"
    ))
}
