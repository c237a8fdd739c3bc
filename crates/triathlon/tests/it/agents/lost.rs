//! Agents, their coordinator and their broker, killed while a load is made: what was measured is
//! told, or it is told why it is not, and nothing is left running.

use std::fs;

use model::{Outcome, Trial};

use super::nats::{Nats, agent, load_by, start_load};
use super::{right, shares_add_up};
use crate::support::process::{Run, Running, command, triathlon};
use crate::support::{need, plan, wait_until};

/// A load of so many exchanges.
const LOAD: &str = "--agents a,b -t 2 -c 4 -R 200 -d 3s --warmup 0s --timeout 1s --json -";
const EXCHANGES: u64 = 600;

/// The name under which the broker keeps the load.
fn name_of(load: &mut Running) -> String {
    let mut name = None;
    wait_until("the load has a name", || {
        assert!(!load.ended(), "it ended: {}", load.stderr());
        let said = load.stderr();
        let rest = said.split_once("this is load ").map(|(_, rest)| rest);
        name = rest.and_then(|rest| Some(rest.split_once(';')?.0.to_owned()));
        name.is_some()
    });
    name.expect("it was found")
}

fn resume(name: &str, url: &str) -> Run {
    triathlon(["load", "--resume", name, "--nats", url, "--json", "-"])
}

fn all_is_there(trial: &Trial) {
    shares_add_up(trial);
    assert_eq!(trial.agents.len(), 2);
    let total = &trial.record.total;
    assert_eq!(total.due, EXCHANGES);
    assert_eq!(total.outcomes.total(), EXCHANGES);
    assert!(total.outcomes[Outcome::Ok] > EXCHANGES / 2, "{total:#?}");
}

/// What is told once is told: it is not kept any longer.
fn nothing_is_kept(name: &str, url: &str) {
    let again = resume(name, url).expect_code(1);
    again.expect_complaint(&["nothing is kept of a load", name]);
}

#[test]
fn a_record_outlives_whoever_asked_for_it() {
    let name = "a_record_outlives_whoever_asked_for_it";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (_nats, [theirs, ours]) = Nats::start_as_written(&nats, "");
    let server = right();
    let _agents = ["a", "b"].map(|name| agent(&theirs, name, "--targets 127.0.0.0/8"));
    let flags = format!("{LOAD} --user me:open-sesame");
    let mut load = start_load(&server.url(), &ours, &flags);
    let name = name_of(&mut load);
    wait_until("the load is made", || server.requests() > 50);
    load.signal("KILL");
    assert_eq!(load.finish().code, None);
    // It waits for agents that are still at work.
    let run = resume(&name, &ours).expect_measured();
    all_is_there(&run.trial());
    // Neither `me:open-sesame` nor its base64.
    for secret in ["open-sesame", "bWU6b3Blbi1zZXNhbWU"] {
        assert!(!run.stdout.contains(secret), "{run:#?}");
    }
    nothing_is_kept(&name, &ours);
    load_by(&server.url(), &ours, "--agents a,b -t 2 -c 2 -n 10").expect_measured();
}

/// Whoever asks takes the first answer and is gone: nobody says when the load begins.
#[test]
fn an_order_that_nobody_begins_is_given_up() {
    let name = "an_order_that_nobody_begins_is_given_up";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let agent = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    let plan = plan::over(plan::counted(&server.url(), 10), &[server.address()]);
    let order = serde_json::json!({ "protocol": 2, "message": { "order": {
        "id": "o", "version": env!("TRIATHLON_BUILD"), "workers": { "start": 0, "end": 1 },
        "is_watched": false, "plan": plan,
    } } });
    let said = nats.ask("triathlon.agent.a", &order.to_string());
    assert!(said.contains("\"accepted\""), "{said}");
    wait_until("the order is given up", || {
        agent
            .stderr()
            .contains("order o: whoever asked for it has gone")
    });
    let is_idle = || {
        let listed = triathlon(["agent", "list", "--nats", &nats.url()]).expect_code(0);
        listed.stdout.contains("idle")
    };
    wait_until("the agent is free", is_idle);
    load_by(&server.url(), &nats.url(), "--agents a -t 1 -c 2 -n 10").expect_measured();
}

#[test]
fn an_agent_that_is_killed_is_named_and_leaves_nothing_behind() {
    let name = "an_agent_that_is_killed_is_named_and_leaves_nothing_behind";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let [_first, second] = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    let mut load = start_load(&server.url(), &nats.url(), LOAD);
    let name = name_of(&mut load);
    wait_until("the load is made", || server.requests() > 50);
    let generators = children(second.pid());
    assert!(!generators.is_empty());
    second.signal("KILL");
    wait_until("its generator has ended", || {
        !generators.iter().any(|pid| is_alive(*pid))
    });
    let run = load.finish().expect_code(1);
    run.expect_complaint(&["agent 'b'", "it has gone"]);
    nothing_is_kept(&name, &nats.url());
    load_by(&server.url(), &nats.url(), "--agents a -t 1 -c 2 -n 10").expect_measured();
}

/// It is away when the records are to be sent.
#[test]
fn a_broker_that_is_killed_and_started_again_is_survived() {
    let name = "a_broker_that_is_killed_and_started_again_is_survived";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (mut nats, server) = (Nats::start(&nats, ""), right());
    let agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    let mut load = start_load(&server.url(), &nats.url(), LOAD);
    let name = name_of(&mut load);
    wait_until("the load is made", || server.requests() > 50);
    nats.kill();
    let generators = || {
        agents
            .iter()
            .flat_map(|agent| children(agent.pid()))
            .count()
    };
    wait_until("the load has been made", || generators() == 0);
    wait_until("whoever asked says what it waits for", || {
        load.stderr()
            .contains("the connection to the NATS server is lost")
    });
    nats.start_again();
    let run = load.finish().expect_measured();
    let again = "the NATS server is there again";
    assert!(run.stderr.contains(again), "{run:#?}");
    all_is_there(&run.trial());
    nothing_is_kept(&name, &nats.url());
}

/// An interrupt ends a load of agents although they cannot be told; what they measure is kept once
/// the broker is back.
#[test]
fn an_interrupt_does_not_wait_for_a_broker_that_has_gone() {
    let name = "an_interrupt_does_not_wait_for_a_broker_that_has_gone";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (mut nats, server) = (Nats::start(&nats, ""), right());
    let agent = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    let (target, url) = (server.url(), nats.url());
    let words = ["load", &target, "--agents", "a", "--nats", &url];
    let flags = "-t 1 -c 1 -R 50 -d 10s --warmup 0s".split_whitespace();
    let mut load = Running::start(&mut command(words.into_iter().chain(flags)));
    let name = name_of(&mut load);
    wait_until("the load is made", || {
        assert!(!load.ended(), "it ended: {}", load.stderr());
        server.requests() > 10
    });
    nats.kill();
    load.signal("INT");
    let run = load.finish().expect_code(1);
    run.expect_complaint(&[
        "an interrupt does not wait",
        "is kept there once it is back",
    ]);
    assert!(!children(agent.pid()).is_empty(), "the agent goes on");
    nats.start_again();
    let trial = resume(&name, &url).expect_measured().trial();
    assert_eq!(trial.record.total.due, 500);
    nothing_is_kept(&name, &url);
}

/// The processes that `parent` has started.
fn children(parent: u32) -> Vec<u32> {
    let folder = fs::read_dir("/proc").expect("there is /proc");
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| state_of(*pid).is_some_and(|(_, of)| of == parent))
        .collect()
}

fn is_alive(pid: u32) -> bool {
    state_of(pid).is_some_and(|(state, _)| state != "Z" && state != "X")
}

/// The state of a process and its parent.
fn state_of(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name may hold anything, and stands in brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.to_owned();
    Some((state, words.next()?.parse().ok()?))
}
