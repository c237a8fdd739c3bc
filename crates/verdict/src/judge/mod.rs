//! Lets every rule have its say and puts their answers together, claim by claim.

mod agents;
mod causes;

use std::collections::BTreeMap;

use model::Trial;
use model::finding::{Claim, ClaimVerdict, Coverage, Finding, Severity, Status, Verdict};

use crate::check::{Check, Judge, Judgement};
use crate::checks;
use crate::set::{Entry, Peers, TrialSet};

pub(crate) use agents::judged;
pub(crate) use causes::is_disturbed;
pub use causes::{is_disturbance, is_spoilt};

/// The version of the rules: it changes with any rule or limit, and verdicts of one set compare.
pub const SET: &str = "29";

/// What one trial is worth, read alone.
pub fn judge(trial: &Trial) -> Verdict {
    verdict(&Peers::none(&Entry::of(trial)))
}

/// Says of the share of each agent what it is worth.
pub fn judge_shares(trial: &mut Trial) {
    let verdicts = judged(trial);
    for (share, (_, verdict)) in trial.agents.iter_mut().zip(verdicts) {
        share.verdict = verdict;
    }
}

/// What the trial of an entry is worth, with the shares of agents that made it.
pub(crate) fn verdict(peers: &Peers<'_>) -> Verdict {
    let whole = of_sum(peers);
    let entry = peers.entry;
    if entry.shares.is_empty() {
        return whole;
    }
    let answers = checks::ALL.iter().zip(&entry.answers);
    let heard = answers.filter_map(|(check, answer)| match answer {
        Some(Judgement::Found(_) | Judgement::Silent) => Some(check.id),
        _ => None,
    });
    agents::together(
        whole,
        &heard.collect(),
        &entry.shares,
        entry.is_machine_read,
    )
}

/// What each trial of an experiment is worth, with the rules that look across rounds and points.
/// Where they are too many to hold, [`TrialSet`] takes them one by one.
pub fn judge_set(trials: &[Trial]) -> Vec<Verdict> {
    let mut set = TrialSet::default();
    for trial in trials {
        set.add(trial);
    }
    set.verdicts()
}

/// Rules whose objection means that the generator set the rate.
const GENERATOR_LIMITS: [&str; 4] = ["GEN-01", "GEN-02", "GEN-04", "GEN-05"];

/// Whether the rate is a lower bound: the generator set it, and no other rule forbids it.
pub fn is_bound(verdict: &Verdict) -> bool {
    // Which of the two a trial claims depends on who set the rate.
    let claims = [Claim::Capacity, Claim::Latency];
    let load = claims.iter().find_map(|claim| verdict.claims.get(claim));
    let is_limit = |rule: &String| GENERATOR_LIMITS.contains(&rule.as_str());
    let stands = |worth: &ClaimVerdict| {
        worth.status != Status::Invalid || worth.because.iter().all(is_limit)
    };
    verdict.generator_limited && load.is_none_or(stands)
}

/// Whether `rule`, where it objects to the claim comparison, says that servers were not measured
/// alike. Too few rounds are no reason to think so: their ratio has no interval, and no answer.
pub fn is_about_likeness(rule: &str) -> bool {
    rule != "STA-02"
}

fn of_sum(peers: &Peers<'_>) -> Verdict {
    let entry = peers.entry;
    let made = &entry.claims;
    let mut tallied = Tallied::default();
    for (check, answer) in checks::ALL.iter().zip(&entry.answers) {
        let judgement = match (answer, &check.judge) {
            (Some(answer), _) => answer.clone(),
            (None, Judge::Across(judge)) if check.claims.iter().any(|c| made.contains(c)) => {
                judge(peers)
            }
            (None, _) => Judgement::NotApplicable,
        };
        let judgement = match judgement {
            _ if is_told_elsewhere(peers, check) => Judgement::Silent,
            Judgement::Found(found) if is_asked_for(entry, check.id) => {
                found.asked_for(ASKED_FOR).into()
            }
            judgement => judgement,
        };
        tallied.add(check, judgement, made);
    }
    tallied.carry_over(entry, made);
    let Tallied {
        mut findings,
        mut coverage,
        mandatory,
    } = tallied;
    coverage.explained = causes::explain(&mut findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.worst()));
    let claims: BTreeMap<Claim, ClaimVerdict> = made
        .iter()
        .map(|claim| (*claim, claim_verdict(*claim, &findings, &mandatory)))
        .collect();
    Verdict {
        set: SET.to_owned(),
        status: claims
            .values()
            .map(|claim| claim.status)
            .max()
            .unwrap_or_default(),
        headroom: entry.headroom,
        generator_limited: findings.iter().any(|finding| {
            finding.worst() == Severity::Invalid
                && GENERATOR_LIMITS.contains(&finding.rule.as_str())
        }),
        quantiles: entry.quantiles.clone(),
        claims,
        findings,
        coverage,
    }
}

/// Rules about what a server does when it has too much to do.
const OF_OVERLOAD: [&str; 9] = [
    "HTTP-01", "HTTP-09", "SRV-04", "SRV-07", "STA-14", "TCP-03", "TCP-04", "TCP-05", "TCP-07",
];

/// What such a rule says where the experiment asks for it.
const ASKED_FOR: &str = "The experiment asks what a server does under more load than it can take.";

/// Whether what `rule` finds is the result that the experiment asks for. Without a right answer
/// there is no result.
fn is_asked_for(entry: &Entry, rule: &str) -> bool {
    entry.overload && entry.responses > 0 && OF_OVERLOAD.contains(&rule)
}

/// Rules about the machine, which say the same of each trial on it.
const OF_THE_MACHINE: [&str; 2] = ["CPU-03", "LNK-02"];

/// Whether an earlier trial of the experiment tells already what this rule says of the machine.
fn is_told_elsewhere(peers: &Peers<'_>, check: &Check) -> bool {
    if !OF_THE_MACHINE.contains(&check.id) {
        return false;
    }
    let Some(point) = peers.entry.point.as_ref().filter(|point| !point.ceiling) else {
        return false;
    };
    let place = checks::ALL.iter().position(|one| one.id == check.id);
    let first = peers.entries().iter().find(|other| {
        let is_of_it = other
            .point
            .as_ref()
            .is_some_and(|other| !other.ceiling && other.id.execution == point.id.execution);
        let answer = place.and_then(|place| other.answers[place].as_ref());
        is_of_it && matches!(answer, Some(Judgement::Found(_)))
    });
    first.is_some_and(|first| !std::ptr::eq(first, peers.entry))
}

/// What the rules answered.
#[derive(Default)]
struct Tallied {
    findings: Vec<Finding>,
    coverage: Coverage,
    /// Mandatory rules that apply, and whether each could be evaluated.
    mandatory: Vec<(&'static Check, bool)>,
}

impl Tallied {
    /// Takes over what the doctor found before the trial, unless a rule that read the trial
    /// itself has spoken.
    fn carry_over(&mut self, entry: &Entry, made: &[Claim]) {
        for finding in &entry.doctor {
            if checks::ALL.iter().any(|check| check.id == finding.rule) {
                continue;
            }
            // The machine and the server were examined apart.
            let is_told = |told: &Finding| (&told.rule, &told.say) == (&finding.rule, &finding.say);
            if self.findings.iter().any(is_told) {
                continue;
            }
            let mut finding = finding.clone();
            finding.severity.retain(|claim, _| made.contains(claim));
            if is_asked_for(entry, &finding.rule) {
                let severities = finding.severity.values_mut();
                severities.for_each(|severity| *severity = Severity::Note);
                finding.say = format!("{} {ASKED_FOR}", finding.say);
            }
            if !finding.severity.is_empty() {
                self.findings.push(finding);
            }
        }
    }

    fn add(&mut self, check: &'static Check, judgement: Judgement, made: &[Claim]) {
        self.coverage.rules += 1;
        let evaluated = match judgement {
            Judgement::NotApplicable => {
                self.coverage.not_applicable += 1;
                return;
            }
            Judgement::CannotApply(why) => {
                self.coverage.not_applicable += 1;
                self.coverage.cannot_apply.insert(check.id.to_owned(), why);
                if check.mandatory {
                    self.mandatory.push((check, false));
                }
                return;
            }
            Judgement::Unknown(missing) => {
                self.coverage.unknown.insert(check.id.to_owned(), missing);
                false
            }
            Judgement::Silent => true,
            Judgement::Found(found) => {
                self.findings.extend(found.about(check, made));
                true
            }
        };
        self.coverage.evaluated += u32::from(evaluated);
        if check.mandatory {
            self.mandatory.push((check, evaluated));
        }
    }
}

fn claim_verdict(
    claim: Claim,
    findings: &[Finding],
    mandatory: &[(&'static Check, bool)],
) -> ClaimVerdict {
    let objections = |at_least: Severity| {
        findings
            .iter()
            .filter(move |finding| finding.severity.get(&claim) == Some(&at_least))
            .map(|finding| finding.rule.clone())
            .collect::<Vec<_>>()
    };
    let applicable = || {
        mandatory
            .iter()
            .filter(|(check, _)| check.claims.contains(&claim))
    };
    let unread = applicable().filter(|(_, evaluated)| !evaluated).count();
    let (status, because) = [
        (Status::Invalid, objections(Severity::Invalid)),
        (Status::Suspect, objections(Severity::Suspect)),
    ]
    .into_iter()
    .find(|(_, because)| !because.is_empty())
    .unwrap_or_else(|| {
        // With most of what must be known unread, silence of the rest says nothing.
        let blind = unread * 2 > applicable().count();
        let status = if blind {
            Status::Unknown
        } else {
            Status::Valid
        };
        (status, Vec::new())
    });
    ClaimVerdict {
        status,
        because,
        partial: unread > 0,
    }
}

#[cfg(test)]
mod tests;
