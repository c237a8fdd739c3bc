//! Who came to us as an orphan, and of whom.
//!
//! A program that puts itself into the background leaves its session, and its first process ends.
//! What remains of it has no parent but the nearest subreaper, which is us. Nothing in it says from
//! whom it descends. It is told by exclusion: it is our child, we did not start it, it is neither
//! of our own session nor of one of our children's, and it began after the child that claims it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Then, look};
use crate::counters::process as reading;
use crate::errno::Errno;

/// Children that we started and have not reaped.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child that is never taken for an orphan.
pub(super) fn enter(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    // Held from before the start, so that nobody sees a child that is not in the list.
    let mut started = started();
    let child = spawn()?;
    started.insert(child.id());
    Ok(child)
}

/// Forks a child that runs `life` and is never taken for an orphan. `life` makes
/// async-signal-safe calls only, and does not allocate: other threads may have held any lock.
pub(super) fn fork(life: impl FnOnce()) -> io::Result<u32> {
    let mut started = started();
    // SAFETY: fork takes nothing; what the child does is up to `life`, as said above.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        life();
        // SAFETY: _exit takes a number, and runs nothing of ours.
        unsafe { libc::_exit(0) }
    }
    let pid = u32::try_from(pid).map_err(|_| io::Error::last_os_error())?;
    started.insert(pid);
    Ok(pid)
}

/// Waits for a child that is about to end, and reaps it.
pub(super) fn wait_for(pid: u32) {
    let pid_t = libc::pid_t::try_from(pid).expect("it was a pid of the kernel's");
    let mut status = 0;
    // SAFETY: the status is live. A signal that interrupts the call is no answer.
    while unsafe { libc::waitpid(pid_t, &raw mut status, 0) } == -1
        && Errno::last().number() == libc::EINTR
    {}
    started().remove(&pid);
}

/// Reaps a child that has ended; false if that is not possible.
pub(super) fn leave(pid: u32) -> bool {
    let mut started = started();
    let reaped = look(pid, Then::Reap).is_ok_and(|ended| ended.is_some());
    if reaped {
        started.remove(&pid);
    }
    reaped
}

/// Orphans that began at `since` (in ticks after boot) or later. Those that have ended are reaped.
pub(super) fn orphans(since: u64) -> Vec<u32> {
    let root = Path::new("/proc");
    let own = std::process::id();
    let Ok(ourselves) = reading::stat(root, own) else {
        return Vec::new();
    };
    let started = started();
    let is_orphan = |stat: &reading::Stat| {
        stat.parent == own
            && stat.session != ourselves.session
            && stat.start_time >= since
            && !started.contains(&stat.pid)
            && !started.contains(&stat.session)
    };
    let mut found = Vec::new();
    for stat in reading::all(root)
        .into_iter()
        .filter_map(|pid| reading::stat(root, pid).ok())
        .filter(is_orphan)
    {
        if stat.state == 'Z' {
            let _reaped = look(stat.pid, Then::Reap);
        } else {
            found.push(stat.pid);
        }
    }
    found
}
