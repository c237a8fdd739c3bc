//! Results on disk: append-only, one file per trial, written whole or not at all.
//!
//! A row about what could not be measured is taken away once it has been, and trials that are
//! measured again after an interruption are moved to a folder beside the others.
//! The one thing that is added to a trial is what only others of its round can tell: its ceiling.
//!
//! A file is written under a temporary name, brought to the disk and renamed; then its folder is
//! brought to the disk too. What carries its final name is complete, whatever happens.

pub mod digests;
mod gaps;
pub mod pack;
mod readers;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use model::experiment::{ServerVariant, Workload};
use model::plan::{FORMAT, FORMAT_OLDEST};
use model::{Experiment, Gap, Json, Manifest, Point, Trial};
use tempfile::NamedTempFile;

use crate::error::LabError;

/// What may hold credentials that going on with the results needs.
const PRIVATE: [&str; 2] = ["experiment.toml", "manifest.json"];
/// The folder of the trials that searches are made of.
pub(crate) const SEARCHES: &str = "searches";
/// The folder of trials that have been measured again since an interruption.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The results directory of one execution of one experiment.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Makes `results/NAME/TIME` and writes what is about to be run into it.
    pub fn create(results: &Path, manifest: &Manifest, experiment: &str) -> Result<Self, LabError> {
        let name = &manifest.experiment.experiment.name;
        let stem = folder_name(&manifest.time);
        let parent = results.join(name);
        fs::create_dir_all(&parent).map_err(LabError::file("create", &parent))?;
        let store = Self {
            directory: fresh_folder(&parent, &stem)?,
        };
        if let Err(error) = store.begin(manifest, experiment) {
            store.discard();
            return Err(error);
        }
        Ok(store)
    }

    fn begin(&self, manifest: &Manifest, experiment: &str) -> Result<(), LabError> {
        for folder in ["trials", "gaps", "servers", SEARCHES] {
            let path = self.directory.join(folder);
            fs::create_dir(&path).map_err(LabError::file("create", path))?;
        }
        self.write_for("experiment.toml", experiment, readers::mode(experiment))?;
        self.write(digests::FILE, b"")?;
        // The manifest comes last: a folder that has one is a folder that can be resumed.
        self.write_manifest(manifest)
    }

    /// Writes the manifest anew: what a budget had no time for is known at the end.
    pub fn put_manifest(&self, manifest: &Manifest) -> Result<(), LabError> {
        self.write_manifest(manifest)
    }

    /// Removes the folder if it holds no trial, and the experiment's if it is then empty. Returns
    /// whether it held none.
    pub fn remove_without_trials(&self) -> bool {
        let is_without = self.names("trials").is_empty();
        if is_without {
            self.discard();
        }
        is_without
    }

    fn discard(&self) {
        // Best effort: a folder that cannot be removed stays, and so does one that holds others.
        let _gone = fs::remove_dir_all(&self.directory);
        let _gone = self.directory.parent().map(fs::remove_dir);
    }

    /// Opens one that exists: it has a manifest.
    pub fn open(directory: &Path) -> Result<(Self, Manifest), LabError> {
        let store = Self {
            directory: directory.to_owned(),
        };
        let manifest = read_manifest(directory)?;
        Ok((store, manifest))
    }

    /// The newest folder below `results/NAME` that has a manifest, and anything to go on with.
    pub fn newest(results: &Path, name: &str) -> Option<PathBuf> {
        let mut folders: Vec<PathBuf> = fs::read_dir(results.join(name))
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join("manifest.json").is_file())
            .collect();
        folders.sort();
        folders.into_iter().rfind(|folder| !leads_nowhere(folder))
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Stores a trial. After this it survives everything but its disk. Gaps of an earlier start
    /// that it fills are gaps no more.
    pub fn put_trial(&self, trial: &Trial) -> Result<PathBuf, LabError> {
        let point = point_of(trial);
        let path = self.write_trial(&format!("trials/{}.json", stem_of(point)), trial)?;
        for name in self.names("gaps") {
            let file = self.directory.join("gaps").join(name);
            let gap: Gap = read_json(&file, "a gap")?;
            if gap.is_of(&point.id) && gap.round.is_none_or(|round| round == point.round) {
                fs::remove_file(&file).map_err(LabError::file("remove", &file))?;
            }
        }
        Ok(path)
    }

    /// Stores a trial of a search: it belongs to the one that is made at the answer, and is no
    /// round of a point.
    pub fn put_probe(&self, trial: &Trial, number: u32) -> Result<PathBuf, LabError> {
        let stem = stem_of(point_of(trial));
        self.write_trial(&format!("{SEARCHES}/{stem}-{number:03}.json"), trial)
    }

    /// Takes the trials of those sequence numbers, and those of their searches, out of the results:
    /// they are measured again, together with what was missing beside them. They stay in a folder
    /// of their own. Returns whether one of them was a ceiling.
    pub fn set_aside(&self, sequences: &BTreeSet<u32>) -> Result<bool, LabError> {
        let folder = self.directory.join(INTERRUPTED);
        let mut moves = Vec::new();
        let mut had_ceiling = false;
        let of_ceiling = format!("-{}-", slug(crate::execution::CEILING));
        for from in ["trials", SEARCHES] {
            for name in self.names(from) {
                if sequence_of(&name).is_none_or(|one| !sequences.contains(&one)) {
                    continue;
                }
                had_ceiling |= name.contains(&of_ceiling);
                // Another one may lie there, of an earlier start.
                let free = (1..).map(|number| format!("{number}-{from}-{name}"));
                let free = free.into_iter().find(|name| !folder.join(name).exists());
                let new_name = format!("{INTERRUPTED}/{}", free.expect("some number is free"));
                moves.push((format!("{from}/{name}"), new_name));
            }
        }
        if !moves.is_empty() {
            fs::create_dir_all(&folder).map_err(LabError::file("create", &folder))?;
            let moved = digests::move_all(&self.directory, &moves);
            moved.map_err(LabError::file("write", folder))?;
        }
        Ok(had_ceiling)
    }

    /// Stores a file of a server's configuration, exactly as used.
    pub fn put_configuration(
        &self,
        server: &str,
        file: &str,
        text: &str,
    ) -> Result<PathBuf, LabError> {
        let folder = self.directory.join("servers").join(slug(server));
        fs::create_dir_all(&folder).map_err(LabError::file("create", &folder))?;
        self.write(
            &format!("servers/{}/{}", slug(server), slug(file)),
            text.as_bytes(),
        )
    }

    /// Stores any other file, as the report; one that must not be read by everybody is not.
    pub fn put_file(&self, name: &str, text: &str) -> Result<PathBuf, LabError> {
        let mode = match PRIVATE.contains(&name) {
            true => readers::mode(text),
            false => readers::EVERYBODY,
        };
        self.write_for(name, text, mode)?;
        Ok(self.directory.join(name))
    }

    /// The sequence numbers of trials that are there.
    pub fn done(&self) -> BTreeSet<u32> {
        self.names("trials")
            .iter()
            .filter_map(|name| sequence_of(name))
            .collect()
    }

    /// What was run.
    pub fn manifest(&self) -> Result<Manifest, LabError> {
        read_manifest(&self.directory)
    }

    /// Every trial in the order of execution, read one by one: one of them can take megabytes.
    pub fn trials(&self) -> impl Iterator<Item = Result<Trial, LabError>> + use<> {
        let execution = self.manifest().map(|manifest| manifest.execution());
        let trials = self.read_all("trials", "a trial", &|_| true);
        trials.map(move |trial: Result<Trial, LabError>| {
            let mut trial = trial?;
            if let (Some(point), Ok(execution)) = (&mut trial.point, &execution) {
                point.adopt(execution);
            }
            Ok(trial)
        })
    }

    /// The ceilings that were measured in that round.
    pub fn ceilings(&self, round: u32) -> impl Iterator<Item = Result<Trial, LabError>> + use<> {
        let part = format!("-round-{round}-{}-", slug(crate::execution::CEILING));
        self.read_all("trials", "a trial", &|name| name.contains(&part))
    }

    /// Writes those trials of a round anew that `complete` has changed: it says whether. What was
    /// measured stays as it is.
    pub fn complete(
        &self,
        round: u32,
        complete: &mut dyn FnMut(&mut Trial) -> bool,
    ) -> Result<(), LabError> {
        for name in self.names("trials") {
            let mut parts = name.split('-').skip(1);
            if (parts.next(), parts.next()) != (Some("round"), Some(&*round.to_string())) {
                continue;
            }
            let name = format!("trials/{name}");
            let mut trial = read_json(&self.directory.join(&name), "a trial")?;
            if complete(&mut trial) {
                self.write_trial(&name, &trial)?;
            }
        }
        Ok(())
    }

    fn read_all<T: Json>(
        &self,
        folder: &str,
        what: &'static str,
        wanted: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = Result<T, LabError>> + use<T> {
        let path = self.directory.join(folder);
        let mut names = self.names(folder);
        names.retain(|name| wanted(name));
        names
            .into_iter()
            .map(move |name| read_json(&path.join(name), what))
    }

    /// Names of complete files, in order.
    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.directory.join(folder))
            .map(|entries| {
                entries
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                    .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }

    /// Gives those trials their names that were written whole when a lab was killed, and had none
    /// yet. Only for whoever goes on with the results: another lab may be writing one.
    pub fn finish(&self) -> Result<(), LabError> {
        let finished = digests::finish(&self.directory);
        finished.map_err(LabError::file("write", &self.directory))
    }

    /// Writes a trial, its digest into the list, and gives the trial its name: so no trial is
    /// without a digest, whenever the lab is killed.
    fn write_trial(&self, name: &str, trial: &Trial) -> Result<PathBuf, LabError> {
        let bytes = self.json(name, trial)?;
        let path = self.directory.join(name);
        let written = prepare(&path, &bytes, readers::EVERYBODY);
        let written = written.map_err(LabError::file("write", &path))?;
        let list = self.directory.join(digests::FILE);
        digests::add(&self.directory, name, &bytes).map_err(LabError::file("write", list))?;
        put(written, &path).map_err(LabError::file("write", &path))?;
        Ok(path)
    }

    /// What the command line had of credentials is taken out. Those that the experiment has are
    /// kept: a plan without them does not run, and results are gone on with from here.
    fn write_manifest(&self, manifest: &Manifest) -> Result<(), LabError> {
        let name = "manifest.json";
        let mut stored = manifest.clone();
        model::redact::words(&mut stored.command);
        let bytes = self.json(name, &stored)?;
        let text = String::from_utf8_lossy(&bytes);
        self.write_for(name, &text, readers::mode(&text))
    }

    fn write_for(&self, name: &str, text: &str, mode: u32) -> Result<(), LabError> {
        let path = self.directory.join(name);
        write_with(&path, text.as_bytes(), mode).map_err(LabError::file("write", &path))
    }

    fn write_json(&self, name: &str, value: &impl Json) -> Result<PathBuf, LabError> {
        let bytes = self.json(name, value)?;
        self.write(name, &bytes)
    }

    fn json(&self, name: &str, value: &impl Json) -> Result<Vec<u8>, LabError> {
        let text = value.to_json().map_err(|error| LabError::Damaged {
            path: self.directory.join(name),
            what: "writable",
            why: error.to_string(),
        })?;
        Ok((text + "\n").into_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, LabError> {
        let path = self.directory.join(name);
        write_whole(&path, bytes).map_err(LabError::file("write", &path))?;
        Ok(path)
    }
}

fn point_of(trial: &Trial) -> &Point {
    let point = trial.point.as_ref();
    point.expect("a trial of a lab has a point")
}

/// What the name of the file of a trial at that point begins with.
fn stem_of(point: &Point) -> String {
    format!(
        "{:05}-round-{}-{}-{}-{}",
        point.sequence,
        point.round,
        slug(&point.id.server),
        slug(&point.id.workload),
        point.id.load.slug()
    )
}

/// The sequence number that the name of a trial's file begins with.
fn sequence_of(name: &str) -> Option<u32> {
    name.split('-').next()?.parse().ok()
}

/// The manifest of a results folder. One of another format is refused before anything else in it is
/// looked at.
pub fn read_manifest(folder: &Path) -> Result<Manifest, LabError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u64,
    }
    let path = folder.join("manifest.json");
    let text = fs::read_to_string(&path).map_err(LabError::file("read", &path))?;
    let readable = u64::from(FORMAT_OLDEST)..=u64::from(FORMAT);
    if let Ok(Format { format }) = serde_json::from_str(&text)
        && !readable.contains(&format)
    {
        return Err(LabError::Format { path, format });
    }
    parse_json(&path, &text, "a manifest")
}

/// Whether a folder holds no trial, and none of its servers could be measured at all.
fn leads_nowhere(folder: &Path) -> bool {
    let Ok((store, manifest)) = Store::open(folder) else {
        return false;
    };
    let (Ok(experiment), Ok(gaps)) = (Experiment::try_from(manifest.experiment), store.gaps())
    else {
        return false;
    };
    let is_lost = |server: &ServerVariant| {
        let gaps = gaps.iter().filter(|gap| gap.server == server.label);
        let lost: Vec<Option<&str>> = gaps
            .filter(|gap| gap.round.is_none())
            .map(|gap| gap.workload.as_deref())
            .collect();
        // It has rows of its workloads where others are not asked of it.
        let (asked, others): (Vec<&Workload>, Vec<&Workload>) = experiment
            .workloads()
            .iter()
            .partition(|workload| experiment.asks(workload, server.speech));
        let is_lost = |one: &&Workload| lost.contains(&Some(&one.name));
        lost.contains(&None) || (!others.is_empty() && asked.iter().all(is_lost))
    };
    store.done().is_empty() && experiment.servers().iter().all(is_lost)
}

/// Writes a file that everybody may read: temporary file, fsync, rename, fsync of the folder.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, bytes, readers::EVERYBODY)
}

/// The same for those whom `mode` lets read it.
fn write_with(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    put(prepare(path, bytes, mode)?, path)
}

/// What the temporary names end with of files that are to have another one.
const PART: &str = ".part";

/// The file of that path under a temporary name, on the disk.
fn prepare(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let mut temporary = tempfile::Builder::new()
        .prefix(".")
        .suffix(PART)
        .tempfile_in(folder_of(path))?;
    temporary.write_all(bytes)?;
    // Temporary files are private; most results are to be shared.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    temporary.as_file().set_permissions(mode)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Gives it its name.
fn put(temporary: NamedTempFile, path: &Path) -> io::Result<()> {
    let _file = temporary.persist(path).map_err(|error| error.error)?;
    File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new("."))
}

fn read_json<T: Json>(path: &Path, what: &'static str) -> Result<T, LabError> {
    let text = fs::read_to_string(path).map_err(LabError::file("read", path))?;
    parse_json(path, &text, what)
}

fn parse_json<T: Json>(path: &Path, text: &str, what: &'static str) -> Result<T, LabError> {
    T::from_json(text.as_bytes()).map_err(|error| LabError::Damaged {
        path: path.to_owned(),
        what,
        why: error.to_string(),
    })
}

/// `2026-11-20T10:32:00Z` without its colons, which some file systems refuse.
pub(crate) fn folder_name(time: &str) -> String {
    time.replace(':', "-")
}

/// A folder that did not exist before, even if two begin in one second.
pub(crate) fn fresh_folder(parent: &Path, stem: &str) -> Result<PathBuf, LabError> {
    for attempt in 1..1_000 {
        let name = if attempt == 1 {
            stem.to_owned()
        } else {
            format!("{stem}-{attempt}")
        };
        let path = parent.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(LabError::file("create", path)(error)),
        }
    }
    Err(LabError::file("create", parent.join(stem))(
        io::Error::from(io::ErrorKind::AlreadyExists),
    ))
}

/// A name as part of a file name: what is not a letter, digit or one of `._` becomes a hyphen.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_alphanumeric() || c == '_' || (c == '.' && !slug.is_empty()) {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "unnamed".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests;
