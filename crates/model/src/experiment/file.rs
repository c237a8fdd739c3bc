//! The file form of an experiment: TOML for people, the same in JSON beside the results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents::{GeneratorFile, HostFile};
use super::counts::Counts;
use super::course::{Network, Placement, StageText};
use super::demand::Demand;
use super::figure::Published;
use super::own::{KeepAliveFile, Pin, SettingText};
use super::speech::{Spoken, TlsTable};
use super::values::{OneOrMany, RateText, span};
use crate::plan::Expectation;
use crate::units::{Bytes, Span};

/// An experiment as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// What is asked and how often.
    pub experiment: HeaderFile,
    /// Who is asked.
    #[serde(default)]
    pub server: Vec<ServerFile>,
    /// What is fetched.
    #[serde(default)]
    pub workload: Vec<WorkloadFile>,
    /// How hard.
    pub load: LoadFile,
    /// What TLS is like, where connections have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsTable>,
    /// Who makes the load, where that is not this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorFile>,
    /// Who starts the servers, where that is not this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFile>,
    /// What an earlier study published, to stand beside what is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// What its readers asked for, to be answered by what is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Demand>,
}

/// A cell with a spoilt trial is measured again so many times at most.
pub const REPEATS_MAX: u32 = 2;

/// The shortest window with `reload`: what happens in it is told once a second, and it is at such a
/// moment that a server is told to read its configuration again.
pub const RELOAD_WINDOW_MIN: Span = Span::from_s(2);

/// `[experiment]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderFile {
    /// Names its results directory too.
    pub name: String,
    /// What the experiment answers, in a sentence.
    pub question: String,
    /// Complete blocks of all points; where none are given the lab takes as many as its comparisons
    /// need.
    #[serde(default)]
    pub rounds: u32,
    /// What is measured next to what.
    #[serde(default)]
    pub order: Order,
    /// When servers are started afresh.
    #[serde(default)]
    pub restart: Restart,
    /// Whether servers are told to read their configuration again in the middle of each window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reload: bool,
    /// Whom the others are compared with: a product, or the label of a server. Where none is given
    /// it is nginx, or else the first that is not our own; a manifest always says who it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// How long a freshly started server is warmed up.
    #[serde(default = "three_seconds", with = "span")]
    pub warmup: Span,
    /// How short a budget may make the warm-up; none: it stays as it is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "super::values::maybe_span"
    )]
    pub warmup_min: Option<Span>,
    /// How long the load of each trial runs before its window; none: a part of the window.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "super::values::maybe_span"
    )]
    pub settle: Option<Span>,
    /// How long is waited before a trial for what earlier ones left the machine to do.
    #[serde(default = "two_seconds", with = "span")]
    pub calm: Span,
    /// The measured window of one trial.
    #[serde(with = "span")]
    pub duration: Span,
    /// How short a budget may make the window; none: as short as it is worth a trial.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "super::values::maybe_span"
    )]
    pub duration_min: Option<Span>,
    /// How often a cell is measured again of which something spoilt a trial that was neither server
    /// nor generator, at most.
    #[serde(default = "twice", skip_serializing_if = "is_twice")]
    pub repeats: u32,
    /// What the order of points is drawn from; taken from the clock where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

const fn twice() -> u32 {
    REPEATS_MAX
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_twice(repeats: &u32) -> bool {
    *repeats == REPEATS_MAX
}

const fn two_seconds() -> Span {
    Span::from_s(2)
}

const fn three_seconds() -> Span {
    Span::from_s(3)
}

const fn five_seconds() -> Span {
    Span::from_s(5)
}

/// What is measured next to what within a round.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The servers of one cell: they are started together, and those that wait are frozen.
    #[default]
    Cell,
    /// The cells of one server, which runs alone.
    Server,
}

/// When servers are started afresh.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// Once in each round.
    #[default]
    Round,
    /// Before each trial.
    Trial,
}

/// `[[server]]`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerFile {
    /// A row of the lab's table; empty where there is a URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub product: String,
    /// Where a server answers that already runs: it is neither started nor stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its process, whose consumption is metered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its name in charts, where the product's own is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The program that is asked, where it is not the one that is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// `stock`, `tuned` or the path of a template.
    #[serde(default = "tuned")]
    pub preset: String,
    /// Which way it runs, of those that the product has: one word or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<OneOrMany<String>>,
    /// How many cores it gets: one number or an axis.
    #[serde(default = "one_core")]
    pub cores: OneOrMany<u32>,
    /// Whether and how it logs each request: one word or an axis.
    #[serde(default = "log_off")]
    pub access_log: OneOrMany<AccessLog>,
    /// Directives in the server's own words: one value or an axis each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, OneOrMany<SettingText>>,
    /// Its own limits of connections that last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<KeepAliveFile>,
    /// Where its threads run: one word or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<OneOrMany<Pin>>,
    /// When this one is started afresh, where that differs from the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Whether a second one like it takes part, told from it by its name alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub twin: bool,
    /// 1 where nothing is said; a budget leaves out 3 first, then 2, and never 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

fn tuned() -> String {
    "tuned".to_owned()
}

const fn one_core() -> OneOrMany<u32> {
    OneOrMany::One(1)
}

const fn log_off() -> OneOrMany<AccessLog> {
    OneOrMany::One(AccessLog::Off)
}

/// Whether and how a server logs each request.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessLog {
    /// Many lines at a time.
    Buffered,
    /// Not at all.
    #[default]
    Off,
    /// As the product does unless told otherwise.
    On,
}

impl AccessLog {
    /// The word in files, labels and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// `[[workload]]`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    /// Its name in charts.
    pub name: String,
    /// What is fetched, where that is one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// A folder whose files are served and fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// What is asked, where that is several things, or no file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request: Vec<AskedFile>,
    /// How the body is asked for; GET unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The content that is sent with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The file that has it: whoever reads the experiment puts its text in the place of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_file: Option<String>,
    /// What in the server makes the bytes of the body: one word or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<OneOrMany<String>>,
    /// What a server must offer for it: handlers and protocols. Files need `static`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The codings that all requests accept, as a field has them; `none`: nothing is said of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_encoding: Option<String>,
    /// Exactly so many exchanges on a connection, enforced by the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// How many connections ask for it, where that differs from the load: one number or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<OneOrMany<u32>>,
    /// What it is asked in, where that differs from the load: one protocol or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<OneOrMany<Spoken>>,
    /// Like the priority of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

/// `[[workload.request]]`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AskedFile {
    /// What steps of users call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A file that the lab makes, and whose right answer it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// A file of the workload's folder, by its path below that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Anything else that the server answers: a path and its query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// GET unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Fields that are sent, each a name and a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The content that is sent with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The file that has it: whoever reads the experiment puts its text in the place of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_file: Option<String>,
    /// Whether it asks if the file has changed, which it has not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// How often it is sent, in relation to the weights of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// What a right answer to a path is; status 200 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
}

/// The content of the file that is fetched.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Its length: `7`, `"100k"`.
    #[serde(deserialize_with = "super::values::quantity")]
    pub bytes: Bytes,
}

/// `[load]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadFile {
    /// What makes a request due.
    #[serde(default)]
    pub mode: LoadMode,
    /// Connections in total.
    #[serde(default = "Counts::none", skip_serializing_if = "Counts::is_none")]
    pub connections: Counts,
    /// Users, each with connections of its own: in the place of connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Counts>,
    /// How long each user waits before a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<String>,
    /// Over how long users begin, before anything counts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "super::values::maybe_span"
    )]
    pub ramp: Option<Span>,
    /// What each user does again and again, in the grammar of scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<Value>,
    /// Connections that each user has, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_connections: Option<u32>,
    /// Users per second who come, take the steps once and leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_rate: Option<RateText>,
    /// How the rate changes at which they come, in the place of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_stages: Vec<StageText>,
    /// How their arrivals are spaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_arrivals: Option<ArrivalKind>,
    /// Whether users keep cookies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cookies: bool,
    /// What users know by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
    /// The conditions under which a capacity is looked for, with commas between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// The intended load of an open loop: one rate or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<OneOrMany<RateText>>,
    /// How the rate changes within each window, in the place of a rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageText>,
    /// How arrivals are spaced in an open loop.
    #[serde(default)]
    pub arrivals: ArrivalKind,
    /// How many source addresses connections come from: one number or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<OneOrMany<u32>>,
    /// Threads that generate load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// On whose CPUs the generator runs: one word or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<OneOrMany<Placement>>,
    /// What lies between generator and servers: one word or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<OneOrMany<Network>>,
    /// A window ends after so many requests, if its time has not come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Whether it is meant to be more than servers can take.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overload: bool,
    /// From sent to the last byte.
    #[serde(default = "five_seconds", with = "span")]
    pub timeout: Span,
    /// What connections speak: one protocol or an axis.
    #[serde(default = "http1", skip_serializing_if = "is_http1")]
    pub protocol: OneOrMany<Spoken>,
    /// Exchanges in flight on one connection of HTTP/2.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
}

const fn http1() -> OneOrMany<Spoken> {
    OneOrMany::One(Spoken::Http1)
}

fn is_http1(protocol: &OneOrMany<Spoken>) -> bool {
    *protocol == http1()
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_one(count: &u32) -> bool {
    *count == 1
}

/// What makes a request due.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadMode {
    /// A schedule, of which a search finds the highest rate that meets an objective.
    Capacity,
    /// The end of the one before it on the same connection.
    #[default]
    Closed,
    /// A schedule.
    Open,
}

/// How arrivals are spaced in an open loop.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalKind {
    /// Evenly.
    Fixed,
    /// With independent exponential gaps.
    #[default]
    Poisson,
}
