//! Scripts as people write them: what a user does, as TOML. `docs/script.md` has every key.
//!
//! The grammar is read here alone, so that it means the same wherever a script may stand. What is
//! wrong with one is told with the file, the line and what to write instead.

mod around;
mod coming;
pub mod har;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use toml::Spanned;

pub use self::around::{Alone, Around, Named};
use self::variables::Variables;
use crate::experiment::{ArrivalKind, RateText};
use crate::misread;
use crate::plan::{
    AnswerFile, Expectation, PlanError, ScriptFile, Stage, StepFile, TakeFile, Think, Url, WayFile,
};
use crate::request::{Request, RequestFile};

/// What a script comes to: the requests of a plan, and the steps that name them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Script {
    /// One for each step that asks, in their order.
    pub requests: Vec<RequestFile>,
    /// What users do with them.
    pub steps: ScriptFile,
    /// How the rate changes at which users come; empty: not at all.
    pub stages: Vec<Stage>,
}

/// What is wrong with a script.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// The file, as given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What, and what to write instead.
    pub why: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

impl std::error::Error for Mistake {}

/// Reads the script in `text`, which `file` names in errors. A path alone is one of the server of
/// `url` in the script, or else of `base`.
///
/// # Errors
///
/// The text is no script.
pub fn read(
    file: &str,
    text: &str,
    base: Option<&str>,
    around: &dyn Around,
) -> Result<Script, Mistake> {
    let mistake = |(at, why): (Range<usize>, String)| Mistake {
        file: file.to_owned(),
        line: line_of(text, at.start),
        why,
    };
    let written: Written = toml::from_str(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        let why = misread::in_words(error.message());
        let key = misread::key_at(text, at.start).filter(|_| error.span().is_some());
        mistake((
            at,
            key.map_or_else(|| why.clone(), |key| format!("{key}: {why}")),
        ))
    })?;
    let mut reader = Reader {
        base: written.url.as_deref().or(base),
        around,
        requests: Vec::new(),
        names: BTreeSet::new(),
        variables: Variables::default(),
        answers: Vec::new(),
    };
    let start = match &written.start {
        None => Ok(None),
        Some(start) => law("start", start).map(Some),
    };
    let stages = written.stages().map_err(mistake)?;
    let steps = start.and_then(|start| {
        reader.variables.declare(&written.variables, around)?;
        reader.name_taken(&written.step)?;
        let steps = reader.steps(&written.step)?;
        Ok(ScriptFile {
            start,
            arrivals: written.arrivals(&stages)?,
            steps,
            user_connections: written.user_connections,
            cookies: written.cookies,
            variables: std::mem::take(&mut reader.variables).into_files(),
            answers: std::mem::take(&mut reader.answers),
        })
    });
    Ok(Script {
        steps: steps.map_err(mistake)?,
        requests: reader.requests,
        stages,
    })
}

fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// A script as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    url: Option<String>,
    start: Option<Spanned<String>>,
    user_rate: Option<RateText>,
    user_stages: Option<Spanned<String>>,
    user_arrivals: Option<Spanned<ArrivalKind>>,
    user_connections: Option<u32>,
    #[serde(default)]
    cookies: bool,
    #[serde(default)]
    variables: BTreeMap<Spanned<String>, Spanned<variables::Written>>,
    #[serde(default)]
    step: Vec<Spanned<StepWritten>>,
}

/// A step as it is written: of the keys that say what it does, one is there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepWritten {
    // What it does.
    get: Option<String>,
    head: Option<String>,
    post: Option<String>,
    put: Option<String>,
    patch: Option<String>,
    delete: Option<String>,
    request: Option<Spanned<String>>,
    wait: Option<Spanned<String>>,
    #[serde(default)]
    branch: Vec<Spanned<BranchWritten>>,
    step: Option<Vec<Spanned<Self>>>,
    parts: Option<Vec<Spanned<Self>>>,
    // How a request is made.
    name: Option<Spanned<String>>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<String>,
    body_file: Option<Spanned<String>>,
    expect: Option<Expectation>,
    // What is done with the answer.
    contains: Option<String>,
    #[serde(default)]
    take: BTreeMap<Spanned<String>, Spanned<variables::TakeWritten>>,
    // How often.
    repeat: Option<Spanned<Times>>,
    chance: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BranchWritten {
    #[serde(default = "one")]
    weight: u32,
    #[serde(default)]
    step: Vec<Spanned<StepWritten>>,
}

const fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Times {
    Exactly(u32),
    Between(String),
}

/// What is wrong, and where in the text.
type Wrong = (Range<usize>, String);

struct Reader<'a> {
    base: Option<&'a str>,
    around: &'a dyn Around,
    requests: Vec<RequestFile>,
    names: BTreeSet<String>,
    variables: Variables,
    answers: Vec<AnswerFile>,
}

impl Reader<'_> {
    fn steps(&mut self, written: &[Spanned<StepWritten>]) -> Result<Vec<StepFile>, Wrong> {
        written.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, spanned: &Spanned<StepWritten>) -> Result<StepFile, Wrong> {
        let step = spanned.get_ref();
        let wrong = |why: &str| Err((spanned.span(), why.to_owned()));
        let asked = asked(step)?;
        let kinds = asked.len()
            + usize::from(step.wait.is_some())
            + usize::from(!step.branch.is_empty())
            + usize::from(step.step.is_some())
            + usize::from(step.parts.is_some());
        if kinds != 1 {
            return wrong(
                "a step does one thing: give one of get, head, post, put, patch, delete, request, \
                 wait, branch, parts, step",
            );
        }
        if asked.is_empty() {
            let is_plain = step.name.is_none()
                && step.headers.is_empty()
                && step.body.is_none()
                && step.body_file.is_none()
                && step.expect.is_none()
                && step.contains.is_none()
                && step.take.is_empty();
            if !is_plain {
                return wrong(
                    "name, headers, body, body_file, expect, contains and take belong to requests",
                );
            }
        }
        let done = if let Some((method, url)) = asked.into_iter().next() {
            self.request(spanned, method, url)?
        } else if let Some(wait) = &step.wait {
            StepFile::Wait(law("wait", wait)?)
        } else if let Some(parts) = &step.parts {
            StepFile::Together(self.parts(parts)?)
        } else if let Some(steps) = &step.step {
            let steps = self.steps(steps)?;
            let (from, to) = (1, 1);
            StepFile::Repeat { from, to, steps }
        } else {
            let ways = step.branch.iter().map(|branch| {
                let BranchWritten { weight, step } = branch.get_ref();
                let steps = self.steps(step)?;
                Ok(WayFile {
                    weight: *weight,
                    steps,
                })
            });
            StepFile::Choose(ways.collect::<Result<_, Wrong>>()?)
        };
        how_often(step, done)
    }

    /// The requests that are asked together.
    fn parts(&mut self, written: &[Spanned<StepWritten>]) -> Result<Vec<u16>, Wrong> {
        let class = |part: &Spanned<StepWritten>| match self.step(part)? {
            StepFile::Ask(class) => Ok(class),
            _ => {
                let why =
                    "each of parts is a request that is sent once, as in { get = \"/a.css\" }";
                Err((part.span(), why.to_owned()))
            }
        };
        written.iter().map(class).collect()
    }

    fn request(
        &mut self,
        spanned: &Spanned<StepWritten>,
        method: String,
        url: &str,
    ) -> Result<StepFile, Wrong> {
        let step = spanned.get_ref();
        let wrong = |why: String| (spanned.span(), why);
        let body = match (&step.body, &step.body_file) {
            (Some(_), Some(_)) => return Err(wrong("give body or body_file, not both".to_owned())),
            (Some(text), None) => Some(text.as_bytes().to_vec()),
            (None, Some(path)) => {
                let read = self.around.file(path.get_ref());
                Some(read.map_err(|why| (path.span(), format!("body_file: {why}")))?)
            }
            (None, None) => None,
        };
        let read = |text: &[u8]| self.variables.read_text(text).map_err(wrong);
        let read_str =
            |text: &str| Ok(String::from_utf8_lossy(&read(text.as_bytes())?).into_owned());
        let headers = step.headers.iter();
        let headers = headers.map(|(name, value)| Ok((name.clone(), read_str(value)?)));
        let named = self.around.named(url).map_err(wrong)?;
        let called = named.as_ref().filter(|_| !url.starts_with('/'));
        let called = called.map(|_| format!("{method} {url}"));
        let path = named.as_ref().map_or(url, |named| &named.path);
        let expect = step.expect.clone();
        let of_name = named.as_ref().filter(|_| method == "GET");
        let expect = expect.or_else(|| of_name.and_then(|named| named.expect.clone()));
        let url = Url::absolute(&read_str(path)?, self.base).map_err(wrong)?;
        let body = body.as_deref().map(read).transpose()?;
        let mut request = RequestFile {
            method,
            headers: headers.collect::<Result<_, Wrong>>()?,
            body_base64: body.map(|bytes| BASE64.encode(bytes)),
            name: step.name.as_ref().map(|name| name.get_ref().clone()),
            expect,
            ..RequestFile::get(url)
        };
        let meant = Request::read(&request, &Expectation::default())
            .map_err(|error| wrong(in_words(&error)))?;
        if meant.url.host.contains("${") {
            let why = "a server is known before the run: a variable stands behind its host, in the \
                       path, the query, a field or the content";
            return Err(wrong(why.to_owned()));
        }
        if let Some(name) = &step.name {
            if !self.names.insert(name.get_ref().clone()) {
                let why = format!(
                    "another step is called '{}' already: give each a name of its own",
                    name.get_ref()
                );
                return Err((name.span(), why));
            }
        } else {
            let name = called.as_ref().unwrap_or(&meant.name);
            request.name = Some(unique(&mut self.names, name));
        }
        let class = u16::try_from(self.requests.len())
            .map_err(|_| wrong("a script has at most 65,536 requests".to_owned()))?;
        self.requests.push(request);
        self.answer(class, step)?;
        Ok(StepFile::Ask(class))
    }
}

impl Reader<'_> {
    /// What is done with the answer to the request of a step.
    fn answer(&mut self, request: u16, step: &StepWritten) -> Result<(), Wrong> {
        let takes = step.take.iter().map(|(name, written)| {
            let variable = name.get_ref().clone();
            let from = written
                .get_ref()
                .read()
                .map_err(|why| (written.span(), why))?;
            Ok(TakeFile { variable, from })
        });
        let takes: Vec<TakeFile> = takes.collect::<Result<_, Wrong>>()?;
        let contains = step.contains.clone();
        if contains.is_some() || !takes.is_empty() {
            self.answers.push(AnswerFile {
                request,
                takes,
                contains,
            });
        }
        Ok(())
    }

    /// What steps take from answers are variables, too, for all steps.
    fn name_taken(&mut self, steps: &[Spanned<StepWritten>]) -> Result<(), Wrong> {
        for step in steps {
            let step = step.get_ref();
            for name in step.take.keys() {
                self.variables.take(name)?;
            }
            self.name_taken(step.step.as_deref().unwrap_or_default())?;
            self.name_taken(step.parts.as_deref().unwrap_or_default())?;
            for branch in &step.branch {
                self.name_taken(&branch.get_ref().step)?;
            }
        }
        Ok(())
    }
}

/// `name`, or that with a number, if another is called so.
fn unique(names: &mut BTreeSet<String>, name: &str) -> String {
    let mut found = name.to_owned();
    let mut number = 1;
    while !names.insert(found.clone()) {
        number += 1;
        found = format!("{name} #{number}");
    }
    found
}

/// The requests that a step says: there should be one at most.
fn asked(step: &StepWritten) -> Result<Vec<(String, &str)>, Wrong> {
    let by_key = [
        ("GET", &step.get),
        ("HEAD", &step.head),
        ("POST", &step.post),
        ("PUT", &step.put),
        ("PATCH", &step.patch),
        ("DELETE", &step.delete),
    ];
    let mut all: Vec<(String, &str)> = by_key
        .into_iter()
        .filter_map(|(method, url)| Some((method.to_owned(), url.as_deref()?)))
        .collect();
    if let Some(written) = &step.request {
        let both = written.get_ref().split_once(' ');
        let (method, url) = both.ok_or_else(|| {
            let why = "request: write METHOD URL, as in request = \"PURGE /page\"";
            (written.span(), why.to_owned())
        })?;
        all.push((method.to_owned(), url.trim()));
    }
    Ok(all)
}

/// A step that is taken several times, or by chance.
fn how_often(written: &StepWritten, step: StepFile) -> Result<StepFile, Wrong> {
    let step = match &written.repeat {
        None => step,
        Some(times) => {
            let (from, to) = between(times)?;
            let steps = match step {
                StepFile::Repeat { steps, .. } => steps,
                step => vec![step],
            };
            StepFile::Repeat { from, to, steps }
        }
    };
    let Some(chance) = &written.chance else {
        return Ok(step);
    };
    let weight = millionths(chance.get_ref()).ok_or_else(|| {
        let why = "chance: write a share from 0% to 100%, as in chance = \"30%\"";
        (chance.span(), why.to_owned())
    })?;
    let taken = WayFile {
        weight,
        steps: vec![step],
    };
    let passed = WayFile {
        weight: 1_000_000 - weight,
        steps: Vec::new(),
    };
    Ok(StepFile::Choose(vec![taken, passed]))
}

fn between(times: &Spanned<Times>) -> Result<(u32, u32), Wrong> {
    let form = || {
        let why = "repeat: write how often, as in repeat = 3 or repeat = \"2-5\"";
        (times.span(), why.to_owned())
    };
    let (from, to) = match times.get_ref() {
        Times::Exactly(count) => (*count, *count),
        Times::Between(text) => {
            let (from, to) = text.split_once('-').ok_or_else(form)?;
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| form());
            (number(from)?, number(to)?)
        }
    };
    if to == 0 || from > to {
        return Err(form());
    }
    Ok((from, to))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to 1,000,000"
)]
fn millionths(text: &str) -> Option<u32> {
    let share: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0)
        .contains(&share)
        .then(|| (share * 1e4).round() as u32)
}

fn law(key: &str, written: &Spanned<String>) -> Result<Think, Wrong> {
    let read = written.get_ref().parse();
    read.map_err(|why: String| (written.span(), format!("{key}: {why}")))
}

/// Flags are no words of a script.
fn in_words(error: &PlanError) -> String {
    match error {
        PlanError::Field { field, why } => format!("{field}: {why}"),
        error @ PlanError::Url { .. } => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
