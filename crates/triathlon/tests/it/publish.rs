//! Results fit to hand out: nobody reads in them who made them, and where.

use std::fs;
use std::path::{Path, PathBuf};

use model::Trial;
use model::fixture::Heat;
use serde_json::json;

use crate::support::process::triathlon;

const KEY: &str = "2c0d1a6f-8a6c4c1b-51a7b5a2-6f0e0f3c";
const WORDS: [&str; 7] = [
    "zaphod",
    "beeblebrox",
    "heart-of-gold",
    "magrathea",
    "project-tulip",
    "hunter2",
    KEY,
];

/// A results folder of someone who named much after himself.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["trials", "gaps", "servers/nginx-zaphod"] {
        fs::create_dir_all(path(name)).expect("a folder can be made");
    }
    let heat = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds: 2,
        ..Heat::default()
    };
    let host = own_host();
    for (number, mut trial) in heat.trials().into_iter().enumerate() {
        name_names(&mut trial, &host);
        let text = serde_json::to_string(&trial).expect("a trial is JSON");
        fs::write(path(&format!("trials/{number:05}-zaphod.json")), text).expect("a file");
    }
    let manifest = json!({
        "format": 1,
        "experiment": {
            "experiment": {
                "name": "zaphods-race", "question": "Who wins?", "rounds": 2, "duration": "1s",
            },
            "server": [{"product": "nginx", "preset": at_home("HOME/zaphod/nginx.conf")}],
            "workload": [{"name": "seven-bytes", "body": {"bytes": 7}}],
            "load": {"connections": [1, 64]},
        },
        "source": at_home("HOME/zaphod/project-tulip/race.toml"),
        "command": ["triathlon", "lab", at_home("HOME/zaphod/my beeblebrox/race.toml")],
        "tool": {"version": "0.0.0", "commit": null, "debug_build": true, "traced": false},
        "time": "2026-11-20T10:00:00Z",
        "order_seed": 1,
    });
    fs::write(path("manifest.json"), manifest.to_string()).expect("a file");
    for (name, text) in [
        ("experiment.toml", "# by Zaphod\nname = 'zaphods-race'\n"),
        (
            "servers/nginx-zaphod/nginx.conf",
            "proxy_set_header Cookie 'hunter2';\n",
        ),
        (
            "error.log",
            "10.0.0.1 heart-of-gold.magrathea.example zaphod\n",
        ),
        ("report.html", "an old page of zaphod\n"),
        (".hidden", "zaphod"),
    ] {
        fs::write(path(name), text).expect("a file");
    }
    fs::write(path("core"), b"zaphod \xff\xfe").expect("a file");
    std::os::unix::fs::symlink("error.log", path("link")).expect("a link");
    folder
}

/// Puts names of people, hosts and folders wherever a trial has room for them.
fn name_names(trial: &mut Trial, host: &str) {
    let request = &mut trial.plan.requests[0];
    request.url = "http://heart-of-gold.magrathea.example:8080/seven-bytes".to_owned();
    let field = ("Authorization".to_owned(), "hunter2".to_owned());
    request.headers.push(field);
    let environment = &mut trial.environment;
    let name = "net.ipv4.tcp_fastopen_key".to_owned();
    environment.sysctls.insert(name, KEY.to_owned());
    environment.command_line = Some(format!("quiet root=UUID={KEY}"));
    environment
        .facts
        .insert("beside".to_owned(), host.to_owned());
    let server = trial.context.server.get_or_insert_default();
    server.command = vec![
        "nginx".to_owned(),
        "-c".to_owned(),
        at_home("HOME/zaphod/my beeblebrox/nginx.conf"),
    ];
    server.error_log = vec![at_home("HOME/zaphod/logs: no such folder on Heart-of-Gold")];
    server.configuration.insert(
        at_home("HOME/zaphod/nginx.conf"),
        at_home("root 'HOME/zaphod/project-tulip';\n") + host,
    );
}

/// Paths of homes are written so that no test names one of a machine.
fn at_home(text: &str) -> String {
    text.replace("HOME", "/home")
}

/// The name of this machine, where it says anything.
fn own_host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_bundle_names_nobody_and_can_be_judged_and_reported() {
    let results = results();
    let out = tempfile::tempdir().expect("a folder");
    let bundle = out.path().join("bundle");
    let (from, to) = (
        results.path().display().to_string(),
        bundle.display().to_string(),
    );
    let run = triathlon(["report", &from, "--publish", &to, "--hide", "Project-Tulip"]);
    let run = run.expect_code(0);
    for said in [
        "replaced zaphod by user-1,",
        "replaced heart-of-gold.magrathea.example by host-",
        &at_home("replaced HOME/zaphod/project-tulip/race.toml by ~/path-"),
        "left out",
        "core",
        "credential",
        "bundle/report.html",
    ] {
        assert!(run.stdout.contains(said), "no '{said}' in {run:#?}");
    }
    let host = own_host().to_lowercase();
    let mut words: Vec<&str> = WORDS.to_vec();
    // A name such as "build" is a word of the page as well; the test's own machine may have it.
    if run.stdout.contains(&format!("replaced {host} by")) && host.len() >= 8 {
        words.push(&host);
    }
    let files = files(&bundle);
    assert!(files.len() >= 12 + 5, "{files:?}");
    for file in &files {
        let bytes = fs::read(file).expect("a file");
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let name = file.strip_prefix(&bundle).expect("it is below");
        let name = name.display().to_string().to_lowercase();
        for word in &words {
            assert!(!text.contains(word), "{word} stands in {name}");
            assert!(!name.contains(word), "{word} stands in the name {name}");
        }
    }
    let trials: Vec<String> = files
        .iter()
        .filter(|file| {
            file.parent()
                .is_some_and(|folder| folder.ends_with("trials"))
        })
        .map(|file| file.display().to_string())
        .collect();
    assert_eq!(trials.len(), 12);
    let mut judge = vec!["judge".to_owned(), "--json".to_owned()];
    judge.extend(trials);
    let judged = triathlon(&judge).expect_code(0);
    assert_eq!(judged.stdout.lines().count(), 12);
    // The page of the bundle is the one in it; and a bundle of a bundle is the same.
    let page = out.path().join("page.html").display().to_string();
    triathlon(["report", &to, "--html", &page]).expect_code(0);
    let html = fs::read_to_string(&page).expect("a page");
    assert_eq!(
        html,
        fs::read_to_string(bundle.join("report.html")).expect("a page")
    );
    assert!(html.contains("user-1s-race") && html.contains("net.core.somaxconn"));
    let again = out.path().join("again").display().to_string();
    triathlon(["report", &to, "--publish", &again]).expect_code(0);
    for file in &files {
        let name = file.strip_prefix(&bundle).expect("it is below");
        let other = fs::read(Path::new(&again).join(name)).expect("the same file");
        assert!(other == fs::read(file).expect("a file"), "{name:?} differs");
    }
}

#[test]
fn single_trials_are_published_and_nothing_is_written_over() {
    let results = results();
    let out = tempfile::tempdir().expect("a folder");
    let trial = |number: u32| {
        let name = format!("trials/{number:05}-zaphod.json");
        results.path().join(name).display().to_string()
    };
    let bundle = out.path().join("bundle").display().to_string();
    triathlon(["report", &trial(0), &trial(1), "--publish", &bundle]).expect_code(0);
    let mut names: Vec<String> = files(Path::new(&bundle))
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["00000-user-1.json", "00001-user-1.json", "report.html"]
    );
    triathlon(["report", &trial(0), "--publish", &bundle])
        .expect_code(2)
        .expect_complaint(&["--publish", "new or empty"]);
    let folder = results.path().display().to_string();
    let other = out.path().join("other").display().to_string();
    triathlon(["report", &folder, &folder, "--publish", &other])
        .expect_code(2)
        .expect_complaint(&["--publish", "one results folder"]);
}
