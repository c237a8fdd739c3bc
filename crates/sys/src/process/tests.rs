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

/// Held by each test that claims orphans: only one child of a process may.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts a program that puts itself into the background and ends; the pid of what remains of it.
fn daemon(leaf: Option<&Leaf>) -> (Child, u32) {
    become_subreaper().unwrap();
    // Twice forked and in a session of its own, as daemons do.
    let mut command = shell("(setsid sh -c 'echo $$; exec sleep 600' &); exit 0");
    command.stdout(Stdio::piped());
    let confinement = Confinement {
        leaf,
        is_alone: true,
        ..Confinement::default()
    };
    let mut child = start(&mut command, confinement).unwrap();
    let mut text = String::new();
    let mut output = io::BufReader::new(child.take_stdout().unwrap());
    io::BufRead::read_line(&mut output, &mut text).unwrap();
    assert!(child.wait(LONG).unwrap().is_success());
    (child, text.trim().parse().unwrap())
}

fn lives(pid: u32) -> bool {
    reading::stat(Path::new("/proc"), pid).is_ok_and(|stat| stat.state != 'Z')
}

#[test]
fn who_went_into_the_background_is_ended_with_the_child() {
    let _alone = alone();
    // Without a control group, and with one where that is possible.
    let leaf = Leaf::create(&|_| Ok(())).ok();
    for leaf in [None, leaf.as_ref()] {
        let (mut child, pid) = daemon(leaf);
        assert!(lives(pid));
        assert!(child.family(leaf).contains(&pid));
        let ended = child.stop(Signal::Terminate, LONG, leaf);
        assert!(ended.is_success(), "{ended:?}");
        assert!(!lives(pid));
        assert_eq!(child.family(leaf), Vec::<u32>::new());
        // Dropped without being stopped, too.
        let (child, pid) = daemon(leaf);
        assert!(lives(pid));
        drop(child);
        assert!(leaf.is_some() || !lives(pid));
        for pid in leaf.map(Leaf::members).unwrap_or_default() {
            send(pid, Signal::Kill).unwrap();
        }
    }
}

#[test]
fn a_child_that_we_started_otherwise_is_nobodys_orphan() {
    let _alone = alone();
    become_subreaper().unwrap();
    let mut sleeper = shell("exec sleep 600").spawn().unwrap();
    let other = start(&mut shell("exec sleep 600"), Confinement::default()).unwrap();
    let (mut child, pid) = daemon(None);
    let family = child.family(None);
    assert!(family.contains(&pid), "{family:?}");
    for stranger in [sleeper.id(), other.pid()] {
        assert!(!family.contains(&stranger), "{family:?}");
    }
    child.stop(Signal::Kill, LONG, None);
    assert!(lives(sleeper.id()) && lives(other.pid()));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
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
    let leaf = match Leaf::create(&|_| Ok(())) {
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
fn there_is_room_for_as_many_files_as_was_asked_for() {
    let room = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    let limit = raise_open_files(3_000).unwrap();
    make_room_for_files(3_000).unwrap();
    assert!(room() >= limit.min(3_000), "{}", room());
    // As far as the limit allows is far enough.
    let most = room();
    make_room_for_files(0).unwrap();
    assert_eq!(room(), most);
}

#[test]
fn the_limit_of_open_files_never_shrinks() {
    let before = raise_open_files(1).unwrap();
    assert!(raise_open_files(before).unwrap() >= before);
}
