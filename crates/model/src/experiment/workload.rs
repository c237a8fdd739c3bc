//! A workload: what is asked, what right answers are, and what that needs of a server.

use std::collections::BTreeSet;

use super::{AskedFile, Body, ExperimentError, OneOrMany, Spoken, WorkloadFile, course, wrong};
use crate::coding::Coding;
use crate::plan::{Expectation, Level, PlanError, Request, RequestFile};
use crate::redact::REDACTED;
use crate::units::Bytes;

/// The handler that files need.
const STATIC: &str = "static";
/// A larger file is a slip of the pen.
const BYTES_MAX: u64 = 1 << 30;
/// What makes an answer by itself holds it as a text of its program or configuration.
const MADE_BYTES_MAX: u64 = 32 << 10;
/// The codings that the generator decodes.
const DECODED: [Coding; 4] = [Coding::Br, Coding::Deflate, Coding::Gzip, Coding::Zstd];
/// Handlers that answer with a file that a server behind them has.
const RELAYS: [&str; 2] = ["cache", "proxy"];

/// What is asked, and how connections are used for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Workload {
    /// Its name in charts.
    pub name: String,
    /// At least one.
    pub requests: Vec<Asked>,
    /// Handlers and protocols that a server must offer for it.
    pub needs: Vec<String>,
    /// What in the server makes the bytes; none: whatever serves files.
    pub handler: Option<String>,
    /// Enforced by the generator.
    pub requests_per_connection: Option<u32>,
    /// Its own axis of connections, ascending; empty: that of the load.
    pub connections: Vec<u32>,
    /// What it is asked in; empty: what the load says.
    pub protocols: Vec<Spoken>,
}

/// One request of a workload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// What steps of users call it, if they can.
    pub name: Option<String>,
    /// What is asked for.
    pub content: Content,
    /// The method.
    pub method: String,
    /// Fields that are sent.
    pub headers: Vec<(String, String)>,
    /// The content that is sent.
    pub sent: Option<String>,
    /// Whether it asks if the file has changed since it was made: the right answer is 304.
    pub unchanged: bool,
    /// How often it is sent, in relation to the weights of the others.
    pub weight: u32,
    /// A right answer may be encoded, and is then what it decodes to.
    pub decodes: bool,
}

/// What is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// A file of that length, which the lab makes: its content is known.
    Document(Bytes),
    /// A file of a folder that was given.
    File {
        /// The folder.
        site: String,
        /// Its path below that, with slashes.
        file: String,
    },
    /// Something that the server makes.
    Path {
        /// The path and its query.
        path: String,
        /// What a right answer is.
        expect: Expectation,
    },
}

impl Workload {
    /// The lengths of the files that it asks for.
    pub fn documents(&self) -> impl Iterator<Item = Bytes> {
        self.requests
            .iter()
            .filter_map(|asked| match asked.content {
                Content::Document(bytes) => Some(bytes),
                Content::File { .. } | Content::Path { .. } => None,
            })
    }

    /// The handler that makes the answer by itself, if one does and the file is not sent.
    pub fn maker(&self) -> Option<&str> {
        let handler = self.handler.as_deref();
        handler.filter(|name| *name != STATIC && !RELAYS.contains(name))
    }

    /// The handler that has the file from a server behind it, if one has.
    pub fn relay(&self) -> Option<&str> {
        let handler = self.handler.as_deref();
        handler.filter(|name| RELAYS.contains(name))
    }

    /// The files of folders that it asks for: folder and path below it.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.requests
            .iter()
            .filter_map(|asked| match &asked.content {
                Content::File { site, file } => Some((site.as_str(), file.as_str())),
                Content::Document(_) | Content::Path { .. } => None,
            })
    }

    /// What it asks for, for people: `7 B`, `7 B and 100.0 KiB`, `31 files of www`.
    pub fn contents(&self) -> String {
        if let Some((site, _)) = self.files().nth(1) {
            return format!("{} files of {site}", self.files().count());
        }
        let contents: Vec<String> = self
            .requests
            .iter()
            .map(|asked| match &asked.content {
                Content::Document(bytes) => bytes.to_string(),
                Content::File { file, .. } => file.clone(),
                Content::Path { path, .. } => path.clone(),
            })
            .collect();
        match contents.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => contents.join(""),
        }
    }
}

/// Reads what was written.
pub(super) fn read(files: &[WorkloadFile]) -> Result<Vec<Workload>, ExperimentError> {
    if files.is_empty() {
        return Err(wrong("workload", "give at least one [[workload]]"));
    }
    let mut names = BTreeSet::new();
    let mut workloads = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let key = |name: &str| format!("workload[{index}].{name}");
        if file.name.trim().is_empty() {
            return Err(wrong(key("name"), "give it a name"));
        }
        if file.requests_per_connection == Some(0) {
            return Err(wrong(key("requests_per_connection"), "give at least 1"));
        }
        check_told(file, &key)?;
        let requests = match (&file.body, file.request.as_slice()) {
            (Some(_), _) if file.site.is_some() => {
                return Err(wrong(key("site"), "give a body or a site, not both"));
            }
            (Some(body), []) => vec![Asked {
                name: Some("body".to_owned()),
                method: file.method.clone().unwrap_or_else(get),
                sent: sent(file.content.as_ref(), file.content_file.as_ref(), &key)?,
                ..document(body, &key("body"))?
            }],
            (None, [_, ..]) => read_requests(file, &key("request"))?,
            (None, []) if file.site.is_some() => {
                return Err(wrong(key("site"), "there is no file in this folder"));
            }
            (Some(_), _) => {
                let why = "give a body or requests, not both: a request has a body of its own";
                return Err(wrong(key("body"), why));
            }
            (None, []) => {
                let why = "say what is fetched: body = { bytes = 7 }, site = \"FOLDER\" or \
                           [[workload.request]]";
                return Err(wrong(key("name"), why));
            }
        };
        check_all_sent(file, &requests, index)?;
        let requests =
            accepting(file, requests).map_err(|why| wrong(key("accept_encoding"), why))?;
        let workload = Workload {
            name: file.name.clone(),
            requests,
            needs: file.needs.clone(),
            handler: None,
            requests_per_connection: file.requests_per_connection,
            connections: course::own_connections(file)
                .map_err(|why| wrong(key("connections"), why))?,
            protocols: file
                .protocol
                .as_ref()
                .map_or_else(Vec::new, |axis| axis.as_slice().to_vec()),
        };
        for workload in by_handler(file, workload).map_err(|why| wrong(key("handler"), why))? {
            if !names.insert(workload.name.clone()) {
                return Err(wrong(
                    key("name"),
                    format!("there is a workload '{}' already", workload.name),
                ));
            }
            workloads.push(workload);
        }
    }
    Ok(workloads)
}

/// Refuses what tells how a body is asked for, where there is none.
fn check_told(file: &WorkloadFile, key: &dyn Fn(&str) -> String) -> Result<(), ExperimentError> {
    let is_told = file.method.is_some() || file.content.is_some();
    if is_told && (file.body.is_none() || !file.request.is_empty()) {
        let name = if file.method.is_some() {
            "method"
        } else {
            "content"
        };
        let why = "it is for a body; each [[workload.request]] has its own";
        return Err(wrong(key(name), why));
    }
    Ok(())
}

/// The same requests, which accept encoded content where the workload says so.
fn accepting(file: &WorkloadFile, mut requests: Vec<Asked>) -> Result<Vec<Asked>, String> {
    let said = file
        .accept_encoding
        .as_deref()
        .filter(|said| *said != "none");
    let Some(codings) = said else {
        return Ok(requests);
    };
    let is_known = |coding: &str| DECODED.contains(&Coding::read(coding.as_bytes()));
    if let Some(other) = codings.split(',').find(|coding| !is_known(coding)) {
        return Err(format!(
            "'{}' is not gzip, br, zstd or deflate; separate several by commas, and write none \
             alone",
            other.trim()
        ));
    }
    let is_said = |(name, _): &(String, String)| name.eq_ignore_ascii_case("accept-encoding");
    for asked in &mut requests {
        if asked.headers.iter().any(is_said) {
            return Err("a request has a field Accept-Encoding of its own".to_owned());
        }
        let field = ("Accept-Encoding".to_owned(), codings.to_owned());
        asked.headers.push(field);
        asked.decodes = asked.method != "HEAD";
    }
    Ok(requests)
}

/// A workload for each handler, where there are some.
fn by_handler(file: &WorkloadFile, mut plain: Workload) -> Result<Vec<Workload>, String> {
    let Some(handlers) = &file.handler else {
        let has_files = plain.documents().next().is_some() || plain.files().next().is_some();
        if plain.needs.is_empty() && has_files {
            plain.needs.push(STATIC.to_owned());
        }
        return Ok(vec![plain]);
    };
    let Some(body) = file.body.filter(|_| file.site.is_none()) else {
        return Err("it goes with a body, whose bytes it makes".to_owned());
    };
    let one = |handler: &String| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if handler.is_empty() || !handler.chars().all(is_name) {
            return Err(format!(
                "'{handler}' is not a name of letters, digits and '-'"
            ));
        }
        let mut workload = plain.clone();
        workload.needs.push(handler.clone());
        workload.handler = Some(handler.clone());
        if workload.maker().is_some() && body.bytes > Bytes::new(MADE_BYTES_MAX) {
            return Err(format!("{handler} makes bodies of at most 32k"));
        }
        if matches!(handlers, OneOrMany::Many(_)) {
            workload.name = format!("{} {handler}", file.name);
        }
        Ok(workload)
    };
    let all: Result<Vec<Workload>, String> = handlers.as_slice().iter().map(one).collect();
    all.and_then(|all| match all.is_empty() {
        true => Err("give at least one".to_owned()),
        false => Ok(all),
    })
}

fn document(body: &Body, key: &str) -> Result<Asked, ExperimentError> {
    if body.bytes > Bytes::new(BYTES_MAX) {
        return Err(wrong(format!("{key}.bytes"), "give at most 1G"));
    }
    Ok(Asked {
        name: None,
        content: Content::Document(body.bytes),
        method: get(),
        headers: Vec::new(),
        sent: None,
        unchanged: false,
        weight: 1,
        decodes: false,
    })
}

fn read_requests(workload: &WorkloadFile, parent: &str) -> Result<Vec<Asked>, ExperimentError> {
    let mut requests = Vec::new();
    for (index, file) in workload.request.iter().enumerate() {
        let key = |name: &str| format!("{parent}[{index}].{name}");
        if file.weight == Some(0) {
            return Err(wrong(key("weight"), "give at least 1"));
        }
        if let Some(name) = &file.name {
            check_name(name, &requests).map_err(|why| wrong(key("name"), why))?;
        }
        requests.push(Asked {
            name: file.name.clone().or_else(|| file.file.clone()),
            content: read_content(workload, file, &format!("{parent}[{index}]"))?,
            method: file.method.clone().unwrap_or_else(get),
            headers: file.headers.clone(),
            sent: sent(file.content.as_ref(), file.content_file.as_ref(), &key)?,
            unchanged: unchanged(file).map_err(|why| wrong(key("unchanged"), why))?,
            weight: file.weight.unwrap_or(1),
            decodes: false,
        });
    }
    Ok(requests)
}

/// Refuses requests that nobody can send, of a workload of that number.
fn check_all_sent(
    file: &WorkloadFile,
    requests: &[Asked],
    workload: usize,
) -> Result<(), ExperimentError> {
    for (at, asked) in requests.iter().enumerate() {
        check_sent(asked).map_err(|(name, why)| match file.body {
            Some(_) => wrong(format!("workload[{workload}].{name}"), why),
            None => wrong(format!("workload[{workload}].request[{at}].{name}"), why),
        })?;
    }
    Ok(())
}

/// Refuses what the generator would, with its key: the servers of an experiment are not to blame
/// for what nobody can send.
fn check_sent(asked: &Asked) -> Result<(), (String, String)> {
    let (path, expect) = match &asked.content {
        Content::Path { path, expect } => (path.as_str(), Some(expect.clone())),
        Content::Document(_) | Content::File { .. } => ("/", None),
    };
    // What was taken out of a published copy can be read all the same.
    let told = asked
        .headers
        .iter()
        .filter(|(_, value)| !value.contains(REDACTED));
    let written = RequestFile {
        method: asked.method.clone(),
        headers: told.cloned().collect(),
        expect,
        ..RequestFile::get(format!("http://site.test{path}"))
    };
    match Request::read(&written, &Expectation::default()) {
        Ok(_) => Ok(()),
        Err(PlanError::Url { why, .. }) => Err(("path".to_owned(), why.to_owned())),
        Err(PlanError::Field { field, why }) => Err((field.to_owned(), why)),
    }
}

fn get() -> String {
    "GET".to_owned()
}

/// The content that a request sends.
fn sent(
    content: Option<&String>,
    file: Option<&String>,
    key: &dyn Fn(&str) -> String,
) -> Result<Option<String>, ExperimentError> {
    match (content, file) {
        (_, None) => Ok(content.cloned()),
        (Some(_), Some(_)) => Err(wrong(
            key("content_file"),
            "give content or content_file, not both",
        )),
        (None, Some(_)) => Err(wrong(
            key("content_file"),
            "this file was not read: write its text as content",
        )),
    }
}

/// Whether a request asks if a file has changed: of files alone it is known when they were made.
fn unchanged(file: &AskedFile) -> Result<bool, &'static str> {
    match file.unchanged {
        true if file.path.is_some() => Err("it is for a file that the lab has, not for a path"),
        true if file.method.is_some() || file.content.is_some() => {
            Err("it is asked by GET and without content")
        }
        unchanged => Ok(unchanged),
    }
}

fn check_name(name: &str, others: &[Asked]) -> Result<(), String> {
    if name.trim().is_empty() || name.starts_with('/') || name.contains("://") {
        return Err(format!("'{name}' is a path or empty: give it a name"));
    }
    match others
        .iter()
        .any(|other| other.name.as_deref() == Some(name))
    {
        true => Err(format!("another request is called '{name}' already")),
        false => Ok(()),
    }
}

fn read_content(
    workload: &WorkloadFile,
    asked: &AskedFile,
    parent: &str,
) -> Result<Content, ExperimentError> {
    let key = |name: &str| format!("{parent}.{name}");
    if asked.expect.is_some() && asked.path.is_none() {
        let why = "the lab knows the right answer: it has the file";
        return Err(wrong(key("expect"), why));
    }
    match (&asked.body, &asked.file, &asked.path) {
        (Some(body), None, None) => Ok(document(body, &key("body"))?.content),
        (None, Some(file), None) => {
            let Some(site) = &workload.site else {
                return Err(wrong(key("file"), "name its folder: site = \"FOLDER\""));
            };
            let is_below =
                !file.is_empty() && file.split('/').all(|part| !matches!(part, "" | "." | ".."));
            if !is_below {
                let why = "give the path of a file below the site's folder, as in css/main.css";
                return Err(wrong(key("file"), why));
            }
            Ok(Content::File {
                site: site.clone(),
                file: file.clone(),
            })
        }
        (None, None, Some(path)) if !path.starts_with('/') => {
            Err(wrong(key("path"), "begin it with '/'"))
        }
        (None, None, Some(path)) => Ok(Content::Path {
            path: path.clone(),
            expect: asked.expect.clone().unwrap_or_else(|| Expectation {
                level: Level::Body,
                status: Some(200),
                ..Expectation::default()
            }),
        }),
        _ => {
            let why = "give one of: a body, which the lab makes, a file of the site, or a path";
            Err(wrong(parent, why))
        }
    }
}
