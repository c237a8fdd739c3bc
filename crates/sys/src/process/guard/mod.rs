//! A process that does nothing but wait for our end, and then ends what we froze.
//!
//! A child that is told to leave when its parent dies does not leave while it stands still. So a
//! process of ours outlives us for a moment, however we end: it lets every tree that we noted run
//! again, so that each takes its leave, and kills what is left a little later.
//!
//! It is forked, not started: between fork and its end it makes async-signal-safe calls only and
//! does not allocate. It holds none of our descriptors, so nobody takes it for us.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use super::{Child, Leaf, check, family};
use crate::errno::Errno;

/// As many trees as can be noted at a time.
const NOTES: usize = 128;
/// A note: 4 bytes of a pid, 1 whether it is new or gone, the path of a freezer, zeros. Less than
/// `PIPE_BUF`, so it is read whole.
const NOTE: usize = 512;
const PATH_AT: usize = 5;
/// How long those who may run again may take to leave by themselves.
const PATIENCE_MS: u32 = 2_000;

/// A process that ends what is noted with it when we are gone.
#[derive(Debug)]
pub struct Guard {
    notes: File,
    pid: u32,
}

impl Guard {
    /// Forks it.
    pub fn start() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: pipe2 fills two descriptors.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
        let [reading, writing] = ends;
        // SAFETY: the descriptor is new and nobody else's.
        let reading = unsafe { OwnedFd::from_raw_fd(reading) };
        // SAFETY: this one is new, too.
        let writing = unsafe { OwnedFd::from_raw_fd(writing) };
        let input = reading.as_raw_fd();
        let pid = family::fork(|| watch(input))?;
        drop(reading);
        Ok(Self {
            notes: File::from(writing),
            pid,
        })
    }

    /// Its process id.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Has `child` ended when we are gone, and its control group thawed.
    pub fn note(&self, child: &Child, leaf: Option<&Leaf>) -> io::Result<()> {
        let freezer = leaf.and_then(Leaf::freezer);
        let path = freezer
            .as_deref()
            .map_or(&[][..], |path| path.as_os_str().as_bytes());
        self.write(child.pid(), 1, path)
    }

    /// Forgets a child that has been ended: its pid may be another's soon.
    pub fn forget(&self, pid: u32) {
        // Without a guard there is nobody who would have to forget.
        let _gone = self.write(pid, 0, &[]);
    }

    fn write(&self, pid: u32, is_new: u8, path: &[u8]) -> io::Result<()> {
        let mut note = [0; NOTE];
        note[..4].copy_from_slice(&pid.to_ne_bytes());
        note[4] = is_new;
        let place = note
            .get_mut(PATH_AT..PATH_AT + path.len())
            .filter(|place| place.len() < NOTE - PATH_AT)
            .ok_or(io::ErrorKind::InvalidFilename)?;
        place.copy_from_slice(path);
        (&self.notes).write_all(&note)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // An empty note is the order to leave: the pipe alone would keep it if another child of
        // ours, forked in the same moment, held the other end.
        let _gone = self.write(0, 0, &[]);
        family::wait_for(self.pid);
    }
}

/// The life of the guard.
fn watch(input: libc::c_int) {
    leave_the_parent(input);
    let mut notes = [[0_u8; NOTE]; NOTES];
    loop {
        let mut note = [0_u8; NOTE];
        // SAFETY: the buffer is live and as long as said.
        let got = unsafe { libc::read(0, note.as_mut_ptr().cast(), NOTE) };
        if got == -1 && Errno::last().number() == libc::EINTR {
            continue;
        }
        if usize::try_from(got) != Ok(NOTE) {
            break;
        }
        let pid = pid_of(&note);
        if pid == 0 {
            return;
        }
        let wanted = if note[4] == 1 { 0 } else { pid };
        if let Some(place) = notes.iter_mut().find(|place| pid_of(place) == wanted) {
            *place = if note[4] == 1 { note } else { [0; NOTE] };
        }
    }
    end(&notes);
}

/// A session of its own, no signal that could end it early, and no descriptor but the pipe.
fn leave_the_parent(input: libc::c_int) {
    // SAFETY: a signal set is plain data, for which all zero is a value.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is live.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: the set is live, and the old one is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
    // SAFETY: setsid takes nothing.
    unsafe { libc::setsid() };
    // SAFETY: dup2 takes numbers; what was standard input is a copy of the parent's.
    unsafe { libc::dup2(input, 0) };
    // SAFETY: all others are copies of the parent's, and nothing here uses them.
    unsafe { libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0) };
}

/// Our parent is gone: lets all run, waits, kills.
fn end(notes: &[[u8; NOTE]; NOTES]) {
    for_each(notes, |pid, freezer| {
        write(freezer, b"0\n");
        signal(pid, libc::SIGTERM);
        signal(pid, libc::SIGCONT);
    });
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    for _ in 0..PATIENCE_MS / 10 {
        let mut are_left = false;
        // Signal 0 asks whether anybody is there.
        for_each(notes, |pid, _| are_left |= signal(pid, 0));
        if !are_left {
            return;
        }
        // SAFETY: the time is live, and what is left of it is not asked for.
        unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
    }
    for_each(notes, |pid, freezer| {
        if let Some(killer) = killer(freezer) {
            write(&killer, b"1\n");
        }
        signal(pid, libc::SIGKILL);
    });
}

/// Sends a signal to the process group of a first process; whether there is anybody in it.
fn signal(pid: libc::pid_t, number: libc::c_int) -> bool {
    // SAFETY: kill takes numbers.
    (unsafe { libc::kill(-pid, number) }) == 0
}

/// Writes to the file whose path stands before the first zero; to none where that is empty.
fn write(path: &[u8], text: &[u8]) {
    if path.first().is_none_or(|byte| *byte == 0) || !path.contains(&0) {
        return;
    }
    // SAFETY: the path ends with a zero, as was looked for.
    let file = unsafe { libc::open(path.as_ptr().cast(), libc::O_WRONLY) };
    // SAFETY: the text is live and as long as said; a descriptor that is none is refused.
    unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    // SAFETY: the descriptor is ours, or none.
    unsafe { libc::close(file) };
}

fn for_each(notes: &[[u8; NOTE]; NOTES], mut act: impl FnMut(libc::pid_t, &[u8])) {
    for note in notes {
        let pid = pid_of(note);
        if pid > 1 {
            act(pid, &note[PATH_AT..]);
        }
    }
}

/// The path of the file that kills a control group, beside that which freezes it.
fn killer(freezer: &[u8]) -> Option<[u8; NOTE]> {
    const NAME: &[u8] = b"kill";
    let length = freezer.iter().position(|byte| *byte == 0)?;
    let folder = freezer[..length].strip_suffix(b"freeze")?;
    let mut path = [0; NOTE];
    path[..folder.len()].copy_from_slice(folder);
    path[folder.len()..folder.len() + NAME.len()].copy_from_slice(NAME);
    Some(path)
}

fn pid_of(note: &[u8; NOTE]) -> libc::pid_t {
    libc::pid_t::from_ne_bytes([note[0], note[1], note[2], note[3]])
}

#[cfg(test)]
mod tests;
