//! What readers of an earlier study asked for, and which number of this experiment answers it.

use serde::{Deserialize, Serialize};

use super::figure::Quantity;
use super::values::RateText;
use super::{Network, Placement, ServerVariant};
use crate::units::Rate;

/// Which point of an experiment is meant: its server, workload and load, as far as they are named.
///
/// Figures and demands name it by the same keys. Their structs do not flatten one struct of these:
/// what is wrong with a value could then not be told with its line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PointName<'n> {
    /// The label of its server.
    pub server: Option<&'n str>,
    /// The name of its workload.
    pub workload: Option<&'n str>,
    /// Its connections.
    pub connections: Option<u32>,
    /// Its intended load.
    pub rate: Option<Rate>,
    /// Its source addresses.
    pub sources: Option<u32>,
    /// Where its generator runs.
    pub placement: Option<Placement>,
    /// Its network.
    pub network: Option<Network>,
}

impl PointName<'_> {
    /// The same; what is not named is that of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            server: self.server.or(other.server),
            workload: self.workload.or(other.workload),
            connections: self.connections.or(other.connections),
            rate: self.rate.or(other.rate),
            sources: self.sources.or(other.sources),
            placement: self.placement.or(other.placement),
            network: self.network.or(other.network),
        }
    }
}

/// `[[asked]]`: a demand, and where its answer is: a number of a point, the ratio of two points, a
/// rule, or the reason why there is none.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Who asked: a comment by its number, the author of the study, or we.
    pub who: String,
    /// What is asked for.
    pub demand: String,
    /// Which number of the point answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<Shown>,
    /// The label of the point's server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of its workload; where none is given, the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Its connections; where none are given, those with the highest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Its intended load; where none is given, that with the highest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateText>,
    /// Its source addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<u32>,
    /// Where its generator runs; where nothing is said, on CPUs of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Its network; where nothing is said, loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The answer is the ratio to the number of this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The answer is the ratio to the number with this workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_workload: Option<String>,
    /// The answer is the ratio to the number with so many connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_connections: Option<u32>,
    /// The answer is the ratio to the number at this intended load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_rate: Option<RateText>,
    /// The answer is the ratio to the number with so many source addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_sources: Option<u32>,
    /// The answer is the ratio to the number with the generator there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_placement: Option<Placement>,
    /// The answer is the ratio to the number over this network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_network: Option<Network>,
    /// The answer is in how many trials this rule spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the number says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// Why there is no answer here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<String>,
}

impl Demand {
    /// The point whose number is the answer, or a part of it.
    pub fn point(&self) -> PointName<'_> {
        PointName {
            server: self.server.as_deref(),
            workload: self.workload.as_deref(),
            connections: self.connections,
            rate: self.rate.map(|rate| rate.0),
            sources: self.sources,
            placement: self.placement,
            network: self.network,
        }
    }

    /// Of the point which the answer is the ratio to, what is another than that of the first.
    pub fn against(&self) -> PointName<'_> {
        PointName {
            server: self.against.as_deref(),
            workload: self.against_workload.as_deref(),
            connections: self.against_connections,
            rate: self.against_rate.map(|rate| rate.0),
            sources: self.against_sources,
            placement: self.against_placement,
            network: self.against_network,
        }
    }

    /// Whether the answer is a ratio of two points.
    pub fn is_ratio(&self) -> bool {
        self.against() != PointName::default()
    }
}

/// A number of a point.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Client addresses in the server's access log.
    Addresses,
    /// Processes and threads that began on the machine, for a request.
    Begun,
    /// What the generator received for a request that is no content.
    BesideContent,
    /// How busy the busiest worker of the generator was.
    Busy,
    /// Of the connections that ended, the share that the server closed.
    ClosedByServer,
    /// Content bytes of a right answer.
    Content,
    /// The server's CPU time for a request.
    Cpu,
    /// The part of it that servers behind the one that is asked took.
    CpuBehind,
    /// The share of requests that failed or were never sent.
    Failures,
    /// The generator's CPU time for a request.
    Generator,
    /// Content bytes per second.
    Goodput,
    /// The ceiling of the generator in terms of the rate.
    Headroom,
    /// The share of exchanges that needed no new connection.
    KeptAlive,
    /// What the server wrote to its access log for a request.
    LogBytes,
    /// Lines of that log for a request.
    LogLines,
    /// The server's memory.
    Memory,
    /// Median response time.
    P50,
    /// The 99th percentile of response time.
    P99,
    /// Exchanges on a connection.
    PerConnection,
    /// The server's processes.
    Processes,
    /// Right answers per second.
    Rate,
    /// What the generator received for a request.
    Received,
    /// How long until answers took as before, once a crowd had gone.
    Recovery,
    /// What the generator sent for a request.
    Sent,
    /// Source addresses that connections came from.
    SourcesUsed,
    /// Connections that got no answer in the whole window.
    Stalled,
    /// The part of the server's CPU time that is spent in the kernel.
    System,
    /// The server's threads.
    Threads,
    /// The part that is not.
    User,
    /// System calls of the server that write, for a request.
    WriteCalls,
}

impl Shown {
    /// The words that files have for them.
    pub const WORDS: &'static [&'static str] = &[
        "addresses",
        "begun",
        "beside_content",
        "busy",
        "closed_by_server",
        "content",
        "cpu",
        "cpu_behind",
        "failures",
        "generator",
        "goodput",
        "headroom",
        "kept_alive",
        "log_bytes",
        "log_lines",
        "memory",
        "p50",
        "p99",
        "per_connection",
        "processes",
        "rate",
        "received",
        "recovery",
        "sent",
        "sources_used",
        "stalled",
        "system",
        "threads",
        "user",
        "write_calls",
    ];

    /// What it is, as the heading of a number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Addresses => "client addresses in the access log",
            Self::Begun => "processes and threads begun on the machine for a request",
            Self::BesideContent => "bytes received beside content for a request",
            Self::Busy => "busy share of the generator",
            Self::ClosedByServer => "share of ended connections that the server closed",
            Self::Content => "content of an answer",
            Self::Cpu => "CPU time of the server for a request",
            Self::CpuBehind => "CPU time of the servers behind it for a request",
            Self::Failures => "share of requests that failed or were never sent",
            Self::Generator => "CPU time of the generator for a request",
            Self::Goodput => "content per second",
            Self::Headroom => "headroom of the generator",
            Self::KeptAlive => "share of exchanges that needed no new connection",
            Self::LogBytes => "bytes of the access log for a request",
            Self::LogLines => "lines of the access log for a request",
            Self::Memory => "memory of the server",
            Self::P50 => "median response time",
            Self::P99 => "p99 of response time",
            Self::PerConnection => "exchanges on a connection",
            Self::Processes => "processes of the server",
            Self::Rate => "right answers",
            Self::Received => "bytes received for a request",
            Self::Recovery => "time until answers took as before, once the crowd had gone",
            Self::Sent => "bytes sent for a request",
            Self::SourcesUsed => "source addresses that connections came from",
            Self::Stalled => "connections without an answer in the whole window",
            Self::System => "CPU time in the kernel for a request",
            Self::Threads => "threads of the server",
            Self::User => "CPU time in user code for a request",
            Self::WriteCalls => "system calls of the server that write, for a request",
        }
    }

    /// In what it is counted.
    pub const fn quantity(self) -> Quantity {
        match self {
            Self::BesideContent
            | Self::Content
            | Self::Goodput
            | Self::LogBytes
            | Self::Memory
            | Self::Received
            | Self::Sent => Quantity::Bytes,
            Self::Addresses
            | Self::Begun
            | Self::Headroom
            | Self::LogLines
            | Self::PerConnection
            | Self::Processes
            | Self::SourcesUsed
            | Self::Stalled
            | Self::Threads
            | Self::WriteCalls => Quantity::Count,
            Self::Rate => Quantity::Rate,
            Self::Busy | Self::ClosedByServer | Self::Failures | Self::KeptAlive => Quantity::Share,
            Self::Cpu
            | Self::CpuBehind
            | Self::Generator
            | Self::P50
            | Self::P99
            | Self::Recovery
            | Self::System
            | Self::User => Quantity::Time,
        }
    }
}

impl ServerVariant {
    /// Whether `name` is its label, or was before a budget or a machine left one value of an axis
    /// that labels name: `nginx 1 core` is `nginx` where no other number of cores is left.
    pub fn is_called(&self, name: &str) -> bool {
        self.is_as_called(&self.label, name)
    }

    /// Whether `name` is `own`, a label of this server, or was before axes were cut.
    pub(super) fn is_as_called(&self, own: &str, name: &str) -> bool {
        let unit = if self.cores == 1 { "core" } else { "cores" };
        let parts = [
            format!(" {} {unit}", self.cores),
            format!(" log {}", self.access_log.name()),
            format!(" pin {}", self.pin.name()),
        ];
        let mut name = name.to_owned();
        for part in parts.iter().filter(|part| !own.contains(*part)) {
            name = name.replacen(part, "", 1);
        }
        name == own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::OneOrMany;

    #[test]
    fn a_server_answers_to_the_label_that_it_had_before_axes_were_cut() {
        let file = |cores: OneOrMany<u32>| {
            let text = r#"{ "experiment": { "name": "x", "question": "?", "rounds": 6,
                "duration": "1s" }, "server": [{ "product": "nginx" }],
                "load": { "connections": 1 },
                "workload": [{ "name": "seven", "body": { "bytes": 7 } }] }"#;
            let mut file: crate::ExperimentFile = serde_json::from_str(text).unwrap();
            file.server[0].cores = cores;
            crate::Experiment::try_from(file).unwrap()
        };
        let called = |cores: OneOrMany<u32>, name: &str| {
            let experiment = file(cores);
            let mut servers = experiment.servers().iter();
            servers
                .find(|one| one.is_called(name))
                .map(|one| one.label.clone())
        };
        let cut = || OneOrMany::One(1);
        let whole = || OneOrMany::Many(vec![1, 2]);
        assert_eq!(called(cut(), "nginx 1 core").as_deref(), Some("nginx"));
        assert_eq!(called(cut(), "nginx").as_deref(), Some("nginx"));
        assert_eq!(called(cut(), "nginx 2 cores"), None);
        assert_eq!(
            called(whole(), "nginx 2 cores").as_deref(),
            Some("nginx 2 cores")
        );
        assert_eq!(called(whole(), "nginx"), None);
    }

    #[test]
    fn the_words_are_those_of_files() {
        assert!(Shown::WORDS.is_sorted());
        for word in Shown::WORDS {
            let shown: Shown = serde_json::from_value((*word).into()).unwrap();
            assert_eq!(serde_json::to_value(shown).unwrap(), *word);
        }
    }
}
