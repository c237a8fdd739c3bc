use std::process::{Command, Stdio};

use super::*;
use crate::process::{Confinement, start};

/// A shell that counts, with a child that counts too: neither ever waits.
fn busy(leaf: Option<&Leaf>) -> Child {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "(while :; do :; done) & while :; do :; done"])
        .stdin(Stdio::null());
    let confinement = Confinement {
        leaf,
        ..Confinement::default()
    };
    start(&mut command, confinement).unwrap()
}

/// CPU time of both of them; waits until there are two.
fn spent(child: &mut Child, leaf: Option<&Leaf>) -> u64 {
    loop {
        let family = child.family(leaf);
        if family.len() == 2 {
            let stats = family
                .iter()
                .map(|&pid| reading::stat(Path::new("/proc"), pid).unwrap());
            return stats.map(|stat| (stat.user + stat.system).as_ns()).sum();
        }
    }
}

fn check(leaf: Option<&Leaf>, how: Freezing) {
    let mut child = busy(leaf);
    spent(&mut child, leaf);
    assert_eq!(child.freeze(leaf).unwrap(), how);
    let before = spent(&mut child, leaf);
    let own = || crate::clock::thread_cpu().unwrap();
    let began = own();
    // We work for as long as they would need to be seen, if they ran.
    while own().saturating_sub(began) < model::Span::from_ms(50) {}
    assert_eq!(spent(&mut child, leaf), before, "they stand still");
    child.thaw(leaf);
    // It never comes to an end if they do not run again.
    while spent(&mut child, leaf) == before {}
    // One that stands still is ended all the same, and at once.
    child.freeze(leaf).unwrap();
    let ended = child.stop(Signal::Terminate, Duration::from_secs(60), leaf);
    assert_eq!(ended.signal, Some(15), "{ended:?}");
    assert!(child.family(leaf).is_empty());
}

#[test]
fn who_is_frozen_by_signals_uses_no_cpu_and_goes_on_where_it_was() {
    check(None, Freezing::Signals);
}

#[test]
fn who_is_frozen_by_the_control_group_uses_no_cpu_and_goes_on_where_it_was() {
    match Leaf::create(&|_| Ok(())) {
        Ok(leaf) if leaf.freezer().is_some_and(|path| path.is_file()) => {
            check(Some(&leaf), Freezing::Cgroup);
        }
        Ok(leaf) => check(Some(&leaf), Freezing::Signals),
        // Where no group can be made, signals are what there is.
        Err(_) => check(None, Freezing::Signals),
    }
}
