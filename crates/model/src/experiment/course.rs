//! What the load of an experiment does over time and where it comes from: stages of a rate, source
//! addresses, the place of the generator, and the path from it to the servers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::counts::Counts;
use super::file::{ExperimentFile, LoadFile, LoadMode, WorkloadFile};
use super::values::OneOrMany;
use super::{AXIS_MAX, Experiment, ExperimentError, wrong};
use crate::plan::Stage;
use crate::plan::pace::{self, Form};
use crate::threshold::Threshold;
use crate::units::{Rate, Span};

/// So many addresses are a /16; with more of them trials would meet each other's.
const SOURCES_MAX: u32 = 65_024;

/// A stage as people write it: `20s:=200`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StageText(pub Stage);

impl<'de> Deserialize<'de> for StageText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl Serialize for StageText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// On which CPUs the generator runs.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// On CPUs of its own.
    #[default]
    Apart,
    /// On those of the server.
    Shared,
}

impl Placement {
    /// The word in files, labels and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Apart => "apart",
            Self::Shared => "shared",
        }
    }
}

/// What lies between generator and servers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// The loopback device.
    Loopback,
    /// A pair of virtual Ethernet devices, each in a network namespace of the lab's own.
    Veth,
    /// A network to another machine.
    Remote,
}

impl Network {
    /// The word in files, labels and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Veth => "veth",
            Self::Remote => "remote",
        }
    }
}

/// The axis of connections.
pub(super) fn connections(counts: &Counts) -> Result<Vec<u32>, ExperimentError> {
    let mut list = match *counts {
        Counts::One(count) => vec![count],
        Counts::List(ref list) => list.clone(),
        Counts::Steps { step: 0, .. } => {
            return Err(wrong("load.connections.step", "give at least 1"));
        }
        Counts::Steps { from, to, .. } if from > to => {
            return Err(wrong(
                "load.connections.from",
                format!("{from} is more than to = {to}"),
            ));
        }
        Counts::Steps {
            from,
            to,
            step,
            ref also,
        } => {
            let step_size = usize::try_from(step).unwrap_or(usize::MAX);
            let even = (from..=to).step_by(step_size).take(AXIS_MAX + 1);
            let also = also.as_ref().map_or(&[][..], OneOrMany::as_slice);
            even.chain(also.iter().copied()).collect()
        }
    };
    list.sort_unstable();
    list.dedup();
    if list.is_empty() || list[0] == 0 {
        return Err(wrong("load.connections", "give at least 1"));
    }
    if list.len() > AXIS_MAX {
        return Err(wrong(
            "load.connections",
            format!("these are more than {AXIS_MAX} points; take a larger step"),
        ));
    }
    Ok(list)
}

/// The axis of connections of a workload; empty where it is that of the load.
pub(super) fn own_connections(workload: &WorkloadFile) -> Result<Vec<u32>, &'static str> {
    let Some(axis) = &workload.connections else {
        return Ok(Vec::new());
    };
    let counts = ascending(axis);
    match counts.first() {
        None | Some(0) => Err("give at least 1"),
        Some(_) => Ok(counts),
    }
}

/// The axis of intended loads; empty in a closed loop. A rate that changes stands there by its
/// mean.
pub(super) fn rates(load: &LoadFile) -> Result<Vec<Rate>, ExperimentError> {
    let rates = load.rate.as_ref().map_or(&[][..], OneOrMany::as_slice);
    let stages = !load.stages.is_empty();
    match load.mode {
        LoadMode::Closed if load.rate.is_some() => Err(wrong(
            "load.rate",
            "a closed loop has no rate; write mode = \"open\" or leave it out",
        )),
        LoadMode::Closed if stages => Err(wrong(
            "load.stages",
            "a closed loop has no rate that could change; write mode = \"open\"",
        )),
        LoadMode::Closed => Ok(Vec::new()),
        LoadMode::Capacity if load.rate.is_some() || stages => Err(wrong(
            if stages { "load.stages" } else { "load.rate" },
            "a search finds the rate: leave it out, or write mode = \"open\"",
        )),
        LoadMode::Capacity => Ok(Vec::new()),
        LoadMode::Open if stages && load.rate.is_some() => Err(wrong(
            "load.stages",
            "they say what the rate is: leave out rate",
        )),
        LoadMode::Open if stages => match mean_of(&load.stages) {
            mean if mean.is_zero() => Err(wrong("load.stages", "their mean rate is 0")),
            mean => Ok(vec![mean]),
        },
        LoadMode::Open if rates.is_empty() => Err(wrong(
            "load.rate",
            "an open loop needs a rate: rate = 2000 or [\"1k\", \"2k\"]",
        )),
        LoadMode::Open => Ok(rates.iter().map(|rate| rate.0).collect()),
    }
}

/// The conditions of a search for the capacity; empty where there is none.
pub(super) fn objective(load: &LoadFile) -> Result<Vec<Threshold>, ExperimentError> {
    let key = "load.objective";
    match (load.mode, &load.objective) {
        (LoadMode::Capacity, Some(text)) => {
            let read = |one: &str| one.trim().parse::<Threshold>();
            let all: Result<Vec<Threshold>, _> = text.split(',').map(read).collect();
            let all = all.map_err(|error| wrong(key, error.to_string()))?;
            if let Some(one) = all.iter().find(|one| one.asks_for_load()) {
                let why = format!(
                    "'{}' is met by a higher load, so it is no limit of one: say how long answers \
                     may take and how many may fail",
                    one.text()
                );
                return Err(wrong(key, why));
            }
            match all.iter().find(|one| one.is_of_pages()) {
                None => Ok(all),
                Some(one) => Err(wrong(
                    key,
                    format!(
                        "'{}' is about whole pages of users: what is searched here is a rate of \
                         requests",
                        one.text()
                    ),
                )),
            }
        }
        (LoadMode::Capacity, None) => Err(wrong(
            key,
            "say what has to hold at the capacity: objective = \"p(99)<5ms,errors<0.1%\"",
        )),
        (LoadMode::Closed | LoadMode::Open, Some(_)) => Err(wrong(
            key,
            "it is for a capacity search: write mode = \"capacity\", too",
        )),
        (LoadMode::Closed | LoadMode::Open, None) => Ok(Vec::new()),
    }
}

/// The mean rate of these stages.
pub(super) fn mean_of(stages: &[StageText]) -> Rate {
    let all: Vec<Stage> = stages.iter().map(|stage| stage.0).collect();
    pace::mean_rate(&all)
}

/// The stages as scripts and flags have them; none where there are none.
pub(super) fn written(stages: &[StageText]) -> Option<String> {
    let all: Vec<String> = stages.iter().map(|stage| stage.0.to_string()).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// The stages, of requests or of users who come, stretched or shortened to a window of that length:
/// a budget that shortens windows leaves their form as it is.
pub(super) fn stages(load: &LoadFile, window: Span) -> Vec<Stage> {
    let stages = match load.stages.as_slice() {
        [] => &load.user_stages,
        of_requests => of_requests,
    };
    let whole: Span = stages.iter().map(|stage| stage.0.length).sum();
    let scaled = |span: Span| {
        let ns = u128::from(span.as_ns()) * u128::from(window.as_ns());
        let ns = ns / u128::from(whole.as_ns().max(1));
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX).max(1))
    };
    let mut all: Vec<Stage> = stages.iter().map(|stage| stage.0).collect();
    for stage in &mut all {
        stage.length = scaled(stage.length);
        if let Form::Flash { half_life, .. } = &mut stage.form {
            *half_life = scaled(*half_life);
        }
    }
    all
}

/// The axis of source addresses; empty where the lab takes as many as the ports ask for.
pub(super) fn sources(load: &LoadFile) -> Result<Vec<u32>, ExperimentError> {
    let Some(axis) = &load.sources else {
        return Ok(Vec::new());
    };
    let counts = ascending(axis);
    if counts.is_empty() || counts[0] == 0 {
        return Err(wrong("load.sources", "give at least 1"));
    }
    if counts.last().is_some_and(|most| *most > SOURCES_MAX) {
        return Err(wrong("load.sources", format!("give at most {SOURCES_MAX}")));
    }
    Ok(counts)
}

/// The axis of the generator's place; empty where nothing is said.
pub(super) fn placements(load: &LoadFile) -> Result<Vec<Placement>, ExperimentError> {
    let Some(axis) = &load.placement else {
        return Ok(Vec::new());
    };
    let places = ascending(axis);
    match places.is_empty() {
        true => Err(wrong(
            "load.placement",
            "give at least one of apart, shared",
        )),
        false => Ok(places),
    }
}

/// The axis of the path to the servers; empty where nothing is said.
pub(super) fn networks(load: &LoadFile, is_remote: bool) -> Result<Vec<Network>, ExperimentError> {
    let Some(axis) = &load.network else {
        return Ok(Vec::new());
    };
    let networks = ascending(axis);
    if networks.is_empty() {
        return Err(wrong("load.network", "give at least one of loopback, veth"));
    }
    if networks.contains(&Network::Remote) && !is_remote {
        return Err(wrong(
            "load.network",
            "remote needs agents on other machines (the tables [generator] and [host]); write \
             loopback or veth, or give the server there as url = \"http://...\"",
        ));
    }
    Ok(networks)
}

/// Refuses a number of requests that cannot end a window.
pub(super) fn check_requests(file: &ExperimentFile) -> Result<(), ExperimentError> {
    let load = &file.load;
    let Some(most) = load.requests else {
        return Ok(());
    };
    let changes = !load.stages.is_empty() || !load.user_stages.is_empty();
    let why = match () {
        () if most == 0 => "give at least 1",
        () if load.mode == LoadMode::Capacity => "a search says how long its windows are",
        () if changes => "stages say how long a window is: leave one of them out",
        () if file.experiment.reload => {
            "servers are told to read their configuration again after half of the time: leave out \
             reload, or this"
        }
        () if file.generator.is_some() || file.host.is_some() => {
            "where generator and servers are on two machines, windows end with their time: leave \
             it out"
        }
        () => return Ok(()),
    };
    Err(wrong("load.requests", why))
}

impl Experiment {
    /// After how many requests a window ends, if its time has not come.
    pub const fn requests(&self) -> Option<u64> {
        self.file.load.requests
    }
}

/// The threads of the generator, if somebody said how many.
pub(super) fn workers(load: &LoadFile) -> Result<Option<u32>, ExperimentError> {
    match load.workers {
        Some(0) => Err(wrong("load.workers", "give at least 1")),
        Some(many) if usize::try_from(many).is_ok_and(|many| many > AXIS_MAX) => {
            Err(wrong("load.workers", format!("give at most {AXIS_MAX}")))
        }
        workers => Ok(workers),
    }
}

/// Each value once, ascending.
fn ascending<T: Copy + Ord>(axis: &OneOrMany<T>) -> Vec<T> {
    let mut values = axis.as_slice().to_vec();
    values.sort_unstable();
    values.dedup();
    values
}
