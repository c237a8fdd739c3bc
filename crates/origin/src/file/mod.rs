//! The files of the folder that is served: opened below it and nowhere else, and kept open.
//!
//! A file that was found is looked at again (opened anew and compared) when it is asked for and the
//! last look is older than the revalidation time: a changed or deleted file is seen within that
//! time. A file that changed within the last seconds before it was read is read again at each look,
//! because its time of change could not tell a second change.
//!
//! Cost: one hash lookup; three system calls per file and look.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;
use std::sync::Arc;

use model::{Instant, Span};
use sys::file::Folder;

use crate::media::media_type;

/// Files up to this size are answered from memory: copying so much costs less than a second call.
pub(crate) const SMALL: u64 = 16 * 1024;
/// Files kept open by one worker.
const KEPT_LIMIT: usize = 2_048;
/// A change this recent may be followed by another with the same time, in seconds.
const SETTLED: i64 = 2;

/// The files that one worker knows.
#[derive(Debug)]
pub(crate) struct Files {
    folder: Folder,
    revalidation: Span,
    kept: HashMap<Rc<[u8]>, Kept>,
    /// Names in the order in which they came: who was not asked for since is forgotten first.
    order: VecDeque<Rc<[u8]>>,
}

#[derive(Debug)]
struct Kept {
    file: Rc<Served>,
    looked_at: Instant,
    was_used: bool,
}

/// A regular file, as it was when it was last looked at.
#[derive(Debug)]
pub(crate) struct Served {
    /// Open for reading.
    pub(crate) file: Arc<File>,
    /// In bytes.
    pub(crate) length: u64,
    /// Strong, with its quotes.
    pub(crate) etag: String,
    /// Seconds since 1970.
    pub(crate) last_modified: u64,
    /// By its name.
    pub(crate) media_type: &'static str,
    /// All of it, if it is small.
    pub(crate) content: Option<Vec<u8>>,
    identity: Identity,
    is_settled: bool,
}

/// What changes when the content does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What a path names.
#[derive(Debug)]
pub(crate) enum Found {
    /// A regular file, and until when this need not be looked at again.
    File(Rc<Served>, Instant),
    /// A folder.
    Folder,
}

/// A file or a folder in a folder.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Entry {
    /// As it is on the disk.
    pub(crate) name: Vec<u8>,
    /// Whether there is more in it.
    pub(crate) is_folder: bool,
}

/// Why a path names nothing that is served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Missing {
    /// 403.
    Forbidden,
    /// 503: no descriptor or no memory for it now.
    Later,
    /// 404: also what leads out of the folder, and what is no file.
    Nothing,
    /// 500: the disk failed.
    Unreadable,
}

impl Files {
    /// The files of `folder`.
    pub(crate) fn new(folder: Folder, revalidation: Span) -> Self {
        Self {
            folder,
            revalidation,
            kept: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// What `path` (relative, decoded, without dot segments) names. `now` is monotonic, `second`
    /// since 1970.
    pub(crate) fn find(
        &mut self,
        path: &[u8],
        now: Instant,
        second: u64,
    ) -> Result<Found, Missing> {
        if let Some(kept) = self.kept.get_mut(path) {
            kept.was_used = true;
            let holds_until = kept.looked_at + self.revalidation;
            if now < holds_until {
                return Ok(Found::File(Rc::clone(&kept.file), holds_until));
            }
        }
        let looked = self.look(path, second);
        match looked {
            Ok(Some(file)) => {
                let file = Rc::new(file);
                self.keep(path, Rc::clone(&file), now);
                Ok(Found::File(file, now + self.revalidation))
            }
            Ok(None) if self.kept.contains_key(path) => {
                let kept = self.kept.get_mut(path).ok_or(Missing::Nothing)?;
                kept.looked_at = now;
                Ok(Found::File(Rc::clone(&kept.file), now + self.revalidation))
            }
            Ok(None) => Ok(Found::Folder),
            Err(error) => {
                self.kept.remove(path);
                Err(missing(&error))
            }
        }
    }

    /// What lies in the folder that `path` names: what could be asked for, in the order of the
    /// names. A link counts as what it leads to, and not at all where it leads out.
    pub(crate) fn list(&self, path: &[u8]) -> Result<Vec<Entry>, Missing> {
        let found = self.folder.entries(path).map_err(|error| missing(&error))?;
        let mut entries: Vec<Entry> = found
            .into_iter()
            .filter_map(|(name, kind)| {
                let name = name.into_vec();
                let is_folder = if kind.is_symlink() {
                    let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
                    let opened = self.folder.open_beneath([path, separator, &name].concat());
                    let facts = opened.and_then(|file| file.metadata()).ok()?;
                    (facts.is_file() || facts.is_dir()).then(|| facts.is_dir())?
                } else {
                    (kind.is_file() || kind.is_dir()).then(|| kind.is_dir())?
                };
                Some(Entry { name, is_folder })
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    /// Opens the path. None: it is a folder, or the file that is kept is still right.
    fn look(&mut self, path: &[u8], second: u64) -> io::Result<Option<Served>> {
        let file = self.folder.open_beneath(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            self.kept.remove(path);
            return Ok(None);
        }
        if !metadata.is_file() {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let identity = Identity::of(&metadata);
        let is_same = self
            .kept
            .get(path)
            .is_some_and(|kept| kept.file.is_settled && kept.file.identity == identity);
        if is_same {
            return Ok(None);
        }
        Served::read(file, &metadata, path, second).map(Some)
    }

    fn keep(&mut self, path: &[u8], file: Rc<Served>, now: Instant) {
        let kept = Kept {
            file,
            looked_at: now,
            was_used: false,
        };
        if let Some(place) = self.kept.get_mut(path) {
            *place = kept;
            return;
        }
        while self.order.len() >= KEPT_LIMIT {
            self.forget_one();
        }
        let name: Rc<[u8]> = Rc::from(path);
        self.order.push_back(Rc::clone(&name));
        self.kept.insert(name, kept);
    }

    /// Forgets the oldest that was not used since it was last spared.
    fn forget_one(&mut self) {
        while let Some(name) = self.order.pop_front() {
            match self.kept.get_mut(&name) {
                Some(kept) if kept.was_used => {
                    kept.was_used = false;
                    self.order.push_back(name);
                }
                _ => {
                    self.kept.remove(&name);
                    return;
                }
            }
        }
    }
}

impl Served {
    fn read(file: File, metadata: &Metadata, path: &[u8], second: u64) -> io::Result<Self> {
        let identity = Identity::of(metadata);
        let mut length = identity.length;
        let content = if length <= SMALL {
            let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
            (&file).take(SMALL + 1).read_to_end(&mut content)?;
            length = content.len() as u64; // it may have changed under our eyes
            (length <= SMALL).then_some(content)
        } else {
            None
        };
        let (seconds, nanoseconds) = identity.modified;
        let newest = i64::try_from(second).unwrap_or(i64::MAX) - SETTLED;
        Ok(Self {
            file: Arc::new(file),
            length,
            etag: format!("\"{seconds:x}.{nanoseconds:x}-{length:x}\""),
            last_modified: u64::try_from(seconds).unwrap_or(0),
            media_type: media_type(path),
            content,
            identity,
            is_settled: identity.changed.0 < newest && length == identity.length,
        })
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn missing(error: &io::Error) -> Missing {
    use io::ErrorKind;

    match error.kind() {
        ErrorKind::PermissionDenied => Missing::Forbidden,
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::CrossesDevices
        | ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput => Missing::Nothing,
        ErrorKind::OutOfMemory => Missing::Later,
        _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => Missing::Later,
        _ if matches!(error.raw_os_error(), Some(ELOOP | ENXIO)) => Missing::Nothing,
        _ => Missing::Unreadable,
    }
}

// Numbers that Linux gives these errors, for which std has no stable names.
const EMFILE: i32 = 24;
const ELOOP: i32 = 40;
const ENFILE: i32 = 23;
const ENXIO: i32 = 6;

#[cfg(test)]
mod tests;
