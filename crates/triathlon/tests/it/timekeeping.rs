//! What a trial says of a clock that a real chronyd keeps, beside what chronyc says itself.
//!
//! chronyd runs with `-x`, so that it sets no clock. It stands in namespaces of its own, where
//! `/run` is empty, processes are those of the test, and loopback is no one else's. So it and
//! chronyc find each other where they do by default.

use std::path::{Path, PathBuf};

use model::Trial;
use model::environment::{Chrony, TimeSource};

use crate::support::process::{Running, program};
use crate::support::{alone, find, need, not_run};

/// `$1` is this program, `$2` the configuration of the chronyd that is asked, and `$3` what is done
/// once it answers. It prints what chronyc says, a trial, and what chronyc says then.
const SCRIPT: &str = r#"
set -e
ip link set lo up
mount -t tmpfs none /run
mkdir -m 750 /run/chrony /run/source
mkdir /run/site
echo seven > /run/site/file
cat > /run/source/conf << END
local stratum 8
allow 127.0.0.0/8
cmdport 0
bindcmdaddress /
pidfile /run/source/pid
END
printf "$2" > /run/conf
chronyd -x -d -u root -f /run/source/conf >&2 &
chronyd -x -d -u root -f /run/conf >&2 &
"$1" serve /run/site --listen 127.0.0.1:8080 >&2 &
until chronyc -n tracking > /run/said 2>&1; do sleep 0.05; done
$3 >&2
chronyc -n -c tracking
until [ -s /run/trial ]; do
    "$1" load http://127.0.0.1:8080/file -t 1 -c 1 -n 1 --json /run/trial >&2 || sleep 0.05
done
cat /run/trial
chronyc -n -c tracking
"#;

/// Where Debian's package lies that is not installed: its folders of programs.
const UNPACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/unpacked/chrony");

/// The folders of chronyd and chronyc.
fn folders() -> Option<[PathBuf; 2]> {
    let folder = |name: &str, at: &str| {
        let unpacked = Path::new(UNPACKED).join(at).join(name);
        let found = find(name).or_else(|| unpacked.is_file().then_some(unpacked))?;
        found.parent().map(Path::to_owned)
    };
    Some([
        folder("chronyd", "usr/sbin")?,
        folder("chronyc", "usr/bin")?,
    ])
}

/// What chronyc says in a line: stratum, how far the clock is ahead, root delay, root dispersion.
fn said(line: &str) -> (u32, [i64; 3]) {
    let fields: Vec<&str> = line.split(',').collect();
    assert_eq!(fields.len(), 14, "{line}");
    // Seconds with nine digits after the point.
    let ns = |place: usize| {
        let digits = fields[place].replace('.', "");
        digits.parse::<i64>().expect("it is a number")
    };
    let stratum = fields[2].parse().expect("it is a number");
    (stratum, [-ns(4), ns(10), ns(11)])
}

/// Holds what a trial says against what chronyc said before and after.
fn check(name: &str, configuration: &str, then: &str, source: Option<TimeSource>, stratum: u32) {
    let Some([_, _]) = need(name, ["unshare", "ip"]) else {
        return;
    };
    let Some(folders) = folders() else {
        return not_run(name, "chrony is not unpacked");
    };
    if sys::clock::discipline().is_err() {
        return not_run(name, "nobody may ask here how the clock is kept");
    }
    let Some(mut shell) = alone(name, SCRIPT) else {
        return;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = folders.into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).expect("no colon in a folder's name");
    shell.env("PATH", path);
    shell.args([program(), configuration, then]);
    let run = Running::start(&mut shell).finish().expect_code(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let [before, trial, after] = lines[..] else {
        panic!("three lines: {run:#?}");
    };
    let trial: Trial = serde_json::from_str(trial).expect("a trial");
    let kept = trial.environment.timekeeping.expect("it is known");
    assert_eq!(kept.kept_by, ["chronyd"], "nobody else is there");
    let Some(told) = kept.chrony else {
        panic!("it was asked: {run:#?}");
    };
    let told_by = (told.source, told.stratum);
    assert_eq!(told_by, (source, stratum), "{before} {after}");
    let Chrony {
        offset_ns,
        root_delay,
        root_dispersion,
        ..
    } = told;
    let ns = |span: model::Span| i64::try_from(span.as_ns()).expect("less than 292 years");
    let told = [offset_ns, ns(root_delay), ns(root_dispersion)];
    let (before, after) = (said(before), said(after));
    assert_eq!((before.0, after.0), (stratum, stratum));
    for ((told, one), other) in told.into_iter().zip(before.1).zip(after.1) {
        let between = one.min(other)..=one.max(other);
        assert!(between.contains(&told), "{told} in {between:?}");
    }
}

/// Its source is taken from it, so that nothing but time changes what it says.
#[test]
fn a_clock_that_follows_a_server_is_told_as_chronyc_tells_it() {
    check(
        "a_clock_that_follows_a_server_is_told_as_chronyc_tells_it",
        "server 127.0.0.1 iburst minpoll -6 maxpoll -6\nport 0\n",
        "eval chronyc waitsync 600 0 0 0.1 && chronyc offline",
        Some(TimeSource::Network),
        9,
    );
}

#[test]
fn a_clock_that_is_its_own_reference_is_told_as_chronyc_tells_it() {
    check(
        "a_clock_that_is_its_own_reference_is_told_as_chronyc_tells_it",
        "local stratum 5\nport 0\n",
        "true",
        Some(TimeSource::Own),
        5,
    );
}

#[test]
fn a_clock_that_follows_nobody_yet_is_told_as_chronyc_tells_it() {
    check(
        "a_clock_that_follows_nobody_yet_is_told_as_chronyc_tells_it",
        "port 0\n",
        "true",
        None,
        0,
    );
}
