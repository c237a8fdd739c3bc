//! testssl.sh: what a server offers in TLS, and where it is weak.

use std::fs;

use anyhow::{Context as _, Result, bail};

use super::limited;
use super::served::Served;
use crate::command::output;
use crate::packages::find;

/// Longer than a run takes.
const SECONDS: u32 = 600;

/// One thing that it looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) severity: String,
    pub(super) text: String,
}

/// What it says of one server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Looked {
    pub(super) version: String,
    pub(super) findings: Vec<Finding>,
}

impl Finding {
    /// Whether it is worse than LOW.
    pub(super) fn is_bad(&self) -> bool {
        !matches!(
            self.severity.as_str(),
            "OK" | "INFO" | "LOW" | "DEBUG" | "WARN"
        )
    }
}

/// Looks at that origin, whose authority it trusts.
pub(super) fn run(served: &Served) -> Result<Looked> {
    let Some(program) = find("testssl") else {
        bail!("testssl is not installed: apt-get install testssl.sh");
    };
    let report = served.folder.join("testssl.csv");
    if report.exists() {
        fs::remove_file(&report).context("cannot replace the report of testssl.sh")?;
    }
    println!("== testssl.sh");
    let mut testssl = limited(SECONDS, &program);
    testssl
        .args(["--quiet", "--color", "0", "--warnings", "off"])
        .args(["--nodns", "none", "--ip", "127.0.0.1", "--add-ca"])
        .arg(served.folder.join("ca.pem"))
        .arg("--csvfile")
        .arg(&report)
        .arg(format!("localhost:{}", served.port))
        .current_dir(&served.folder);
    // Its code counts what it found, which the report tells.
    let status = testssl.status().context("cannot start timeout")?;
    if status.code() == Some(124) {
        bail!("testssl.sh took more than {SECONDS} s");
    }
    let text = fs::read_to_string(&report).context("testssl.sh wrote no report")?;
    let mut version = limited(60, &program);
    let version = output(version.arg("--version")).unwrap_or_default();
    let version = version.split_whitespace();
    let mut version = version.skip_while(|word| !word.starts_with("testssl"));
    Ok(Looked {
        version: version.nth(1).unwrap_or("unknown").to_owned(),
        findings: findings(&text),
    })
}

/// What a report in CSV holds, without its head.
pub(super) fn findings(report: &str) -> Vec<Finding> {
    let lines = report.lines().skip(1);
    lines
        .filter_map(|line| {
            let line = line.strip_prefix('"')?;
            let mut fields = line.split("\",\"");
            let id = fields.next()?.to_owned();
            let severity = fields.nth(2)?.to_owned();
            let text = fields.next()?.trim_end_matches('"').to_owned();
            Some(Finding { id, severity, text })
        })
        .collect()
}
