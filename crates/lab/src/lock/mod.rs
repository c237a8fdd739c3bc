//! One lab at a time on a machine: two would measure each other.
//!
//! A file at a place that all users know is locked as long as a lab measures, and says who that is.
//! The kernel drops the lock when the lab is dead, and at no other time. Who only wants to know
//! reads the file and takes no lock, which a lab that starts in this moment would run into.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use sys::counters::process;
use sys::file::NO_FOLLOW;

use crate::environment::rfc3339;
use crate::error::LabError;

/// Where labs of one machine look for each other, whoever started them.
pub const PLACE: &str = "/tmp/triathlon-lab.lock";
/// A longer file is not ours.
const LENGTH_MAX: u64 = 200;

/// Keeps other labs away until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// A lab that measures now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

impl Lock {
    /// Takes it at `path`, or says who has it.
    pub fn take(path: &Path) -> Result<Self, LabError> {
        let mut file = open(path).map_err(LabError::file("lock", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = read(&mut file).map(|(holder, _)| holder);
                return Err(LabError::Taken { holder });
            }
            Err(TryLockError::Error(error)) => return Err(LabError::file("lock", path)(error)),
        }
        // Another user's file that a dead lab left may refuse this; the lock holds all the same.
        let _nameless = write(&mut file);
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file stays: one that is removed could be locked by somebody who opened it before.
        let _stays = self.file.set_len(0);
        // A program that starts in this moment has a copy of the descriptor until it runs.
        let _free = self.file.unlock();
    }
}

/// The lab that holds the lock at `path`, if any does.
pub fn holder(path: &Path) -> Option<Holder> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(NO_FOLLOW)
        .open(path)
        .ok()?;
    let (holder, began) = read(&mut file)?;
    let stat = process::stat(Path::new("/proc"), holder.pid).ok()?;
    (stat.start_time == began).then_some(holder)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(NO_FOLLOW);
    let existing = options.open(path);
    match existing {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Its owner keeps it from us: what can be read can be locked.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return OpenOptions::new()
                .read(true)
                .custom_flags(NO_FOLLOW)
                .open(path);
        }
        known => return known,
    }
    match options.create_new(true).open(path) {
        Ok(file) => {
            // Every user of this machine shall be able to write a name into it.
            file.set_permissions(std::fs::Permissions::from_mode(0o666))?;
            Ok(file)
        }
        // Somebody was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).open(path)
        }
        Err(error) => Err(error),
    }
}

fn write(file: &mut File) -> io::Result<()> {
    let pid = std::process::id();
    let began = process::stat(Path::new("/proc"), pid)?.start_time;
    let since = rfc3339(sys::clock::realtime());
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{pid} {began} {since}")
}

/// Who is named in the file, and when that process began in ticks after boot.
fn read(file: &mut File) -> Option<(Holder, u64)> {
    let mut text = String::new();
    file.take(LENGTH_MAX).read_to_string(&mut text).ok()?;
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let began = words.next()?.parse().ok()?;
    // It is shown to people, and anybody may have written it.
    let since = words.next().filter(|word| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || b"-:TZ".contains(&byte))
    })?;
    let holder = Holder {
        pid,
        since: since.to_owned(),
    };
    Some((holder, began))
}

#[cfg(test)]
mod tests;
