use std::collections::BTreeSet;

use model::{Experiment, ExperimentFile, Span};

use super::*;

const GOOD: &str = r#"[experiment]
name = "small"
question = "Which?"
rounds = 6
duration = "350ms"

[[server]]
product = "nginx"

[[server]]
product = "apache"
cores = [1, 2]
access_log = "on"

[[workload]]
name = "seven"
body = { bytes = 7 }

[load]
connections = { from = 10, to = 30, step = 10 }
"#;

fn error_of(text: &str, overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    parse("x.toml", text, &overrides).unwrap_err().to_string()
}

#[test]
fn a_mistake_names_file_line_key_and_the_nearest_valid_one() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(error_of(&GOOD.replacen(from, to, 1), &[]), expected);
    };
    check(
        "rounds = 6",
        "rouds = 6",
        "x.toml:4: experiment.rouds: no such key here; there are name, question, rounds, order, \
         restart, repeats, reload, reference, warmup, warmup_min, settle, calm, duration, \
         duration_min, seed; did you mean 'rounds'?",
    );
    check(
        "cores = [1, 2]",
        "core = 1",
        "x.toml:12: server[1].core: no such key here; there are product, url, pid, label, \
         program, preset, variant, cores, access_log, settings, keep_alive, pin, restart, twin, \
         priority; did you mean 'cores'?",
    );
    check(
        "[load]",
        "[laod]",
        "x.toml:19: laod: no such key here; there are experiment, server, workload, load, tls, generator, host, published, asked; \
         did you mean 'load'?",
    );
    check(
        "step = 10",
        "stepp = 10",
        "x.toml:20: load.connections.stepp: no such key here; there are from, to, step, also; \
         did you mean 'step'?",
    );
    check(
        "access_log = \"on\"",
        "access_log = \"bufered\"",
        "x.toml:13: server[1].access_log: write \"off\", \"on\" or \"buffered\", or a list of \
         these, not \"bufered\"; did you mean 'buffered'?",
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_told_what_may_stand_there() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(error_of(&GOOD.replacen(from, to, 1), &[]), expected);
    };
    check(
        "access_log = \"on\"",
        "access_log = true",
        "x.toml:13: server[1].access_log: write \"off\", \"on\" or \"buffered\", or a list of \
         these, not true",
    );
    check(
        "rounds = 6",
        "rounds = \"six\"",
        "x.toml:4: experiment.rounds: write a whole number, 1 or more, not \"six\"",
    );
    check(
        "rounds = 6",
        "rounds = 1.5",
        "x.toml:4: experiment.rounds: write a whole number, 1 or more, not 1.5",
    );
    check(
        "[[workload]]",
        "[workload]",
        "x.toml:15: workload: write [[workload]], in two brackets: there may be several",
    );
    check(
        "duration = \"350ms\"",
        "duration = \"350 parsecs\"",
        "x.toml:5: experiment.duration: '350 parsecs' is not a time: write 500us, 20ms, 10s or 2m",
    );
    check(
        "rounds = 6",
        "rounds = 0",
        "x.toml:4: experiment.rounds: give 1 to 10,000",
    );
    check(
        "cores = [1, 2]",
        "cores = [1, 0]",
        "x.toml:12: server[1].cores: give at least 1",
    );
    check(
        "to = 30",
        "to = 3",
        "x.toml:20: load.connections.from: 10 is more than to = 3",
    );
    check(
        "connections = { from = 10, to = 30, step = 10 }",
        "connections = true",
        "x.toml:20: load.connections: write a number, a list of numbers, or \
         { from = 10, to = 1000, step = 10 }",
    );
}

#[test]
fn what_nobody_can_measure_or_tell_apart_is_refused() {
    let check = |from: &str, to: &str, expected: &str| {
        assert_eq!(error_of(&GOOD.replacen(from, to, 1), &[]), expected);
    };
    check(
        "rounds = 6",
        "rounds = 99999999999999999999999",
        "x.toml:4: experiment.rounds: 99999999999999999999999 is too large: 4294967295 is the most \
         that can be written",
    );
    check(
        "rounds = 6",
        "rounds = 4000000000",
        "x.toml:4: experiment.rounds: give 1 to 10,000",
    );
    check(
        "access_log = \"on\"",
        "label = \"ceiling\"",
        "x.toml:13: server[1].label: what shows the generator's limit is called so: give another",
    );
    check(
        "access_log = \"on\"",
        "label = \"\"",
        "x.toml:13: server[1].label: give 1 to 100 characters, not 0",
    );
    check(
        "access_log = \"on\"",
        "label = \"a\\u001bb\"",
        "x.toml:13: server[1].label: give one line without control characters",
    );
    let unknown = error_of(
        &GOOD.replacen(
            "body = { bytes = 7 }",
            "body = { bytes = 7 }\nhandler = \"cgic\"",
            1,
        ),
        &[],
    );
    assert!(
        unknown.starts_with(
            "x.toml:18: workload[0].handler: no server has a handler 'cgic'; there are cache, cache-miss, cgi-c,"
        ),
        "{unknown}"
    );
    assert!(unknown.ends_with("did you mean 'cgi-c'?"), "{unknown}");
}

#[test]
fn a_server_that_nobody_knows_is_a_mistake_in_its_line() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(error_of(&GOOD.replacen(from, to, 1), &[]), expected);
    };
    check(
        "product = \"apache\"",
        "product = \"apach\"",
        "x.toml:11: server[1].product: the lab knows no product 'apach'; triathlon lab --list \
         servers prints those it knows; did you mean 'apache'?",
    );
    check(
        "cores = [1, 2]",
        "preset = \"tund\"",
        "x.toml:12: server[1].preset: a preset is stock, tuned or the path of a template, and \
         there is no file 'tund'; did you mean 'tuned'?",
    );
}

#[test]
fn a_variant_that_a_server_does_not_have_is_a_mistake_in_its_line() {
    let check = |line: &str, expected: &str| {
        let text = GOOD.replacen("cores = [1, 2]", line, 1);
        assert_eq!(error_of(&text, &[]), expected);
    };
    check(
        "variant = \"perfork\"",
        "x.toml:12: server[1].variant: apache has no variant 'perfork'; there are event, itk, \
         prefork, worker; did you mean 'prefork'?",
    );
    let text = GOOD.replacen(
        "product = \"nginx\"",
        "product = \"nginx\"\nvariant = \"event\"",
        1,
    );
    assert_eq!(
        error_of(&text, &[]),
        "x.toml:9: server[0].variant: nginx has no variants: leave it out"
    );
}

#[test]
fn what_is_not_toml_names_its_line() {
    let text = error_of(&GOOD.replace("rounds = 6", "rounds 6"), &[]);
    assert!(text.starts_with("x.toml:4: "), "{text}");
    let text = error_of("", &[]);
    assert!(text.contains("experiment"), "{text}");
}

#[test]
fn overrides_change_one_value() {
    let read = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        parse("x.toml", GOOD, &overrides).unwrap()
    };
    assert_eq!(read(&["rounds=9"]).rounds(), 9);
    assert_eq!(
        read(&["experiment.duration=2s"]).duration(),
        Span::from_s(2)
    );
    assert_eq!(read(&["connections=[1,4]"]).connections(), [1, 4]);
    assert_eq!(read(&["connections=1,64"]).connections(), [1, 64]);
    assert_eq!(read(&["mode=open", "rate=500,2k"]).rates().len(), 2);
    let logs = read(&["server[0].access_log=off,on"]);
    assert_eq!(logs.servers()[1].label, "nginx log on");
    assert_eq!(read(&["load.connections.step=20"]).connections(), [10, 30]);
    assert_eq!(read(&["server[1].cores=1"]).servers()[1].cores, 1);
    assert_eq!(read(&["server.1.cores=3"]).servers()[1].cores, 3);
    assert_eq!(read(&["rounds=9", "rounds=8"]).rounds(), 8);
    let labels = |experiment: &Experiment| -> Vec<String> {
        experiment
            .servers()
            .iter()
            .map(|s| s.label.clone())
            .collect()
    };
    assert_eq!(labels(&read(&["server=origin,nginx"])), ["origin", "nginx"]);
}

/// What looks like a number, a date, a truth or a list is none where text is wanted.
#[test]
fn an_override_of_a_text_is_text() {
    let read = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        parse("x.toml", GOOD, &overrides).unwrap()
    };
    let question = |written: &str| read(&[written]).file().experiment.question.clone();
    for text in [
        "2026",
        "2026-11-30",
        "true",
        "0x1f",
        "1e3",
        "inf",
        "plain",
        "a, b",
    ] {
        assert_eq!(question(&format!("question={text}")), text);
        let label = format!("server[0].label={text}");
        assert_eq!(read(&[&label]).servers()[0].label, text);
    }
    assert_eq!(read(&["name=2026"]).name(), "2026");
    assert_eq!(question("question=[1, 2]"), "[1, 2]");
    for quoted in ["\"a b\"", "'a b'"] {
        assert_eq!(question(&format!("question={quoted}")), "a b");
    }
    let needs = read(&["workload[0].needs=7,true"]);
    let needs = &needs.workloads()[0].needs;
    assert!(
        needs.ends_with(&["7".to_owned(), "true".to_owned()]),
        "{needs:?}"
    );
    let error = error_of(GOOD, &["workload[0].handler=7"]);
    assert!(!error.contains("write text"), "{error}");
}

#[test]
fn a_wrong_override_is_told_as_such() {
    let check = |written: &str, expected: &str| {
        assert_eq!(error_of(GOOD, &[written]), expected);
    };
    check(
        "rouds=9",
        "'rouds=9': rouds: no such key; did you mean 'rounds'?",
    );
    check(
        "servers=nginx",
        "'servers=nginx': servers: no such key; did you mean 'server'?",
    );
    check(
        "cores=2",
        "'cores=2': cores: this is a key of each server: write server[0].cores=2",
    );
    check(
        "rounds=1.5",
        "'rounds=1.5': rounds: write a whole number, 1 or more, not 1.5",
    );
    check(
        "rounds=0",
        "'rounds=0': experiment.rounds: give 1 to 10,000",
    );
    check(
        "workload=small",
        "'workload=small': workload: this has keys of its own: name, body, site, \
         request, method, content, content_file, handler, needs, accept_encoding, \
         requests_per_connection, connections, protocol, priority; set one of them, as in \
         workload[0].name=...",
    );
    check(
        "workload[0].body=7",
        "'workload[0].body=7': workload[0].body: this has keys of its own: bytes; set one of \
         them, as in workload[0].body.bytes=...",
    );
    check(
        "rounds=-1",
        "'rounds=-1': rounds: write a whole number, 1 or more, not -1",
    );
    check(
        "server=origin,nginxx",
        "'server=origin,nginxx': server[1].product: the lab knows no product 'nginxx'; triathlon \
         lab --list servers prints those it knows; did you mean 'nginx'?",
    );
    check(
        "server[0].preset=no/such/template",
        "'server[0].preset=no/such/template': server[0].preset: a preset is stock, tuned or the \
         path of a template, and there is no file 'no/such/template'",
    );
    check(
        "rounds",
        "'rounds': an override is KEY=VALUE, as in rounds=10",
    );
    check(
        "load.mode=opne",
        "'load.mode=opne': load.mode: write \"closed\", \"open\" or \"capacity\", not \"opne\"; did \
         you mean 'open'?",
    );
    check(
        "server[7].cores=1",
        "'server[7].cores=1': server[7].cores: the experiment has no 'server.7'",
    );
}

#[test]
fn every_built_in_experiment_is_right() {
    for (name, text) in BUILT_IN {
        let experiment = parse(name, text, &[]).unwrap();
        assert_eq!(experiment.name(), *name);
    }
}

#[test]
fn the_experiment_to_begin_with_is_right_also_with_what_it_only_suggests() {
    assert_eq!(parse("new.toml", NEW, &[]).unwrap().name(), "mine");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "hello").unwrap();
    let site = format!("site = \"{}\"", folder.path().display());
    let is_suggested = |line: &str| line.starts_with("# ") && line.contains(['=', '[']);
    let all: Vec<&str> = NEW
        .lines()
        .map(|line| if is_suggested(line) { &line[2..] } else { line })
        .collect();
    let all = all.join("\n").replace("site = \"www\"", &site);
    let experiment = parse("new.toml", &all, &[]).unwrap();
    assert_eq!(
        (experiment.servers().len(), experiment.workloads().len()),
        (4, 3)
    );
    assert_eq!(experiment.rates().len(), 2);
}

#[test]
fn axes_of_servers_and_workloads_count_for_the_rounds_that_comparisons_need() {
    let text = GOOD
        .replacen("rounds = 6\n", "", 1)
        .replacen(
            "cores = [1, 2]",
            "variant = [\"event\", \"worker\"]\ntwin = true",
            1,
        )
        .replacen(
            "bytes = 7 }",
            "bytes = 7 }\nhandler = [\"static\", \"perl\", \"lua\"]",
            1,
        );
    let experiment = parse("x.toml", &text, &[]).unwrap();
    let (servers, workloads) = (experiment.servers().len(), experiment.workloads().len());
    assert_eq!((servers, workloads), (5, 3));
    assert_eq!(experiment.rounds(), rounds_needed(4 * 3));
    assert!(experiment.rounds() > rounds_needed(1));
}

#[test]
fn every_published_figure_belongs_beside_something_of_its_experiment() {
    let mut seen = 0;
    for (name, text) in BUILT_IN {
        let experiment = parse(name, text, &[]).unwrap();
        let is_server = |label: &str| experiment.servers().iter().any(|one| one.label == label);
        let is_workload = |name: &str| experiment.workloads().iter().any(|one| one.name == name);
        for figure in &experiment.file().published {
            seen += 1;
            assert!(
                figure.server.as_deref().is_some_and(is_server),
                "{figure:?}"
            );
            assert!(
                figure.workload.as_deref().is_some_and(is_workload),
                "{figure:?}"
            );
        }
    }
    assert_eq!(seen, 36);
}

#[test]
fn a_name_that_nothing_has_is_told_with_the_nearest() {
    let error = read("first-heet", &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no file and no built-in experiment 'first-heet'; did you mean 'first-heat'?; \
         built in: first-heat, handshakes, real-load-2022, revisited-2005, rootusers-2016, \
         slashdotting, yitian-2023, scalable-2003"
    );
}

/// The table of keys is written by hand: it must be that of the types.
#[test]
fn the_table_of_keys_is_that_of_the_types() {
    let full = r#"{
        "experiment": { "name": "n", "question": "q", "rounds": 1, "order": "cell",
            "restart": "round", "repeats": 1, "reference": "p", "warmup": "1s", "warmup_min": "1s",
            "settle": "1s", "duration": "2s", "duration_min": "1s", "seed": 1, "reload": true },
        "server": [{ "product": "p", "url": "u", "pid": 1, "label": "l", "preset": "p",
            "program": "/p", "cores": 1, "access_log": "off",
            "restart": "trial", "variant": "v", "twin": true, "priority": 2, "settings": { "a": 1 },
            "keep_alive": { "requests": 1, "idle": "1s" }, "pin": "mask" }],
        "workload": [{ "name": "n", "body": { "bytes": 1 }, "requests_per_connection": 1,
            "needs": ["static"], "accept_encoding": "br", "site": "w", "handler": "static", "priority": 2,
            "connections": 1, "protocol": "http2", "method": "POST", "content": "c", "content_file": "f",
            "request": [{ "name": "n", "body": { "bytes": 1 }, "file": "f", "path": "/", "method": "GET",
                "headers": [["a", "b"]], "weight": 1, "unchanged": true,
                "content": "c", "content_file": "f",
                "expect": { "level": "body", "status": 200, "length": 1, "sha256": "",
                    "decode_one_in": 1 } }] }],
        "load": { "mode": "open", "objective": "errors<1%", "rate": 1, "users": 1, "think": "1s", "ramp": "1s",
            "step": [{ "get": "/" }], "cookies": true, "user_connections": 2, "user_rate": 5,
            "user_stages": ["1s:5"],
            "user_arrivals": "fixed", "variables": { "a": { "counter": 1 } },
            "connections": { "from": 1, "to": 2, "step": 1, "also": 4 },
            "arrivals": "fixed", "timeout": "1s", "stages": ["1s:5"], "sources": 1, "workers": 1,
            "placement": "shared", "network": "veth", "overload": true,
            "requests": 5,
            "protocol": "http2-tls", "streams": 2 },
        "tls": { "certificate": "rsa-2048", "handshake": "full", "version": "1.3", "group": "X25519",
            "suite": "TLS_AES_128_GCM_SHA256" },
        "generator": { "agents": ["a"], "address": "192.0.2.1" },
        "host": { "server": "b", "address": "192.0.2.1" },
        "published": [{ "what": "w", "rate": 1, "show": "user", "value": "95us", "source": "s", "server": "s", "workload": "w",
            "connections": 1, "sources": 1, "placement": "apart", "network": "veth" }],
        "asked": [{ "who": "w", "demand": "d", "show": "rate", "server": "s", "workload": "w",
            "connections": 1, "sources": 1, "against": "s", "against_workload": "w", "means": "m",
            "rate": 1, "against_rate": 1,
            "against_connections": 1, "against_sources": 1,
            "placement": "apart", "network": "veth", "against_placement": "shared",
            "against_network": "loopback", "rule": "r", "not": "n" }]
    }"#;
    let file: ExperimentFile = serde_json::from_str(full).unwrap();
    let value = serde_json::to_value(file).unwrap();
    for section in keys::SECTIONS {
        let path = section.path;
        let mut place = &value;
        for part in path.split('.').filter(|part| !part.is_empty()) {
            place = &place[part];
            if place.is_array() {
                place = &place[0];
            }
        }
        let written: BTreeSet<&str> = place
            .as_object()
            .unwrap_or_else(|| panic!("{path}"))
            .keys()
            .map(String::as_str)
            .collect();
        let known = section.keys.iter().map(|key| key.name).collect();
        assert_eq!(written, known, "{path}");
    }
}

#[test]
fn protocols_and_tls_can_be_set_from_the_command_line() {
    use model::tls::TlsVersion;
    let overrides = [
        "protocol=http1,http2-tls",
        "certificate=rsa-2048",
        "tls.version=1.2",
    ];
    let overrides = overrides.map(str::to_owned);
    let experiment = parse("x.toml", GOOD, &overrides).unwrap();
    let labels: Vec<&str> = experiment
        .servers()
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels[..2], ["nginx http1", "nginx http2-tls"]);
    let demands = experiment
        .tls_demands(experiment.servers()[1].speech, "a.pem")
        .unwrap();
    assert_eq!(demands.versions, [TlsVersion::Tls12]);
    let said = error_of(GOOD, &["protocol=http2-tsl"]);
    assert!(said.contains("did you mean 'http2-tls'?"), "{said}");
    let said = error_of(GOOD, &["protocol=http1-tls", "tls.version=1.1"]);
    assert!(
        said.contains("write \"1.2\" or \"1.3\", not \"1.1\""),
        "{said}"
    );
}

/// It is asked of servers of its own, and changes nothing of the others.
#[test]
fn a_workload_may_have_a_protocol_of_its_own() {
    let text = |line: &str| GOOD.replacen("bytes = 7 }", &format!("bytes = 7 }}\n{line}"), 1);
    let read = |text: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let experiment = parse("x.toml", text, &overrides).unwrap();
        let servers = experiment.servers().iter().map(|one| one.label.clone());
        (servers.collect::<Vec<_>>(), experiment.rounds())
    };
    let (plain, _) = read(GOOD, &[]);
    let (own, _) = read(GOOD, &["workload[0].protocol=http1-tls,http2-tls"]);
    assert_eq!(own.len(), plain.len() * 2, "{own:?}");
    assert!(own.contains(&"nginx http2-tls".to_owned()), "{own:?}");
    assert_eq!(
        read(&text("protocol = [\"http1-tls\", \"http2-tls\"]"), &[]).0,
        own
    );
    let said = error_of(&text("protocol = \"http2-tsl\""), &[]);
    assert!(said.contains("did you mean 'http2-tls'?"), "{said}");
    let said = error_of(&text("protocol = []"), &[]);
    assert!(
        said.contains("workload[0].protocol: give at least one"),
        "{said}"
    );
}

#[test]
fn directives_are_for_servers_whose_folder_says_how_they_are_written() {
    let with = |line: &str| {
        let from = "product = \"apache\"";
        GOOD.replacen(from, &format!("{from}\n{line}"), 1)
    };
    let servers = |line: &str| {
        let experiment = parse("x.toml", &with(line), &[]).unwrap();
        let servers = experiment.servers().iter();
        servers.map(|one| one.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        servers("settings = { MaxRequestWorkers = 2048 }\nkeep_alive = { idle = \"5s\" }"),
        ["nginx", "apache 1 core", "apache 2 cores"]
    );
    let lines = |line: &str| error_of(&with(line), &[]);
    assert!(lines("settings = { \"a b\" = 1 }").contains("server[1].settings.a b"));
    assert!(lines("settings = 5").contains("settings: write a table of text, numbers"));
    assert!(
        lines("variant = []").contains("server[1].variant: give at least one, or leave it out")
    );
    assert!(
        lines("settings = { a = { b = 1 } }")
            .contains("server[1].settings.a: write one value or a list of values")
    );
    let none = GOOD.replacen(
        "product = \"apache\"",
        "product = \"origin\"\nsettings = { a = 1 }",
        1,
    );
    let said = error_of(&none, &[]);
    for part in [
        "server[1].settings: the folder of origin does not say how its directives are written",
        "takes no settings",
        "preset = \"PATH\"",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let none = none.replace("settings = { a = 1 }", "keep_alive = { requests = 5 }");
    assert!(error_of(&none, &[]).contains("origin has no limit of requests on a connection"));
    // On the command line too, where the file has none.
    let experiment = parse("x.toml", GOOD, &["server[0].settings.etag=off".to_owned()]).unwrap();
    assert_eq!(experiment.servers()[0].settings["etag"], "off");
    // Names of directives may have dots.
    for name in [
        "server[0].settings.server.max-fds",
        "server.0.settings.server.max-fds",
    ] {
        let experiment = parse("x.toml", GOOD, &[format!("{name}=1000")]).unwrap();
        assert_eq!(experiment.servers()[0].settings["server.max-fds"], "1000");
    }
}

#[test]
fn a_rate_that_changes_is_stretched_to_the_window() {
    let open = GOOD.replacen(
        "[load]",
        "[load]\nmode = \"open\"\nstages = [\"1s:=100\", \"1s:=300\"]",
        1,
    );
    let experiment = parse("x.toml", &open, &[]).unwrap();
    assert_eq!(experiment.rates(), [model::units::Rate::per_second(200)]);
    let lengths = |experiment: &Experiment| {
        let stages = experiment.stages();
        stages.iter().map(|stage| stage.length).collect::<Vec<_>>()
    };
    assert_eq!(
        lengths(&experiment),
        [Span::from_ms(175), Span::from_ms(175)]
    );
    let longer = parse("x.toml", &open, &["duration=4s".to_owned()]).unwrap();
    assert_eq!(lengths(&longer), [Span::from_s(2), Span::from_s(2)]);
    let check = |more: &str, why: &str| {
        let text = open.replacen("[load]", &format!("[load]\n{more}"), 1);
        assert!(
            error_of(&text, &[]).contains(why),
            "{}",
            error_of(&text, &[])
        );
    };
    check("rate = 5", "leave out rate");
    let closed = open.replace("mode = \"open\"", "");
    assert!(error_of(&closed, &[]).contains("a closed loop has no rate that could change"));
    let misspelt = open.replace("1s:=300", "300");
    assert!(
        error_of(&misspelt, &[]).contains("is not a stage"),
        "{}",
        error_of(&misspelt, &[])
    );
}

#[test]
fn the_content_of_a_request_is_stored_with_the_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("form.txt");
    std::fs::write(&file, "a=1&b=2").unwrap();
    let named = format!("content_file = \"{}\"", file.display());
    let with = |keys: &str| {
        let body = "body = { bytes = 7 }";
        let keys = format!("{body}\nhandler = \"cgi-c\"\nmethod = \"POST\"\n{keys}");
        GOOD.replacen(body, &keys, 1)
    };
    for text in [with(&named), with("content = \"a=1&b=2\"")] {
        let experiment = parse("x.toml", &text, &[]).unwrap();
        let written = &experiment.file().workload[0];
        assert_eq!(written.content.as_deref(), Some("a=1&b=2"));
        assert_eq!(written.content_file, None);
        let asked = &experiment.workloads()[0].requests[0];
        let sent = (asked.method.as_str(), asked.sent.as_deref());
        assert_eq!(sent, ("POST", Some("a=1&b=2")));
    }
    let check = |text: &str, why: &str| {
        let error = error_of(text, &[]);
        assert!(error.contains(why), "{error}");
    };
    let both = format!("content = \"a\"\n{named}");
    check(&with(&both), "give content or content_file, not both");
    check(&with("content_file = \"/no/such/file\""), "No such file");
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    check(&with(&named), "it is not text");
    let request = |keys: &str| {
        let requests = format!("[[workload.request]]\n{keys}");
        GOOD.replacen("body = { bytes = 7 }", &requests, 1)
    };
    check(
        &request("path = \"/x\"\nunchanged = true"),
        "it is for a file that the lab has",
    );
    check(
        &request("body = { bytes = 7 }\nmethod = \"POST\"\nunchanged = true"),
        "by GET",
    );
}

/// No server is asked for it, and none is blamed.
#[test]
fn what_nobody_can_send_is_refused_where_it_is_written() {
    let body = "body = { bytes = 7 }";
    let error = |written: &str| error_of(&GOOD.replacen(body, written, 1), &[]);
    let at_body = error(&format!("{body}\nmethod = \"G T\""));
    let why = "workload[0].method: 'G T' is not a method name";
    assert!(at_body.contains(why), "{at_body}");
    for (key, name, why) in [
        ("method = \"\"", "method", "'' is not a method name"),
        (
            "headers = [[\"A B\", \"c\"]]",
            "headers",
            "'A B' is not a field name",
        ),
        (
            "headers = [[\"X\", \"a\\r\\nb: c\"]]",
            "headers",
            "the value of X has a control character",
        ),
        (
            "headers = [[\"Content-Length\", \"1\"]]",
            "headers",
            "Content-Length is set by the generator",
        ),
        (
            "expect = { sha256 = \"zz\" }",
            "expect.sha256",
            "give 64 hexadecimal digits",
        ),
    ] {
        let request = "[[workload.request]]\npath = \"/x\"\n";
        let error = error(&format!("{request}{key}"));
        let expected = format!("workload[0].request[0].{name}: {why}");
        assert!(error.contains(&expected), "{error}");
    }
    let error = error("[[workload.request]]\npath = \"/a b\"");
    assert!(error.contains("workload[0].request[0].path: "), "{error}");
}
