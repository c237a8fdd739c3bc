//! A workload: what is asked, what right answers are, and what that needs of a server.

use std::collections::BTreeSet;

use super::{AskedFile, Body, ExperimentError, WorkloadFile, wrong};
use crate::plan::{Expectation, Level};
use crate::units::Bytes;

/// The handler that files need.
const STATIC: &str = "static";
/// A larger file is a slip of the pen.
const BYTES_MAX: u64 = 1 << 30;

/// What is asked, and how connections are used for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Workload {
    /// Its name in charts.
    pub name: String,
    /// At least one.
    pub requests: Vec<Asked>,
    /// Handlers and protocols that a server must offer for it.
    pub needs: Vec<String>,
    /// Enforced by the generator.
    pub requests_per_connection: Option<u32>,
}

/// One request of a workload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// What is asked for.
    pub content: Content,
    /// The method.
    pub method: String,
    /// Fields that are sent.
    pub headers: Vec<(String, String)>,
    /// How often it is sent, in relation to the weights of the others.
    pub weight: u32,
}

/// What is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// A file of that length, which the lab makes: its content is known.
    Document(Bytes),
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
                Content::Path { .. } => None,
            })
    }

    /// What it asks for, for people: `7 B`, `7 B and 100.0 KiB`.
    pub fn contents(&self) -> String {
        let contents: Vec<String> = self
            .requests
            .iter()
            .map(|asked| match &asked.content {
                Content::Document(bytes) => bytes.to_string(),
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
        if !names.insert(file.name.as_str()) {
            return Err(wrong(
                key("name"),
                format!("there is a workload '{}' already", file.name),
            ));
        }
        if file.requests_per_connection == Some(0) {
            return Err(wrong(key("requests_per_connection"), "give at least 1"));
        }
        let requests = match (&file.body, file.request.as_slice()) {
            (Some(body), []) => vec![document(body, &key("body"))?],
            (None, [_, ..]) => read_requests(&file.request, &key("request"))?,
            (Some(_), _) => {
                let why = "give a body or requests, not both: a request has a body of its own";
                return Err(wrong(key("body"), why));
            }
            (None, []) => {
                let why = "say what is fetched: body = { bytes = 7 }, or [[workload.request]]";
                return Err(wrong(key("name"), why));
            }
        };
        let mut workload = Workload {
            name: file.name.clone(),
            requests,
            needs: file.needs.clone(),
            requests_per_connection: file.requests_per_connection,
        };
        if workload.needs.is_empty() && workload.documents().next().is_some() {
            workload.needs.push(STATIC.to_owned());
        }
        workloads.push(workload);
    }
    Ok(workloads)
}

fn document(body: &Body, key: &str) -> Result<Asked, ExperimentError> {
    if body.bytes > Bytes::new(BYTES_MAX) {
        return Err(wrong(format!("{key}.bytes"), "give at most 1G"));
    }
    Ok(Asked {
        content: Content::Document(body.bytes),
        method: "GET".to_owned(),
        headers: Vec::new(),
        weight: 1,
    })
}

fn read_requests(files: &[AskedFile], parent: &str) -> Result<Vec<Asked>, ExperimentError> {
    let mut requests = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let key = |name: &str| format!("{parent}[{index}].{name}");
        if file.weight == Some(0) {
            return Err(wrong(key("weight"), "give at least 1"));
        }
        let content = match (&file.body, &file.path) {
            (Some(body), None) => {
                if file.expect.is_some() {
                    let why = "the lab makes this file and knows the right answer";
                    return Err(wrong(key("expect"), why));
                }
                document(body, &key("body"))?.content
            }
            (None, Some(path)) if !path.starts_with('/') => {
                return Err(wrong(key("path"), "begin it with '/'"));
            }
            (None, Some(path)) => Content::Path {
                path: path.clone(),
                expect: file.expect.clone().unwrap_or_else(|| Expectation {
                    level: Level::Body,
                    status: Some(200),
                    ..Expectation::default()
                }),
            },
            _ => {
                let why = "give either a body, which is a file of the lab's, or a path";
                return Err(wrong(format!("{parent}[{index}]"), why));
            }
        };
        requests.push(Asked {
            content,
            method: file.method.clone().unwrap_or_else(|| "GET".to_owned()),
            headers: file.headers.clone(),
            weight: file.weight.unwrap_or(1),
        });
    }
    Ok(requests)
}
