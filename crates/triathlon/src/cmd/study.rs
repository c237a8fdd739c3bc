//! The page of a study: Markdown with drawings beside it, made from a stored run and from notes.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use lab::probe::shelf;
use model::probe::{ProbeResult, ProbesFile};
use report::Run;
use report::study::{Again, AgainOfProbes, Study, of_probes, study};

use super::probe::question_of;
use super::report::read;
use super::stored::Opened;

/// The run that the numbers of the `first` are held against.
pub(super) fn second_run(first: &Run, path: &Path) -> anyhow::Result<Run> {
    let opened = Opened::of(&[path.to_owned()])?;
    let (mut pages, _) = read(&opened).map_err(|error| opened.blamed(error))?;
    pages.retain(|page| !page.run.digests().is_empty());
    match pages.len() {
        1 => {
            let second = pages.remove(0).run;
            let (one, other) = (&first.name, &second.name);
            anyhow::ensure!(
                one == other,
                "--again {}: this is the experiment '{other}', and the page is of '{one}'",
                path.display()
            );
            anyhow::ensure!(
                !is_same(first, &second),
                "--again {}: these are the trials of the page itself, and agree with themselves; \
                 run the experiment a second time",
                path.display()
            );
            Ok(second)
        }
        0 => anyhow::bail!("--again {}: no trial found there", path.display()),
        count => anyhow::bail!(
            "--again {}: these are {count} executions, and the numbers are held against one",
            path.display()
        ),
    }
}

/// Whether both hold the same trials: whoever repeats a command gets other times and rates.
fn is_same(one: &Run, other: &Run) -> bool {
    let measured = |run: &Run| -> Vec<_> {
        let digests = run.digests().iter();
        digests
            .map(|digest| (digest.sequence, digest.time.clone(), digest.rate.to_bits()))
            .collect()
    };
    measured(one) == measured(other)
}

/// What probes of the experiment `first` told a second time.
pub(super) fn second_probes(first: &ProbesFile, path: &Path) -> anyhow::Result<Vec<ProbeResult>> {
    let opened = Opened::of(&[path.to_owned()])?;
    let folder = &opened.paths[0];
    let about = || format!("--again {}", path.display());
    let results = shelf::read(folder).with_context(about);
    let results = results.map_err(|error| opened.blamed(error))?;
    let question = question_of(folder)?;
    let other = question.map_or_else(String::new, |found| found.file.experiment.name);
    let one = &first.experiment.name;
    anyhow::ensure!(
        *one == other,
        "{}: this is the experiment '{other}', and the page is of '{one}'",
        about()
    );
    Ok(results)
}

/// Writes the page and its drawings. `record` is where the trials lie; `again` is a second run with
/// its record.
pub(super) fn write(
    run: &Run,
    file: &Path,
    record: &Path,
    notes: Option<&Path>,
    again: Option<(&Run, &Path)>,
) -> anyhow::Result<()> {
    lay_down(&make(run, file, record, notes, again)?, file)
}

/// The same of results of probes; `again` is where those of a second run lie, `later` what is said
/// where questions and figures are those of a later file.
pub(super) fn write_probes(
    question: &ProbesFile,
    results: &[ProbeResult],
    file: &Path,
    record: &Path,
    notes: Option<&Path>,
    again: Option<&Path>,
    later: Option<&str>,
) -> anyhow::Result<()> {
    let told = again
        .map(|path| second_probes(question, path))
        .transpose()?;
    let second = told.as_deref().zip(again);
    let made = make_of_probes(question, results, file, record, notes, second, later)?;
    lay_down(&made, file)
}

fn lay_down(made: &Study, file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    put(file, &made.page)?;
    for (name, drawing) in &made.drawings {
        put(&folder.join(name), drawing)?;
    }
    Ok(())
}

/// Makes them.
pub(super) fn make(
    run: &Run,
    file: &Path,
    record: &Path,
    notes: Option<&Path>,
    again: Option<(&Run, &Path)>,
) -> anyhow::Result<Study> {
    let (name, link, text) = around(file, record, notes)?;
    let link_of_second = again.map(|(_, record)| link_to(file, record));
    let second = again.zip(link_of_second.as_ref());
    let second = second.map(|((run, _), record)| Again { run, record });
    study(run, &name, &link, &text, second).with_context(|| named(notes))
}

/// The same of results of probes.
pub(super) fn make_of_probes(
    question: &ProbesFile,
    results: &[ProbeResult],
    file: &Path,
    record: &Path,
    notes: Option<&Path>,
    again: Option<(&[ProbeResult], &Path)>,
    later: Option<&str>,
) -> anyhow::Result<Study> {
    let (name, link, text) = around(file, record, notes)?;
    let link_of_second = again.map(|(_, record)| link_to(file, record));
    let second = again.zip(link_of_second.as_ref());
    let second = second.map(|((results, _), record)| AgainOfProbes { results, record });
    of_probes(question, results, &name, &link, &text, second, later).with_context(|| named(notes))
}

/// The link from a page to a record.
fn link_to(page: &Path, record: &Path) -> String {
    let folder = page.parent().unwrap_or_else(|| Path::new(""));
    way(folder, record).display().to_string()
}

fn named(notes: Option<&Path>) -> String {
    notes.map_or_else(String::new, |path| path.display().to_string())
}

/// The name of a page, its link to the record, and its notes.
fn around(
    file: &Path,
    record: &Path,
    notes: Option<&Path>,
) -> anyhow::Result<(String, String, String)> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let text = match notes {
        None => String::new(),
        Some(path) => {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
    };
    Ok((name.into_owned(), link_to(file, record), text))
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The way from a folder to a file, where both are said from the same place; else its name.
fn way(folder: &Path, file: &Path) -> PathBuf {
    let is_below = |path: &Path| {
        let mut parts = path.components();
        parts.all(|part| matches!(part, Component::Normal(_)))
    };
    if !is_below(folder) || !is_below(file) {
        return file.file_name().unwrap_or_default().into();
    }
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), file.components().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[same..].iter().map(|_| Component::ParentDir);
    up.chain(to[same..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_linked_from_where_the_page_lies() {
        let check = |folder: &str, file: &str, expected: &str| {
            assert_eq!(way(Path::new(folder), Path::new(file)), Path::new(expected));
        };
        check(
            "docs/studies",
            "record/x/results.pack",
            "../../record/x/results.pack",
        );
        check("", "x.pack", "x.pack");
        check("/tmp/a", "/tmp/x.pack", "x.pack");
    }
}
