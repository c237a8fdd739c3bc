//! Users of an experiment, from the door: what they did in another program's log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use model::Trial;

use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::triathlon;
use crate::support::stub::{RIGHT, Stub, read_head, send};

const EXPERIMENT: &str = "
    [experiment]
    name = 'session'
    question = '?'
    rounds = 1
    duration = '200ms'
    warmup = '20ms'
    [[server]]
    url = 'URL'
    label = 'nginx'
    [[workload]]
    name = 'page and pictures'
    requests_per_connection = 9
    [[workload.request]]
    name = 'page'
    path = '/page'
    [[workload.request]]
    name = 'picture'
    path = '/picture'
    [load]
    users = 12
    ramp = '50ms'
    sources = 5
    variables = { word = { random = [1, 1000] } }
    [[load.step]]
    get = 'page'
    [[load.step]]
    wait = 'uniform:0ms-2ms'
    [[load.step]]
    repeat = 7
    get = 'picture'
    [[load.step]]
    name = 'search'
    get = '/search?q=${word}'
";

/// The trials of the only execution, the ceiling apart.
fn trials(results: &Path) -> Vec<Trial> {
    let entries = |path: PathBuf| {
        let entries = fs::read_dir(path).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.collect::<Vec<_>>()
    };
    let execution = entries(results.join("session"))
        .pop()
        .expect("an execution");
    let trials = entries(execution.join("trials")).into_iter().map(|path| {
        let text = fs::read_to_string(path).expect("a trial");
        serde_json::from_str::<Trial>(&text).expect("a trial is JSON")
    });
    let is_ceiling = |trial: &Trial| trial.point.as_ref().is_some_and(|point| point.ceiling);
    trials.filter(|trial| !is_ceiling(trial)).collect()
}

/// Runs an experiment as quickly as can be, for its trials.
fn trials_of(experiment: &str) -> Vec<Trial> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.toml");
    fs::write(&file, experiment).expect("a file");
    let results = folder.path().join("results");
    let (file, results_text) = (file.display().to_string(), results.display().to_string());
    let words = ["repeats=0", "calm=0s", "--results", &results_text];
    let flags = words.into_iter().chain(["--no-lock", "--hiccups", "0s"]);
    triathlon(["lab", &file].into_iter().chain(flags)).expect_measured();
    trials(&results)
}

#[test]
fn nginx_logs_as_many_requests_of_each_step_as_the_record_of_a_lab_has() {
    let test = "nginx_logs_as_many_requests_of_each_step_as_the_record_of_a_lab_has";
    let Some([program]) = need(test, ["nginx"]) else {
        return;
    };
    let nginx = Nginx::start_naming(&program);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.toml");
    fs::write(&file, EXPERIMENT.replace("URL", &nginx.url(""))).expect("a file");
    let results = folder.path().join("results");
    let (file, results_text) = (file.display().to_string(), results.display().to_string());
    let words = ["repeats=0", "calm=0s", "--results", &results_text];
    let flags = words.into_iter().chain(["--no-lock", "--hiccups", "0s"]);
    let run = triathlon(["lab", &file].into_iter().chain(flags)).expect_measured();
    for words in ["each request", "GET page", "GET picture", "search"] {
        assert!(run.stdout.contains(words), "{words}: {run:#?}");
    }
    let trials = trials(&results);
    assert!(!trials.is_empty(), "{run:#?}");
    let lines = nginx.quit_and_tell_addresses();
    for trial in &trials {
        check(trial, &lines);
    }
}

/// No two trials have a source address in common: what came from its own is that trial.
fn check(trial: &Trial, lines: &[(String, String)]) {
    let record = &trial.record;
    assert_eq!(record.total.outcomes.failures(), 0, "{record:#?}");
    let sources: BTreeSet<String> = trial.plan.sources.iter().map(ToString::to_string).collect();
    let mut logged: BTreeMap<String, u64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (address, path) in lines {
        if sources.contains(address) {
            *logged.entry(path.clone()).or_default() += 1;
            seen.insert(address.clone());
        }
    }
    assert_eq!(seen, sources);
    let names: Vec<&str> = record.classes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["GET page", "GET picture", "search"]);
    let in_window: u64 = record.classes.iter().map(|one| one.sent).sum();
    assert_eq!(in_window, record.total.sent);
    let beside = [
        &record.reference_phase,
        &record.warmup_phase,
        &record.drain_phase,
    ];
    let beside: u64 = beside.iter().map(|phase| phase.sent).sum();
    let paths = ["/page", "/picture", "/search"];
    assert_eq!(
        paths.iter().map(|path| logged[*path]).sum::<u64>(),
        in_window + beside,
        "{logged:?}, {record:#?}"
    );
    for (path, class) in paths.iter().zip(&record.classes) {
        // On a busy machine a short window may hold none of the last step.
        let sent = class.sent;
        assert!(logged[*path] >= sent, "{sent} of {path}: {logged:?}");
    }
    // Seven pictures belong to each page, but for the fetches before the run, two of each, and for
    // twelve users in the middle of theirs.
    let (pages, pictures) = (logged["/page"], logged["/picture"]);
    let (least, most) = ((pages - 14) * 7, pages * 7);
    assert!((least..=most).contains(&pictures), "{logged:?}");
}

/// Users who read a page with its parts, over several connections each.
const READERS: &str = "
    [experiment]
    name = 'session'
    question = '?'
    rounds = 1
    duration = '500ms'
    warmup = '20ms'
    [[server]]
    url = 'URL'
    [[workload]]
    name = 'page and parts'
    [[workload.request]]
    name = 'page'
    path = '/page'
    [[workload.request]]
    name = 'style'
    path = '/style'
    [[workload.request]]
    name = 'picture'
    path = '/picture'
    [load]
    users = 4
    user_connections = 2
    sources = 2
    [[load.step]]
    get = 'page'
    [[load.step]]
    parts = [{ get = 'style' }, { get = 'picture' }, { get = '/late' }]
    [[load.step]]
    wait = '1ms'
";

/// Each part of a page was asked of another program as often as the page itself.
#[test]
fn users_of_a_lab_fetch_each_part_of_a_page() {
    let test = "users_of_a_lab_fetch_each_part_of_a_page";
    let Some([program]) = need(test, ["nginx"]) else {
        return;
    };
    let nginx = Nginx::start_naming(&program);
    let trials = trials_of(&READERS.replace("URL", &nginx.url("")));
    assert!(!trials.is_empty());
    let lines = nginx.quit_and_tell_addresses();
    let mut most = 0;
    for trial in &trials {
        let (plan, record) = (&trial.plan, &trial.record);
        let script = plan.script.as_ref().expect("users follow one");
        assert_eq!(script.user_connections, Some(2));
        assert_eq!(record.total.outcomes.failures(), 0, "{record:#?}");
        let of_it = |wanted: &str| {
            let is_it = |(from, path): &&(String, String)| {
                path == wanted && plan.sources.iter().any(|one| one.to_string() == *from)
            };
            lines.iter().filter(is_it).count()
        };
        let pages = of_it("/page");
        most = most.max(pages);
        for part in ["/style", "/picture", "/late"] {
            // But for the fetches before the run, two of each at most, and for four users in the
            // middle of a page, who may be cut short while they warm up, too.
            let parts = of_it(part);
            assert!(
                (pages.saturating_sub(10)..=pages + 2).contains(&parts),
                "{parts} of {part} with {pages} pages: {record:#?}"
            );
        }
        let page = record.pages.first().expect("users ask for parts");
        assert_eq!((record.pages.len(), page.failed), (1, 0));
    }
    assert!(most > 10, "no trial has enough pages to tell: {most}");
}

/// Users who each say who they are, and wait a little before they begin again.
const RAMP: &str = "
    [experiment]
    name = 'session'
    question = '?'
    rounds = 1
    duration = '100ms'
    warmup = '20ms'
    [[server]]
    url = 'URL'
    [[workload]]
    name = 'page'
    [[workload.request]]
    name = 'page'
    path = '/page'
    [load]
    users = 12
    ramp = '1s'
    variables = { who = { counter = 1, once = true } }
    [[load.step]]
    get = 'page'
    [[load.step]]
    get = '/user?n=${who}'
    [[load.step]]
    wait = 'uniform:1ms-20ms'
";

/// The second of those, and an eighth of it.
const EIGHTH: Duration = Duration::from_millis(125);

/// When, from where and for what a server was asked, in order.
type Asked = Arc<Mutex<Vec<(Instant, IpAddr, String)>>>;

/// When each user of a lab with that ramp asked first, as the server saw it, and how often users
/// had asked before the last of them came. Whoever asked first may have been asked for before the
/// run, and is left out.
fn first_requests() -> (Vec<Instant>, usize) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let stub = Stub::start_raw(move |mut stream, _| {
        let Ok(peer) = stream.peer_addr() else { return };
        while let Some(head) = read_head(&mut stream) {
            let head = String::from_utf8_lossy(&head);
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let all = &mut noted.lock().expect("a list");
            all.push((Instant::now(), peer.ip(), path));
            send(&mut stream, RIGHT);
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.toml");
    let url = format!("http://{}", stub.address());
    fs::write(&file, RAMP.replace("URL", &url)).expect("a file");
    let results = folder.path().join("results");
    let (file, results_text) = (file.display().to_string(), results.display().to_string());
    let words = ["repeats=0", "calm=0s", "--results", &results_text];
    let flags = words.into_iter().chain(["--no-lock", "--hiccups", "0s"]);
    let run = triathlon(["lab", &file].into_iter().chain(flags)).expect_measured();
    let trials = trials(&results);
    let first = |trial: &&Trial| trial.point.as_ref().is_some_and(|point| point.attempt == 0);
    let trial = trials.iter().find(first);
    let trial = trial.unwrap_or_else(|| panic!("{run:#?}"));
    let asked = asked.lock().expect("a list");
    let of_it = asked.iter().filter(|(_, from, path)| {
        trial.plan.sources.contains(from) && path.starts_with("/user?n=")
    });
    let mut firsts: BTreeMap<&str, Instant> = BTreeMap::new();
    for (at, _, path) in of_it.clone() {
        firsts.entry(path).or_insert(*at);
    }
    assert!(firsts.len() <= 12, "{firsts:?}");
    let mut firsts: Vec<Instant> = firsts.into_values().collect();
    firsts.sort_unstable();
    let last = firsts.last().copied();
    let before = of_it.filter(|(at, ..)| last.is_some_and(|last| *at < last));
    let before = before.count();
    (firsts.split_off(1.min(firsts.len())), before)
}

#[test]
fn users_of_a_lab_come_one_after_another_over_the_ramp() {
    let test = "users_of_a_lab_come_one_after_another_over_the_ramp";
    let Some([]) = need(test, []) else { return };
    // A machine that stands still for as long as the ramp shows nothing.
    let mut tries = (0..5).map(|_| first_requests());
    let is_spread = |(firsts, before): (Vec<Instant>, usize)| {
        let eighths = firsts.iter().map(|at| {
            let after = *at - firsts[0];
            after.as_nanos() / EIGHTH.as_nanos()
        });
        // All twelve came, and not at once: those who came early had asked again and again.
        firsts.len() == 11 && eighths.collect::<BTreeSet<_>>().len() >= 4 && before >= 2 * 12
    };
    assert!(tries.any(is_spread), "they come at once");
}

const COMING: &str = "
    [experiment]
    name = 'session'
    question = '?'
    rounds = 1
    duration = '200ms'
    warmup = '0s'
    [[server]]
    product = 'origin'
    [[workload]]
    name = 'page'
    [[workload.request]]
    name = 'page'
    body = { bytes = 7 }
    [load]
    users = 100
    user_stages = ['5s:=100', '5s:=300']
    user_arrivals = 'fixed'
    [[load.step]]
    get = 'page'
    [[load.step]]
    get = 'page'
";

#[test]
fn users_of_an_experiment_come_by_stages() {
    let trials = trials_of(COMING);
    assert!(!trials.is_empty());
    for trial in &trials {
        let lengths: Vec<u64> = trial
            .plan
            .stages
            .iter()
            .map(|one| one.length.as_ns())
            .collect();
        assert_eq!(lengths, [100_000_000, 100_000_000]);
        let users = trial.record.users.as_ref().expect("they come");
        // Forty in the window, and those who came while it settled, at the first rate.
        let settling = trial.plan.warmup.as_ns() / 10_000_000;
        let all = 40 + settling;
        assert!(
            (all - 1..=all + 1).contains(&users.came),
            "{settling} {users:?}"
        );
        assert_eq!(trial.record.total.outcomes.failures(), 0);
    }
}
