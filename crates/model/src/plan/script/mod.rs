//! What users do, in order, again and again, as a plan holds it. People write it as `crate::script`
//! reads it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::pace::Think;
use super::{PlanError, PlanFile, field};
use crate::redact::REDACTED;
use crate::request::RequestFile;

/// The most steps that a user may take without a request: what the generator does meanwhile is time
/// that answers of other users wait.
const UNASKED_MAX: u64 = 10_000;

/// What each user does, in order, again and again.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// How long each user waits before the first step, once; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Think>,
    /// In order.
    pub steps: Vec<StepFile>,
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
    /// The user waits.
    Wait(Think),
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
    /// How many of its steps are requests.
    pub fn requests(&self) -> usize {
        count(&self.steps)
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
    fn is_fixed(&self, request: &RequestFile) -> bool {
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
        StepFile::Wait(_) => None,
    };
    steps.iter().filter_map(without).collect()
}

fn count(steps: &[StepFile]) -> usize {
    let of = |step: &StepFile| match step {
        StepFile::Ask(_) => 1,
        StepFile::Choose(ways) => ways.iter().map(|way| count(&way.steps)).sum(),
        StepFile::Repeat { steps, .. } => count(steps),
        StepFile::Wait(_) => 0,
    };
    steps.iter().map(of).sum()
}

/// A script goes with what else the plan says, and users get on in it.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let Some(script) = &file.script else {
        return Ok(());
    };
    let wrong = |why: &str| Err(field("script", why));
    if file.arrivals.rate().is_some() {
        return wrong("users ask when their steps say, so there is no rate");
    }
    if file.think.is_some() {
        return wrong("users wait where their steps say, so there is no other think time");
    }
    if file.at_once() > 1 {
        return wrong("a user has one request under way");
    }
    check_values(file, script)?;
    check_steps(&script.steps, file.requests.len())?;
    if !always_asks(&script.steps) {
        return wrong(
            "a user could reach the end without a request: put one outside all chances and \
             branches, or one in each branch",
        );
    }
    if unasked(&script.steps) > UNASKED_MAX {
        return wrong("a user could take more than 10,000 steps without a request: repeat less");
    }
    Ok(())
}

/// What users know, and what they take from answers.
fn check_values(file: &PlanFile, script: &ScriptFile) -> Result<(), PlanError> {
    let wrong = |why: String| Err(field("script", why));
    let mut names = BTreeSet::new();
    for VariableFile { name, source, .. } in &script.variables {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return wrong(format!(
                "'{name}' cannot be the name of a variable: use letters, digits, '_', '-' and '.'"
            ));
        }
        if !names.insert(name.as_str()) {
            return wrong(format!("there are two variables '{name}'"));
        }
        match source {
            SourceFile::List { values, .. } if values.is_empty() => {
                return wrong(format!("variable '{name}': give at least one value"));
            }
            SourceFile::List { values, .. } if values.contains(&REDACTED.to_owned()) => {
                return wrong(format!(
                    "the values of {name} were taken out when this was stored; give them again"
                ));
            }
            SourceFile::Random { from, to, .. } if from > to => {
                return wrong(format!(
                    "variable '{name}': the smallest number comes first"
                ));
            }
            _ => {}
        }
    }
    for answer in &script.answers {
        if usize::from(answer.request) >= file.requests.len() {
            return wrong(format!("there is no request {}, from 0", answer.request));
        }
        for TakeFile { variable, from } in &answer.takes {
            if !names.contains(variable.as_str()) {
                return wrong(format!("there is no variable '{variable}' to take a value"));
            }
            match from {
                FromFile::Json(pointer) if !pointer.is_empty() && !pointer.starts_with('/') => {
                    return wrong(format!(
                        "'{pointer}' is not a JSON pointer: begin it with '/'"
                    ));
                }
                FromFile::Pattern(pattern) => {
                    if let Err(error) = regex_lite::Regex::new(pattern) {
                        return wrong(format!("'{pattern}' is not a regular expression: {error}"));
                    }
                }
                FromFile::Header(_) | FromFile::Json(_) => {}
            }
        }
    }
    Ok(())
}

fn check_steps(steps: &[StepFile], requests: usize) -> Result<(), PlanError> {
    for step in steps {
        match step {
            StepFile::Ask(class) if usize::from(*class) >= requests => {
                let why = format!("step asks for request {class} of {requests}, from 0");
                return Err(field("script", why));
            }
            StepFile::Ask(_) | StepFile::Wait(_) => {}
            StepFile::Choose(ways) => {
                if ways.iter().all(|way| way.weight == 0) {
                    return Err(field(
                        "script",
                        "give at least one branch a weight of 1 or more",
                    ));
                }
                for way in ways {
                    check_steps(&way.steps, requests)?;
                }
            }
            StepFile::Repeat { from, to, steps } => {
                if from > to || *to == 0 {
                    let why = format!(
                        "repeat {from} to {to} times: give 1 or more, the smaller number first"
                    );
                    return Err(field("script", why));
                }
                check_steps(steps, requests)?;
            }
        }
    }
    Ok(())
}

/// Whether whoever takes these steps sends a request, whatever is drawn.
fn always_asks(steps: &[StepFile]) -> bool {
    steps.iter().any(|step| match step {
        StepFile::Ask(_) => true,
        StepFile::Choose(ways) => {
            let mut gone = ways.iter().filter(|way| way.weight > 0);
            gone.all(|way| always_asks(&way.steps))
        }
        StepFile::Repeat { from, steps, .. } => *from > 0 && always_asks(steps),
        StepFile::Wait(_) => false,
    })
}

/// How many steps that may be, at most, without a request.
fn unasked(steps: &[StepFile]) -> u64 {
    let of = |step: &StepFile| match step {
        StepFile::Ask(_) | StepFile::Wait(_) => 1,
        StepFile::Choose(ways) => {
            let longest = ways.iter().map(|way| unasked(&way.steps)).max();
            longest.unwrap_or(0).saturating_add(1)
        }
        StepFile::Repeat { to, steps, .. } => {
            let times = if always_asks(steps) {
                1
            } else {
                u64::from(*to)
            };
            (unasked(steps).saturating_add(1))
                .saturating_mul(times)
                .saturating_add(1)
        }
    };
    steps.iter().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
