//! h2spec: the rules of HTTP/2 and HPACK, one case each.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::limited;
use super::served::Served;
use crate::command::{command, step};

/// Its module, at the newest version that the proxy of Go's modules has.
const MODULE: &str = "github.com/summerwind/h2spec/cmd/h2spec";
pub(super) const VERSION: &str = "v2.2.1+incompatible";
/// Longer than a run takes.
const SECONDS: u32 = 300;

/// What came of a case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    Passed,
    Skipped,
    /// With what it says.
    Failed(String),
}

/// One case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Case {
    /// Where its rule stands, as h2spec counts: `http2/6.5.3`.
    pub(super) section: String,
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// Where it is, once it is brought through the proxy of Go's modules.
pub(super) fn bring() -> Result<PathBuf> {
    let folder = crate::root().join("target/tools");
    let program = folder.join("h2spec");
    if !program.is_file() {
        let mut go = command("go");
        go.args(["install", &format!("{MODULE}@{VERSION}")])
            .env("GOBIN", &folder)
            .env("GOPATH", crate::root().join("target/go"))
            .env("GOFLAGS", "-modcacherw");
        step("h2spec", &mut go)?;
    }
    Ok(program)
}

/// All cases, against that origin.
pub(super) fn run(program: &PathBuf, served: &Served, is_secure: bool) -> Result<Vec<Case>> {
    let report = served.folder.join("h2spec.xml");
    let mut h2spec = limited(SECONDS, program);
    h2spec
        .args(["--host", "127.0.0.1", "--port", &served.port])
        .args(["--timeout", "2", "--junit-report"])
        .arg(&report);
    if is_secure {
        h2spec.args(["--tls", "--insecure"]);
    }
    let title = match is_secure {
        true => "h2spec inside TLS",
        false => "h2spec in clear",
    };
    println!("== {title}");
    // That some cases fail is told in the report, and not an end of the run.
    let status = h2spec.status().context("cannot start timeout")?;
    if status.code() == Some(124) {
        bail!("{title} took more than {SECONDS} s");
    }
    let text = fs::read_to_string(&report).context("h2spec wrote no report")?;
    let cases = cases(&text);
    if cases.is_empty() {
        bail!("h2spec reports no case");
    }
    Ok(cases)
}

/// The cases in a report of JUnit's form.
pub(super) fn cases(report: &str) -> Vec<Case> {
    let cases = report.split("<testcase ").skip(1);
    cases
        .map(|case| {
            let case = case.split("</testcase>").next().unwrap_or(case);
            let outcome = if let Some((_, why)) = case.split_once("<failure") {
                Outcome::Failed(inner(why))
            } else if let Some((_, why)) = case.split_once("<error") {
                Outcome::Failed(inner(why))
            } else if case.contains("<skipped") {
                Outcome::Skipped
            } else {
                Outcome::Passed
            };
            Case {
                section: attribute(case, "package"),
                name: attribute(case, "classname"),
                outcome,
            }
        })
        .collect()
}

/// What an element holds, of which `rest` follows the name, on one line.
fn inner(rest: &str) -> String {
    let content = rest.split_once('>').map_or("", |(_, content)| content);
    let content = content.split('<').next().unwrap_or("");
    let words = plain(content);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn attribute(element: &str, name: &str) -> String {
    let start = format!("{name}=\"");
    let after = element.split_once(&start).map_or("", |(_, after)| after);
    plain(after.split('"').next().unwrap_or(""))
}

/// Text without the escapes of XML.
fn plain(text: &str) -> String {
    [
        ("&#xA;", " "),
        ("&#x9;", " "),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
