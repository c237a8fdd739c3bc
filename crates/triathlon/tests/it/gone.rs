//! Whoever watched has gone: standard error or standard output is closed, the terminal hangs up.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::process::{MEASURED, Run, Running, command, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::wait_until;

fn right() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

/// A pipe that nobody reads: writing to it fails.
fn unread() -> Stdio {
    let (_, writer) = io::pipe().expect("a pipe");
    writer.into()
}

/// The exit code of the program where nobody reads its standard error, or its standard output.
fn code_without(stream: &str, arguments: &[&str]) -> Option<i32> {
    let mut command = command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match stream {
        "stderr" => command.stderr(unread()),
        _ => command.stdout(unread()),
    };
    let mut child = command.spawn().expect("the program starts");
    let mut status = None;
    wait_until("it ends", || {
        status = child.try_wait().expect("a child can be asked");
        status.is_some()
    });
    status.and_then(|status| status.code())
}

/// Overrides for the shortest lab there is, on origin alone.
const LAB: [&str; 12] = [
    "lab",
    "--no-lock",
    "first-heat",
    "server=origin",
    "rounds=1",
    "repeats=0",
    "calm=0s",
    "connections=[1]",
    "duration=100ms",
    "warmup=20ms",
    "--hiccups",
    "0s",
];

#[test]
fn a_closed_standard_error_loses_progress_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let server = right();
    let url = server.url();
    let probe = ["probe", "socket", "--population", "10", "--passes", "1"];
    let json = folder.path().join("trial.json").display().to_string();
    let load = ["load", &url, "-n", "50", "-t", "1", "--warmup", "0s"];
    for (expected, arguments) in [
        (MEASURED, [&LAB[..], &["--results", &results]].concat()),
        (&[0], [&probe[..], &["--results", &results]].concat()),
        (MEASURED, [&load[..], &["--json", &json]].concat()),
        (&[1], vec!["report", "/no/such/folder"]),
        (&[1], vec!["doctor", "--sysctl", "/no/such/file"]),
        (&[1], vec!["serve", "/no/such/folder"]),
        (&[2], vec!["lab", "no-such-experiment"]),
        (&[2], vec!["load", "--no-such-flag"]),
    ] {
        let code = code_without("stderr", &arguments).expect("an exit code");
        assert!(expected.contains(&code), "{code} of {arguments:?}");
    }
    assert!(fs::metadata(&json).is_ok_and(|meta| meta.len() > 0));
    let page = page_below(&folder.path().join("first-heat"));
    assert!(page.contains("</html>"));
    // One that holds several executions tells which it reports.
    triathlon([&LAB[..], &["--results", &results]].concat()).expect_measured();
    let executions = format!("{results}/first-heat");
    assert_eq!(code_without("stderr", &["report", &executions]), Some(0));
}

#[test]
fn a_server_ends_in_good_order_though_nobody_reads_its_standard_error() {
    let mut command = command(["serve", ".", "--listen", "127.0.0.1:0"]);
    let (reader, writer) = io::pipe().expect("a pipe");
    let mut child = command
        .stdout(writer)
        .stderr(unread())
        .spawn()
        .expect("the program starts");
    drop(command);
    let mut line = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(reader), &mut line).expect("a line");
    assert!(line.starts_with("listening on http://"), "{line}");
    let kill = format!("kill -s TERM {}", child.id());
    Command::new("sh").args(["-c", &kill]).status().expect("sh");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_closed_standard_output_is_an_error_and_what_was_measured_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let server = right();
    let url = server.url();
    let json = folder.path().join("trial.json").display().to_string();
    let load = ["load", &url, "-n", "50", "-t", "1", "--warmup", "0s"];
    let lab = [&LAB[..], &["--results", &results]].concat();
    assert_eq!(code_without("stdout", &lab), Some(1));
    let page = page_below(&folder.path().join("first-heat"));
    assert!(page.contains("</html>"));
    let load = [&load[..], &["--json", &json]].concat();
    assert_eq!(code_without("stdout", &load), Some(1));
    assert!(fs::metadata(&json).is_ok_and(|meta| meta.len() > 0));
    for arguments in [
        vec!["--help"],
        vec!["lab", "--list"],
        vec!["probe", "--list"],
        vec!["judge", &json],
        vec!["doctor", "--hiccups", "0s"],
        vec!["serve", ".", "--listen", "127.0.0.1:0"],
    ] {
        let code = code_without("stdout", &arguments);
        assert_eq!(code, Some(1), "{arguments:?}");
    }
}

/// As `triathlon lab --keys | head` shows it.
#[test]
fn whoever_reads_a_part_of_the_result_hears_no_error() {
    let said = |arguments: &[&str], stdout: Stdio| {
        let output = command(arguments).stdout(stdout).output();
        let output = output.expect("the program starts");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for arguments in [&["lab", "--keys"][..], &["lab", "--list", "servers"]] {
        assert_eq!(said(arguments, unread()), "", "{arguments:?}");
    }
    // One that is full is an error, and a server that cannot tell its address says why.
    let full = fs::File::options().write(true).open("/dev/full");
    let told = said(&["lab", "--keys"], full.expect("/dev/full").into());
    assert!(told.contains("No space left on device"), "{told}");
    let told = said(&["serve", ".", "--listen", "127.0.0.1:0"], unread());
    assert!(told.contains("Broken pipe"), "{told}");
}

/// The page of the only execution below `folder`.
fn page_below(folder: &Path) -> String {
    let mut entries = fs::read_dir(folder).expect("a readable folder");
    let only = entries.next().expect("an execution").expect("an entry");
    assert!(entries.next().is_none());
    fs::read_to_string(only.path().join("report.html")).expect("a report")
}

/// Loads `server` until it is told to end.
fn endless(url: &str) -> [&str; 12] {
    let head = ["load", url, "-c", "2", "-t", "1"];
    let tail = ["-d", "10m", "--warmup", "0s", "-R", "200"];
    let mut words = [""; 12];
    words[..6].copy_from_slice(&head);
    words[6..].copy_from_slice(&tail);
    words
}

/// The program as a terminal starts it: it hears SIGHUP, whoever started these tests.
fn at_a_terminal(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new("env");
    command
        .arg("--default-signal=HUP")
        .arg(crate::support::process::program())
        .args(words)
        .stdin(Stdio::null());
    command
}

#[test]
fn a_terminal_that_hangs_up_interrupts_a_load() {
    let server = right();
    let running = Running::start(&mut at_a_terminal(&endless(&server.url())));
    wait_until("something was measured", || server.requests() > 50);
    running.signal("HUP");
    // By the shell and by the kernel: one order.
    running.signal("HUP");
    let run = running.finish().expect_code(130);
    assert!(
        run.stdout.to_lowercase().contains("interrupted"),
        "{run:#?}"
    );
}

#[test]
fn a_load_under_nohup_goes_on_when_the_terminal_hangs_up() {
    let server = right();
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(crate::support::process::program())
        .args(endless(&server.url()))
        .stdin(Stdio::null());
    let running = Running::start(&mut command);
    wait_until("something was measured", || server.requests() > 50);
    running.signal("HUP");
    let then = server.requests();
    wait_until("it goes on", || server.requests() > then + 100);
    running.signal("INT");
    running.finish().expect_code(130);
}

#[test]
fn a_terminal_that_hangs_up_interrupts_a_lab_which_writes_its_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let words = [&LAB[..], &["rounds=500", "--results", &results]].concat();
    let mut running = Running::start(&mut at_a_terminal(&words));
    let trials = || -> Vec<_> {
        let executions = fs::read_dir(folder.path().join("first-heat"));
        executions
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|entry| {
                fs::read_dir(entry.path().join("trials"))
                    .into_iter()
                    .flatten()
            })
            .collect()
    };
    wait_until("one round of two trials beside its ceilings", || {
        assert!(!running.ended(), "{}", running.stderr());
        trials().len() > 4
    });
    running.signal("HUP");
    let run: Run =
        running
            .finish()
            .expect_code(130)
            .expect_complaint(&["interrupted", "kept in", "--resume"]);
    let page = page_below(&folder.path().join("first-heat"));
    assert!(page.contains("</html>"), "{run:#?}");
}

#[test]
fn a_second_signal_ends_the_program_whatever_it_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let watching = LAB.map(|word| if word == "0s" { "10m" } else { word });
    let words = [&watching[..], &["--results", &results]].concat();
    for signal in ["INT", "TERM"] {
        let mut running = Running::start(&mut command(&words));
        wait_until("it is busy", || {
            assert!(!running.ended(), "{}", running.stderr());
            running.stderr().contains("watching the CPUs")
        });
        wait_until("it has ended", || {
            running.signal(signal);
            running.ended()
        });
        running.finish().expect_code(130);
    }
}
