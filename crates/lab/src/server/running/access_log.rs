//! What a server logs of its clients.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::net::IpAddr;
use std::path::Path;

use model::Bytes;

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

/// How many lines it has, and bytes; none where there is no such file, or too many.
///
/// What a server that does not append left of a log that was cut is a hole, which reads as zeros:
/// those are not counted.
pub(super) fn size(path: &Path) -> Option<(u64, Bytes)> {
    let log = File::open(path).ok()?;
    let metadata = log.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > BYTES_MAX {
        return None;
    }
    let mut log = log.take(BYTES_MAX);
    let mut buffer = vec![0; 64 << 10];
    let (mut lines, mut bytes) = (0, 0);
    loop {
        let read = match log.read(&mut buffer) {
            Ok(0) => return Some((lines, Bytes::new(bytes))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        let count = |wanted: &dyn Fn(u8) -> bool| {
            let such = buffer[..read].iter().filter(|byte| wanted(**byte));
            such.count() as u64
        };
        lines += count(&|byte| byte == b'\n');
        bytes += count(&|byte| byte != 0);
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
    skip_hole(&mut log)?;
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

/// Skips the zeros that a hole at the beginning reads as.
fn skip_hole(log: &mut impl io::BufRead) -> io::Result<()> {
    loop {
        let here = log.fill_buf()?;
        let zeros = here.iter().take_while(|byte| **byte == 0).count();
        let is_over = here.is_empty() || zeros < here.len();
        log.consume(zeros);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

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

    #[test]
    fn addresses_are_those_since_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"127.64.0.1 - -\n127.64.0.2 - -\n").unwrap();
        assert_eq!(addresses(&path), Some(2));
        // This one does not append: it goes on where it was, behind a hole.
        cut(&path);
        assert_eq!(addresses(&path), None);
        log.write_all(b"127.64.0.3 - -\n").unwrap();
        assert_eq!(addresses(&path), Some(1));
    }

    #[test]
    fn lines_and_bytes_are_those_since_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        assert_eq!(size(&path), None);
        assert_eq!(size(folder.path()), None, "no file");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"one\ntwo\n").unwrap();
        assert_eq!(size(&path), Some((2, Bytes::new(8))));
        // This one does not append: it goes on where it was, behind a hole.
        cut(&path);
        log.write_all(b"three\n").unwrap();
        assert_eq!(size(&path), Some((1, Bytes::new(6))));
    }
}
