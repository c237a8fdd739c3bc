//! The turn of a server at a cell whose load has to be found: a search for its capacity.
//!
//! Each trial of the search is stored for itself, with its verdict. What the server is compared by
//! is one trial more, made at the rate that was found, which no result has chosen.

use std::collections::BTreeSet;

use model::Trial;
use model::plan::Stop;
use model::threshold::Threshold;
use model::units::{Rate, Span};
use verdict::words;

use super::block::Lap;
use super::{Ground, Lab, News, Progress};
use crate::capacity::{self, Answer, Found, Made, Search, Settings};
use crate::error::LabError;
use crate::server::Running;
use crate::sweep::Slot;
use crate::trial::{Load, Target};

/// More trials are no search, but a server whose capacity changes.
const TRIALS_MAX: u32 = 80;
/// So many of them are made again because something else spoilt them: where it does so all the time
/// that does not help.
const AGAIN_MAX: u32 = 8;

impl Lab<'_> {
    /// Searches the capacity, and keeps a trial at what was found. Where nothing is, that is a row.
    pub(super) fn search_capacity(
        &mut self,
        lap: &Lap,
        slot: &Slot,
        target: &Target,
        running: &mut Running,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let objective = self.experiment.objective();
        let full = self.experiment.duration();
        let mut number = 0;
        let mut measure = |lab: &mut Self, rate: Option<Rate>, window: Span, is_probe: bool| {
            lab.check_interrupt()?;
            let load = Load {
                rate,
                stop: Stop::DurationNs(window),
                ..Load::of_cell(lab.experiment, &slot.cell, progress.next_number())
            };
            let trial = lab.measure(&load, lap, slot, target, running, ground)?;
            if is_probe {
                number += 1;
                lab.store.put_probe(&trial, number)?;
            }
            match running.ended("by itself") {
                Some(why) => Err(lab.about(slot.racer, why)),
                None => Ok(trial),
            }
        };
        // An interrupted search is made again from its beginning.
        self.store.set_aside(&BTreeSet::from([slot.sequence]))?;
        let mut again = 0;
        let mut probe = |lab: &mut Self, rate: Option<Rate>, window: Span| {
            let mut trial = measure(lab, rate, window, true)?;
            while again < AGAIN_MAX && (lab.is_void)(&trial) {
                again += 1;
                trial = measure(lab, rate, window, true)?;
            }
            Ok::<Trial, LabError>(trial)
        };
        let closed_loop_rate = probe(self, None, full / 4)?.record.achieved_rate;
        let mut settings = Settings::new(capacity::start_at(closed_loop_rate), full);
        settings.trials_max = TRIALS_MAX;
        let mut search = Search::new(settings);
        let mut trials = Vec::new();
        let answer = loop {
            let step = match search.step() {
                Ok(step) => step,
                Err(ending) => break Answer::from(ending),
            };
            let trial = probe(self, Some(step.load), step.duration)?;
            let made = capacity::judged(step, &trial, objective);
            self.tell_probe(slot, &made);
            search.tell(made.came);
            trials.push(made);
        };
        let Some(rate) = answer.lower() else {
            let why = self.about(slot.racer, nothing(&answer));
            return self.tell_gap_at(lap, slot, &why);
        };
        let mut trial = measure(self, Some(rate), full, false)?;
        let judged = objective.iter().map(|one| one.judge(&trial.record));
        trial.thresholds = judged.collect();
        trial.context.search = Some(Found {
            objective: texts(objective),
            closed_loop_rate,
            answer,
            trials,
        });
        self.keep(&trial, slot, progress)
    }

    fn tell_probe(&mut self, slot: &Slot, made: &Made) {
        let server = super::label(self.experiment, slot.racer);
        (self.news)(&News::Probe { server, made });
    }
}

/// As they were written.
fn texts(objective: &[Threshold]) -> Vec<String> {
    objective.iter().map(|one| one.text().to_owned()).collect()
}

/// Why there is no rate to be measured at.
fn nothing(answer: &Answer) -> String {
    let per_second = |rate: Rate| words::rate(rate.as_per_second_f64());
    match *answer {
        Answer::GeneratorLimit { failed, .. } => format!(
            "its capacity was not found: the generator or the machine was the limit at {}/s, and \
             no trial at a lower rate met the objective; give the generator more CPUs, or the \
             load more connections, and let nothing else run",
            per_second(failed)
        ),
        Answer::Nothing { lowest } => {
            format!("not even {}/s meets the objective", per_second(lowest))
        }
        Answer::Between { .. } | Answer::Undecided { .. } => {
            "the search made all its trials, and no rate met the objective".to_owned()
        }
    }
}
