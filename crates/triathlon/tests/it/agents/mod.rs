//! Agents and whoever asks them for load, with a real broker between: nats-server on loopback.

mod apart;
mod between;
mod broker;
mod cut;
mod killed;
mod labs;
mod lost;
mod nats;
mod refused;
mod same;
mod secure;
mod watched;
mod window;

use std::fs;

use model::{Outcome, Record, Span, Trial};

use self::nats::{Nats, agent, load_by};
use crate::support::nginx::{Nginx, per_connection};
use crate::support::process::triathlon;
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::{need, wait_until};

fn right() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

/// What each agent did, by its own account, and what both did together.
fn shares_add_up(trial: &Trial) {
    let ok = |record: &Record| record.total.outcomes[Outcome::Ok];
    let of_shares: u64 = trial.agents.iter().map(|share| ok(&share.record)).sum();
    assert_eq!(of_shares, ok(&trial.record));
    let mut merged = Record::default();
    for share in &trial.agents {
        merged.merge(share.record.clone());
    }
    assert_eq!(merged.response_time, trial.record.response_time);
    assert_eq!(merged.total, trial.record.total);
    assert_eq!(merged.intervals, trial.record.intervals);
    let workers: Vec<u32> = trial.record.workers.iter().map(|one| one.index).collect();
    let wanted: Vec<u32> = (0..trial.plan.workers).collect();
    assert_eq!(workers, wanted, "each worker once");
}

/// Users who come to agents come as often as the plan says, by both together, and each follows the
/// script to its end on a connection of its own.
#[test]
fn users_come_to_agents_and_leave() {
    let name = "users_come_to_agents_and_leave";
    let Some([nats, nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let files: [(&str, &[u8]); 2] = [("a", b"one"), ("b", b"two")];
    let nginx = Nginx::start(&nginx, &files);
    let _agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    let script = tempfile::NamedTempFile::new().expect("a temporary file");
    let text = "user_rate = 200\nuser_arrivals = 'fixed'\n[[step]]\nget = '/a'\n\
                [[step]]\nwait = '5ms'\n[[step]]\nget = '/b'\n";
    fs::write(script.path(), text).expect("a script");
    let flags = format!(
        "--agents a,b -t 4 -c 100 -d 500ms --warmup 0s --timeout 10s --json - --script {}",
        script.path().display()
    );
    let run = load_by(&nginx.url(""), &nats.url(), &flags).expect_measured();
    let trial = run.trial();
    shares_add_up(&trial);
    let users = |record: &Record| record.users.clone().expect("they come");
    let all = users(&trial.record);
    assert_eq!(all.came, 100, "{run:#?}");
    // On a busy machine the last may be let in when the window is over.
    assert!(all.left > 0, "{run:#?}");
    assert!(all.left <= all.seated && all.seated <= 100, "{run:#?}");
    let shares: Vec<_> = trial.agents.iter().map(|one| users(&one.record)).collect();
    let came: Vec<u64> = shares.iter().map(|share| share.came).collect();
    assert_eq!(came, [50, 50], "{run:#?}");
    let left: u64 = shares.iter().map(|share| share.left).sum();
    assert_eq!(left, all.left, "{run:#?}");
    let seated: u64 = shares.iter().map(|share| share.seated).sum();
    assert_eq!(seated, all.seated, "{run:#?}");
    let counts = per_connection(&nginx.quit());
    let whole = counts.values().filter(|count| **count == 2).count() as u64;
    assert!(whole >= all.left, "{counts:?}");
}

#[test]
fn two_agents_make_one_load() {
    let name = "two_agents_make_one_load";
    let Some([nats, nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let nginx = Nginx::start(&nginx, &[("file", b"seven!\n")]);
    let _agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    let run = load_by(
        &nginx.url("file"),
        &nats.url(),
        "--agents a,b -t 4 -c 8 -n 4000 --json -",
    );
    let run = run.expect_measured();
    assert!(
        run.stderr.contains("a (2 threads) and b (2 threads)"),
        "{run:#?}"
    );
    let trial = run.trial();
    let names: Vec<&str> = trial.agents.iter().map(|one| one.agent.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 4_000, "{run:#?}");
    shares_add_up(&trial);
    for share in &trial.agents {
        assert_eq!(share.record.total.outcomes[Outcome::Ok], 2_000);
        assert!(share.environment.kernel.is_some(), "its machine is known");
        assert!(share.usage.generator.is_some(), "its cost is known");
        assert!(!share.verdict.claims.is_empty(), "it is judged");
        // Both clocks are one.
        let within = share.clock_offset_within;
        let away = Span::from_ns(share.clock_offset_ns.unsigned_abs());
        assert!(away <= within, "{away} within {within}");
    }
    // What was asked before the window is in the log, too.
    let record = &trial.record;
    let sent = record.reference_phase.sent + record.total.sent + record.drain_phase.sent;
    assert_eq!(nginx.quit().len() as u64, sent, "{:#?}", record.total);
}

#[test]
fn a_record_that_is_larger_than_a_message_comes_back_whole() {
    let name = "a_record_that_is_larger_than_a_message_comes_back_whole";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    // By the users that the program gives a broker, who may do what this needs and no more.
    let (_nats, [theirs, ours]) = Nats::start_as_written(&nats, "");
    let server = right();
    let _agent = agent(&theirs, "a", "--targets 127.0.0.0/8");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("samples");
    let flags = format!("--agents a -t 1 -c 4 -n 20000 --samples {}", path.display());
    load_by(&server.url(), &ours, &flags).expect_measured();
    // An agent's user can give no orders.
    let words = "--agents a -t 1 -c 1 -n 1";
    let refused = load_by(&server.url(), &theirs, words);
    let words = ["this user may not ask agents", "permissions violation"];
    refused.expect_code(1).expect_complaint(&words);
    let samples = fs::read_to_string(&path).expect("samples are written");
    assert!(
        samples.len() > 1 << 20,
        "{} bytes are no test",
        samples.len()
    );
    assert_eq!(samples.lines().count(), 20_000);
}

#[test]
fn agents_are_listed_and_end_when_told_to() {
    let name = "agents_are_listed_and_end_when_told_to";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let list = || {
        let words = ["agent", "list", "--nats", &nats.url()];
        triathlon(words).expect_code(0)
    };
    let list_as_json = || {
        let words = ["agent", "list", "--json", "--nats", &nats.url()];
        let text = triathlon(words).expect_code(0).stdout;
        serde_json::from_str::<serde_json::Value>(&text).expect("a document")
    };
    let none = list();
    assert!(none.stderr.contains("there is no agent"), "{none:#?}");
    let flags = "--targets 127.0.0.0/8 --labels rack=7,row=b";
    let agents = ["gen1", "gen2"].map(|name| agent(&nats.url(), name, flags));
    let (two, json) = (list(), list_as_json());
    let lines: Vec<&str> = two.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{two:#?}");
    for (line, name) in lines.iter().zip(["gen1", "gen2"]) {
        assert!(line.starts_with(&format!("{name}: role load")), "{line}");
        for words in ["idle", "may load 127.0.0.0/8", "rack=7", "row=b", "clock "] {
            assert!(line.contains(words), "no '{words}' in {line}");
        }
        // Some sandboxes keep programs from asking how the clock is kept.
        let is_told = line.contains("synchronised");
        assert_eq!(is_told, sys::clock::discipline().is_ok(), "{line}");
        assert!(line.contains(" open files, "), "{line}");
    }
    for (listed, name) in [0, 1]
        .map(|place| &json[place])
        .iter()
        .zip(["gen1", "gen2"])
    {
        let environment = &listed["environment"];
        assert_eq!(
            (&listed["name"], &listed["role"]),
            (&name.into(), &"load".into())
        );
        for limit in ["open_files_limit", "locked_memory_limit"] {
            assert!(environment[limit].is_u64(), "no {limit} in {environment:#}");
        }
        assert!(listed["clock_offset_within_ns"].is_u64(), "{listed:#}");
    }
    for agent in agents {
        agent.signal("INT");
        agent.finish().expect_code(0);
    }
    assert_eq!(list().stdout, "");
    assert_eq!(list_as_json(), serde_json::json!([]));
}

#[test]
fn an_agent_announces_what_its_generator_reaches() {
    let name = "an_agent_announces_what_its_generator_reaches";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let flags = "--targets 127.0.0.0/8 --measure-ceiling";
    let _agent = agent(&nats.url(), "gen1", flags);
    let words = ["agent", "list", "--nats", &nats.url()];
    let listed = triathlon(words).expect_code(0).stdout;
    assert!(listed.contains("a thread reached "), "{listed}");
    assert!(listed.contains("/s at 20"), "{listed}");
}

#[test]
fn what_agents_measured_until_ctrl_c_is_kept() {
    let name = "what_agents_measured_until_ctrl_c_is_kept";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let mut agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    let flags = "--agents a,b -t 2 -c 2 -R 200 -d 10m --warmup 0s --json -";
    let running = nats::start_load(&server.url(), &nats.url(), flags);
    wait_until("something was measured", || server.requests() > 100);
    running.signal("INT");
    let run = running.finish().expect_code(130);
    let trial = run.trial();
    assert!(trial.record.interrupted);
    shares_add_up(&trial);
    assert!(trial.record.total.outcomes[Outcome::Ok] > 50, "{run:#?}");
    for agent in &mut agents {
        wait_until("the agent has ended its order", || {
            agent.stderr().contains("the order has ended")
        });
    }
}
