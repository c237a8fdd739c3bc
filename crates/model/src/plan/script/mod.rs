//! What users do, in order, again and again, as a plan holds it. People write it as `crate::script`
//! reads it.

mod check;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

pub(super) use self::check::check;
use super::pace::Think;
use super::{Arrivals, PlanError, PlanFile, Protocol, Url, field};
use crate::redact::REDACTED;
use crate::request::RequestFile;

/// The streams that servers usually allow: RFC 9113 §6.5.2 advises no fewer.
const STREAMS_USUAL: u32 = 100;

/// What each user does, in order, again and again.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// How long each user waits before the first step, once; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Think>,
    /// When users come who take the steps once and leave: each place of the plan's connections is
    /// for one at a time. Closed: all are there from the beginning, and begin again at the end.
    #[serde(default, skip_serializing_if = "Arrivals::is_closed")]
    pub arrivals: Arrivals,
    /// In order.
    pub steps: Vec<StepFile>,
    /// Connections that each user has to each server, at most; none: one. What is asked together is
    /// shared out among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_connections: Option<u32>,
    /// Whether each user keeps the cookies that answers set, and sends them back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cookies: bool,
    /// What each user knows by name: `${name}` in a path, field or content stands for its value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableFile>,
    /// What users do with answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerFile>,
}

/// One step of a script.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepFile {
    /// The user sends the request in this position of the plan and waits for its answer.
    Ask(u16),
    /// One of several ways, at random.
    Choose(Vec<WayFile>),
    /// Steps that are taken several times.
    Repeat {
        /// At least so often.
        from: u32,
        /// At most so often; each number between is as probable.
        to: u32,
        /// What is repeated.
        steps: Vec<Self>,
    },
    /// The user sends the requests in these positions, in their order, as many at once as its
    /// connections carry, and waits for all answers.
    Together(Vec<u16>),
    /// The user waits.
    Wait(Think),
}

impl StepFile {
    /// How many requests it sends; none where that differs, or where it waits.
    fn asks(&self) -> Option<u64> {
        match self {
            Self::Ask(_) => Some(1),
            Self::Together(all) => Some(all.len() as u64),
            Self::Repeat { from, to, steps } => {
                let once = asks(steps)?;
                once.checked_mul(u64::from(*from)).filter(|_| from == to)
            }
            Self::Choose(_) | Self::Wait(_) => None,
        }
    }
}

fn asks(steps: &[StepFile]) -> Option<u64> {
    let mut each = steps.iter().map(StepFile::asks);
    each.try_fold(0_u64, |sum, count| sum.checked_add(count?))
}

/// A value that each user has for itself.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VariableFile {
    /// Letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// Whether it stays what it was in the first round; else each round has another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Whether it is taken out of what is stored, unless somebody asks to keep it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Where it comes from.
    pub source: SourceFile,
}

/// Where a value comes from.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SourceFile {
    /// From an answer; empty until a step takes it.
    Answer,
    /// Another number for each user in each round.
    Counter {
        /// The first.
        from: u64,
    },
    /// One of several texts.
    List {
        /// In order.
        values: Vec<String>,
        /// Whether each is as probable; else users and rounds take them in turn.
        #[serde(default)]
        random: bool,
        /// Variables with the same number have drawn the same position.
        draw: u32,
    },
    /// A whole number, each as probable.
    Random {
        /// The smallest.
        from: u64,
        /// The largest.
        to: u64,
        /// Variables with the same number have drawn the same.
        draw: u32,
    },
}

/// What is done with the answers to one request.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerFile {
    /// Its position in the plan.
    pub request: u16,
    /// What the user keeps of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<TakeFile>,
    /// A text without which the answer is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// A value that a user keeps of an answer, which is wrong without it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TakeFile {
    /// What holds it from then on.
    pub variable: String,
    /// Where it stands.
    pub from: FromFile,
}

/// Where in an answer a value stands.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FromFile {
    /// The field of that name.
    Header(String),
    /// Content that is JSON: a pointer (RFC 6901).
    Json(String),
    /// Content that this regular expression matches: its first group, or all of it.
    Pattern(String),
}

/// One of several ways.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WayFile {
    /// How often it is gone, in relation to the weights of the others.
    pub weight: u32,
    /// What is done on it; may be nothing.
    pub steps: Vec<StepFile>,
}

impl ScriptFile {
    /// How many requests each user who comes sends, one right after the other; none where that
    /// differs from user to user, or where they wait.
    pub fn asked_by_each(&self) -> Option<u64> {
        let comes = self.arrivals.rate().is_some() && self.start.is_none();
        asks(&self.steps).filter(|_| comes)
    }

    /// How many of its steps are requests.
    pub fn requests(&self) -> usize {
        count(&self.steps)
    }

    /// How many requests a user may have under way at once, as far as its steps say.
    pub fn together(&self) -> usize {
        most_together(&self.steps)
    }

    /// Whether users ask for parts, alone or behind a request: whole pages, whose times are told.
    pub fn has_pages(&self) -> bool {
        has_parts(&self.steps)
    }

    /// Whether users know anything, or look for anything in answers.
    pub const fn is_stateful(&self) -> bool {
        self.cookies || !self.variables.is_empty() || !self.answers.is_empty()
    }

    /// The same for users who do not wait, neither before the first step nor between steps.
    #[must_use]
    pub fn without_waits(&self) -> Self {
        Self {
            start: None,
            arrivals: Arrivals::Closed,
            steps: without_waits(&self.steps),
            ..self.clone()
        }
    }

    /// The same requests in the same order, of users who neither wait nor know anything.
    #[must_use]
    pub fn requests_alone(&self) -> Self {
        Self {
            cookies: false,
            variables: Vec::new(),
            answers: Vec::new(),
            ..self.without_waits()
        }
    }

    /// Whether the bytes of a request are the same for each user and each time. Of what was taken
    /// out when it was stored nobody knows.
    pub fn is_fixed(&self, request: &RequestFile) -> bool {
        let body = request.body_base64.as_ref();
        let body = body.and_then(|body| BASE64.decode(body).ok());
        let body = body.unwrap_or_default();
        let fields = request.headers.iter();
        let texts = fields.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        let mut texts = texts.chain([request.url.as_bytes(), &body]);
        !self.cookies && texts.all(|text| !self.stand_in(text))
    }

    /// Whether a variable stands in a text, if only as `$${name}`, which is sent as `${name}`.
    fn stand_in(&self, text: &[u8]) -> bool {
        self.variables.iter().any(|variable| {
            let written = format!("${{{}}}", variable.name);
            let mut windows = text.windows(written.len());
            text == REDACTED.as_bytes() || windows.any(|window| window == written.as_bytes())
        })
    }
}

impl PlanFile {
    /// How many connections each user has, at most: one, unless a script says more; users of a
    /// script have so many to each of its servers.
    pub fn user_connections(&self) -> u32 {
        let Some(script) = &self.script else {
            return 1;
        };
        let servers = u32::try_from(self.servers()).unwrap_or(1);
        let each = script.user_connections.unwrap_or(1).max(1);
        each.saturating_mul(servers)
    }

    /// How many connections are open once all users have taken the steps that each of them takes:
    /// what is asked of a server together may need fewer than a user may have to it.
    pub fn connections_wanted(&self) -> u32 {
        let Some(script) = &self.script else {
            return self.connections;
        };
        let most = script.user_connections.unwrap_or(1).max(1);
        let mut wanted = BTreeMap::new();
        for_all_users(&script.steps, &mut |classes| {
            let mut asked: BTreeMap<_, u32> = BTreeMap::new();
            for class in classes {
                let request = self.requests.get(usize::from(*class));
                let url = request.and_then(|request| Url::parse(&request.url).ok());
                let server = url.map(|url| (url.host, url.port, url.is_secure));
                *asked.entry(server).or_default() += 1;
            }
            for (server, count) in asked {
                let needed = count.div_ceil(self.at_once().max(1)).min(most);
                let so_far: &mut u32 = wanted.entry(server).or_default();
                *so_far = needed.max(*so_far);
            }
        });
        let users = self.connections / self.user_connections();
        users.saturating_mul(wanted.values().sum::<u32>().max(1))
    }

    /// Seats the users of a script, as many as the plan has connections: over HTTP/1.1 each gets
    /// the connections that the script says. Over HTTP/2 and HTTP/3 it has one connection to each
    /// server, as in a browser, and what is asked together shares that: as many streams at once as
    /// are needed and a usual server allows, unless the plan says how many.
    pub fn seat_users(&mut self) {
        self.seat_users_at((self.streams > 1).then_some(self.streams));
    }

    /// The same with so many streams, if it is said how many.
    pub fn seat_users_at(&mut self, streams: Option<u32>) {
        if let Some(script) = &mut self.script
            && self.protocol != Protocol::Http1
        {
            script.user_connections = None;
            let together = u32::try_from(script.together()).unwrap_or(u32::MAX);
            self.streams = streams.unwrap_or_else(|| together.clamp(1, STREAMS_USUAL));
        }
        self.connections = self.connections.saturating_mul(self.user_connections());
    }

    /// Whether the bytes of the request in this position are the same each time.
    pub fn is_fixed(&self, position: usize) -> bool {
        let script = self.script.as_ref();
        let is_fixed = |script: &ScriptFile| script.is_fixed(&self.requests[position]);
        !self.is_asked_by_lua() && script.is_none_or(is_fixed)
    }
}

fn without_waits(steps: &[StepFile]) -> Vec<StepFile> {
    let without = |step: &StepFile| match step {
        StepFile::Ask(request) => Some(StepFile::Ask(*request)),
        StepFile::Choose(ways) => {
            let ways = ways.iter().map(|way| WayFile {
                weight: way.weight,
                steps: without_waits(&way.steps),
            });
            Some(StepFile::Choose(ways.collect()))
        }
        StepFile::Repeat { from, to, steps } => {
            let (from, to, steps) = (*from, *to, without_waits(steps));
            (!steps.is_empty()).then_some(StepFile::Repeat { from, to, steps })
        }
        StepFile::Together(requests) => Some(StepFile::Together(requests.clone())),
        StepFile::Wait(_) => None,
    };
    steps.iter().filter_map(without).collect()
}

fn count(steps: &[StepFile]) -> usize {
    let of = |step: &StepFile| match step {
        StepFile::Ask(_) => 1,
        StepFile::Choose(ways) => ways.iter().map(|way| count(&way.steps)).sum(),
        StepFile::Repeat { steps, .. } => count(steps),
        StepFile::Together(requests) => requests.len(),
        StepFile::Wait(_) => 0,
    };
    steps.iter().map(of).sum()
}

/// Tells what is asked together in each step that no chance or branch leaves out.
fn for_all_users(steps: &[StepFile], tell: &mut dyn FnMut(&[u16])) {
    for step in steps {
        match step {
            StepFile::Ask(class) => tell(&[*class]),
            StepFile::Together(classes) => tell(classes),
            StepFile::Repeat { from, steps, .. } if *from > 0 => for_all_users(steps, tell),
            StepFile::Choose(_) | StepFile::Repeat { .. } | StepFile::Wait(_) => {}
        }
    }
}

fn most_together(steps: &[StepFile]) -> usize {
    let of = |step: &StepFile| match step {
        StepFile::Ask(_) => 1,
        StepFile::Choose(ways) => {
            let ways = ways.iter().map(|way| most_together(&way.steps));
            ways.max().unwrap_or(0)
        }
        StepFile::Repeat { steps, .. } => most_together(steps),
        StepFile::Together(requests) => requests.len(),
        StepFile::Wait(_) => 0,
    };
    steps.iter().map(of).max().unwrap_or(0)
}

fn has_parts(steps: &[StepFile]) -> bool {
    steps.iter().any(|step| match step {
        StepFile::Choose(ways) => ways.iter().any(|way| has_parts(&way.steps)),
        StepFile::Repeat { steps, .. } => has_parts(steps),
        StepFile::Together(_) => true,
        StepFile::Ask(_) | StepFile::Wait(_) => false,
    })
}

#[cfg(test)]
mod tests;
