//! `cargo xtask tidy`: the rules of the house that no compiler knows.
//!
//! A rule is a pure function from the tree's text files to complaints, so that each has tests with
//! trees that exist nowhere; the last test is the real tree.

mod documents;
mod floors;
mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::command::{Start, over};

/// The text files of the repository: path from the root, with slashes, and content.
type Tree = BTreeMap<String, String>;

/// What is wrong, where: `path:line: sentence`.
type Complaints = Vec<String>;

/// What looks for one kind of mistake.
type Rule = fn(&Tree) -> Complaints;

/// All rules. A new one is a function and a line here.
const RULES: &[(&str, Rule)] = &[
    ("crates import only from lower floors", floors::edges),
    ("each dependency says why it is here", floors::reasons),
    ("only `sys` may be unsafe", floors::forbid_unsafe),
    ("files are at most 500 lines", sources::sizes),
    ("lines are at most 100 columns", sources::columns),
    ("source files say what they are", sources::headers),
    (
        "no test is ignored and nothing is left for later",
        sources::leftovers,
    ),
    ("a test that cannot run says so", sources::silent_tests),
    ("no path of somebody's machine", sources::machine_paths),
    ("one first-level heading per document", documents::headings),
    ("decisions are numbered and complete", documents::decisions),
    ("the map names every crate", documents::map),
];

/// Folders that hold nothing that was written by hand.
const SKIPPED: [&str; 6] = [
    "target",
    "results",
    "corpus",
    "artifacts",
    "node_modules",
    "record",
];

/// Endings of files that are read.
const READ: [&str; 9] = ["rs", "toml", "md", "css", "js", "c", "run", "json", "conf"];

/// Runs it.
pub(crate) fn run(_: &[String]) -> Result<()> {
    println!("== tidy");
    let start = Start::now();
    let complaints = all(&read(&crate::root())?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints", complaints.len());
    }
    over("tidy", start);
    Ok(())
}

/// Every complaint of every rule about a tree.
fn all(tree: &Tree) -> Complaints {
    RULES
        .iter()
        .flat_map(|(rule, find)| {
            find(tree)
                .into_iter()
                .map(move |complaint| format!("{complaint} ({rule})"))
        })
        .collect()
}

/// Reads the tree below `root`.
fn read(root: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
                if !hidden && !SKIPPED.contains(&&*name) {
                    folders.push(path);
                }
                continue;
            }
            let ending = name.rsplit('.').next().unwrap_or_default();
            if READ.contains(&ending)
                && let Ok(text) = fs::read_to_string(&path)
            {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                tree.insert(relative.to_string_lossy().replace('\\', "/"), text);
            }
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests;
