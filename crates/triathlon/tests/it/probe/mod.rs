//! `triathlon probe` from outside: what it refuses, what it leaves behind, and whether a program
//! by a stranger reads the same of the kernel.

mod foreign;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use model::probe::ProbeResult;

use crate::support::process::{Running, program, triathlon};
use crate::support::{need, wait_until};

fn probe(arguments: &[&str], results: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .arg("probe")
        .args(arguments)
        .arg("--results")
        .arg(results)
        .stdin(Stdio::null());
    command
}

/// The only folder in `results`.
fn folder(results: &Path) -> std::path::PathBuf {
    let mut folders = fs::read_dir(results)
        .expect("results")
        .map(|entry| entry.expect("an entry").path());
    let folder = folders.next().expect("one folder");
    assert_eq!(folders.next(), None);
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.sort();
    names
}

fn read(folder: &Path, name: &str) -> ProbeResult {
    let text = fs::read_to_string(folder.join(name)).expect("a result");
    serde_json::from_str(&text).expect("a result is JSON")
}

#[test]
fn a_list_names_every_probe_and_variant() {
    let list = triathlon(["probe", "--list"]).expect_code(0).stdout;
    for name in [
        "socket",
        "bind:2003-11",
        "fork-static",
        "io-uring",
        "download:fragmented",
    ] {
        assert!(list.contains(name), "{name} in {list}");
    }
}

#[test]
fn what_is_not_there_or_too_much_is_refused_in_a_sentence() {
    let results = tempfile::tempdir().expect("a folder");
    let below = results.path().join("results/probe");
    let run = |arguments: &[&str]| {
        Running::start(&mut probe(arguments, &below))
            .finish()
            .expect_code(2)
    };
    run(&["sokcet"]).expect_complaint(&["no probe 'sokcet'", "did you mean 'socket'"]);
    run(&["bind", "--population", "4000000000"])
        .expect_complaint(&["bound sockets", "the largest is --population"]);
    run(&["connect", "--url", "https://example.org/"]).expect_complaint(&["https"]);
    assert!(names(results.path()).is_empty());
}

#[test]
fn a_run_leaves_results_and_a_report_and_nothing_else() {
    let results = tempfile::tempdir().expect("a folder");
    let arguments = [
        "pipe",
        "request:close",
        "--population",
        "150",
        "--passes",
        "3",
    ];
    let run = Running::start(&mut probe(&arguments, results.path()))
        .finish()
        .expect_code(0);
    let folder = folder(results.path());
    assert_eq!(
        names(&folder),
        ["pipe.json", "report.html", "request-close.json"],
        "{run:?}"
    );
    let pipe = read(&folder, "pipe.json");
    assert_eq!(pipe.passes.len(), 3);
    assert_eq!(pipe.series_names(), ["pipe", "byte"]);
    assert_eq!(pipe.points("byte")[2].len(), 150);
    let request = read(&folder, "request-close.json");
    assert_eq!(request.points("request")[0].len(), 75, "{request:?}");
    let shown = triathlon([
        "compare",
        &folder.display().to_string(),
        &folder.join("pipe.json").display().to_string(),
        "--html",
        &results.path().join("both.html").display().to_string(),
    ])
    .expect_code(0);
    assert!(shown.stdout.contains("pipe byte"), "{shown:?}");

    // The page can be made again from what was stored.
    let page = folder.join("report.html");
    let first = fs::read_to_string(&page).expect("a page");
    fs::remove_file(&page).expect("it can go");
    triathlon(["report", &folder.display().to_string()]).expect_code(0);
    let again = fs::read_to_string(&page).expect("a page");
    assert_eq!(again.len(), first.len(), "the same but for the order");
    assert!(again.contains("pipe byte"));
    triathlon(["report", &folder.display().to_string(), "--csv", "x.csv"])
        .expect_code(1)
        .expect_complaint(&["--csv", "JSON"]);
}

#[test]
fn without_a_compiler_the_others_are_measured() {
    let results = tempfile::tempdir().expect("a folder");
    let empty = tempfile::tempdir().expect("a folder without programs");
    let arguments = [
        "pipe",
        "fork-static",
        "--population",
        "150",
        "--passes",
        "1",
    ];
    let mut command = probe(&arguments, results.path());
    // Nor is there a cache from a time when there was one.
    command
        .env("PATH", empty.path())
        .env("HOME", empty.path())
        .env_remove("XDG_CACHE_HOME");
    let run = Running::start(&mut command).finish().expect_code(0);
    let why = "fork-static: there is no C compiler";
    assert!(
        run.stdout.contains(why) && run.stderr.contains(why),
        "{run:?}"
    );
    assert!(run.stdout.contains("apt install gcc"), "{run:?}");
    let folder = folder(results.path());
    assert_eq!(read(&folder, "pipe.json").passes.len(), 1);
    assert!(read(&folder, "fork-static.json").passes.is_empty());
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_ends_all_it_started() {
    let results = tempfile::tempdir().expect("a folder");
    let arguments = ["pipe", "context-switch", "--passes", "100"];
    let mut run = Running::start(&mut probe(&arguments, results.path()));
    wait_until("a first result is there", || {
        assert!(!run.ended(), "{}", run.stderr());
        let found = fs::read_dir(results.path()).expect("results").next();
        found.is_some_and(|entry| {
            let folder = entry.expect("an entry").path();
            folder.join("context-switch.json").is_file()
        })
    });
    run.signal("INT");
    let pid = run.pid();
    run.finish().expect_code(130);
    let folder = folder(results.path());
    assert_eq!(
        names(&folder),
        ["context-switch.json", "pipe.json", "report.html"]
    );
    assert!(!read(&folder, "pipe.json").passes.is_empty());
    let mark = results.path().display().to_string();
    for process in fs::read_dir("/proc").expect("/proc") {
        let path = process.expect("an entry").path();
        let line = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        assert!(
            !line.contains(&mark),
            "{} outlived {pid}: {line}",
            path.display()
        );
    }
}

/// A stranger's passes: population and cost.
fn strange(program: &Path, what: &str, population: usize) -> Vec<(u32, f64)> {
    let run = Running::start(
        Command::new(program)
            .arg(what)
            .arg(population.to_string())
            .stdin(Stdio::null()),
    )
    .finish()
    .expect_code(0);
    let points: Vec<(u32, f64)> = (1..)
        .zip(run.stdout.lines())
        .map(|(n, line)| (n, line.parse().expect("a number")))
        .collect();
    assert_eq!(points.len(), population, "{run:?}");
    points
}

fn median(passes: &[Vec<(u32, f64)>]) -> f64 {
    let mut costs: Vec<f64> = passes.iter().flatten().map(|(_, cost)| *cost).collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

/// Medians within a factor of two and no contradicting class. Other work on the machine may spoil
/// an attempt, never three.
#[test]
fn a_program_by_a_stranger_reads_the_same() {
    let name = "probe::a_program_by_a_stranger_reads_the_same";
    let Some([cc]) = need(name, ["cc"]) else {
        return;
    };
    let place = tempfile::tempdir().expect("a folder");
    let program = place.path().join("stranger");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/probe/stranger.c");
    let compiled = Command::new(cc)
        .args(["-O2", "-o"])
        .arg(&program)
        .arg(source)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    for (what, probe, series, population) in [
        ("socket", "socket:2003-10", "socket", 5_000),
        ("bind", "bind:2003-10", "bind", 5_000),
        ("fork", "fork", "fork", 2_000),
        ("mmap", "mmap", "mmap", 10_000),
    ] {
        let mut told = String::new();
        let agreed = (0..3).any(|_| {
            let (agreed, sentence) = agree(&program, what, probe, series, population);
            told = sentence;
            eprintln!("{told}");
            agreed
        });
        assert!(agreed, "{told}");
    }
}

fn agree(
    program: &Path,
    what: &str,
    name: &str,
    series: &str,
    population: usize,
) -> (bool, String) {
    let results = tempfile::tempdir().expect("a folder");
    let size = population.to_string();
    let arguments = [name, "--population", size.as_str()];
    Running::start(&mut probe(&arguments, results.path()))
        .finish()
        .expect_code(0);
    let folder = folder(results.path());
    let result = read(&folder, &format!("{}.json", name.replace(':', "-")));
    let theirs: Vec<_> = (0..5).map(|_| strange(program, what, population)).collect();
    let ours = result.points(series);
    let ratio = median(&ours) / median(&theirs);
    let growth = verdict::growth::classify(series, &ours);
    let strangers = verdict::growth::classify(series, &theirs);
    let sentence = format!(
        "{what}: median {:.0} ns, the stranger's {:.0} ns, ratio {ratio:.2}; {}, the stranger's {}",
        median(&ours),
        median(&theirs),
        growth.word(),
        strangers.word()
    );
    let agreed = (0.5..=2.0).contains(&ratio) && growth.agrees_with(&strangers);
    (agreed, sentence)
}

/// Two ways of one server that we did not write, which wait differently.
const SERVERS: &str = "\
[experiment]
name = \"two-ways\"
passes = 1
[[probe]]
name = \"request\"
variant = \"keep-alive\"
population = 300
[[probe]]
name = \"request\"
population = 300
server = { product = \"lighttpd\", label = \"poll\", settings = { \"server.event-handler\" = '\"poll\"' } }
[[probe]]
name = \"connect\"
population = 300
server = { product = \"lighttpd\" }
[[published]]
probe = \"request:close@poll\"
then = \"O(n)\"
[[asked]]
demand = \"How many connections?\"
show = \"population\"
probe = \"connect@lighttpd\"
";

#[test]
fn servers_of_the_lab_are_asked_as_an_experiment_writes_them() {
    let Some(_) = need("probes of lighttpd", ["lighttpd"]) else {
        return;
    };
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("two-ways.toml");
    fs::write(&file, SERVERS).expect("a file");
    let results = place.path().join("results");
    let arguments = ["--experiment", &file.display().to_string()].map(str::to_owned);
    let arguments = arguments.each_ref().map(String::as_str);
    let run = Running::start(&mut probe(&arguments, &results));
    let done = run.finish().expect_code(0);
    let folder = folder(&results);
    assert_eq!(
        names(&folder),
        [
            "connect-lighttpd.json",
            "experiment.toml",
            "report.html",
            "request-close-poll.json",
            "request-keep-alive-poll.json",
            "request-keep-alive.json",
        ],
        "{done:?}"
    );
    for (name, server, way) in [
        ("connect-lighttpd.json", "tuned", "epoll"),
        (
            "request-close-poll.json",
            "server.event-handler = \"poll\"",
            "poll or select",
        ),
        (
            "request-keep-alive-poll.json",
            "server.event-handler = \"poll\"",
            "poll or select",
        ),
    ] {
        let result = read(&folder, name);
        assert_eq!(result.passes.len(), 1, "{result:?}");
        assert!(
            result.facts["server"].starts_with("lighttpd/"),
            "{result:?}"
        );
        assert!(result.facts["server"].ends_with(server), "{result:?}");
        assert_eq!(result.facts["waits by"], way, "{result:?}");
    }
    let own = read(&folder, "request-keep-alive.json");
    assert_eq!(own.facts["server"], "origin, one worker");
    assert!(
        ["epoll", "io_uring"].contains(&own.facts["waits by"].as_str()),
        "{own:?}"
    );
    let page = fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.contains("request-close-poll request") && page.contains("poll or select"));
}

#[test]
fn a_server_that_no_probe_can_ask_is_refused_with_its_key() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("two-ways.toml");
    let arguments = ["--experiment", &file.display().to_string()].map(str::to_owned);
    let arguments = arguments.each_ref().map(String::as_str);
    let run = |text: &str| {
        fs::write(&file, text).expect("a file");
        Running::start(&mut probe(&arguments, &place.path().join("results"))).finish()
    };
    let wrong = |from: &str, to: &str, said: &[&str]| {
        run(&SERVERS.replacen(from, to, 1))
            .expect_code(2)
            .expect_complaint(said);
    };
    wrong(
        "product = \"lighttpd\", label",
        "product = \"lihgttpd\", label",
        &["probe[1]: server: ", "lighttpd"],
    );
    wrong(
        "server.event-handler",
        "server.event handler",
        &["probe[1]: server: "],
    );
    wrong(
        "name = \"connect\"",
        "name = \"socket\"",
        &["probe[2]: server: ", "'socket' asks no server"],
    );
    wrong("label = \"poll\"", "label = \"a/b\"", &["'a/b'", "label"]);
    wrong(
        "probe = \"request:close@poll\"",
        "probe = \"request:close@pol\"",
        &["did you mean 'request:close@poll'"],
    );
}

#[test]
fn a_server_is_named_on_the_command_line() {
    let Some(_) = need("probes of nginx", ["nginx"]) else {
        return;
    };
    let results = tempfile::tempdir().expect("a folder");
    let arguments = ["connect@nginx", "--population", "150", "--passes", "1"];
    let run = Running::start(&mut probe(&arguments, results.path()))
        .finish()
        .expect_code(0);
    let result = read(&folder(results.path()), "connect-nginx.json");
    assert_eq!(result.facts["waits by"], "epoll", "{run:?}");
    let refused = |name: &str, said: &[&str]| {
        let arguments = [name, "--url", "http://127.0.0.1:1/"];
        Running::start(&mut probe(&arguments, results.path()))
            .finish()
            .expect_code(2)
            .expect_complaint(said);
    };
    refused("connect@nginx", &["--url", "give one"]);
    refused("socket", &["--url", "ask no server"]);
    let run = |name: &str| {
        Running::start(&mut probe(&[name], results.path()))
            .finish()
            .expect_code(2)
    };
    run("connect@ngnix").expect_complaint(&["did you mean 'nginx'"]);
    run("bind:ipv6@nginx").expect_complaint(&["'bind' asks no server"]);
}
