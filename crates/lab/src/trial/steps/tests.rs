use std::net::Ipv4Addr;

use model::Plan;
use model::experiment::Speech;
use model::plan::{Arrivals, StepFile, Stop};

use super::super::{Speaks, plan};
use super::*;
use crate::experiment;
use crate::site::Site;
use crate::sweep::Cell;

const SESSION: &str = r#"
    [experiment]
    name = "session"
    question = "?"
    rounds = 1
    duration = "1s"
    [[server]]
    product = "origin"
    [[workload]]
    name = "page"
    [[workload.request]]
    name = "text"
    body = { bytes = 7 }
    [[workload.request]]
    name = "picture"
    body = { bytes = 9 }
    [load]
    users = 4
    ramp = "2s"
    cookies = true
    [[load.step]]
    get = "text"
    [[load.step]]
    wait = "1s"
    [[load.step]]
    repeat = 3
    get = "picture"
    [[load.step]]
    name = "buy"
    post = "/cart"
    body = "one"
    expect = { level = "status", status = 303 }
"#;

#[test]
fn users_take_their_steps_where_the_server_has_what_they_name() {
    let experiment = experiment::parse("session.toml", SESSION, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(folder.path(), &experiment).unwrap();
    let workload = &experiment.workloads()[0];
    let cell = Cell {
        workload: 0,
        connections: 4,
        rate: None,
        sources: None,
        placement: None,
        network: None,
    };
    let load = Load::of_cell(&experiment, &cell, 7);
    let place = || Place::at(Ipv4Addr::LOCALHOST, 4711, Speaks::default());
    let target = |racer| Target::of(racer, place(), workload, experiment.users(), &site);
    let of_server = target(Racer::Server(0));

    let made = plan(&of_server, &load, &[1]);
    assert_eq!(made.warmup, Span::from_s(2) + load.settle);
    let made = Plan::try_from(made).unwrap();
    let asked = made.requests().iter();
    let asked: Vec<_> = asked
        .map(|one| (one.name.as_str(), one.url.path.as_str(), one.expect.status))
        .collect();
    assert_eq!(
        asked,
        [
            ("GET text", "/small/7.html", Some(200)),
            ("GET picture", "/small/9.html", Some(200)),
            ("buy", "/cart", Some(303)),
        ]
    );
    let script = made.file().script.as_ref().unwrap();
    let whole_ramp = Think::Uniform {
        from: Span::ZERO,
        to: Span::from_s(2),
    };
    assert_eq!(script.start, Some(whole_ramp));
    assert!(script.cookies);
    assert!(matches!(script.steps[1], StepFile::Wait(_)));

    // Whoever only asks whether answers are right does not wait.
    let quick = plan(&of_server, &Load::one_exchange(Span::from_s(1), 8), &[1]);
    let script = Plan::try_from(quick)
        .unwrap()
        .file()
        .script
        .clone()
        .unwrap();
    assert_eq!((script.start, script.steps.len()), (None, 3));

    // Neither does the ceiling, which has as much to answer, from memory.
    let ceiling = target(Racer::Ceiling {
        cores: 1,
        speech: Speech::CLEAR,
    });
    let made = plan(&ceiling, &load.hurried(), &[1]);
    let made = Plan::try_from(made).unwrap();
    let asked = made.requests().iter();
    let asked: Vec<_> = asked
        .map(|one| (one.method.as_str(), one.url.path.as_str()))
        .collect();
    assert_eq!(
        asked,
        [
            ("GET", "/.triathlon/null?bytes=7"),
            ("GET", "/.triathlon/null?bytes=9"),
            ("GET", "/.triathlon/null?bytes=0"),
        ]
    );
    let script = made.file().script.as_ref().unwrap();
    assert!(!script.cookies && script.start.is_none());
    assert_eq!(script.steps.len(), 3);
}

/// Steps of each kind.
const STEPS: &str = r#"
    user_connections = 3
    user_rate = 20
    user_arrivals = "fixed"
    cookies = true

    [variables]
    word = { list = ["a", "b"], once = true }
    count = { random = [1, 3] }

    [[step]]
    name = "front"
    get = "/"
    headers = [["Accept", "text/html"], ["X-Word", "${word}"]]
    expect = { level = "status", status = 200 }
    take = { token = { json = "/token" }, more = { header = "Location" } }

    [[step]]
    parts = [{ get = "/a.css" }, { get = "/b.png", name = "logo" }, { head = "/c" }]

    [[step]]
    wait = "lognormal:20ms/0.8"

    [[step]]
    chance = "30%"

    [[step.branch]]
    weight = 3
    step = [{ get = "/search?q=${word}" }, { wait = "exp:1s" }]

    [[step.branch]]
    weight = 7

    [[step.branch.step]]
    repeat = "1-4"

    [[step.branch.step.step]]
    name = "item"
    request = "PURGE /item/${count}"
    contains = "thank you"

    [[step.branch.step.step]]
    wait = "uniform:1s-3s"

    [[step]]
    repeat = 2
    post = "/cart"
    body = "item=7&count=${count}"
    headers = [["Authorization", "Bearer ${token}"]]
"#;

/// What stands in a script of `load` stands in an experiment, and is the same.
#[test]
fn the_steps_of_a_script_are_the_same_in_an_experiment() {
    let base = "http://127.0.0.1:81/";
    let alone = &model::script::Alone;
    let read = model::script::read("script.toml", STEPS, Some(base), alone).unwrap();
    let in_load = STEPS
        .replace("[[step", "[[load.step")
        .replace("[variables]", "[load.variables]");
    let (head, _) = SESSION.split_once("    ramp =").unwrap();
    let text = format!("{head}{in_load}");
    let experiment = experiment::parse("same.toml", &text, &[]).unwrap();
    let contents = Contents::new(&experiment.workloads()[0], []);
    let same = experiment.users().script(base, &contents).unwrap();
    assert_eq!(read.requests.len(), 7);
    assert_eq!(same.requests, read.requests);
    assert_eq!(same.steps, read.steps);
    assert_eq!(same.stages, read.stages);
}

#[test]
fn users_come_by_stages_that_are_as_long_as_the_window() {
    let by_stages = "user_stages = [\"10s:=4\", \"30s:=0\"]";
    let text = SESSION.replace("ramp = \"2s\"", by_stages);
    let experiment = experiment::parse("session.toml", &text, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(folder.path(), &experiment).unwrap();
    let workload = &experiment.workloads()[0];
    let cell = Cell {
        workload: 0,
        connections: 4,
        rate: None,
        sources: None,
        placement: None,
        network: None,
    };
    let load = Load::of_cell(&experiment, &cell, 7);
    let place = || Place::at(Ipv4Addr::LOCALHOST, 4711, Speaks::default());
    let target = |racer| Target::of(racer, place(), workload, experiment.users(), &site);
    let made = Plan::try_from(plan(&target(Racer::Server(0)), &load, &[1])).unwrap();
    let file = made.file();
    let lengths: Vec<Span> = file.stages.iter().map(|stage| stage.length).collect();
    assert_eq!(lengths, [Span::from_ms(250), Span::from_ms(750)]);
    assert_eq!(file.stop, Stop::DurationNs(Span::from_s(1)));
    assert!(file.arrivals.is_closed());
    let script = file.script.as_ref().unwrap();
    let mean = Arrivals::Poisson {
        rate_per_1000_s: "1".parse().unwrap(),
    };
    assert_eq!(script.arrivals, mean);

    // Of the null responder everybody asks as fast as can be.
    let ceiling = target(Racer::Ceiling {
        cores: 1,
        speech: Speech::CLEAR,
    });
    let made = Plan::try_from(plan(&ceiling, &load.hurried(), &[1])).unwrap();
    let file = made.file();
    assert!(file.stages.is_empty() && file.stop == Stop::DurationNs(Span::from_s(1)));
    assert!(file.script.as_ref().unwrap().arrivals.is_closed());
}

#[test]
fn a_step_that_names_nothing_is_a_mistake_in_its_line() {
    let text = SESSION.replace("get = \"picture\"", "get = \"pictures\"");
    let error = experiment::parse("session.toml", &text, &[]).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("session.toml:25: load.step[2]: "),
        "{said}"
    );
    let shorter = experiment::parse("session.toml", SESSION, &["ramp=1s".to_owned()]).unwrap();
    assert_eq!(shorter.users().ramp(), Span::from_s(1));
    let waiting = "load.step[1].wait=2s".to_owned();
    let longer = experiment::parse("session.toml", SESSION, &[waiting]).unwrap();
    let target = |_: &str| Named {
        path: "/".to_owned(),
        expect: None,
    };
    let contents = Contents::new(&longer.workloads()[0], ["", ""].map(target));
    let script = longer.users().script("http://[::1]/", &contents).unwrap();
    let two = Think::Constant {
        time: Span::from_s(2),
    };
    assert_eq!(script.steps.steps[1], StepFile::Wait(two));
}

/// Nobody fetches such a request before the run, and a digest is checked against what was fetched.
#[test]
fn no_digest_is_wanted_of_what_each_user_asks_in_its_own_way() {
    let check = |has_cookies: bool, expected: [(Option<u64>, bool); 2]| {
        let text = SESSION.replace("cookies = true", &format!("cookies = {has_cookies}"));
        let experiment = experiment::parse("session.toml", &text, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let site = Site::build(folder.path(), &experiment).unwrap();
        let place = Place::at(Ipv4Addr::LOCALHOST, 4711, Speaks::default());
        let (workload, users) = (&experiment.workloads()[0], experiment.users());
        let target = Target::of(Racer::Server(0), place, workload, users, &site);
        let asked = target.script.unwrap().requests;
        let expects = asked.iter().map(|one| one.expect.clone().unwrap());
        let found = expects.map(|expect| (expect.length, expect.sha256.is_some()));
        assert_eq!(found.take(2).collect::<Vec<_>>(), expected, "{has_cookies}");
    };
    check(false, [(Some(7), true), (Some(9), true)]);
    check(true, [(Some(7), false), (Some(9), false)]);
}
