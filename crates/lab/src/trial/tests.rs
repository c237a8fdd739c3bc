use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use model::Plan;

use super::*;
use crate::experiment;

fn target() -> Target {
    Target {
        place: Place::at(Ipv4Addr::LOCALHOST, 4711, Speaks::default()),
        requests: vec![Wanted::file("/small/7.html", 7, Some("ab".repeat(32)))],
        script: None,
    }
}

fn first_heat(overrides: &[&str]) -> Experiment {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    experiment::read("first-heat", &overrides)
        .unwrap()
        .experiment
}

#[test]
fn every_plan_of_a_lab_can_run() {
    let experiment = first_heat(&["mode=open", "rate=[\"2k\", 500]"]);
    let cell = |connections, rate| Cell {
        workload: 0,
        connections,
        rate,
        sources: None,
        placement: None,
        network: None,
    };
    for load in [
        Load::one_exchange(experiment.timeout(), 1),
        Load::warmup(&experiment, 64, Span::from_ms(100), 2),
        Load::of_cell(&experiment, &cell(1, None), 3),
        Load::of_cell(&experiment, &cell(64, Some(Rate::per_second(2_000))), 4),
    ] {
        let plan = Plan::try_from(plan(&target(), &load, &[1, 2, 3])).unwrap();
        assert_eq!(plan.request().url.path, "/small/7.html");
        assert_eq!(plan.is_open_loop(), load.rate.is_some());
    }
}

#[test]
fn there_are_never_more_workers_than_connections() {
    let workers = |connections| {
        let load = Load {
            connections,
            ..Load::one_exchange(Span::from_s(1), 1)
        };
        plan(&target(), &load, &[1, 2, 3]).workers
    };
    assert_eq!((workers(1), workers(2), workers(64)), (1, 2, 3));
}

#[test]
fn trials_never_share_a_source_address() {
    let mut seen = BTreeSet::new();
    for number in 1..=2_000 {
        let mut load = Load::one_exchange(Span::from_s(1), number);
        load.requests_per_connection = (number % 2 == 0).then_some(1);
        load.connections = 30_000;
        let own = sources(&load, Ipv4Addr::LOCALHOST.into());
        assert_eq!(own.len(), if number % 2 == 0 { 32 } else { 2 });
        for address in own {
            assert!(seen.insert(address), "{address} twice, trial {number}");
            assert!(address.is_loopback());
        }
    }
}

#[test]
fn short_windows_are_cut_into_tenths() {
    let check = |stop, expected| assert_eq!(interval(stop, true), expected);
    check(Stop::DurationNs(Span::from_ms(350)), Span::from_ms(35));
    check(Stop::DurationNs(Span::from_ms(20)), Span::from_ms(10));
    check(Stop::DurationNs(Span::from_s(60)), Span::from_s(1));
    check(Stop::Count(5), Span::from_s(1));
    // Where the rate changes, what is looked for is when answers are as before.
    let changing = |length| interval(Stop::DurationNs(length), false);
    assert_eq!(changing(Span::from_ms(5_410)), Span::from_ms(90));
    assert_eq!(changing(Span::from_s(90)), Span::from_s(1));
    assert_eq!(changing(Span::from_ms(100)), Span::from_ms(10));
}

#[test]
fn a_workload_of_several_requests_is_a_plan_of_them() {
    let text = r#"
        [experiment]
        name = "mix"
        question = "?"
        rounds = 1
        duration = "1s"
        [[server]]
        product = "origin"
        [[workload]]
        name = "page"
        [[workload.request]]
        body = { bytes = 7 }
        weight = 3
        [[workload.request]]
        path = "/hello?x"
        method = "HEAD"
        headers = [["Accept", "text/plain"]]
        expect = { status = 204, length = 5 }
        [load]
        connections = 1
    "#;
    let experiment = experiment::parse("mix.toml", text, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(folder.path(), &experiment).unwrap();
    let workload = &experiment.workloads()[0];
    let load = Load::one_exchange(experiment.timeout(), 1);
    let read = |racer| {
        let target = Target::of(
            racer,
            Place::at(Ipv4Addr::LOCALHOST, 4711, Speaks::default()),
            workload,
            experiment.users(),
            &site,
        );
        Plan::try_from(plan(&target, &load, &[1])).unwrap()
    };
    let plan = read(Racer::Server(0));
    let [page, hello] = plan.requests() else {
        panic!("{plan:?}");
    };
    assert_eq!((page.url.path.as_str(), page.weight), ("/small/7.html", 3));
    assert_eq!(
        (page.expect.status, page.expect.length),
        (Some(200), Some(7))
    );
    assert!(page.expect.sha256.is_some());
    assert_eq!((hello.url.path.as_str(), hello.weight), ("/hello?x", 1));
    assert_eq!((hello.method.as_str(), hello.headers.len()), ("HEAD", 1));
    assert_eq!(
        (hello.expect.status, hello.expect.length),
        (Some(204), Some(5))
    );
    // The ceiling answers as much, as often, from memory.
    let plan = read(Racer::Ceiling {
        cores: 1,
        speech: model::experiment::Speech::CLEAR,
    });
    let asked: Vec<_> = plan
        .requests()
        .iter()
        .map(|one| (&*one.url.path, one.weight))
        .collect();
    assert_eq!(
        asked,
        [
            ("/.triathlon/null?bytes=7", 3),
            ("/.triathlon/null?bytes=5", 1)
        ]
    );
}

#[test]
fn a_trial_has_as_many_source_addresses_as_it_is_to_have_and_no_other_has_one_of_them() {
    let experiment = first_heat(&[
        "load.sources=64,2000",
        "load.workers=8",
        "mode=open",
        "stages=1s:=10,1s:=30",
    ]);
    let cells = [Some(64), Some(2_000)].map(|sources| Cell {
        workload: 0,
        connections: 64,
        rate: experiment.rates().first().copied(),
        sources,
        placement: None,
        network: None,
    });
    let mut seen = BTreeSet::new();
    for number in 1..=20 {
        for (cell, expected) in cells.iter().zip([64, 2_000]) {
            let load = Load::of_cell(&experiment, cell, 2 * number + u64::from(expected == 64));
            let plan = Plan::try_from(plan(&target(), &load, &[1])).unwrap();
            assert_eq!(plan.file().sources.len(), expected);
            for address in &plan.file().sources {
                assert!(seen.insert(*address), "{address} twice");
            }
            assert_eq!(plan.file().workers, 8);
            assert_eq!(plan.file().stages.len(), 2);
            assert_eq!(plan.rate(), Some(Rate::per_second(20)));
        }
    }
}

#[test]
fn a_file_that_may_come_encoded_is_what_it_decodes_to() {
    let mut asked = first_heat(&[]).workloads()[0].requests[0].clone();
    let wanted = || Wanted::file("/small/7.html", 7, Some("ab".repeat(32)));
    let plain = wanted().asked(&asked).expect;
    assert_eq!((plain.length, plain.decode_one_in), (Some(7), None));
    asked.decodes = true;
    let decoded = wanted().asked(&asked).expect;
    assert_eq!(decoded.decode_one_in, Some(DECODED_ONE_IN));
    assert_eq!(decoded.sha256, plain.sha256);
}

#[test]
fn what_is_sent_with_a_request_and_what_is_unchanged_is_in_the_plan() {
    let text = r#"
[experiment]
name = "sent"
question = "?"
duration = "350ms"
[[server]]
product = "nginx"
[[workload]]
name = "unchanged"
[[workload.request]]
body = { bytes = 7 }
unchanged = true
[[workload]]
name = "form"
[[workload.request]]
path = "/form"
method = "POST"
content = "a=1"
[load]
connections = 1
"#;
    let experiment = experiment::parse("sent.toml", text, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(&folder.path().join("www"), &experiment).unwrap();
    let of = |racer: Racer, workload: usize| {
        let place = Place::at(Ipv4Addr::LOCALHOST, 4711, Speaks::default());
        let workload = &experiment.workloads()[workload];
        let target = Target::of(racer, place, workload, experiment.users(), &site);
        let plan = plan(&target, &Load::one_exchange(Span::from_s(1), 1), &[1]);
        Plan::try_from(plan).unwrap()
    };
    let unchanged = of(Racer::Server(0), 0);
    let since = ("If-Modified-Since".to_owned(), MODIFIED.to_owned());
    assert_eq!(unchanged.request().headers, [since]);
    let right = &unchanged.file().expect;
    assert_eq!((right.status, right.length), (Some(304), Some(0)));
    // The file has that time.
    let made = std::fs::metadata(folder.path().join("www/small/7.html")).unwrap();
    let made = made
        .modified()
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH);
    assert_eq!(made.unwrap(), std::time::Duration::from_secs(1_767_225_600));
    let form = of(Racer::Server(0), 1);
    let request = form.request();
    let sent = (request.method.as_str(), request.body.as_deref());
    assert_eq!(sent, ("POST", Some(&b"a=1"[..])));
    // The ceiling is of a GET that is answered from memory.
    let speech = experiment.servers()[0].speech;
    let ceiling = of(Racer::Ceiling { cores: 1, speech }, 1);
    assert_eq!(ceiling.request().body, None);
    let ceiling = of(Racer::Ceiling { cores: 1, speech }, 0);
    assert_eq!(ceiling.request().url.path, "/.triathlon/null?bytes=0");
}
