//! The README's first command, shortened: from an experiment to a report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use model::Trial;

use crate::support::process::{Run, Running, command, program};
use crate::support::{LIMIT, isolated, need, wait_until};

/// Overrides that make it take seconds: what is measured is worth nothing, and it says so.
pub(crate) const SHORT: [&str; 10] = [
    // Others measure beside it.
    "--no-lock",
    // Watching the CPUs before costs them a second.
    "--hiccups",
    "0s",
    "rounds=2",
    "repeats=0",
    "calm=0s",
    "duration=100ms",
    "warmup=20ms",
    "connections=[1,16]",
    "timeout=2s",
];

fn lab(results: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .args(["lab", "first-heat", "--results"])
        .arg(results)
        .args(SHORT);
    command
}

fn finish(running: Running) -> Run {
    running.finish_within(LIMIT * 3)
}

/// All files below `folder` whose name ends so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every trial of the results, each readable.
fn trials(results: &Path) -> Vec<Trial> {
    files(results, ".json")
        .iter()
        .filter(|path| {
            path.parent()
                .is_some_and(|folder| folder.ends_with("trials"))
        })
        .map(|path| {
            let text = fs::read_to_string(path).expect("a trial can be read");
            serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{} is no trial: {error}", path.display()))
        })
        .collect()
}

fn servers(trials: &[Trial]) -> Vec<String> {
    let mut names: Vec<String> = trials
        .iter()
        .filter_map(|trial| trial.point.as_ref())
        .filter(|point| !point.ceiling)
        .map(|point| point.id.server.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn from_experiment_to_report_with_every_server() {
    let name = "from_experiment_to_report_with_every_server";
    let Some([_, _, _]) = need(name, ["nginx", "apache2", "lighttpd"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = finish(Running::start(&mut lab(folder.path()))).expect_measured();
    let trials = trials(folder.path());
    let names = servers(&trials);
    for server in ["apache", "lighttpd", "nginx", "origin"] {
        assert!(
            names.iter().any(|name| name.contains(server)),
            "{names:?} {run:#?}"
        );
    }
    // Servers × 2 bodies × 2 connection counts × 2 rounds; the ceilings beside them.
    let points = trials.iter().filter_map(|trial| trial.point.as_ref());
    let first = points.filter(|point| !point.ceiling && point.attempt == 0);
    let measured = first.count();
    assert_eq!(measured, 4 * 2 * 2 * 2, "{run:#?}");
    for trial in &trials {
        let failures = trial.record.total.outcomes.failures();
        assert_eq!(failures, 0, "{:?}", trial.point);
    }
    for name in &names {
        // A busy machine may take the whole of one short window away.
        let points = trials
            .iter()
            .filter(|trial| trial.point.as_ref().is_some_and(|p| p.id.server == *name));
        let ended = points.map(|trial| trial.record.total.outcomes.total());
        assert!(ended.sum::<u64>() > 0, "{name}");
    }
    let reports = files(folder.path(), "report.html");
    assert_eq!(reports.len(), 1, "{run:#?}");
    let page = fs::read_to_string(&reports[0]).expect("a report");
    for word in ["nginx", "Apache", "lighttpd", "origin", "</html>"] {
        assert!(page.contains(word), "no {word} in the report");
    }
    assert!(run.stdout.contains("report.html"), "{run:#?}");
}

/// Hides the programs of the other servers from the commands that follow.
const HIDE: &str = "for program in nginx apache2 httpd lighttpd; do \
    for folder in /usr/sbin /usr/local/sbin /usr/bin /usr/local/bin; do \
    if [ -e $folder/$program ]; then mount --bind /dev/null $folder/$program; fi; \
    done; done; exec \"$@\"";

#[test]
fn origin_alone_where_nothing_is_installed() {
    let name = "origin_alone_where_nothing_is_installed";
    let Some([_]) = need(name, ["unshare"]) else {
        return;
    };
    let Some(mut alone) = isolated(name, HIDE) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plain = lab(folder.path());
    alone.arg(plain.get_program()).args(plain.get_args());
    let run = finish(Running::start(&mut alone)).expect_measured();
    let names = servers(&trials(folder.path()));
    assert_eq!(names, ["origin"], "{run:#?}");
    assert_eq!(files(folder.path(), "report.html").len(), 1, "{run:#?}");
    let said = format!("{}{}", run.stdout, run.stderr);
    for word in ["nginx", "apache2", "lighttpd", "install"] {
        assert!(
            said.contains(word),
            "no word of how to install {word}: {run:#?}"
        );
    }
    // Whoever names a server wants it.
    alone.args(["server=origin,nginx", "rounds=1"]);
    finish(Running::start(&mut alone))
        .expect_code(1)
        .expect_complaint(&["asked for, but not measured: nginx"]);
}

#[test]
fn an_interrupted_lab_goes_on_where_it_stopped() {
    let name = "an_interrupted_lab_goes_on_where_it_stopped";
    let Some([]) = need(name, []) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut running = Running::start(lab(folder.path()).arg("server=origin"));
    wait_until("some trials are stored", || {
        assert!(!running.ended(), "over too early: {}", running.stderr());
        trials(folder.path()).len() >= 3
    });
    running.signal("INT");
    let run = running
        .finish_within(Duration::from_secs(20))
        .expect_code(130);
    let before = trials(folder.path()).len();
    assert!(
        run.stderr.contains("--resume"),
        "it says how to go on: {run:#?}"
    );
    let mut again = command(["lab", "first-heat", "--resume", "--no-lock"]);
    again.args(["--hiccups", "0s", "--results"]);
    again.arg(folder.path());
    let run = finish(Running::start(&mut again)).expect_measured();
    let after = trials(folder.path());
    let points = after.iter().filter_map(|trial| trial.point.as_ref());
    let mut cells: Vec<_> = points
        .filter(|point| !point.ceiling && point.attempt == 0)
        .map(|point| {
            (
                &point.id.server,
                &point.id.workload,
                point.id.connections(),
                point.round,
            )
        })
        .collect();
    assert_eq!(cells.len(), 2 * 2 * 2, "{run:#?}");
    cells.sort();
    cells.dedup();
    assert_eq!(
        cells.len(),
        2 * 2 * 2,
        "a point was measured twice: {run:#?}"
    );
    assert!(after.len() > before, "{run:#?}");
}
