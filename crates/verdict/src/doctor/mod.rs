//! What is wrong with a machine before anyone believes a number: the rules that need no trial.
//!
//! Each reads a [`Condition`] and says what was read, why it matters for a benchmark, what mends
//! it and how to undo that. It changes nothing. Rules that need a trial are not here; they are
//! named with the command that runs one.

mod clocks;
mod firewall;
mod generator;
mod host;
mod server;
mod sockets;

use std::collections::BTreeMap;

use model::condition::{Condition, Remedy};
use model::finding::{Claim, Finding, Severity};
use serde::Serialize;

use crate::check::Found;

/// One rule that needs no trial.
pub struct Rule {
    /// Its id in the catalogue: `TCP-09`.
    pub id: &'static str,
    /// Its name: `tcp-mem-unit`.
    pub name: &'static str,
    /// What it reads, in words.
    pub reads: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    pub(crate) examine: fn(&Condition) -> Answer,
}

/// What a rule answers.
pub(crate) enum Answer {
    /// Nothing to object to.
    Silent,
    /// It has nothing to do with this machine or with what was asked.
    NotApplicable,
    /// It could not read its facts: what was missing.
    Unknown(String),
    /// It objects, and knows what to do about it.
    Found(Found, Vec<Remedy>),
}

impl Answer {
    fn unknown(missing: impl Into<String>) -> Self {
        Self::Unknown(missing.into())
    }
}

impl From<Found> for Answer {
    fn from(found: Found) -> Self {
        Self::Found(found, Vec::new())
    }
}

/// A finding with what mends it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
    /// What was read.
    pub reads: String,
    /// Commands that mend it, each with its undo.
    pub remedies: Vec<Remedy>,
}

/// All that the doctor has to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examination {
    /// What was found, the worst first.
    pub diagnoses: Vec<Diagnosis>,
    /// Rules that read their facts and had nothing to object to.
    pub silent: Vec<String>,
    /// Rules that could not read their facts, each with what was missing.
    pub unknown: BTreeMap<String, String>,
    /// Rules that do not apply, because no server was asked about or the machine has no such part.
    pub not_applicable: Vec<String>,
    /// Rules that need a trial: the doctor does not know.
    pub need_a_trial: Vec<String>,
}

impl Examination {
    /// The findings alone, as they are stored with a trial.
    pub fn findings(&self) -> Vec<Finding> {
        self.diagnoses
            .iter()
            .map(|diagnosis| diagnosis.finding.clone())
            .collect()
    }

    /// The worst of all findings.
    pub fn worst(&self) -> Option<Severity> {
        self.diagnoses
            .iter()
            .map(|diagnosis| diagnosis.finding.worst())
            .max()
    }
}

/// Every rule that needs no trial, in the order of the catalogue.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        generator::RULES,
        sockets::RULES,
        firewall::RULES,
        host::RULES,
        server::RULES,
    ]
    .into_iter()
    .flatten()
}

/// Examines a machine.
pub fn examine(condition: &Condition) -> Examination {
    let mut examination = answers(rules(), condition);
    let examined: Vec<&str> = rules().map(|rule| rule.id).collect();
    examination.need_a_trial = crate::rules()
        .iter()
        .map(|check| check.id.to_owned())
        .filter(|id| !examined.contains(&id.as_str()))
        .collect();
    examination
}

/// Rules of the catalogue's first tier that nothing answers so far, each with what is missing.
#[cfg(test)]
const NOT_YET: &[(&str, &str)] = &[
    (
        "HTTP-04",
        "a trial does not keep what the kernel received on each connection (tcp_info)",
    ),
    (
        "STA-04",
        "a trial does not keep its warm-up interval by interval",
    ),
    (
        "STA-08",
        "an experiment cannot name a server as its own control",
    ),
];

/// Examines the server alone, for whoever has let the machine be examined already.
pub fn examine_server(condition: &Condition) -> Examination {
    answers(server::RULES.iter(), condition)
}

fn answers(rules: impl Iterator<Item = &'static Rule>, condition: &Condition) -> Examination {
    let mut examination = Examination::default();
    for rule in rules {
        let id = rule.id.to_owned();
        match (rule.examine)(condition) {
            Answer::Silent => examination.silent.push(id),
            Answer::NotApplicable => examination.not_applicable.push(id),
            Answer::Unknown(missing) => drop(examination.unknown.insert(id, missing)),
            Answer::Found(mut found, remedies) => {
                for remedy in &remedies {
                    found = found.fix(remedy.apply.clone());
                }
                let named = (rule.id, rule.name, rule.source);
                if let Some(finding) = found.finding(named, &Claim::ALL) {
                    let reads = rule.reads.to_owned();
                    examination.diagnoses.push(Diagnosis {
                        finding,
                        reads,
                        remedies,
                    });
                }
            }
        }
    }
    examination
        .diagnoses
        .sort_by_key(|one| std::cmp::Reverse(one.finding.worst()));
    examination
}

/// A remedy that writes a kernel setting, undone by writing back what is there now.
fn sysctl(condition: &Condition, key: &str, value: &str) -> Remedy {
    let undo = condition.environment.setting(key);
    Remedy {
        apply: format!("sysctl -w {key}='{value}'"),
        undo: undo.map(|now| format!("sysctl -w {key}='{now}'")),
    }
}

/// A kernel setting as whole numbers.
fn numbers(condition: &Condition, key: &str) -> Option<Vec<u64>> {
    let text = condition.environment.setting(key)?;
    text.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

/// A kernel setting that is one whole number.
fn number(condition: &Condition, key: &str) -> Option<u64> {
    match numbers(condition, key)?.as_slice() {
        [number] => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
