//! From plan to record: reference, workers, the clock of phases, the merge.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use model::Random;
use model::event::Phase;
use model::plan::{Backend, Plan, Protocol};
use model::record::Record;
use model::units::{Instant, Span};
use sys::clock;
use sys::reactor::{Noting, Reactor, Readiness, Settings, Uring};
use wire::h3;
use wire::tls::Connector;

use crate::apart::{self, Said};
use crate::author::Seat;
use crate::crew::Crew;
pub use crate::error::LoadError;
use crate::limits;
use crate::lookup::{Found, look_up};
use crate::pool::HALF_CLOSED;
use crate::progress::Published;
use crate::reference;
use crate::secure;
use crate::speak::{Http2, Http2InClear, Http3, InClear, Speak, room};

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
    /// Where the run is left behind, if an author does not return: see [`apart`].
    pub(crate) leave: Option<Sender<Said>>,
}

impl<'a> Part<'a> {
    /// So many of the workers, who have nothing beside the plan and begin as `begin` says.
    pub fn new(workers: Range<u32>, begin: &'a mut dyn FnMut() -> Instant) -> Self {
        Self {
            workers,
            begin,
            seats: Vec::new(),
            leave: None,
        }
    }
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

/// The same with an author for each worker. An author that is at the same call for a second after
/// `stop` was set, or for ten seconds after the time of the run and of its last exchanges, is left
/// behind: what its worker has measured is lost, its thread lives on, and [`Asked::is_left_behind`]
/// says so.
///
/// [`Asked::is_left_behind`]: crate::author::Asked::is_left_behind
///
/// # Errors
///
/// As [`run`], and where an author makes a mistake, or none of them returns.
pub fn run_led(
    plan: &Plan,
    seats: Vec<Seat>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    if seats.iter().any(|seat| seat.author.is_some()) {
        return apart::run(plan, seats, stop, notice);
    }
    run_whole(plan, (seats, None), stop, notice)
}

/// The same on this thread.
pub(crate) fn run_whole(
    plan: &Plan,
    (seats, leave): (Vec<Seat>, Option<Sender<Said>>),
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    let whole = Part {
        workers: 0..plan.file().workers,
        begin: &mut || clock::monotonic() + LEAD,
        seats,
        leave,
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
    let crew = Crew::new(speak, plan, &part, &findings, stop);
    let mut seats = part.seats.into_iter();
    let record = thread::scope(|scope| {
        let handles: Vec<_> = (part.workers.clone())
            .map(|index| {
                let (crew, make, seat) = (&crew, make.clone(), seats.next());
                scope.spawn(move || crew.work(index, seat, &make))
            })
            .collect();
        let Some(start) = crew.start_together(part.begin) else {
            return Err(crew.first_error(handles));
        };
        let watched = crew.watch(&handles, start, notice);
        let (record, left) = crew.gather(handles, &watched)?;
        let stopped = watched.stopped;
        if !left.is_empty()
            && let Some(leave) = part.leave
        {
            notice(Some(Notice::Phase(Phase::Done, clock::monotonic())));
            let made = crew.without(&left, record, stopped);
            // The threads of those end with this process, and this thread waits for them.
            let _unheard = leave.send(Said::Over(Box::new(made)));
            return Ok(Record::default());
        }
        crew.complete(record, stopped)
    })?;
    notice(Some(Notice::Phase(Phase::Done, clock::monotonic())));
    Ok(record)
}

/// A reactor's room for so many connections and for those that wait for the server's close.
pub fn settings(connections: u32) -> Settings {
    let half_closed = u32::try_from(HALF_CLOSED).unwrap_or(u32::MAX);
    Settings {
        connections: connections + half_closed.min(connections),
        ..Settings::default()
    }
}
