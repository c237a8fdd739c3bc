//! What a rule is, what it may read and what it may answer.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use model::environment::PathEnd;
use model::experiment::{Network, Placement};
use model::finding::{Claim, Finding, Severity};
use model::point::{NETWORK, PLACEMENT};
use model::{Outcome, Record, Span, Trial};
use serde_json::Value;

use crate::cause::Blind;
use crate::set::Peers;
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
    pub(crate) judge: Judge,
}

/// How a rule judges.
pub(crate) enum Judge {
    /// By the trial alone.
    Alone(fn(&Facts<'_>) -> Judgement),
    /// By what a [`TrialSet`](crate::TrialSet) keeps of this trial and of the others.
    Across(fn(&Peers<'_>) -> Judgement),
}

/// What a rule answers.
#[derive(Clone, Debug)]
pub(crate) enum Judgement {
    /// It read its facts and has nothing to say.
    Silent,
    /// It has nothing to do with this kind of trial.
    NotApplicable,
    /// It has to do with this kind of trial, but this one gives too little to judge by: why.
    CannotApply(String),
    /// It could not read its facts: what was missing.
    Unknown(String),
    /// It objects, or wants something on record.
    Found(Found),
}

impl Judgement {
    pub(crate) fn unknown(missing: impl Into<String>) -> Self {
        Self::Unknown(missing.into())
    }

    /// Too few of so many rounds were left alone for a rule about rounds.
    pub(crate) fn too_disturbed(left: usize, rounds: usize) -> Self {
        Self::CannotApply(format!(
            "something else took the CPUs in {} of {rounds} rounds, and the other {left} are too \
             few to judge",
            rounds - left
        ))
    }
}

/// What a rule found, before it is told apart by the claims that the trial makes.
#[derive(Clone, Debug)]
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

    /// Noted only, for `reason`: it is what was asked for.
    pub(crate) fn asked_for(mut self, reason: &str) -> Self {
        for severity in self.severity.values_mut() {
            *severity = Severity::Note;
        }
        self.say = format!("{} {reason}", self.say);
        self
    }

    /// What it does to `claim`.
    pub(crate) fn severity_of(&self, claim: Claim) -> Option<Severity> {
        self.severity.get(&claim).copied()
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
        })
    }
}

impl From<Blind> for Judgement {
    fn from(blind: Blind) -> Self {
        match blind {
            Blind::Unread(missing) => Self::unknown(missing),
            Blind::Coarse(why) => Self::CannotApply(why),
        }
    }
}

impl From<Found> for Judgement {
    fn from(found: Found) -> Self {
        Self::Found(found)
    }
}

/// What a rule may read of a trial alone.
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

    /// Whether users come at a rate, each for one visit, however long others wait.
    pub(crate) fn do_users_come(&self) -> bool {
        self.trial.plan.do_users_come()
    }

    /// Whether this measures the generator itself, against the null responder.
    pub(crate) fn is_ceiling(&self) -> bool {
        self.trial.point.as_ref().is_some_and(|point| point.ceiling)
    }

    /// Whether the server runs on this machine; none where nothing tells.
    pub(crate) fn is_local(&self) -> Option<bool> {
        if self.trial.context.server.is_some() || self.is_loopback() == Some(true) {
            return Some(true);
        }
        None
    }

    /// Whether packets stay on this machine; none where no address is known.
    pub(crate) fn is_loopback(&self) -> Option<bool> {
        if self.trial.plan.unix_socket.is_some() {
            return Some(true);
        }
        // Packets to any address of this machine's own stay on it: the route tells.
        match self.path() {
            Some(path) => Some(path.is_loopback()),
            None => self.is_loopback_address(),
        }
    }

    /// Whether the address that answered is one of those that a machine has for itself alone; none
    /// where none is known.
    pub(crate) fn is_loopback_address(&self) -> Option<bool> {
        let reference = self.record.reference.as_ref();
        let answered = reference.and_then(|r| r.address.parse::<SocketAddr>().ok());
        let asked = self.trial.plan.addresses.first().copied();
        Some(answered.or(asked)?.ip().to_canonical().is_loopback())
    }

    /// This machine's end of the way between generator and server; none where nothing was read.
    pub(crate) fn path(&self) -> Option<&'a PathEnd> {
        self.trial.environment.path.as_ref()
    }

    /// Whether the load came from other machines: this one is that of the servers, if any.
    pub(crate) fn is_asked_from_elsewhere(&self) -> bool {
        !self.trial.agents.is_empty()
    }

    /// Whether the lab was to put virtual Ethernet devices between generator and server.
    pub(crate) fn is_over_veth(&self) -> bool {
        self.is_asked(NETWORK, Network::Veth.name())
    }

    /// Whether the experiment asks for a generator on the server's CPUs.
    pub(crate) fn is_sharing_asked(&self) -> bool {
        self.is_asked(PLACEMENT, Placement::Shared.name())
    }

    fn is_asked(&self, axis: &str, word: &str) -> bool {
        let value = self
            .trial
            .point
            .as_ref()
            .and_then(|point| point.id.value(axis));
        value.is_some_and(|value| value.to_string() == word)
    }

    /// How far a kernel counter of this machine went during the window; none if unreadable.
    pub(crate) fn counter(&self, name: &str) -> Option<u64> {
        let system = self.trial.usage.system.as_ref()?;
        system.counters.get(name).copied()
    }

    /// CPUs of the generator, as planned or as pinned.
    pub(crate) fn generator_cpus(&self) -> Vec<u32> {
        if !self.trial.plan.cpus.is_empty() {
            return self.trial.plan.cpus.clone();
        }
        let pinned: Vec<u32> = self.record.workers.iter().filter_map(|w| w.cpu).collect();
        if pinned.is_empty() {
            self.trial.environment.cpus_allowed.clone()
        } else {
            pinned
        }
    }

    /// CPUs that the server may use; none where that is not known.
    pub(crate) fn server_cpus(&self) -> Option<&'a [u32]> {
        let server = self.trial.context.server.as_ref()?;
        match &server.cpus_allowed {
            Some(cpus) if !cpus.is_empty() => Some(cpus),
            _ if !server.cpus.is_empty() => Some(&server.cpus),
            _ => None,
        }
    }

    /// The mean busy share of `cpus`, interrupts included; none if any is unreadable.
    pub(crate) fn busy_share(&self, cpus: &[u32]) -> Option<f64> {
        let system = self.trial.usage.system.as_ref()?;
        let busy: Option<Vec<f64>> = cpus
            .iter()
            .map(|cpu| system.cpus.iter().find(|usage| usage.cpu == *cpu))
            .map(|usage| usage.map(|usage| usage.busy))
            .collect();
        let busy = busy.filter(|busy| !busy.is_empty())?;
        Some(busy.iter().sum::<f64>() / number(busy.len() as u64))
    }

    /// Arrivals that the plan wanted in the window of an open loop: those that became due, or what
    /// rate and window make if that is more.
    pub(crate) fn intended(&self) -> f64 {
        let due = number(self.record.total.due);
        let plan = &self.trial.plan;
        // Where the rate changes, what a part of the window should have had is another number.
        let rate = plan.arrivals.rate().filter(|_| plan.stages.is_empty());
        let planned = rate.map_or(0.0, |rate| {
            rate.as_per_second_f64() * self.record.window.as_s_f64()
        });
        // Poisson arrivals come in numbers that vary by their root.
        due.max(planned - 3.0 * planned.sqrt())
    }

    /// Exchanges that ended in the window in any way but given up by us.
    pub(crate) fn ended(&self) -> u64 {
        let outcomes = &self.record.total.outcomes;
        outcomes.total() - outcomes[Outcome::Shed] - outcomes[Outcome::Unfinished]
    }
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// `part` in terms of `whole`; zero where there is no whole.
pub(crate) fn part(part: Span, whole: Span) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    part.as_s_f64() / whole.as_s_f64()
}
