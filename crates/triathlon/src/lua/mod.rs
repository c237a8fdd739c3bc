//! wrk's scripts in Lua: their states, who writes and hears in them during a run, and the report
//! that they make at its end.
//!
//! As in wrk there is a state for each thread, and one beside them in which `setup` and `done` run.
//! A script that only says what is asked becomes a plan like any other and costs the loop nothing.

mod attended;
mod carry;
mod state;

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use load::author::Seat;
use load::dictation;
use mlua::{Lua, Table};
use model::plan::{Expectation, LuaFile, PIPELINE_MAX, Request, RequestFile, Url};
use sha2::{Digest as _, Sha256};

pub(crate) use self::attended::attended;
use self::state::{State, Threads};
use crate::exit::{Exit, UsageError};
use crate::out;

/// A script, ready to run.
#[derive(Debug)]
pub(crate) struct Script {
    /// Where `done` runs.
    main: State,
    threads: Arc<Threads>,
    states: Vec<State>,
    /// What a plan says of it.
    pub(crate) lua: LuaFile,
    /// The request of the plan.
    pub(crate) request: RequestFile,
    /// How many requests it hands over at once.
    pub(crate) pipeline: u32,
    /// Where its threads connect to, if it says so for all of them.
    pub(crate) addresses: Vec<SocketAddr>,
}

/// A script whose run is over.
#[derive(Debug)]
pub(crate) struct Ended {
    name: String,
    /// None if it did not return on one of its threads: it cannot be called any more.
    script: Option<Script>,
}

/// The text of a script.
struct Text {
    shown: String,
    code: Vec<u8>,
}

/// Who is asked, as `wrk` says it to a script.
struct Place {
    scheme: &'static str,
    host: String,
    port: Option<String>,
    path: String,
    headers: Vec<(String, String)>,
}

/// What `done` is told.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) duration_us: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    /// By the name that wrk has for them.
    pub(crate) errors: [(&'static str, u64); 5],
    pub(crate) latency: Statistics,
    pub(crate) rates: Statistics,
}

/// Numbers, and how often each of them was seen, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) values: Vec<(u64, u64)>,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Script {
    /// Runs the script at `path` in a state for each of `threads`, with `words` for its `init`.
    /// `request` is what is asked unless it says otherwise; `addresses` are where that leads.
    pub(crate) fn read(
        path: &Path,
        words: &[String],
        request: &RequestFile,
        addresses: &[SocketAddr],
        threads: u32,
    ) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        let code = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        let mut lua = LuaFile {
            name: name.to_string_lossy().into_owned(),
            sha256: model::hex(&Sha256::digest(&code)),
            ..LuaFile::default()
        };
        let text = Text {
            shown,
            code: without_shebang(code),
        };
        let prepared = prepare(&text, &mut lua, words, request, addresses, threads);
        Ok(prepared.map_err(|why| UsageError(format!("the Lua script: {why}")))?)
    }

    /// Who works for each worker of the run.
    pub(crate) fn seats(&self) -> Vec<Seat> {
        let takes_part = self.lua.takes_part();
        let states = self.states.iter().enumerate();
        let seat = |(index, state): (usize, &State)| Seat {
            author: takes_part.then(|| state.author(index)),
            target: self.threads.address(index),
            asked: self.threads.asked(index),
        };
        states.map(seat).collect()
    }

    /// What is left of it where its run is over.
    pub(crate) fn ended(self) -> Ended {
        let name = self.lua.name.clone();
        if self.threads.are_left_behind() {
            // Nor can it be freed.
            std::mem::forget(self);
            return Ended { name, script: None };
        }
        Ended {
            name,
            script: Some(self),
        }
    }

    /// Tells the script what came of the run, if it wants to know.
    fn done(&self, finished: &Finished) -> anyhow::Result<()> {
        let told = || -> Result<(), String> {
            let lua = self.main.lua();
            let tables = (
                summary(lua, finished),
                statistics(lua, &finished.latency),
                statistics(lua, &finished.rates),
            );
            let (Ok(summary), Ok(latency), Ok(rates)) = tables else {
                return Err("there is no memory for the arguments of done()".to_owned());
            };
            self.main.call::<()>("done", (summary, latency, rates))?;
            self.main.call("flush", ())
        };
        Ok(told().map_err(|why| UsageError(format!("the Lua script: {why}")))?)
    }
}

impl Ended {
    /// Tells the script what came of the run, until it has heard that or somebody interrupts it.
    /// `exit` is what the run has, which a thread without an end makes a mistake of the script.
    pub(crate) fn finish(self, finished: Finished, exit: Exit) -> anyhow::Result<Exit> {
        let Self { name, script } = self;
        if let Some(script) = script {
            attended(&name, move || script.done(&finished))?;
            return Ok(exit);
        }
        // Where another tool's text is printed, nobody reads the record's notes.
        out::note(format_args!(
            "triathlon: the Lua script {name} did not return on all threads (a loop without an \
             end?): what was measured on the others is told, and done() is not called"
        ));
        Ok(match exit {
            Exit::Interrupted => exit,
            _ => Exit::Usage,
        })
    }
}

/// Everything before the run, in wrk's order.
fn prepare(
    text: &Text,
    lua: &mut LuaFile,
    words: &[String],
    request: &RequestFile,
    addresses: &[SocketAddr],
    threads: u32,
) -> Result<Script, String> {
    let url = Url::parse(&request.url).map_err(|error| error.to_string())?;
    let place = place(&url, request);
    let usual = addresses.first().copied().or_else(|| {
        let found = (url.host.as_str(), url.port).to_socket_addrs();
        found.ok()?.next()
    });
    let threads = Arc::new(Threads::new(threads, usual));
    let main = State::new(text, &place, &threads, None)?;
    let mut states: Vec<State> = Vec::new();
    let mut first = Vec::new();
    for index in 0..threads.count() {
        let state = State::new(text, &place, &threads, Some(index))?;
        main.call::<()>("setup", index)?;
        state.init(&request.url, words)?;
        if index == 0 {
            // As wrk does, to see how many requests there are; the first of them is never sent.
            first = state.request()?;
            lua.asks = state.has("request")?;
            lua.hears = state.has("response")?;
            lua.waits = state.has("delay")?;
        } else if !lua.asks && state.request()? != first {
            // Each thread has its own.
            lua.asks = true;
        }
        states.push(state);
    }
    main.call::<()>("flush", ())?;
    let count = dictation::requests(&first)
        .map_err(|wrong| format!("{} at {}:{}", wrong.why, wrong.line, wrong.column))?;
    let pipeline = u32::try_from(count).unwrap_or(u32::MAX);
    if pipeline > PIPELINE_MAX {
        return Err(format!(
            "request() hands over {count} requests at once; at most {PIPELINE_MAX} are allowed"
        ));
    }
    let fixed = (pipeline == 1 && !lua.asks).then(|| read_request(&first, &url));
    let request = fixed.flatten().unwrap_or_else(|| {
        lua.asks = true;
        RequestFile {
            name: Some(format!("what {} asks", lua.name)),
            ..RequestFile::get(request.url.clone())
        }
    });
    let led: Option<Vec<SocketAddr>> = (0..threads.count())
        .map(|index| threads.address(index))
        .collect();
    let mut addresses = led.unwrap_or_default();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(Script {
        main,
        threads,
        states,
        lua: lua.clone(),
        request,
        pipeline,
        addresses,
    })
}

/// What a plan can say of the text of a request; nothing if it cannot say that.
fn read_request(text: &[u8], url: &Url) -> Option<RequestFile> {
    let (head, content) = std::str::from_utf8(text).ok().and_then(|text| {
        let at = text.find("\r\n\r\n")?;
        Some((&text[..at], &text[at + 4..]))
    })?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    if words.next() != Some("HTTP/1.1") || words.next().is_some() || !path.starts_with('/') {
        return None;
    }
    let mut headers = Vec::new();
    let mut has_content = false;
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            has_content = true;
        } else if !name.eq_ignore_ascii_case("host") || value != url.authority {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    let scheme = if url.is_secure { "https" } else { "http" };
    let request = RequestFile {
        method: method.to_owned(),
        headers,
        body_base64: has_content.then(|| BASE64.encode(content)),
        ..RequestFile::get(format!("{scheme}://{}{path}", url.authority))
    };
    let is_one = Request::read(&request, &Expectation::default()).is_ok();
    is_one.then_some(request)
}

/// The parts of the URL as wrk has them.
fn place(url: &Url, request: &RequestFile) -> Place {
    let typed = request
        .url
        .split_once("://")
        .map_or(request.url.as_str(), |(_, rest)| rest);
    let end = typed.find(['/', '?', '#']).unwrap_or(typed.len());
    let (authority, path) = typed.split_at(end);
    let behind_host = authority
        .rsplit_once(']')
        .map_or(authority, |(_, rest)| rest);
    let port = behind_host
        .rsplit_once(':')
        .map(|(_, port)| port.to_owned());
    Place {
        scheme: if url.is_secure { "https" } else { "http" },
        host: url.host.clone(),
        port,
        path: match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("/{path}"),
        },
        headers: request.headers.clone(),
    }
}

/// The first line may say by which program the file is run.
fn without_shebang(mut code: Vec<u8>) -> Vec<u8> {
    if code.starts_with(b"#") {
        code.splice(0..0, *b"--");
    }
    code
}

#[expect(clippy::cast_precision_loss, reason = "a number of LuaJIT is an f64")]
fn summary(lua: &Lua, finished: &Finished) -> mlua::Result<Table> {
    let errors = lua.create_table()?;
    for (name, count) in finished.errors {
        errors.raw_set(name, count as f64)?;
    }
    let summary = lua.create_table()?;
    summary.raw_set("duration", finished.duration_us as f64)?;
    summary.raw_set("requests", finished.requests as f64)?;
    summary.raw_set("bytes", finished.bytes as f64)?;
    summary.raw_set("errors", errors)?;
    Ok(summary)
}

#[expect(clippy::cast_precision_loss, reason = "a number of LuaJIT is an f64")]
fn statistics(lua: &Lua, told: &Statistics) -> mlua::Result<Table> {
    let values = told.values.iter().map(|(value, _)| *value as f64);
    let counts = told.values.iter().map(|(_, count)| *count as f64);
    let count: u64 = told.values.iter().map(|(_, count)| count).sum();
    let end = |one: Option<&(u64, u64)>| one.map_or(0.0, |(value, _)| *value as f64);
    let table = lua.create_table()?;
    table.raw_set("values", lua.create_sequence_from(values)?)?;
    table.raw_set("counts", lua.create_sequence_from(counts)?)?;
    table.raw_set("count", count as f64)?;
    table.raw_set("min", end(told.values.first()))?;
    table.raw_set("max", end(told.values.last()))?;
    table.raw_set("mean", told.mean)?;
    table.raw_set("stdev", told.deviation)?;
    Ok(table)
}

#[cfg(test)]
mod tests;
