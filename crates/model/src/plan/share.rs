//! What some of a plan's workers are asked.

use std::ops::Range;

use super::pace::Form;
use super::{PlanFile, Renewal, ScriptFile, Stage, Stop};
use crate::units::Rate;

impl PlanFile {
    /// What `workers` of this plan are asked, as a plan of their own, by which what they measured
    /// is judged. It is not for running: when a worker's arrivals are due follows from its position
    /// among all workers of the whole plan.
    #[must_use]
    pub fn share(&self, workers: &Range<u32>) -> Self {
        let part = |total: u64| {
            let all = u64::from(self.workers.max(1));
            let until = |worker: u32| {
                let worker = u64::from(worker);
                total / all * worker + worker.min(total % all)
            };
            until(workers.end) - until(workers.start)
        };
        let few = |total: u32| u32::try_from(part(u64::from(total))).unwrap_or(total);
        let rate = |rate: Rate| self.rate_of(rate, workers);
        let each = self.user_connections();
        Self {
            arrivals: self.arrivals.with_rate(rate),
            script: self.script.as_ref().map(|script| ScriptFile {
                arrivals: script.arrivals.with_rate(rate),
                ..script.clone()
            }),
            stages: self
                .stages
                .iter()
                .map(|stage| Stage {
                    length: stage.length,
                    form: match stage.form {
                        Form::Flash {
                            peak_per_1000_s,
                            half_life,
                        } => Form::Flash {
                            peak_per_1000_s: rate(peak_per_1000_s),
                            half_life,
                        },
                        Form::Hold { rate_per_1000_s } => Form::Hold {
                            rate_per_1000_s: rate(rate_per_1000_s),
                        },
                        Form::Ramp { rate_per_1000_s } => Form::Ramp {
                            rate_per_1000_s: rate(rate_per_1000_s),
                        },
                    },
                })
                .collect(),
            stop: match self.stop {
                Stop::Count(count) => Stop::Count(part(count)),
                Stop::DurationNs(length) => Stop::DurationNs(length),
            },
            requests_most: self.requests_most.map(part),
            connections: few(self.connections / each) * each,
            workers: workers.end - workers.start,
            renewal: Renewal {
                opened_per_1000_s: self.renewal.opened_per_1000_s.map(rate),
                ..self.renewal
            },
            samples: few(self.samples),
            ..self.clone()
        }
    }

    /// How many exchanges end the measurement, where their number does.
    pub fn count(&self) -> Option<u64> {
        match self.stop {
            Stop::Count(count) => Some(count),
            Stop::DurationNs(_) => self.requests_most,
        }
    }

    /// The share of a rate that so many of the workers have.
    fn rate_of(&self, rate: Rate, workers: &Range<u32>) -> Rate {
        let some = u128::from(workers.end - workers.start);
        let share = u128::from(rate.as_per_1000_s()) * some / u128::from(self.workers.max(1));
        Rate::per_1000_s(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrivals;
    use super::*;
    use crate::fixture;
    use crate::units::Span;

    fn whole() -> PlanFile {
        PlanFile {
            arrivals: Arrivals::Poisson {
                rate_per_1000_s: Rate::per_second(1_000),
            },
            stop: Stop::DurationNs(Span::from_s(1)),
            requests_most: Some(1_003),
            connections: 10,
            workers: 4,
            samples: 9,
            ..fixture::plan("http://127.0.0.1/", &[])
        }
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let whole = whole();
        let check = |parts: &[Range<u32>]| {
            let shares: Vec<PlanFile> = parts.iter().map(|part| whole.share(part)).collect();
            let sum = |of: fn(&PlanFile) -> u64| shares.iter().map(of).sum::<u64>();
            assert_eq!(sum(|plan| u64::from(plan.connections)), 10, "{parts:?}");
            assert_eq!(sum(|plan| u64::from(plan.workers)), 4, "{parts:?}");
            assert_eq!(sum(|plan| u64::from(plan.samples)), 9, "{parts:?}");
            let rates = sum(|plan| plan.arrivals.rate().unwrap().as_per_1000_s());
            assert_eq!(rates, 1_000_000, "{parts:?}");
            assert_eq!(sum(|plan| plan.count().unwrap_or(0)), 1_003, "{parts:?}");
            let by_count = PlanFile {
                stop: Stop::Count(1_003),
                requests_most: None,
                ..whole.clone()
            };
            let shares = parts.iter().map(|part| by_count.share(part));
            let counts = shares.map(|plan| plan.count().unwrap_or(0));
            assert_eq!(counts.sum::<u64>(), 1_003, "{parts:?}");
        };
        check(std::slice::from_ref(&(0..4)));
        check(&[0..1, 1..4]);
        check(&[0..2, 2..3, 3..4]);
    }

    #[test]
    fn users_who_come_are_shared_out() {
        let script = ScriptFile {
            arrivals: Arrivals::Fixed {
                rate_per_1000_s: Rate::per_second(8),
            },
            ..ScriptFile::default()
        };
        let whole = PlanFile {
            script: Some(script),
            ..whole()
        };
        let share = whole.share(&(1..2)).script.unwrap();
        assert_eq!(share.arrivals.rate(), Some(Rate::per_second(2)));
    }

    #[test]
    fn a_share_has_as_many_connections_as_its_workers_hold() {
        let whole = whole();
        let plan = crate::Plan::try_from(whole.clone()).unwrap();
        for part in [0..1, 1..3, 2..4] {
            let held: u32 = part.clone().map(|worker| plan.connections_of(worker)).sum();
            assert_eq!(whole.share(&part).connections, held, "{part:?}");
        }
    }

    #[test]
    fn stages_keep_their_form() {
        let whole = PlanFile {
            stages: vec!["10s:1k".parse().unwrap(), "5s:!4k/1s".parse().unwrap()],
            stop: Stop::DurationNs(Span::from_s(15)),
            ..whole()
        };
        let share = whole.share(&(0..1));
        let written: Vec<String> = share.stages.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["10s:250", "5s:!1000/1s"]);
        assert_eq!(share.stop, whole.stop);
    }
}
