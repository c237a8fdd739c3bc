//! From plan to record: reference, workers, the clock of phases, the merge.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;

use model::Random;
use model::event::Phase;
use model::plan::{Backend, Plan, Protocol};
use model::record::Record;
use model::units::{Instant, Span};
use sys::clock;
use sys::reactor::{Noting, Reactor, Readiness, Settings, Uring, Waker};
use wire::h3;
use wire::tls::Connector;

use crate::assembly;
use crate::author::{Failure, Seat};
pub use crate::error::LoadError;
use crate::limits;
use crate::lookup::{Found, look_up};
use crate::observer::Observer;
use crate::pool::HALF_CLOSED;
use crate::progress::{Progress, Published};
use crate::reference::{self, Findings};
use crate::secure;
use crate::speak::{Http2, Http2InClear, Http3, InClear, Speak, room};
use crate::worker::Worker;

/// From the moment when all workers are ready to the first exchange.
const LEAD: Span = Span::from_ms(2);

/// What the door is told while a run goes on.
#[derive(Debug)]
pub enum Notice {
    /// An interval of the window is over.
    Interval(Published),
    /// A phase began.
    Phase(Phase, Instant),
}

/// The part of a plan that one process has.
pub struct Part<'a> {
    /// Which of the plan's workers.
    pub workers: Range<u32>,
    /// Asked once they are ready, on the thread of [`run_part`]: when the first exchange may be,
    /// on the machine's monotonic clock.
    pub begin: &'a mut dyn FnMut() -> Instant,
    /// What each of the workers is given beside the plan, if anything.
    pub seats: Vec<Seat>,
}

/// Makes the load of `plan` and returns what was measured. `stop`, once set, ends the run early;
/// `notice` is called on this thread:
/// with what happened, and with nothing some fifty times a second.
///
/// # Errors
///
/// Nothing could be measured: see [`LoadError`].
pub fn run(
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    run_led(plan, Vec::new(), stop, notice)
}

/// The same with an author for each worker.
///
/// # Errors
///
/// As [`run`], and where an author makes a mistake.
pub fn run_led(
    plan: &Plan,
    seats: Vec<Seat>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    let whole = Part {
        workers: 0..plan.file().workers,
        begin: &mut || clock::monotonic() + LEAD,
        seats,
    };
    run_part(plan, whole, stop, notice)
}

/// The same with some of the workers: others have the rest in other processes.
///
/// # Errors
///
/// As [`run`].
pub fn run_part(
    plan: &Plan,
    part: Part<'_>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    if let Some(lua) = plan.file().lua_at_work()
        && part.seats.is_empty()
    {
        return Err(LoadError::Author(format!(
            "this plan was run with the Lua script {}, which a plan does not hold: give the \
             script again with --lua",
            lua.name
        )));
    }
    let found = look_up(plan)?;
    limits::check(plan, &part.workers, &found.all())?;
    let Found { targets, lookup } = found;
    let around = (plan, targets.as_slice());
    let mut record = run_to(around, part, stop, notice)?;
    record.lookup = lookup;
    Ok(record)
}

/// The same, where it is known where the servers are.
fn run_to(
    around: (&Plan, &[Vec<SocketAddr>]),
    part: Part<'_>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    let (plan, targets) = around;
    let hosts = targets.len();
    match (secure::connectors(plan)?, plan.file().protocol) {
        (None, Protocol::Http1) => run_in(&vec![InClear; hosts], around, part, stop, notice),
        (None, Protocol::Http2) => run_in(&vec![Http2InClear; hosts], around, part, stop, notice),
        (Some(tls), Protocol::Http1) => run_in::<Connector>(&tls, around, part, stop, notice),
        (Some(tls), Protocol::Http2) => {
            let tls: Vec<Http2> = tls.into_iter().map(Http2).collect();
            run_in(&tls, around, part, stop, notice)
        }
        (None, Protocol::Http3) => Err(LoadError::Tls("HTTP/3 needs an https:// URL".to_owned())),
        (Some(tls), Protocol::Http3) => run_over_datagrams(tls, around, part, stop, notice),
    }
}

/// The same over QUIC: datagrams go over the readiness backend alone.
fn run_over_datagrams(
    tls: Vec<Connector>,
    (plan, targets): (&Plan, &[Vec<SocketAddr>]),
    part: Part<'_>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    for one in &tls {
        let random = Random::stream(plan.file().seed, 0);
        let tried = h3::client::Shared::new(one, 1, 1, random);
        tried.map_err(|error| LoadError::Tls(error.to_string()))?;
    }
    let speak: Vec<Http3> = tls.into_iter().map(Http3).collect();
    let make = |settings: &Settings| Readiness::over_datagrams(settings);
    let around = (speak.as_slice(), plan, targets);
    let mut record = run_on("readiness", make, around, part, stop, notice)?;
    record
        .notes
        .push("HTTP/3 uses epoll, without io_uring".to_owned());
    Ok(record)
}

/// The same, where it is known what connections speak to each of the servers.
fn run_in<S: Speak>(
    speak: &[S],
    (plan, targets): (&Plan, &[Vec<SocketAddr>]),
    part: Part<'_>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    let around = (speak, plan, targets);
    let unix = plan.file().unix_socket.as_deref().map(Path::new);
    let uring = |settings: &Settings| {
        let uring = Uring::new(settings).map_err(io::Error::other)?;
        uring.leading_to(unix)
    };
    let readiness = |settings: &Settings| Readiness::new(settings)?.leading_to(unix);
    let unavailable = match plan.file().backend {
        Backend::Readiness => None,
        Backend::Uring => return run_on("uring", uring, around, part, stop, notice),
        // It receives as long as there is room, and a slow reader would be ahead of its pace.
        Backend::Auto if plan.file().slow.read_bytes_per_s.is_some() => {
            Some("io_uring receives ahead of a slow reader".to_owned())
        }
        Backend::Auto if plan.file().split_one_in.is_some() => {
            Some("it keeps its sockets from who asks when the kernel sent and received".to_owned())
        }
        Backend::Auto => match Uring::new(&settings(1)) {
            Ok(ring) => {
                drop(ring);
                return run_on("uring", uring, around, part, stop, notice);
            }
            Err(unavailable) => Some(unavailable.to_string()),
        },
    };
    let mut record = run_on("readiness", readiness, around, part, stop, notice)?;
    if let Some(reason) = unavailable {
        record.notes.push(format!(
            "epoll is used, which carries less load per CPU than io_uring would: {reason}"
        ));
    }
    Ok(record)
}

/// The same on one backend.
fn run_on<S: Speak, R: Reactor>(
    backend: &'static str,
    make: impl Fn(&Settings) -> io::Result<R> + Clone + Send,
    (speak, plan, targets): (&[S], &Plan, &[Vec<SocketAddr>]),
    part: Part<'_>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    notice(Some(Notice::Phase(Phase::Reference, clock::monotonic())));
    // Where this fails, no exchange has its times, which the record tells.
    let _noting = (plan.file().split_one_in).and_then(|_| Noting::begin().ok());
    let mut reactor =
        make(&room(&speak[0], 4, plan)).map_err(|reason| LoadError::Backend { backend, reason })?;
    let findings = reference::establish_in(speak, &mut reactor, plan, targets, &mut || {
        notice(None);
        stop.load(Ordering::Relaxed)
    })?;
    drop(reactor);
    let crew = Crew::new(speak, plan, &part.workers, &findings, stop);
    let mut seats = part.seats.into_iter();
    let mut record = thread::scope(|scope| {
        let handles: Vec<_> = (part.workers.clone())
            .map(|index| {
                let (crew, make, seat) = (&crew, make.clone(), seats.next());
                scope.spawn(move || crew.work(index, seat, &make))
            })
            .collect();
        let start = crew.start_together(part.begin);
        let mut stopped = None;
        let Some(start) = start else {
            return Err(first_error(plan, part.workers.start, handles));
        };
        Observer::new(plan, start, &crew.progress).watch(notice, || {
            if crew.wake_if_stopped() {
                stopped.get_or_insert_with(clock::monotonic);
            }
            handles.iter().all(thread::ScopedJoinHandle::is_finished)
        });
        let mut record = Record::default();
        for (index, handle) in (part.workers.start..).zip(handles) {
            let part = handle.join().expect("a worker does not panic");
            record.merge(part.map_err(|reason| worker_error(plan, index, reason))?);
        }
        if record.measured_nothing() {
            let when = match stopped {
                Some(at) if at > start => {
                    format!(
                        "during the warm-up, after {} of {}",
                        at - start,
                        plan.file().warmup
                    )
                }
                _ => "before the warm-up".to_owned(),
            };
            record
                .notes
                .push(format!("interrupted {when}: nothing was measured"));
        }
        Ok(record)
    })?;
    if let Some(mistake) = crew.failure.get() {
        return Err(LoadError::Author(mistake.clone()));
    }
    notice(Some(Notice::Phase(Phase::Done, clock::monotonic())));
    for interval in &mut record.intervals {
        interval.scheduled = plan.scheduled(interval.start, interval.length);
    }
    record.reference_phase = findings.tally;
    for (class, reference) in record.classes.iter_mut().zip(&findings.references) {
        class.reference.clone_from(reference);
    }
    record.reference = findings.references.into_iter().next().flatten();
    record.notes.extend(findings.notes);
    Ok(record)
}

/// What kept the first of the workers that could not be prepared from it.
fn first_error(
    plan: &Plan,
    first: u32,
    handles: Vec<thread::ScopedJoinHandle<'_, io::Result<Record>>>,
) -> LoadError {
    let mut results = (first..)
        .zip(handles)
        .map(|(index, handle)| (index, handle.join().expect("a worker does not panic")));
    let failed = results.find_map(|(index, result)| Some((index, result.err()?)));
    let (index, reason) = failed.expect("one of them could not be prepared");
    worker_error(plan, index, reason)
}

fn worker_error(plan: &Plan, index: u32, reason: io::Error) -> LoadError {
    let cpu = plan.cpu_of(index as usize);
    LoadError::Worker {
        index,
        cpu: cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}")),
        reason,
    }
}

/// A reactor's room for so many connections and for those that wait for the server's close.
pub fn settings(connections: u32) -> Settings {
    let half_closed = u32::try_from(HALF_CLOSED).unwrap_or(u32::MAX);
    Settings {
        connections: connections + half_closed.min(connections),
        ..Settings::default()
    }
}

/// What the workers of a run have in common.
struct Crew<'a, S> {
    /// What connections speak to each of the servers.
    speak: &'a [S],
    plan: &'a Plan,
    /// The number of the first of them among the workers of the plan.
    first: u32,
    findings: &'a Findings,
    failure: Failure,
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
    fn new(
        speak: &'a [S],
        plan: &'a Plan,
        workers: &Range<u32>,
        findings: &'a Findings,
        stop: &'a Arc<AtomicBool>,
    ) -> Self {
        let everyone = workers.len() + 1;
        Self {
            speak,
            plan,
            first: workers.start,
            findings,
            failure: Failure::default(),
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
    fn start_together(&self, begin: &mut dyn FnMut() -> Instant) -> Option<Instant> {
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

    /// One worker's life, on its own thread. Where another one could not be prepared, this one has
    /// measured nothing.
    fn work<R: Reactor>(
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
