//! Warm servers. Most are warm after a time that the experiment gives. One that is compiled while
//! it runs, as in a virtual machine of Java, is warm when it gets no faster.
//!
//! Some never do: their rate goes up and down for as long as they run (Barrett and others,
//! *Virtual Machine Warmup Blows Hot and Cold*, OOPSLA 2017). So there is a limit, and what came of
//! it is stored.

use model::Span;
use model::experiment::Workload;
use model::trial::Warming;

use super::asking::Asked;
use super::{Ground, Lab, News, Progress};
use crate::error::LabError;
use crate::sweep::Racer;
use crate::trial::{self, Load};

/// So many slices in a row have to bring nothing.
const STILL: usize = 3;

/// A slice brings something where it is faster by more than this share than all before `STILL`:
/// rates of slices of a second spread by about as much.
const FASTER: f64 = 0.03;

/// A shorter slice shows the noise more than the rate.
const SLICE_MIN: Span = Span::from_ms(500);

/// Loads `slice` after `slice` by `run`, which returns the rate, until it is steady or `limit` is
/// over.
fn until_steady(
    limit: Span,
    slice: Span,
    mut run: impl FnMut(Span) -> Result<f64, LabError>,
) -> Result<Warming, LabError> {
    let mut rates = Vec::new();
    let mut took = Span::ZERO;
    while took < limit && !is_steady(&rates) {
        rates.push(run(slice)?);
        took += slice;
    }
    let first = rates.first().copied().unwrap_or_default();
    Ok(Warming {
        took,
        is_steady: is_steady(&rates),
        gain: match first > 0.0 {
            true => best(&rates) / first,
            false => 1.0,
        },
    })
}

/// Whether the last slices were no faster than the best before them.
fn is_steady(rates: &[f64]) -> bool {
    let Some(before @ 1..) = rates.len().checked_sub(STILL) else {
        return false;
    };
    let (before, last) = rates.split_at(before);
    best(last) <= best(before) * (1.0 + FASTER)
}

fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

impl Lab<'_> {
    /// Warm for what it answered rightly of `workloads`, by that many connections. What was done
    /// until its rate was steady, if its folder asks for that.
    pub(super) fn warm(
        &mut self,
        racer: Racer,
        asked: &mut Asked,
        workloads: &[usize],
        connections: u32,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<Option<Warming>, LabError> {
        let Asked { running, wrong } = asked;
        running.read_condition();
        let is_wrong = |index: &usize| wrong.iter().any(|(other, _)| other == index);
        let right = workloads.iter().filter(|index| !is_wrong(index));
        let all = self.experiment.workloads();
        let workloads: Vec<&Workload> = right.map(|index| &all[*index]).collect();
        let parts = u64::try_from(workloads.len()).unwrap_or(1).max(1);
        let share = self.experiment.warmup() / parts;
        if share.is_zero() {
            return Ok(None);
        }
        let limit = running.installed().product.steady_within();
        let mut warmed: Option<Warming> = None;
        for workload in workloads {
            let target = ground.target(racer, running.place(), workload, self.experiment);
            let mut run = |length: Span| {
                let number = progress.next_number();
                let load = Load::warmup(self.experiment, connections, length, number);
                let plan = trial::plan(&target, &load, &self.division.generator);
                let trial = self.generator.run(&plan, &mut |_, _| ())?;
                self.check_interrupt()?;
                Ok(trial.record.achieved_rate)
            };
            let Some(limit) = limit else {
                run(share)?;
                continue;
            };
            let warming = until_steady(limit / parts, share.max(SLICE_MIN), run)?;
            warmed = Some(warmed.map_or(warming, |all| all.and(warming)));
        }
        if let Some(warming) = &warmed {
            let server = super::label(self.experiment, racer);
            (self.news)(&News::Warm { server, warming });
        }
        Ok(warmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_s(1);

    /// What comes of rates by slice, of which the last goes on.
    fn warmed(rates: &[f64], limit: u64) -> Warming {
        let mut slices = rates.iter().copied();
        let last = *rates.last().unwrap();
        let run = |slice| {
            assert_eq!(slice, SECOND);
            Ok(slices.next().unwrap_or(last))
        };
        until_steady(Span::from_s(limit), SECOND, run).unwrap()
    }

    #[test]
    fn a_server_that_is_steady_needs_four_slices() {
        let warming = warmed(&[1000.0, 990.0, 1015.0, 1029.0], 30);
        assert_eq!((warming.took, warming.is_steady), (SECOND * 4, true));
    }

    #[test]
    fn one_that_gets_faster_is_warmed_up_until_it_does_no_more() {
        let warming = warmed(&[100.0, 300.0, 500.0, 600.0, 640.0], 30);
        // Three slices after the last one that brought something.
        assert_eq!((warming.took, warming.is_steady), (SECOND * 8, true));
        assert!((warming.gain - 6.4).abs() < 1e-9, "{warming:?}");
        // A slow slice between does not end it.
        let warming = warmed(&[100.0, 300.0, 100.0, 600.0, 601.0], 30);
        assert_eq!((warming.took, warming.is_steady), (SECOND * 7, true));
    }

    #[test]
    fn what_is_never_steady_ends_with_the_limit() {
        let rates: Vec<f64> = (0..40).map(|slice| 1.1_f64.powi(slice)).collect();
        let warming = warmed(&rates, 30);
        assert_eq!((warming.took, warming.is_steady), (SECOND * 30, false));
        // One that answers nothing gets no faster.
        assert!(warmed(&[0.0], 30).is_steady);
        assert_eq!(warmed(&[0.0], 2).took, SECOND * 2);
    }
}
