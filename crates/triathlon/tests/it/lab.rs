//! `triathlon lab` from outside: lists, mistakes, an experiment on origin alone, Ctrl-C and resume.

use std::fs;
use std::path::{Path, PathBuf};

use model::{Outcome, Trial};

use crate::support::process::{Run, Running, command, triathlon};
use crate::support::{need, not_run, slow, wait_until};

/// Small enough for a test: one server, one connection, windows of 100 ms, and nobody watches the
/// CPUs before, which costs them a second.
const SMALL: [&str; 11] = [
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

fn lab(arguments: &[&str]) -> Run {
    triathlon(["lab"].iter().chain(arguments))
}

/// Right answers came in the window, or soon after. If none did, the machine was elsewhere: then no
/// exchange failed either, and the verdict says that nothing was measured. Whether any came in the
/// window.
pub(crate) fn check_answered(trial: &Trial) -> bool {
    let record = &trial.record;
    let (window, drain) = (&record.total.outcomes, &record.drain_phase.outcomes);
    let failed = window.failures() + drain.failures();
    let is_elsewhere = trial.void.is_some() || trial.verdict.nothing_left();
    assert!(
        window[Outcome::Ok] + drain[Outcome::Ok] > 0 || (failed == 0 && is_elsewhere),
        "{:?}: {:?}, {:?}, {:?}",
        trial.point,
        record.total,
        record.drain_phase,
        trial.usage.system
    );
    window[Outcome::Ok] > 0
}

/// Files of a folder of the only results directory below `results`.
pub(crate) fn files(results: &Path, folder: &str) -> Vec<PathBuf> {
    let directory = only(&results.join("first-heat"));
    let mut files: Vec<PathBuf> = fs::read_dir(directory.join(folder))
        .map(|entries| {
            entries
                .map(|entry| entry.expect("a readable entry").path())
                .collect()
        })
        .unwrap_or_default();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    files
}

/// How many trials of an experiment are stored in `folder`, which a lab may be about to make.
fn stored_trials(folder: &Path) -> usize {
    let inside = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
    inside(folder.to_owned())
        .flat_map(|directory| inside(directory.path().join("trials")))
        .filter(|file| file.path().extension().is_some_and(|end| end == "json"))
        .count()
}

fn only(folder: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn lists_run_nothing() {
    let run = lab(&["--list"]).expect_code(0);
    assert!(run.stdout.contains("first-heat"), "{run:#?}");
    let run = lab(&["--list", "servers"]).expect_code(0);
    for product in [
        "origin", "nginx", "apache", "lighttpd", "h2o", "caddy", "varnish",
    ] {
        assert!(run.stdout.contains(product), "{run:#?}");
    }
    for what in [
        "access log: off",
        "answers: static",
        "protocols: http1",
        "tests of its configuration by: haproxy\n",
    ] {
        assert!(run.stdout.contains(what), "{run:#?}");
    }
    let run = lab(&["first-heat", "--list"]).expect_code(0);
    for word in ["7-byte file", "1, 64", "8 rounds", "about"] {
        assert!(run.stdout.contains(word), "{word}: {run:#?}");
    }
    let run = lab(&["first-heat", "rounds=1", "--list"]).expect_code(0);
    assert!(run.stdout.contains(" 1 round, "), "{run:#?}");
    let untold = "1 round cannot tell which server is faster: there are no 95 % intervals below 6";
    assert!(run.stdout.contains(untold), "{run:#?}");
}

#[test]
fn mistakes_are_told_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "[experiment]\nname = \"x\"\nrouds = 3\n").unwrap();
    let file = file.display().to_string();
    lab(&[&file])
        .expect_code(2)
        .expect_complaint(&["mine.toml:3: experiment.rouds", "did you mean 'rounds'?"]);
    lab(&["first-heet"])
        .expect_code(2)
        .expect_complaint(&["no built-in experiment 'first-heet'", "'first-heat'?"]);
    lab(&["first-heat", "rouds=3"])
        .expect_code(2)
        .expect_complaint(&["'rouds=3'", "'rounds'?"]);
    lab(&["first-heat", "--budget", "5s"])
        .expect_code(2)
        .expect_complaint(&["cannot be done in", "its smallest form"]);
    lab(&[])
        .expect_code(2)
        .expect_complaint(&["give an experiment"]);
    let results = folder.path().display().to_string();
    lab(&["first-heat", "--resume", "--results", &results])
        .expect_code(1)
        .expect_complaint(&["nothing to resume", "first-heat"]);
}

#[test]
fn no_place_for_results_is_told_before_anything_is_started() {
    let mut arguments = SMALL.to_vec();
    arguments.extend(["--results", "/proc/version/results"]);
    lab(&arguments)
        .expect_code(1)
        .expect_complaint(&["cannot create /proc/version/results"]);
}

/// Files of trials that are not repeats: a machine whose CPUs somebody else had measures more.
fn first_attempts(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder, "trials");
    found.retain(|path| {
        let text = fs::read_to_string(path).expect("a trial");
        let trial: Trial = serde_json::from_str(&text).expect("a trial is JSON");
        trial.point.expect("a trial of a lab has a point").attempt == 0
    });
    found
}

/// What was built for that is no result.
#[test]
fn starts_are_tried_before_a_budget_is_divided() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().display().to_string();
    let mut arguments = SMALL.to_vec();
    arguments.extend(["--results", &results, "--budget", "30m"]);
    let run = lab(&arguments).expect_measured();
    let run = run.expect_complaint(&["starting each server once", "about"]);
    assert_eq!(first_attempts(folder.path()).len(), 4, "{run:#?}");
    let executions = fs::read_dir(folder.path().join("first-heat")).unwrap();
    let executions: Vec<PathBuf> = executions.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(executions.len(), 1, "{run:#?}");
    let manifest = lab::store::read_manifest(&executions[0]).unwrap();
    assert_eq!(manifest.experiment.experiment.rounds, 1);
    assert_eq!((manifest.scaled, manifest.not_repeated), (Vec::new(), 0));
}

#[test]
fn an_experiment_on_origin_alone_ends_with_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().display().to_string();
    let mut arguments = SMALL.to_vec();
    arguments.extend(["--results", &results]);
    let run = lab(&arguments).expect_measured();
    let trials = first_attempts(folder.path());
    assert_eq!(
        trials.len(),
        4,
        "two of origin, two of the ceiling: {run:#?}"
    );
    assert_eq!(
        files(folder.path(), "gaps"),
        Vec::<PathBuf>::new(),
        "{run:#?}"
    );
    for path in trials {
        let trial: Trial = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let is_seen = check_answered(&trial) && trial.void.is_none();
        let point = trial.point.unwrap();
        let server = trial.context.server.unwrap();
        assert_eq!(server.listener_is_ours, Some(true), "{path:?}");
        assert_eq!(server.processes_before, server.processes_after, "{path:?}");
        if !is_seen {
            continue;
        }
        let usage = trial.usage.server.unwrap();
        assert!(usage.cpu.is_some_and(|cpu| !cpu.is_zero()), "{path:?}");
        assert!(usage.memory_pss.is_some(), "{path:?}");
        let connected = usage.memory_sockets_connections.unwrap_or_default();
        let wanted = u64::from(trial.plan.connections);
        assert!((1..=wanted).contains(&connected), "{path:?}: {connected}");
        assert!(usage.memory_sockets.is_some(), "{path:?}");
        let window = trial.record.window.as_s_f64();
        assert!(
            usage.window.as_s_f64() > window * 0.5,
            "{path:?}: {usage:?}"
        );
        let ceiling = trial.context.ceiling;
        assert_eq!(ceiling.is_none(), point.ceiling, "{path:?}");
        assert!(ceiling.is_none_or(|ceiling| ceiling.same_server && ceiling.rate > 0.0));
    }
    let directory = only(&folder.path().join("first-heat"));
    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("<!doctype html>") || page.contains("<!DOCTYPE html>"));
    assert!(run.stdout.contains("report.html"), "{run:#?}");
    // The stored results can be reported again.
    let again = directory.join("again.html").display().to_string();
    let directory = directory.display().to_string();
    triathlon(["report", &directory, "--html", &again]).expect_code(0);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_resume_goes_on() {
    if !slow() {
        return not_run("ctrl_c_keeps_what_was_measured", "it takes ten seconds");
    }
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().display().to_string();
    let mut arguments = vec!["lab"];
    arguments.extend(SMALL);
    arguments.extend(["rounds=3", "--results", &results]);
    let running = Running::start(&mut command(&arguments));
    wait_until("the second trial", || {
        stored_trials(&folder.path().join("first-heat")) >= 2
    });
    running.signal("INT");
    let run =
        running
            .finish()
            .expect_code(130)
            .expect_complaint(&["interrupted", "kept in", "--resume"]);
    let kept = files(folder.path(), "trials");
    assert!(kept.len() < 12, "{run:#?}");
    let unwatched = ["--no-lock", "--hiccups", "0s", "--resume"];
    lab(&[&unwatched[..], &["first-heat", "--results", &results]].concat()).expect_measured();
    // The folder that other commands take will do, too: it is that of the newest execution.
    let below = format!("{results}/first-heat");
    lab(&[&unwatched[..], &[&below]].concat()).expect_measured();
    let all = first_attempts(folder.path());
    let gaps: Vec<String> = files(folder.path(), "gaps")
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(gaps, Vec::<String>::new(), "{run:#?}");
    assert_eq!(all.len(), 12, "{all:#?}");
    assert!(kept.iter().all(|path| path.is_file()));
}

/// Living processes whose parent and session are `wanted`: pid, session and program.
fn processes(wanted: impl Fn(u32, u32) -> bool) -> Vec<(u32, u32, String)> {
    let root = Path::new("/proc");
    sys::counters::process::all(root)
        .into_iter()
        .filter_map(|pid| sys::counters::process::stat(root, pid).ok())
        .filter(|stat| stat.state != 'Z' && wanted(stat.parent, stat.session))
        .map(|stat| (stat.pid, stat.session, stat.name))
        .collect()
}

/// Waits until `lab` has a server under load, which is alone (order=server): the sessions of its
/// two children, which each leads.
fn under_load(lab: &mut Running) -> Vec<u32> {
    let own = lab.pid();
    // They stay the same for longer than any other phase takes.
    let mut seen = (Vec::new(), 0);
    wait_until("a server is under load", || {
        assert!(!lab.ended(), "{}", lab.stderr());
        let now = processes(|parent, _| parent == own);
        seen.1 = if now == seen.0 { seen.1 + 1 } else { 0 };
        seen.0 = now;
        seen.0.len() == 2 && seen.1 > 100
    });
    seen.0.iter().map(|(_, session, _)| *session).collect()
}

/// A seed with which a lab of one server measures that before the ceiling.
fn seed_of_server_first(overrides: &[&str]) -> u64 {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let read = lab::experiment::read("first-heat", &overrides).expect("it is right");
    let is_first = |seed: &u64| {
        let rounds = lab::sweep::schedule(&read.experiment, *seed, 16);
        rounds[0].blocks[0].racers == [lab::sweep::Racer::Server(0)]
    };
    (1..100).find(is_first).expect("every second seed is one")
}

/// Kills a lab with `overrides`, which sleeps for long in what it does, when it drives `server`,
/// whose processes are called `program`: neither that nor the generator lives on.
fn check_killed(server: &str, program: &str, overrides: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let server = format!("server={server}");
    let mut asked = vec![
        server.as_str(),
        "rounds=1",
        "connections=[2]",
        "order=server",
    ];
    asked.extend(overrides);
    let seed = format!("seed={}", seed_of_server_first(&asked));
    let mut arguments = vec!["lab", "--no-lock", "first-heat", &seed];
    arguments.extend(asked);
    arguments.extend(["--hiccups", "0s", "--results", &results]);
    let mut lab = Running::start(&mut command(&arguments));
    let sessions = under_load(&mut lab);
    let mut left = processes(|_, session| sessions.contains(&session));
    assert!(left.len() >= 2, "{left:?}");
    let is_it = |(_, _, name): &(u32, u32, String)| name == program;
    assert!(left.iter().any(is_it), "no {program}: {left:?}");
    lab.signal("KILL");
    wait_until("all that the lab started has ended", || {
        left = processes(|_, session| sessions.contains(&session));
        left.is_empty()
    });
}

#[test]
fn a_lab_that_is_killed_leaves_no_process_behind() {
    check_killed("origin", "triathlon", &["duration=50ms", "warmup=20m"]);
    check_killed("origin", "triathlon", &["duration=20m", "warmup=0s"]);
    let name = "a_lab_that_is_killed_leaves_no_process_behind";
    // A server with workers, which only its first process can end.
    for server in ["nginx", "apache"] {
        let program = if server == "apache" {
            "apache2"
        } else {
            server
        };
        if need(name, [program]).is_some() {
            check_killed(server, program, &["duration=50ms", "warmup=20m"]);
        }
    }
}

/// All that descends from `lab`, in its session or in one of their own.
fn descendants(lab: u32) -> Vec<(u32, u32, String)> {
    let children = processes(|parent, _| parent == lab);
    let sessions: Vec<u32> = children.iter().map(|(_, session, _)| *session).collect();
    processes(|parent, session| parent == lab || sessions.contains(&session))
}

/// Waits until `lab` has `racers` servers up and loads one of them: they, the generator and the
/// process that ends them when the lab is gone are its children.
fn in_mid_block(lab: &mut Running, racers: usize) -> Vec<(u32, u32, String)> {
    let own = lab.pid();
    // They stay the same for longer than any other phase takes.
    let mut seen = (Vec::new(), 0);
    wait_until("several servers are up and one is under load", || {
        assert!(!lab.ended(), "{}", lab.stderr());
        let now = processes(|parent, _| parent == own);
        seen.1 = if now == seen.0 { seen.1 + 1 } else { 0 };
        seen.0 = now;
        seen.0.len() == racers + 2 && seen.1 > 100
    });
    descendants(own)
}

/// A lab of all that there is, with a window that does not end unless something ends it.
fn block_of(servers: &str, results: &str) -> Running {
    let servers = format!("server={servers}");
    let mut arguments = vec!["lab", "--no-lock", "first-heat", &servers];
    arguments.extend(["rounds=1", "connections=[2]", "duration=20m", "warmup=0s"]);
    arguments.extend(["--hiccups", "0s", "--results", results]);
    Running::start(&mut command(&arguments))
}

#[test]
fn a_lab_that_is_killed_in_mid_block_leaves_nobody_frozen_behind() {
    let name = "a_lab_that_is_killed_in_mid_block_leaves_nobody_frozen_behind";
    let Some([_, _, _]) = need(name, ["nginx", "apache2", "lighttpd"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let mut lab = block_of("origin,nginx,apache,lighttpd", &results);
    let before = in_mid_block(&mut lab, 5);
    assert!(before.len() > 5 + 2, "workers, too: {before:?}");
    let sessions: Vec<u32> = before.iter().map(|(_, session, _)| *session).collect();
    lab.signal("KILL");
    wait_until("all that the lab started has ended", || {
        processes(|_, session| sessions.contains(&session)).is_empty()
    });
}

#[test]
fn who_is_killed_in_mid_block_costs_one_trial_and_resume_makes_up_for_it() {
    let name = "who_is_killed_in_mid_block_costs_one_trial";
    let Some([_]) = need(name, ["nginx"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().display().to_string();
    let mut arguments = vec!["lab", "--no-lock", "first-heat", "server=origin,nginx"];
    arguments.extend(["rounds=1", "connections=[2]", "duration=500ms", "warmup=0s"]);
    arguments.extend(["repeats=0", "calm=0s", "timeout=2s", "--hiccups", "0s"]);
    arguments.extend(["--results", &results]);
    let mut running = Running::start(&mut command(&arguments));
    // The generator is the child that is not there all the time: it is killed once.
    let own = running.pid();
    let mut killed = false;
    wait_until("a generator is killed while it measures", || {
        let stored = stored_trials(&folder.path().join("first-heat")) > 0;
        let children = processes(|parent, _| parent == own);
        let generator = children.iter().find(|(pid, _, _)| {
            let path = format!("/proc/{pid}/cmdline");
            fs::read_to_string(path).is_ok_and(|line| line.contains("load\0--plan"))
        });
        if let (true, Some((pid, _, _))) = (stored, generator) {
            let status = std::process::Command::new("/bin/kill")
                .args(["-9", &pid.to_string()])
                .status();
            killed = status.is_ok_and(|status| status.success());
        }
        killed || running.ended()
    });
    assert!(killed, "{}", running.stderr());
    let run = running.finish();
    let run = run.expect_complaint(&["not measured"]);
    let kept = files(folder.path(), "trials");
    assert!(
        kept.len() >= 4,
        "one of six at most is lost, the others go on: {run:#?}"
    );
    let mut resume = vec!["first-heat", "--no-lock", "--hiccups", "0s"];
    resume.extend(["--resume", "--results", &results]);
    // What is compared is measured next to each other, and so are those that it belongs to.
    lab(&resume).expect_measured().expect_complaint(&[
        "of an earlier start",
        "measured again",
        "interrupted/",
    ]);
    let all = first_attempts(folder.path());
    assert_eq!(all.len(), 6, "{all:#?}");
    assert!(kept.iter().all(|path| path.is_file()));
    let aside = files(folder.path(), "interrupted");
    assert!((1..6).contains(&aside.len()), "{aside:#?}");
    // What was set aside is no round any more.
    let experiment = folder.path().join("first-heat").display().to_string();
    let report = triathlon(["report", &experiment, "--csv", "-"]).expect_code(0);
    let rows = report.stdout.lines().count();
    assert_eq!(
        rows,
        1 + files(folder.path(), "trials").len(),
        "{report:#?}"
    );
    assert_eq!(files(folder.path(), "gaps"), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_ends_the_watch_of_the_cpus() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("results");
    let to = results.display().to_string();
    let mut arguments = vec!["lab", "first-heat", "server=origin", "--no-lock"];
    arguments.extend(["--hiccups", "20m", "--results", &to]);
    let running = Running::start(&mut command(&arguments));
    wait_until("it watches", || {
        running.stderr().contains("watching the CPUs")
    });
    running.signal("INT");
    let run = running.finish().expect_code(130);
    run.expect_complaint(&["interrupted"]);
    assert!(!results.exists(), "nothing was begun");
}

#[test]
fn two_labs_do_not_measure_each_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (lock, results) = (at("lock"), at("results"));
    let mut arguments = vec!["lab", "first-heat", "server=origin", "rounds=1"];
    arguments.extend(["duration=20m", "order=server", "--hiccups", "0s"]);
    arguments.extend(["--lock", &lock, "--results", &results]);
    let mut first = Running::start(&mut command(&arguments));
    under_load(&mut first);
    let pid = format!("process {}, since 20", first.pid());
    triathlon(&arguments).expect_code(1).expect_complaint(&[
        "another lab is measuring on this machine",
        &pid,
        "--no-lock",
    ]);
    first.signal("KILL");
    let gone = first.finish();
    assert_eq!(gone.code, None, "{gone:#?}");
    // A dead lab locks nobody out.
    let mut small = vec!["lab", "--lock", &lock, "--results", &results];
    small.extend(&SMALL[1..]);
    triathlon(&small).expect_measured();
}

/// Starts a lab with `folder` for its temporary files, and returns once its server is under load.
fn endless(folder: &Path) -> Running {
    let results = folder.join("results").display().to_string();
    let mut arguments = vec!["lab"];
    arguments.extend(SMALL);
    arguments.extend(["duration=20m", "order=server"]);
    arguments.extend(["--results", &results]);
    let mut lab = Running::start(command(&arguments).env("TMPDIR", folder.join("tmp")));
    under_load(&mut lab);
    lab
}

/// Another lab with the same folder for temporary files, as short as can be.
fn verify(folder: &Path) -> Run {
    let mut arguments = vec!["lab"];
    arguments.extend(SMALL);
    arguments.push("--verify");
    Running::start(command(&arguments).env("TMPDIR", folder.join("tmp"))).finish()
}

#[test]
fn what_a_killed_lab_leaves_is_swept_by_the_next_and_a_living_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let lab = endless(folder.path());
    let scratch = only(&temporary);
    let lock = scratch.join("triathlon.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let groups = || -> Vec<PathBuf> {
        let noted = text.lines().skip(1).map(PathBuf::from);
        noted.filter(|path| path.exists()).collect()
    };
    let before = groups();
    verify(folder.path()).expect_code(0);
    assert_eq!(only(&temporary), scratch);
    assert!(scratch.join("www").is_dir() && lock.is_file());
    // One that was there for a moment may be gone by now.
    let left = groups();
    assert!(!left.is_empty(), "{before:?}");
    assert!(left.iter().all(|group| before.contains(group)), "{left:?}");
    let own = lab.pid();
    let children = processes(|parent, _| parent == own);
    let sessions: Vec<u32> = children.iter().map(|(_, session, _)| *session).collect();
    lab.signal("KILL");
    let run = lab.finish();
    assert_eq!(run.code, None, "{run:#?}");
    // Whoever is dead has another parent: it is known by its session.
    wait_until("all of it is gone", || {
        processes(|_, session| sessions.contains(&session)).is_empty()
    });
    assert_eq!(only(&temporary), scratch);
    verify(folder.path()).expect_code(0);
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(groups(), Vec::<PathBuf>::new());
}
