//! `cargo xtask studies`: the pages of `docs/studies`, made from what lies in `record/`.
//!
//! A folder `record/NAME` has `results.pack`, which `triathlon pack` wrote, and may have
//! `notes.txt`, what was written by hand, and `again.pack`, a second run that the numbers of the
//! first are held against. Its page is `docs/studies/NAME.md`, with drawings beside it. It answers
//! the questions of `experiments/NAME.toml` as it is now. Where there is `elsewhere.pack`, a run on
//! another machine, `docs/studies/NAME-elsewhere.md` compares the two.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::command::{cargo, step};
use crate::root;

const RECORD: &str = "record";
const PAGES: &str = "docs/studies";
const EXPERIMENTS: &str = "experiments";

/// Runs it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask studies");
    }
    let names = names(&root().join(RECORD))?;
    if names.is_empty() {
        println!("{RECORD}/ holds no study; {PAGES}/README.md says how to make one");
    }
    for name in names {
        let pack = format!("{RECORD}/{name}/results.pack");
        let notes = format!("{RECORD}/{name}/notes.txt");
        let page = format!("{PAGES}/{name}.md");
        let mut words = vec!["run", "--quiet", "--package", "triathlon", "--"];
        words.extend(["report", &pack, "--markdown", &page]);
        let experiment = format!("{EXPERIMENTS}/{name}.toml");
        words.extend(["--asked", &experiment]);
        if root().join(&notes).is_file() {
            words.extend(["--notes", &notes]);
        }
        let again = format!("{RECORD}/{name}/again.pack");
        if root().join(&again).is_file() {
            words.extend(["--again", &again]);
        }
        step(&name, cargo(&words).current_dir(root()))?;
        let elsewhere = format!("{RECORD}/{name}/elsewhere.pack");
        if root().join(&elsewhere).is_file() {
            let page = format!("{PAGES}/{name}-elsewhere.md");
            let mut words = vec!["run", "--quiet", "--package", "triathlon", "--"];
            words.extend(["compare", &elsewhere, &pack, "--markdown", &page]);
            step(&page, cargo(&words).current_dir(root()))?;
            let (page, heading) = (root().join(page), heading(&name));
            let compared = fs::read_to_string(&page)?;
            fs::write(&page, format!("{heading}{compared}"))?;
        }
    }
    Ok(())
}

/// How the page of a study on two machines begins.
fn heading(name: &str) -> String {
    format!(
        "# {name} on two machines\n\n\
         This page is generated from stored trials by `cargo xtask studies`.\n\n"
    )
}

/// The folders of `record` that hold a pack, in order.
fn names(record: &Path) -> Result<Vec<String>> {
    if !record.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(record).with_context(|| format!("cannot read {RECORD}"))? {
        let entry = entry?;
        if entry.path().join("results.pack").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
