//! A question: servers, workloads, load, repetitions; and what a results directory holds of it.
//!
//! [`ExperimentFile`] is what was written; [`Experiment`] is what it means. An `Experiment` that
//! exists can be expanded into plans; whether its products are installed is the lab's to find out.

mod agents;
mod counts;
mod course;
mod demand;
mod figure;
mod file;
mod left_out;
mod meeting;
mod own;
mod results;
mod speech;
mod users;
mod values;
mod workload;

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Stage, Url};
use crate::threshold::Threshold;
use crate::tls::TlsFile;
use crate::units::{Rate, Span};

pub use agents::{GeneratorFile, HostFile};
pub use counts::Counts;
pub use course::{Network, Placement, StageText};
pub use demand::{Demand, PointName, Shown};
pub use figure::{Published, Quantity, ValueText};
pub use file::{
    AccessLog, ArrivalKind, AskedFile, Body, ExperimentFile, HeaderFile, LoadFile, LoadMode, Order,
    RELOAD_WINDOW_MIN, REPEATS_MAX, Restart, ServerFile, WorkloadFile,
};
pub use left_out::{LeftOut, Part, Why};
pub use own::{KeepAlive, KeepAliveFile, Pin, SettingText};
pub use results::{Gap, Manifest};
pub use speech::{CertificateKey, Handshake, Speech, Spoken, TlsTable};
pub use users::{Contents, Users};
pub use values::{OneOrMany, RateText};
pub use workload::{Asked, Content, Workload};

/// Whom the others are compared with where nobody was named, the smallest first; our own last.
pub fn reference_rank(product: &str) -> u8 {
    match product {
        "nginx" => 0,
        "origin" => 2,
        _ => 1,
    }
}

/// What the label of the second of two servers that are alike ends with.
pub const TWIN: &str = " twin";

/// More points on one axis are a slip of the pen.
const AXIS_MAX: usize = 10_000;
/// Nor do more rounds end in anybody's life.
const ROUNDS_MOST: u32 = 10_000;

/// What is wrong with an experiment: which key, and why.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{key}: {why}")]
pub struct ExperimentError {
    /// The key by its path from the top: `server[1].cores`.
    pub key: String,
    /// What is wrong with its value, and what to write instead.
    pub why: String,
}

fn wrong(key: impl Into<String>, why: impl Into<String>) -> ExperimentError {
    ExperimentError {
        key: key.into(),
        why: why.into(),
    }
}

/// One configuration of one product: what a round starts once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerVariant {
    /// Unique in the experiment: `nginx`, `nginx 2 cores log on`.
    pub label: String,
    /// Its label without what that tells of the protocol: those share it that differ in nothing
    /// else.
    pub name: String,
    /// A row of the lab's table; of one that already runs its address, as in `127.0.0.1:8080`.
    pub product: String,
    /// Where it answers, if it already runs.
    pub url: Option<Url>,
    /// Its process then, where that is known.
    pub pid: Option<u32>,
    /// The program that is asked, where it is not the one that is found.
    pub program: Option<String>,
    /// `stock`, `tuned` or the path of a template.
    pub preset: String,
    /// Which way it runs; none: as the product does where nothing is said.
    pub variant: Option<String>,
    /// How many cores it gets.
    pub cores: u32,
    /// Whether and how it logs each request.
    pub access_log: AccessLog,
    /// What connections to it speak.
    pub speech: Speech,
    /// Directives in its own words, by name.
    pub settings: BTreeMap<String, String>,
    /// Its own limits of connections that last.
    pub keep_alive: KeepAlive,
    /// Where its threads run.
    pub pin: Pin,
    /// When it is started afresh.
    pub restart: Restart,
    /// Whether it is the second of two that are alike.
    pub is_twin: bool,
}

/// An experiment that can be expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    file: ExperimentFile,
    servers: Vec<ServerVariant>,
    workloads: Vec<Workload>,
    connections: Vec<u32>,
    rates: Vec<Rate>,
    objective: Vec<Threshold>,
    sources: Vec<u32>,
    placements: Vec<Placement>,
    networks: Vec<Network>,
    workers: Option<u32>,
    users: Users,
}

impl Experiment {
    /// As it is written.
    pub const fn file(&self) -> &ExperimentFile {
        &self.file
    }

    /// Its name: also that of its results directory.
    pub fn name(&self) -> &str {
        &self.file.experiment.name
    }

    /// Rounds: each is a complete block of all points.
    pub const fn rounds(&self) -> u32 {
        self.file.experiment.rounds
    }

    /// How often a spoilt cell is measured again at most.
    pub const fn repeats(&self) -> u32 {
        self.file.experiment.repeats
    }

    /// What is measured next to what within a round.
    pub const fn order(&self) -> Order {
        self.file.experiment.order
    }

    /// When servers are started afresh that say nothing of their own.
    pub const fn restart(&self) -> Restart {
        self.file.experiment.restart
    }

    /// How long a freshly started server is warmed up.
    pub const fn warmup(&self) -> Span {
        self.file.experiment.warmup
    }

    /// How long is waited at most before a trial, until the machine is at rest.
    pub const fn calm(&self) -> Span {
        self.file.experiment.calm
    }

    /// The measured window of one trial.
    pub const fn duration(&self) -> Span {
        self.file.experiment.duration
    }

    /// From sent to the last byte.
    pub const fn timeout(&self) -> Span {
        self.file.load.timeout
    }

    /// Exchanges in flight on one connection of HTTP/2.
    pub const fn streams(&self) -> u32 {
        self.file.load.streams
    }

    /// What a plan wants of TLS where servers speak that, by a certificate in that file; none in
    /// clear.
    pub fn tls_demands(&self, speech: Speech, file: &str) -> Option<TlsFile> {
        let tls = self.file.tls.clone().unwrap_or_default();
        tls.demands(speech, file)
    }

    /// How arrivals are spaced in an open loop.
    pub const fn arrivals(&self) -> ArrivalKind {
        self.file.load.arrivals
    }

    /// All server configurations, in the order of the file.
    pub fn servers(&self) -> &[ServerVariant] {
        &self.servers
    }

    /// All workloads, in the order of the file.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The axis of connections, ascending, each once: of workloads that have none of their own.
    pub fn connections(&self) -> &[u32] {
        &self.connections
    }

    /// The axis of connections of one of the workloads.
    pub fn connections_of<'a>(&'a self, workload: &'a Workload) -> &'a [u32] {
        match workload.connections.as_slice() {
            [] => &self.connections,
            own => own,
        }
    }

    /// The most connections, or users, that it has at once.
    pub fn connections_most(&self) -> u32 {
        let workloads = self.workloads.iter();
        let all = workloads.flat_map(|workload| self.connections_of(workload));
        all.copied().max().unwrap_or(1)
    }

    /// The most connections that it holds at once, where each user may have several.
    pub fn sockets_most(&self) -> u32 {
        self.connections_most().saturating_mul(self.users.each())
    }

    /// The axis of intended loads; empty in a closed loop.
    pub fn rates(&self) -> &[Rate] {
        &self.rates
    }

    /// The conditions under which the capacity of each server is looked for at each point; empty
    /// where no search is made.
    pub fn objective(&self) -> &[Threshold] {
        &self.objective
    }

    /// How the rate changes within each window, of an open loop or at which users come; empty: not
    /// at all.
    pub fn stages(&self) -> Vec<Stage> {
        course::stages(&self.file.load, self.duration())
    }

    /// The axis of source addresses; empty where the lab takes as many as ports ask for.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The axis of the generator's place; empty where nothing is said.
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// The axis of the path to the servers; empty where nothing is said.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// Whether the load is meant to be more than servers can take.
    pub const fn is_overload(&self) -> bool {
        self.file.load.overload
    }

    /// Whether servers are told to read their configuration again in the middle of each window.
    pub const fn reloads(&self) -> bool {
        self.file.experiment.reload
    }

    /// What users do, beside asking for one thing after another.
    pub const fn users(&self) -> &Users {
        &self.users
    }

    /// The threads of the generator, if somebody said how many.
    pub const fn workers(&self) -> Option<u32> {
        self.workers
    }
}

impl TryFrom<ExperimentFile> for Experiment {
    type Error = ExperimentError;

    fn try_from(mut file: ExperimentFile) -> Result<Self, ExperimentError> {
        users::count(&mut file.load)?;
        check_header(&file.experiment)?;
        let workloads = workload::read(&file.workload)?;
        let speeches = speech::read(&file)?;
        let servers = expand_servers(&file.server, file.experiment.restart, &speeches)?;
        meeting::check_reference(file.experiment.reference.as_deref(), &servers)?;
        let connections = course::connections(&file.load.connections)?;
        let rates = course::rates(&file.load)?;
        let objective = course::objective(&file.load)?;
        let sources = course::sources(&file.load)?;
        let placements = course::placements(&file.load)?;
        let networks = course::networks(&file.load, agents::are_apart(&file)?)?;
        let workers = course::workers(&file.load)?;
        course::check_requests(&file)?;
        let users = users::read(&file.load, &file.workload, &workloads)?;
        figure::check(&file.published)?;
        if file.load.timeout.is_zero() {
            return Err(wrong("load.timeout", "give more than 0"));
        }
        Ok(Self {
            file,
            servers,
            workloads,
            connections,
            rates,
            objective,
            sources,
            placements,
            networks,
            workers,
            users,
        })
    }
}

fn check_header(header: &HeaderFile) -> Result<(), ExperimentError> {
    let name_is_a_folder = !header.name.is_empty()
        && !header.name.starts_with('.')
        && header
            .name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.".contains(c));
    if !name_is_a_folder {
        return Err(wrong(
            "experiment.name",
            format!(
                "'{}' names a folder too: use letters, digits, '-', '_' and '.'",
                header.name
            ),
        ));
    }
    if !(1..=ROUNDS_MOST).contains(&header.rounds) {
        return Err(wrong("experiment.rounds", "give 1 to 10,000"));
    }
    if header.repeats > REPEATS_MAX {
        return Err(wrong("experiment.repeats", "give 0, 1 or 2"));
    }
    if header.duration < Span::from_ms(10) {
        return Err(wrong("experiment.duration", "give at least 10ms"));
    }
    if header.reload && header.duration < RELOAD_WINDOW_MIN {
        return Err(wrong("experiment.duration", "reload needs at least 2s"));
    }
    Ok(())
}

fn expand_servers(
    files: &[ServerFile],
    restart: Restart,
    speeches: &[speech::Said],
) -> Result<Vec<ServerVariant>, ExperimentError> {
    if files.is_empty() {
        return Err(wrong("server", "give at least one [[server]]"));
    }
    let mut variants = Vec::new();
    let mut labels = BTreeSet::new();
    for (index, file) in files.iter().enumerate() {
        let key = |name: &str| format!("server[{index}].{name}");
        let url = read_url(file).map_err(|(name, why)| wrong(key(name), why))?;
        let product = url.as_ref().map_or(&file.product, |url| &url.authority);
        own::check(file, &key)?;
        for one in own::configurations(file) {
            for speech in speeches {
                let name = own::label_of(file, product, &one);
                let label = format!("{name}{}", speech.in_label);
                if !labels.insert(label.clone()) {
                    let why = format!("two servers are called '{label}': give this one a label");
                    return Err(wrong(key("product"), why));
                }
                let twin = format!("{label}{TWIN}");
                if file.twin && !labels.insert(twin.clone()) {
                    let why = format!("another server has the label '{twin}' of this one's twin");
                    return Err(wrong(key("twin"), why));
                }
                let one = one.clone();
                variants.push(ServerVariant {
                    label,
                    name,
                    product: product.clone(),
                    url: url.clone(),
                    pid: file.pid,
                    program: file.program.clone(),
                    preset: file.preset.clone(),
                    variant: one.variant,
                    cores: one.cores,
                    access_log: one.access_log,
                    speech: speech.speech,
                    settings: one.settings,
                    keep_alive: one.keep_alive,
                    pin: one.pin,
                    restart: file.restart.unwrap_or(restart),
                    is_twin: false,
                });
                if file.twin {
                    let like = variants.last().expect("it was put there just now");
                    variants.push(ServerVariant {
                        label: twin,
                        name: format!("{}{TWIN}", like.name),
                        is_twin: true,
                        ..like.clone()
                    });
                }
            }
        }
    }
    Ok(variants)
}

/// Where a server answers that already runs; none where the lab starts one. What is wrong is told
/// with its key.
fn read_url(file: &ServerFile) -> Result<Option<Url>, (&'static str, String)> {
    let Some(url) = &file.url else {
        if file.product.is_empty() {
            let why = "say which server: product = \"nginx\", or the url of one that already runs";
            return Err(("product", why.to_owned()));
        }
        return match file.pid {
            Some(_) => Err((
                "pid",
                "it goes with a url: the lab knows the process of a server that it starts"
                    .to_owned(),
            )),
            None => Ok(None),
        };
    };
    if !file.product.is_empty() {
        let why = "give a product, which the lab starts, or the url of a server that already runs";
        return Err(("url", why.to_owned()));
    }
    let is_plain = file.preset == "tuned"
        && file.program.is_none()
        && file.cores == OneOrMany::One(1)
        && file.access_log == OneOrMany::One(AccessLog::Off)
        && file.variant.is_none()
        && file.settings.is_empty()
        && file.keep_alive.is_none()
        && file.pin.is_none()
        && file.restart.is_none();
    if !is_plain {
        let why = "the lab does not configure a server that already runs: leave out program, \
                   preset, variant, cores, access_log, settings, keep_alive, pin and restart";
        return Err(("url", why.to_owned()));
    }
    let url = Url::parse(url).map_err(|error| ("url", error.to_string()))?;
    if url.is_secure {
        let why = "a lab asks a running server over plain HTTP only: give an http URL, or measure \
                   this one with `triathlon load`";
        return Err(("url", why.to_owned()));
    }
    if url.path != "/" {
        let why = "give no path: those are in the workloads, as in path = \"/search\"";
        return Err(("url", why.to_owned()));
    }
    Ok(Some(url))
}

#[cfg(test)]
mod tests;
