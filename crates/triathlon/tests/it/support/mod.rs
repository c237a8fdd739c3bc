//! What the tests share: running the program within bounds, free ports, other people's servers,
//! and servers that misbehave on purpose.

pub(crate) mod nginx;
pub(crate) mod plan;
pub(crate) mod process;
pub(crate) mod stub;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sys::socket;

/// Nothing in these tests may take longer, on a busy machine either; what does has hung.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// An address of loopback where nobody listens, kept from everyone else while this lives: tests
/// run side by side, and each of them makes hundreds of connections.
pub(crate) struct Reserved {
    pub(crate) address: SocketAddr,
    _kept: OwnedFd,
}

/// Reserves a port of 127.0.0.1.
pub(crate) fn reserve() -> Reserved {
    keep(socket::reserve((Ipv4Addr::LOCALHOST, 0).into()))
}

/// Reserves one at which a server of HTTP/3 receives datagrams, too.
pub(crate) fn reserve_apart() -> Reserved {
    keep(socket::reserve_apart(Ipv4Addr::LOCALHOST.into()))
}

fn keep(kept: std::io::Result<OwnedFd>) -> Reserved {
    let kept = kept.expect("loopback has a free port");
    let address = socket::local_address(&kept).expect("it is bound");
    Reserved {
        address,
        _kept: kept,
    }
}

/// Waits for `ready`, looking often, for at most [`LIMIT`].
pub(crate) fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < LIMIT, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether tests that take seconds or need other programs are wanted.
pub(crate) fn slow() -> bool {
    std::env::var_os("TRIATHLON_SLOW_TESTS").is_some_and(|value| value == "1")
}

/// Tells that test `name` was not run, and why.
pub(crate) fn not_run(name: &str, why: &str) {
    eprintln!("not run, because {why}: {name}");
    if let Some(path) = std::env::var_os("TRIATHLON_NOT_RUN") {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("the list of tests not run can be written");
        writeln!(file, "{why}: {name}").expect("the list of tests not run can be written");
    }
}

/// Where a program is: in PATH, or where Debian keeps servers.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// The programs that slow test `name` needs, in order; none if it is not to run here.
pub(crate) fn need<const N: usize>(name: &str, programs: [&str; N]) -> Option<[PathBuf; N]> {
    if !slow() {
        eprintln!("not run, because TRIATHLON_SLOW_TESTS is not 1: {name}");
        return None;
    }
    let mut found = [const { PathBuf::new() }; N];
    for (place, program) in found.iter_mut().zip(programs) {
        let Some(path) = find(program) else {
            not_run(name, &format!("{program} is not installed"));
            return None;
        };
        *place = path;
    }
    Some(found)
}

/// Where `cargo xtask test` puts packages of Python.
const PYTHON_PACKAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/strangers");

/// Python with `packages`, for slow test `name`, which adds the program's text as an argument; none
/// if that is not to run here.
pub(crate) fn needs_python<const N: usize>(name: &str, packages: [&str; N]) -> Option<Command> {
    let [python] = need(name, ["python3"])?;
    for package in packages {
        if !Path::new(PYTHON_PACKAGES).join(package).is_dir() {
            not_run(name, &format!("{package} is not installed"));
            return None;
        }
    }
    let mut command = Command::new(python);
    command.env("PYTHONPATH", PYTHON_PACKAGES).arg("-c");
    Some(command)
}

/// A shell in a mount namespace of its own that runs `script` with the arguments
/// added later as `$1` and so on; none where the system does not permit it.
pub(crate) fn isolated(name: &str, script: &str) -> Option<Command> {
    unshared(name, &["--mount"], script)
}

/// The same with a network and processes of its own, which end with it.
pub(crate) fn alone(name: &str, script: &str) -> Option<Command> {
    let spaces = [
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    unshared(name, &spaces, script)
}

fn unshared(name: &str, spaces: &[&str], script: &str) -> Option<Command> {
    for user in [&[][..], &["--user", "--map-root-user"]] {
        let with = |tail: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(user).args(spaces).args(tail);
            command
        };
        let probe = with(&["true"]).stderr(Stdio::null()).status();
        if probe.is_ok_and(|status| status.success()) {
            let mut command = with(&["sh", "-c", script, "sh"]);
            command.stdin(Stdio::null());
            return Some(command);
        }
    }
    not_run(name, "namespaces are not permitted");
    None
}
