//! One execution of one point: what is stored, sent and judged.
//!
//! A stored trial can be judged again by later rules from its file alone, so everything a rule may
//! want from elsewhere is copied into [`Context`] when the trial is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::capacity::Found;
use crate::environment::Environment;
use crate::finding::{Cause, Claim, Finding, Verdict};
use crate::plan::PlanFile;
use crate::point::Point;
use crate::record::{Record, Recovery};
use crate::threshold::Judged;
use crate::units::{Bytes, Span};
use crate::usage::Usage;

/// Plan + environment + record + usage, and what they are worth.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// [`crate::plan::FORMAT`].
    pub format: u32,
    /// Which point of which experiment; none for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
    /// What was asked.
    pub plan: PlanFile,
    /// Where it ran.
    pub environment: Environment,
    /// What was measured.
    pub record: Record,
    /// What it cost.
    pub usage: Usage,
    /// What rules need to know from outside the trial.
    #[serde(default)]
    pub context: Context,
    /// What it is worth, by the rules of the program that stored it.
    pub verdict: Verdict,
    /// Why it does not count, where something else took the CPUs; none where it counts. It was told
    /// from causes alone, never from what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<Cause>,
    /// The conditions that it had to meet, each with the value it met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Judged>,
    /// How long answers took as before once a crowd had gone, where the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// The shares of the agents that made the load, where they did; together they are the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Share>,
    /// How far the clock of the servers' machine was ahead, where neither it nor one of the agents
    /// asked for the load: meters of servers were read by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers_clock: Option<Offset>,
}

/// How far a clock was ahead of the clock of whoever asked for the load.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Offset {
    /// The middle of what is possible.
    pub offset_ns: i64,
    /// How far that may be wrong, to either side.
    #[serde(rename = "within_ns")]
    pub within: Span,
}

impl Offset {
    /// How far the clock is away at least, ahead or behind.
    pub const fn least(self) -> Span {
        Span::from_ns(self.offset_ns.unsigned_abs()).saturating_sub(self.within)
    }
}

/// The share of a load that one agent made, on a machine of its own.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Share {
    /// The agent's name.
    pub agent: String,
    /// Which of the plan's workers were its own.
    pub workers: Range<u32>,
    /// How far its clock was ahead of the clock of whoever asked for the load.
    pub clock_offset_ns: i64,
    /// How far that may be wrong, to either side.
    #[serde(rename = "clock_offset_within_ns")]
    pub clock_offset_within: Span,
    /// Where it ran.
    pub environment: Environment,
    /// What it measured.
    pub record: Record,
    /// What it cost there.
    pub usage: Usage,
    /// What rules need to know from outside.
    #[serde(default)]
    pub context: Context,
    /// What it is worth, by the rules of the program that stored it.
    pub verdict: Verdict,
}

impl Share {
    /// How far its clock was ahead.
    pub const fn clock(&self) -> Offset {
        Offset {
            offset_ns: self.clock_offset_ns,
            within: self.clock_offset_within,
        }
    }
}

impl Trial {
    /// By how much the windows of two agents may be apart: as far as the two clocks that are known
    /// least may be wrong.
    pub fn windows_apart_at_most(&self) -> Span {
        let within = self.agents.iter().map(|one| one.clock_offset_within);
        let mut within: Vec<Span> = within.collect();
        within.sort_unstable();
        let largest = within.iter().rev().take(2);
        largest.fold(Span::ZERO, |sum, one| sum + *one)
    }

    /// The share of one agent as a trial of its own, for judging. Its workers are counted from 0.
    #[must_use]
    pub fn of_share(&self, share: &Share) -> Self {
        let mut record = share.record.clone();
        for worker in &mut record.workers {
            worker.index = worker.index.saturating_sub(share.workers.start);
            worker.agent = None;
        }
        Self {
            format: self.format,
            point: self.point.clone(),
            plan: self.plan.share(&share.workers),
            environment: share.environment.clone(),
            record,
            usage: share.usage.clone(),
            context: share.context.clone(),
            verdict: share.verdict.clone(),
            void: None,
            thresholds: Vec::new(),
            recovery: None,
            agents: Vec::new(),
            servers_clock: None,
        }
    }

    /// Exchanges that may be in flight at once, over all connections: as many on each as the plan
    /// wants and the server allowed. A server's limit of streams over HTTP/3 is not known here.
    pub fn places(&self) -> u64 {
        let allowed = self.record.http2.as_ref();
        let allowed = allowed.and_then(|http2| http2.streams_allowed);
        let each = self.plan.at_once().min(allowed.unwrap_or(u32::MAX)).max(1);
        u64::from(self.plan.connections) * u64::from(each)
    }

    /// Whether a closed loop is one of users who wait of their own accord between requests.
    pub const fn has_users(&self) -> bool {
        self.plan.think.is_some() || self.plan.script.is_some()
    }

    /// Whether connections are inside TLS.
    pub fn is_secure(&self) -> bool {
        let is_secure = |url: &str| url.starts_with("https://");
        self.plan.requests.iter().any(|one| is_secure(&one.url))
    }

    /// The claims that a trial of this plan makes; none where it ended before its window began.
    /// Where requests come by a schedule, or users do, that is latency and not capacity: they come
    /// whether or not the server keeps up. Of resources no claim is made where nothing was read of
    /// the server's.
    pub fn claims(&self) -> Vec<Claim> {
        if self.record.measured_nothing() {
            return Vec::new();
        }
        let mut claims = match self.plan.is_scheduled() {
            false => vec![Claim::Capacity],
            true => vec![Claim::Latency],
        };
        if self.usage.server.is_some() {
            claims.push(Claim::Resources);
        }
        if self.point.is_some() {
            claims.push(Claim::Comparison);
        }
        claims
    }
}

/// What rules need to know from outside the trial.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Context {
    /// The ceiling at this trial's point, measured in the same round.
    pub ceiling: Option<Ceiling>,
    /// The server, where the lab or a local look-up knows it.
    pub server: Option<Server>,
    /// How the generator's CPUs were chosen, in words.
    pub cpu_choice: Option<String>,
    /// CPUs that generator and server share, where both are known.
    pub shared_cpus: Option<Vec<u32>>,
    /// Whether the experiment asks what a server does under more load than it can take.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overload: bool,
    /// The search that found the rate of this trial, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Found>,
    /// What was waited for before it, where there was something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Waited>,
}

/// A wait for what earlier trials, or others, had left the machine to do.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waited {
    /// How long.
    #[serde(rename = "took_ns")]
    pub took: Span,
    /// What it was for, in words.
    pub until: Vec<String>,
    /// What of that was there still, when it began all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// What this generator reaches with the same plan on the same CPUs against a null responder.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// Right answers per second, interpolated to this trial's connections.
    pub rate: f64,
    /// Whether the responder was the limit: then the true ceiling is higher.
    pub at_least: bool,
    /// Whether origin itself is the system under test: then the ceiling says nothing.
    pub same_server: bool,
}

/// The system under test as it really was.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Server {
    /// The product: `nginx`.
    pub product: String,
    /// Its version as it says itself.
    pub version: String,
    /// The preset: `stock`, `tuned` or a path.
    pub preset: String,
    /// The command that started it.
    pub command: Vec<String>,
    /// Its configuration files by name, exactly as used.
    pub configuration: BTreeMap<String, String>,
    /// CPUs it was given.
    pub cpus: Vec<u32>,
    /// CPUs that its threads may really use, read during the run.
    pub cpus_allowed: Option<Vec<u32>>,
    /// How many of its threads may use which CPUs, read before the window: `{"0-1": 3}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub threads: BTreeMap<String, u32>,
    /// Worker processes or threads it was told to have.
    pub workers: u32,
    /// `off`, `on` or `buffered`.
    pub access_log: String,
    /// What it was configured to speak, as in `http2-tls`; empty in trials of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// Whether the process that owns the listening socket is in the tree we started.
    pub listener_is_ours: Option<bool>,
    /// The process that owns the listening socket otherwise.
    pub listener_owner: Option<String>,
    /// Processes of the tree before the window, but for those that only other answers need: pid and
    /// start time.
    pub processes_before: Option<Vec<(u32, u64)>>,
    /// The same after it.
    pub processes_after: Option<Vec<(u32, u64)>>,
    /// What it warned of when it started, before its first trial: the first 20 of such lines. A
    /// server tells there which settings it did not take as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_at_start: Vec<String>,
    /// Lines that its error log gained during the trial, the first 20.
    pub error_log: Vec<String>,
    /// How many it gained in all.
    pub error_log_lines: u64,
    /// How many client addresses its access log has of the trial; none where it writes none, or
    /// not each line at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_addresses: Option<u64>,
    /// How many lines its access log has of the trial, what came before the window included; none
    /// where it writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log_lines: Option<u64>,
    /// How many bytes these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log_bytes: Option<Bytes>,
    /// The smallest limit of open files in the tree.
    pub open_files_limit: Option<u64>,
    /// The listener's accept queue limit, as the kernel has it.
    pub listen_backlog: Option<u32>,
    /// How long after the beginning of the window it was told to read its configuration again;
    /// none: it was not.
    #[serde(
        rename = "reloaded_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub reloaded: Option<Span>,
    /// How it ended, if it ended before it was told to.
    pub exit: Option<String>,
    /// What the doctor said of it after its start, for the connections of this trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doctor: Vec<Finding>,
    /// Rules of the doctor that could not read their facts, each with what was missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub doctor_unknown: BTreeMap<String, String>,
    /// What it had been through since its start, where a lab started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

/// What a server had been through between its start and a trial.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Standing {
    /// Servers that stood beside it in the same block, not counting itself.
    pub neighbours: u32,
    /// What kept those that were not measured from running.
    pub freezing: Freezing,
    /// The most connections that it had held since its start: what it has allocated for them it may
    /// still hold, so a claim about memory is one for so many connections at least.
    pub connections_before: u32,
    /// How it was warmed up until its rate was steady, where its folder asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warming: Option<Warming>,
}

/// A warm-up that ends when a server gets no faster.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Warming {
    /// How long it was loaded, all its documents together.
    #[serde(rename = "took_ns")]
    pub took: Span,
    /// Whether it got no faster any more before the limit.
    pub is_steady: bool,
    /// The rate of the fastest part of the warm-up by that of the first.
    pub gain: f64,
}

impl Warming {
    /// This one and that of another document after it.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            took: self.took + other.took,
            is_steady: self.is_steady && other.is_steady,
            gain: self.gain.max(other.gain),
        }
    }
}

impl fmt::Display for Warming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { took, gain, .. } = self;
        let state = match self.is_steady {
            true => "then its rate was steady",
            false => "then its rate still rose",
        };
        write!(f, "{took} and became {gain:.1} times as fast; {state}")
    }
}

/// What keeps the servers of a block from running while another one is measured.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Freezing {
    /// The freezer of their control groups (cgroup v2).
    Cgroup,
    /// Nothing: they stand idle, or there are none.
    #[default]
    None,
    /// SIGSTOP to each of their processes.
    Signals,
}
