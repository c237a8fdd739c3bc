//! The private folder of a run: what must be gone when the run has ended, however it ended.
//!
//! A run that is killed (SIGKILL, a power cut) cannot clean up, so the next one does. It must not
//! take what belongs to a run that lives, and neither a name nor an age tells. So each folder holds
//! a lock file, locked for the life of the run: the kernel drops the lock when the run is dead, and
//! at no other time. The lock file also lists the control groups that the run made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sys::process::Leaf;

use crate::error::LabError;

/// The name of the lock file. It stands under this name only while it is locked, or left behind.
const LOCK: &str = "triathlon.lock";
/// Its first line.
const MARK: &str = "locked while the run lives that made this folder";
/// A longer one is not ours.
const LOCK_MAX: u64 = 64 << 20;

/// A folder that is removed with everything in it when it is dropped, or else by the next run.
#[derive(Debug)]
pub struct Scratch {
    folder: tempfile::TempDir,
    lock: File,
}

impl Scratch {
    /// Makes one in the folder for temporary files, after what dead runs left there was swept.
    pub fn create() -> Result<Self, LabError> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        Self::create_in(&parent, "triathlon-")
    }

    /// Makes one in `parent`. Its name begins with `prefix`.
    pub fn create_in(parent: &Path, prefix: &str) -> Result<Self, LabError> {
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(parent)
            .map_err(LabError::file("create a folder in", parent))?;
        let path = folder.path().join(LOCK);
        let lock = locked(&path).map_err(LabError::file("lock", path))?;
        Ok(Self { folder, lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A control group that a later run removes should this one be killed; none where that is not
    /// possible.
    pub fn leaf(&self) -> Option<Leaf> {
        // Noted before it is made: a group that is noted and not there is no harm.
        Leaf::create(&|path| writeln!(&self.lock, "{}", path.display())).ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays, with its lock file, for the next run.
        let _stays = remove(self.folder.path());
        self.folder.disable_cleanup(true);
    }
}

/// Makes the lock file. It gets its name once it is locked: nobody ever sees a run that lives
/// with a lock that is free.
fn locked(path: &Path) -> io::Result<File> {
    let unfinished = path.with_extension("new");
    let mut lock = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    lock.lock()?;
    writeln!(lock, "{MARK}")?;
    fs::rename(&unfinished, path)?;
    Ok(lock)
}

/// Removes what dead runs left in `parent`: folders with a lock file that nobody holds, and the
/// control groups that stand in it, with whoever still runs in them.
pub fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let folder = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some((lock, groups)) = left_by_the_dead(&folder)
        {
            for group in groups {
                Leaf::remove_left(&group);
            }
            // What cannot be removed stays for the next run, as long as its lock file does.
            let _stays = remove(&folder);
            drop(lock);
        }
    }
}

/// Sweeps every folder in `parent`: each may be one of results with work in it.
pub fn sweep_below(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sweep(&entry.path());
        }
    }
}

/// The lock file of `folder`, locked by us now, and the control groups of its run, if that run is
/// dead. A folder of another user is not ours to judge: what it says of groups may be a lie.
fn left_by_the_dead(folder: &Path) -> Option<(File, Vec<PathBuf>)> {
    let own = sys::process::effective_user();
    let is_ours = |meta: &fs::Metadata| meta.uid() == own;
    let path = folder.join(LOCK);
    let is_lock = |meta: &fs::Metadata| meta.is_file() && meta.len() < LOCK_MAX && is_ours(meta);
    if !fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir() && is_ours(&meta))
        || !fs::symlink_metadata(&path).is_ok_and(|meta| is_lock(&meta))
    {
        return None;
    }
    let mut lock = File::open(&path).ok()?;
    lock.try_lock().ok()?;
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    (lines.next() == Some(MARK)).then(|| (lock, lines.map(PathBuf::from).collect()))
}

/// Removes a folder, its lock file last.
fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(folder.join(LOCK))?;
    fs::remove_dir(folder)
}

#[cfg(test)]
mod tests;
