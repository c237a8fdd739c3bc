use std::io::Read as _;
use std::process::Stdio;

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_child_has_its_own_session_and_its_cpus() {
    let mut command = shell("cat /proc/self/stat; grep Cpus_allowed_list /proc/self/status");
    command.stdout(Stdio::piped());
    let mut child = start(
        &mut command,
        Confinement {
            cpus: &[0],
            ..Confinement::default()
        },
    )
    .unwrap();
    let mut text = String::new();
    child
        .take_stdout()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait(LONG).unwrap().is_success());
    let mut lines = text.lines();
    let stat = reading::parse_stat(lines.next().unwrap()).unwrap();
    assert_eq!((stat.session, stat.group), (child.pid(), child.pid()));
    assert_eq!(lines.next().unwrap().split_whitespace().last(), Some("0"));
}

#[test]
fn how_a_child_ended_is_told() {
    let check = |script: &str, code, signal| {
        let ended = start(&mut shell(script), Confinement::default())
            .unwrap()
            .wait(LONG)
            .unwrap();
        assert_eq!((ended.code, ended.signal), (code, signal), "{script}");
    };
    check("exit 0", Some(0), None);
    check("exit 7", Some(7), None);
    check("kill -9 $$", None, Some(9));
}

#[test]
fn a_child_that_ignores_the_signal_is_killed_with_its_own_children() {
    become_subreaper().unwrap();
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; read never </dev/zero' & \
                  echo up; wait; wait; wait";
    let mut command = shell(script);
    command.stdout(Stdio::piped());
    let mut child = start(&mut command, Confinement::default()).unwrap();
    let mut output = child.take_stdout().unwrap();
    let mut text = String::new();
    while text.lines().count() < 2 || !text.ends_with('\n') {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    let ended = child.stop(Signal::Terminate, Duration::from_millis(50), None);
    assert_eq!(ended.signal, Some(libc::SIGKILL));
    assert_eq!(
        reading::session_members(Path::new("/proc"), child.pid()),
        Vec::<u32>::new()
    );
}

#[test]
fn a_child_that_obeys_is_not_killed() {
    let mut command = shell("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
    command.stdout(Stdio::piped());
    let mut child = start(&mut command, Confinement::default()).unwrap();
    child
        .take_stdout()
        .unwrap()
        .read_exact(&mut [0; 3])
        .unwrap();
    let ended = child.stop(Signal::Terminate, LONG, None);
    assert_eq!(ended.code, Some(3));
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let error = start(
        &mut Command::new("/no/such/program"),
        Confinement::default(),
    )
    .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn reaped_grandchildren_are_in_the_account() {
    let burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let mut child = start(
        &mut shell(&format!("({burn}); ({burn})")),
        Confinement::default(),
    )
    .unwrap();
    let ended = child.wait(LONG).unwrap();
    assert!(ended.user + ended.system >= Span::from_ms(10), "{ended:?}");
}

#[test]
fn a_leaf_counts_what_ran_in_it_or_says_why_not() {
    let leaf = match Leaf::create() {
        Ok(leaf) => leaf,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let mut child = start(
        &mut shell(&format!("({burn})")),
        Confinement {
            leaf: Some(&leaf),
            ..Confinement::default()
        },
    )
    .unwrap();
    assert!(child.wait(LONG).unwrap().is_success());
    assert!(leaf.cpu().unwrap().total >= Span::from_ms(5));
    assert_eq!(leaf.members(), Vec::<u32>::new());
}

#[test]
fn a_child_ends_with_the_thread_that_started_it() {
    // Whoever ignores SIGTERM goes all the same, where that is wanted.
    for (script, orphaned, number) in [
        ("", Signal::Terminate, libc::SIGTERM),
        ("trap '' TERM; ", Signal::Kill, libc::SIGKILL),
    ] {
        let starter = std::thread::spawn(move || {
            let mut command = shell(&format!("{script}echo ready; exec sleep 600"));
            command.stdout(Stdio::piped());
            let confinement = Confinement {
                orphaned,
                ..Confinement::default()
            };
            let mut child = start(&mut command, confinement).unwrap();
            let mut said = [0; 6];
            child.take_stdout().unwrap().read_exact(&mut said).unwrap();
            child
        });
        let mut child = starter.join().unwrap();
        assert_eq!(child.wait(LONG).unwrap().signal, Some(number));
    }
}

#[test]
fn waiting_tells_data_from_silence() {
    use std::io::Write as _;
    let (reader, mut writer) = io::pipe().unwrap();
    let wait = |ms| wait_readable(reader.as_raw_fd(), Duration::from_millis(ms)).unwrap();
    assert_eq!(wait(1), Readiness::NotYet);
    writer.write_all(b"x").unwrap();
    assert_eq!(wait(20_000), Readiness::Readable);
}

#[test]
fn the_limit_of_open_files_never_shrinks() {
    let before = raise_open_files(1).unwrap();
    assert!(raise_open_files(before).unwrap() >= before);
}
