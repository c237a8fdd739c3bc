use super::*;
use crate::redact::REDACTED;

fn file() -> PlanFile {
    PlanFile {
        format: FORMAT,
        requests: vec![RequestFile::get("http://127.0.0.1:8080/x")],
        addresses: Vec::new(),
        resolve: Vec::new(),
        sources: Vec::new(),
        unix_socket: None,
        http_proxy: None,
        proxy_protocol: None,
        protocol: Protocol::Http1,
        tls: None,
        arrivals: Arrivals::Closed,
        stages: Vec::new(),
        think: None,
        script: None,
        lua: None,
        deadline: None,
        stop: Stop::DurationNs(Span::from_s(10)),
        requests_most: None,
        warmup: Span::ZERO,
        connections: 64,
        requests_per_connection: None,
        renewal: Renewal::default(),
        slow: Slow::default(),
        split_one_in: None,
        follow: None,
        pipeline: 1,
        streams: 1,
        timeout: Span::from_s(5),
        connect_timeout: None,
        seed: 0,
        workers: 1,
        cpus: Vec::new(),
        spin: Spin::Auto,
        backend: Backend::Auto,
        expect: Expectation::default(),
        samples: 0,
        interval: Span::from_s(1),
    }
}

#[test]
fn urls() {
    let check = |text: &str, expected: &str| {
        let shown = match Url::parse(text) {
            Ok(url) => format!("{} {} {} {}", url.host, url.port, url.path, url.authority),
            Err(error) => error.to_string(),
        };
        assert!(shown.contains(expected), "{text}: {shown}");
    };
    check("http://example.test", "example.test 80 / example.test");
    check(
        "HTTP://example.test:8080/a?b=c#d",
        "example.test 8080 /a?b=c example.test:8080",
    );
    check("127.0.0.1:81/x", "127.0.0.1 81 /x 127.0.0.1:81");
    check("http://[::1]:8080/", "::1 8080 / [::1]:8080");
    check("http://[::1]", "::1 80 / [::1]");
    check("http://h?q=1", "h 80 /?q=1 h");
    // A scheme stands before everything else.
    check("h:81/?to=http://x/", "h 81 /?to=http://x/ h:81");
    check("h?to=ftp://x/", "h 80 /?to=ftp://x/ h");
    check("http:81/x", "http 81 /x http:81");
    check("https://h/", "h 443 / h");
    check("https://h:80/", "h 80 / h:80");
    check("http://h:443/", "h 443 / h:443");
    check("ftp://h/", "scheme must be http:// or https://");
    check("http://", "host is missing");
    check("http:/x", "two slashes");
    check("http:x", "two slashes");
    check("HTTP:127.0.0.1/", "two slashes");
    check("http:", "two slashes");
    check("http://:80/", "host is missing");
    check("http://::1/", "goes in brackets");
    check("http://[::1/", "not closed");
    check("http://[zz]/", "not an IPv6 address");
    check("http://h:0/", "1 to 65535");
    check("http://h:99999/", "1 to 65535");
    check("http://h:/", "port is missing");
    check("http://me@h/", "user name");
    check("http://h/a b", "percent-encode");
}

#[test]
fn a_plan_that_cannot_run_does_not_exist() {
    let check = |change: fn(&mut PlanFile), expected: &str| {
        let mut file = file();
        change(&mut file);
        let error = Plan::try_from(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(|f| f.format = 99, "version 99");
    check(|f| f.requests.clear(), "requests: give 1 to");
    check(|f| f.connections = 0, "connections: give at least 1");
    check(|f| f.workers = 65, "more threads than connections");
    check(|f| f.timeout = Span::ZERO, "timeout");
    check(|f| f.pipeline = 65, "pipeline: give 1 to 64");
    check(
        |f| f.streams = 2,
        "streams: only HTTP/2 and HTTP/3 have them",
    );
    check(|f| f.streams = 0, "streams: give 1 to 1000");
    check(
        |f| (f.protocol, f.pipeline) = (Protocol::Http2, 2),
        "pipeline: HTTP/2 and HTTP/3 have streams instead",
    );
    check(
        |f| (f.protocol, f.backend) = (Protocol::Http3, Backend::Uring),
        "backend: HTTP/3 works only over readiness",
    );
    check(|f| f.requests[0].weight = 0, "weight: give at least 1");
    check(
        |f| f.requests.push(RequestFile::get("https://127.0.0.1:8081/")),
        "all http or all https",
    );
    check(|f| f.format = 3, "versions 1 to 2");
    check(|f| f.stop = Stop::Count(0), "stop");
    check(
        |f| f.requests[0].method = "GE T".to_owned(),
        "not a method name",
    );
    check(
        |f| {
            f.requests[0]
                .headers
                .push(("Content-Length".to_owned(), "3".to_owned()));
        },
        "set by the generator, which must know",
    );
    check(
        |f| {
            f.requests[0]
                .headers
                .push(("X".to_owned(), "a\r\nb".to_owned()));
        },
        "control",
    );
    check(
        |f| f.requests[0].body_base64 = Some("?".to_owned()),
        "body_base64",
    );
    check(
        |f| f.expect.sha256 = Some("12".to_owned()),
        "64 hexadecimal",
    );
}

#[test]
fn each_request_has_its_expectation_and_its_name() {
    let mut file = file();
    file.expect.status = Some(200);
    file.requests.push(RequestFile {
        name: Some("gone".to_owned()),
        weight: 3,
        expect: Some(Expectation {
            status: Some(404),
            ..Expectation::default()
        }),
        ..RequestFile::get("http://127.0.0.1:8080/gone")
    });
    let plan = Plan::try_from(file).unwrap();
    let told: Vec<_> = plan
        .requests()
        .iter()
        .map(|one| (one.name.as_str(), one.weight, one.expect.status))
        .collect();
    assert_eq!(told, [("GET /x", 1, Some(200)), ("gone", 3, Some(404))]);
}

/// What version 1 wrote of a request.
#[test]
fn a_plan_of_the_first_format_is_read() {
    let mut file = file();
    file.format = 1;
    let text = serde_json::to_string(&file).unwrap();
    assert!(!text.contains("weight"), "{text}");
    let read: PlanFile = serde_json::from_str(&text).unwrap();
    assert_eq!(Plan::try_from(read).unwrap().requests().len(), 1);
}

#[test]
fn connections_are_a_total() {
    let mut file = file();
    (file.connections, file.workers) = (10, 4);
    let plan = Plan::try_from(file).unwrap();
    let each: Vec<u32> = (0..4).map(|index| plan.connections_of(index)).collect();
    assert_eq!(each, [3, 3, 2, 2]);
}

#[test]
fn the_file_form_is_read_back() {
    let json = serde_json::to_string(&file()).unwrap();
    assert_eq!(serde_json::from_str::<PlanFile>(&json).unwrap(), file());
    let misspelt = json.replace("\"connections\"", "\"conections\"");
    let error = serde_json::from_str::<PlanFile>(&misspelt)
        .unwrap_err()
        .to_string();
    assert!(error.contains("conections"), "{error}");
}

#[test]
fn what_says_when_requests_are_due_fits_together() {
    let staged = || PlanFile {
        arrivals: Arrivals::Poisson {
            rate_per_1000_s: Rate::per_second(50),
        },
        stages: vec!["10s:100".parse().unwrap()],
        ..file()
    };
    assert!(Plan::try_from(staged()).is_ok());
    let think = Some("exp:100ms".parse().unwrap());
    assert!(Plan::try_from(PlanFile { think, ..file() }).is_ok());
    let check = |change: fn(&mut PlanFile), expected: &str| {
        let mut file = staged();
        change(&mut file);
        let error = Plan::try_from(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(|f| f.arrivals = Arrivals::Closed, "stages: a closed loop");
    check(
        |f| f.stop = Stop::DurationNs(Span::from_s(9)),
        "as long as they are",
    );
    check(
        |f| {
            f.arrivals = Arrivals::Fixed {
                rate_per_1000_s: Rate::per_second(51),
            };
        },
        "their mean",
    );
    check(|f| f.stages[0].length = Span::ZERO, "more than 0");
    check(|f| f.think = "1s".parse().ok(), "think: users of an open");
    check(|f| f.deadline = Some(Span::ZERO), "deadline: give more");
    check(
        |f| {
            *f = PlanFile {
                deadline: Some(Span::from_s(1)),
                ..file()
            };
        },
        "deadline: only an open loop",
    );
    check(
        |f| {
            *f = PlanFile {
                think: "1s".parse().ok(),
                pipeline: 2,
                ..file()
            };
        },
        "one request under way",
    );
}

#[test]
fn the_way_to_the_server_fits_the_rest() {
    let unix = || PlanFile {
        unix_socket: Some("/run/server.sock".to_owned()),
        ..file()
    };
    let chosen = Some(ProxyProtocol {
        version: ProxyVersion::V2,
        sources: vec![[192, 0, 2, 1].into()],
    });
    let own = Some(ProxyProtocol {
        version: ProxyVersion::V1,
        sources: Vec::new(),
    });
    let is_fine = |file: PlanFile| assert!(Plan::try_from(file).is_ok());
    is_fine(unix());
    is_fine(PlanFile {
        proxy_protocol: own.clone(),
        ..file()
    });
    is_fine(PlanFile {
        proxy_protocol: chosen,
        ..unix()
    });
    let check = |file: PlanFile, expected: &str| {
        let error = Plan::try_from(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    for path in [String::new(), "x".repeat(108), "a\0b".to_owned()] {
        let unix_socket = Some(path);
        let file = PlanFile {
            unix_socket,
            ..file()
        };
        check(file, "unix_socket: give a path of 1 to 107 bytes");
    }
    let mut wrong = unix();
    wrong.protocol = Protocol::Http3;
    check(wrong, "unix_socket: HTTP/3 goes over UDP");
    let mut wrong = unix();
    wrong.addresses = vec![([127, 0, 0, 1], 80).into()];
    check(wrong, "unix_socket: give this or other addresses");
    let mut wrong = unix();
    wrong.sources = vec![[127, 0, 0, 2].into()];
    check(wrong, "unix_socket: connections to it have no source");
    let mut wrong = unix();
    wrong.proxy_protocol.clone_from(&own);
    check(wrong, "proxy_protocol: connections to a Unix socket");
    let mut wrong = file();
    (wrong.proxy_protocol, wrong.protocol) = (own, Protocol::Http3);
    check(wrong, "proxy_protocol: HTTP/3 goes over UDP");
}

/// A plan that asks for `url` through the proxy at `proxy`.
fn through(proxy: &str, tunnel: bool, url: &str) -> PlanFile {
    PlanFile {
        requests: vec![RequestFile::get(url)],
        http_proxy: Some(HttpProxy {
            url: proxy.to_owned(),
            tunnel,
            authorization: None,
        }),
        ..file()
    }
}

#[test]
fn a_proxy_is_told_the_server() {
    let check = |url: &str, tunnel: bool, expected: (Option<&str>, &str)| {
        let plan = Plan::try_from(through("http://[::1]:3128", tunnel, url)).unwrap();
        let (tunnels, origin) = (plan.tunnels(), plan.origin_of(&plan.request().url));
        let told = (tunnels.first().map(String::as_str), origin.as_str());
        assert_eq!(told, expected, "{url}");
        let proxy = plan.proxy().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("::1", 3128));
    };
    check("http://a.test/x", false, (None, "http://a.test"));
    check("http://a.test:8080/x", false, (None, "http://a.test:8080"));
    check("http://a.test/x", true, (Some("a.test:80"), ""));
    check("https://a.test/x", true, (Some("a.test:443"), ""));
    check("https://[::1]/x", true, (Some("[::1]:443"), ""));
    check("https://[::1]:8443/x", true, (Some("[::1]:8443"), ""));
    let straight = Plan::try_from(file()).unwrap();
    assert_eq!(straight.tunnels(), [""; 0]);
    assert_eq!(straight.origin_of(&straight.request().url), "");
    assert_eq!(straight.proxy(), None);
}

#[test]
fn a_proxy_is_told_each_of_several_servers() {
    let urls = [
        "https://a.test/",
        "https://b.test:8443/",
        "https://a.test/2",
    ];
    let mut file = through("http://127.0.0.1:3128", true, urls[0]);
    file.requests = urls.map(RequestFile::get).into();
    let plan = Plan::try_from(file.clone()).unwrap();
    assert_eq!(plan.tunnels(), ["a.test:443", "b.test:8443"]);
    file.http_proxy.as_mut().unwrap().tunnel = false;
    for request in &mut file.requests {
        request.url = request.url.replace("https", "http");
    }
    let plan = Plan::try_from(file.clone()).unwrap();
    let origins = plan.requests().iter().map(|one| plan.origin_of(&one.url));
    let expected = ["http://a.test", "http://b.test:8443", "http://a.test"];
    assert_eq!(origins.collect::<Vec<_>>(), expected);
    file.resolve = vec![ServerAddresses {
        server: "a.test:80".to_owned(),
        addresses: vec![([127, 0, 0, 1], 80).into()],
    }];
    let error = Plan::try_from(file).unwrap_err().to_string();
    assert!(
        error.contains("the proxy finds the server itself"),
        "{error}"
    );
}

#[test]
fn a_proxy_fits_the_rest() {
    let usual = || through("http://127.0.0.1:3128", false, "http://a.test/");
    let check = |change: fn(&mut PlanFile), expected: &str| {
        let mut file = usual();
        change(&mut file);
        let error = Plan::try_from(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let refused = |url: &str, expected: &str| {
        let error = Plan::try_from(through(url, false, "http://a.test/")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(
        "https://127.0.0.1:3128",
        "http_proxy: connections to a proxy",
    );
    refused("http://127.0.0.1:3128/x", "http_proxy: a proxy has no path");
    refused("socks5://127.0.0.1", "the scheme must be http://");
    refused(
        "http://me:secret@127.0.0.1",
        "credentials are given apart from the URL",
    );
    let shown = |value: &str, tunnel: bool, expected: &str| {
        let mut file = through("http://127.0.0.1:3128", tunnel, "http://a.test/");
        file.http_proxy.as_mut().unwrap().authorization = Some(value.to_owned());
        let error = Plan::try_from(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    shown("Basic x", false, "a Proxy-Authorization field of their own");
    shown("Basic x\r\nX: y", true, "a control character");
    shown(REDACTED, true, "give them again (--proxy-user)");
    check(
        |f| f.unix_socket = Some("/x".into()),
        "a Unix socket leads elsewhere",
    );
    check(
        |f| f.addresses = vec![([127, 0, 0, 1], 80).into()],
        "finds the server itself",
    );
    check(|f| f.protocol = Protocol::Http2, "inside TLS alone");
    check(|f| f.protocol = Protocol::Http3, "goes over UDP");
    check(
        |f| f.requests = vec![RequestFile::get("https://a.test/")],
        "https goes through it in a tunnel",
    );
    check(
        |f| {
            f.proxy_protocol = Some(ProxyProtocol {
                version: ProxyVersion::V1,
                sources: Vec::new(),
            });
        },
        "the PROXY protocol tells a server",
    );
}

/// Plans of earlier programs say nothing of it, and those that use none of it read as before.
#[test]
fn a_plan_without_changes_of_pace_is_written_as_before() {
    let text = serde_json::to_string(&file()).unwrap();
    for word in ["stages", "think", "deadline", "unix_socket", "proxy"] {
        assert!(!text.contains(word), "{text}");
    }
    assert_eq!(serde_json::from_str::<PlanFile>(&text).unwrap(), file());
}
