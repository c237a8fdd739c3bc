//! What is asked, and of whom: lists, raw requests, forms, credentials, other addresses.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use model::Outcome;

use crate::serve::Served;
use crate::support::process::{Run, Running, command, triathlon};
use crate::support::stub::{RIGHT, Stub, send};

/// A server that keeps the bytes of what it is asked, with the content that a length announces.
pub(crate) fn listening() -> (Stub, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let server = Stub::start_raw(move |mut stream, requests| {
        while let Some(head) = crate::support::stub::read_head(&mut stream) {
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
            kept.lock().expect("nobody panicked").push(text);
            requests.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            send(&mut stream, RIGHT);
        }
    });
    (server, heard)
}

fn load(url: Option<&str>, flags: &[&str]) -> Run {
    let words = ["load"].into_iter().chain(url).chain(flags.iter().copied());
    triathlon(words.chain(["-n", "20", "-c", "1", "-t", "1", "--json", "-"]))
}

#[test]
fn several_urls_are_mixed_by_weight() {
    let served = Served::start(&[("a", b"one"), ("b", b"three")], "");
    let (a, b) = (served.url("/a"), served.url("/b"));
    let words = ["load", &a, &b, "--weights", "9,1", "-n", "2000", "-c", "2"];
    let run = triathlon(words.into_iter().chain(["-t", "1", "--json", "-"])).expect_measured();
    let classes = run.trial().record.classes;
    let right: Vec<u64> = classes
        .iter()
        .map(|one| one.outcomes[Outcome::Ok])
        .collect();
    assert_eq!(right.iter().sum::<u64>(), 2_000);
    // 1,800 and a standard deviation of 13.
    assert!((1_730..1_870).contains(&right[0]), "{right:?}");
    triathlon(["load", &a, "--weights", "1,2"])
        .expect_code(2)
        .expect_complaint(&["--weights", "give one for each"]);
}

#[test]
fn lists_are_read_in_each_of_their_forms() {
    let (server, heard) = listening();
    let folder = tempfile::tempdir().expect("a folder");
    let body = folder.path().join("body.txt");
    fs::write(&body, "from a file").expect("a file");
    let base = server.url();
    let (base, _) = base.rsplit_once('/').expect("a path");
    let lists = [
        format!("\u{feff}# two, as some editors begin a file\n{base}/list?x 3\n/of-the-server\n"),
        format!(
            "POST {base}/vegeta\nX-Of: vegeta\n@{}\n\nGET /path\n",
            body.display()
        ),
        format!(
            "{{\"method\":\"PUT\",\"url\":\"{base}/json\",\"body\":\"anNvbg==\",\
             \"header\":{{\"X-Of\":[\"json\"]}}}}\n"
        ),
    ];
    for list in lists {
        let path = folder.path().join("list");
        fs::write(&path, &list).expect("a file");
        let path = path.display().to_string();
        let run = load(Some(&server.url()), &["--urls", &path]).expect_measured();
        let outcomes = run.trial().record.total.outcomes;
        assert_eq!(outcomes[Outcome::Ok], 20, "{list}: {run:#?}");
    }
    let heard = heard.lock().expect("nobody panicked").join("\n---\n");
    for expected in [
        "GET /list?x HTTP/1.1\r\n",
        "GET /of-the-server HTTP/1.1\r\n",
        "POST /vegeta HTTP/1.1\r\n",
        "X-Of: vegeta\r\n",
        "\r\n\r\nfrom a file",
        "GET /path HTTP/1.1\r\n",
        "PUT /json HTTP/1.1\r\n",
        "X-Of: json\r\n",
        "\r\n\r\njson",
    ] {
        assert!(heard.contains(expected), "no {expected:?} in {heard}");
    }
    let path = folder.path().join("wrong");
    fs::write(&path, format!("{base}/a\n{base}/b often\n")).expect("a file");
    let path = path.display().to_string();
    load(None, &["--urls", &path])
        .expect_code(2)
        .expect_complaint(&["--urls", "line 2", "not a weight"]);
    fs::write(&path, format!("{base}/a\nhttp://127.0.0.9:1/\n")).expect("a file");
    load(None, &["--urls", &path])
        .expect_code(2)
        .expect_complaint(&["--connections", "2 servers", "at least 2"]);
}

/// Each would keep the run waiting for its timeout.
#[test]
fn of_requests_that_hang_three_are_waited_for_before_the_run() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = silent.local_addr().expect("it has an address");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("list");
    let list: String = (0..9)
        .map(|number| format!("http://{place}/{number}\n"))
        .collect();
    fs::write(&path, list).expect("a file");
    let path = path.display().to_string();
    let run = load(None, &["--urls", &path, "--timeout", "150ms"]);
    let notes = run.trial().record.notes.join("\n");
    let told = "not asked before the run, because 3 before them had no answer in time: 6;";
    assert!(notes.contains(told), "{notes}");
    let reference = run.trial().record.reference_phase;
    assert_eq!(reference.outcomes[Outcome::Timeout], 3, "{run:#?}");
}

#[test]
fn a_raw_request_goes_out_as_it_stands() {
    let (server, heard) = listening();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("request.raw");
    let raw = "PATCH /raw HTTP/1.1\nHost: by-name\nX-Raw: yes\nContent-Length: 4\n\nbody\n";
    fs::write(&path, raw).expect("a file");
    let path = path.display().to_string();
    load(Some(&server.url()), &["--raw", &path]).expect_measured();
    // Its own field and that of a flag would be two.
    load(Some(&server.url()), &["--raw", &path, "-H", "Host: other"])
        .expect_code(2)
        .expect_complaint(&["a request has one Host"]);
    let heard = heard.lock().expect("nobody panicked");
    assert!(
        heard[0].starts_with("PATCH /raw HTTP/1.1\r\nHost: by-name\r\n"),
        "{heard:?}"
    );
    assert!(heard[0].contains("X-Raw: yes\r\n") && heard[0].ends_with("\r\n\r\nbody"));
}

#[test]
fn a_list_and_a_raw_request_go_to_one_server() {
    for flag in ["--urls", "--raw"] {
        load(
            Some("http://127.0.0.1:1/"),
            &["http://127.0.0.1:2/", flag, "/dev/null"],
        )
        .expect_code(2)
        .expect_complaint(&[flag, "2/' is too much"]);
    }
}

#[test]
fn forms_are_posted() {
    let (server, heard) = listening();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("note.txt");
    fs::write(&path, "content of a note").expect("a file");
    load(
        Some(&server.url()),
        &["--form", "name=a b", "--form", "x=1&2"],
    )
    .expect_measured();
    let file = format!("note=@{}", path.display());
    load(Some(&server.url()), &["--form", "name=me", "--form", &file]).expect_measured();
    let own = ["--form", "name=own", "-H", "Content-Type: text/plain"];
    load(Some(&server.url()), &own).expect_measured();
    let all = heard.lock().expect("nobody panicked").clone();
    let typed = all.iter().filter(|text| text.contains("name=own"));
    let fields = typed.map(|text| text.matches("Content-Type: ").count());
    assert!(
        fields.clone().count() > 0 && fields.max() == Some(1),
        "{all:?}"
    );
    let heard = all.join("\n---\n");
    for expected in [
        "POST /file HTTP/1.1\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "\r\n\r\nname=a+b&x=1%262",
        "Content-Type: multipart/form-data; boundary=triathlon-",
        "name=\"note\"; filename=\"note.txt\"\r\n",
        "\r\n\r\ncontent of a note\r\n--triathlon-",
    ] {
        assert!(heard.contains(expected), "no {expected:?} in {heard}");
    }
}

#[test]
fn a_request_has_one_host_and_one_authorization() {
    let url = Some("http://127.0.0.1:1/");
    for (flags, name) in [
        (
            ["--user", "a:bcdef", "-H", "authorization: x"],
            "one Authorization",
        ),
        (["-H", "Host: a", "-H", "host: b"], "one Host"),
    ] {
        load(url, &flags).expect_code(2).expect_complaint(&[name]);
    }
}

/// Credentials are sent, and stand in no result, no message and no list of processes.
#[test]
fn credentials_are_sent_and_not_told() {
    for (flag, value, sent) in [
        (
            "--user",
            "me:hush-hush",
            "Authorization: Basic bWU6aHVzaC1odXNo\r\n",
        ),
        (
            "--bearer",
            "hush-hush",
            "Authorization: Bearer hush-hush\r\n",
        ),
    ] {
        let (server, heard) = listening();
        let run = load(Some(&server.url()), &[flag, value]).expect_measured();
        let heard = heard.lock().expect("nobody panicked").join("\n");
        assert!(heard.contains(sent), "{heard}");
        for told in [&run.stdout, &run.stderr] {
            assert!(!told.contains("hush") && !told.contains("bWU6"), "{told}");
        }
        assert!(run.stdout.contains("(redacted)"), "{run:#?}");
        let url = server.url();
        let mut running = Running::start(&mut command([
            "load", &url, "-d", "10m", "-c", "1", "-t", "1", flag, value,
        ]));
        let asked = server.requests();
        crate::support::wait_until("it loads", || server.requests() > asked + 5);
        let words = fs::read(format!("/proc/{}/cmdline", running.pid())).expect("it runs");
        assert!(
            !String::from_utf8_lossy(&words).contains("hush"),
            "{words:?}"
        );
        running.signal("INT");
        crate::support::wait_until("it ends", || running.ended());
    }
    load(Some("http://127.0.0.1:1/"), &["--user", "me"])
        .expect_code(2)
        .expect_complaint(&["--user", "NAME:PASSWORD"]);
}

#[test]
fn other_addresses_than_the_name_has() {
    let (server, heard) = listening();
    let address = server.address();
    let connect = format!("example.test:80:{address}");
    load(Some("http://example.test/a"), &["--connect-to", &connect]).expect_measured();
    let any = format!("::{address}");
    load(Some("http://other.test:99/b"), &["--connect-to", &any]).expect_measured();
    let port = address.port();
    let url = format!("http://third.test:{port}/c");
    let resolve = format!("third.test:{port}:127.0.0.1");
    load(Some(&url), &["--resolve", &resolve]).expect_measured();
    let heard = heard.lock().expect("nobody panicked").join("\n");
    for expected in [
        "GET /a HTTP/1.1\r\nHost: example.test\r\n".to_owned(),
        "GET /b HTTP/1.1\r\nHost: other.test:99\r\n".to_owned(),
        format!("GET /c HTTP/1.1\r\nHost: third.test:{port}\r\n"),
    ] {
        assert!(heard.contains(&expected), "no {expected:?} in {heard}");
    }
    for (flag, rule) in [
        ("--connect-to", "example.test"),
        ("--resolve", "a:80:nowhere"),
    ] {
        load(Some("http://example.test/"), &[flag, rule])
            .expect_code(2)
            .expect_complaint(&[flag, "HOST:PORT"]);
    }
}
