//! Credentials reach the server that is asked, and nobody else: no file, no message, no user of the
//! machine who lists its processes.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::support::plan;
use crate::support::process::{Running, command, triathlon};
use crate::support::stub::{Stub, read_head, send};
use crate::support::wait_until;

const SECRET: &str = "c0ffee-4-c0ffee";
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=c0ffee-4-c0ffee\r\nContent-Length: 3\r\n\r\nhi\n";

/// A server that sets a secret cookie, and the last head it read.
fn server() -> (Stub, Arc<Mutex<String>>) {
    let seen = Arc::new(Mutex::new(String::new()));
    let last = Arc::clone(&seen);
    let stub = Stub::start_raw(move |mut stream, requests| {
        while let Some(head) = read_head(&mut stream) {
            requests.fetch_add(1, Ordering::SeqCst);
            *last.lock().expect("nobody panicked") = String::from_utf8_lossy(&head).into_owned();
            send(&mut stream, ANSWER);
        }
    });
    (stub, seen)
}

fn fields() -> [String; 6] {
    [
        "-H".to_owned(),
        format!("Authorization: Bearer {SECRET}"),
        format!("-HCookie: sid={SECRET}"),
        format!("--header=proxy-authorization: Basic {SECRET}"),
        "-H".to_owned(),
        "Accept: text/plain".to_owned(),
    ]
}

#[test]
fn credentials_are_sent_and_not_stored() {
    let (stub, seen) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let load = |more: &[&str]| {
        let url = stub.url();
        let given = fields();
        let mut words: Vec<&str> = vec!["load", &url, "-n", "20", "-c", "2", "--latency"];
        words.extend(given.iter().map(String::as_str));
        words.extend(more);
        triathlon(words).expect_measured()
    };
    let (json, samples) = (path("trial.json"), path("samples"));
    let run = load(&["--json", &json, "--samples", &samples]);
    let sent = seen.lock().expect("nobody panicked").clone();
    assert_eq!(sent.matches(SECRET).count(), 3, "{sent}");
    let stored = fs::read_to_string(&json).expect("the trial is there");
    let (html, csv) = (path("report.html"), path("trials.csv"));
    triathlon(["report", &json, "--html", &html, "--csv", &csv]).expect_code(0);
    let judged = triathlon(["judge", &json, "--json"]);
    for (what, text) in [
        ("stdout", &run.stdout),
        ("stderr", &run.stderr),
        ("verdict", &judged.stdout),
        ("trial", &stored),
    ] {
        assert!(!text.contains(SECRET), "{what}: {text}");
    }
    for file in [&samples, &html, &csv] {
        let bytes = fs::read(file).expect("the file is there");
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{file}");
    }
    let trial: model::Trial = serde_json::from_str(&stored).expect("it is a trial");
    let kept = &trial.plan.requests[0].headers;
    assert_eq!(kept[3], ("Accept".to_owned(), "text/plain".to_owned()));
    assert_eq!(kept[0].1, model::redact::REDACTED);

    // What was taken out is asked for again, and never sent.
    let plan = path("plan.json");
    let text = serde_json::to_string(&trial.plan).expect("a plan is JSON");
    fs::write(&plan, text).expect("a file can be written");
    triathlon(["load", "--plan", &plan])
        .expect_code(2)
        .expect_complaint(&["Authorization", "again", "-H"]);

    // Whoever wants them stored says so.
    load(&["--json", &json, "--keep-secrets"]);
    let stored = fs::read_to_string(&json).expect("the trial is there");
    assert_eq!(stored.matches(SECRET).count(), 4, "{stored}");
}

#[test]
fn the_plan_through_the_pipe_is_whole_and_its_trial_is_not() {
    let (stub, seen) = server();
    let mut file = plan::counted(&stub.url(), 20);
    let field = ("Authorization".to_owned(), SECRET.to_owned());
    file.requests[0].headers.push(field);
    let (run, trial) = plan::run(&file);
    let sent = seen.lock().expect("nobody panicked").clone();
    assert!(sent.contains(SECRET), "{sent}");
    assert!(!run.stdout.contains(SECRET), "{run:#?}");
    let headers = &trial.plan.requests[0].headers;
    assert_eq!(headers[0].1, model::redact::REDACTED);
}

#[test]
fn other_users_do_not_see_credentials_in_the_list_of_processes() {
    for keeps in [false, true] {
        // A server of its own: a request of the load before must not be taken for one of this load,
        // whose list of arguments may not be there yet.
        let (stub, _) = server();
        let url = stub.url();
        let given = fields();
        let mut words: Vec<&str> = vec!["load", &url, "-d", "60s", "-c", "1", "-t", "1"];
        words.extend(given.iter().map(String::as_str));
        if keeps {
            words.push("--keep-secrets");
        }
        let load = Running::start(command(words).stdin(Stdio::null()));
        wait_until("it asks", || stub.requests() > 0);
        let shown = fs::read(format!("/proc/{}/cmdline", load.pid())).expect("it runs");
        let shown = String::from_utf8_lossy(&shown);
        assert_eq!(shown.contains(SECRET), keeps, "{shown}");
        assert!(shown.contains("Accept: text/plain"), "{shown}");
    }
}

/// Nor those that other tools have other flags for.
#[test]
fn credentials_of_other_tools_are_hidden_too() {
    let user = format!("me:{SECRET}");
    for words in [
        vec!["ab", "-t", "60", "-k", "-A", &user],
        vec!["hey", "-z", "60s", "-c", "1", "-a", &user],
    ] {
        let (stub, seen) = server();
        let url = stub.url();
        let words = words.iter().copied().chain([url.as_str()]);
        let load = Running::start(command(words).stdin(Stdio::null()));
        wait_until("it asks", || stub.requests() > 0);
        let shown = fs::read(format!("/proc/{}/cmdline", load.pid())).expect("it runs");
        let shown = String::from_utf8_lossy(&shown);
        assert!(!shown.contains(SECRET), "{shown}");
        wait_until("a head is read", || {
            !seen.lock().expect("nobody panicked").is_empty()
        });
        let sent = seen.lock().expect("nobody panicked").clone();
        assert!(sent.contains("\r\nAuthorization: Basic "), "{sent}");
    }
    let attached = format!("-P{user}");
    triathlon(["ab", &attached, "-n", "x", "http://127.0.0.1:9/"])
        .expect_code(2)
        .expect_complaint(&["-n"]);
    let run = triathlon(["ab", &attached, "http://127.0.0.1:9/"]);
    assert!(!run.stderr.contains(SECRET), "{run:#?}");
}

#[test]
fn no_message_repeats_a_secret() {
    let user = format!("http://user:{SECRET}@127.0.0.1:9/");
    let bare = format!("user:{SECRET}@127.0.0.1:9/");
    let tls = format!("https://user:{SECRET}@127.0.0.1:9/");
    let field = format!("Authorization {SECRET}");
    let control = format!("Authorization: {SECRET}\u{1}");
    let flag = format!("--heder=Authorization: {SECRET}");
    for words in [
        vec!["load", &user],
        vec!["load", &bare],
        vec!["load", &tls],
        vec!["load", "http://127.0.0.1:9/", "-H", &field],
        vec!["load", "http://127.0.0.1:9/", "-H", &control],
        vec!["load", "http://127.0.0.1:9/", &flag],
        vec!["load", "http://127.0.0.1:9/", &user],
        vec!["lab", &user],
        vec!["report", &user],
    ] {
        let run = triathlon(&words);
        assert!(
            run.code.is_some_and(|code| code == 1 || code == 2),
            "{run:#?}"
        );
        assert!(!run.stderr.contains(SECRET), "{run:#?}");
        assert!(!run.stdout.contains(SECRET), "{run:#?}");
    }
}
