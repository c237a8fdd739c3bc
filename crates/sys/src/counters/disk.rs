//! How full a file system is.

use std::io;
use std::path::Path;

use model::Bytes;

/// The size of the file system that holds `path`, and what an ordinary user may still write to it.
pub fn space(path: &Path) -> io::Result<(Bytes, Bytes)> {
    let facts = rustix::fs::statvfs(path)?;
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
