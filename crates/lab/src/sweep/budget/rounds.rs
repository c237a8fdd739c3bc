//! How many rounds the comparisons of an experiment need, and what fewer cannot tell.

use model::Experiment;
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

/// How many comparisons `experiment` has with `present` of its servers installed: one for each
/// workload and each server that it is asked of, but the reference.
pub(super) fn comparisons(experiment: &Experiment, present: &Present) -> usize {
    let servers = || experiment.servers().iter().enumerate();
    let servers = || servers().filter(|(index, _)| present.has(*index));
    let workloads = experiment.workloads().iter();
    let rivals = workloads.map(|workload| {
        let asked = servers().filter(|(_, server)| experiment.asks(workload, server.speech));
        asked.count().saturating_sub(1)
    });
    rivals.sum()
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
