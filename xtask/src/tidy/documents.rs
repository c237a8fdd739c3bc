//! Rules about documents: headings, decisions, the map.

use super::floors::CRATES;
use super::{Complaints, Tree};

/// Sections that a decision has, in this order.
const SECTIONS: [&str; 4] = [
    "## Context",
    "## Decision",
    "## Alternatives rejected",
    "## Consequences",
];

/// A decision fits a page.
const DECISION_LINES: usize = 70;

/// The map can be read in one sitting.
const MAP_LINES: usize = 300;

/// Exactly one first-level heading, outside code.
pub(super) fn headings(tree: &Tree) -> Complaints {
    tree.iter()
        .filter(|(path, _)| path.ends_with(".md"))
        .filter_map(|(path, text)| {
            let count = prose(text).filter(|line| line.starts_with("# ")).count();
            (count != 1).then(|| format!("{path}:1: {count} first-level headings"))
        })
        .collect()
}

/// Decisions are numbered without gaps, titled by their number, and have their four sections.
pub(super) fn decisions(tree: &Tree) -> Complaints {
    let mut complaints = Complaints::new();
    let found = tree
        .iter()
        .filter_map(|(path, text)| Some((path, path.strip_prefix("docs/adr/")?, text)));
    for (expected, (path, name, text)) in (1..).zip(found) {
        let number = format!("{expected:04}");
        if !name.starts_with(&format!("{number}-")) {
            complaints.push(format!("{path}:1: expected number {number}"));
        }
        if !text.starts_with(&format!("# {number}: ")) {
            complaints.push(format!("{path}:1: the title must begin '# {number}: '"));
        }
        let sections: Vec<&str> = prose(text).filter(|line| line.starts_with("## ")).collect();
        let mut rest = sections.iter();
        if !SECTIONS
            .iter()
            .all(|section| rest.any(|line| line == section))
        {
            complaints.push(format!(
                "{path}:1: needs, in order: {}",
                SECTIONS.join(", ")
            ));
        }
        if text.lines().count() > DECISION_LINES {
            complaints.push(format!("{path}:{DECISION_LINES}: longer than a page"));
        }
    }
    complaints
}

/// ARCHITECTURE.md has a section for each crate, with what must stay true of it.
pub(super) fn map(tree: &Tree) -> Complaints {
    let path = "ARCHITECTURE.md";
    let Some(text) = tree.get(path) else {
        return vec![format!("{path}:1: is missing")];
    };
    let mut complaints = Complaints::new();
    if text.lines().count() > MAP_LINES {
        complaints.push(format!("{path}:{MAP_LINES}: longer than {MAP_LINES} lines"));
    }
    for (name, _) in CRATES {
        if !tree.contains_key(&format!("crates/{name}/Cargo.toml")) {
            continue;
        }
        let heading = format!("### `{name}`");
        let section = text
            .split_once(&heading)
            .map(|(_, rest)| rest.split("\n#").next().unwrap_or_default());
        match section {
            None => complaints.push(format!("{path}:1: no section '{heading}'")),
            Some(section) if !section.contains("**Invariant:**") => {
                complaints.push(format!("{path}:1: '{heading}' names no **Invariant:**"));
            }
            Some(_) => {}
        }
    }
    complaints
}

/// Lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        if line.trim_start().starts_with("```") {
            code = !code;
            return false;
        }
        !code
    })
}
