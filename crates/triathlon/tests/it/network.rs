//! A lab whose generator and servers stand in network namespaces with a pair of devices between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::Trial;
use sys::namespace::Namespace;

use crate::lab::files;
use crate::support::process::{MEASURED, Run, Running, command};
use crate::support::{find, need, not_run, wait_until};

/// Whether such a lab can run here; says so if not.
pub(crate) fn needs_network(name: &str) -> bool {
    if need(name, ["ip"]).is_none() {
        return false;
    }
    let made = Namespace::create();
    if let Err(error) = &made {
        not_run(
            name,
            &format!("network namespaces are not permitted: {error}"),
        );
    }
    made.is_ok()
}

/// An experiment of `servers` over `network`.
fn experiment(folder: &Path, servers: &[&str], network: &str, duration: &str) -> String {
    let server = |product: &&str| format!("[[server]]\nproduct = \"{product}\"\n");
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"?\"\nrounds = 1\n\
         warmup = \"20ms\"\nduration = \"{duration}\"\n{}\
         [[workload]]\nname = \"w\"\nbody = {{ bytes = 600 }}\n\
         [load]\nconnections = 4\nthink = \"2ms\"\nsources = 3\nnetwork = {network}\n",
        servers.iter().map(server).collect::<String>(),
    );
    let file = folder.join("mine.toml");
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}

/// The lab of an experiment, not started yet.
fn lab(folder: &Path, file: &str, before: &[&str]) -> Command {
    let results = folder.join("results").display().to_string();
    let words = [
        "lab",
        "--no-lock",
        file,
        "repeats=0",
        "calm=0s",
        "--hiccups",
        "0s",
        "--results",
    ];
    let words = words.into_iter().chain([results.as_str()]);
    let mut command = match before {
        [] => command(words),
        [program, more @ ..] => {
            let mut command = Command::new(program);
            let own = crate::support::process::program();
            command.args(more).arg(own).args(words).stdin(Stdio::null());
            command
        }
    };
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).expect("a folder");
    command.env("TMPDIR", temporary);
    command
}

fn trials(folder: &Path) -> Vec<Trial> {
    let read = |path: PathBuf| fs::read_to_string(path).expect("a readable trial");
    let trials = files(&folder.join("results"), "trials")
        .into_iter()
        .map(read);
    trials
        .map(|text| serde_json::from_str(&text).expect("a trial"))
        .collect()
}

fn finish(command: &mut Command) -> Run {
    Running::start(command).finish()
}

/// Counters of the devices of a trial, added up.
fn packets(trial: &Trial, device: &str) -> u64 {
    let counters = &trial.usage.system.as_ref().expect("counters").counters;
    let count = |way: &str| counters.get(&format!("link.{device}.{way}_packets"));
    ["rx", "tx"].into_iter().filter_map(count).sum()
}

/// Whether whoever reads the counters had a CPU near the edges of the window.
fn was_watched(trial: &Trial) -> bool {
    let system = trial.usage.system.as_ref().expect("counters");
    let covered = system.window.as_s_f64() / trial.record.window.as_s_f64();
    (0.8..1.25).contains(&covered)
}

#[test]
fn load_goes_over_the_devices_and_not_over_loopback() {
    if !needs_network("load_goes_over_the_devices_and_not_over_loopback") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut servers = vec!["origin"];
    for (product, program) in [("nginx", "nginx"), ("apache", "apache2")] {
        if find(program).is_some() {
            servers.push(product);
        }
    }
    let both = "[\"loopback\", \"veth\"]";
    // Where the CPUs are busy no answer comes for half a second.
    let file = experiment(folder.path(), &servers, both, "1s");
    let listed = finish(lab(folder.path(), &file, &[]).arg("--list")).expect_code(0);
    let axis = "network     loopback, veth\n";
    assert!(listed.stdout.contains(axis), "{listed:#?}");
    let outside = fs::read_to_string("/proc/net/dev").expect("devices");
    let run = finish(&mut lab(folder.path(), &file, &[])).expect_one_of(MEASURED);
    let gaps = files(&folder.path().join("results"), "gaps");
    assert!(gaps.is_empty(), "{run:#?}");
    let after = fs::read_to_string("/proc/net/dev").expect("devices");
    assert_eq!(after.lines().count(), outside.lines().count());
    let mut seen = BTreeSet::new();
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    for trial in trials(folder.path()) {
        let point = trial.point.as_ref().expect("a point");
        let network = point.id.value("network").expect("an axis").to_string();
        let total = &trial.record.total;
        assert_eq!(total.outcomes.failures(), 0, "{point:?}");
        // A request and its answer are a packet each at least, and not many more.
        let (right, device, other) = match network.as_str() {
            "veth" => (total.outcomes[model::Outcome::Ok], "asks", "lo"),
            _ => (total.outcomes[model::Outcome::Ok], "lo", "asks"),
        };
        // Where CPUs are busy no answer may come within a window.
        *answers.entry(network.clone()).or_insert(0) += right;
        // Loopback counts each packet twice: as sent and as received. Whoever counts may wait for
        // a CPU at an edge of the window, and then counts for a shorter or longer time; and of few
        // exchanges the packets of their connections are a large part.
        let carried = packets(&trial, device) as f64 / (2 * right) as f64;
        let few_times = if device == "lo" { 1.0..8.0 } else { 0.5..4.0 };
        assert!(
            few_times.contains(&carried) || right < 100 || !was_watched(&trial),
            "{device}: {carried} {point:?}"
        );
        assert_eq!(packets(&trial, other), 0, "{point:?}");
        let first = trial.plan.sources.iter().map(|ip| ip.to_string());
        let first: BTreeSet<String> = first.map(|ip| ip[..3].to_owned()).collect();
        let expected = if device == "lo" { "127" } else { "10." };
        assert_eq!(first, BTreeSet::from([expected.to_owned()]));
        let finding = |finding: &&model::Finding| finding.rule == "LNK-02";
        let told = trial.verdict.findings.iter().find(finding);
        let told = told.expect("both ways are told");
        assert_eq!(told.say.contains("virtual Ethernet"), network == "veth");
        if !point.ceiling {
            let facts = trial.context.server.as_ref().expect("a server");
            assert_eq!(facts.listener_is_ours, Some(true), "{facts:?}");
            assert!(facts.listen_backlog.is_some(), "{facts:?}");
            assert!(trial.context.ceiling.is_some(), "{point:?}");
        }
        seen.insert((point.id.server.clone(), network));
    }
    assert_eq!(seen.len(), 2 * (servers.len() + 1), "{seen:?}");
    let is_answered = |network: &str| answers.get(network).is_some_and(|&right| right > 0);
    assert!(
        is_answered("loopback") && is_answered("veth"),
        "{answers:?}"
    );
}

#[test]
fn every_protocol_goes_over_the_devices() {
    if !needs_network("every_protocol_goes_over_the_devices") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let protocols = "\"veth\"\nprotocol = [\"http2\", \"http1-tls\", \"http3\"]";
    let file = experiment(folder.path(), &["origin"], protocols, "200ms");
    let run = finish(&mut lab(folder.path(), &file, &[])).expect_one_of(MEASURED);
    let gaps = files(&folder.path().join("results"), "gaps");
    assert!(gaps.is_empty(), "{run:#?}");
    let all = trials(folder.path());
    for trial in &all {
        let total = &trial.record.total;
        assert_eq!(total.outcomes.failures(), 0, "{:?}", trial.point);
        // What hardly had a CPU sent few, and several answers fit into a packet.
        let right = total.outcomes[model::Outcome::Ok];
        let least = right.min(100) / 8;
        let (asks, lo) = (packets(trial, "asks"), packets(trial, "lo"));
        let is_carried = asks > least || right == 0;
        assert!(is_carried || !was_watched(trial), "{asks}: {total:?}");
        assert_eq!(lo, 0, "{total:?}");
    }
    // Each with its ceiling, but for what is measured again.
    assert!(all.len() >= 6, "{}", all.len());
}

#[test]
fn a_server_that_listens_on_loopback_alone_is_told_what_it_lacks() {
    let name = "a_server_that_listens_on_loopback_alone_is_told_what_it_lacks";
    if !needs_network(name) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = crate::support::process::program();
    let script = folder.path().join("start.sh");
    let text = format!(
        "exec {} serve \"{{site}}\" --listen 127.0.0.1:{{port}} --workers 1\n",
        own
    );
    fs::write(&script, text).expect("a script");
    let custom = format!("custom\"\npreset = \"{}", script.display());
    let file = experiment(folder.path(), &["origin", &custom], "\"veth\"", "200ms");
    finish(&mut lab(folder.path(), &file, &[]));
    let gaps = files(&folder.path().join("results"), "gaps");
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:?}");
    };
    let gap = fs::read_to_string(gap).expect("a row");
    assert!(gap.contains("must listen on {{ address }}"), "{gap}");
}

/// Processes whose network namespace is another one than ours: their folders in /proc.
fn elsewhere(parent: u32) -> Vec<PathBuf> {
    let own = fs::read_link("/proc/self/ns/net").expect("a namespace");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        let is_child = after_name.split(' ').nth(1) == Some(&parent.to_string());
        let there = fs::read_link(entry.path().join("ns/net"));
        if is_child && there.is_ok_and(|there| there != own) {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn what_a_killed_lab_leaves_of_its_network_is_gone_when_the_next_one_has_run() {
    let name = "what_a_killed_lab_leaves_of_its_network_is_gone_when_the_next_one_has_run";
    if !needs_network(name) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = experiment(folder.path(), &["origin"], "\"veth\"", "20m");
    let mut killed = Running::start(&mut lab(folder.path(), &file, &[]));
    let own = killed.pid();
    // The ceiling or the server, and the generator, each in its own namespace, for longer than any
    // phase but the window takes.
    let mut seen = (Vec::new(), 0);
    wait_until("both sides are under load in their namespaces", || {
        assert!(!killed.ended(), "{}", killed.stderr());
        let now = elsewhere(own);
        let namespaces = now
            .iter()
            .filter_map(|path| fs::read_link(path.join("ns/net")).ok());
        let are_two = namespaces.collect::<BTreeSet<_>>().len() == 2;
        seen.1 = if now == seen.0 { seen.1 + 1 } else { 0 };
        seen.0 = now;
        are_two && seen.1 > 100
    });
    let children = seen.0;
    killed.signal("KILL");
    killed.finish();
    let file = experiment(folder.path(), &["origin"], "\"veth\"", "200ms");
    let again = folder.path().join("again");
    fs::create_dir(&again).expect("a folder");
    let mut next = lab(&again, &file, &[]);
    next.env("TMPDIR", folder.path().join("tmp"));
    finish(&mut next).expect_one_of(MEASURED);
    // Nobody is left in them, and nobody holds them: they are gone with their devices.
    wait_until("nobody is left", || {
        // One that has ended and waits for its parent has no words.
        let words = |process: &PathBuf| fs::read(process.join("cmdline")).unwrap_or_default();
        children.iter().all(|process| words(process).is_empty())
    });
    let left: Vec<_> = fs::read_dir(folder.path().join("tmp"))
        .expect("a folder")
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn without_privileges_the_remedy_is_named_and_loopback_is_measured() {
    let name = "without_privileges_the_remedy_is_named_and_loopback_is_measured";
    let Some([setpriv]) = need(name, ["setpriv"]) else {
        return;
    };
    let setpriv = setpriv.display().to_string();
    let without = [setpriv.as_str(), "--bounding-set", "-sys_admin", "--"];
    let probe = Command::new(&setpriv)
        .args(&without[1..])
        .arg("true")
        .stderr(Stdio::null())
        .status();
    let without = match probe.is_ok_and(|status| status.success()) {
        true => &without[..],
        // Whoever may not give it up may have none.
        false => &[],
    };
    if without.is_empty() && Namespace::create().is_ok() {
        return not_run(name, "capabilities cannot be given up");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = experiment(folder.path(), &["origin"], "\"veth\"", "200ms");
    finish(&mut lab(folder.path(), &file, without))
        .expect_code(1)
        .expect_complaint(&["veth", "CAP_SYS_ADMIN", "load.network=loopback"]);
    let both = "[\"loopback\", \"veth\"]";
    let file = experiment(folder.path(), &["origin"], both, "200ms");
    let run = finish(&mut lab(folder.path(), &file, without)).expect_one_of(MEASURED);
    run.expect_complaint(&["Points over veth are left out", "CAP_SYS_ADMIN"]);
    for trial in trials(folder.path()) {
        let point = trial.point.expect("a point");
        let network = point.id.value("network").expect("an axis");
        assert_eq!(network.to_string(), "loopback");
    }
}
