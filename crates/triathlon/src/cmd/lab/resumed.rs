//! Which results a lab goes on with, and the servers that it knew when they were begun.

use std::path::{Path, PathBuf};

use lab::LabError;
use lab::server::Catalogue;
use lab::store::{Store, read_manifest};
use model::Manifest;

use super::Args;
use crate::exit::UsageError;

/// Folders of servers to be known: those that are named, or else those that were named when the
/// results were begun that a lab goes on with.
pub(super) fn servers(args: &Args) -> Vec<PathBuf> {
    let named = &args.servers;
    let resumed = args.resume.as_ref().filter(|_| named.is_empty());
    let begun = resumed.and_then(|given| found(args, given.as_deref()));
    let manifest = begun.and_then(|folder| read_manifest(&folder).ok());
    manifest.map_or_else(|| named.clone(), |manifest| of_command(&manifest.command))
}

/// The values of `--servers` in a command line.
fn of_command(command: &[String]) -> Vec<PathBuf> {
    let mut words = command.iter();
    let mut folders = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("--servers") {
            Some("") => folders.extend(words.next().map(PathBuf::from)),
            Some(value) => folders.extend(value.strip_prefix('=').map(PathBuf::from)),
            None => {}
        }
    }
    folders
}

/// Results by their folder, the name of their experiment, or its file.
fn found(args: &Args, given: Option<&Path>) -> Option<PathBuf> {
    // `--resume first-heat`: the name was taken for the folder.
    if let Some(folder) = given.filter(|path| path.is_dir()) {
        return Some(execution(folder).unwrap_or_else(|| folder.to_owned()));
    }
    let named = given.map(|path| path.display().to_string());
    let name = args.experiment.clone().or(named)?;
    let newest = Store::newest(&args.results, &name);
    newest.or_else(|| begun_from(&args.results, &name))
}

/// Of a folder of several executions, which other commands take, too, the newest.
fn execution(folder: &Path) -> Option<PathBuf> {
    if folder.join("manifest.json").is_file() {
        return None;
    }
    let name = folder.file_name()?.to_str()?;
    let results = folder.parent()?;
    Store::newest(results, name)
}

/// The newest results of the experiment in `file`: it may have another name.
fn begun_from(results: &Path, file: &str) -> Option<PathBuf> {
    let experiments = results.read_dir().ok()?.filter_map(Result::ok);
    let names = experiments.filter_map(|entry| entry.file_name().into_string().ok());
    let newest = names.filter_map(|name| Store::newest(results, &name));
    let is_of_file =
        |folder: &PathBuf| read_manifest(folder).is_ok_and(|manifest| manifest.source == file);
    newest
        .filter(is_of_file)
        .max_by_key(|folder| folder.file_name().map(ToOwned::to_owned))
}

/// `--resume DIR EXPERIMENT` goes on with that experiment or not at all; what looks like an
/// experiment may be a KEY=VALUE, too.
pub(super) fn refuse_another(
    name: Option<&str>,
    folder: &Path,
    manifest: &Manifest,
    servers: &Catalogue,
) -> Result<(), UsageError> {
    let Some(name) = name else { return Ok(()) };
    let begun = &manifest.experiment.experiment.name;
    let read = lab::experiment::read_with(name, &[], servers).ok();
    let read = read.filter(|source| source.experiment.name() == begun);
    let is_same = name == begun || read.is_some();
    let why = if is_same {
        let stored = folder.join("experiment.toml");
        let then = std::fs::read_to_string(&stored).ok();
        if then.zip(read).is_some_and(|(then, now)| then != now.text) {
            crate::out::note(format_args!(
                "{name} has changed since: what was begun goes on, as {} has it",
                stored.display()
            ));
        }
        return Ok(());
    } else if name.contains('=') {
        format!("--resume continues what was begun: leave out {name}")
    } else {
        format!(
            "{} holds {begun}: leave out {name}, or give the folder of its results",
            folder.display()
        )
    };
    Err(UsageError(why))
}

/// The folder of results to go on with.
pub(super) fn folder(
    args: &Args,
    given: Option<&Path>,
    servers: &Catalogue,
) -> anyhow::Result<PathBuf> {
    if let Some(folder) = found(args, given) {
        return Ok(folder);
    }
    if let (Some(_), Some(given)) = (&args.experiment, given) {
        let why = format!("--resume: there is no folder {}", given.display());
        return Err(UsageError(why).into());
    }
    let named = given.map(|path| path.display().to_string());
    let name = args.experiment.clone().or(named).ok_or_else(|| {
        UsageError("give what to resume: an experiment, or --resume DIR".to_owned())
    })?;
    // A file may have another name than its experiment.
    let name = lab::experiment::read_with(&name, &[], servers)
        .map_or(name, |source| source.experiment.name().to_owned());
    let found = Store::newest(&args.results, &name);
    found.ok_or_else(|| {
        let why = format!(
            "no results of {name} to continue in {}",
            args.results.display()
        );
        LabError::Resume { why }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_servers_are_read_from_a_command() {
        let check = |line: &str, expected: &[&str]| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(of_command(&words), expected, "{line}");
        };
        check("triathlon lab first-heat", &[]);
        check("triathlon lab a.toml --servers b rounds=6", &["b"]);
        check("triathlon lab --servers=b a.toml --servers c", &["b", "c"]);
        check("triathlon lab a.toml --servers", &[]);
    }
}
