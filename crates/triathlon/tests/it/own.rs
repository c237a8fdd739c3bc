//! A lab with things of one's own: a server that already runs, a folder of files, a new experiment.

use std::fs;
use std::path::{Path, PathBuf};

use model::{Outcome, Trial};

use crate::support::process::{Run, Running, command, triathlon};
use crate::support::{reserve, wait_until};

/// One round in a folder of its own, in a window within which a busy machine answers, too.
fn lab(folder: &Path, more: &str) -> Run {
    let file = folder.join("own.toml");
    let text = format!(
        "[experiment]\nname = 'own'\nquestion = '?'\nrounds = 1\nduration = '600ms'\n\
         warmup = '20ms'\n{more}\n[load]\nconnections = 2\n"
    );
    fs::write(&file, text).expect("a file can be written");
    let (file, results) = (file.display().to_string(), folder.join("results"));
    let results = results.display().to_string();
    triathlon([
        "lab",
        &file,
        "repeats=0",
        "calm=0s",
        "--results",
        &results,
        "--no-lock",
        "--hiccups",
        "0s",
    ])
}

/// The trials of the only execution, those of the ceiling apart.
fn trials(folder: &Path) -> Vec<Trial> {
    let of = |path: PathBuf| {
        let entries = fs::read_dir(path).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect::<Vec<_>>()
    };
    let execution = of(folder.join("results/own")).pop().expect("an execution");
    let trials = of(execution.join("trials")).into_iter().map(|path| {
        let text = fs::read_to_string(path).expect("a trial");
        serde_json::from_str::<Trial>(&text).expect("a trial is JSON")
    });
    let is_ceiling = |trial: &Trial| trial.point.as_ref().is_some_and(|point| point.ceiling);
    trials.filter(|trial| !is_ceiling(trial)).collect()
}

fn www(folder: &Path) -> PathBuf {
    let www = folder.join("www");
    fs::create_dir_all(www.join("css")).expect("a folder can be made");
    for (name, text) in [("index.html", "<p>hello"), ("css/main 1.css", "p {}")] {
        fs::write(www.join(name), text).expect("a file can be written");
    }
    www
}

#[test]
fn a_server_that_already_runs_is_asked_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = reserve();
    let port = address.address.port();
    let listen = address.address.to_string();
    let www = www(folder.path()).display().to_string();
    let mut server = Running::start(&mut command(["serve", &www, "--listen", &listen]));
    wait_until("it listens", || {
        std::net::TcpStream::connect(address.address).is_ok()
    });
    let workload = "[[workload]]\nname = 'page'\n[[workload.request]]\npath = '/index.html'\n";
    let pid = server.pid();
    let url = format!("url = 'http://localhost:{port}'");
    for (known, more) in [(true, format!("pid = {pid}\n")), (false, String::new())] {
        let servers = format!("[[server]]\n{url}\nlabel = 'mine'\n{more}{workload}");
        let run = lab(folder.path(), &servers).expect_measured();
        let trials = trials(folder.path());
        assert!(!trials.is_empty(), "{run:#?}");
        for trial in &trials {
            assert!(trial.record.total.outcomes[Outcome::Ok] > 0, "{run:#?}");
            let cpu = trial.usage.server.as_ref().and_then(|usage| usage.cpu);
            assert_eq!(cpu.is_some(), known, "{run:#?}");
            let facts = trial
                .context
                .server
                .as_ref()
                .expect("it is on this machine");
            assert_eq!(facts.listener_is_ours, known.then_some(true));
            // Nobody knows how it was set up.
            let id = &trial.point.as_ref().expect("a lab's trial").id;
            for axis in ["cores", "access_log"] {
                assert_eq!(id.value(axis), None, "{run:#?}");
            }
        }
        fs::remove_dir_all(folder.path().join("results")).expect("results can be removed");
        assert!(!server.ended(), "it is not the lab's to stop");
    }
    // Of files that the lab makes it can have none.
    let file = "[[workload]]\nname = 'file'\nbody = { bytes = 7 }\n";
    lab(folder.path(), &format!("[[server]]\n{url}\n{file}"))
        .expect_code(1)
        .expect_complaint(&["already runs", "ask it for a path"]);
    // Nor is every process the one that listens.
    let stranger = Running::start(&mut command(["serve", &www, "--listen", "127.0.0.1:0"]));
    let pid = stranger.pid();
    let other = format!("[[server]]\n{url}\npid = {pid}\n{workload}");
    lab(folder.path(), &other)
        .expect_code(1)
        .expect_complaint(&["belongs to", "not to the process that was named"]);
}

#[test]
fn a_folder_is_a_workload_whose_files_are_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let www = www(folder.path());
    let workload = format!(
        "[[server]]\nproduct = 'origin'\n[[workload]]\nname = 'site'\nsite = '{}'\n",
        www.display()
    );
    fs::write(www.join(".htaccess"), "").expect("a file can be written");
    std::os::unix::fs::symlink("css", www.join("style")).expect("a link");
    let run = lab(folder.path(), &workload)
        .expect_measured()
        .expect_complaint(&[".htaccess (its name", "style (a link to a folder)"]);
    for trial in trials(folder.path()) {
        let names: Vec<&str> = trial
            .record
            .classes
            .iter()
            .map(|class| class.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["GET /site-1/css/main%201.css", "GET /site-1/index.html"],
            "{run:#?}"
        );
        let expected = trial
            .plan
            .requests
            .iter()
            .map(|request| request.expect.clone());
        for expect in expected {
            let expect = expect.expect("each of several has its own");
            assert!(expect.sha256.is_some() && expect.length.is_some());
        }
        assert_eq!(trial.record.total.outcomes.failures(), 0, "{run:#?}");
    }
}

#[test]
fn a_lab_that_fails_before_its_first_trial_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let servers = "[[server]]\nproduct = 'custom'\n\
                   [[workload]]\nname = 'file'\nbody = { bytes = 7 }\n";
    let run = lab(folder.path(), servers).expect_code(1);
    let run = run.expect_complaint(&["can be measured", "give the script that starts it"]);
    assert!(!run.stderr.contains("kept in"), "{run:#?}");
    let results = fs::read_dir(folder.path().join("results")).expect("the folder of all results");
    assert_eq!(results.count(), 0, "{run:#?}");
}

#[test]
fn a_template_with_a_port_of_its_own_is_told_what_to_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("start.sh");
    fs::write(&script, "exec my-server --port 8080\n").expect("a file can be written");
    let servers = format!(
        "[[server]]\nproduct = 'custom'\npreset = '{}'\n\
         [[workload]]\nname = 'file'\nbody = {{ bytes = 7 }}\n",
        script.display()
    );
    lab(folder.path(), &servers)
        .expect_code(1)
        .expect_complaint(&["start.sh: it does not use {{ port }}"]);
}

#[test]
fn an_experiment_to_begin_with_can_be_run_and_is_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("my.toml").display().to_string();
    triathlon(["lab", "--new", &file]).expect_code(0);
    let run = triathlon(["lab", &file, "--list"]).expect_code(0);
    assert!(run.stdout.contains("7-byte file"), "{run:#?}");
    triathlon(["lab", "--new", &file])
        .expect_code(2)
        .expect_complaint(&["exists already"]);
    let run = triathlon(["lab", "--new", "-"]).expect_code(0);
    assert_eq!(run.stdout, lab::experiment::NEW);
}

#[test]
fn every_key_can_be_looked_up() {
    let run = triathlon(["lab", "--keys"]).expect_code(0);
    for word in [
        "requests_per_connection",
        "rate = [\"1k\", \"2k\"]",
        "Left out: 1.",
    ] {
        assert!(run.stdout.contains(word), "{word}: {run:#?}");
    }
}
