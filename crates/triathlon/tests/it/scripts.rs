//! Users who follow a script, from the door: the order of their steps in another program's log.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use model::Outcome;
use model::plan::Stop;
use model::units::Span;

use crate::serve::Served;
use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, Running, command, triathlon};
use crate::support::stub::{RIGHT, Stub, read_head, send};

/// What a server was asked: head and content of each request, with the number of its connection.
pub(crate) type Heard = Arc<Mutex<Vec<(u64, String)>>>;

/// A server that answers each request with what `answer` makes of its text.
pub(crate) fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> (Stub, Heard) {
    let heard = Heard::default();
    let kept = Arc::clone(&heard);
    let connections = AtomicU64::new(0);
    let server = Stub::start_raw(move |mut stream, requests| {
        let connection = connections.fetch_add(1, Ordering::SeqCst);
        while let Some(head) = read_head(&mut stream) {
            let mut text = String::from_utf8_lossy(&head).into_owned();
            let length = text.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse::<usize>().ok())?
            });
            let mut content = vec![0; length.unwrap_or(0)];
            if stream.read_exact(&mut content).is_err() {
                return;
            }
            text.push_str(&String::from_utf8_lossy(&content));
            let said = answer(&text);
            kept.lock()
                .expect("nobody panicked")
                .push((connection, text));
            requests.fetch_add(1, Ordering::SeqCst);
            send(&mut stream, &said);
        }
    });
    (server, heard)
}

/// Runs the script in `text`.
pub(crate) fn run(url: &str, text: &str, flags: &str) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script.toml");
    fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let words = ["load", url, "--script", &path];
    triathlon(words.into_iter().chain(flags.split_whitespace()))
}

/// nginx logs which connection asked for what: on each, the steps come in their order.
#[test]
fn nginx_sees_each_user_take_the_steps_in_order() {
    let test = "nginx_sees_each_user_take_the_steps_in_order";
    let Some([program]) = need(test, ["nginx"]) else {
        return;
    };
    let files: [(&str, &[u8]); 3] = [("a", b"one"), ("b", b"three"), ("c", b"six")];
    let nginx = Nginx::start(&program, &files);
    let text = "
        [[step]]
        get = '/a'
        [[step]]
        wait = 'uniform:0ms-4ms'
        [[step]]
        repeat = 2
        get = '/b'
        [[step]]
        name = 'last'
        get = '/c'
    ";
    let flags = "-n 400 -c 5 -t 2 --timeout 20s --json -";
    let run = run(&nginx.url(""), text, flags).expect_measured();
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 400, "{run:#?}");
    let names: Vec<&str> = record.classes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["GET /a", "GET /b", "last"]);
    let mut users: BTreeMap<u64, String> = BTreeMap::new();
    for (connection, path) in nginx.quit_and_tell() {
        users.entry(connection).or_default().push_str(&path);
    }
    // The fetches before the run have connections of their own, with one request each.
    users.retain(|_, paths| paths.len() > 2);
    assert_eq!(users.len(), 5, "{users:?}");
    for paths in users.values() {
        let expected = "/a/b/b/c".repeat(100);
        assert!(expected.starts_with(paths.as_str()), "{paths}");
    }
}

#[test]
fn the_example_of_the_page_runs() {
    let page = include_str!("../../../../docs/script.md");
    let (_, rest) = page.split_once("```toml\n").expect("there is an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let (server, _) = answering(|_| RIGHT.to_vec());
    let flags = "-d 2s --warmup 0s -c 20 -t 1 --timeout 20s --json -";
    let run = run(&server.url(), example, flags).expect_measured();
    let trial = run.trial();
    let record = &trial.record;
    assert_eq!(record.total.outcomes.failures(), 0, "{run:#?}");
    let counts: BTreeMap<&str, u64> = record
        .classes
        .iter()
        .map(|one| (one.name.as_str(), one.outcomes[Outcome::Ok]))
        .collect();
    for name in ["front page", "GET /search?q=shoes", "item"] {
        assert!(counts[name] > 0, "{name}: {counts:?}");
    }
    assert!(counts["buy"] < counts["front page"], "{counts:?}");
}

/// The flags that stand for something of k6 are there.
#[test]
fn flags_of_the_table_for_users_of_k6_are_there() {
    let page = include_str!("../../../../docs/script.md");
    let (_, table) = page.split_once("| in k6 | here |\n").expect("a table");
    let rows = table.lines().take_while(|row| row.starts_with('|'));
    let help = triathlon(["load", "--help"]).expect_code(0).stdout;
    let words = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let flags = words.filter(|words| words.starts_with('-'));
    let flags: Vec<&str> = flags.filter_map(|words| words.split(' ').next()).collect();
    assert!(flags.contains(&"-c") && flags.contains(&"--threshold"));
    for flag in flags {
        let is_told = |line: &str| {
            let mut flags = line.trim_start().split([',', ' ', '=']);
            line.trim_start().starts_with('-') && flags.any(|one| one == flag)
        };
        assert!(help.lines().any(is_told), "{flag}: {help}");
    }
}

#[test]
fn a_report_shows_each_step_and_conditions_are_about_one() {
    let served = Served::start(&[("a", b"one"), ("b", b"three")], "");
    let text = "[[step]]\nname = 'first'\nget = '/a'\n[[step]]\nget = '/b'\n";
    let flags = "-n 40 -c 2 -t 1 --threshold {first}:count>=20 --threshold {first}:count<20";
    let told = run(&served.url("/"), text, flags);
    for words in ["follow a script of 2 requests", "first", "GET /b"] {
        assert!(told.stdout.contains(words), "{words}: {told:#?}");
    }
    // One of the conditions fails, and a run that is worth nothing says that first.
    let told = run(&served.url("/"), text, &format!("{flags} --json -"));
    let trial = told.trial();
    let met: Vec<bool> = trial.thresholds.iter().map(|one| one.met).collect();
    assert_eq!(met, [true, false], "{told:#?}");
    let code = if trial.verdict.nothing_left() { 3 } else { 4 };
    told.expect_code(code);
}

#[test]
fn the_first_step_that_fails_is_named() {
    let served = Served::start(&[("a", b"one"), ("b", b"three")], "");
    let text = "[[step]]\nget = '/a'\ncontains = 'one'\n\
                [[step]]\nname = 'buy'\nget = '/b'\ncontains = 'four'\n";
    let during = run(&served.url("/"), text, "-n 40 -c 2 -t 1");
    let told = "20, the first: 'buy': ";
    assert!(during.stdout.contains(told), "{during:#?}");
    let text = "[[step]]\nget = '/a'\n\
                [[step]]\nname = 'sell'\nget = '/c'\nexpect = { status = 200 }\n";
    run(&served.url("/"), text, "-n 40 -c 2 -t 1")
        .expect_code(1)
        .expect_complaint(&["expected one: 'sell': status 404 instead of 200"]);
}

/// Stages say how many come, and how long is measured.
#[test]
fn users_come_by_stages() {
    let served = Served::start(&[("a", b"one")], "");
    let text = "user_stages = '200ms:=100,200ms:=300'\nuser_arrivals = 'fixed'\n\
                [[step]]\nname = 'front'\nget = '/a'\n";
    let flags = "-c 100 -t 2 --timeout 10s --json -";
    let trial = run(&served.url("/"), text, flags).trial();
    assert_eq!(trial.plan.stop, Stop::DurationNs(Span::from_ms(400)));
    let users = trial.record.users.expect("they come");
    assert_eq!(users.came, 80, "{users:?}");
    let told = run(&served.url("/"), text, "-c 100 -t 2").stdout;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "partly open loop, users come in stages 200ms:=100,200ms:=300, 200 users/s come on \
                average, evenly spaced";
    assert!(told.contains(said), "{told}");
    run(&served.url("/"), text, "-d 1s")
        .expect_code(2)
        .expect_complaint(&["user_stages", "leave out --duration"]);
}

#[test]
fn a_mistake_is_told_with_file_line_and_remedy() {
    let check = |text: &str, flags: &str, words: &[&str]| {
        run("http://127.0.0.1:1/", text, flags)
            .expect_code(2)
            .expect_complaint(words);
    };
    check(
        "[[step]]\nget = '/'\n[[step]]\nwait = '1s'\nrepeat = 'x'\n",
        "",
        &["--script: ", "script.toml:5: repeat: write how often"],
    );
    check("", "", &["nothing to ask", "[[step]]"]);
    check(
        "[[step]]\nget = '/'\n",
        "-R 10",
        &["--script or --har: ", "no rate"],
    );
    check(
        "[[step]]\nchance = '10%'\nget = '/'\n",
        "",
        &["--script or --har: ", "without a request"],
    );
    check("[[step]]\nget = '/'\n", "--data x", &["--script", "--data"]);
}

/// A shop of another make: it knows who has which cookie and token, and who bought what.
#[test]
fn users_log_in_and_buy_as_themselves() {
    let page = include_str!("../../../../docs/script.md");
    let (_, rest) = page
        .split_once("This one logs in and buys:")
        .expect("it is there");
    let (_, rest) = rest.split_once("```toml\n").expect("there is an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let (server, heard) = answering(|text| {
        let says = |status: &str, field: &str, content: &str| {
            let length = content.len();
            let head = format!("HTTP/1.1 {status}\r\n{field}Content-Length: {length}\r\n\r\n");
            (head + content).into_bytes()
        };
        let (head, content) = text.split_once("\r\n\r\n").expect("a head");
        if head.starts_with("POST /login ") {
            let user = content.split(['=', '&']).nth(1).expect("a user");
            let cookie = format!("Set-Cookie: id={user}; Path=/; HttpOnly\r\n");
            return says("200 OK", &cookie, &format!("{{\"token\": \"t-{user}\"}}"));
        }
        let value = |name: &str| {
            let found = head.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_default().to_owned()
        };
        let (cookie, token) = (value("Cookie: id="), value("Authorization: Bearer t-"));
        match !cookie.is_empty() && cookie == token {
            true => says("200 OK", "", "thank you"),
            false => says("403 Forbidden", "", "who are you?"),
        }
    });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script.toml");
    fs::write(&path, example).expect("a file");
    let accounts = "name,password\nann,one\nbob,\"two, three\"\ncid,four\n";
    fs::write(folder.path().join("accounts.csv"), accounts).expect("a file");
    let path = path.display().to_string();
    let url = server.url();
    let words = [
        "load", &url, "--script", &path, "-n", "120", "-c", "3", "-t", "1",
    ];
    let run = triathlon(words.into_iter().chain(["--timeout", "20s", "--json", "-"]));
    let run = run.expect_measured();
    let trial = run.trial();
    assert_eq!(
        trial.record.total.outcomes[Outcome::Ok],
        120,
        "{:?}",
        trial.record.examples
    );
    assert!(!run.stdout.contains("two, three"), "a secret is stored");
    let heard = heard.lock().expect("nobody panicked");
    // Nobody asked before the run.
    assert_eq!(heard.len(), 120);
    for user in [
        "user=ann&password=one",
        "user=bob&password=two, three",
        "user=cid&password=four",
    ] {
        let logins = heard.iter().filter(|(_, text)| text.ends_with(user));
        // Who is served faster comes more often: how often is chance.
        assert!(logins.count() > 0, "{user}");
    }
    for (_, text) in heard
        .iter()
        .filter(|(_, text)| text.starts_with("POST /cart "))
    {
        let (_, count) = text.rsplit_once("count=").expect("a count");
        assert!(["1", "2", "3"].contains(&count), "{text}");
    }
}

/// What the environment holds reaches the server, and no result.
#[test]
fn a_value_of_the_environment_is_sent_and_not_stored() {
    let (server, heard) = answering(|_| RIGHT.to_vec());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("script.toml");
    let text = "[variables]\nkey = { environment = 'SHOP_KEY' }\n[[step]]\nget = '/'\n\
                headers = [['X-Shop', '${key}']]\n";
    fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let url = server.url();
    let words = [
        "load", &url, "--script", &path, "-n", "5", "-c", "1", "-t", "1", "--json", "-",
    ];
    let mut command = command(words);
    let run = Running::start(command.env("SHOP_KEY", "open-sesame"))
        .finish()
        .expect_measured();
    assert!(!run.stdout.contains("open-sesame"), "{run:#?}");
    assert!(run.stdout.contains("(redacted)"), "{run:#?}");
    let heard = heard.lock().expect("nobody panicked");
    assert!(
        heard
            .iter()
            .all(|(_, text)| text.contains("X-Shop: open-sesame\r\n"))
    );
}

/// The requests of a recording, with nothing else in it than what is read.
pub(crate) fn recording(entries: &[(&str, &str, &str)]) -> String {
    let entries = entries.iter().map(|(started, method, url)| {
        let content = match *method {
            "POST" => serde_json::json!({"mimeType": "text/plain", "text": "item=7"}),
            _ => serde_json::Value::Null,
        };
        serde_json::json!({
            "startedDateTime": format!("2025-01-31T12:00:00.{started}Z"),
            "time": 1.5,
            "request": {
                "method": method,
                "url": url,
                "headers": [
                    {"name": ":authority", "value": "shop.test"},
                    {"name": "host", "value": "shop.test"},
                    {"name": "x-page", "value": "7"},
                ],
                "postData": content,
            },
            "response": {"status": 200},
            "pageref": "page_1",
        })
    });
    let entries: Vec<serde_json::Value> = entries.collect();
    serde_json::json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

#[test]
fn users_repeat_what_a_browser_recorded() {
    let (server, heard) = answering(|_| RIGHT.to_vec());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("shop.har");
    let text = recording(&[
        ("000", "GET", "https://shop.test/"),
        ("001", "GET", "https://ads.test/x"),
        ("001", "GET", "https://shop.test/a.css?v=1"),
        ("004", "POST", "https://shop.test/cart"),
    ]);
    fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let url = server.url();
    let words = [
        "load", &url, "--har", &path, "-n", "120", "-c", "3", "-t", "1",
    ];
    let run = triathlon(words.into_iter().chain(["--timeout", "20s", "--json", "-"]));
    let run = run.expect_measured();
    assert!(
        run.stderr.contains("left out: 1 to other servers"),
        "{run:#?}"
    );
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 120, "{run:#?}");
    let names: Vec<&str> = record.classes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["GET /", "GET /a.css?v=1", "POST /cart"]);
    let heard = heard.lock().expect("nobody panicked");
    let mut users: BTreeMap<u64, String> = BTreeMap::new();
    for (connection, text) in heard.iter() {
        assert!(text.contains("x-page: 7\r\n"), "{text}");
        assert!(!text.contains("shop.test"), "{text}");
        let asked = text.split(' ').next().expect("a method");
        let user = users.entry(*connection).or_default();
        user.push_str(asked);
        user.push(if text.ends_with("\r\n\r\nitem=7") {
            '!'
        } else {
            ' '
        });
    }
    users.retain(|_, asked| asked.len() > 16);
    assert_eq!(users.len(), 3, "{users:?}");
    for asked in users.values() {
        let expected = "GET GET POST!".repeat(120);
        assert!(expected.starts_with(asked.as_str()), "{asked}");
    }
}

#[test]
fn a_recording_that_is_none_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("shop.har");
    let check = |text: &str, flags: &str, words: &[&str]| {
        fs::write(&path, text).expect("a file");
        let path = path.display().to_string();
        let start = ["load", "http://127.0.0.1:9/", "--har", &path];
        let run = triathlon(start.into_iter().chain(flags.split_whitespace()));
        run.expect_code(2).expect_complaint(words);
    };
    check("<html>", "", &["--har", "shop.har", "not a HAR file"]);
    let text = recording(&[("000", "GET", "http://h/")]);
    check(&text, "-R 10", &["--har", "rate"]);
    check(&text, "--script x.toml", &["--script", "--har"]);
    check("{}", "http://127.0.0.1:10/", &["--har", "one server"]);
}

/// What comes encoded is not what a step looks for, whatever the server did.
#[test]
fn content_that_steps_look_into_is_not_asked_for_encoded() {
    for reads in [
        "contains = \"hello\"",
        "take = { token = { pattern = \"t=([a-z]+)\" } }",
    ] {
        let script = format!("[[step]]\nget = \"/in\"\n{reads}\n");
        run("http://127.0.0.1:1", &script, "--compressed")
            .expect_code(2)
            .expect_complaint(&["--compressed: a step looks into the content", "/in"]);
    }
}
