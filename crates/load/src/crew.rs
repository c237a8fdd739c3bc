//! The workers of a run: how they are prepared, start together, are watched, and what they leave.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;

use model::plan::Plan;
use model::record::Record;
use model::units::Instant;
use sys::clock;
use sys::reactor::{Reactor, Settings, Waker};

use crate::apart::Patience;
use crate::assembly;
use crate::author::{Asked, Failure, Seat};
use crate::observer::Observer;
use crate::progress::Progress;
use crate::reference::Findings;
use crate::run::{LoadError, Notice, Part};
use crate::speak::{Speak, room};
use crate::worker::Worker;

/// The thread of a worker.
type Handle<'scope> = thread::ScopedJoinHandle<'scope, io::Result<Record>>;

/// How the watch over a run ended.
pub(crate) struct Watched {
    /// When the run was stopped, if it was.
    pub(crate) stopped: Option<Instant>,
    /// The call that the author of each worker was at, where there are any.
    calls: Vec<u64>,
}

/// What the workers of a run have in common.
pub(crate) struct Crew<'a, S> {
    /// What connections speak to each of the servers.
    speak: &'a [S],
    plan: &'a Plan,
    /// The number of the first of them among the workers of the plan.
    first: u32,
    findings: &'a Findings,
    failure: Failure,
    /// What the author of each is asked, where there are any.
    asked: Vec<Arc<Asked>>,
    stop: &'a Arc<AtomicBool>,
    progress: Vec<Arc<Progress>>,
    wakers: Vec<OnceLock<Waker>>,
    /// All workers have what they need, or one of them could not get it.
    ready: Barrier,
    /// One of them could not be prepared: nobody begins.
    failed: AtomicBool,
    /// The start is set.
    go: Barrier,
    start: OnceLock<Instant>,
    /// The thread that watches, to be woken when a worker is done.
    observer: thread::Thread,
}

impl<'a, S: Speak> Crew<'a, S> {
    pub(crate) fn new(
        speak: &'a [S],
        plan: &'a Plan,
        part: &Part<'_>,
        findings: &'a Findings,
        stop: &'a Arc<AtomicBool>,
    ) -> Self {
        let workers = &part.workers;
        let everyone = workers.len() + 1;
        let asked = part.seats.iter().map(|seat| Arc::clone(&seat.asked));
        Self {
            speak,
            plan,
            first: workers.start,
            findings,
            failure: Failure::default(),
            asked: asked.collect(),
            stop,
            progress: workers.clone().map(|_| Arc::default()).collect(),
            wakers: workers.clone().map(|_| OnceLock::new()).collect(),
            ready: Barrier::new(everyone),
            failed: AtomicBool::new(false),
            go: Barrier::new(everyone),
            start: OnceLock::new(),
            observer: thread::current(),
        }
    }

    /// Waits until all workers are ready, and sets the start as `begin` says; none if one of them
    /// could not be prepared.
    pub(crate) fn start_together(&self, begin: &mut dyn FnMut() -> Instant) -> Option<Instant> {
        self.ready.wait();
        let failed = self.failed.load(Ordering::Relaxed);
        let start = (!failed).then(|| *self.start.get_or_init(begin));
        self.go.wait();
        start
    }

    /// Whether the run is to end; then nobody sleeps on.
    fn wake_if_stopped(&self) -> bool {
        let is_stopped = self.stop.load(Ordering::Relaxed);
        if is_stopped {
            self.wakers
                .iter()
                .filter_map(OnceLock::get)
                .for_each(Waker::wake);
        }
        is_stopped
    }

    /// What kept the first of the workers that could not be prepared from it.
    pub(crate) fn first_error(&self, handles: Vec<Handle<'_>>) -> LoadError {
        let mut results = (self.first..)
            .zip(handles)
            .map(|(index, handle)| (index, handle.join().expect("a worker does not panic")));
        let failed = results.find_map(|(index, result)| Some((index, result.err()?)));
        let (index, reason) = failed.expect("one of them could not be prepared");
        self.error_of(index, reason)
    }

    fn error_of(&self, index: u32, reason: io::Error) -> LoadError {
        let cpu = self.plan.cpu_of(index as usize);
        LoadError::Worker {
            index,
            cpu: cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}")),
            reason,
        }
    }

    /// What those have measured who have finished. The others are left behind: of each of them the
    /// call that its author is at.
    ///
    /// An error returns past workers that may never end. There is none once the start is set: what
    /// can fail comes before, and [`Self::first_error`] tells of that.
    pub(crate) fn gather(
        &self,
        handles: Vec<Handle<'_>>,
        watched: &Watched,
    ) -> Result<(Record, Vec<u64>), LoadError> {
        let (mut record, mut left) = (Record::default(), Vec::new());
        for (here, (index, handle)) in (self.first..).zip(handles).enumerate() {
            if handle.is_finished() {
                let part = handle.join().expect("a worker does not panic");
                record.merge(part.map_err(|reason| self.error_of(index, reason))?);
            } else {
                self.asked[here].leave_behind();
                left.push(watched.calls[here]);
            }
        }
        Ok((record, left))
    }

    /// Watches until all have finished, or those who have not do not return.
    pub(crate) fn watch(
        &self,
        handles: &[Handle<'_>],
        start: Instant,
        notice: &mut dyn FnMut(Option<Notice>),
    ) -> Watched {
        let mut stopped = None;
        let mut patience = Patience::new(self.plan, start, &self.asked);
        Observer::new(self.plan, start, &self.progress).watch(notice, || {
            let now = clock::monotonic();
            if self.wake_if_stopped() {
                stopped.get_or_insert(now);
            }
            let is_finished = |worker: usize| handles[worker].is_finished();
            (0..handles.len()).all(is_finished) || patience.is_over(is_finished, stopped, now)
        });
        let calls = patience.into_calls();
        Watched { stopped, calls }
    }

    /// What was measured but by those workers, whose authors do not return.
    pub(crate) fn without(
        &self,
        left: &[u64],
        mut record: Record,
        stopped: Option<Instant>,
    ) -> Result<Record, LoadError> {
        let lua = self.plan.file().lua.as_ref();
        let name = lua.map_or("", |lua| lua.name.as_str());
        let function = Asked::function(left.first().copied().unwrap_or_default());
        if left.len() == self.wakers.len() {
            return Err(LoadError::Author(format!(
                "{name}: {function} did not return (a loop without an end?), so that nothing is \
                 known of this run"
            )));
        }
        let (left, all) = (left.len(), self.wakers.len());
        record.interrupted |= stopped.is_some();
        record.notes.push(format!(
            "the Lua script {name} did not return from {function} on {left} of {all} threads (a \
             loop without an end?): what they had measured is lost, and the numbers are those of \
             the others alone"
        ));
        self.complete(record, stopped)
    }

    /// What workers have measured, with what was known before: the run may have been `stopped`.
    pub(crate) fn complete(
        &self,
        mut record: Record,
        stopped: Option<Instant>,
    ) -> Result<Record, LoadError> {
        if record.measured_nothing() {
            let start = self.start.get().copied().unwrap_or(Instant::FAR_FUTURE);
            let when = match stopped {
                Some(at) if at > start => {
                    let (after, warmup) = (at - start, self.plan.file().warmup);
                    format!("during the warm-up, after {after} of {warmup}")
                }
                _ => "before the warm-up".to_owned(),
            };
            let note = format!("interrupted {when}: nothing was measured");
            record.notes.push(note);
        }
        if let Some(mistake) = self.failure.get() {
            return Err(LoadError::Author(mistake.clone()));
        }
        let Findings {
            references,
            tally,
            notes,
            ..
        } = self.findings;
        for interval in &mut record.intervals {
            interval.scheduled = self.plan.scheduled(interval.start, interval.length);
        }
        record.reference_phase = *tally;
        for (class, reference) in record.classes.iter_mut().zip(references) {
            class.reference.clone_from(reference);
        }
        record.reference = references.first().cloned().flatten();
        record.notes.extend(notes.iter().cloned());
        Ok(record)
    }

    /// One worker's life, on its own thread. Where another one could not be prepared, this one has
    /// measured nothing.
    pub(crate) fn work<R: Reactor>(
        &self,
        index: u32,
        seat: Option<Seat>,
        make: &impl Fn(&Settings) -> io::Result<R>,
    ) -> io::Result<Record> {
        let cpu = self.plan.cpu_of(index as usize);
        let prepared = self.prepare(index, seat, cpu, make);
        self.failed.fetch_or(prepared.is_err(), Ordering::Relaxed);
        self.ready.wait();
        self.go.wait();
        let worker = prepared?;
        let Some(start) = self.start.get() else {
            return Ok(Record::default());
        };
        let mut record = worker.run(*start);
        self.observer.unpark();
        for worker in &mut record.workers {
            worker.cpu = cpu;
        }
        Ok(record)
    }

    /// Everything that can fail, and everything that is allocated, before the start is set.
    fn prepare<R: Reactor>(
        &self,
        index: u32,
        seat: Option<Seat>,
        cpu: Option<u32>,
        make: &impl Fn(&Settings) -> io::Result<R>,
    ) -> io::Result<Worker<S::Client, R>> {
        if let Some(cpu) = cpu {
            sys::cpu::pin(cpu)?;
        }
        sys::cpu::set_precise_timers()?;
        let connections = self.plan.connections_of(index);
        let reactor = make(&room(&self.speak[0], connections, self.plan))?;
        let here = (index - self.first) as usize;
        let _first = self.wakers[here].set(reactor.waker()?);
        let progress = Arc::clone(&self.progress[here]);
        let stop = Arc::clone(self.stop);
        let told = (progress, stop);
        Ok(assembly::worker_in(
            self.speak,
            self.plan,
            self.findings,
            index,
            reactor,
            told,
            seat.map(|seat| (seat, Arc::clone(&self.failure))),
        ))
    }
}
