//! The requests of a mix, or the steps of users that ask, each apart, and whole pages: how many
//! were answered, and how long that took.

use model::record::{Page, page_times};
use model::{Outcome, Trial};
use verdict::analysis::Measure;

use super::digest::Digest;
use super::point::Cell;
use super::time::{Quantiles, Time, quantiles};

/// Of more requests than this nobody reads each apart.
const STEPS_MAX: usize = 20;

/// What the quantiles of a step are called, with their positions in the list of them.
pub const STEP_QUANTILES: [(usize, &str); 3] = [(0, "p50"), (2, "p90"), (4, "p99")];

/// One request of several in one trial.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What reports call it.
    name: String,
    /// Right answers.
    right: u64,
    /// All others.
    failed: u64,
    /// Response times at each of [`STEP_QUANTILES`] that the sample supports.
    response: [Option<Time>; STEP_QUANTILES.len()],
}

/// One request of several over the rounds of a point.
#[derive(Clone, Debug)]
pub struct StepOver {
    /// What reports call it.
    pub name: String,
    /// Right answers in all rounds together.
    pub right: u64,
    /// All others.
    pub failed: u64,
    /// Response times in microseconds at each of [`STEP_QUANTILES`].
    pub response: [Option<Measure>; STEP_QUANTILES.len()],
}

impl Step {
    /// Each request of `trial`; none where it has one, or too many.
    pub(super) fn all(trial: &Trial) -> Vec<Self> {
        let classes = &trial.record.classes;
        if classes.len() > STEPS_MAX {
            return Vec::new();
        }
        let step = |class: &model::record::Class| {
            let right = class.outcomes[Outcome::Ok];
            let times = quantiles(&class.response_time, trial.plan.timeout);
            Self {
                name: class.name.clone(),
                right,
                failed: class.outcomes.total() - right,
                response: STEP_QUANTILES.map(|(position, _)| times[position]),
            }
        };
        classes.iter().map(step).collect()
    }

    /// Each page of `trial`: what is right is complete. None where users ask for no parts, or for
    /// too many pages.
    pub(super) fn pages(trial: &Trial) -> Vec<Self> {
        let pages = &trial.record.pages;
        if pages.len() > STEPS_MAX {
            return Vec::new();
        }
        let page = |page: &Page| {
            let times = quantiles(&page.time, trial.plan.timeout);
            Self {
                name: page.name.clone(),
                right: page.complete(),
                failed: page.failed,
                response: STEP_QUANTILES.map(|(position, _)| times[position]),
            }
        };
        pages.iter().map(page).collect()
    }
}

/// Complete and failed pages, and the times of all of them.
pub(super) fn over_all(trial: &Trial) -> Option<(u64, u64, Quantiles)> {
    let times = page_times(&trial.record.pages)?;
    let quantiles = quantiles(&times, trial.plan.timeout);
    Some((times.count(), times.censored(), quantiles))
}

impl Cell<'_> {
    /// Each of its requests apart, in the order of the plan; none where there is one.
    pub fn steps(&self) -> Vec<StepOver> {
        self.over(|digest| &digest.steps)
    }

    /// Each page of its users, in the order of their script; none where they ask for no parts.
    pub fn pages(&self) -> Vec<StepOver> {
        self.over(|digest| &digest.pages)
    }

    fn over(&self, of: fn(&Digest) -> &[Step]) -> Vec<StepOver> {
        let mut rounds = self.rounds.iter().map(|digest| of(digest));
        let Some(first) = rounds.find(|steps| !steps.is_empty()) else {
            return Vec::new();
        };
        let over = |(place, step): (usize, &Step)| {
            let same = || {
                let here = self.rounds.iter();
                let here = here.filter_map(|digest| of(digest).get(place));
                here.filter(|other| other.name == step.name)
            };
            let quantile =
                |which: usize| self.time(|digest| of(digest).get(place)?.response[which]);
            StepOver {
                name: step.name.clone(),
                right: same().map(|step| step.right).sum(),
                failed: same().map(|step| step.failed).sum(),
                response: std::array::from_fn(quantile),
            }
        };
        first.iter().enumerate().map(over).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;
    use model::record::Class;

    use super::*;
    use crate::digests::Run;
    use crate::html;
    use crate::text::{self, Style};

    /// Two rounds of one point, whose users ask for a page and for a picture with `failed` wrong
    /// answers.
    fn run(failed: u64, more: usize) -> Run {
        let mut trials = Heat {
            servers: vec!["nginx"],
            workloads: vec![("site", 7)],
            connections: vec![64],
            rounds: 2,
            ..Heat::default()
        }
        .trials();
        let mut run = Run::default();
        for trial in &mut trials {
            let record = &mut trial.record;
            let class = |name: String| Class {
                name,
                outcomes: record.total.outcomes,
                response_time: record.response_time.clone(),
                ..Class::default()
            };
            let names = ["page", "picture <b>"].map(str::to_owned).into_iter();
            let names = names.chain((0..more).map(|number| format!("number {number}")));
            let mut classes: Vec<Class> = names.map(class).collect();
            classes[1].outcomes[Outcome::Status] += failed;
            record.classes = classes;
            run.add(trial);
        }
        run
    }

    #[test]
    fn each_step_has_its_counts_of_all_rounds_and_its_times() {
        let run = run(3, 0);
        let cells = run.cells("site");
        let [page, picture] = &cells[0].steps()[..] else {
            panic!("{:?}", cells[0].steps());
        };
        let right: u64 = cells[0]
            .rounds
            .iter()
            .map(|one| one.outcomes[Outcome::Ok])
            .sum();
        assert_eq!((page.right, page.failed), (right, 0));
        assert_eq!((picture.right, picture.failed), (right, 6));
        let p50 = page.response[0].as_ref().unwrap();
        assert_eq!(p50.rounds.len(), 2);
        let page = html::page(&run);
        assert!(page.contains("picture &lt;b&gt;") && page.contains("Each request separately"));
        let told = text::lab(&run, Style::default());
        for words in ["each request", "\n  page\n", ", 6 failed"] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn each_page_has_its_counts_of_all_rounds_and_its_times() {
        let mut run = Run::default();
        for mut trial in Heat::default().trials() {
            trial.record.pages = vec![Page {
                name: "front <b>".to_owned(),
                failed: 3,
                time: trial.record.response_time.clone(),
            }];
            run.add(&trial);
        }
        let workload = run.workloads().remove(0);
        let cells = run.cells(&workload);
        let [page] = &cells[0].pages()[..] else {
            panic!("{:?}", cells[0].pages());
        };
        let rounds = cells[0].rounds.len();
        assert_eq!(page.failed, 3 * rounds as u64);
        assert_eq!(page.response[0].as_ref().unwrap().rounds.len(), rounds);
        let html = html::page(&run);
        assert!(html.contains("front &lt;b&gt;") && html.contains("Whole pages"));
        let told = text::lab(&run, Style::default());
        for words in ["whole pages", "\n  front <b>\n", " complete, "] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn of_many_requests_none_is_told_apart() {
        let run = run(0, STEPS_MAX);
        assert!(run.cells("site")[0].steps().is_empty());
        assert!(!html::page(&run).contains("Each request separately"));
        assert!(!text::lab(&run, Style::default()).contains("each request"));
    }
}
