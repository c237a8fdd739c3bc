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
        // Pages of studies are made by a command, a paragraph in a line.
        let is_made = path.starts_with("docs/studies/") && !path.ends_with("README.md");
        let prose = path.ends_with(".md") && !is_made;
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

/// Calls that say why a test cannot run here, where they find that it cannot.
const SPEAKERS: [&str; 5] = ["need(", "needs_", "isolated(", "in_namespace(", "not_run("];

/// Files whose tests leave early after somebody else has said why.
const SPOKEN: &[(&str, &str)] = &[(
    "crates/triathlon/tests/it/counts.rs",
    "the function that starts the generator says that its backend is not permitted",
)];

/// Deeper in a test is what a server or a client of it does, and not the test itself.
const DEPTH: usize = 12;

/// A test that cannot run says so: none leaves as if it had passed.
pub(super) fn silent_tests(tree: &Tree) -> Complaints {
    let mut complaints = Complaints::new();
    let tests = sources(tree).filter(|(path, _)| is_test(path));
    for (path, text) in tests.filter(|(path, _)| !SPOKEN.iter().any(|(told, _)| told == path)) {
        let (mut is_in_test, mut opener) = (false, "");
        for (number, whole) in (1..).zip(text.lines()) {
            let line = whole.trim();
            is_in_test = (is_in_test || line == "#[test]") && whole != "}";
            let asks = opener.starts_with("if ") || opener.ends_with("else {");
            let leaves = (line == "return;" && asks) || line.ends_with("{ return; }");
            let is_deep = whole.len() - whole.trim_start().len() > DEPTH;
            let speaks = |text: &str| SPEAKERS.iter().any(|call| text.contains(call));
            if is_in_test && leaves && !is_deep && !speaks(line) && !speaks(opener) {
                complaints.push(format!("{path}:{number}: a test leaves without a word"));
            }
            if !line.starts_with("//") {
                opener = line;
            }
        }
    }
    complaints
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
