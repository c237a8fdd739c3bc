//! How full a file system is.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use model::Bytes;

/// The size of the file system that holds `path`, and what an ordinary user may still write to it.
pub fn space(path: &Path) -> io::Result<(Bytes, Bytes)> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut facts = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends in a zero byte and the struct is ours to be filled.
    if unsafe { libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the struct is filled.
    let facts = unsafe { facts.assume_init() };
    let bytes = |blocks: u64| Bytes::new(blocks.saturating_mul(facts.f_frsize));
    Ok((bytes(facts.f_blocks), bytes(facts.f_bavail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_larger_than_what_is_free_in_it() {
        let (size, free) = space(&std::env::temp_dir()).unwrap();
        assert!(size.count() > 0 && free <= size);
        assert!(space(Path::new("/nonexistent/path")).is_err());
    }
}
