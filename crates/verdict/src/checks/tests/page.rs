//! `docs/rules.md`: every rule with what it reads, its limits, what it says when it is provoked,
//! and what to do then. It is made of the rules themselves, so that it says what they do.

use std::fmt::Write as _;
use std::path::Path;

use super::{cases, finding, verdict_of};
use crate::Check;
use crate::doctor;
use crate::thresholds::{self, Limit};

const INTRODUCTION: &str = "\
# Rules

A rule reads stored facts of a trial and says why a claim may not be made of it: that a rate is
invalid, or a time suspect. A claim to which no rule objects is valid. A rule that cannot read its
facts says what was missing; it never passes by silence. *Mandatory* rules make a claim *partial*
while they cannot be read.

A verdict stores each limit that was used. The limits below are those of this version; where the
source says *policy*, the number is a choice of this project and no measurement.

This page is generated from the rules and their tests.

## Rules that read a trial
";

const OF_THE_DOCTOR: &str = "
## Rules of the doctor

`triathlon doctor` asks these of a machine, and of a server (`--server PID` or HOST:PORT), before
anything is measured. In a lab their findings are stored with each trial.
";

/// What the rule's own file says of it.
fn meaning(check: &Check) -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/checks");
    let files = std::fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    let id = format!("id: \"{}\"", check.id);
    let text = texts
        .find(|text| text.contains(&id))
        .expect("each rule has a file");
    let lines: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .collect();
    let text = lines.join("\n").replace("\n ", "\n");
    let text = text.trim();
    let text = text.strip_prefix(check.id).unwrap_or(text);
    let text = text.trim_start_matches(": ").to_owned();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// A line in lines of 100 columns; what hangs below a point of a list is indented.
fn wrapped(line: &str) -> String {
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let mut out = String::new();
    let mut start = String::new();
    for word in line.split_whitespace() {
        let is_full = start.chars().count() + 1 + word.chars().count() > 100;
        if is_full && !start.trim().is_empty() {
            out.push_str(&start);
            out.push('\n');
            start = format!("{indent}{word}");
        } else if start.is_empty() {
            word.clone_into(&mut start);
        } else {
            start.push(' ');
            start.push_str(word);
        }
    }
    out + &start + "\n"
}

fn limits(rule: &str, page: &mut String) {
    let level = |name: &str, level: Option<f64>| level.map(|level| format!("{name} above {level}"));
    for limit in thresholds::ALL.iter().filter(|limit| limit.rule == rule) {
        let Limit {
            note,
            suspect,
            invalid,
            ..
        } = *limit;
        let levels = [
            level("noted", note),
            level("suspect", suspect),
            level("invalid", invalid),
        ];
        let levels: Vec<String> = levels.into_iter().flatten().collect();
        let levels = levels.join(", ");
        let _ = writeln!(
            page,
            "- Limit: `{}` {levels} ({})",
            limit.name, limit.source
        );
    }
}

fn of_trials(page: &mut String) {
    let cases = cases();
    for check in crate::rules() {
        let _ = writeln!(
            page,
            "\n### {} {}\n\n{}\n",
            check.id,
            check.name,
            meaning(check)
        );
        let claims: Vec<String> = check.claims.iter().map(ToString::to_string).collect();
        let mandatory = if check.mandatory { "; mandatory" } else { "" };
        let _ = writeln!(page, "- Touches: {}{mandatory}", claims.join(", "));
        limits(check.id, page);
        let _ = writeln!(page, "- Source: {}", check.source);
        let case = cases.iter().find(|case| case.rule == check.id);
        let case = case.expect("no rule is without a case");
        let mut trials = (case.base)();
        (case.provoke)(&mut trials);
        let found = finding(&verdict_of(&trials), check.id).expect("it was provoked");
        let _ = writeln!(page, "- It says, for example: *{}*", found.say);
        for fix in &found.fix {
            let _ = writeln!(page, "- What to do: {}", fix.trim_end_matches('.'));
        }
    }
}

fn of_the_doctor(page: &mut String) {
    page.push_str(OF_THE_DOCTOR);
    for rule in doctor::rules() {
        let _ = writeln!(page, "\n### {} {}\n", rule.id, rule.name);
        let _ = writeln!(page, "- Reads: {}", rule.reads);
        let is_told = crate::rules().iter().any(|check| check.id == rule.id);
        if !is_told {
            limits(rule.id, page);
        }
        let _ = writeln!(page, "- Source: {}", rule.source);
    }
}

/// Run with `INSTA_UPDATE=always` (`cargo xtask bless --accept`) to write it anew.
#[test]
fn the_page_of_rules_is_that_of_the_rules() {
    let mut page = INTRODUCTION.to_owned();
    of_trials(&mut page);
    of_the_doctor(&mut page);
    let page: String = page.lines().map(wrapped).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == page,
        "docs/rules.md is not what the rules say: cargo xtask bless --accept"
    );
}
