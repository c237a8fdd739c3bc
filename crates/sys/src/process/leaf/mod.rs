//! A control group of its own for one process tree, so that nothing it starts escapes the meter.
//!
//! The unified hierarchy is preferred; on a hybrid system without it, cgroup v1's `cpuacct`. No
//! controller needs to be enabled: `cpu.stat` counts in every group of the unified hierarchy.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use model::Span;

use super::{Signal, send};
use crate::clock;

/// CPU time of everything that ever ran in the group.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeafCpu {
    /// User and system together.
    pub total: Span,
    /// User, as far as the kernel's ticks can tell.
    pub user: Span,
    /// System, likewise.
    pub system: Span,
}

/// A control group that we made and will remove.
#[derive(Debug)]
pub struct Leaf {
    path: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Version {
    /// cgroup v1, controller cpuacct.
    One,
    /// The unified hierarchy.
    Two,
}

/// The file of a group of the unified hierarchy that freezes it.
const FREEZER: &str = "cgroup.freeze";

/// How the names of our groups begin.
const PREFIX: &str = "triathlon-";

/// How long those who were killed in a group that was left may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Numbers our groups within this process.
static NEXT: AtomicU32 = AtomicU32::new(1);

impl Leaf {
    /// Makes one below our own group, or says why that is not possible here. `note` gets its path
    /// before it is made, so that somebody knows of it should we be killed.
    pub fn create(note: &dyn Fn(&Path) -> io::Result<()>) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let mut first_error = None;
        for version in [Version::Two, Version::One] {
            let Some(parent) = parent_group(version, &mounts, &own) else {
                continue;
            };
            match Self::create_below(&parent, version, note) {
                Ok(leaf) => return Ok(leaf),
                Err(error) => {
                    first_error.get_or_insert_with(|| {
                        io::Error::new(error.kind(), format!("{}: {error}", parent.display()))
                    });
                }
            }
        }
        Err(first_error
            .unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no cgroup is mounted")))
    }

    fn create_below(
        parent: &Path,
        version: Version,
        note: &dyn Fn(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A pid comes back, and the group of a dead process may still be there.
        let (pid, now) = (std::process::id(), clock::realtime().as_ns());
        let path = parent.join(format!("{PREFIX}{pid}-{now}-{number}"));
        note(&path)?;
        fs::create_dir(&path)?;
        let leaf = Self { path, version };
        // Some systems let us make a group that counts nothing, or that we may not enter.
        leaf.cpu()?;
        leaf.door()?;
        Ok(leaf)
    }

    /// The file to which a process writes `0` to enter.
    pub(super) fn door(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .open(self.path.join("cgroup.procs"))
    }

    /// CPU time so far.
    pub fn cpu(&self) -> io::Result<LeafCpu> {
        match self.version {
            Version::Two => {
                let text = fs::read_to_string(self.path.join("cpu.stat"))?;
                parse_cpu_stat(&text).ok_or_else(|| {
                    io::Error::new(io::ErrorKind::InvalidData, "cpu.stat counts no time")
                })
            }
            Version::One => {
                let read = |name: &str| {
                    let text = fs::read_to_string(self.path.join(name))?;
                    text.trim().parse().map(Span::from_ns).map_err(|error| {
                        io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}"))
                    })
                };
                Ok(LeafCpu {
                    total: read("cpuacct.usage")?,
                    user: read("cpuacct.usage_user")?,
                    system: read("cpuacct.usage_sys")?,
                })
            }
        }
    }

    /// Keeps all that run in it from running, and waits until the kernel says that none does.
    pub fn freeze(&self, at_most: Duration) -> io::Result<()> {
        if self.version == Version::One {
            return Err(io::ErrorKind::Unsupported.into());
        }
        fs::write(self.path.join(FREEZER), "1")?;
        let until = Instant::now() + at_most;
        loop {
            let events = fs::read_to_string(self.path.join("cgroup.events"))?;
            if events.lines().any(|line| line == "frozen 1") {
                return Ok(());
            }
            if Instant::now() > until {
                self.thaw();
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Lets them run again.
    pub fn thaw(&self) {
        // What was never frozen needs no file for it.
        let _none = fs::write(self.path.join(FREEZER), "0");
    }

    /// The file that freezes it, where its hierarchy has one.
    pub(super) fn freezer(&self) -> Option<PathBuf> {
        (self.version == Version::Two).then(|| self.path.join(FREEZER))
    }

    /// Process ids that are in it now.
    pub fn members(&self) -> Vec<u32> {
        members(&self.path)
    }

    /// Removes the group at `path` that a dead process made and noted, after whoever still runs in
    /// it was killed. A path that no group of ours can have is left alone.
    pub fn remove_left(path: &Path) {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_ours = name.is_some_and(|name| name.starts_with(PREFIX));
        if !is_ours || !path.join("cgroup.procs").is_file() {
            return;
        }
        let until = Instant::now() + KILL_LIMIT;
        loop {
            let left = members(path);
            // The kernel refuses while anybody is left in it, and for a moment after the last of
            // them is gone from its list.
            let is_busy = |error: io::Error| error.kind() == io::ErrorKind::ResourceBusy;
            if left.is_empty() && !fs::remove_dir(path).is_err_and(is_busy) {
                return;
            }
            if left.contains(&std::process::id()) || Instant::now() > until {
                return;
            }
            // Not every kernel lets those die who are frozen.
            let _thawed = fs::write(path.join(FREEZER), "0");
            for pid in left {
                let _already_gone = send(pid, Signal::Kill);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The name of its kind for a record: `cgroup` or `cpuacct`.
    pub const fn source(&self) -> &'static str {
        match self.version {
            Version::One => "cpuacct",
            Version::Two => "cgroup",
        }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        // The kernel refuses while a process is in it; the last one may be a moment from gone.
        for _ in 0..50 {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => return,
            }
        }
    }
}

/// Process ids that are in the group at `path`; none if it is no group.
fn members(path: &Path) -> Vec<u32> {
    fs::read_to_string(path.join("cgroup.procs"))
        .map(|text| text.lines().filter_map(|line| line.parse().ok()).collect())
        .unwrap_or_default()
}

/// The directory of our own group in the hierarchy of that version, if it is mounted.
fn parent_group(version: Version, mounts: &str, own: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let filesystem = kind.next()?;
        let options = kind.nth(1)?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let fits = match version {
            Version::Two => filesystem == "cgroup2",
            Version::One => {
                filesystem == "cgroup" && options.split(',').any(|option| option == "cpuacct")
            }
        };
        fits.then_some((root, point))
    })?;
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = match version {
            Version::Two => controllers.is_empty(),
            Version::One => controllers.split(',').any(|name| name == "cpuacct"),
        };
        fits.then_some(path)
    })?;
    let (root, point) = mount;
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

fn parse_cpu_stat(text: &str) -> Option<LeafCpu> {
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(' ')?;
            value.parse().ok().map(Span::from_us)
        })
    };
    Some(LeafCpu {
        total: field("usage_usec")?,
        user: field("user_usec")?,
        system: field("system_usec")?,
    })
}

#[cfg(test)]
mod tests;
