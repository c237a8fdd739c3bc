//! Tells the door what happens, while the workers work: phases as their time comes, intervals as
//! the workers publish them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use model::event::Phase;
use model::plan::{Plan, Stop};
use model::units::Instant;
use sys::clock;

use crate::progress::{Progress, Published};
use crate::run::Notice;

/// How often a signal and finished intervals are looked for. Each look can take a worker's CPU for
/// some 10 us; the end of a worker is told at once.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// What the main thread does during a run.
pub(crate) struct Observer<'a> {
    /// Phases to come, the next one last.
    phases: Vec<(Instant, Phase)>,
    progress: &'a [Arc<Progress>],
    /// Intervals told.
    told: u64,
}

impl<'a> Observer<'a> {
    /// For a run of `plan` that begins at `start`.
    pub(crate) fn new(plan: &Plan, start: Instant, progress: &'a [Arc<Progress>]) -> Self {
        let file = plan.file();
        let window_start = start + file.warmup;
        let mut phases = Vec::new();
        if let Stop::DurationNs(span) = file.stop {
            phases.push((window_start + span, Phase::Drain));
        }
        phases.push((window_start, Phase::Measurement));
        if !file.warmup.is_zero() {
            phases.push((start, Phase::Warmup));
        }
        Self {
            phases,
            progress,
            told: 0,
        }
    }

    /// Watches until `is_over`, which is asked every now and then.
    pub(crate) fn watch(
        mut self,
        notice: &mut dyn FnMut(Option<Notice>),
        mut is_over: impl FnMut() -> bool,
    ) {
        loop {
            notice(None);
            let over = is_over();
            let now = clock::monotonic();
            self.tell_phases(now, notice);
            self.tell_intervals(notice);
            if over {
                return;
            }
            let next = self
                .phases
                .last()
                .map_or(Instant::FAR_FUTURE, |(at, _)| *at);
            let until = Duration::from_nanos(next.saturating_since(now).as_ns());
            thread::park_timeout(until.min(LOOK));
        }
    }

    /// Tells the phases that have begun by `now`.
    pub(crate) fn tell_phases(&mut self, now: Instant, notice: &mut dyn FnMut(Option<Notice>)) {
        while let Some((at, phase)) = self.phases.pop_if(|(at, _)| *at <= now) {
            notice(Some(Notice::Phase(phase, at)));
        }
    }

    /// Tells the intervals that all workers have published. One that was overwritten before it was
    /// read is left out: this is for display.
    fn tell_intervals(&mut self, notice: &mut dyn FnMut(Option<Notice>)) {
        let complete = self
            .progress
            .iter()
            .map(|progress| progress.complete())
            .min();
        while self.told < complete.unwrap_or(0) {
            let number = self.told;
            self.told += 1;
            let mut parts = self.progress.iter().map(|progress| progress.read(number));
            let Some(Some(mut whole)) = parts.next() else {
                continue;
            };
            let rest: Option<Vec<Published>> = parts.collect();
            if let Some(rest) = rest {
                rest.iter().for_each(|part| whole.merge(part));
                notice(Some(Notice::Interval(whole)));
            }
        }
    }
}
