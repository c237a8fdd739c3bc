//! The kernel's log, read without waiting for more of it.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// A bound on what is read: the kernel's ring holds fewer.
const RECORDS_MAX: usize = 100_000;

/// The messages of the log at `path` (`/dev/kmsg`), oldest first, without their prefixes.
pub fn messages(path: &Path) -> io::Result<Vec<String>> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let mut messages = Vec::new();
    let mut record = vec![0_u8; 8192];
    for _ in 0..RECORDS_MAX {
        match file.read(&mut record) {
            // A file in the device's place comes to an end; it may hold several records.
            Ok(0) => break,
            Ok(length) => {
                let text = String::from_utf8_lossy(&record[..length]);
                messages.extend(text.lines().filter_map(message));
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => break,
                // EPIPE: the record was overwritten before we came to it; the next one is there.
                io::ErrorKind::BrokenPipe => {}
                _ => return Err(error),
            },
        }
    }
    Ok(messages)
}

/// The text after `priority,sequence,time,flags;`. Lines of further facts begin with a blank.
fn message(line: &str) -> Option<String> {
    if line.starts_with(' ') {
        return None;
    }
    line.split_once(';').map(|(_, text)| text.to_owned())
}

#[cfg(test)]
mod tests;
