//! Users of a script who know something, over HTTP/1.1, HTTP/2 and HTTP/3, in clear and over TLS.

use std::collections::BTreeSet;
use std::fs;

use model::Outcome;

use crate::support::need;
use crate::support::nginx::{Nginx, per_connection};
use crate::support::process::{Run, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::wait_until;
use crate::tls::{Files, https};

/// A shop: who logs in gets a cookie and a token, and who buys has both.
const SHOP: &str = "
    location = /login {
        add_header Set-Cookie 'id=$arg_user; Path=/';
        add_header X-Token t-$arg_user;
        return 200 'welcome, $arg_user!';
    }
    location /buy/ {
        if ($cookie_id = '') { return 403; }
        return 200 'thank you';
    }";

/// What its users do.
const USERS: &str = "
    cookies = true
    [variables]
    user = { list = ['ann', 'bob', 'cid'], once = true }
    count = { counter = 10 }
    [[step]]
    get = '/login?user=${user}'
    take = { token = { header = 'X-Token' }, who = { pattern = 'welcome, ([a-z]+)!' } }
    [[step]]
    name = 'buy'
    post = '/buy/${count}'
    headers = [['X-Token', '${token}'], ['Authorization', 'as ${who}']]
    body = 'count=${count}'
    contains = 'thank you'
";

fn run(url: &str, script: &str, flags: &str) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script.toml");
    fs::write(&path, script).expect("a file");
    let path = path.display().to_string();
    let words = ["load", url, "--script", &path, "--json", "-"];
    triathlon(words.into_iter().chain(flags.split_whitespace()))
}

#[track_caller]
fn check(run: &Run, count: u64) {
    let outcomes = run.trial().record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], count, "{run:#?}");
    assert_eq!(outcomes.total(), count, "{run:#?}");
}

/// What the first user asks first is asked before the run, and a wrong answer ends it.
#[test]
fn a_wrong_first_answer_is_told_before_the_run() {
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let script = "
        [variables]
        id = { counter = 7 }
        [[step]]
        get = '/item/${id}'
        expect = { status = 201 }
    ";
    run(&server.url(), script, "-n 9 -c 1")
        .expect_code(1)
        .expect_complaint(&["status 200 instead of 201"]);
    assert_eq!(server.requests(), 1);
}

#[test]
fn users_log_in_over_each_protocol() {
    let Some([nginx]) = need("sessions::users_log_in_over_each_protocol", ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let tls = |http2: &str| {
        format!(
            " ssl{http2}; ssl_certificate {}; ssl_certificate_key {}",
            certificate.display(),
            key.display()
        )
    };
    let trust = files.trust();
    for (settings, flags, protocol) in [
        (String::new(), String::new(), "HTTP/1.1"),
        (tls(""), trust.clone(), "HTTP/1.1"),
        (
            tls(""),
            format!("{trust} --requests-per-connection 3"),
            "HTTP/1.1",
        ),
        (
            " http2".to_owned(),
            "--http2-prior-knowledge".to_owned(),
            "HTTP/2.0",
        ),
        (tls(" http2"), format!("{trust} --http2"), "HTTP/2.0"),
    ] {
        let server = Nginx::start_answering(&nginx, &settings, SHOP);
        let url = match settings.contains("ssl") {
            true => server.https_url(""),
            false => server.url(""),
        };
        let flags = format!("{flags} -n 120 -c 3 -t 1 --timeout 10s");
        let run = run(&url, USERS, &flags).expect_measured();
        check(&run, 120);
        let first = run.trial().record.classes.remove(0).reference;
        let first = first.expect("what the first user asks is asked before the run");
        assert_eq!((first.status, first.length), (200, 13), "{first:?}");
        let mut counts = BTreeSet::new();
        let mut users = BTreeSet::new();
        for line in server.quit_and_list() {
            assert_eq!(line[0], protocol, "{line:?}");
            let Some(count) = line[2].strip_prefix("/buy/") else {
                continue;
            };
            assert_eq!(line[1], "POST", "{line:?}");
            let user = line[4].strip_prefix("id=").expect("a cookie");
            assert_eq!(line[3], format!("t-{user}"), "{line:?}");
            assert_eq!(line[5], format!("as {user}"), "by a pattern: {line:?}");
            assert_eq!(line[6], (6 + count.len()).to_string(), "{line:?}");
            users.insert(user.to_owned());
            assert!(counts.insert(count.to_owned()), "{count} comes twice");
        }
        let expected = ["ann", "bob", "cid"].map(str::to_owned);
        assert_eq!(users, BTreeSet::from(expected), "{flags}");
        assert!(
            (57..=63).contains(&counts.len()),
            "{flags}: {}",
            counts.len()
        );
    }
}

#[test]
fn paths_of_users_reach_origin_over_http3() {
    let files = Files::new();
    files.sign("site", |_| {});
    let pages: [(&str, &[u8]); 3] = [("item-1", b"one"), ("item-2", b"two"), ("item-3", b"three")];
    let served = files.serve("site", &pages, "--http3 --access-log log");
    let script = "
        [variables]
        item = { list = ['1', '2', '3'] }
        [[step]]
        get = '/item-${item}'
        take = { seen = { header = 'Content-Length' } }
        [[step]]
        get = '/item-${item}?seen=${seen}'
    ";
    let flags = format!("{} --http3 -n 60 -c 3 -t 1 --timeout 10s", files.trust());
    check(
        &run(&https(&served.url("/")), script, &flags).expect_measured(),
        60,
    );
    let read = || fs::read_to_string(served.path().join("log")).expect("a log");
    // One of them was asked before the run.
    wait_until("the log is whole", || read().lines().count() == 61);
    let log = read();
    for (item, length) in [(1, 3), (2, 3), (3, 5)] {
        let asked = format!("\"GET /item-{item}?seen={length} HTTP/3.0\" 200 {length}");
        assert!(log.contains(&asked), "no {asked}: {log}");
    }
}

/// Users read pages as browsers do: over several connections of HTTP/1.1, or streams of HTTP/2.
const READERS: &str = "
    user_connections = 3
    [[step]]
    get = '/login?user=a'
    expect = { level = 'status', status = 200 }
    [[step]]
    parts = [{ get = '/a' }, { get = '/b' }, { get = '/c' }, { get = '/d' }, { get = '/e' }]
";

const PARTS: &str = "
    location = /login { return 200 'in'; }
    location / { return 200 'part'; }";

/// Each page is complete in the log of another program before the next one, whatever carries it.
#[test]
fn pages_have_their_parts_over_each_protocol() {
    let name = "sessions::pages_have_their_parts_over_each_protocol";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    for (settings, flags, connections) in [
        ("", "", 3..=3),
        ("", "--requests-per-connection 2", 60..=63),
        ("", "--pipeline 4", 2..=3),
        (" http2", "--http2-prior-knowledge", 1..=1),
        (" http2", "--http2-prior-knowledge -m 2", 1..=1),
    ] {
        let server = Nginx::start_answering(&nginx, settings, PARTS);
        let flags = format!("{flags} -n 120 -c 1 -t 1 --timeout 10s");
        let run = run(&server.url(""), READERS, &flags).expect_measured();
        check(&run, 120);
        let record = run.trial().record;
        let opened = record.total.connections.established;
        assert!(connections.contains(&opened), "{flags}: {opened}");
        let counts = record.classes.iter().map(|one| one.outcomes.total());
        assert_eq!(counts.collect::<Vec<_>>(), [20; 6], "{flags}");
        let page = record.pages.first().expect("users ask for parts");
        let told = (record.pages.len(), page.complete(), page.failed);
        assert_eq!(told, (1, 20, 0), "{flags}");
        let asked: Vec<String> = server
            .quit_and_list()
            .into_iter()
            .map(|line| line[2].clone())
            .collect();
        // What was fetched before the run comes first.
        let asked = &asked[asked.len() - 120..];
        for page in asked.chunks(6) {
            let mut parts: Vec<&str> = page.iter().map(String::as_str).collect();
            assert!(parts[0].starts_with("/login"), "{flags}: {page:?}");
            parts[1..].sort_unstable();
            assert_eq!(parts[1..], ["/a", "/b", "/c", "/d", "/e"], "{flags}");
        }
    }
    // What the plan says of users and connections is told.
    let server = Nginx::start_answering(&nginx, "", PARTS);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script.toml");
    fs::write(&path, READERS).expect("a file");
    let path = path.display().to_string();
    let words = [
        "load",
        &server.url(""),
        "--script",
        &path,
        "-c",
        "4",
        "-n",
        "240",
        "-t",
        "2",
        "--threshold",
        "page_time: med<1m",
        "--threshold",
        "{GET /login?user=a}: page_time: min<0ms",
    ];
    let run = triathlon(words).expect_one_of(&[3, 4]);
    let about_pages = |line: &&str| line.contains("page_time: ");
    let judged: Vec<&str> = run.stdout.lines().filter(about_pages).collect();
    let is_told = judged[0].contains("page_time: med<1m") && judged[0].ends_with(", met");
    assert!(is_told && judged[1].ends_with(", FAILED"), "{run:#?}");
    let said = "closed loop of 4 users who follow a script of 6 requests, 12 connections";
    let stdout = run.stdout.replace('\n', " ");
    assert!(stdout.contains(said), "{run:#?}");
    assert!(
        stdout.contains("GET /login?user=a and its parts: "),
        "{run:#?}"
    );
}

/// Each of them has a connection of its own in the log of another program, with all steps on it.
#[test]
fn users_come_and_leave_over_each_protocol() {
    let name = "sessions::users_come_and_leave_over_each_protocol";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let script = "
        user_rate = 200
        user_arrivals = 'fixed'
        [[step]]
        get = '/a'
        [[step]]
        wait = '5ms'
        [[step]]
        get = '/b'
        [[step]]
        get = '/c'
    ";
    let files: [(&str, &[u8]); 3] = [("a", b"one"), ("b", b"two"), ("c", b"three")];
    for (is_http2, flags) in [(false, ""), (true, "--http2-prior-knowledge")] {
        let server = match is_http2 {
            true => Nginx::start_http2(&nginx, &files, None),
            false => Nginx::start(&nginx, &files),
        };
        let flags = format!("{flags} -d 500ms -c 100 -t 2 --timeout 10s --warmup 0s");
        let run = run(&server.url(""), script, &flags);
        let record = run.trial().record;
        let users = record.users.expect("they come");
        assert_eq!(users.came, 100, "{run:#?}");
        // On a busy machine the window may be over before those have a place who came last.
        assert!((50..=100).contains(&users.seated), "{run:#?}");
        assert!(users.left > 0, "{run:#?}");
        let (all, outcomes) = (record.total.outcomes.total(), record.total.outcomes);
        assert_eq!(outcomes[Outcome::Ok], all, "{run:#?}");
        // What was fetched before the run comes first.
        let counts = per_connection(&server.quit());
        let whole = counts.values().filter(|count| **count == 3).count() as u64;
        assert!(whole >= users.left, "{counts:?}");
        assert!(counts.values().all(|count| *count <= 3), "{counts:?}");
    }
    // What the plan says of users is told, and so is what became of them.
    let server = Nginx::start(&nginx, &files);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script.toml");
    fs::write(&path, script).expect("a file");
    let path = path.display().to_string();
    let url = server.url("");
    // A place for each who comes, however late a busy machine lets them leave.
    let words = ["load", &url, "--script", &path, "-c", "300", "-d", "200ms"];
    let run = triathlon(words);
    let told = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "partly open loop, 200 users/s come, evenly spaced, follow a script of 3",
        "came, warm-up included, and found a place at once",
    ] {
        assert!(told.contains(said), "{run:#?}");
    }
}
