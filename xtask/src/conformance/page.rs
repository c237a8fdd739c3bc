//! The page that is written.

use std::fmt::Write as _;

use super::h2spec::{Case, Outcome, VERSION};
use super::known;
use super::testssl::{Finding, Looked};

/// What was written, and what it comes to.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) summary: String,
    /// Results that are neither good nor explained.
    pub(super) unexplained: usize,
}

const HEAD: &str = "\
# Conformance

`cargo xtask conformance` runs suites that other people wrote against origin, on the loopback
device, and writes this page. Each suite has a time limit. A case that does not pass is a defect to
be mended, unless this page says why it is none.
";

/// Writes the page of HTTP/2 in clear, inside TLS, and TLS itself.
pub(super) fn write(clear: &[Case], secure: &[Case], tls: &Looked) -> Page {
    let mut text = HEAD.to_owned();
    let mut unexplained = 0;
    let summary = format!(
        "h2spec {VERSION}: in clear {}; inside TLS {}. testssl.sh {}: {}.",
        counted(clear),
        counted(secure),
        tls.version,
        severities(&tls.findings),
    );
    let _never_fails = write!(
        text,
        "\n## HTTP/2: h2spec {VERSION}\n\nIn clear, by prior knowledge: {}. Inside TLS: {}.\n",
        counted(clear),
        counted(secure)
    );
    text.push_str("\n| rule | case | in clear | inside TLS |\n|---|---|---|---|\n");
    for (place, case) in clear.iter().enumerate() {
        let other = secure
            .get(place)
            .map_or("not run", |case| word(&case.outcome));
        let (section, name) = (&case.section, cell(&case.name));
        let here = word(&case.outcome);
        let _never_fails = writeln!(text, "| {section} | {name} | {here} | {other} |");
    }
    text.push_str("\n### What did not pass\n\n");
    let mut is_clean = true;
    for (way, cases) in [("in clear", clear), ("inside TLS", secure)] {
        for case in cases {
            let Outcome::Failed(what) = &case.outcome else {
                continue;
            };
            is_clean = false;
            let why = known::case(&case.section, &case.name);
            unexplained += usize::from(why.is_none());
            let why = why.unwrap_or("**not explained**");
            let _never_fails = writeln!(
                text,
                "- {}, {way}: {} ({}). {why}.",
                case.section,
                cell(&case.name),
                cell(what)
            );
        }
    }
    if is_clean {
        text.push_str("Nothing.\n");
    }
    unexplained += write_tls(&mut text, tls);
    Page {
        text: wrapped(&text),
        summary,
        unexplained,
    }
}

/// How many findings are worse than LOW and not explained.
fn write_tls(text: &mut String, tls: &Looked) -> usize {
    let _never_fails = write!(
        text,
        "\n## TLS: testssl.sh {}\n\nThe certificate is of an authority that was made for the run \
         (`--add-ca`). Findings by severity: {}.\n\n### Findings of LOW and worse\n\n",
        tls.version,
        severities(&tls.findings)
    );
    let mut unexplained = 0;
    let is_shown = |finding: &&Finding| finding.severity == "LOW" || finding.is_bad();
    let mut is_clean = true;
    for finding in tls.findings.iter().filter(is_shown) {
        is_clean = false;
        let why = known::finding(&finding.id);
        unexplained += usize::from(finding.is_bad() && why.is_none());
        let why = why.map_or_else(
            || match finding.is_bad() {
                true => " **Not explained.**".to_owned(),
                false => String::new(),
            },
            |why| format!(" {why}."),
        );
        let _never_fails = writeln!(
            text,
            "- {} {}: {}.{why}",
            finding.severity,
            finding.id,
            cell(&finding.text)
        );
    }
    if is_clean {
        text.push_str("None.\n");
    }
    unexplained
}

const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Skipped => "skipped",
        Outcome::Failed(_) => "**failed**",
    }
}

fn counted(cases: &[Case]) -> String {
    let count = |is_it: fn(&Outcome) -> bool| {
        let those = cases.iter().filter(|case| is_it(&case.outcome));
        those.count()
    };
    format!(
        "{} passed, {} skipped, {} failed",
        count(|outcome| *outcome == Outcome::Passed),
        count(|outcome| *outcome == Outcome::Skipped),
        count(|outcome| matches!(outcome, Outcome::Failed(_)))
    )
}

fn severities(findings: &[Finding]) -> String {
    let order = ["OK", "INFO", "WARN", "LOW", "MEDIUM", "HIGH", "CRITICAL"];
    let counted = order.map(|severity| {
        let those = findings.iter().filter(|one| one.severity == severity);
        (severity, those.count())
    });
    let shown = counted.iter().filter(|(_, count)| *count > 0);
    let shown = shown.map(|(severity, count)| format!("{count} {severity}"));
    shown.collect::<Vec<_>>().join(", ")
}

/// Text that may stand in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The same in lines of at most 100 columns; rows of tables stay whole.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = if line.starts_with("- ") { "  " } else { "" };
        let mut column = 0;
        for (place, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            if place > 0 && column + 1 + length > 100 && !line.starts_with('|') {
                out.push('\n');
                out.push_str(indent);
                column = indent.len();
            } else if place > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out.push('\n');
    }
    out
}
