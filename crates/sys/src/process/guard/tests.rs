use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;
use crate::process::{Confinement, Signal, start};

fn sleeper(leaf: Option<&Leaf>) -> Child {
    let mut command = Command::new("/bin/sleep");
    command.arg("1000").stdin(Stdio::null());
    let confinement = Confinement {
        leaf,
        ..Confinement::default()
    };
    start(&mut command, confinement).unwrap()
}

/// What the guard sees when we are gone: the end of the pipe. Its own end is waited for.
fn end_of_pipe(guard: Guard) {
    let pid = guard.pid;
    let guard = std::mem::ManuallyDrop::new(guard);
    // SAFETY: the guard is never dropped, so its descriptor is closed here and nowhere else.
    drop(unsafe { std::ptr::read(&raw const guard.notes) });
    family::wait_for(pid);
}

fn check_ended(leaf: Option<&Leaf>) {
    let mut child = sleeper(leaf);
    let guard = Guard::start().unwrap();
    guard.note(&child, leaf).unwrap();
    child.freeze(leaf).unwrap();
    end_of_pipe(guard);
    assert_eq!(child.wait(Duration::ZERO).unwrap().signal, Some(15));
}

#[test]
fn what_is_frozen_is_ended_when_we_are_gone() {
    check_ended(None);
    // Where no group can be made there is none to thaw.
    if let Ok(leaf) = Leaf::create(&|_| Ok(())) {
        check_ended(Some(&leaf));
    }
}

#[test]
fn one_that_does_not_want_to_leave_is_killed() {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "trap '' TERM; echo up; while :; do sleep 1000; done"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = start(&mut command, Confinement::default()).unwrap();
    let mut up = [0; 3];
    child.take_stdout().unwrap().read_exact(&mut up).unwrap();
    let guard = Guard::start().unwrap();
    guard.note(&child, None).unwrap();
    child.freeze(None).unwrap();
    end_of_pipe(guard);
    assert_eq!(child.wait(Duration::from_secs(20)).unwrap().signal, Some(9));
}

#[test]
fn what_was_forgotten_and_what_is_left_in_good_order_is_let_alone() {
    let (mut forgotten, mut noted) = (sleeper(None), sleeper(None));
    let guard = Guard::start().unwrap();
    for child in [&forgotten, &noted] {
        guard.note(child, None).unwrap();
    }
    guard.forget(forgotten.pid());
    // Dropped, not lost: nothing is ended for us.
    drop(guard);
    for child in [&mut forgotten, &mut noted] {
        assert!(child.ended().is_none());
    }
    let guard = Guard::start().unwrap();
    guard.note(&forgotten, None).unwrap();
    guard.forget(forgotten.pid());
    end_of_pipe(guard);
    assert!(forgotten.ended().is_none());
    for mut child in [forgotten, noted] {
        child.stop(Signal::Kill, Duration::from_secs(20), None);
    }
}

#[test]
fn a_path_that_fits_no_note_is_refused() {
    let guard = Guard::start().unwrap();
    assert!(guard.write(1, 1, &[b'x'; NOTE - PATH_AT]).is_err());
    let began = Instant::now();
    drop(guard);
    assert!(began.elapsed() < Duration::from_secs(60));
}
