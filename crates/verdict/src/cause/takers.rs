//! Who took the CPUs of a void trial, by name: what a report says before anything else.

use std::collections::BTreeMap;

use model::usage::{Others, Spender};
use model::{Span, Trial};

use super::BEGUN_MANY;
use crate::thresholds::VOID_STEAL;
use crate::words;

/// Whoever used less than the foremost divided by this was there, and spoilt nothing.
const WORTH_A_NAME: u64 = 10;

/// Who took the CPUs of `trial`, with the CPU time of each, as far as that is known; empty where
/// the trial is not void.
pub fn takers(trial: &Trial) -> Vec<(String, Span)> {
    let Some(cause) = &trial.void else {
        return Vec::new();
    };
    if cause.rule == VOID_STEAL.rule {
        return vec![("the hypervisor (for other machines)".to_owned(), Span::ZERO)];
    }
    let mut takers: BTreeMap<String, Span> = BTreeMap::new();
    for who in &cause.who {
        *takers.entry(words::spender_name(who)).or_default() += who.cpu;
    }
    let system = trial.usage.system.as_ref();
    let others = system.and_then(|system| system.others.as_ref());
    if let Some(others) = others {
        let unseen = others.unseen.filter(|unseen| !unseen.is_zero());
        takers.extend(unseen.map(|unseen| (unseen_name(others).to_owned(), unseen)));
    }
    let most = takers.values().max().copied().unwrap_or_default();
    if let Some(others) = others.filter(|_| !most.is_zero()) {
        takers.extend(others.serving_top.iter().filter_map(at_work_beside));
    }
    takers.retain(|_, cpu| *cpu * WORTH_A_NAME >= most);
    if takers.is_empty() {
        takers.insert("an unknown program".to_owned(), Span::ZERO);
    }
    takers.into_iter().collect()
}

/// Threads of the kernel that work for whoever asks, in a trial that is void for others: what they
/// do there, they do for these. `ksoftirqd` is none of them: it has the load's own packets.
fn at_work_beside(thread: &Spender) -> Option<(String, Span)> {
    // Earlier versions stored the name without brackets.
    let name = thread.name.trim_start_matches('[').trim_end_matches(']');
    (name == "kworker").then(|| (format!("[{name}]"), thread.cpu))
}

/// Those whom no look saw and no parent accounts for.
fn unseen_name(others: &Others) -> &'static str {
    match others.begun.is_some_and(|begun| begun >= BEGUN_MANY) {
        true => "short-lived or hidden processes",
        false => "hidden processes",
    }
}
