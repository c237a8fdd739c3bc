//! What a rule is, what it may read and what it may answer.

use std::collections::BTreeMap;

use model::finding::{Claim, Finding, Severity};
use model::{Record, Trial};
use serde_json::Value;

use crate::thresholds::Limit;

/// One rule of the catalogue.
pub struct Check {
    /// Its id: `GEN-01`.
    pub id: &'static str,
    /// Its name: `gen-thread-saturated`.
    pub name: &'static str,
    /// Claims that it can touch.
    pub claims: &'static [Claim],
    /// Whether a claim is at best `valid (partial)` while this rule cannot be evaluated.
    pub mandatory: bool,
    /// Where the rule comes from.
    pub source: &'static str,
    pub(crate) judge: fn(&Facts<'_>) -> Judgement,
}

/// What a rule answers.
pub(crate) enum Judgement {
    /// It read its facts and has nothing to say.
    Silent,
    /// It has nothing to do with this kind of trial.
    NotApplicable,
    /// It could not read its facts: what was missing.
    Unknown(String),
    /// It objects, or wants something on record.
    Found(Found),
}

impl Judgement {
    pub(crate) fn unknown(missing: impl Into<String>) -> Self {
        Self::Unknown(missing.into())
    }
}

/// What a rule found, before it is told apart by the claims that the trial makes.
pub(crate) struct Found {
    severity: BTreeMap<Claim, Severity>,
    evidence: BTreeMap<String, Value>,
    threshold: BTreeMap<String, Value>,
    say: String,
    fix: Vec<String>,
}

impl Found {
    pub(crate) fn new(severity: &[(Claim, Severity)], say: String) -> Self {
        Self {
            severity: severity.iter().copied().collect(),
            evidence: BTreeMap::new(),
            threshold: BTreeMap::new(),
            say,
            fix: Vec::new(),
        }
    }

    /// The same severity for each of `claims`.
    pub(crate) fn all(claims: &[Claim], severity: Severity, say: String) -> Self {
        let each: Vec<_> = claims.iter().map(|claim| (*claim, severity)).collect();
        Self::new(&each, say)
    }

    pub(crate) fn evidence(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn limit(mut self, limit: &Limit) -> Self {
        self.threshold
            .insert(limit.name.to_owned(), limit.as_value());
        self
    }

    pub(crate) fn fix(mut self, what: impl Into<String>) -> Self {
        self.fix.push(what.into());
        self
    }

    /// As a finding about the claims that were made; none if it touches none of them.
    pub(crate) fn about(self, check: &Check, made: &[Claim]) -> Option<Finding> {
        self.finding((check.id, check.name, check.source), made)
    }

    /// The same for a rule known by its id, its name and its source.
    pub(crate) fn finding(self, rule: (&str, &str, &str), made: &[Claim]) -> Option<Finding> {
        let (id, name, source) = rule;
        let severity: BTreeMap<_, _> = self
            .severity
            .into_iter()
            .filter(|(claim, _)| made.contains(claim))
            .collect();
        (!severity.is_empty()).then(|| Finding {
            rule: id.to_owned(),
            name: name.to_owned(),
            severity,
            evidence: self.evidence,
            threshold: self.threshold,
            say: self.say,
            fix: self.fix,
            source: source.to_owned(),
            waived: None,
        })
    }
}

impl From<Found> for Judgement {
    fn from(found: Found) -> Self {
        Self::Found(found)
    }
}

/// What a rule may read: the trial, and the other trials of its experiment where they are at hand.
pub(crate) struct Facts<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) record: &'a Record,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(trial: &'a Trial) -> Self {
        Self {
            trial,
            record: &trial.record,
        }
    }

    /// Whether arrivals are independent of completions.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.trial.plan.arrivals.rate().is_some()
    }

    /// Whether this measures the generator itself, against the null responder.
    pub(crate) fn is_ceiling(&self) -> bool {
        self.trial.point.as_ref().is_some_and(|point| point.ceiling)
    }

    /// The busy share of the busiest worker, its position among them first.
    pub(crate) fn busiest_worker(&self) -> Option<(u32, f64)> {
        self.record
            .workers
            .iter()
            .filter(|worker| !worker.window.is_zero())
            .map(|worker| {
                let share = worker.busy.as_s_f64() / worker.window.as_s_f64();
                (worker.index, share)
            })
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }
}
