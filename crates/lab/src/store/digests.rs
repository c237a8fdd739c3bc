//! `SHA256SUMS` of a results folder: a digest for each trial, in the form of `sha256sum`.
//!
//! A line is added once its trial is on the disk, and before the trial has its name. So a trial
//! that somebody deletes or changes later is noticed, by us and by anyone; and one that has only
//! its temporary name, because the lab was killed, is known by its digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use model::hex;
use sha2::{Digest as _, Sha256};
use verdict::words;

use super::{INTERRUPTED, PART, SEARCHES, write_whole};

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
    /// The digests of the trials of `folder` that have their names; none where it has no list, as
    /// results of earlier versions.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        let Some(listed) = Self::listed(folder)? else {
            return Ok(None);
        };
        let unfinished = begun(folder, &listed)?;
        Ok(Some(listed.without(&unfinished)))
    }

    /// As it was before those trials were begun.
    fn without(mut self, unfinished: &[Begun]) -> Self {
        for Begun { name, before, .. } in unfinished {
            match before {
                None => drop(self.by_name.remove(name)),
                Some(before) => self.set(name, before.clone()),
            }
        }
        self
    }

    /// The list as it is.
    fn listed(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read_to_string(folder.join(FILE)) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads `DIGEST  NAME` on each line; what is no such line is none, and so is a last one that
    /// has no end: it was cut off.
    pub fn parse(text: &str) -> Self {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().filter_map(|line| line.split_once("  "));
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
    let text = match fs::read_to_string(folder.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut known = Digests::parse(&text);
    // Behind a line that was cut off nothing is written.
    let is_whole = text.is_empty() || text.ends_with('\n');
    if is_whole && known.of(name).is_none() {
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

/// A trial that a lab was storing when it was killed: it is on the disk, its digest is in the list,
/// and it has a temporary name.
struct Begun {
    part: PathBuf,
    name: String,
    /// The digest of what has its name; none: nothing has.
    before: Option<String>,
}

/// What is so in `folder`.
fn begun(folder: &Path, known: &Digests) -> io::Result<Vec<Begun>> {
    let mut all = Vec::new();
    for inside in ["trials", SEARCHES] {
        for file in files_in(folder, inside)? {
            if !file.starts_with('.') || !file.ends_with(PART) {
                continue;
            }
            let part = folder.join(inside).join(file);
            // One that is being written may be read by nobody else, or has its name by now.
            let Ok(Some(own)) = digest_of(&part) else {
                continue;
            };
            let of_it = known.by_name.iter().filter(|(_, digest)| **digest == own);
            for (name, _) in of_it.filter(|(name, _)| is_below(name, inside)) {
                let before = digest_of(&folder.join(name))?;
                if before.as_ref() != Some(&own) {
                    all.push(Begun {
                        part,
                        name: name.clone(),
                        before,
                    });
                    break;
                }
            }
        }
    }
    Ok(all)
}

fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The digest of a file; none where there is none.
fn digest_of(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(digest(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives the trials their names that a lab was storing when it was killed.
pub(super) fn finish(folder: &Path) -> io::Result<()> {
    let Some(known) = Digests::listed(folder)? else {
        return Ok(());
    };
    for Begun { part, name, .. } in begun(folder, &known)? {
        fs::rename(part, folder.join(name))?;
    }
    Ok(())
}

/// Moves files to other names, those of trials below `folder`, each with its digest. The list is
/// written once, before the files move: after an interruption it may name files that are still
/// under their old names, until this is done again.
pub(super) fn move_all(folder: &Path, names: &[(String, String)]) -> io::Result<()> {
    let mut known = Digests::read(folder)?.unwrap_or_default();
    for (name, new_name) in names {
        if let Some(digest) = known.of(name).map(str::to_owned) {
            known.rename(name, new_name, digest);
        }
    }
    write_whole(&folder.join(FILE), known.text().as_bytes())?;
    for (name, new_name) in names {
        fs::rename(folder.join(name), folder.join(new_name))?;
    }
    Ok(())
}

/// What of the trials of a folder is not as it was when they were stored: names of their files
/// below it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Differences {
    /// So many trials were stored.
    pub stored: usize,
    /// Stored, and there no more.
    pub missing: Vec<String>,
    /// There, and not as they were stored.
    pub changed: Vec<String>,
    /// There, and never stored.
    pub added: Vec<String>,
    /// On the disk, and without their names yet: a lab is storing them, or was when it was killed.
    pub unfinished: Vec<String>,
}

/// What is not with the trials of `folder` as it was when they were stored. Nothing too where an
/// earlier version stored them, without a list.
pub fn differences(folder: &Path) -> io::Result<Differences> {
    let Some(listed) = Digests::listed(folder)? else {
        return Ok(Differences::default());
    };
    let unfinished = begun(folder, &listed)?;
    let known = listed.without(&unfinished);
    let mut there = trials_in(folder, "trials")?;
    let of_searches = format!("{SEARCHES}/");
    // Earlier versions had no digests of these.
    if known.names().any(|name| name.starts_with(&of_searches)) {
        there.append(&mut trials_in(folder, SEARCHES)?);
    }
    there.append(&mut trials_in(folder, INTERRUPTED)?);
    let is_missing = |name: &&str| !there.contains(*name);
    let mut found = Differences {
        stored: known.by_name.len(),
        missing: known
            .names()
            .filter(is_missing)
            .map(str::to_owned)
            .collect(),
        unfinished: unfinished.into_iter().map(|one| one.name).collect(),
        ..Differences::default()
    };
    for name in there {
        match known.of(&name) {
            // Of searches earlier versions had no digests; what was set aside of them has none.
            None if name.starts_with(INTERRUPTED) => {}
            None => found.added.push(name),
            Some(stored) if stored != digest(&fs::read(folder.join(&name))?) => {
                found.changed.push(name);
            }
            Some(_) => {}
        }
    }
    Ok(found)
}

/// The files of trials in `inside`, by their names below `folder`.
fn trials_in(folder: &Path, inside: &str) -> io::Result<BTreeSet<String>> {
    let names = files_in(folder, inside)?.into_iter();
    Ok(names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .map(|name| format!("{inside}/{name}"))
        .collect())
}

/// The names of all files in `inside`, a folder of `folder` that may not be there.
fn files_in(folder: &Path, inside: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder.join(inside)) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let names = entries.iter().map(|entry| entry.file_name());
    Ok(names
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}

impl Differences {
    /// What has no name yet: nobody has touched that.
    pub fn unfinished_sentence(&self) -> Option<String> {
        let count = self.unfinished.len() as u64;
        (count > 0).then(|| {
            format!(
                "{} {} being stored, now or when the lab was killed: triathlon lab --resume ends \
                 that{}",
                words::plural(count, "trial"),
                words::was(count),
                named(&self.unfinished)
            )
        })
    }

    /// A sentence for each kind, with the first names of each.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if !self.missing.is_empty() {
            let of = words::plural(self.stored as u64, "stored trial");
            let count = words::count(self.missing.len() as u64);
            let are = if self.missing.len() == 1 { "is" } else { "are" };
            let names = named(&self.missing);
            said.push(format!("{count} of {of} {are} missing{names}"));
        }
        for (names, what) in [
            (&self.changed, "changed after it was stored"),
            (&self.added, "added later: no lab stored it here"),
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
                said.push(format!("{count} {was} {what}{}", named(names)));
            }
        }
        said
    }

    /// The missing ones that no sentence names.
    pub fn missing_unnamed(&self) -> &[String] {
        self.missing.get(NAMED..).unwrap_or_default()
    }
}

/// The first of them, in brackets.
fn named(names: &[String]) -> String {
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

    fn said(folder: &Path) -> Vec<String> {
        differences(folder).unwrap().sentences()
    }

    #[test]
    fn what_is_as_it_was_stored_is_not_mentioned() {
        let folder = folder();
        assert_eq!(said(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_changed_or_added_is_named() {
        let folder = folder();
        let file = |name: &str| folder.path().join("trials").join(name);
        fs::remove_file(file("2.json")).unwrap();
        fs::write(file("3.json"), "another").unwrap();
        fs::write(file("4.json"), "new").unwrap();
        assert_eq!(
            said(folder.path()),
            [
                "1 of 3 stored trials is missing (trials/2.json)",
                "1 trial was changed after it was stored (trials/3.json)",
                "1 trial was added later: no lab stored it here (trials/4.json)",
            ]
        );
    }

    #[test]
    fn trials_of_searches_are_looked_at_where_they_have_digests() {
        let folder = folder();
        let file = |name: &str| folder.path().join(name);
        fs::create_dir(file(SEARCHES)).unwrap();
        let [first, second] = ["searches/1.json", "searches/2.json"];
        fs::write(file(first), "of an earlier version").unwrap();
        assert_eq!(said(folder.path()), Vec::<String>::new());
        for name in [first, second] {
            fs::write(file(name), name).unwrap();
            add(folder.path(), name, name.as_bytes()).unwrap();
        }
        assert_eq!(said(folder.path()), Vec::<String>::new());
        fs::write(file(first), "better").unwrap();
        fs::remove_file(file(second)).unwrap();
        assert_eq!(
            said(folder.path()),
            [
                "1 of 5 stored trials is missing (searches/2.json)",
                "1 trial was changed after it was stored (searches/1.json)",
            ]
        );
    }

    #[test]
    fn of_many_missing_ones_a_sentence_names_the_first() {
        let missing = |count: usize| Differences {
            stored: 9,
            missing: (1..=count).map(|n| format!("trials/{n}.json")).collect(),
            ..Differences::default()
        };
        assert_eq!(
            missing(5).sentences(),
            ["5 of 9 stored trials are missing \
              (trials/1.json, trials/2.json, trials/3.json and 2 more)"]
        );
        let unnamed = missing(5);
        assert_eq!(
            unnamed.missing_unnamed(),
            ["trials/4.json", "trials/5.json"]
        );
        assert_eq!(missing(2).missing_unnamed(), Vec::<String>::new());
    }

    #[test]
    fn a_trial_that_is_stored_again_has_its_new_digest() {
        let folder = folder();
        let name = "trials/1.json";
        fs::write(folder.path().join(name), "completed").unwrap();
        add(folder.path(), name, b"completed").unwrap();
        assert_eq!(said(folder.path()), Vec::<String>::new());
        let list = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(list.lines().count(), 3);
    }

    /// As where the disk was full in the middle of it.
    #[test]
    fn a_line_that_was_cut_off_takes_no_other_with_it() {
        let folder = folder();
        let list = folder.path().join(FILE);
        let whole = fs::read_to_string(&list).unwrap();
        fs::write(&list, &whole[..whole.len() - 9]).unwrap();
        let name = "trials/4.json";
        fs::write(folder.path().join(name), name).unwrap();
        add(folder.path(), name, name.as_bytes()).unwrap();
        assert_eq!(
            said(folder.path()),
            ["1 trial was added later: no lab stored it here (trials/3.json)"]
        );
    }

    #[test]
    fn results_of_earlier_versions_have_no_list() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(said(folder.path()), Vec::<String>::new());
    }
}
