//! Labs whose load agents make: servers here, plans there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Gap, Manifest, Trial};

use super::nats::{Nats, agent};
use super::shares_add_up;
use crate::support::process::{Run, Running, command, triathlon};
use crate::support::{LIMIT, need, wait_until};

/// Trials that something disturbs are measured again, up to twice.
pub(super) const LAB_LIMIT: Duration = LIMIT.saturating_mul(3);

const EXPERIMENT: &str = "
[experiment]
name = 'far'
question = 'Which one, asked from elsewhere?'
rounds = ROUNDS
repeats = 0
calm = '0s'
warmup = '100ms'
duration = '250ms'
seed = 5

[[server]]
product = 'nginx'

[[workload]]
name = 'small'
body = { bytes = 7 }

[load]
connections = [1, 4]
think = '2ms'
timeout = '1s'

[generator]
agents = ['a', 'rack=7']
address = '127.0.0.2'
";

/// An experiment of so many rounds in a folder of its own, where its results go, too.
pub(super) struct Far {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Far {
    pub(super) fn new(rounds: u32) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("far.toml");
        let text = EXPERIMENT.replace("ROUNDS", &rounds.to_string());
        fs::write(&file, text).expect("a file");
        Self { folder, file }
    }

    pub(super) fn words(&self, flags: &str) -> Vec<String> {
        let results = self.folder.path().join("results").display().to_string();
        let words = ["lab", "--no-lock", "--hiccups", "0s", "--results", &results];
        let words = words.into_iter().chain(flags.split_whitespace());
        words.map(str::to_owned).collect()
    }

    fn start(&self, url: &str) -> Running {
        let file = self.file.display();
        Running::start(&mut command(self.words(&format!("{file} --nats {url}"))))
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The folder of all that it writes.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of its results.
    pub(super) fn results(&self) -> Option<PathBuf> {
        let runs = fs::read_dir(self.folder.path().join("results").join("far")).ok()?;
        runs.filter_map(|entry| Some(entry.ok()?.path())).next()
    }

    /// The files of its trials, in order.
    pub(super) fn stored(&self) -> Vec<PathBuf> {
        let folder = self.results().map(|results| results.join("trials"));
        let files = folder.and_then(|folder| fs::read_dir(folder).ok());
        let paths = files.into_iter().flatten().filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = paths.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        paths.sort();
        paths
    }

    pub(super) fn trials(&self) -> Vec<Trial> {
        self.stored().iter().map(|path| read(path)).collect()
    }

    /// The numbers of what was measured as it was planned, each of which is there once.
    pub(super) fn sequences(&self) -> BTreeSet<u32> {
        let points = self.trials().into_iter().filter_map(|trial| trial.point);
        let first: Vec<u32> = points
            .filter(|point| point.attempt == 0)
            .map(|point| point.sequence)
            .collect();
        let once: BTreeSet<u32> = first.iter().copied().collect();
        assert_eq!(once.len(), first.len(), "each once: {first:?}");
        once
    }
}

/// One of the two that the experiment names, the second by its label.
pub(super) fn agent_of(url: &str, which: usize) -> Running {
    let (name, labels) = [("a", ""), ("b", "--labels rack=7")][which];
    agent(url, name, &format!("--targets 127.0.0.0/8 {labels}"))
}

fn agents(url: &str) -> [Running; 2] {
    [0, 1].map(|which| agent_of(url, which))
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).expect("it can be read");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn agents_make_the_load_of_a_lab() {
    let name = "agents_make_the_load_of_a_lab";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let (nats, [theirs, ours]) = Nats::start_as_written(&nats, "");
    let _agents = agents(&theirs);
    let far = Far::new(1);
    let run = far.start(&ours).finish_within(LAB_LIMIT).expect_measured();
    assert!(
        run.stderr.contains("the load from agents a and rack=7"),
        "{run:#?}"
    );
    let trials = far.trials();
    // nginx and the ceiling, by one connection and by four.
    assert!(trials.len() >= 4, "{}: {run:#?}", trials.len());
    for trial in &trials {
        let point = trial.point.as_ref().expect("a trial of a lab has a point");
        let usage = &trial.usage;
        assert!(usage.generator.is_none(), "it is not here");
        assert!(usage.server.is_some(), "the server is metered: {point:#?}");
        let names: Vec<&str> = trial.agents.iter().map(|one| one.agent.as_str()).collect();
        let expected: &[&str] = match trial.plan.connections {
            1 => &["a"],
            _ => &["a", "b"],
        };
        assert_eq!(names, expected, "{point:#?}");
        shares_add_up(trial);
        assert!(trial.environment.kernel.is_some());
        for share in &trial.agents {
            assert!(share.usage.generator.is_some(), "its cost is known");
            assert!(!share.verdict.claims.is_empty(), "it is judged");
        }
    }
    let results = far.results().expect("there are results");
    assert!(results.join("report.html").is_file());
    let manifest: Manifest = read(&results.join("manifest.json"));
    let command = manifest.command.join(" ");
    let password = ours
        .split(['@', ':'])
        .nth(2)
        .expect("the URL has a password");
    assert!(!command.contains(password), "{command}");
    drop(nats);
}

#[test]
fn a_lab_without_its_agents_says_so() {
    let name = "a_lab_without_its_agents_says_so";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let far = Far::new(1);
    let file = far.file.display().to_string();
    let lab = |flags: &str| -> Run { triathlon(far.words(&format!("{file} {flags}"))) };
    let words = ["comes from agents a and rack=7", "--nats"];
    lab("").expect_code(2).expect_complaint(&words);
    let url = format!("--nats {}", nats.url());
    lab(&url).expect_code(1).expect_complaint(&["no agent 'a'"]);
    let elsewhere = lab(&format!("{url} generator.address=192.0.2.1"));
    elsewhere
        .expect_code(2)
        .expect_complaint(&["generator.address", "cannot listen at 192.0.2.1"]);
    let listed = lab("--list").expect_code(0);
    assert!(
        listed.stdout.contains("the load from agents"),
        "{listed:#?}"
    );
    let flags = format!("first-heat server=origin {url}");
    let run = triathlon(far.words(&flags)).expect_code(2);
    run.expect_complaint(&["names no agents", "[generator]"]);
    assert!(far.trials().is_empty());
}

/// What an agent takes along is a gap, and the rest is measured by those that are there.
#[test]
fn an_agent_that_is_lost_costs_its_trials_and_no_others() {
    let name = "an_agent_that_is_lost_costs_its_trials_and_no_others";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let [_first, second] = agents(&nats.url());
    let far = Far::new(2);
    let mut lab = far.start(&nats.url());
    wait_until("a trial is stored", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        !far.stored().is_empty()
    });
    second.signal("KILL");
    wait_until("its loss is told", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        lab.stderr().contains("not measured: ") && lab.stderr().contains("agent 'b'")
    });
    let before = far.stored().len();
    wait_until("a trial is stored that the other agent makes alone", || {
        lab.ended() || far.stored().len() > before
    });
    lab.signal("INT");
    let run = lab.finish_within(LAB_LIMIT);
    let by_one = far.trials().into_iter();
    let by_one = by_one.filter(|trial| trial.agents.len() == 1).count();
    assert!(by_one > 0, "{run:#?}");
    let gaps = far.results().expect("there are results").join("gaps");
    let gaps = fs::read_dir(gaps).expect("there are gaps");
    let gaps = gaps.map(|entry| read::<Gap>(&entry.expect("a file").path()));
    let is_told = gaps.filter(|gap| gap.error.contains("agent 'b'")).count();
    assert!(is_told > 0, "{run:#?}");
}

/// It tells nobody that it ends. Agents give up what has not begun, and end what has at its own
/// end; the trials are those that there would have been without that.
#[test]
fn a_lab_that_is_killed_goes_on_where_it_stopped() {
    let name = "a_lab_that_is_killed_goes_on_where_it_stopped";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let _agents = agents(&nats.url());
    let far = Far::new(1);
    let mut lab = far.start(&nats.url());
    wait_until("a trial is stored", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        !far.stored().is_empty()
    });
    lab.signal("KILL");
    lab.finish();
    let before = far.stored();
    let results = far.results().expect("there are results");
    let flags = format!("--resume {} --nats {}", results.display(), nats.url());
    let resumed = Running::start(&mut command(far.words(&flags)));
    let run = resumed.finish_within(LAB_LIMIT).expect_measured();
    // nginx and the ceiling, by one connection and by four.
    assert_eq!(far.sequences().len(), 4, "{run:#?}");
    let after = far.stored();
    assert!(
        before.iter().all(|path| after.contains(path)),
        "none is lost"
    );
}

/// What no agent takes from an experiment, and agents that may not start servers.
#[test]
fn servers_are_refused_to_who_may_not_have_them() {
    let name = "servers_are_refused_to_who_may_not_have_them";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let url = format!("--nats {}", nats.url());
    let far = Far::new(1);
    let text = fs::read_to_string(far.file()).expect("it was written");
    let (rest, _) = text.split_once("[generator]").expect("it has that table");
    let host = "[host]\nserver = 'rig'\naddress = '127.0.0.2'\n";
    fs::write(far.file(), format!("{rest}{host}")).expect("a file");
    let file = far.file().display().to_string();
    let lab = |flags: &str| triathlon(far.words(&format!("{file} {flags}")));
    let check = |flags: &str, code: i32, words: &[&str]| {
        lab(flags).expect_code(code).expect_complaint(words);
    };
    check("", 2, &["started by agent rig", "--nats"]);
    check(&url, 1, &["no agent 'rig'", "--may-start-servers"]);
    check(&format!("{url} --list"), 2, &["--list"]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../servers");
    check(&format!("{url} --servers {folder}"), 2, &["--servers"]);
    let own = format!("{url} load.network=loopback");
    check(&own, 2, &["load.network", "host.address"]);
    let _rig = agent(&nats.url(), "rig", "--role server");
    check(
        &url,
        1,
        &["agent 'rig'", "it starts no servers", "--may-start-servers"],
    );
    let _load = agent(
        &nats.url(),
        "load",
        "--targets 127.0.0.0/8 --may-start-servers",
    );
    let of_load = format!("{url} host.server=load");
    check(&of_load, 1, &["agent 'load'", "it starts no servers"]);
    assert!(far.trials().is_empty());
}
