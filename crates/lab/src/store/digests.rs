//! `SHA256SUMS` of a results folder: a digest for each trial, in the form of `sha256sum`.
//!
//! A line is added once its trial is on the disk. So a trial that somebody deletes or changes later
//! is noticed, by us and by anyone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use model::hex;
use sha2::{Digest as _, Sha256};
use verdict::words;

use super::write_whole;

/// The name of the list in a results folder.
pub const FILE: &str = "SHA256SUMS";

/// So many files are named; the others are counted.
const NAMED: usize = 3;

/// The digests of a results folder, by the names of their files below it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Digests {
    by_name: BTreeMap<String, String>,
}

impl Digests {
    /// Reads the list of `folder`; none where it has none, as results of earlier versions.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read_to_string(folder.join(FILE)) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads `DIGEST  NAME` on each line; what is no such line is none.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once("  "));
        Self {
            by_name: lines
                .map(|(digest, name)| (name.to_owned(), digest.to_owned()))
                .collect(),
        }
    }

    /// As the list has them.
    pub fn text(&self) -> String {
        let lines = self.by_name.iter().map(|(name, digest)| line(name, digest));
        lines.collect()
    }

    /// The digest of that file.
    pub fn of(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    /// The names of all files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// A file has a new name, and a new digest.
    pub fn rename(&mut self, name: &str, new_name: &str, digest: String) {
        self.by_name.remove(name);
        self.set(new_name, digest);
    }

    /// Sets the digest of a file.
    pub fn set(&mut self, name: &str, digest: String) {
        self.by_name.insert(name.to_owned(), digest);
    }
}

/// The digest of `bytes`, hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn line(name: &str, digest: &str) -> String {
    format!("{digest}  {name}\n")
}

/// Adds the file `name` to the list, or gives it its new digest.
pub(super) fn add(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let digest = digest(bytes);
    let mut known = Digests::read(folder)?.unwrap_or_default();
    if known.of(name).is_none() {
        let mut list = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(FILE))?;
        list.write_all(line(name, &digest).as_bytes())?;
        return list.sync_all();
    }
    known.set(name, digest);
    write_whole(&folder.join(FILE), known.text().as_bytes())
}

/// What is not with the trials of `folder` as it was when they were stored, a sentence each. Empty
/// too where an earlier version stored them, without a list.
pub fn differences(folder: &Path) -> io::Result<Vec<String>> {
    let Some(known) = Digests::read(folder)? else {
        return Ok(Vec::new());
    };
    let mut there = BTreeSet::new();
    let entries = match fs::read_dir(folder.join("trials")) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") && !name.starts_with('.') {
            there.insert(format!("trials/{name}"));
        }
    }
    let missing: Vec<&str> = known
        .names()
        .filter(|name| !there.contains(*name))
        .collect();
    let mut changed = Vec::new();
    let mut added = Vec::new();
    for name in &there {
        match known.of(name) {
            None => added.push(name.as_str()),
            Some(stored) if stored != digest(&fs::read(folder.join(name))?) => {
                changed.push(name.as_str());
            }
            Some(_) => {}
        }
    }
    let all = known.by_name.len() as u64;
    let mut said = Vec::new();
    if !missing.is_empty() {
        let (of, are) = (words::plural(all, "stored trial"), is(&missing));
        let missing = format!(
            "{} of {of} {are} missing",
            words::count(missing.len() as u64)
        ) + &named(&missing);
        said.push(missing);
    }
    for (names, what) in [
        (changed, "changed after it was stored"),
        (added, "added later: no lab stored it here"),
    ] {
        if !names.is_empty() {
            let what = if names.len() > 1 {
                what.replace(" it was ", " they were ")
                    .replace(" it ", " them ")
            } else {
                what.to_owned()
            };
            let count = words::plural(names.len() as u64, "trial");
            let was = words::was(names.len() as u64);
            said.push(format!("{count} {was} {what}{}", named(&names)));
        }
    }
    Ok(said)
}

fn is(names: &[&str]) -> &'static str {
    if names.len() == 1 { "is" } else { "are" }
}

/// The first of them, in brackets.
fn named(names: &[&str]) -> String {
    let first = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => format!(" ({first})"),
        more => format!(" ({first} and {more} more)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("trials")).unwrap();
        for name in ["trials/1.json", "trials/2.json", "trials/3.json"] {
            fs::write(folder.path().join(name), name).unwrap();
            add(folder.path(), name, name.as_bytes()).unwrap();
        }
        folder
    }

    #[test]
    fn what_is_as_it_was_stored_is_not_mentioned() {
        let folder = folder();
        assert_eq!(differences(folder.path()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_changed_or_added_is_named() {
        let folder = folder();
        let file = |name: &str| folder.path().join("trials").join(name);
        fs::remove_file(file("2.json")).unwrap();
        fs::write(file("3.json"), "another").unwrap();
        fs::write(file("4.json"), "new").unwrap();
        assert_eq!(
            differences(folder.path()).unwrap(),
            [
                "1 of 3 stored trials is missing (trials/2.json)",
                "1 trial was changed after it was stored (trials/3.json)",
                "1 trial was added later: no lab stored it here (trials/4.json)",
            ]
        );
    }

    #[test]
    fn a_trial_that_is_stored_again_has_its_new_digest() {
        let folder = folder();
        let name = "trials/1.json";
        fs::write(folder.path().join(name), "completed").unwrap();
        add(folder.path(), name, b"completed").unwrap();
        assert_eq!(differences(folder.path()).unwrap(), Vec::<String>::new());
        let list = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(list.lines().count(), 3);
    }

    #[test]
    fn results_of_earlier_versions_have_no_list() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(differences(folder.path()).unwrap(), Vec::<String>::new());
    }
}
