//! What users of a load do: how they begin, how long they think, and which steps they take. The
//! grammar of steps is that of scripts, and is read there.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::counts::Counts;
use super::file::{ArrivalKind, AskedFile, LoadFile, LoadMode};
use super::values::RateText;
use super::workload::Workload;
use super::{ExperimentError, WorkloadFile, course, wrong};
use crate::json::Json as _;
use crate::plan::{FORMAT, Plan, PlanError, PlanFile, Protocol, Stop, Think, pace};
use crate::script::{self, Alone, Around, Mistake, Named, Script};
use crate::units::Span;

/// The server of paths as long as nobody is asked.
const NOBODY: &str = "http://127.0.0.1/";

/// What users of a load do, beside asking for one thing after another.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Users {
    think: Option<Think>,
    ramp: Span,
    /// Connections of each, at most.
    each: u32,
    /// Their steps as the text of a script.
    steps: Option<String>,
    come_by_stages: bool,
}

impl Users {
    /// How long each waits before a request; none: not at all, or where their steps say.
    pub const fn think(&self) -> Option<Think> {
        self.think
    }

    /// Over how long they begin, before anything counts.
    pub const fn ramp(&self) -> Span {
        self.ramp
    }

    /// How many connections each has at most, where HTTP/1.1 is spoken.
    pub fn each(&self) -> u32 {
        self.each.max(1)
    }

    /// Whether they come at a rate that changes, take their steps once and leave.
    pub const fn come_by_stages(&self) -> bool {
        self.come_by_stages
    }

    /// What they ask the server of `base`, and in which steps; none where they take none. What
    /// steps name is found in `around`.
    pub fn script(&self, base: &str, around: &dyn Around) -> Option<Script> {
        let text = self.steps.as_ref()?;
        let read = script::read("load.step", text, Some(base), around);
        Some(read.expect("it was read when the experiment was"))
    }
}

/// The contents of a workload as steps find them: by name, or by path.
#[derive(Clone, Debug)]
pub struct Contents {
    workload: String,
    all: Vec<(Option<String>, Named)>,
}

impl Contents {
    /// Those of `workload`, each of them in its place.
    pub fn new(workload: &Workload, places: impl IntoIterator<Item = Named>) -> Self {
        let names = workload.requests.iter().map(|asked| asked.name.clone());
        Self {
            workload: workload.name.clone(),
            all: names.zip(places).collect(),
        }
    }

    /// As long as nobody is asked: each somewhere.
    fn of(workload: &Workload) -> Self {
        let somewhere = |_| Named {
            path: "/".to_owned(),
            expect: None,
        };
        Self::new(workload, workload.requests.iter().map(somewhere))
    }
}

impl Around for Contents {
    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!(
            "{name} is not read: an experiment is one file, so write its content here"
        ))
    }

    fn environment(&self, name: &str) -> Option<String> {
        Alone.environment(name)
    }

    fn named(&self, asked: &str) -> Result<Option<Named>, String> {
        let has_name = |(name, _): &&(Option<String>, Named)| name.as_deref() == Some(asked);
        let has_path = |(_, named): &&(Option<String>, Named)| named.path == asked;
        if asked.starts_with('/') {
            return Ok(self.all.iter().find(has_path).map(|(_, one)| one.clone()));
        }
        if let Some((_, named)) = self.all.iter().find(has_name) {
            return Ok(Some(named.clone()));
        }
        if asked.contains("://") {
            let why = "the experiment says which server is asked: give a path without it";
            return Err(why.to_owned());
        }
        let names = self.all.iter().filter_map(|(name, _)| name.as_deref());
        let names: Vec<&str> = names.collect();
        let there_are = match names.as_slice() {
            [] => "it has no names: write name = \"...\" in its [[workload.request]]".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        Err(format!(
            "workload '{}' has no request '{asked}', and a path begins with '/'; {there_are}",
            self.workload
        ))
    }
}

/// Takes the number of users for that of connections, which is what it is.
pub(super) fn count(load: &mut LoadFile) -> Result<(), ExperimentError> {
    match (&load.users, load.connections.is_none()) {
        (Some(_), false) => {
            let why = "each user has a connection of its own: give users or connections, not both";
            Err(wrong("load.users", why))
        }
        (None, true) => {
            let why = "say how many connections there are, or how many users";
            Err(wrong("load.connections", why))
        }
        (Some(_), true) => {
            only_closed(load, "load.users")?;
            load.connections = load.users.take().unwrap_or_else(Counts::none);
            Ok(())
        }
        (None, false) => Ok(()),
    }
}

/// Reads what users do, who ask for what is in `workloads`.
pub(super) fn read(
    load: &LoadFile,
    files: &[WorkloadFile],
    workloads: &[Workload],
) -> Result<Users, ExperimentError> {
    let has_steps = !load.step.is_empty();
    for (key, is_there) in [
        ("load.step", has_steps),
        ("load.think", load.think.is_some()),
        ("load.ramp", load.ramp.is_some()),
    ] {
        if is_there {
            only_closed(load, key)?;
        }
    }
    let think = load.think.as_ref().map(|text| text.parse::<Think>());
    let think = think.transpose().map_err(|why| wrong("load.think", why))?;
    if has_steps && think.is_some() {
        let why = "users wait where their steps say: write [[load.step]] with wait instead";
        return Err(wrong("load.think", why));
    }
    for (key, is_there) in [
        ("load.ramp", load.ramp.is_some()),
        ("load.cookies", load.cookies),
        ("load.user_connections", load.user_connections.is_some()),
        ("load.user_rate", load.user_rate.is_some()),
        ("load.user_stages", !load.user_stages.is_empty()),
        ("load.user_arrivals", load.user_arrivals.is_some()),
        ("load.variables", !load.variables.is_empty()),
    ] {
        if is_there && !has_steps {
            let why = "it is for users who take steps: write [[load.step]], too";
            return Err(wrong(key, why));
        }
    }
    come(load)?;
    let mut users = Users {
        think,
        ramp: load.ramp.unwrap_or_default(),
        each: load.user_connections.unwrap_or(1),
        steps: None,
        come_by_stages: !load.user_stages.is_empty(),
    };
    if has_steps {
        asked_by_steps(files)?;
        let text = text(load).map_err(|why| wrong("load.step", why))?;
        for workload in workloads {
            check(&text, workload, load.streams)?;
        }
        users.steps = Some(text);
    }
    Ok(users)
}

/// Users come in one way.
fn come(load: &LoadFile) -> Result<(), ExperimentError> {
    let key = match (load.user_rate, load.user_stages.as_slice()) {
        (None, []) => return Ok(()),
        (Some(_), []) => "user_rate",
        (None, _) => "user_stages",
        (Some(_), _) => {
            let why = "they say at which rate users come: leave out user_rate";
            return Err(wrong("load.user_stages", why));
        }
    };
    if load.ramp.is_some() {
        let why = format!("users come as {key} says, and do not begin together: leave it out");
        return Err(wrong("load.ramp", why));
    }
    if load.user_rate.is_none() && course::mean_of(&load.user_stages).is_zero() {
        return Err(wrong("load.user_stages", "their mean rate is 0"));
    }
    Ok(())
}

/// Users wait for answers, each for one.
fn only_closed(load: &LoadFile, key: &str) -> Result<(), ExperimentError> {
    if load.mode != LoadMode::Closed {
        let why = "users wait for answers, and an open loop does not: leave out mode";
        return Err(wrong(key, why));
    }
    // What is asked together may be under way on one connection: the steps are looked at below.
    if load.streams > 1 && load.step.is_empty() {
        let why = "a user has one request under way: leave out streams";
        return Err(wrong(key, why));
    }
    Ok(())
}

/// Where steps say what is asked, nothing else does.
fn asked_by_steps(files: &[WorkloadFile]) -> Result<(), ExperimentError> {
    for (index, file) in files.iter().enumerate() {
        let is_told = |asked: &AskedFile| {
            asked.weight.is_some()
                || asked.method.is_some()
                || asked.content.is_some()
                || asked.unchanged
                || !asked.headers.is_empty()
        };
        if let Some(place) = file.request.iter().position(is_told) {
            let why = "[[load.step]] says how it is asked and how often: leave out method, \
                       headers and weight";
            return Err(wrong(format!("workload[{index}].request[{place}]"), why));
        }
    }
    Ok(())
}

/// The steps as a script of their own.
fn text(load: &LoadFile) -> Result<String, String> {
    #[derive(Serialize)]
    struct Written<'l> {
        user_connections: Option<u32>,
        user_rate: Option<RateText>,
        user_stages: Option<String>,
        user_arrivals: Option<ArrivalKind>,
        cookies: bool,
        variables: &'l BTreeMap<String, Value>,
        step: &'l [Value],
    }
    let written = Written {
        user_connections: load.user_connections,
        user_rate: load.user_rate,
        user_stages: course::written(&load.user_stages),
        user_arrivals: load.user_arrivals,
        cookies: load.cookies,
        variables: &load.variables,
        step: &load.step,
    };
    toml::to_string(&written).map_err(|error| error.to_string())
}

/// Whether users can follow the script in `text` through that workload, with so many streams on a
/// connection of HTTP/2 or HTTP/3.
fn check(text: &str, workload: &Workload, streams: u32) -> Result<(), ExperimentError> {
    let read = script::read("load.step", text, Some(NOBODY), &Contents::of(workload));
    let script = read.map_err(|mistake| in_load(text, &mistake))?;
    if script
        .steps
        .variables
        .iter()
        .any(|variable| variable.secret)
    {
        let why = "an experiment is stored as it is written: leave out secret, and write no \
                   secret value";
        return Err(wrong("load.variables", why));
    }
    if script.requests.is_empty() {
        let why = "users ask for nothing: write a step with get, as in [[load.step]] get = \"/\"";
        return Err(wrong("load.step", why));
    }
    let plan = json!({
        "format": FORMAT, "requests": [], "arrivals": { "kind": "closed" },
        "stop": { "count": 1 }, "connections": 1, "timeout_ns": 1, "workers": 1,
    });
    let mut plan = PlanFile::from_json(plan.to_string().as_bytes()).expect("it is a plan");
    plan.timeout = Span::from_s(1);
    plan.requests = script.requests;
    plan.script = Some(script.steps);
    if !script.stages.is_empty() {
        plan.stop = Stop::DurationNs(pace::length(&script.stages));
        plan.stages = script.stages;
    }
    if streams > 1 {
        (plan.protocol, plan.streams) = (Protocol::Http2, streams);
    }
    plan.seat_users();
    match Plan::try_from(plan) {
        Ok(_) => Ok(()),
        Err(PlanError::Field { why, .. }) => Err(wrong("load.step", why)),
        Err(error @ PlanError::Url { .. }) => Err(wrong("load.step", error.to_string())),
    }
}

/// The same mistake by its key: steps stand one after the other in `text`.
fn in_load(text: &str, mistake: &Mistake) -> ExperimentError {
    let before = text.lines().take(mistake.line);
    let key = match before.filter(|line| *line == "[[step]]").count() {
        0 if text.contains("[variables") => "load.variables".to_owned(),
        0 => "load.step".to_owned(),
        number => format!("load.step[{}]", number - 1),
    };
    wrong(key, mistake.why.replace('`', "'"))
}

#[cfg(test)]
mod tests;
