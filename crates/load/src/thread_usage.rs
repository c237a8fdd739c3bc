//! What the worker's thread itself consumed: read at the edges of the window, never within it.

use model::record;
use model::units::{Instant, Span};
use sys::clock;
use sys::reactor::{Activity, Reactor};

/// One reading.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    activity: Activity,
    cpu_time: Option<Span>,
    runqueue_wait: Option<Span>,
}

/// The readings of one worker at the start and the end of its window.
#[derive(Debug)]
pub(crate) struct ThreadUsage {
    schedule_statistics: Option<sys::cpu::ScheduleStatistics>,
    start: Option<Reading>,
    end: Option<Reading>,
}

impl ThreadUsage {
    /// For the calling thread.
    pub(crate) fn new() -> Self {
        Self {
            schedule_statistics: sys::cpu::ScheduleStatistics::of_this_thread(),
            start: None,
            end: None,
        }
    }

    /// The window begins.
    pub(crate) fn start(&mut self, reactor: &impl Reactor) {
        let reading = self.read(reactor);
        self.start.get_or_insert(reading);
    }

    /// The window ends.
    pub(crate) fn end(&mut self, reactor: &impl Reactor) {
        let reading = self.read(reactor);
        self.end.get_or_insert(reading);
    }

    fn read(&self, reactor: &impl Reactor) -> Reading {
        Reading {
            at: reactor.now(),
            activity: reactor.activity(),
            cpu_time: clock::thread_cpu(),
            runqueue_wait: self
                .schedule_statistics
                .as_ref()
                .and_then(sys::cpu::ScheduleStatistics::runqueue_wait),
        }
    }

    /// Writes what was consumed between the readings into `worker`, scaled to nothing: where the
    /// end of the window was noticed late, `read_over` tells how long the time between them was.
    pub(crate) fn fill(&self, worker: &mut record::Worker) {
        let (Some(start), Some(end)) = (self.start, self.end) else {
            return;
        };
        let window = end.at.saturating_since(start.at);
        let activity = end.activity.since(&start.activity);
        let difference = |end: Option<Span>, start: Option<Span>| Some(end?.saturating_sub(start?));
        worker.busy = activity.busy(window);
        worker.spin = activity.spun;
        worker.batches = activity.batches;
        worker.events = activity.events;
        worker.cpu_time = difference(end.cpu_time, start.cpu_time);
        worker.runqueue_wait = difference(end.runqueue_wait, start.runqueue_wait);
        worker.read_over = (window > worker.window).then_some(window);
    }
}
