//! What a report is made of: the trials of one run, each boiled down as it is added.
//!
//! A trial in memory is two megabytes of histograms, its digest a few hundred bytes, so a run of
//! thousands is read one by one and never held whole.

mod across;
mod ceiling;
mod checked;
mod command;
mod digest;
mod framing;
mod gaps;
mod knee;
mod later;
mod left_out;
mod links;
mod omissions;
mod order;
mod phases;
mod placed;
mod point;
mod ramp;
mod recovered;
mod resources;
mod searches;
mod sources;
mod stages;
mod stalled;
mod steps;
mod stretch;
mod surroundings;
mod time;
mod visits;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

pub use across::Across;
pub(crate) use across::per_second;
pub(crate) use checked::checked;
use command::repeating;
pub(crate) use command::shell;
pub use digest::{Digest, QUANTILES};
pub(crate) use knee::definition as definition_of_knee;
pub use knee::{Knee, knees};
use omissions::{Omissions, not_repeated, told_together};
use order::in_order;
pub use phases::{LATE, PHASES};
pub use point::{Cell, Response};
pub use ramp::Ramp;
pub use recovered::Recovered;
pub use resources::Resources;
pub use searches::Searched;
pub use sources::Sources;
pub use stages::StageOver;
pub(crate) use stalled::STALLED;
pub use stalled::{Stalled, StalledOver};
pub use steps::{STEP_QUANTILES, StepOver};
pub use stretch::Stretch;
pub(crate) use surroundings::Clock;
use surroundings::Surroundings;
pub use time::Time;

use model::environment::{Environment, PathEnd};
use model::experiment::{Demand, Experiment, Gap, Manifest, Published, ServerVariant, TWIN};
use model::trial::Server;
use model::{Finding, PointId, Severity, Span, Trial, Verdict};
use verdict::analysis::{Asked, Comparison, Rival, Round, compare};
use verdict::words;

/// A run. Fill in what is known, [`add`](Self::add) each trial, then make a page or a table of it.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The experiment's name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// The experiment file, exactly as run.
    pub experiment: Option<String>,
    /// The command that repeats it.
    pub command: Option<String>,
    /// What a reader must know: products missing and how to install them, what was scaled.
    pub notes: Vec<String>,
    /// How many rounds were planned; 0 where nobody said. What lies beyond them is spare.
    pub rounds: u32,
    /// Labels of servers in the order in which they are to be shown; others follow by name.
    pub server_order: Vec<String>,
    /// The same for workloads.
    pub workload_order: Vec<String>,
    /// Labels of whom the others are compared with; empty where nobody said.
    pub references: Vec<String>,
    /// What earlier studies published.
    pub published: Vec<Published>,
    /// What their readers asked.
    pub asked: Vec<Demand>,
    variants: Vec<ServerVariant>,
    /// Its pairs of servers and workloads that never meet.
    apart: Vec<(String, String)>,
    /// Its experiment as it is expanded.
    expanded: Option<Experiment>,
    gaps: Vec<Gap>,
    omissions: Omissions,
    /// Whether questions and figures are not those of its experiment.
    is_asked_later: bool,
    digests: Vec<Digest>,
    servers: BTreeMap<String, Server>,
    surroundings: Surroundings,
    heard: BTreeMap<(String, Severity), Heard>,
    unread: BTreeMap<String, (String, usize)>,
    cannot_apply: BTreeMap<String, (String, usize)>,
    explained: BTreeMap<String, BTreeMap<String, usize>>,
    /// Whether spare rounds may stand for rounds to which rules object.
    has_rounds_for_results: bool,
    /// The last attempt at each round of a point in a group.
    attempts: BTreeMap<(PointId, u32, u32), u32>,
}

/// From this set of rules on rounds are added for disturbed ones alone (ADR 0045).
const ROUNDS_FOR_DISTURBANCES: u32 = 22;

/// A rule that spoke with some severity, and where.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The first of those findings.
    pub finding: Finding,
    /// How many trials it was found in.
    pub trials: usize,
    /// The points it was found at.
    pub points: Vec<PointId>,
    /// What it said first at each of them, with the position of that trial in the order.
    pub said: Vec<(u32, String)>,
}

impl Run {
    /// An empty one for the experiment of `manifest`, with a sentence for each gap.
    pub fn of(manifest: &Manifest, gaps: &[Gap]) -> Self {
        let header = &manifest.experiment.experiment;
        let mut command = repeating(manifest);
        model::redact::words(&mut command);
        let mut run = Self {
            name: header.name.clone(),
            question: header.question.clone(),
            command: Some(shell(&command)),
            notes: {
                let scaled = told_together(&manifest.scaled).into_iter();
                let scaled = scaled.map(|what| format!("Scaled to the budget: {what}."));
                let all = manifest.notes.iter().cloned().chain(scaled);
                all.chain(not_repeated(manifest.not_repeated)).collect()
            },
            published: manifest.experiment.published.clone(),
            asked: manifest.experiment.asked.clone(),
            omissions: Omissions::of(manifest),
            ..Self::default()
        };
        run.note_gaps(gaps);
        if let Ok(experiment) = Experiment::try_from(manifest.experiment.clone()) {
            run.rounds = experiment.rounds();
            run.server_order = experiment
                .servers()
                .iter()
                .map(|one| one.label.clone())
                .collect();
            let servers = experiment.servers().iter();
            run.references = servers
                .filter(|one| experiment.is_reference(one))
                .map(|one| one.label.clone())
                .collect();
            run.workload_order = experiment
                .workloads()
                .iter()
                .map(|one| one.name.clone())
                .collect();
            run.variants = experiment.servers().to_vec();
            run.apart = experiment.apart();
            run.expanded = Some(experiment);
        }
        run
    }

    /// What a reader must know before the numbers.
    pub fn said_first(&self) -> Vec<String> {
        let mut all: Vec<String> = self.unfinished().into_iter().collect();
        all.extend(self.notes.iter().cloned());
        let spare: BTreeSet<u32> = self.digests.iter().map(|digest| digest.round).collect();
        let spare = spare.into_iter().filter(|round| *round > self.rounds);
        let spare: Vec<String> = spare.map(|round| round.to_string()).collect();
        if self.rounds > 0 && !spare.is_empty() {
            let (noun, verb) = match spare.len() {
                1 => ("Round", "was"),
                _ => ("Rounds", "were"),
            };
            let why = match self.has_rounds_for_results {
                true => {
                    "for some comparisons too few of those counted. The version that measured \
                     this left out rounds to which a rule objects, too: so some may have been \
                     added for what came out"
                }
                false => {
                    "something disturbed so many of those that some comparisons had too few. No \
                     result was looked at for that"
                }
            };
            all.push(format!(
                "{noun} {} {verb} added: {} were planned, and {why}.",
                words::list(&spare),
                words::count(u64::from(self.rounds))
            ));
        }
        all
    }

    /// Takes what the report needs of `trial`.
    pub fn add(&mut self, trial: &Trial) {
        let mut digest = Digest::of(trial, self.digests.len());
        self.note_attempt(&mut digest);
        let set = trial.verdict.set.parse::<u32>();
        self.has_rounds_for_results |= set.is_ok_and(|set| set < ROUNDS_FOR_DISTURBANCES);
        if let Some(server) = &trial.context.server
            && !digest.ceiling
        {
            self.servers
                .entry(digest.id.server.clone())
                .or_insert_with(|| server.clone());
        }
        if !digest.ceiling {
            self.hear_all(&trial.verdict, &digest);
        }
        self.surroundings.add(trial);
        self.digests.push(digest);
    }

    /// Puts these verdicts in the place of those that the trials came with, in the order in which
    /// they were added: rules that look across trials can speak only when all are there.
    ///
    /// # Panics
    ///
    /// If there is not one verdict for each trial.
    pub fn judge(&mut self, verdicts: &[Verdict]) {
        assert_eq!(verdicts.len(), self.digests.len(), "a verdict per trial");
        self.heard.clear();
        self.unread.clear();
        self.cannot_apply.clear();
        self.explained.clear();
        let mut digests = std::mem::take(&mut self.digests);
        for (digest, verdict) in digests.iter_mut().zip(verdicts) {
            digest.judge(verdict);
            if !digest.ceiling {
                self.hear_all(verdict, digest);
            }
        }
        self.digests = digests;
    }

    /// Puts the trials in the order in which they were made.
    pub fn sort(&mut self) {
        self.digests
            .sort_by(|a, b| (a.sequence, &a.id.server).cmp(&(b.sequence, &b.id.server)));
    }

    fn hear_all(&mut self, verdict: &Verdict, digest: &Digest) {
        for finding in &verdict.findings {
            self.hear(finding, digest);
        }
        let coverage = &verdict.coverage;
        for (all, here) in [
            (&mut self.unread, &coverage.unknown),
            (&mut self.cannot_apply, &coverage.cannot_apply),
        ] {
            for (rule, why) in here {
                let told = all.entry(rule.clone());
                told.or_insert_with(|| (why.clone(), 0)).1 += 1;
            }
        }
        for (rule, cause) in &coverage.explained {
            let causes = self.explained.entry(rule.clone()).or_default();
            *causes.entry(cause.clone()).or_default() += 1;
        }
    }

    fn hear(&mut self, finding: &Finding, digest: &Digest) {
        let heard = self
            .heard
            .entry((finding.rule.clone(), finding.worst()))
            .or_insert_with(|| Heard {
                finding: finding.clone(),
                trials: 0,
                points: Vec::new(),
                said: Vec::new(),
            });
        heard.trials += 1;
        if !heard.points.contains(&digest.id) {
            heard.points.push(digest.id.clone());
            heard.said.push((digest.sequence, finding.say.clone()));
        }
    }

    /// Each trial, as far as a report needs it, in the order in which they were added.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// The servers as they really were, by label.
    pub const fn servers(&self) -> &BTreeMap<String, Server> {
        &self.servers
    }

    /// Where the first trial ran.
    pub const fn environment(&self) -> Option<&Environment> {
        self.surroundings.first.as_ref()
    }

    /// The ends of the way between generator and server, each with whose it is.
    pub fn ends(&self) -> impl Iterator<Item = (&str, &PathEnd)> {
        self.surroundings.ends()
    }

    /// How far clocks were ahead of that of whoever asked for the load, each with whose it is.
    pub(crate) fn clocks(&self) -> impl Iterator<Item = (&str, Clock)> {
        self.surroundings.clocks()
    }

    /// By how much the windows of two agents may be apart in the worst trial, if there were two.
    pub(crate) const fn windows_apart(&self) -> Option<Span> {
        self.surroundings.windows_apart
    }

    /// Facts of the machine that were not the same in all trials, with each value seen.
    pub const fn differences(&self) -> &BTreeMap<&'static str, Vec<String>> {
        &self.surroundings.differences
    }

    /// The rules that spoke, the worst first.
    pub fn heard(&self) -> Vec<&Heard> {
        let mut heard: Vec<_> = self.heard.values().collect();
        heard.sort_by(|a, b| {
            (b.finding.worst(), b.trials, &a.finding.rule).cmp(&(
                a.finding.worst(),
                a.trials,
                &b.finding.rule,
            ))
        });
        heard
    }

    /// The labels of all servers measured, the ceiling apart, in the order of their names.
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self
            .digests
            .iter()
            .filter(|digest| !digest.ceiling)
            .map(|digest| digest.id.server.clone())
            .collect();
        in_order(&mut labels, &self.server_order);
        labels
    }

    /// The names of all workloads, in the order of their names.
    pub fn workloads(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .digests
            .iter()
            .filter(|digest| !digest.ceiling)
            .map(|digest| digest.id.workload.clone())
            .collect();
        in_order(&mut names, &self.workload_order);
        names
    }

    /// All points of `workload`, by server in the order of [`labels`](Self::labels), then by place.
    pub fn cells(&self, workload: &str) -> Vec<Cell<'_>> {
        let mut points: BTreeMap<(usize, &PointId), Vec<&Digest>> = BTreeMap::new();
        let labels = self.labels();
        for digest in &self.digests {
            if digest.ceiling || digest.id.workload != workload {
                continue;
            }
            if let Some(place) = labels.iter().position(|label| *label == digest.id.server) {
                points.entry((place, &digest.id)).or_default().push(digest);
            }
        }
        points.into_values().map(Cell::new).collect()
    }

    /// How the servers compare, workload by workload.
    pub fn comparisons(&self) -> Vec<Comparison> {
        self.compared(Digest::round, |_| true)
    }

    /// All comparisons, each with what the trials that do not count would change.
    pub fn answers(&self) -> Vec<(Comparison, Option<String>)> {
        let with_void = self.comparisons_with_void();
        let say = |comparison: &Comparison| {
            let same = |other: &&Comparison| other.workload == comparison.workload;
            let sentence = with_void.iter().find(same)?.sentence();
            let is_same = sentence == comparison.sentence();
            let is_spoilt = comparison.rivals.iter().any(Rival::is_spoilt);
            match (is_same, is_spoilt) {
                (true, true) => None,
                (true, false) => {
                    Some("The trials that do not count would not change these numbers.".to_owned())
                }
                (false, true) => Some(format!("With all rounds as first measured: {sentence}")),
                (false, false) => Some(format!("With the trials that do not count: {sentence}")),
            }
        };
        let each = self.comparisons().into_iter();
        each.map(|comparison| {
            let said = say(&comparison);
            (comparison, said)
        })
        .collect()
    }

    /// The same of all trials as they were first measured, spoilt or not; empty where none was
    /// spoilt.
    fn comparisons_with_void(&self) -> Vec<Comparison> {
        if self.digests.iter().all(|digest| digest.void.is_none()) {
            return Vec::new();
        }
        self.compared(Digest::as_first_measured, |digest| digest.attempt == 0)
    }

    fn compared<'a>(
        &'a self,
        round: fn(&'a Digest) -> Round<'a>,
        belongs: fn(&Digest) -> bool,
    ) -> Vec<Comparison> {
        let servers = self.digests.iter().filter(|digest| !digest.ceiling);
        let servers = servers.filter(|digest| belongs(digest));
        let rounds: Vec<Round<'_>> = servers.map(round).collect();
        let twins = self.twins();
        let asked = Asked {
            servers: &self.contenders(),
            references: &self.references,
            apart: &self.apart,
            twins: &twins,
        };
        let mut comparisons = compare(&rounds, asked);
        let place = |name: &String| self.workloads().iter().position(|other| other == name);
        comparisons.sort_by_key(|comparison| place(&comparison.workload));
        comparisons
    }

    /// The labels of servers that are alike, two and two.
    fn twins(&self) -> Vec<(String, String)> {
        let twins = self.variants.iter().filter(|variant| variant.is_twin);
        let like = |twin: &ServerVariant| {
            let label = twin.label.strip_suffix(TWIN)?;
            Some((label.to_owned(), twin.label.clone()))
        };
        twins.filter_map(like).collect()
    }

    /// Rules that could not read what they need, with what was missing and in how many trials.
    pub const fn unread(&self) -> &BTreeMap<String, (String, usize)> {
        &self.unread
    }

    /// Rules that apply, but found too little to judge by, with why and in how many trials.
    pub const fn cannot_apply(&self) -> &BTreeMap<String, (String, usize)> {
        &self.cannot_apply
    }

    /// Rules that were not told because another one knows the cause: by which, in how many trials.
    pub const fn explained(&self) -> &BTreeMap<String, BTreeMap<String, usize>> {
        &self.explained
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u32 {
        self.digests
            .iter()
            .map(|digest| digest.round)
            .max()
            .unwrap_or(0)
    }
}

/// Whether a finding is worth more than a line in a list of notes.
pub fn is_loud(finding: &Finding) -> bool {
    finding.worst() > Severity::Note
}

#[cfg(test)]
mod tests;
