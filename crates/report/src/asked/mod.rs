//! What the readers of an earlier study asked, each with its answer: a number and its trials, or
//! why there is none. Pages and texts render what this finds.

mod select;
mod why;

use model::experiment::{Demand, Published, Shown};
use model::{Severity, Status};
use verdict::analysis::{Standing, UNANSWERED};
use verdict::words;

use crate::digests::{Cell, Digest, Heard, Run};
use select::{number_of, ratio_of};
use why::HERE;
pub(crate) use why::Why;

/// A demand with its answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Who asked.
    pub who: String,
    /// What.
    pub demand: String,
    /// What is known.
    pub told: Told,
}

/// What is known of a demand.
#[derive(Clone, Debug)]
pub enum Told {
    /// A number.
    Number(Number),
    /// Why there is none.
    Not(String),
}

/// A number that answers, with all that says what it is worth.
#[derive(Clone, Debug)]
pub struct Number {
    /// With its unit.
    pub value: String,
    /// Its interval with its unit; none below six rounds.
    pub interval: Option<String>,
    /// Of what, and where.
    pub place: String,
    /// How far it may be believed.
    pub standing: Standing,
    /// What the trials that it rests on are worth; none of a count of trials.
    pub status: Option<Status>,
    /// What it says.
    pub means: Option<String>,
    /// Its trials by their places in the order of execution.
    pub trials: Vec<u32>,
    /// The stored results of probes that it rests on, by their labels.
    pub probes: Vec<String>,
    /// Its value in each round that counts; none of a count of trials.
    pub rounds: Vec<f64>,
    /// Whether it is a ratio of two numbers of the same rounds.
    pub is_ratio: bool,
    /// Whether the true value is at least or at most this.
    pub is_bound: bool,
    /// Whether requests without an answer count in it as if they had waited longer than all others.
    pub counts_unanswered: bool,
}

/// The answers, in the order of the demands.
pub fn answers(run: &Run) -> Vec<Answer> {
    let answer = |demand: &Demand| Answer {
        who: demand.who.clone(),
        demand: demand.demand.clone(),
        told: told(run, demand),
    };
    run.asked.iter().map(answer).collect()
}

/// The point of `run` that a published figure belongs beside.
pub(crate) fn beside<'r>(run: &'r Run, figure: &Published) -> Option<Cell<'r>> {
    select::beside(run, figure)
}

/// A number of a point, and its value; or why there is none.
pub(crate) fn number_at(cell: &Cell<'_>, shown: Shown) -> Result<(Number, f64), String> {
    select::number_at(cell, shown).map_err(|why| why.text(HERE))
}

/// A value of a figure, whose times are in seconds, in the unit in which numbers are kept.
pub(crate) fn in_its_unit(shown: Shown, value: f64) -> f64 {
    select::in_its_unit(shown, value)
}

/// A value that is kept in that unit, as people read it.
pub(crate) fn with_unit(shown: Shown, value: f64) -> String {
    select::with_unit(shown, value)
}

/// What a page says whose questions and figures are not those of the record, but of `file`.
pub fn of_a_later_file(file: &str) -> String {
    format!(
        "The questions that this page answers, and the figures of earlier studies, are those of \
         {file}, a later file than the record: what they name and this run did not measure has \
         no number here."
    )
}

/// So many could be answered by a number, of so many.
pub fn answered(answers: &[Answer]) -> String {
    let count = |is_struck: bool| {
        let is_it = |answer: &&Answer| match &answer.told {
            Told::Number(number) => (number.standing == Standing::Struck) == is_struck,
            Told::Not(_) => false,
        };
        answers.iter().filter(is_it).count() as u64
    };
    let all = words::plural(answers.len() as u64, "demand");
    let invalid = match count(true) {
        0 => String::new(),
        1 => "; 1 more has only an invalid number, which answers nothing".to_owned(),
        many => format!(
            "; {} more have only invalid numbers, which answer nothing",
            words::count(many)
        ),
    };
    format!(
        "{} of {all} answered by a number of this run{invalid}.",
        words::count(count(false))
    )
}

/// What must be known of these answers, where some count requests that had no answer.
pub(crate) fn convention(answers: &[Answer]) -> Option<&'static str> {
    let counts = |answer: &Answer| match &answer.told {
        Told::Number(number) => number.counts_unanswered,
        Told::Not(_) => false,
    };
    answers.iter().any(counts).then_some(UNANSWERED)
}

/// What the numbers of these answers rest on, as the head of a column.
pub(crate) fn rest_on(answers: &[Answer]) -> &'static str {
    let is_of_probes = |answer: &Answer| match &answer.told {
        Told::Number(number) => !number.probes.is_empty(),
        Told::Not(_) => false,
    };
    match answers.iter().any(is_of_probes) {
        true => "probes",
        false => "trials",
    }
}

/// What a run says of a demand, on its own page.
pub(crate) fn told(run: &Run, demand: &Demand) -> Told {
    match number(run, demand) {
        Ok(number) => Told::Number(number),
        Err(why) => Told::Not(why.text(HERE)),
    }
}

/// The number that answers a demand, or why there is none.
pub(crate) fn number(run: &Run, demand: &Demand) -> Result<Number, Why> {
    if let Some(reason) = &demand.not {
        return Err(Why::Any(reason.clone()));
    }
    let number = match (&demand.rule, demand.show) {
        (Some(rule), _) => spoke(run, rule, demand),
        (None, Some(shown)) if demand.is_ratio() => ratio_of(run, shown, demand),
        (None, Some(shown)) => number_of(run, shown, demand),
        (None, None) => {
            let why = "the experiment does not say what answers this";
            Err(Why::Any(why.to_owned()))
        }
    };
    number.map(|number| Number {
        means: demand.means.clone(),
        ..number
    })
}

/// In how many trials a rule found something that makes them suspect or invalid; what it only
/// noted is told apart.
fn spoke(run: &Run, rule: &str, demand: &Demand) -> Result<Number, Why> {
    let workload = demand.workload.as_deref().unwrap_or_default();
    let label = demand
        .server
        .as_deref()
        .map(|name| run.label_for(name, workload).unwrap_or(name));
    let is_meant = |digest: &&Digest| {
        !digest.ceiling
            && label.is_none_or(|label| digest.id.server == label)
            && demand
                .workload
                .as_ref()
                .is_none_or(|name| digest.id.workload == *name)
    };
    let all = run.digests().iter().filter(is_meant);
    if all.clone().next().is_none() {
        let named = [label, demand.workload.as_deref()];
        let named: Vec<&str> = named.into_iter().flatten().collect();
        let (cause, named) = (select::cause(run, demand.point()), named.join(", "));
        return Err(Why::not_measured(format!("{cause} ({named})")));
    }
    let severity = |digest: &&Digest| {
        let mut rules = digest.rules.iter();
        let found = rules.find(|(other, _)| other == rule);
        found.map(|(_, severity)| *severity)
    };
    let spoke = all.clone().filter(|digest| severity(digest).is_some());
    let (noted, with): (Vec<&Digest>, Vec<&Digest>) =
        spoke.partition(|digest| severity(digest) == Some(Severity::Note));
    let count = words::count(with.len() as u64);
    // What is told of it is the worst that it said.
    let is_told = |heard: &Heard| {
        let is_noted = heard.finding.worst() == Severity::Note;
        let is_meant = if with.is_empty() { is_noted } else { !is_noted };
        heard.finding.rule == rule && is_meant
    };
    let has_spoken = !with.is_empty() || !noted.is_empty();
    let heard = run.heard().into_iter().find(|heard| is_told(heard));
    let noted = match noted.len() {
        0 => String::new(),
        many => format!(
            "; noted, without doubt of the result, in {}",
            words::count(many as u64)
        ),
    };
    let of = words::plural(all.count() as u64, "trial");
    Ok(Number {
        value: format!("{count} of {of}"),
        interval: None,
        place: match heard.filter(|_| has_spoken) {
            Some(heard) => {
                let said = heard.finding.say.trim_end_matches('.');
                format!("{rule}: {said}{noted}")
            }
            None => format!("{rule} found nothing"),
        },
        standing: Standing::Sound,
        status: None,
        means: None,
        trials: with.iter().map(|digest| digest.sequence).collect(),
        probes: Vec::new(),
        rounds: Vec::new(),
        is_ratio: false,
        is_bound: false,
        counts_unanswered: false,
    })
}

#[cfg(test)]
mod tests;
