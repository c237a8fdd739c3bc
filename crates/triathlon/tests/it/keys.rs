//! The keys of experiments, each proven by what passes between generator and server.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use model::coding::Coding;
use model::plan::Arrivals;
use model::{Outcome, Span, Trial};

use crate::lab::files;
use crate::support::need;
use crate::support::process::{Run, triathlon};
use crate::support::stub::{RIGHT, Stub, read_head, send};

/// Runs an experiment of `servers` with more in `[load]`, and returns the trials of its servers.
fn measured(servers: &str, workload: &str, load: &str) -> Vec<Trial> {
    measured_for("400ms", servers, workload, load)
}

fn measured_for(duration: &str, servers: &str, workload: &str, load: &str) -> Vec<Trial> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("results");
    let run = run(
        folder.path(),
        &results,
        duration,
        &[servers, workload, load],
    );
    assert!(files(&results, "gaps").is_empty(), "{run:#?}");
    let read = |path| fs::read_to_string(path).expect("a readable trial");
    let trials = files(&results, "trials").into_iter().map(read);
    let trials = trials.map(|text| serde_json::from_str(&text).expect("a trial"));
    // What was disturbed is measured again.
    let is_server = |trial: &Trial| {
        let point = trial.point.as_ref().expect("a point");
        !point.ceiling && point.attempt == 0
    };
    trials.filter(is_server).collect()
}

/// Windows for one try after the other, where each ends after so many requests: a slow machine may
/// not come to them before a window ends with its time. That of the ceiling always does, so none is
/// long from the first.
const WINDOWS: [&str; 5] = ["1s", "2s", "4s", "16s", "45s"];

/// The same where a few hundred answers tell enough.
const SHORT_WINDOWS: [&str; 5] = ["100ms", "400ms", "1600ms", "6400ms", "20s"];

/// Whether each server answered so many.
fn all_answered(trials: &[Trial], requests: u64) -> bool {
    let mut trials = trials.iter();
    trials.all(|trial| trial.record.total.outcomes[Outcome::Ok] >= requests)
}

fn run(folder: &Path, results: &Path, duration: &str, tables: &[&str; 3]) -> Run {
    measure(folder, results, duration, tables).expect_measured()
}

/// The same, whatever comes of it.
fn measure(folder: &Path, results: &Path, duration: &str, tables: &[&str; 3]) -> Run {
    let [servers, workload, load] = tables;
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"?\"\nrounds = 1\nwarmup = \"20ms\"\n\
         duration = \"{duration}\"\n{servers}\n[[workload]]\nname = \"w\"\n{workload}\n\
         [load]\nconnections = 4\n{load}\n"
    );
    let file = folder.join("mine.toml").display().to_string();
    fs::write(&file, text).expect("a file");
    let place = results.display().to_string();
    let words = [
        "repeats=0",
        "calm=0s",
        "--hiccups",
        "0s",
        "--results",
        &place,
    ];
    triathlon(["lab", "--no-lock", &file].into_iter().chain(words))
}

const FILE: &str = "body = { bytes = 7 }";

/// Right answers on a connection that the server closed.
fn answers_per_closed(trial: &Trial) -> f64 {
    let total = &trial.record.total;
    assert_eq!(total.outcomes.failures(), 0, "{:?}", trial.point);
    let closed = total.connections.closed_by_server;
    let right = total.outcomes[Outcome::Ok];
    right as f64 / closed.max(1) as f64
}

/// The server closes after ten, whoever's limit it is and however it is written.
#[test]
fn a_limit_of_requests_is_kept_by_each_server_on_the_wire() {
    const LIMIT: u64 = 10;
    let programs = ["nginx", "apache2", "lighttpd"];
    if need(
        "a_limit_of_requests_is_kept_by_each_server_on_the_wire",
        programs,
    )
    .is_none()
    {
        return;
    }
    let keys = [
        ("nginx", "keep_alive = { requests = 10 }"),
        ("nginx", "settings = { keepalive_requests = 10 }"),
        // These allow one more than they say.
        ("apache", "keep_alive = { requests = 9 }"),
        ("apache", "settings = { MaxKeepAliveRequests = 9 }"),
        ("lighttpd", "keep_alive = { requests = 9 }"),
    ];
    let server = |(product, key): (&str, &str)| {
        let (word, _) = key.split_once(' ').expect("a key and its value");
        format!("[[server]]\nproduct = \"{product}\"\nlabel = \"{product} {word}\"\n{key}\n")
    };
    let servers = keys.map(server).concat();
    // Connections that the window's ends cut are counted on one side alone, so a machine that was
    // busy with something else tells nothing.
    let mut tries = SHORT_WINDOWS
        .iter()
        .map(|window| measured_for(window, &servers, FILE, ""));
    let trials = tries
        .find(|trials| all_answered(trials, LIMIT * 8))
        .expect("a machine with time for servers");
    assert_eq!(trials.len(), keys.len());
    for trial in &trials {
        let server = &trial.point.as_ref().expect("a point").id.server;
        let each = answers_per_closed(trial);
        let error = (each / LIMIT as f64 - 1.0).abs();
        assert!(error < 0.25, "{server}: {each} on each connection");
    }
}

#[test]
fn no_limit_of_requests_is_none_on_the_wire() {
    let programs = ["nginx", "apache2", "lighttpd"];
    if need("no_limit_of_requests_is_none_on_the_wire", programs).is_none() {
        return;
    }
    let servers = ["nginx", "apache", "lighttpd"].map(|product| {
        format!(
            "[[server]]\nproduct = \"{product}\"\npreset = \"stock\"\n\
             keep_alive = {{ requests = [0, 20] }}\n"
        )
    });
    // A machine may be too busy to come to the limit on any of four connections.
    let mut tries = SHORT_WINDOWS
        .iter()
        .map(|window| measured_for(window, &servers.concat(), FILE, ""));
    let trials = tries
        .find(|trials| all_answered(trials, 200))
        .expect("a machine with time for servers");
    assert_eq!(trials.len(), 2 * servers.len());
    for trial in &trials {
        let label = &trial.point.as_ref().expect("a point").id.server;
        let closed = trial.record.total.connections.closed_by_server;
        assert_eq!(
            closed == 0,
            label.ends_with("without limit"),
            "{label}: {closed}"
        );
    }
}

/// Products whose folders state no limit keep a connection for longer than any server that has one
/// as it comes, and none can be set.
#[test]
fn a_product_that_states_no_limit_of_requests_has_none_on_the_wire() {
    const ASKED: u64 = 4 * 1_100;
    let name = "a_product_that_states_no_limit_of_requests_has_none_on_the_wire";
    let programs = ["h2o", "haproxy", "caddy", "traffic_server"];
    if need(name, programs).is_none() {
        return;
    }
    let products = ["caddy", "h2o", "haproxy", "origin", "trafficserver"];
    let server = |product: &str| {
        let servers = ["stock", "tuned"]
            .map(|preset| format!("[[server]]\nproduct = \"{product}\"\npreset = \"{preset}\"\n"));
        servers.concat()
    };
    let servers = products.map(server).concat();
    let load = format!("requests = {ASKED}");
    let mut tries = WINDOWS
        .iter()
        .map(|window| measured_for(window, &servers, FILE, &load));
    let trials = tries
        .find(|trials| all_answered(trials, ASKED))
        .expect("a machine with time for servers");
    let mut seen: Vec<&str> = Vec::new();
    for trial in &trials {
        let server = trial.context.server.as_ref().expect("a server");
        let product = server.product.as_str();
        let total = &trial.record.total;
        assert_eq!(total.outcomes[Outcome::Ok], ASKED, "{product}");
        assert_eq!(total.outcomes.failures(), 0, "{product}");
        assert_eq!(total.connections.closed_by_server, 0, "{product}");
        assert_eq!(total.close_announced, 0, "{product}");
        seen.push(product);
    }
    seen.sort_unstable();
    // Each in both presets.
    let expected = products.map(|product| [product; 2]);
    assert_eq!(seen, expected.as_flattened());
    for product in products {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let results = folder.path().join("results");
        let limited =
            format!("[[server]]\nproduct = \"{product}\"\nkeep_alive = {{ requests = 10 }}\n");
        let why = format!("{product} has no limit of requests on a connection that could be set");
        measure(folder.path(), &results, "100ms", &[&limited, FILE, ""])
            .expect_code(2)
            .expect_complaint(&[&why]);
    }
}

/// A window ends with its requests, or with its time where these take longer; what the server
/// logged is what was asked in all.
#[test]
fn a_window_ends_after_so_many_requests() {
    let Some(_) = need("a_window_ends_after_so_many_requests", ["nginx"]) else {
        return;
    };
    let servers = "[[server]]\nproduct = \"nginx\"\naccess_log = \"on\"";
    for (most, ends_with_time) in [(50, false), (1_000_000_000, true)] {
        // A busy machine may not come to fifty before the window ends with its time.
        let tells =
            |trials: &Vec<Trial>| ends_with_time || trials[0].record.total.outcomes.total() >= most;
        let mut tries = (0..5).map(|_| measured(servers, FILE, &format!("requests = {most}")));
        let trials = tries.find(tells).expect("a machine with time for a server");
        assert_eq!(trials.len(), 1);
        let trial = &trials[0];
        assert_eq!(trial.plan.count(), Some(most));
        let record = &trial.record;
        let asked = record.total.outcomes.total();
        if ends_with_time {
            assert_eq!(record.window, Span::from_ms(400));
        } else {
            assert_eq!(asked, most);
            assert!(record.window < Span::from_ms(400), "{}", record.window);
        }
        let phases = [&record.warmup_phase, &record.total, &record.drain_phase];
        let sent: u64 = phases.iter().map(|phase| phase.sent).sum();
        let server = trial.context.server.as_ref().expect("a server");
        let logged = server.access_log_lines.expect("it writes a log");
        // The server was asked before the trial: whether it is ready, and for the right answer.
        assert!((1..=4).contains(&(logged - sent)), "{logged}: {record:?}");
    }
}

/// What a log that is written now and then may keep back: a buffer of 64 KiB, of lines that have 50
/// bytes at least.
const KEPT_BACK: u64 = (64 << 10) / 50;

/// A log that is written line by line costs one call for each line, and a buffered one few.
/// lighttpd is no witness: it writes several lines at once wherever several came at once.
fn calls_tell_how_the_log_is_written(trials: &[Trial]) {
    for product in ["nginx", "apache"] {
        let calls = |log: &str| {
            let mut trials = trials.iter();
            let trial = trials.find(|trial| {
                let server = trial.context.server.as_ref().expect("a server");
                (server.product.as_str(), server.access_log.as_str()) == (product, log)
            });
            let trial = trial.expect("a trial");
            let usage = trial.usage.server.as_ref().expect("its usage");
            let exchanges = verdict::summary::exchanges_between_readings(usage, &trial.record);
            let calls = usage.write_calls.expect("the kernel counts calls");
            f64::from(u32::try_from(calls).expect("few")) / exchanges.expect("answers")
        };
        let (off, on, buffered) = (calls("off"), calls("on"), calls("buffered"));
        let what = format!("{product}: off {off}, on {on}, buffered {buffered}");
        assert!((0.5..1.5).contains(&(on - off)), "{what}");
        assert!((buffered - off).abs() < 0.4, "{what}");
    }
}

#[test]
fn access_logs_hold_what_was_asked_and_off_leaves_no_file() {
    let programs = ["nginx", "apache2", "lighttpd"];
    let name = "access_logs_hold_what_was_asked_and_off_leaves_no_file";
    if need(name, programs).is_none() {
        return;
    }
    let mut servers = String::new();
    for product in ["nginx", "apache", "lighttpd"] {
        for log in ["off", "on", "buffered"] {
            servers += &format!("[[server]]\nlabel = \"{product} {log}\"\n");
            servers += &format!("product = \"{product}\"\naccess_log = \"{log}\"\n");
        }
    }
    let trials = measured(&servers, FILE, "");
    assert_eq!(trials.len(), 9);
    calls_tell_how_the_log_is_written(&trials);
    for trial in trials {
        let record = &trial.record;
        let server = trial.context.server.as_ref().expect("a server");
        let what = format!("{} {}", server.product, server.access_log);
        if server.access_log == "off" {
            assert_eq!(server.access_log_lines, None, "{what}");
            continue;
        }
        let phases = [&record.warmup_phase, &record.total, &record.drain_phase];
        let sent: u64 = phases.iter().map(|phase| phase.sent).sum();
        let logged = server.access_log_lines.expect("a log");
        let kept_back = match what.as_str() {
            "nginx on" | "apache on" => 0,
            _ => KEPT_BACK,
        };
        // The server was asked before the trial: whether it is ready, and for the right answer.
        // What was kept back from then is written later, too.
        let possible = sent.saturating_sub(kept_back)..=sent + 4 + kept_back;
        assert!(possible.contains(&logged), "{what}: {logged} of {sent}");
        assert!(logged > 0, "{what}: {logged} of {sent}");
    }
}

/// A user who thinks for longer than a server keeps a connection finds it closed each time, and one
/// whose server is patient never does.
#[test]
fn a_connection_is_kept_for_as_long_as_it_may_be_idle() {
    let programs = ["nginx", "apache2", "lighttpd"];
    let name = "a_connection_is_kept_for_as_long_as_it_may_be_idle";
    if need(name, programs).is_none() {
        return;
    }
    let mut servers = String::new();
    for product in ["nginx", "apache", "lighttpd"] {
        for idle in ["1s", "60s"] {
            servers += &format!("[[server]]\nlabel = \"{product} {idle}\"\n");
            servers += &format!("product = \"{product}\"\nkeep_alive = {{ idle = \"{idle}\" }}\n");
        }
    }
    // lighttpd looks once a second.
    let trials = measured_for("6s", &servers, FILE, "think = \"2500ms\"");
    assert_eq!(trials.len(), 6);
    for trial in trials {
        let server = trial.point.as_ref().expect("a point").id.server.as_str();
        let total = &trial.record.total;
        assert_eq!(total.outcomes.failures(), 0, "{server}");
        // Four users, each of whom thinks twice at least and three times at most.
        let right = total.outcomes[Outcome::Ok];
        assert!((4..=12).contains(&right), "{server}: {right} answers");
        let closed = total.connections.closed_by_server;
        match server.ends_with(" 1s") {
            true => assert!(
                closed + 4 >= right && closed > 0,
                "{server}: {closed} of {right}"
            ),
            false => assert_eq!(closed, 0, "{server}"),
        }
    }
}

/// A server that notes who asks it.
fn listener() -> (Stub, Arc<Mutex<BTreeSet<IpAddr>>>) {
    let peers = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&peers);
    let stub = Stub::start_raw(move |mut stream, _| {
        if let Ok(peer) = stream.peer_addr() {
            noted.lock().expect("a list").insert(peer.ip());
        }
        while read_head(&mut stream).is_some() {
            send(&mut stream, RIGHT);
        }
    });
    (stub, peers)
}

const PATH: &str = "[[workload.request]]\npath = \"/file\"";

#[test]
fn connections_come_from_as_many_addresses_as_asked() {
    let (stub, peers) = listener();
    let server = format!("[[server]]\nurl = \"http://{}\"", stub.address());
    let workload = format!("requests_per_connection = 1\n{PATH}");
    let trials = measured_for("200ms", &server, &workload, "sources = [3, 40]");
    let mut seen = Vec::new();
    for trial in &trials {
        let point = trial.point.as_ref().expect("a point");
        let asked: BTreeSet<IpAddr> = trial.plan.sources.iter().copied().collect();
        let met = peers.lock().expect("a list");
        let count = asked.intersection(&met).count();
        assert_eq!(count, asked.len(), "every address was used");
        seen.push((
            point.id.value("sources").expect("an axis").to_string(),
            count,
        ));
    }
    seen.sort_unstable();
    assert_eq!(seen, [("3".to_owned(), 3), ("40".to_owned(), 40)]);
}

#[test]
fn a_rate_that_changes_is_offered_stage_by_stage() {
    let server = "[[server]]\nproduct = \"origin\"";
    let load = "mode = \"open\"\narrivals = \"fixed\"\nstages = [\"1s:=200\", \"1s:=2k\"]";
    let trials = measured(server, FILE, load);
    let [trial] = trials.as_slice() else {
        panic!("{}", trials.len());
    };
    let half = trial.record.intervals.len() / 2;
    let due = |intervals: &[model::record::Interval]| -> u64 {
        intervals.iter().map(|interval| interval.tally.due).sum()
    };
    let (calm, busy) = trial.record.intervals.split_at(half);
    let (calm, busy) = (due(calm), due(busy));
    // 200 ms at 200 per second, and 200 ms at 2,000. What a busy machine takes late counts where it
    // is taken.
    assert!((434..=446).contains(&(calm + busy)), "{calm} {busy}");
    assert!(calm <= 42, "{calm} {busy}");
}

/// How long a crowd is felt is looked for from when the schedule says that it has gone.
#[test]
fn a_crowd_that_comes_and_goes_leaves_a_recovery_with_the_trial() {
    let server = "[[server]]\nproduct = \"origin\"";
    let crowd = |stages: &str| {
        let load = format!("mode = \"open\"\narrivals = \"fixed\"\nstages = [{stages}]");
        let trials = measured(server, FILE, &load);
        let [trial] = trials.as_slice() else {
            panic!("{}", trials.len());
        };
        trial.recovery
    };
    // A machine that has no CPU for the quiet day leaves nothing to compare with.
    let mut days = (0..5).filter_map(|_| crowd("\"1s:=500\", \"1s:=5k\", \"2s:=500\""));
    let found = days.next().expect("a crowd");
    // A quarter of 400 ms each for the quiet day and the crowd, and half for what comes after.
    let near = |span: Span, ms: u64| span.as_ns().abs_diff(ms * 1_000_000) <= 20_000_000;
    assert!(near(found.gone, 200), "{found:?}");
    assert!(near(found.watched, 200), "{found:?}");
    assert!(!found.before.is_zero(), "{found:?}");
    assert!(
        found.took.is_none_or(|took| took <= found.watched),
        "{found:?}"
    );
    // One that stays leaves nothing to recover from.
    assert_eq!(crowd("\"1s:=500\", \"1s:=5k\""), None);
}

#[test]
fn the_generator_has_the_threads_and_the_cpus_that_it_is_to_have() {
    let server = "[[server]]\nproduct = \"origin\"";
    let load = "workers = 3\nplacement = [\"apart\", \"shared\"]\nthink = \"1ms\"";
    let trials = measured(server, FILE, load);
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert_eq!(trial.record.workers.len(), 3);
        let point = trial.point.as_ref().expect("a point");
        let place = point.id.value("placement").expect("an axis").to_string();
        let facts = trial.context.server.as_ref().expect("a server");
        let are_equal = trial.plan.cpus == facts.cpus;
        let has_others = sys::cpu::allowed().expect("CPUs").len() > 1;
        assert_eq!(
            are_equal,
            place == "shared" || !has_others,
            "{:?}",
            trial.plan.cpus
        );
        assert!(trial.context.ceiling.is_some() || place == "shared");
        let words = trial.context.cpu_choice.as_deref().unwrap_or_default();
        assert_eq!(
            words.contains("as the experiment asks"),
            place == "shared",
            "{words}"
        );
    }
}

#[test]
fn apache_runs_as_many_threads_as_an_experiment_says() {
    if need(
        "apache_runs_as_many_threads_as_an_experiment_says",
        ["apache2"],
    )
    .is_none()
    {
        return;
    }
    let server = "[[server]]\nproduct = \"apache\"\npreset = \"stock\"\nvariant = \"event\"\n\
                  settings = { StartServers = 3, ServerLimit = 3, ThreadsPerChild = 7, \
                  MaxRequestWorkers = 21, MinSpareThreads = 21, MaxSpareThreads = 21 }";
    for trial in &measured(server, FILE, "think = \"1ms\"") {
        let facts = trial.context.server.as_ref().expect("a server");
        let processes = facts.processes_before.as_ref().expect("processes");
        assert_eq!(processes.len(), 1 + 3, "{facts:?}");
        // Each child has seven workers, a listener and its first thread.
        let threads: u32 = facts.threads.values().sum();
        assert_eq!(threads, 1 + 3 * (7 + 2), "{facts:?}");
    }
}

/// What comes is what the experiment says, byte by byte; and a program behind a server answers it
/// with its own bytes, which are checked.
#[test]
fn a_request_takes_its_content_along() {
    let heads = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&heads);
    let stub = Stub::start_raw(move |mut stream, _| {
        while let Some(head) = read_head(&mut stream) {
            let mut content = [0; 7];
            if stream.read_exact(&mut content).is_err() {
                return;
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let length = head.contains("content-length: 7\r\n");
            let first = head.lines().next().unwrap_or_default().to_owned();
            let content = String::from_utf8_lossy(&content).into_owned();
            noted
                .lock()
                .expect("a list")
                .insert((first, length, content));
            send(&mut stream, RIGHT);
        }
    });
    let server = format!("[[server]]\nurl = \"http://{}\"", stub.address());
    let workload = format!("{PATH}\nmethod = \"POST\"\ncontent = \"a=1&b=2\"");
    let trials = measured(&server, &workload, "think = \"1ms\"");
    assert!(trials[0].record.total.outcomes[Outcome::Ok] > 0);
    let came = ("post /file http/1.1".to_owned(), true, "a=1&b=2".to_owned());
    let heads = heads.lock().expect("a list");
    assert_eq!(*heads, BTreeSet::from([came]));
    if need("a_request_takes_its_content_along", ["lighttpd", "cc"]).is_none() {
        return;
    }
    let server = "[[server]]\nproduct = \"lighttpd\"";
    let workload = format!("{FILE}\nhandler = \"cgi-c\"\nmethod = \"POST\"\ncontent = \"a=1\"");
    check_right(&answered(server, &workload));
}

/// The trials of such a lab, which is run again while a server had no time to answer.
fn answered(servers: &str, workload: &str) -> Vec<Trial> {
    let mut tries = SHORT_WINDOWS
        .iter()
        .map(|window| measured_for(window, servers, workload, "think = \"1ms\""));
    let is_seen = |trial: &Trial| trial.record.total.outcomes.total() > 0;
    let found = tries.find(|trials| trials.iter().all(is_seen));
    found.expect("a machine with time for a server")
}

/// Each trial has right answers, and no others.
fn check_right(trials: &[Trial]) {
    assert!(!trials.is_empty());
    for trial in trials {
        let outcomes = &trial.record.total.outcomes;
        assert!(
            outcomes[Outcome::Ok] > 0 && outcomes.failures() == 0,
            "{:?}: {:?}",
            trial.point,
            trial.record.examples
        );
    }
}

#[test]
fn a_file_that_has_not_changed_is_answered_with_304() {
    let programs = ["nginx", "apache2", "lighttpd"];
    if need("a_file_that_has_not_changed_is_answered_with_304", programs).is_none() {
        return;
    }
    let servers = ["nginx", "apache", "lighttpd", "origin"];
    let servers = servers.map(|product| format!("[[server]]\nproduct = \"{product}\"\n"));
    let workload = format!("[[workload.request]]\n{FILE}\nunchanged = true");
    let trials = answered(&servers.concat(), &workload);
    check_right(&trials);
    let trials = trials.iter();
    let statuses = trials
        .map(|trial| trial.plan.expect.status)
        .collect::<BTreeSet<_>>();
    assert_eq!(statuses, BTreeSet::from([Some(304)]));
}

#[test]
fn what_is_compressed_is_asked_for_and_decoded() {
    let name = "what_is_compressed_is_asked_for_and_decoded";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let servers = "[[server]]\nproduct = \"nginx\"\nlabel = \"compresses\"\n\
                   settings = { gzip = \"on\", gzip_types = \"*\" }\n\
                   [[server]]\nproduct = \"nginx\"\nlabel = \"does not\"";
    let workload = "body = { bytes = \"10k\" }\naccept_encoding = \"gzip\"";
    let trials = answered(servers, workload);
    check_right(&trials);
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        let point = trial.point.as_ref().expect("a point");
        let compresses = point.id.server == "compresses";
        let coding = if compresses {
            Coding::Gzip
        } else {
            Coding::Identity
        };
        let codings = &trial.record.codings;
        let seen: Vec<Coding> = codings.keys().copied().collect();
        assert_eq!(seen, [coding], "{point:?}");
        assert_eq!(
            codings[&coding].answers,
            trial.record.total.outcomes[Outcome::Ok]
        );
        let decoded = trial.record.decoded.map_or(0, |decoded| decoded.answers);
        assert_eq!(decoded > 0, compresses, "{point:?}: {decoded} decoded");
    }
}

/// The server gives so many answers and refuses the others, so the search has an end of its own on
/// any machine.
#[test]
fn a_capacity_is_searched_and_measured_once_more() {
    const GIVES: f64 = 200.0;
    let name = "a_capacity_is_searched_and_measured_once_more";
    let Some([]) = need(name, []) else { return };
    let server = Stub::start_paced(GIVES, 20.0);
    let server = format!("[[server]]\nurl = \"http://{}\"", server.address());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("results");
    let load = "mode = \"capacity\"\nobjective = \"errors<2%\"";
    let run = measure(folder.path(), &results, "200ms", &[&server, PATH, load]);
    let run = run.expect_measured();
    let trial = |path| -> Trial {
        let text = fs::read_to_string(path).expect("a readable trial");
        serde_json::from_str(&text).expect("a trial")
    };
    let trials: Vec<Trial> = files(&results, "trials").into_iter().map(trial).collect();
    let is_ceiling = |trial: &Trial| trial.point.as_ref().is_some_and(|point| point.ceiling);
    let told: Vec<&Trial> = trials.iter().filter(|trial| !is_ceiling(trial)).collect();
    let [trial] = told[..] else {
        panic!("one trial at what was found: {run:#?}");
    };
    assert!(files(&results, "gaps").is_empty(), "{run:#?}");
    // It was measured once more, at the rate that was found.
    let found = trial.context.search.as_ref().expect("what was searched");
    let lower = found.answer.lower().expect("some rate meets it");
    let Arrivals::Poisson { rate_per_1000_s } = trial.plan.arrivals else {
        panic!("{:?}", trial.plan.arrivals)
    };
    assert_eq!(rate_per_1000_s, lower);
    assert_eq!(trial.thresholds.len(), 1);
    // In 0.2 s it gives 40, the twenty of the bucket and one to each of four connections, and 2 %
    // may fail.
    let lower = lower.as_per_second_f64();
    assert!(lower <= 64.0 / 0.2 * 1.03, "{found:#?}");
    // Each trial of the search is stored, and the closed loop that it begins with.
    let searches = files(&results, "searches");
    assert!(found.trials.len() > 5, "{found:#?}");
    assert!(searches.len() > found.trials.len(), "{searches:#?}");
    let folder = searches[0].ancestors().nth(2);
    let folder = folder.expect("the folder of the run");
    let digests = fs::read_to_string(folder.join("SHA256SUMS")).expect("the list");
    let listed = digests.lines().filter(|line| line.contains("  searches/"));
    assert_eq!(listed.count(), searches.len());
}
