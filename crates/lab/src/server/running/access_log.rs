//! What a server logs of its clients.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::net::IpAddr;
use std::path::Path;

/// More of a log is not read: nobody would know how many addresses the rest has.
const BYTES_MAX: u64 = 256 << 20;

/// Forgets what was logged so far: at 100,000 lines per second it would fill a disk within a long
/// experiment.
pub(super) fn cut(path: &Path) {
    if let Ok(log) = OpenOptions::new().write(true).open(path) {
        // A log that cannot be cut is a big file in a folder that is removed soon.
        let _kept = log.set_len(0);
    }
}

/// How many addresses of clients it has: each line begins with one. None where it has other lines,
/// none at all, or too many.
pub(super) fn addresses(path: &Path) -> Option<u64> {
    let log = File::open(path).ok()?;
    if log.metadata().ok()?.len() > BYTES_MAX {
        return None;
    }
    let found = read(BufReader::new(log.take(BYTES_MAX))).ok()?;
    let count = u64::try_from(found?.len()).ok()?;
    (count > 0).then_some(count)
}

fn read(mut log: impl io::BufRead) -> io::Result<Option<BTreeSet<IpAddr>>> {
    let mut found = BTreeSet::new();
    let mut line = Vec::new();
    while log.read_until(b'\n', &mut line)? > 0 {
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let word = std::str::from_utf8(word).ok();
        let Some(address) = word.and_then(|word| word.parse().ok()) else {
            return Ok(None);
        };
        found.insert(address);
        line.clear();
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        assert_eq!(addresses(&path), None);
        let check = |text: &str, expected: Option<u64>| {
            std::fs::write(&path, text).unwrap();
            assert_eq!(addresses(&path), expected, "{text}");
        };
        check("", None);
        check(
            "127.64.0.1 - - [x] \"GET / HTTP/1.1\" 200 7\n127.64.0.2 - -\n127.64.0.1 - -\n::1 -\n",
            Some(3),
        );
        // Whoever writes other lines is not understood.
        check("127.64.0.1 - -\nGET /\n", None);
        cut(&path);
        assert_eq!(addresses(&path), None);
    }
}
