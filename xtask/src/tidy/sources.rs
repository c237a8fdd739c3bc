//! Rules about source files: size, width, what they begin with, what must not be in them.

use super::{Complaints, Tree};

/// Lines that a source file may have.
const LINES: usize = 500;

/// Columns that a line may have.
const COLUMNS: usize = 100;

/// Files that are longer, each with the reason why cutting it would be worse.
const LONG: &[(&str, &str)] = &[];

/// Source files are at most 500 lines, tests apart.
pub(super) fn sizes(tree: &Tree) -> Complaints {
    sources(tree)
        .filter(|(path, _)| !is_test(path))
        .filter(|(path, _)| !LONG.iter().any(|(long, _)| long == path))
        .filter_map(|(path, text)| {
            let lines = text.lines().count();
            (lines > LINES).then(|| format!("{path}:{LINES}: {lines} lines"))
        })
        .collect()
}

/// Lines are at most 100 columns: in prose where a line can be broken; in code but for markup and
/// for the messages that tests feed to parsers, which are easier to read in one piece.
pub(super) fn columns(tree: &Tree) -> Complaints {
    let mut complaints = Complaints::new();
    for (path, text) in tree {
        let prose = path.ends_with(".md");
        if !prose && !path.ends_with(".rs") {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let whole = if prose {
                line.starts_with('|') || line.contains("://")
            } else {
                line.contains("\"<") || (is_test(path) && line.contains('"'))
            };
            let columns = line.chars().count();
            if columns > COLUMNS && !whole {
                complaints.push(format!("{path}:{number}: {columns} columns"));
            }
        }
    }
    complaints
}

/// A source file opens with what it is, in `//!`; files of tests are named by what they test.
pub(super) fn headers(tree: &Tree) -> Complaints {
    sources(tree)
        .filter(|(path, _)| !is_test(path))
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| format!("{path}:1: opens without a `//!` sentence"))
        .collect()
}

/// No ignored tests, no promises.
pub(super) fn leftovers(tree: &Tree) -> Complaints {
    let needles = [
        concat!("#[ig", "nore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
    ];
    find_any(tree, &needles, |path| path.ends_with(".rs"))
}

/// Nothing that exists on one machine alone.
pub(super) fn machine_paths(tree: &Tree) -> Complaints {
    let needles = [
        concat!("/ho", "me/"),
        concat!("/Us", "ers/"),
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("C:", "\\\\"),
    ];
    find_any(tree, &needles, |_| true)
}

fn find_any(tree: &Tree, needles: &[&str], wanted: fn(&str) -> bool) -> Complaints {
    let mut complaints = Complaints::new();
    for (path, text) in tree.iter().filter(|(path, _)| wanted(path)) {
        for (number, line) in (1..).zip(text.lines()) {
            for needle in needles.iter().filter(|needle| line.contains(**needle)) {
                complaints.push(format!("{path}:{number}: contains {needle}"));
            }
        }
    }
    complaints
}

fn sources(tree: &Tree) -> impl Iterator<Item = (&String, &String)> {
    tree.iter().filter(|(path, _)| path.ends_with(".rs"))
}

/// `x/tests.rs` beside a module, or anything below a folder of tests.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}
