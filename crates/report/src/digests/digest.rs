//! One trial, boiled down to what a report shows of it.

use std::collections::{BTreeMap, BTreeSet};

use model::capacity::Answer;
use model::coding::Codings;
use model::finding::Cause;
use model::http2::Http2Record;
use model::point::{ACCESS_LOG, CERTIFICATE, CORES, HANDSHAKE, PROTOCOL, PointId, Values};
use model::quic::QuicRecord;
use model::record::{ConnectionCounts, Example, TimeSplit, UsersRecord};
use model::tls::TlsRecord;
use model::trial::{Ceiling, Server};
use model::usage::GroupUsage;
use model::{Bytes, Claim, OutcomeCounts, Severity, Span, Status, Trial, Verdict};
use verdict::analysis::{Round, Standing};
use verdict::{cause::takers, summary::cpu_per_request};
use verdict::{is_about_likeness, is_bound, is_disturbance};

use super::checked;
use super::framing::framing;
use super::knee::{flat_from, server_busy};
use super::links::{content, kept_alive};
use super::phases::{Phases, phases};
use super::placed::placed;
use super::ramp::Ramp;
use super::recovered::Recovered;
use super::resources::{Resources, generator_us};
use super::sources::{Sources, sources};
use super::stages::InStage;
use super::stalled::Stalled;
use super::steps::{Step, over_all};
use super::stretch::{Stretch, stretches};
use super::time::{Quantiles, Time, quantiles};

/// The quantiles of response time that a spectrum is drawn through, with their names.
pub const QUANTILES: [(f64, &str); 9] = [
    (0.5, "p50"),
    (0.75, "p75"),
    (0.9, "p90"),
    (0.95, "p95"),
    (0.99, "p99"),
    (0.995, "p99.5"),
    (0.999, "p99.9"),
    (0.9995, "p99.95"),
    (0.9999, "p99.99"),
];

/// One trial, boiled down.
#[derive(Clone, Debug)]
pub struct Digest {
    /// Which point it is a round of.
    pub id: PointId,
    /// The round, from 1; 0 where there are no rounds.
    pub round: u32,
    /// Its place in the order of execution.
    pub sequence: u32,
    /// How often its cell had been measured in this round before.
    pub attempt: u32,
    /// Which group of servers it stood among.
    pub group: u32,
    /// Where on the grid it stands, its server apart: the load, and what the server's label does
    /// not tell.
    pub place: Values,
    /// Why it does not count, whatever it measured.
    pub void: Option<Cause>,
    /// Who took its CPUs, each with its CPU time, where it is void.
    pub takers: Vec<(String, Span)>,
    /// Whether its cell was measured again in this round.
    pub repeated: bool,
    /// Whether it measures the ceiling.
    pub ceiling: bool,
    /// When it began, RFC 3339.
    pub time: Option<String>,
    /// Whether arrivals were independent of completions, at a rate that was asked for.
    pub open_loop: bool,
    /// Whether a schedule says how much is asked: of requests, or of users who ask.
    pub is_scheduled: bool,
    /// What users who had come had no answer to when the window ended.
    pub(super) unanswered: u64,
    /// The objective of the search that found its rate, and what it found, where one did.
    pub search: Option<(String, Answer)>,
    /// The measured window in seconds.
    pub window_s: f64,
    /// Right answers per second.
    pub rate: f64,
    /// Content bytes of right answers per second.
    pub goodput: f64,
    /// Response time at each of [`QUANTILES`] that the sample supports.
    response: Quantiles,
    /// Where the time went.
    pub phases: Phases,
    /// Exchanges by how they ended.
    pub outcomes: OutcomeCounts,
    /// Of the timeouts, those that cost no connection.
    pub cancelled: u64,
    /// Answers with a status that is not the expected one, by their status.
    pub wrong_statuses: BTreeMap<u16, u64>,
    /// The first example of each way to fail.
    pub examples: Vec<Example>,
    /// What was checked of the answers to each request, in words.
    pub checked: Vec<String>,
    /// How the server tells where the content of its answers ends.
    pub framing: BTreeSet<&'static str>,
    /// Each request separately, where there are several.
    pub(super) steps: Vec<Step>,
    /// Each page of users who ask for parts.
    pub(super) pages: Vec<Step>,
    /// Of all together: complete, failed (longer than any), and times at [`QUANTILES`].
    pub pages_over_all: Option<(u64, u64, Quantiles)>,
    /// The server's user CPU time per exchange that ended, in microseconds.
    pub user_us: Option<f64>,
    /// Its system CPU time per right answer.
    pub system_us: Option<f64>,
    /// Both together.
    pub cpu_us: Option<f64>,
    /// The generator's CPU time per right answer.
    pub generator_us: Option<f64>,
    /// The busiest worker's busy share.
    pub busy: Option<f64>,
    /// The server's memory in bytes, shared pages divided among their users.
    pub memory: Option<f64>,
    /// What the kernel holds for the contents of its sockets, in bytes.
    pub memory_sockets: Option<f64>,
    /// The same for each of its connections.
    pub memory_per_connection: Option<f64>,
    /// What an exchange took besides.
    pub resources: Resources,
    /// The most connections that the server had held since its start; none where nobody knows.
    pub connections_before: Option<u32>,
    /// What became of connections in the window.
    pub connections: ConnectionCounts,
    /// Connections that got no answer in the whole window, where that is known.
    pub stalled: Option<Stalled>,
    /// How complete answers were encoded.
    pub codings: Codings,
    /// What was negotiated, where connections have TLS.
    pub tls: Option<TlsRecord>,
    /// What HTTP/2 did, where they speak it.
    pub http2: Option<Http2Record>,
    /// What QUIC did, where they speak HTTP/3.
    pub quic: Option<QuicRecord>,
    /// Where response times went, where the kernel was asked.
    pub split: Option<TimeSplit>,
    /// What became of users, where they came at a rate.
    pub users: Option<UsersRecord>,
    /// How users begin, where all are there to the end and begin one after the other.
    pub ramp: Option<Ramp>,
    /// What happened in stretches of the window.
    pub stretches: Vec<Stretch>,
    /// What happened in each stage of a load that changes.
    pub(super) stages: Vec<InStage>,
    /// How soon answers took as before, once a crowd had gone.
    pub recovery: Option<Recovered>,
    /// What it is worth in all.
    pub status: Status,
    /// What each claim is worth.
    pub claims: BTreeMap<Claim, (Status, bool)>,
    /// The rules that brought each claim there.
    pub because: BTreeMap<Claim, Vec<String>>,
    /// The rules that spoke, worst first, and how bad that is.
    pub rules: Vec<(String, Severity)>,
    /// The highest quantile that the rules let pass; none: they have not said.
    quantile_highest: Option<f64>,
    /// Whether the generator set the rate.
    pub generator_limited: bool,
    /// Whether its rate is a lower bound: the generator set it, and no other rule forbids it.
    pub is_bound: bool,
    /// The larger of ceiling ÷ rate and 1 ÷ the generator's busy share.
    pub headroom: Option<f64>,
    /// How busy the server was: its busiest thread or CPU, or all its processes on its CPUs.
    pub(super) server_busy: Option<f64>,
    /// The fewest connections from which on the rate had not grown, if there are any (STA-09).
    pub(super) flat_from: Option<u32>,
    /// The ceiling at this point in this round.
    pub ceiling_here: Option<Ceiling>,
    /// Lines that the server's error log gained, the first few.
    pub error_log: Vec<String>,
    /// How many it gained in all.
    pub error_log_lines: u64,
    /// Client addresses in the server's access log, where it tells.
    pub addresses: Option<f64>,
    /// Lines in its access log, and their bytes, where it has one.
    pub logged: Option<(u64, Bytes)>,
    /// From which addresses its connections came, where the plan names them.
    pub sources: Option<Sources>,
    /// The share of exchanges that needed no new connection.
    pub kept_alive: Option<f64>,
    /// Content bytes of a right answer.
    pub content: Option<f64>,
    /// How long was waited before it for the machine to be at rest, where it was not.
    pub waited_s: Option<f64>,
    /// Whether it was cut short.
    pub interrupted: bool,
}

impl Digest {
    /// Boils `trial` down; `position` is its place among all, for trials that know none.
    #[expect(clippy::too_many_lines, reason = "a line for each field")]
    pub fn of(trial: &Trial, position: usize) -> Self {
        let record = &trial.record;
        let (search, server) = (trial.context.search.as_ref(), trial.usage.server.as_ref());
        let asked = trial.plan.arrivals.rate().filter(|_| search.is_none());
        let point = placed(trial, position, asked);
        let cost = cpu_per_request(trial);
        let split = cost.and_then(|cost| cost.split_us);
        let context = trial.context.server.as_ref();
        let mut digest = Self {
            place: place(&point.id),
            id: point.id,
            round: point.round,
            sequence: point.sequence,
            attempt: point.attempt,
            group: point.group,
            void: trial.void.clone(),
            takers: takers(trial),
            repeated: false,
            ceiling: point.ceiling,
            time: trial.environment.time.clone(),
            open_loop: asked.is_some(),
            is_scheduled: asked.is_some() || trial.plan.do_users_come(),
            unanswered: trial.unanswered(),
            search: search.map(|found| (found.objective.join(" and "), found.answer)),
            window_s: record.window.as_s_f64(),
            rate: record.achieved_rate,
            goodput: record.goodput,
            response: quantiles(&trial.response_time(), trial.plan.timeout),
            phases: phases(trial),
            outcomes: record.total.outcomes,
            cancelled: record.total.cancelled,
            wrong_statuses: record.wrong_statuses.clone(),
            examples: record.examples.clone(),
            checked: checked(trial),
            framing: framing(trial),
            steps: Step::all(trial),
            pages: Step::pages(trial),
            pages_over_all: over_all(trial),
            user_us: split.map(|(user, _)| user),
            system_us: split.map(|(_, system)| system),
            cpu_us: cost.map(|cost| cost.total_us),
            generator_us: generator_us(trial),
            busy: trial.record.busiest_worker().map(|(_, busy)| busy),
            memory: server.and_then(|usage| usage.memory_pss).map(size),
            memory_sockets: server.and_then(|usage| usage.memory_sockets).map(size),
            memory_per_connection: server.and_then(per_connection),
            resources: Resources::of(trial),
            connections_before: context.and_then(connections_before),
            connections: record.total.connections,
            stalled: Stalled::of(trial),
            codings: record.codings.clone(),
            tls: record.tls.clone(),
            http2: record.http2.clone(),
            quic: record.quic.clone(),
            split: record.split.clone(),
            users: record.users.clone(),
            ramp: Ramp::of(trial),
            stretches: stretches(trial),
            stages: InStage::all(trial),
            recovery: Recovered::of(trial),
            status: Status::Unknown,
            claims: BTreeMap::new(),
            because: BTreeMap::new(),
            rules: Vec::new(),
            quantile_highest: None,
            generator_limited: false,
            is_bound: false,
            headroom: None,
            server_busy: server_busy(trial),
            flat_from: None,
            ceiling_here: trial.context.ceiling.clone(),
            error_log: context.map_or_else(Vec::new, |server| server.error_log.clone()),
            error_log_lines: context.map_or(0, |server| server.error_log_lines),
            addresses: context.and_then(addresses),
            logged: context.and_then(logged),
            sources: sources(record),
            kept_alive: kept_alive(record),
            content: content(trial),
            waited_s: waited_s(trial),
            interrupted: record.interrupted,
        };
        digest.judge(&trial.verdict);
        digest
    }

    /// Takes over what `verdict` says.
    pub fn judge(&mut self, verdict: &Verdict) {
        self.status = verdict.status;
        let claims = verdict.claims.iter();
        (self.claims, self.because) = claims
            .map(|(claim, worth)| {
                let status = (worth.status, worth.partial);
                ((*claim, status), (*claim, worth.because.clone()))
            })
            .unzip();
        self.rules = verdict
            .findings
            .iter()
            .map(|finding| (finding.rule.clone(), finding.worst()))
            .collect();
        self.quantile_highest = QUANTILES
            .iter()
            .filter(|(_, name)| verdict.quantiles.iter().any(|other| same_name(other, name)))
            .map(|(q, _)| *q)
            .max_by(f64::total_cmp);
        self.generator_limited = verdict.generator_limited;
        let answer = self.search.as_ref().map(|(_, answer)| answer);
        self.is_bound = is_bound(verdict) || answer.is_some_and(|one| one.upper().is_none());
        self.headroom = verdict.headroom;
        self.flat_from = flat_from(verdict);
    }

    /// Response time at that position of [`QUANTILES`], if the sample supports it and no rule has
    /// said otherwise.
    pub fn response(&self, position: usize) -> Option<Time> {
        let (q, _) = QUANTILES[position];
        self.response[position].filter(|_| self.quantile_highest.is_none_or(|highest| q <= highest))
    }

    /// The same in microseconds; none of what is only a bound.
    pub fn response_us(&self, position: usize) -> Option<f64> {
        self.response(position)?.exact()
    }

    /// How far a time that rests on the trial's load may be believed.
    pub fn time_standing(&self, time: Time) -> Standing {
        match self.standing(self.load_claim()) {
            Standing::Struck => Standing::Struck,
            _ if time.is_bound => Standing::AtLeast,
            standing => standing,
        }
    }

    /// Whether every claim that it makes is invalid.
    pub fn nothing_left(&self) -> bool {
        !self.claims.is_empty()
            && self
                .claims
                .values()
                .all(|(status, _)| *status == Status::Invalid)
    }

    /// How far a number that rests on `claim` may be believed. A claim that the trial does not
    /// make is not doubted.
    pub fn standing(&self, claim: Claim) -> Standing {
        if self.is_left_out() {
            return Standing::Struck;
        }
        self.worth(claim)
    }

    /// Whether it does not count, whatever it measured.
    pub const fn is_left_out(&self) -> bool {
        self.void.is_some() || self.repeated
    }

    /// What the rules say of `claim`.
    fn worth(&self, claim: Claim) -> Standing {
        match self.claims.get(&claim).map(|(status, _)| *status) {
            Some(Status::Invalid) => Standing::Struck,
            Some(Status::Suspect) => Standing::Doubtful,
            Some(Status::Valid | Status::Unknown) | None => Standing::Sound,
        }
    }

    /// As a comparison sees it. In an open loop the rate was asked for, and times are compared.
    pub fn round(&self) -> Round<'_> {
        Round {
            is_spoilt: self.is_left_out(),
            spoilt_by: self.void.as_ref().map(|cause| cause.rule.as_str()),
            ..self.as_first_measured()
        }
    }

    /// The same, whether or not something else spoilt it.
    pub fn as_first_measured(&self) -> Round<'_> {
        let claim = self.load_claim();
        let (value, at_least) = match self.is_scheduled {
            true => {
                let time = self.response(0);
                (
                    time.map(|time| time.us),
                    time.is_some_and(|time| time.is_bound),
                )
            }
            false => (Some(self.rate), self.is_bound),
        };
        Round {
            id: &self.id,
            round: self.round,
            attempt: self.attempt,
            group: self.group,
            value,
            at_least,
            cpu_us: self.cpu_us,
            is_cost_struck: self.forbidding(Claim::Resources, |_| true).is_some(),
            is_spoilt: false,
            spoilt_by: None,
            struck_by: self
                .forbidding(claim, |_| true)
                .filter(|_| self.is_scheduled || !self.is_bound),
            unlike_by: self.forbidding(Claim::Comparison, is_about_likeness),
        }
    }

    /// The rule, one of those that are meant, that forbids what rests on `claim`; of a trial that
    /// something spoilt one that does not tell who did.
    fn forbidding(&self, claim: Claim, is_meant: fn(&str) -> bool) -> Option<&str> {
        let is_struck = self.worth(claim) == Standing::Struck;
        let because = self.because.get(&claim).filter(|_| is_struck)?;
        let is_other = |rule: &&str| self.void.is_none() || !is_disturbance(rule);
        let mut rules = because.iter().map(String::as_str).filter(is_other);
        rules.find(|rule| is_meant(rule))
    }

    /// How far its rate may be believed.
    pub fn rate_standing(&self) -> Standing {
        if self.is_left_out() {
            return Standing::Struck;
        }
        self.rate_worth()
    }

    fn rate_worth(&self) -> Standing {
        match self.is_bound {
            true => Standing::AtLeast,
            false => self.worth(self.load_claim()),
        }
    }

    /// What a trial claims of its load: where a schedule made it, of requests or of users, how
    /// long answers took, and a search goes by that.
    pub fn load_claim(&self) -> Claim {
        // Of users who come rules of earlier sets judged the capacity.
        let came = self.users.is_some() && !self.claims.contains_key(&Claim::Capacity);
        match self.open_loop || came || self.search.is_some() {
            true => Claim::Latency,
            false => Claim::Capacity,
        }
    }
}

/// The load, and all else that the label of a server does not tell.
fn place(id: &PointId) -> Values {
    let mut place = id.load.clone();
    for (name, value) in id.axes.iter() {
        if ![CORES, ACCESS_LOG, PROTOCOL, CERTIFICATE, HANDSHAKE].contains(&name) {
            place.set(name, value.clone());
        }
    }
    place
}

/// The most connections that the server had held before the trial.
fn connections_before(server: &Server) -> Option<u32> {
    Some(server.standing?.connections_before)
}

/// Client addresses in a server's access log.
fn addresses(server: &Server) -> Option<f64> {
    server.client_addresses.map(count)
}

/// The lines of a server's access log, and their bytes.
fn logged(server: &Server) -> Option<(u64, Bytes)> {
    server.access_log_lines.zip(server.access_log_bytes)
}

fn waited_s(trial: &Trial) -> Option<f64> {
    let waited = trial.context.waited.as_ref()?;
    Some(waited.took.as_s_f64())
}

/// What the kernel holds for each connection; none where there was none.
#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn per_connection(usage: &GroupUsage) -> Option<f64> {
    let connections = usage
        .memory_sockets_connections
        .filter(|count| *count > 0)?;
    Some(size(usage.memory_sockets?) / connections as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
pub(super) fn size(bytes: Bytes) -> f64 {
    bytes.count() as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "at most as many as there are lines"
)]
const fn count(number: u64) -> f64 {
    number as f64
}

/// `p99_9` and `p99.9` are one name.
fn same_name(one: &str, other: &str) -> bool {
    one.replace('_', ".") == other
}
