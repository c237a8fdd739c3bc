//! Files below a folder, and never outside it.
//!
//! Where the kernel has `openat2` (5.6 and later, where permitted) it resolves the whole path
//! itself and lets symbolic links go where they stay inside. Elsewhere each step is taken alone and
//! no symbolic link is followed at all.

use std::ffi::OsString;
use std::fs::{File, FileType};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{MemfdFlags, Mode, OFlags, ResolveFlags, memfd_create, openat, openat2};

use crate::Errno;

/// A flag of opening that refuses a symbolic link: in a folder where everybody may write it can
/// lead anywhere.
pub const NO_FOLLOW: i32 = libc::O_NOFOLLOW;

/// Reading, without waiting for a peer should it be a pipe.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// A folder whose files may be opened.
#[derive(Debug)]
pub struct Folder {
    handle: File,
    has_openat2: bool,
}

impl Folder {
    /// The folder at `path`, wherever that leads.
    pub fn open(path: &Path) -> io::Result<Self> {
        let handle = File::open(path)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let mut folder = Self {
            handle,
            has_openat2: true,
        };
        folder.has_openat2 = folder.open_at_once(b".").is_ok();
        Ok(folder)
    }

    /// A second handle of the same folder, for another thread.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            handle: self.handle.try_clone()?,
            has_openat2: self.has_openat2,
        })
    }

    /// The same folder without `openat2`, as on a kernel that lacks it.
    #[must_use]
    pub fn step_by_step(mut self) -> Self {
        self.has_openat2 = false;
        self
    }

    /// Opens what `path` (relative, without `..`) names, for reading. A path that leads out is an
    /// error, `EXDEV` or `ELOOP`. What is opened may be a folder or a device: look before reading.
    pub fn open_beneath(&self, path: impl AsRef<[u8]>) -> io::Result<File> {
        let path = match path.as_ref() {
            b"" => b".",
            path => path,
        };
        if self.has_openat2 {
            return self.open_at_once(path).map(File::from);
        }
        let mut at: Option<OwnedFd> = None;
        for step in path.split(|byte| *byte == b'/') {
            if step.is_empty() {
                continue;
            }
            if step == b".." {
                return Err(Errno::new(libc::EXDEV).into());
            }
            let folder = at.as_ref().map_or_else(|| self.handle.as_fd(), AsFd::as_fd);
            at = Some(openat(
                folder,
                step,
                READ | OFlags::NOFOLLOW,
                Mode::empty(),
            )?);
        }
        at.map(File::from)
            .ok_or_else(|| Errno::new(libc::ENOENT).into())
    }

    /// What lies in the folder that `path` names, as it stands there: a link is a link.
    pub fn entries(&self, path: impl AsRef<[u8]>) -> io::Result<Vec<(OsString, FileType)>> {
        let folder = self.open_beneath(path)?;
        // The handle by its own name: what is listed is what was opened, wherever it is now.
        std::fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))))
            .collect()
    }

    fn open_at_once(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(&self.handle, path, READ, Mode::empty(), stay)?)
    }
}

/// A file that lies in memory and has no name, with these bytes in it.
pub fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(folder: &Folder, path: &str) -> io::Result<String> {
        let mut text = String::new();
        folder.open_beneath(path)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn files_inside_are_opened_and_no_others() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let inside = tempfile::tempdir_in(outside.path()).unwrap();
        let root = inside.path();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a"), "a").unwrap();
        symlink("sub/a", root.join("within")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink(outside.path().join("secret"), root.join("absolute")).unwrap();
        symlink("loop", root.join("loop")).unwrap();

        let at_once = Folder::open(root).unwrap();
        let steps = Folder::open(root).unwrap().step_by_step();
        for folder in [&at_once, &steps] {
            assert_eq!(read(folder, "sub/a").unwrap(), "a");
            assert!(folder.open_beneath("").is_ok());
            for path in [
                "out",
                "up/secret",
                "absolute",
                "loop",
                "../secret",
                "/etc/passwd",
                "a\0",
            ] {
                let opened = read(folder, path);
                assert!(opened.is_err(), "{path:?}: {opened:?}");
            }
            let none = folder.open_beneath("none").unwrap_err();
            assert_eq!(none.kind(), io::ErrorKind::NotFound);
        }
        if at_once.has_openat2 {
            assert_eq!(read(&at_once, "within").unwrap(), "a");
        }
        assert!(read(&steps, "within").is_err());
    }

    #[test]
    fn a_folder_inside_tells_what_lies_in_it() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("www");
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        let name = OsString::from_vec(b"\xff".to_vec());
        std::fs::write(root.join("sub").join(&name), "a").unwrap();
        symlink("../..", root.join("sub/up")).unwrap();
        for folder in [
            Folder::open(&root).unwrap(),
            Folder::open(&root).unwrap().step_by_step(),
        ] {
            let mut names: Vec<_> = folder
                .entries("sub")
                .unwrap()
                .into_iter()
                .map(|(name, kind)| (name, kind.is_dir(), kind.is_symlink()))
                .collect();
            names.sort();
            let expected = [
                ("deep".into(), true, false),
                ("up".into(), false, true),
                (name.clone(), false, false),
            ];
            assert_eq!(names, expected);
            assert!(folder.entries("sub/up").is_err(), "it leads out");
            assert!(folder.entries("none").is_err());
            assert_eq!(folder.entries("").unwrap().len(), 1);
            assert!(folder.open_beneath(b"sub/\xff").is_ok());
        }
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Folder::open(file.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
