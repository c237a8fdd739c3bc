use super::*;

fn file(change: impl FnOnce(&mut serde_json::Value)) -> ExperimentFile {
    let mut value = serde_json::json!({
        "experiment": {
            "name": "small", "question": "Which?", "rounds": 6, "warmup": "1s", "duration": "350ms"
        },
        "server": [{ "product": "nginx" }],
        "workload": [{ "name": "seven", "body": { "bytes": 7 } }],
        "load": { "connections": [1, 16] }
    });
    change(&mut value);
    serde_json::from_value(value).unwrap()
}

fn error(change: impl FnOnce(&mut serde_json::Value)) -> ExperimentError {
    Experiment::try_from(file(change)).unwrap_err()
}

#[test]
fn defaults_are_the_documented_ones() {
    let experiment = Experiment::try_from(file(|_| ())).unwrap();
    assert_eq!(experiment.restart(), Restart::Round);
    assert_eq!(experiment.timeout(), Span::from_s(5));
    assert_eq!(experiment.duration(), Span::from_ms(350));
    assert_eq!(experiment.connections(), [1, 16]);
    assert!(experiment.rates().is_empty());
    let nginx = &experiment.servers()[0];
    assert_eq!(
        (nginx.label.as_str(), nginx.preset.as_str()),
        ("nginx", "tuned")
    );
    assert_eq!((nginx.cores, nginx.access_log), (1, AccessLog::Off));
}

#[test]
fn axes_of_a_server_expand_and_label_themselves() {
    let experiment = Experiment::try_from(file(|value| {
        value["server"] = serde_json::json!([
            { "product": "nginx", "cores": [1, 2], "access_log": ["off", "on"] },
            { "product": "nginx", "preset": "stock" },
            { "product": "nginx", "label": "control" },
        ]);
    }))
    .unwrap();
    let labels: Vec<_> = experiment
        .servers()
        .iter()
        .map(|s| s.label.as_str())
        .collect();
    assert_eq!(
        labels,
        [
            "nginx 1 core log off",
            "nginx 1 core log on",
            "nginx 2 cores log off",
            "nginx 2 cores log on",
            "nginx stock",
            "control"
        ]
    );
}

#[test]
fn a_variant_is_an_axis_of_a_server() {
    let of = |server: serde_json::Value| {
        let experiment = Experiment::try_from(file(|value| value["server"] = server)).unwrap();
        let servers = experiment.servers().iter();
        let facts = servers.map(|server| (server.label.clone(), server.variant.clone()));
        facts.collect::<Vec<_>>()
    };
    let pair = |label: &str, variant: &str| (label.to_owned(), Some(variant.to_owned()));
    assert_eq!(
        of(serde_json::json!([{ "product": "apache", "variant": ["prefork", "event"] }])),
        [
            pair("apache prefork", "prefork"),
            pair("apache event", "event")
        ]
    );
    let stock = serde_json::json!({ "product": "apache", "variant": "worker", "preset": "stock" });
    assert_eq!(of([stock].into()), [pair("apache stock worker", "worker")]);
    let named = serde_json::json!({ "product": "apache", "variant": "worker", "label": "mine" });
    assert_eq!(of([named].into()), [pair("mine", "worker")]);
}

#[test]
fn a_twin_is_like_its_server_and_no_reference() {
    let experiment = Experiment::try_from(file(|value| {
        value["server"] = serde_json::json!([
            { "product": "nginx", "twin": true }, { "product": "origin" },
        ]);
    }))
    .unwrap();
    let facts: Vec<_> = experiment
        .servers()
        .iter()
        .map(|one| (one.label.as_str(), experiment.is_reference(one)))
        .collect();
    assert_eq!(
        facts,
        [("nginx", true), ("nginx twin", false), ("origin", false)]
    );
    assert_eq!(experiment.servers()[1].product, "nginx");
    let wrong = error(|value| {
        value["server"] = serde_json::json!([
            { "product": "nginx", "label": "a twin" },
            { "product": "nginx", "label": "a", "twin": true },
        ]);
    });
    assert_eq!(wrong.key, "server[1].twin");
}

#[test]
fn a_handler_is_an_axis_of_a_workload() {
    let with = |handler: serde_json::Value| {
        Experiment::try_from(file(|value| value["workload"][0]["handler"] = handler))
    };
    let several = with(serde_json::json!(["static", "cgi-c", "proxy"])).unwrap();
    let facts: Vec<_> = several
        .workloads()
        .iter()
        .inspect(|one| assert_eq!(one.relay().is_some(), one.name.ends_with("proxy")))
        .map(|one| (one.name.as_str(), one.needs.join(","), one.maker()))
        .collect();
    assert_eq!(
        facts,
        [
            ("seven static", "static".to_owned(), None),
            ("seven cgi-c", "cgi-c".to_owned(), Some("cgi-c")),
            ("seven proxy", "proxy".to_owned(), None),
        ]
    );
    let one = with("lua".into()).unwrap();
    assert_eq!(one.workloads()[0].name, "seven");
    assert_eq!(one.workloads()[0].needs, ["lua"]);
    let check = |handler: serde_json::Value, bytes: u64, why: &str| {
        let wrong = error(|value| {
            value["workload"][0]["handler"] = handler;
            value["workload"][0]["body"]["bytes"] = bytes.into();
        });
        assert_eq!(wrong.key, "workload[0].handler");
        assert!(wrong.why.contains(why), "{wrong}");
    };
    check(serde_json::json!([]), 7, "give at least one");
    check("../x".into(), 7, "'../x' is not a name of letters");
    check("lua".into(), 32_769, "lua makes bodies of at most 32k");
    let wrong = error(|value| {
        value["workload"] = serde_json::json!([{
            "name": "a path", "handler": "lua", "request": [{ "path": "/x" }]
        }]);
    });
    assert!(wrong.why.contains("it goes with a body"), "{wrong}");
}

#[test]
fn connections_are_a_number_a_list_or_steps() {
    let check = |written: serde_json::Value, expected: &[u32]| {
        let experiment =
            Experiment::try_from(file(|value| value["load"]["connections"] = written)).unwrap();
        assert_eq!(experiment.connections(), expected);
    };
    check(serde_json::json!(8), &[8]);
    check(serde_json::json!([64, 1, 16, 16]), &[1, 16, 64]);
    check(
        serde_json::json!({ "from": 10, "to": 35, "step": 10 }),
        &[10, 20, 30],
    );
}

#[test]
fn a_workload_may_have_connections_of_its_own() {
    let experiment = Experiment::try_from(file(|value| {
        let big = serde_json::json!({
            "name": "big", "body": { "bytes": 70 }, "connections": [4000, 1000, 1000]
        });
        value["workload"].as_array_mut().unwrap().push(big);
    }))
    .unwrap();
    let [seven, big] = experiment.workloads() else {
        panic!("there are two workloads");
    };
    assert_eq!(experiment.connections_of(seven), [1, 16]);
    assert_eq!(experiment.connections_of(big), [1000, 4000]);
    assert_eq!(experiment.connections_most(), 4000);
    for wrong in [serde_json::json!([]), 0.into()] {
        let error = error(|value| value["workload"][0]["connections"] = wrong);
        assert_eq!(error.key, "workload[0].connections");
    }
}

/// Two workloads, of which the second is asked in a protocol of its own.
fn with_own(
    protocol: serde_json::Value,
    change: impl FnOnce(&mut serde_json::Value),
) -> Experiment {
    let read = Experiment::try_from(file(|value| {
        value["server"] = serde_json::json!([{ "product": "nginx" }, { "product": "origin" }]);
        let own = serde_json::json!({
            "name": "own", "body": { "bytes": 7 }, "protocol": protocol
        });
        value["workload"].as_array_mut().unwrap().push(own);
        change(value);
    }));
    read.unwrap()
}

fn labels(experiment: &Experiment) -> Vec<&str> {
    let servers = experiment.servers().iter();
    servers.map(|server| server.label.as_str()).collect()
}

#[test]
fn a_workload_with_a_protocol_of_its_own_has_servers_of_its_own() {
    let experiment = with_own("http1-tls".into(), |_| ());
    let all = ["nginx", "nginx http1-tls", "origin", "origin http1-tls"];
    assert_eq!(labels(&experiment), all);
    let [seven, own] = experiment.workloads() else {
        panic!("there are two workloads");
    };
    for (index, server) in experiment.servers().iter().enumerate() {
        let is_own = index % 2 == 1;
        assert_eq!(experiment.asks(own, server.speech), is_own, "{server:?}");
        assert_eq!(experiment.asks(seven, server.speech), !is_own, "{server:?}");
        assert_eq!(experiment.is_own(server), is_own, "{server:?}");
        assert_eq!(experiment.is_reference(server), index < 2, "{server:?}");
    }
    assert_eq!(experiment.apart().len(), 4);
    // A study names one server for both.
    let called = |name: &str, workload: &str| {
        let server = experiment.server_for(name, workload);
        server.map(|server| server.label.clone())
    };
    assert_eq!(called("nginx", "own").as_deref(), Some("nginx http1-tls"));
    assert_eq!(called("nginx", &seven.name).as_deref(), Some("nginx"));
    let whole = called("nginx http1-tls", "own");
    assert_eq!(whole.as_deref(), Some("nginx http1-tls"));
    assert_eq!(called("nginx http1-tls", &seven.name), None);
    // A reference by its label is one in every protocol.
    let named = |reference: &str| {
        with_own("http1-tls".into(), |value| {
            value["experiment"]["reference"] = reference.into();
            value["server"][1]["label"] = "mine".into();
        })
    };
    let experiment = named("mine");
    let references = experiment.servers().iter();
    let references = references.map(|one| experiment.is_reference(one));
    assert_eq!(references.collect::<Vec<_>>(), [false, false, true, true]);
}

#[test]
fn protocols_of_workloads_are_each_started_once() {
    // What the load says too is not a server of its own.
    let experiment = with_own(serde_json::json!(["http1", "http2"]), |_| ());
    let all = ["nginx", "nginx http2", "origin", "origin http2"];
    assert_eq!(labels(&experiment), all);
    let own = &experiment.workloads()[1];
    let servers = experiment.servers().iter();
    assert!(servers.clone().all(|one| experiment.asks(own, one.speech)));
    assert_eq!(experiment.apart().len(), 2);
    // Of several the label alone is the one that is meant.
    let found = experiment.server_for("nginx", "own").unwrap();
    assert_eq!(found.label, "nginx");
    let several = with_own(serde_json::json!(["http1-tls", "http2"]), |_| ());
    assert_eq!(several.server_for("nginx", "own"), None);
    // Nobody is started for a load of which no workload has anything.
    let none = with_own("http2".into(), |value| {
        value["workload"].as_array_mut().unwrap().remove(0);
    });
    assert_eq!(labels(&none), ["nginx http2", "origin http2"]);
    assert!(none.servers().iter().all(|one| none.is_own(one)));
    let keys = with_own("http1-tls".into(), |value| {
        value["tls"] = serde_json::json!({ "certificate": ["ecdsa-p256", "rsa-2048"] });
    });
    assert_eq!(
        labels(&keys)[..3],
        [
            "nginx",
            "nginx http1-tls ecdsa-p256",
            "nginx http1-tls rsa-2048"
        ]
    );
    for wrong in [serde_json::json!([]), serde_json::json!(["http2", "http2"])] {
        let error = error(|value| value["workload"][0]["protocol"] = wrong);
        assert_eq!(error.key, "workload[0].protocol");
    }
}

#[test]
fn a_capacity_is_searched_under_an_objective() {
    let capacity = |objective: &str| {
        file(|value| {
            value["load"]["mode"] = "capacity".into();
            value["load"]["objective"] = objective.into();
        })
    };
    let experiment = Experiment::try_from(capacity("p(99)<5ms, errors<0.1%")).unwrap();
    let texts: Vec<&str> = experiment.objective().iter().map(Threshold::text).collect();
    assert_eq!(texts, ["p(99)<5ms", "errors<0.1%"]);
    assert!(experiment.rates().is_empty());
    let check = |key: &str, change: fn(&mut serde_json::Value)| {
        let error = error(|value| {
            value["load"]["mode"] = "capacity".into();
            value["load"]["objective"] = "errors<1%".into();
            change(value);
        });
        assert_eq!(error.key, key, "{error}");
    };
    check("load.objective", |v| v["load"]["objective"] = "fast".into());
    check("load.objective", |v| {
        v["load"]["objective"] = "rate>10".into();
    });
    check("load.objective", |v| v["load"]["objective"] = ().into());
    check("load.objective", |v| v["load"]["mode"] = "closed".into());
    check("load.rate", |v| v["load"]["rate"] = 500.into());
    check("load.stages", |v| {
        v["load"]["stages"] = serde_json::json!(["1s:100"]);
    });
    check("load.think", |v| v["load"]["think"] = "1s".into());
}

#[test]
fn an_open_loop_has_rates() {
    let experiment = Experiment::try_from(file(|value| {
        value["load"]["mode"] = "open".into();
        value["load"]["rate"] = serde_json::json!(["2k", 500]);
    }))
    .unwrap();
    assert_eq!(
        experiment.rates(),
        [Rate::per_second(2_000), Rate::per_second(500)]
    );
}

#[test]
fn what_is_wrong_names_its_key() {
    let check = |expected: &str, change: fn(&mut serde_json::Value)| {
        let error = error(change);
        assert_eq!(error.key, expected, "{error}");
        assert!(!error.why.is_empty());
    };
    check("experiment.name", |v| {
        v["experiment"]["name"] = "../up".into();
    });
    check("experiment.rounds", |v| {
        v["experiment"]["rounds"] = 0.into();
    });
    check("experiment.repeats", |v| {
        v["experiment"]["repeats"] = 3.into();
    });
    check("experiment.duration", |v| {
        v["experiment"]["duration"] = "1ms".into();
    });
    // Nothing would be left of the window behind it.
    check("experiment.duration", |v| {
        v["experiment"]["duration"] = "1s".into();
        v["experiment"]["reload"] = true.into();
    });
    check("server", |v| v["server"] = serde_json::json!([]));
    check("server[0].cores", |v| {
        v["server"][0]["cores"] = serde_json::json!([1, 0]);
    });
    check("server[0].priority", |v| {
        v["server"][0]["priority"] = serde_json::json!(0);
    });
    check("server[1].product", |v| {
        v["server"] = serde_json::json!([{ "product": "nginx" }, { "product": "nginx" }]);
    });
    check("server[0].url", |v| {
        v["server"] = serde_json::json!([{ "url": "https://127.0.0.1:8443" }]);
    });
    check("workload", |v| v["workload"] = serde_json::json!([]));
    check("workload[0].body.bytes", |v| {
        v["workload"][0]["body"]["bytes"] = "2G".into();
    });
    check("workload[0].accept_encoding", |v| {
        v["workload"][0]["accept_encoding"] = "gzip, none".into();
    });
    check("workload[0].requests_per_connection", |v| {
        v["workload"][0]["requests_per_connection"] = 0.into();
    });
    check("load.connections", |v| v["load"]["connections"] = 0.into());
    check("load.connections.step", |v| {
        v["load"]["connections"] = serde_json::json!({ "from": 1, "to": 2, "step": 0 });
    });
    check("load.rate", |v| v["load"]["mode"] = "open".into());
    check("load.rate", |v| v["load"]["rate"] = 5.into());
    check("load.timeout", |v| v["load"]["timeout"] = 0.into());
}

#[test]
fn the_file_form_survives_a_round_trip() {
    let written = file(|value| {
        value["load"]["mode"] = "open".into();
        value["load"]["rate"] = serde_json::json!(["2k", 500]);
        value["experiment"]["seed"] = 7.into();
    });
    let json = serde_json::to_string(&written).unwrap();
    let read: ExperimentFile = serde_json::from_str(&json).unwrap();
    assert_eq!(read, written, "{json}");
}

#[test]
fn a_workload_is_its_requests_and_what_they_need() {
    let read = |workload: serde_json::Value| {
        let file: WorkloadFile = serde_json::from_value(workload).unwrap();
        workload::read(&[file]).map(|mut all| all.remove(0))
    };
    let one = read(serde_json::json!({ "name": "one", "body": { "bytes": 7 } })).unwrap();
    assert_eq!(
        (one.contents().as_str(), one.needs),
        ("7 B", vec!["static".to_owned()])
    );
    let mix = read(serde_json::json!({
        "name": "mix",
        "request": [
            { "body": { "bytes": 7 }, "weight": 9 },
            { "path": "/hello", "headers": [["Accept", "text/plain"]], "expect": { "length": 5 } },
        ],
        "needs": ["static", "cgi"],
    }))
    .unwrap();
    assert_eq!(mix.contents(), "7 B and /hello");
    assert_eq!(mix.requests[0].weight, 9);
    let Content::Path { expect, .. } = &mix.requests[1].content else {
        panic!("{mix:?}");
    };
    assert_eq!((expect.length, expect.status), (Some(5), None));
    let script = read(serde_json::json!({ "name": "x", "request": [{ "path": "/hello" }] }));
    let script = script.unwrap();
    assert_eq!(script.needs, Vec::<String>::new());
    let Content::Path { expect, .. } = &script.requests[0].content else {
        panic!("{script:?}");
    };
    assert_eq!(expect.status, Some(200));

    let check = |workload: serde_json::Value, key: &str| {
        assert_eq!(read(workload).unwrap_err().key, key);
    };
    check(serde_json::json!({ "name": "x" }), "workload[0].name");
    check(
        serde_json::json!({ "name": "x", "body": { "bytes": 1 }, "request": [{ "path": "/" }] }),
        "workload[0].body",
    );
    let request =
        |request: serde_json::Value| serde_json::json!({ "name": "x", "request": [request] });
    check(request(serde_json::json!({})), "workload[0].request[0]");
    check(
        request(serde_json::json!({ "path": "a" })),
        "workload[0].request[0].path",
    );
    check(
        request(serde_json::json!({ "path": "/", "weight": 0 })),
        "workload[0].request[0].weight",
    );
    check(
        request(serde_json::json!({ "body": { "bytes": 1 }, "expect": {} })),
        "workload[0].request[0].expect",
    );
    check(
        request(serde_json::json!({ "body": { "bytes": "2G" } })),
        "workload[0].request[0].body.bytes",
    );
}

#[test]
fn the_reference_is_whom_the_file_names_or_whom_readers_know() {
    let of = |products: &[&str], reference: Option<&str>| {
        let servers: Vec<_> = products
            .iter()
            .map(|product| serde_json::json!({ "product": product, "cores": [1, 2] }))
            .collect();
        let mut file = serde_json::json!({
            "experiment": { "name": "x", "question": "q", "rounds": 6, "duration": "1s" },
            "server": servers,
            "workload": [{ "name": "w", "body": { "bytes": 7 } }],
            "load": { "connections": 1 }
        });
        if let Some(name) = reference {
            file["experiment"]["reference"] = name.into();
        }
        let file: ExperimentFile = serde_json::from_value(file).unwrap();
        Experiment::try_from(file).map(|experiment| {
            let servers = experiment.servers().iter();
            let of_it = servers.filter(|server| experiment.is_reference(server));
            of_it.map(|server| server.label.clone()).collect::<Vec<_>>()
        })
    };
    let check = |products: &[&str], reference: Option<&str>, expected: &[&str]| {
        assert_eq!(of(products, reference).unwrap(), expected, "{products:?}");
    };
    let all = ["origin", "apache", "nginx"];
    check(&all, None, &["nginx 1 core", "nginx 2 cores"]);
    check(&all[..2], None, &["apache 1 core", "apache 2 cores"]);
    check(&all[..1], None, &["origin 1 core", "origin 2 cores"]);
    check(&all, Some("origin"), &["origin 1 core", "origin 2 cores"]);
    check(&all, Some("nginx 2 cores"), &["nginx 2 cores"]);
    let error = of(&all, Some("h2o")).unwrap_err();
    assert_eq!(error.key, "experiment.reference");
    assert!(error.why.contains("nginx 2 cores"), "{error}");
}

#[test]
fn every_axis_of_a_server_makes_servers_that_say_what_they_are() {
    let experiment = Experiment::try_from(file(|value| {
        value["server"] = serde_json::json!([{
            "product": "apache", "settings": { "ServerLimit": [4, 8], "StartServers": 1 },
            "keep_alive": { "requests": [0, 100], "idle": "50s" }, "pin": ["mask", "thread"],
        }]);
    }))
    .unwrap();
    let servers = experiment.servers();
    assert_eq!(servers.len(), 8);
    assert_eq!(
        servers[0].label,
        "apache ServerLimit 4 keep-alive without limit pin mask"
    );
    assert_eq!(
        servers[7].label,
        "apache ServerLimit 8 keep-alive 100 pin thread"
    );
    assert_eq!(servers[7].settings["StartServers"], "1");
    let limits = KeepAlive {
        requests: Some(100),
        idle_s: Some(50),
    };
    assert_eq!(
        (servers[7].keep_alive, servers[7].pin),
        (limits, Pin::Thread)
    );
    // What was written is what is stored.
    let stored = serde_json::to_value(experiment.file()).unwrap();
    assert_eq!(stored["server"][0]["keep_alive"]["idle"], "50s");
    assert_eq!(
        Experiment::try_from(serde_json::from_value::<ExperimentFile>(stored).unwrap()).unwrap(),
        experiment
    );
}

#[test]
fn the_load_comes_from_where_it_is_said() {
    let experiment = Experiment::try_from(file(|value| {
        value["load"]["sources"] = serde_json::json!([12_000, 64, 64]);
        value["load"]["workers"] = 32.into();
        value["load"]["placement"] = serde_json::json!(["shared", "apart"]);
        value["load"]["network"] = serde_json::json!(["veth", "loopback"]);
    }))
    .unwrap();
    assert_eq!(experiment.sources(), [64, 12_000]);
    assert_eq!(experiment.workers(), Some(32));
    assert_eq!(
        experiment.placements(),
        [Placement::Apart, Placement::Shared]
    );
    assert_eq!(experiment.networks(), [Network::Loopback, Network::Veth]);
    let remote = error(|file| file["load"]["network"] = "remote".into());
    assert_eq!(remote.key, "load.network");
    assert!(remote.to_string().contains("agent"), "{remote}");
    for (key, value) in [("sources", 0), ("sources", 70_000), ("workers", 0)] {
        let error = error(|file| file["load"][key] = value.into());
        assert_eq!(error.key, format!("load.{key}"));
    }
}

#[test]
fn agents_make_the_load_where_they_are_named() {
    let with = |address: &str, change: &dyn Fn(&mut serde_json::Value)| {
        file(|value| {
            value["generator"] = serde_json::json!({ "agents": ["a", "b"], "address": address });
            change(value);
        })
    };
    let experiment = Experiment::try_from(with("192.0.2.1", &|_| ())).unwrap();
    let generator = experiment.generator().unwrap();
    assert_eq!(generator.agents, ["a", "b"]);
    assert_eq!(generator.address.to_string(), "192.0.2.1");
    let over_remote = with("192.0.2.1", &|file| {
        file["load"]["network"] = "remote".into();
    });
    assert!(Experiment::try_from(over_remote).is_ok());
    let on_loopback = with("127.0.0.1", &|file| file["load"]["sources"] = 64.into());
    assert!(Experiment::try_from(on_loopback).is_ok());
    let check = |address: &str, key: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let error = Experiment::try_from(with(address, change)).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    };
    check("0.0.0.0", "generator.address", &|_| ());
    check("192.0.2.1", "generator.agents", &|file| {
        file["generator"]["agents"] = serde_json::json!([]);
    });
    check("192.0.2.1", "load.placement", &|file| {
        file["load"]["placement"] = serde_json::json!(["apart", "shared"]);
    });
    check("192.0.2.1", "load.network", &|file| {
        file["load"]["network"] = serde_json::json!(["remote", "loopback"]);
    });
    check("192.0.2.1", "load.sources", &|file| {
        file["load"]["sources"] = 64.into();
    });
    let secure = with("192.0.2.1", &|file| {
        file["load"]["protocol"] = serde_json::json!(["http1-tls", "http3"]);
    });
    assert!(Experiment::try_from(secure).is_ok());
}

#[test]
fn servers_are_on_another_machine_where_an_agent_has_them() {
    let with = |address: &str, change: &dyn Fn(&mut serde_json::Value)| {
        file(|value| {
            value["host"] = serde_json::json!({ "server": "rig", "address": address });
            change(value);
        })
    };
    let experiment = Experiment::try_from(with("192.0.2.1", &|_| ())).unwrap();
    assert_eq!(experiment.host().unwrap().server, "rig");
    let asked_at = experiment.asked_at().map(|address| address.to_string());
    assert_eq!(asked_at.as_deref(), Some("192.0.2.1"));
    let over_remote = with("192.0.2.1", &|file| {
        file["load"]["network"] = "remote".into();
    });
    assert!(Experiment::try_from(over_remote).is_ok());
    let here = Experiment::try_from(file(|_| ())).unwrap();
    assert_eq!(here.asked_at(), None);
    let check = |address: &str, key: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let error = Experiment::try_from(with(address, change)).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    };
    check("0.0.0.0", "host.address", &|_| ());
    check("192.0.2.1", "host.server", &|file| {
        file["host"]["server"] = "".into();
    });
    let by_agents = |agent: &'static str, address: &'static str| {
        move |file: &mut serde_json::Value| {
            let generator = serde_json::json!({ "agents": [agent], "address": address });
            file["generator"] = generator;
        }
    };
    let apart = Experiment::try_from(with("192.0.2.1", &by_agents("a", "192.0.2.1"))).unwrap();
    assert!(apart.host().is_some() && apart.generator().is_some());
    check(
        "192.0.2.1",
        "generator.address",
        &by_agents("a", "192.0.2.2"),
    );
    check(
        "192.0.2.1",
        "generator.agents",
        &by_agents("rig", "192.0.2.1"),
    );
    check("192.0.2.1", "load.network", &|file| {
        file["load"]["network"] = "veth".into();
    });
    let secure = with("192.0.2.1", &|file| {
        file["load"]["protocol"] = serde_json::json!(["http1-tls", "http3"]);
    });
    assert!(Experiment::try_from(secure).is_ok());
}

#[test]
fn a_window_that_ends_with_its_requests_has_no_other_end_than_its_time() {
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        Experiment::try_from(file(|value| {
            value["load"]["requests"] = 100_000.into();
            change(value);
        }))
    };
    assert_eq!(with(&|_| ()).unwrap().requests(), Some(100_000));
    let check = |change: &dyn Fn(&mut serde_json::Value), expected: &str| {
        let error = with(change).unwrap_err();
        assert_eq!(error.key, "load.requests", "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&|file| file["load"]["requests"] = 0.into(), "at least 1");
    check(
        &|file| {
            file["load"]["mode"] = "capacity".into();
            file["load"]["objective"] = "errors<1%".into();
        },
        "a search",
    );
    check(
        &|file| {
            file["load"]["mode"] = "open".into();
            file["load"]["stages"] = serde_json::json!(["1s:5"]);
        },
        "stages say",
    );
    check(
        &|file| {
            file["experiment"]["reload"] = true.into();
            file["experiment"]["duration"] = "2s".into();
        },
        "reload",
    );
    check(
        &|file| file["host"] = serde_json::json!({ "server": "rig", "address": "192.0.2.1" }),
        "two machines",
    );
}
