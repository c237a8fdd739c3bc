//! The beginning, the edges of the window and the end of a run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::event::Phase;
use model::http2::Http2Record;
use model::quic::QuicRecord;
use model::record::Record;
use model::tls::TlsRecord;
use model::units::{Instant, Span};
use sys::reactor::{Reactor, Stored};
use wire::Client;

use super::{Backlog, Gathered, Nap, Renewal, Share, Slowness, Split, TURN, Worker};
use crate::decoding::Decoder;
use crate::exchange::Cause;
use crate::hooks::Hooks;
use crate::pool::{self, Pool};
use crate::preamble::Preamble;
use crate::recorder::{self, Recorder};
use crate::request::Requests;
use crate::schedule::Schedule;
use crate::thread_usage::ThreadUsage;
use crate::users::Users;

/// How long what is under way may go on after a signal.
const INTERRUPTED_TIME: Span = Span::from_ms(500);

/// The parts that a worker is made of.
pub(crate) struct Parts<C: Client, R> {
    pub(crate) share: Share,
    pub(crate) reactor: R,
    /// What the connections to each of the servers have in common.
    pub(crate) shared: Box<[C::Shared]>,
    pub(crate) preamble: Option<Preamble>,
    pub(crate) requests: Requests,
    /// What reports call the requests.
    pub(crate) names: Box<[String]>,
    pub(crate) schedule: Schedule,
    pub(crate) users: Option<Users>,
    pub(crate) renewal: Option<Box<Renewal>>,
    pub(crate) slow: Option<Box<Slowness>>,
    pub(crate) split: Option<Box<Split>>,
    pub(crate) hooks: Option<Box<Hooks>>,
    pub(crate) recorder: recorder::Settings,
    pub(crate) pool: pool::Settings,
    pub(crate) stop: Arc<AtomicBool>,
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Everything that the loop needs is allocated here, before the start is set.
    pub(crate) fn new(parts: Parts<C, R>) -> Self {
        let Parts {
            share,
            mut reactor,
            shared,
            preamble,
            requests,
            names,
            schedule,
            users,
            renewal,
            slow,
            split,
            hooks,
            recorder,
            pool,
            stop,
        } = parts;
        let longest = hooks.as_ref().map_or(0, |hooks| hooks.longest());
        let connections = pool.connections as usize;
        let exchanges = connections * pool.capacity as usize;
        let is_plain = !C::GATHERS && !C::DATAGRAMS && slow.is_none();
        let gathers =
            is_plain && pool.capacity > 1 && !hooks.as_deref().is_some_and(Hooks::follows);
        let longest_fixed = requests.all().map(|one| one.h1_bytes().len()).max();
        let longest_of_all = longest.max(longest_fixed.unwrap_or(0));
        Self {
            stored: store(&mut reactor, &requests),
            names,
            // Each exchange under way may come back.
            again: VecDeque::with_capacity(exchanges),
            backlog: Backlog::new(pool.targets.len(), share.backlog),
            backlog_max: 0,
            backlog_at_start: 0,
            unstamped: Vec::with_capacity(connections + exchanges),
            gathering: Vec::with_capacity(if C::GATHERS { connections } else { 0 }),
            gathered: gathers.then(|| Gathered::new(pool.capacity, longest_of_all)),
            stalled: VecDeque::with_capacity(connections),
            // One of each user, and where there are several servers, one of each connection.
            to_share: Vec::with_capacity(users.as_ref().map_or(0, |_| connections)),
            to_leave: Vec::with_capacity(users.as_ref().map_or(0, Users::len)),
            out: Vec::with_capacity(longest.max(4_096)),
            start: Instant::FAR_FUTURE,
            stalled_until: Instant::FAR_FUTURE,
            fresh: 0,
            fresh_end: pool.connections,
            remaining: u64::MAX,
            phase: Phase::Warmup,
            stopping: false,
            swept: 0,
            give_up: Instant::FAR_FUTURE,
            interrupted: false,
            last_end: Instant::ZERO,
            batch_start: None,
            recorder: Recorder::new(recorder),
            usage: ThreadUsage::new(),
            nap: Nap::new(),
            pool: Pool::new(pool, reactor.slots()),
            share,
            reactor,
            shared,
            preamble,
            requests,
            schedule,
            users,
            renewal,
            slow,
            split,
            hooks,
            stop,
        }
    }

    /// The run begins at `start`, which is now or soon.
    pub(super) fn begin_run(&mut self, start: Instant) {
        self.start = start;
        let window_start = start + self.share.warmup;
        self.last_end = window_start;
        if !self.share.open_loop {
            let count = self.share.count.filter(|_| self.share.warmup.is_zero());
            self.remaining = count.unwrap_or(u64::MAX);
            let users = self.users.as_ref();
            let each = u64::from(users.map_or(1, Users::each));
            let seats = u64::from(self.pool.len()) / each;
            let first = seats.min(self.remaining) * each;
            if self.share.chains {
                self.remaining -= first;
            }
            self.fresh_end = u32::try_from(first).unwrap_or(u32::MAX);
        }
        if let Some(renewal) = &mut self.renewal {
            renewal.begin(start);
        }
        self.recorder.begin(window_start);
        self.schedule.begin(start);
        if let Some(coming) = self.users.as_mut().and_then(Users::coming) {
            coming.begin(start);
        }
        let mut now = self.reactor.now();
        while now < start {
            now = self.reactor.wait(start);
        }
        self.enter_phases(now);
        self.dial(now);
    }

    /// When something of our own has to be done; none when all is over.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let all_claimed = self.remaining == 0 && self.fresh == self.fresh_end;
        let nothing_comes = self.stopping || all_claimed || self.schedule_is_over();
        let mut window_over = Instant::FAR_FUTURE;
        if nothing_comes && self.recorder.outstanding() == 0 && self.window_may_end() {
            if self.phase == Phase::Drain || self.schedule.over() <= self.reactor.now() {
                return None;
            }
            window_over = self.schedule.over();
        }
        if self.stopping && (self.has_waiting() || self.swept < self.pool.len()) {
            // The rest of what waits is given up in the next turn.
            return Some(self.start);
        }
        if !self.to_share.is_empty() {
            return Some(self.start);
        }
        // Who has no connection for what is due need not wake up for it.
        let next_due = self.schedule.next().filter(|_| !self.is_behind());
        let wakeup = self
            .recorder
            .boundary()
            .min(next_due.unwrap_or(window_over))
            .min(self.next_user())
            .min(self.pool.alarms.next())
            .min(self.pool.half_closed.next())
            .min(self.pool.dial_again)
            .min(self.stalled_until)
            .min(self.next_overdue())
            .min(
                self.slow
                    .as_ref()
                    .map_or(Instant::FAR_FUTURE, |slow| slow.next()),
            )
            .min(self.give_up);
        Some(wakeup)
    }

    /// When the next user comes, if one does.
    fn next_user(&self) -> Instant {
        match &self.users {
            Some(users) if self.has_users() => users.next_comes(),
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Whether an open loop has nothing more to send.
    pub(super) fn schedule_is_over(&self) -> bool {
        self.share.open_loop && self.schedule.next().is_none() && !self.has_waiting()
    }

    /// A window of fixed length lasts until its end, whatever happens in it.
    fn window_may_end(&self) -> bool {
        self.share.count.is_some() || self.phase == Phase::Drain
    }

    /// Crosses the edges of phases that time has come to, and looks whether a signal came.
    pub(super) fn enter_phases(&mut self, now: Instant) {
        self.recorder.roll(now);
        if let Some(hooks) = &mut self.hooks {
            hooks.begin_turn(now);
        }
        if self.stop.load(Ordering::Relaxed) && !self.interrupted {
            self.interrupted = true;
            self.give_up = now + INTERRUPTED_TIME;
            self.schedule.cut(now);
            if let Some(coming) = self.users.as_mut().and_then(Users::coming) {
                coming.cut(now);
            }
            self.recorder.end_window(now);
        }
        self.heed_author(now);
        if let Some(deadline) = self.share.deadline {
            self.shed_overdue(now, deadline);
        }
        let before = std::mem::replace(&mut self.phase, self.recorder.phase());
        let after = self.phase;
        if before == Phase::Warmup && after != Phase::Warmup {
            self.usage.start(&self.reactor);
            self.backlog_at_start = self.backlog.len();
            if let Some(count) = self.share.count.filter(|_| !self.share.open_loop) {
                // Users who think ask for themselves.
                let chains = self.share.chains.then_some(self.fresh_end - self.fresh);
                let to_come = u64::from(chains.unwrap_or(0));
                self.remaining = count.saturating_sub(self.recorder.outstanding() + to_come);
            }
        }
        if before != Phase::Drain && after == Phase::Drain {
            self.usage.end(&self.reactor);
            self.stopping = true;
        }
    }

    /// The window is over: what was not sent yet never will be. Each turn gives up a part of it.
    pub(super) fn give_up_waiting(&mut self, now: Instant) {
        self.shed_due(now);
        for _ in 0..TURN {
            let mut hosts = 0..self.pool.hosts();
            let Some(arrival) = hosts.find_map(|host| self.take_waiting(host)) else {
                break;
            };
            self.never_sent(arrival, now, self.cause_of_giving_up());
        }
        for _ in 0..TURN {
            if self.swept == self.pool.len() {
                return;
            }
            let place = self.swept;
            if self.is_bare() && self.pool.securing(place).is_some() {
                // Its handshake is the exchange, and is under way.
                self.swept += 1;
                continue;
            }
            while let Some(due) = self.take_unsent(place) {
                self.never_sent(self.arrival(place, due), now, Cause::Unfinished);
            }
            self.swept += 1;
        }
    }

    /// Takes what waits for the connection in `place`, or is to be asked again on it.
    fn take_unsent(&mut self, place: u32) -> Option<Instant> {
        let pending = self.pool.take_pending(place);
        pending.or_else(|| self.users.as_mut()?.take_again(place))
    }

    fn cause_of_giving_up(&self) -> Cause {
        if self.share.open_loop {
            Cause::ShedAtEnd
        } else {
            Cause::Unfinished
        }
    }

    /// All that is due is given up, however much it is: the backlog is full, or the window over.
    pub(super) fn shed_due(&mut self, now: Instant) {
        let cause = if self.stopping {
            Cause::ShedAtEnd
        } else {
            Cause::ShedFull(self.share.backlog)
        };
        self.shed_until(now + Span::from_ns(1), now, cause);
    }

    /// What is due before `end` is given up unsent.
    pub(super) fn shed_until(&mut self, end: Instant, now: Instant, cause: Cause) {
        // What was due before the window began is not mixed with what was due in it.
        for end in [self.recorder.window_start().min(end), end] {
            if let Some(arrivals) = self.schedule.take_all_before(end) {
                self.recorder.shed(&arrivals, now, cause);
                self.last_end = self.last_end.max(now);
            }
        }
    }

    /// What connections to all servers tell together.
    fn told<T>(&self, tell: fn(&C::Shared) -> Option<T>, merge: fn(&mut T, T)) -> Option<T> {
        let all = self.shared.iter().filter_map(tell);
        all.reduce(|mut one, other| {
            merge(&mut one, other);
            one
        })
    }

    /// Closes everything and writes the record. It goes over all connections at once: this worker's
    /// last exchange has ended, others have threads of their own, and the kernel would close what
    /// is open at the end of the process in the same way.
    pub(super) fn finish(mut self) -> Record {
        let now = self.reactor.now();
        let ended_by_count = self.share.count.is_some() && self.phase != Phase::Drain;
        let end = if ended_by_count && !self.interrupted {
            self.last_end.max(self.schedule.over())
        } else {
            now
        };
        self.recorder.end_window(end);
        self.usage.end(&self.reactor);
        for place in 0..self.pool.len() {
            self.say_farewell(place, now);
        }
        self.pool
            .close_all(now, &mut self.reactor, &mut self.recorder);
        self.reactor.submit();
        let tls = self.told(C::tell, TlsRecord::merge);
        let http2 = self.told(C::tell_http2, Http2Record::merge);
        let quic = self.told(C::tell_quic, QuicRecord::merge);
        let names = self.names.iter().map(String::as_str);
        let [full_time, resumed_time, early_time] = self.recorder.take_handshakes();
        let mut record = self.recorder.finish(now, names);
        for time in [&full_time, &resumed_time, &early_time] {
            record.tls_time.merge(time);
        }
        record.tls = tls.map(|tls| TlsRecord {
            full_time,
            resumed_time,
            early_time,
            ..tls
        });
        let decoder = self.hooks.as_ref().and_then(|hooks| hooks.decoder.as_ref());
        record.decoded = decoder.map(Decoder::told);
        let pages = self.hooks.as_mut().and_then(|hooks| hooks.pages.as_mut());
        record.pages = pages.map_or_else(Vec::new, |pages| pages.tell(&self.names));
        record.split = self.split.as_mut().map(|split| split.told());
        record.slowed = self.slow.as_ref().map(|slow| slow.told());
        let coming = self.users.as_mut().and_then(Users::coming);
        record.users = coming.map(|coming| coming.tell(end));
        record.http2 = http2;
        record.quic = quic;
        record.backend = self.reactor.name().to_owned();
        record.wait_resolution = self.reactor.wait_resolution();
        record.connections_from = self.pool.connections_from();
        record.backlog_max = self.backlog_max as u64;
        record.interrupted = self.interrupted;
        if self.backlog_at_start > self.pool.len() as usize {
            record.notes.push(
                "arrivals of the warm-up were still waiting when the window began: the server \
                 could not keep up, and answering them took part of the window"
                    .to_owned(),
            );
        }
        if self.hooks.as_ref().is_some_and(|hooks| hooks.has_stopped()) {
            record.notes.push(
                "the Lua script stopped a thread (thread:stop): from then on it asked nothing, and \
                 the rates are those of the whole window"
                    .to_owned(),
            );
        }
        for worker in &mut record.workers {
            worker.connections = self.pool.len();
            worker.cpu = None;
            worker.thread_id = sys::cpu::thread_id();
            self.usage.fill(worker);
        }
        record
    }
}

/// The bytes of each request, by its id, where `reactor` keeps them. Those that are sent most are
/// stored first, one behind the other: so a cache holds more of them.
fn store<R: Reactor>(reactor: &mut R, requests: &Requests) -> Box<[Stored]> {
    let mut those = |closes: bool| -> Vec<Stored> {
        let those = requests.all().filter(|one| one.closes() == closes);
        those
            .map(|one| reactor.store(one.h1_bytes().to_vec()))
            .collect()
    };
    let (keep, last) = (those(false), those(true));
    let both = keep.into_iter().zip(last);
    both.flat_map(|(keep, last)| [keep, last]).collect()
}
