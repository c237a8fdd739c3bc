//! What a generator measured: counters and distributions, in total and per interval.
//!
//! Each worker keeps one record of its own; [`Record::merge`] adds them up and is associative and
//! commutative, so the order in which workers or machines report does not matter.

mod class;
mod interval;
mod lookup;
mod page;
mod recovery;
mod reference;
mod slowed;
mod split;
mod thin;
mod users;
mod worker;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::coding::{self, Codings, Decoded};
use crate::distribution::Distribution;
use crate::http2::Http2Record;
use crate::outcome::{Outcome, OutcomeCounts};
use crate::quic::QuicRecord;
use crate::tls::TlsRecord;
use crate::units::{Bytes, Span};

pub use class::Class;
pub use interval::{Interval, coarsen};
pub use lookup::Lookup;
pub use page::{Page, page_times};
pub use recovery::Recovery;
pub use reference::{DecodedContent, Reference};
pub use slowed::Slowed;
pub use split::TimeSplit;
pub use users::UsersRecord;
pub use worker::{Outage, Worker};

/// At most so many intervals are kept; when full, neighbours merge and the interval doubles.
pub const INTERVALS_MAX: usize = 600;

/// Connections by what became of them.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConnectionCounts {
    /// Connects begun.
    pub asked: u64,
    /// Connects that succeeded.
    pub established: u64,
    /// Connects that failed, for any reason.
    pub failed: u64,
    /// Closed by us: after the last request the plan allows, or at the end.
    pub closed_by_client: u64,
    /// Closed by the server after a complete answer.
    pub closed_by_server: u64,
    /// Closed or reset by the server, or given up by us, with an exchange under way.
    pub broken: u64,
    /// Connects that had to wait because the one before them failed or broke.
    pub backed_off: u64,
}

impl ConnectionCounts {
    /// Adds the counts of `other`.
    pub const fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.established += other.established;
        self.failed += other.failed;
        self.closed_by_client += other.closed_by_client;
        self.closed_by_server += other.closed_by_server;
        self.broken += other.broken;
        self.backed_off += other.backed_off;
    }
}

/// Counters that add up, over one interval, one phase or the whole.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tally {
    /// Exchanges by how they ended.
    pub outcomes: OutcomeCounts,
    /// Arrivals: exchanges that became due.
    pub due: u64,
    /// Exchanges whose first byte was handed to the kernel.
    pub sent: u64,
    /// Bytes sent, as the kernel took them, without TCP/IP headers.
    pub bytes_sent: Bytes,
    /// Bytes received, heads and framing included, without TCP/IP headers.
    pub bytes_received: Bytes,
    /// Content bytes of right answers: what goodput counts.
    pub bytes_content: Bytes,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Answers that asked to close the connection (`Connection: close` or HTTP/1.0).
    pub close_announced: u64,
    /// Answers that sent elsewhere (301, 302, 303, 307 and 308), by when they came.
    #[serde(default, skip_serializing_if = "is_none")]
    pub redirects: u64,
    /// Of those, how many were followed: their exchanges went on.
    #[serde(default, skip_serializing_if = "is_none")]
    pub followed: u64,
    /// Of the timeouts, those whose stream was cancelled alone: the connection went on.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cancelled: u64,
    /// Open loop: what passed in this phase, whenever it was due. In a closed loop an exchange is
    /// of the phase in which it ended, so that the counts above say it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Passed>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What passed between generator and server in a phase, whenever it was due: rates, and costs per
/// exchange, are of this. An overloaded server answers arrivals of long ago.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Passed {
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Exchanges that had been sent and ended, right or wrong.
    pub ended: u64,
    /// Right answers.
    pub right: u64,
    /// Content bytes of right answers.
    pub content: Bytes,
    /// Service times of those that ended, summed up.
    #[serde(rename = "service_ns")]
    pub service: Span,
}

impl Passed {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.ended += other.ended;
        self.right += other.right;
        self.content += other.content;
        self.service += other.service;
    }
}

impl Tally {
    /// Requests handed to the kernel in this phase.
    pub fn sent_in_it(&self) -> u64 {
        self.passed.map_or(self.sent, |passed| passed.sent)
    }

    /// Exchanges that had been sent and ended in this phase, right or wrong: what the server's
    /// work in it was for.
    pub fn ended_in_it(&self) -> u64 {
        self.passed.map_or(self.sent, |passed| passed.ended)
    }

    /// Right answers that came in this phase.
    pub fn right_in_it(&self) -> u64 {
        self.passed
            .map_or(self.outcomes[Outcome::Ok], |passed| passed.right)
    }

    /// Their content.
    pub fn content_in_it(&self) -> Bytes {
        self.passed
            .map_or(self.bytes_content, |passed| passed.content)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.outcomes.merge(&other.outcomes);
        self.due += other.due;
        self.sent += other.sent;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.bytes_content += other.bytes_content;
        self.connections.merge(&other.connections);
        self.close_announced += other.close_announced;
        self.redirects += other.redirects;
        self.followed += other.followed;
        self.cancelled += other.cancelled;
        if let Some(passed) = &other.passed {
            self.passed.get_or_insert_default().merge(passed);
        }
    }
}

/// The first exchange that ended in some way, told for people.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Example {
    /// How it ended.
    pub outcome: Outcome,
    /// What was seen: "status 503 instead of 200", "connection reset after 120 bytes".
    pub text: String,
    /// The name of the request that it was, where there are several; none if it never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// When, from the start of the measured window; none outside it.
    #[serde(rename = "at_ns")]
    pub at: Option<Span>,
}

impl Example {
    /// What was seen, and of which request.
    pub fn told(&self) -> String {
        match &self.request {
            Some(name) => format!("'{name}': {}", self.text),
            None => self.text.clone(),
        }
    }
}

/// One raw exchange, kept on request. Instants in nanoseconds from the start of the window.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sample {
    /// Its position in the worker's sequence.
    pub index: u64,
    /// Which worker.
    pub worker: u32,
    /// Connections open in that worker when it was sent.
    pub open_connections: u32,
    /// When it became due.
    pub due_ns: i64,
    /// When a connection was free for it.
    pub ready_ns: i64,
    /// Just before it was handed to the kernel.
    pub sent_ns: Option<i64>,
    /// When the first byte of the answer was read.
    pub first_byte_ns: Option<i64>,
    /// When it ended.
    pub ended_ns: i64,
    /// How long the connect took that carried it, if it was the first on its connection, or that
    /// failed, if it waited for that one.
    pub connect_ns: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a generator measured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// The measured window, as it really was.
    #[serde(rename = "window_ns")]
    pub window: Span,
    /// What counted. An exchange belongs to the window of an open loop if it became due in it, and
    /// to that of a closed loop if it ended in it; bytes and connections if they were seen in it.
    pub total: Tally,
    /// The reference fetches before the run.
    pub reference_phase: Tally,
    /// The same load before the window.
    pub warmup_phase: Tally,
    /// After the window: what was still under way then and was waited for.
    pub drain_phase: Tally,
    /// Exchanges completed with a right answer per second of the window.
    pub achieved_rate: f64,
    /// Content bytes of right answers per second of the window.
    pub goodput: f64,
    /// Ended − due, of right answers.
    pub response_time: Distribution,
    /// Ended − sent, of right answers.
    pub service_time: Distribution,
    /// Ready − due: no connection was free.
    pub blocked_time: Distribution,
    /// Sent − ready: the generator's own doing. Where a user had no connection yet, how late it
    /// began to make one belongs here, and not to the blocked time.
    pub late_time: Distribution,
    /// How the name of the host was looked up; none where the plan gives an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
    /// From the connect call to the established connection, or through a proxy to the tunnel, over
    /// the whole run: most connects happen before the window.
    pub connect_time: Distribution,
    /// The TLS handshake: from the established connection to the end of the handshake, over the
    /// whole run. With HTTP/3 the handshake of QUIC, which is that of TLS too.
    pub tls_time: Distribution,
    /// What was negotiated on the connections; none where they are in clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsRecord>,
    /// What HTTP/2 did; none where connections speak HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2Record>,
    /// What QUIC did; none where connections do not speak HTTP/3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicRecord>,
    /// First byte − sent, of right answers.
    pub first_byte_time: Distribution,
    /// Ended − first byte, of right answers: 0 where all of it came at once.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub transfer_time: Distribution,
    /// Complete answers with the expected status in the window, by how they were encoded.
    #[serde(default, skip_serializing_if = "Codings::is_empty")]
    pub codings: Codings,
    /// Of encoded answers, those that were decoded over the whole run; none where the plan decodes
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<Decoded>,
    /// Each request, in the order of the plan, where it has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Each page of users who ask for parts together, in the order of their script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<Page>,
    /// The window cut into stretches.
    pub intervals: Vec<Interval>,
    /// Each worker.
    pub workers: Vec<Worker>,
    /// Connections that were established from each source address of the plan over the whole run,
    /// in the plan's order; empty where it names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections_from: Vec<u64>,
    /// What slow connections did; none where the plan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<Slowed>,
    /// Where response times went, by the kernel's own times; none where the plan asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<TimeSplit>,
    /// What became of users who came; none where all are there from the beginning to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UsersRecord>,
    /// The first example of each way to fail.
    pub examples: Vec<Example>,
    /// Answers in the window with a status that is not the expected one, by their status.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wrong_statuses: BTreeMap<u16, u64>,
    /// What answers were compared with.
    pub reference: Option<Reference>,
    /// Most arrivals that ever waited at once, summed over workers.
    pub backlog_max: u64,
    /// `uring` or `readiness`.
    pub backend: String,
    /// The finest wait that backend can make.
    #[serde(rename = "wait_resolution_ns")]
    pub wait_resolution: Span,
    /// What a reader must know: a fallback taken, a check given up.
    pub notes: Vec<String>,
    /// Whether it was cut short by a signal.
    pub interrupted: bool,
    /// Raw exchanges, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Raw exchanges that found no room.
    #[serde(default)]
    pub samples_dropped: u64,
}

impl Record {
    /// Whether it was interrupted before its window began.
    pub const fn measured_nothing(&self) -> bool {
        self.interrupted && self.window.is_zero()
    }

    /// From how many source addresses connections were established; none where the kernel chose
    /// them.
    pub fn sources_used(&self) -> Option<u64> {
        let used = self.connections_from.iter().filter(|count| **count > 0);
        (!self.connections_from.is_empty()).then(|| used.count() as u64)
    }

    /// The busiest worker, and its busy share. Of workers that are pinned to one CPU it is that of
    /// all of them together, for none can be busy while another is.
    pub fn busiest_worker(&self) -> Option<(&Worker, f64)> {
        let share = |worker: &Worker| {
            let own = worker.busy_share()?;
            let together: f64 = self.beside(worker).filter_map(Worker::busy_share).sum();
            Some(together.min(1.0).max(own))
        };
        self.workers
            .iter()
            .filter_map(|worker| Some((worker, share(worker)?)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// The workers that are pinned to the CPU of `worker`, on the same machine, itself included;
    /// none where it is pinned to none.
    pub fn beside<'a>(&'a self, worker: &'a Worker) -> impl Iterator<Item = &'a Worker> {
        let workers = self.workers.iter();
        workers.filter(|other| {
            worker.cpu.is_some() && (other.cpu, &other.agent) == (worker.cpu, &worker.agent)
        })
    }

    /// Adds what another worker or machine measured over the same window.
    pub fn merge(&mut self, other: Self) {
        self.window = self.window.max(other.window);
        for (mine, theirs) in [
            (&mut self.total, &other.total),
            (&mut self.reference_phase, &other.reference_phase),
            (&mut self.warmup_phase, &other.warmup_phase),
            (&mut self.drain_phase, &other.drain_phase),
        ] {
            mine.merge(theirs);
        }
        for (mine, theirs) in [
            (&mut self.response_time, &other.response_time),
            (&mut self.service_time, &other.service_time),
            (&mut self.blocked_time, &other.blocked_time),
            (&mut self.late_time, &other.late_time),
            (&mut self.connect_time, &other.connect_time),
            (&mut self.tls_time, &other.tls_time),
            (&mut self.first_byte_time, &other.first_byte_time),
            (&mut self.transfer_time, &other.transfer_time),
        ] {
            mine.merge(theirs);
        }
        coding::merge(&mut self.codings, &other.codings);
        add(&mut self.decoded, other.decoded, Decoded::merge);
        add(&mut self.lookup, other.lookup, Lookup::merge);
        add(&mut self.slowed, other.slowed, Slowed::merge);
        add(&mut self.split, other.split, TimeSplit::merge);
        add(&mut self.users, other.users, UsersRecord::merge);
        add(&mut self.tls, other.tls, TlsRecord::merge);
        add(&mut self.http2, other.http2, Http2Record::merge);
        add(&mut self.quic, other.quic, QuicRecord::merge);
        interval::merge(&mut self.intervals, other.intervals);
        if self.classes.is_empty() {
            self.classes = other.classes;
        } else {
            for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
                mine.merge(theirs);
            }
        }
        page::merge(&mut self.pages, other.pages);
        self.workers.extend(other.workers);
        self.workers.sort_by_key(|worker| worker.index);
        let most = self
            .connections_from
            .len()
            .max(other.connections_from.len());
        self.connections_from.resize(most, 0);
        for (mine, theirs) in self.connections_from.iter_mut().zip(other.connections_from) {
            *mine += theirs;
        }
        for example in other.examples {
            self.add_example(example);
        }
        for (status, count) in other.wrong_statuses {
            *self.wrong_statuses.entry(status).or_default() += count;
        }
        self.reference = self.reference.take().or(other.reference);
        self.backlog_max += other.backlog_max;
        if self.backend.is_empty() {
            self.backend = other.backend;
        }
        self.wait_resolution = self.wait_resolution.max(other.wait_resolution);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.interrupted |= other.interrupted;
        self.samples.extend(other.samples);
        self.samples_dropped += other.samples_dropped;
        self.rate_it();
    }

    /// Computes the rates from the counts and the window.
    #[expect(clippy::cast_precision_loss, reason = "rates are for reading")]
    pub fn rate_it(&mut self) {
        let seconds = self.window.as_s_f64();
        if seconds > 0.0 {
            self.achieved_rate = self.total.right_in_it() as f64 / seconds;
            self.goodput = self.total.content_in_it().count() as f64 / seconds;
        }
    }

    /// Keeps `example` unless one with its outcome is there already from earlier.
    fn add_example(&mut self, example: Example) {
        match self
            .examples
            .iter_mut()
            .find(|mine| mine.outcome == example.outcome)
        {
            Some(mine) if example.at < mine.at => *mine = example,
            Some(_) => {}
            None => {
                self.examples.push(example);
                self.examples.sort_by_key(|mine| mine.outcome as u8);
            }
        }
    }
}

/// Adds `theirs` to `mine`, where there is any.
fn add<T: Default>(mine: &mut Option<T>, theirs: Option<T>, merge: impl FnOnce(&mut T, T)) {
    if let Some(theirs) = theirs {
        merge(mine.get_or_insert_default(), theirs);
    }
}

#[cfg(test)]
mod tests;
