//! What happened in each stage of a load that changes.

use model::plan::pace::Form;
use model::plan::{PlanFile, Stage};
use model::{Rate, Span, Trial};
use verdict::analysis::Measure;
use verdict::words;

use super::point::Cell;
use super::stretch::{Stretch, stretch};

/// A stage of one trial.
#[derive(Clone, Debug)]
pub(super) struct InStage {
    /// In words.
    stage: String,
    /// None where no interval of the record lies in it.
    happened: Option<Stretch>,
}

/// A stage over the rounds of a point.
#[derive(Clone, Debug)]
pub struct StageOver {
    /// In words.
    pub stage: String,
    /// Requests per second that were asked for.
    pub asked: Option<Measure>,
    /// Right answers per second.
    pub right: Option<Measure>,
    /// Requests per second that failed or were never sent.
    pub lost: Option<Measure>,
    /// The median response time in microseconds.
    pub p50_us: Option<Measure>,
    /// The 99th percentile.
    pub p99_us: Option<Measure>,
}

/// What a stage is: a budget stretches it to lengths that nobody would write. Those of users count
/// users.
fn name(stage: &Stage, plan: &PlanFile) -> String {
    let length = stage.length;
    let of_what = if plan.script.is_some() { " users" } else { "" };
    let rate = |rate: Rate| format!("{}{of_what}", words::rate(rate.as_per_second_f64()));
    match stage.form {
        Form::Flash {
            peak_per_1000_s,
            half_life,
        } => format!(
            "{length} from {}/s, halved each {half_life}",
            rate(peak_per_1000_s)
        ),
        Form::Hold { rate_per_1000_s } => format!("{length} at {}/s", rate(rate_per_1000_s)),
        Form::Ramp { rate_per_1000_s } => format!("{length} to {}/s", rate(rate_per_1000_s)),
    }
}

impl InStage {
    /// Each stage of `trial`: the intervals of which the middle lies in it.
    pub(super) fn all(trial: &Trial) -> Vec<Self> {
        let mut end = Span::ZERO;
        let stage = |stage: &Stage| {
            let start = end;
            end += stage.length;
            // They follow each other in time.
            let intervals = &trial.record.intervals;
            let before =
                |edge: Span| intervals.partition_point(|one| one.start + one.length / 2 < edge);
            Self {
                stage: name(stage, &trial.plan),
                happened: stretch(&intervals[before(start)..before(end)]),
            }
        };
        trial.plan.stages.iter().map(stage).collect()
    }
}

impl Cell<'_> {
    /// Each stage of its load; none where that does not change.
    pub fn stages(&self) -> Vec<StageOver> {
        let Some(first) = self.rounds.iter().find(|digest| !digest.stages.is_empty()) else {
            return Vec::new();
        };
        let over = |(place, stage): (usize, &InStage)| {
            let number = |value: fn(&Stretch) -> Option<f64>| {
                self.value(self.response_claim(), |digest| {
                    digest.stages.get(place)?.happened.as_ref().and_then(value)
                })
            };
            StageOver {
                stage: stage.stage.clone(),
                asked: number(|stretch| stretch.scheduled),
                right: number(|stretch| Some(stretch.rate)),
                lost: number(|stretch| Some(stretch.failed + stretch.never_sent)),
                p50_us: number(|stretch| stretch.p50_us),
                p99_us: number(|stretch| stretch.p99_us),
            }
        };
        first.stages.iter().enumerate().map(over).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::Outcome;
    use model::fixture::Heat;
    use model::record::Interval;

    use super::*;
    use crate::digests::Run;
    use crate::html;

    #[test]
    fn each_stage_has_the_figures_of_its_own_intervals() {
        let mut trials = Heat {
            servers: vec!["nginx"],
            workloads: vec![("seven", 7)],
            connections: vec![64],
            rounds: 2,
            ..Heat::default()
        }
        .trials();
        let mut run = Run::default();
        for trial in &mut trials {
            trial.plan.stages = ["2s:=100", "1s:=900"]
                .map(|text| text.parse().unwrap())
                .to_vec();
            let second = |start: u64| {
                let mut interval = Interval::new(Span::from_s(start), Span::from_s(1));
                let time = Span::from_ms(if start < 2 { 1 } else { 50 });
                interval.response_time.record_n(time, 5_000);
                interval.scheduled = Some(Rate::per_second(if start < 2 { 100 } else { 900 }));
                interval.tally.outcomes[Outcome::Shed] = 10 * (start / 2);
                interval
            };
            trial.record.intervals = (0..3).map(second).collect();
            run.add(trial);
        }
        let cells = run.cells("seven");
        let [calm, crowd] = &cells[0].stages()[..] else {
            panic!("{:?}", cells[0].stages());
        };
        assert_eq!(
            (calm.stage.as_str(), crowd.stage.as_str()),
            ("2.00 s at 100/s", "1.00 s at 900/s")
        );
        let median = |measure: &Option<Measure>| measure.as_ref().unwrap().median;
        let near = |one: f64, other: f64| (one - other).abs() < 0.01 * other.max(1.0);
        assert!(near(median(&calm.asked), 100.0) && near(median(&crowd.asked), 900.0));
        assert!(near(median(&calm.lost), 0.0) && near(median(&crowd.lost), 10.0));
        assert!(median(&calm.p99_us) < 2_000.0 && median(&crowd.p99_us) > 40_000.0);
        assert!(html::page(&run).contains("Each stage of the load"));
    }
}
