//! What searches for the capacity of servers found: a row for each point of them.

use model::capacity::Answer;
use model::point::Values;
use verdict::words;

use super::{Digest, Run};

/// What the searches at one point found, one in each round that counts.
#[derive(Clone, Debug)]
pub struct Searched<'a> {
    /// The server's label.
    pub server: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// Where on the grid it stands.
    pub place: &'a Values,
    /// What had to hold.
    pub objective: &'a str,
    /// What each found.
    pub answers: Vec<Answer>,
}

impl Run {
    /// The searches of `workload`, by server and place.
    pub fn searches(&self, workload: &str) -> Vec<Searched<'_>> {
        let cells = self.cells(workload);
        let of = |rounds: &[&'_ Digest]| {
            // Where no round counts, all are shown as they were first measured.
            let is_left_out = rounds.iter().all(|digest| digest.is_left_out());
            let counting = rounds.iter().filter(|digest| match is_left_out {
                true => digest.attempt == 0,
                false => !digest.is_left_out(),
            });
            let found = counting.filter_map(|digest| digest.search.as_ref());
            found.map(|(_, answer)| *answer).collect::<Vec<Answer>>()
        };
        let mut all = Vec::new();
        for cell in cells {
            let answers = of(&cell.rounds);
            let Some(&digest) = cell.rounds.iter().find(|digest| digest.search.is_some()) else {
                continue;
            };
            let Some((objective, _)) = &digest.search else {
                continue;
            };
            if !answers.is_empty() {
                all.push(Searched {
                    server: &digest.id.server,
                    workload: &digest.id.workload,
                    place: &digest.place,
                    objective,
                    answers,
                });
            }
        }
        all
    }
}

impl Searched<'_> {
    /// The lowest rate, of all searches, that met the objective, per second.
    pub fn low(&self) -> Option<f64> {
        let rates = self.answers.iter().filter_map(Answer::lower);
        rates.min().map(|rate| rate.as_per_second_f64())
    }

    /// The highest, of all searches, that was the first known not to meet it; none where one of
    /// them found no such rate.
    pub fn high(&self) -> Option<f64> {
        let rates: Option<Vec<_>> = self.answers.iter().map(Answer::upper).collect();
        rates?
            .into_iter()
            .max()
            .map(|rate| rate.as_per_second_f64())
    }

    /// `12,100/s to 12,900/s`, `at least 61,000/s`.
    pub fn interval(&self) -> String {
        let rate = |rate: f64| format!("{}/s", words::rate(rate));
        match (self.low(), self.high()) {
            (Some(low), Some(high)) => format!("{} to {}", rate(low), rate(high)),
            (Some(low), None) => format!("at least {}", rate(low)),
            (None, _) => "not found".to_owned(),
        }
    }

    /// How many searches that rests on, and what kept some of them from an end.
    pub fn rests_on(&self) -> String {
        let count = |is_it: fn(&Answer) -> bool| {
            let such = self.answers.iter().filter(|answer| is_it(answer));
            such.count() as u64
        };
        let mut said = vec![match self.answers.len() {
            1 => "1 search".to_owned(),
            many => format!("{many} searches"),
        }];
        let limited = count(|answer| matches!(answer, Answer::GeneratorLimit { .. }));
        if limited > 0 {
            said.push(format!(
                "the generator or the machine was the limit in {limited}"
            ));
        }
        let open = count(|answer| matches!(answer, Answer::Undecided { .. }));
        if open > 0 {
            said.push(format!("{open} ended without an answer"));
        }
        said.join("; ")
    }
}
