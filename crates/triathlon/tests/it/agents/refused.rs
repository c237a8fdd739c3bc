//! What is refused, in a sentence each and before anything starts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use fleet::{Access, Host, Job, Limits, Line, Output, Role};
use model::{Environment, Trial};

use super::nats::{Nats, agent, load_by, start_load};
use super::right;
use crate::support::process::triathlon;
use crate::support::{need, wait_until};

#[test]
fn wrong_credentials_are_refused() {
    let name = "wrong_credentials_are_refused";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "authorization { user: me, password: open-sesame }");
    let right = nats.url_of("me:open-sesame");
    let wrong = nats.url_of("me:open-barley");
    let _agent = agent(&right, "a", "--targets 127.0.0.0/8");
    let flags = ["--targets", "127.0.0.0/8"];
    let alike = ["agent", "--nats", &wrong, "--name", "b"];
    let refused = triathlon(alike.into_iter().chain(flags)).expect_code(1);
    let asked = load_by("http://127.0.0.1:9/", &wrong, "--agents a").expect_code(1);
    for run in [refused, asked] {
        let run = run.expect_complaint(&["cannot connect to the NATS server", "authorization"]);
        assert!(!run.stderr.contains("open-barley"), "{run:#?}");
        assert_eq!(run.stdout, "");
    }
    let listed = triathlon(["agent", "list", "--nats", &right]).expect_code(0);
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:#?}");
}

#[test]
fn a_broker_that_is_not_there_is_told() {
    let reserved = crate::support::reserve();
    let url = format!("nats://{}", reserved.address);
    let words = ["agent", "list", "--nats", &url];
    let run = triathlon(words).expect_code(1);
    run.expect_complaint(&["cannot connect to the NATS server", &url]);
}

/// Whoever may ask agents may not be one, and is told so, and not kept waiting.
#[test]
fn an_agent_with_the_url_of_those_who_ask_is_told() {
    let name = "an_agent_with_the_url_of_those_who_ask_is_told";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (_nats, [_theirs, ours]) = Nats::start_as_written(&nats, "");
    let words = ["agent", "--nats", &ours, "--targets", "127.0.0.0/8"];
    let run = triathlon(words).expect_code(1);
    run.expect_complaint(&[
        "this user may not do what an agent does",
        "permissions violation",
    ]);
}

#[test]
fn a_broker_in_clear_that_is_asked_for_tls_is_told() {
    let name = "a_broker_in_clear_that_is_asked_for_tls_is_told";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let url = nats.url().replacen("nats://", "tls://", 1);
    let run = triathlon(["agent", "list", "--nats", &url]).expect_code(1);
    run.expect_complaint(&["it does not speak TLS", "nats://HOST:PORT"]);
}

#[test]
fn targets_that_the_owner_did_not_name_are_refused() {
    let name = "targets_that_the_owner_did_not_name_are_refused";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let first = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    let _second = agent(&nats.url(), "b", "--targets 192.0.2.0/24 --targets ::1/128");
    let flags = "--agents a,b -t 2 -c 2 -n 10";
    let run = load_by(&server.url(), &nats.url(), flags).expect_code(1);
    let words = [
        "agent 'b'",
        "may not load 127.0.0.1",
        "192.0.2.0/24, ::1/128",
    ];
    run.expect_complaint(&words);
    // The other one gives up its part, and is there for the next load.
    wait_until("the first agent has given up its part", || {
        let said = first.stderr();
        said.contains("the order has ended") || said.contains("the order failed")
    });
    load_by(&server.url(), &nats.url(), "--agents a -t 1 -c 2 -n 10").expect_measured();
    // One that names nothing may load nothing.
    let nothing = triathlon(["agent", "--nats", &nats.url(), "--name", "c"]).expect_code(2);
    nothing.expect_complaint(&["--targets", "name the addresses"]);
}

#[test]
fn other_versions_are_refused() {
    let name = "other_versions_are_refused";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let agent = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    let ours = env!("TRIATHLON_BUILD");
    let order = |version: &str, plan: &str| {
        format!(
            "{{\"protocol\":2,\"message\":{{\"order\":{{\"id\":\"o\",\"version\":\"{version}\",\
             \"workers\":{{\"start\":0,\"end\":1}},\"is_watched\":false,\"plan\":{plan}}}}}}}"
        )
    };
    let check = |asked: &str, words: &str| {
        let said = nats.ask("triathlon.agent.a", asked);
        assert!(said.contains("\"refused\""), "{asked}: {said}");
        assert!(said.contains(words), "no '{words}' in {said}");
    };
    let plan = "{\"format\":99,\"dances\":true}";
    check(&order(ours, plan), "the plan is version 99");
    check(&order("9.9.9", plan), "the order of version 9.9.9");
    check("{\"protocol\":3,\"message\":\"tango\"}", "version 3");
    check("hello", "not a message of an agent");
    assert!(!agent.stderr().contains("order o"), "{}", agent.stderr());
}

#[test]
fn a_record_that_a_broker_without_a_store_cannot_carry_is_told() {
    let name = "a_record_that_a_broker_without_a_store_cannot_carry_is_told";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start_bare(&nats, ""), right());
    let _agent = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    let small = "--agents a -t 1 -c 2 -n 10";
    load_by(&server.url(), &nats.url(), small).expect_measured();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("samples");
    let large = format!("--agents a -t 1 -c 4 -n 20000 --samples {}", path.display());
    let run = load_by(&server.url(), &nats.url(), &large).expect_code(1);
    run.expect_complaint(&["agent 'a'", "larger than a message", "nats-server -js"]);
}

#[test]
fn agents_that_are_not_there_or_at_work_are_told() {
    let name = "agents_that_are_not_there_or_at_work_are_told";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let refused = |flags: &str, code: i32, words: &[&str]| {
        let run = load_by(&server.url(), &nats.url(), flags);
        run.expect_code(code).expect_complaint(words);
    };
    refused("--agents z -n 1", 1, &["no agent 'z'", "there is none"]);
    let first = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    refused("--agents a,z -n 1", 1, &["no agent 'z'", "there are a"]);
    let namesake = agent(&nats.url(), "a", "--targets 127.0.0.0/8");
    let two = ["agent 'a'", "two agents have this name"];
    refused("--agents a -n 1", 1, &two);
    let _second = agent(&nats.url(), "b", "--targets 127.0.0.0/8");
    // Both are listed, and the others are used as ever.
    let listed = triathlon(["agent", "list", "--nats", &nats.url()]).expect_code(0);
    assert_eq!(listed.stdout.lines().count(), 3, "{listed:#?}");
    let clocks = listed.stdout.matches("clock ").count();
    assert_eq!(clocks, 1, "nobody knows which of two answers: {listed:#?}");
    assert!(
        listed.stderr.contains("several agents are called a"),
        "{listed:#?}"
    );
    load_by(&server.url(), &nats.url(), "--agents b -t 1 -c 2 -n 10").expect_measured();
    drop(namesake);
    let few = "--agents a,b -t 1 -c 2 -n 10";
    refused(few, 2, &["--agents", "1 thread for 2 agents"]);
    let flags = "--agents a -t 1 -c 1 -R 100 -d 10m";
    let running = start_load(&server.url(), &nats.url(), flags);
    wait_until("the first agent is at work", || {
        first.stderr().contains("order ")
    });
    let busy = ["agent 'a'", "works on another order"];
    refused("--agents a -t 1 -c 1 -n 10", 1, &busy);
    running.signal("INT");
    running.finish().expect_code(130);
}

/// An agent of the test whose machine does nothing.
#[derive(Default)]
struct Idle {
    is_waiting: AtomicBool,
    is_to_end: AtomicBool,
}

impl Host for Idle {
    fn environment(&self) -> Environment {
        Environment::default()
    }

    fn cpus(&self) -> Vec<u32> {
        vec![0]
    }

    fn resolve(&self, _host: &str, _port: u16) -> Result<Vec<SocketAddr>, String> {
        Err("nobody asks".to_owned())
    }

    fn run(&self, _job: &Job, _line: &Line) -> Result<Trial, String> {
        panic!("it was to be refused")
    }

    fn lab(&self, _lines: &Receiver<String>, _output: &Output) -> Result<(), String> {
        panic!("it was to be refused")
    }

    fn is_interrupted(&self) -> bool {
        self.is_to_end.load(Ordering::SeqCst)
    }

    fn note(&self, _text: &str) {
        self.is_waiting.store(true, Ordering::SeqCst);
    }
}

/// Serves as an agent whose clock is `now`, while `meanwhile` runs.
fn with_clock(url: &str, now: fn() -> u64, meanwhile: impl FnOnce()) {
    let idle = Arc::new(Idle::default());
    let access = Access {
        url: url.to_owned(),
        credentials: None,
        name: "test".to_owned(),
        now,
    };
    let limits = Limits {
        version: env!("TRIATHLON_BUILD").to_owned(),
        role: Role::Load,
        targets: vec!["127.0.0.0/8".parse().expect("a range")],
        may_start_servers: false,
    };
    let host = Arc::clone(&idle);
    let name = "a".parse().expect("a name");
    let agent =
        std::thread::spawn(move || fleet::serve(&access, name, BTreeMap::new(), limits, host));
    wait_until("the agent waits for orders", || {
        idle.is_waiting.load(Ordering::SeqCst)
    });
    meanwhile();
    idle.is_to_end.store(true, Ordering::SeqCst);
    let ended = agent.join().expect("the agent does not panic");
    ended.expect("the broker is there");
}

#[test]
fn a_clock_an_hour_off_is_refused() {
    const HOUR: u64 = 3_600_000_000_000;
    let name = "a_clock_an_hour_off_is_refused";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let refused = |way: &str| {
        let words = ["agent 'a'", "its clock is", way, "follow a time server"];
        let run = load_by(&server.url(), &nats.url(), "--agents a -n 1");
        run.expect_code(1).expect_complaint(&words);
        assert_eq!(server.requests(), 0, "nothing started");
        let listed = triathlon(["agent", "list", "--nats", &nats.url()]).expect_code(0);
        assert_eq!(listed.stdout.lines().count(), 1, "it is there: {listed:#?}");
    };
    let ahead = || sys::clock::realtime().as_ns() + HOUR;
    with_clock(&nats.url(), ahead, || refused("1 h ahead of"));
    let behind = || sys::clock::realtime().as_ns() - HOUR;
    with_clock(&nats.url(), behind, || refused("1 h behind"));
}
