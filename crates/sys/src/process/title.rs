//! The command line of this process, as every user of the machine sees it in the list of processes.
//!
//! It lies in memory of this process, which the kernel shows in `/proc/PID/cmdline`. It is written
//! by way of `/proc/self/mem`, so that no pointer is needed.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Fields of `/proc/PID/stat` after the name, in which `arg_start` and `arg_end` are the 48th and
/// 49th of all (proc(5)).
const ARG_START: usize = 48 - 3;

/// Writes asterisks over parts of words of the command line: each a word, counted from the name of
/// the program, and bytes of it. What stood there before has been seen by whoever looked.
pub fn hide(parts: &[(usize, Range<usize>)]) -> io::Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    let strange = || io::Error::other("/proc/self/stat does not tell where the command line lies");
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or_else(strange)?;
    let mut fields = fields.split_whitespace().skip(ARG_START);
    let mut address = || fields.next()?.parse::<u64>().ok();
    let (Some(start), Some(end)) = (address(), address()) else {
        return Err(strange());
    };
    let length = usize::try_from(end.saturating_sub(start)).map_err(|_| strange())?;
    let memory = File::options()
        .read(true)
        .write(true)
        .open("/proc/self/mem")?;
    let mut line = vec![0; length];
    memory.read_exact_at(&mut line, start)?;
    for (word, part) in parts {
        let mut at = 0;
        for before in line.split(|byte| *byte == 0).take(*word) {
            at += before.len() + 1;
        }
        let whole = line[at.min(length)..].split(|byte| *byte == 0).next();
        if part.end > whole.map_or(0, <[u8]>::len) {
            return Err(io::Error::other("the command line is not what it was"));
        }
        let stars = vec![b'*'; part.len()];
        memory.write_all_at(&stars, start + (at + part.start) as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_word_is_hidden_from_the_list_of_processes() {
        let shown = || fs::read("/proc/self/cmdline").unwrap();
        let before = shown();
        let length = before.iter().position(|byte| *byte == 0).unwrap();
        hide(&[(0, length - 2..length)]).unwrap();
        let mut expected = before;
        expected[length - 2..length].copy_from_slice(b"**");
        assert_eq!(shown(), expected);
        let program = std::env::args_os().next().unwrap();
        assert_eq!(program.as_encoded_bytes(), &expected[..length]);
        assert!(hide(&[(0, 0..length + 1)]).is_err(), "beyond the word");
        assert!(hide(&[(10_000, 0..1)]).is_err(), "no such word");
        assert_eq!(shown(), expected);
    }
}
