//! Redirects of nginx: counted always, followed on request, and never to another server.

use model::{Outcome, Trial};

use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, load, triathlon};
use crate::support::stub::{RIGHT, Stub, read_head, send};
use crate::tls::Files;
use crate::tools::{both, check_equal, field};

/// What credentials go along with.
const CREDENTIALS: &str = "-H Authorization:Bearer-x -H Cookie:id=7";

/// 40 exchanges over 4 connections, with a server that is the same as the next one.
const LOOPS: [&str; 2] = [
    "-n 40 -c 4 -t 2 --warmup 0s --timeout 5s",
    "-n 40 -R 400 -c 4 -t 2 --warmup 0s --timeout 5s",
];

/// What a server that sends elsewhere does.
fn locations(elsewhere: &str) -> String {
    format!(
        "location = /old {{ return 301 /new?a; }}
         location = /older {{ return 302 /old; }}
         location = /circle {{ return 307 /circle; }}
         location = /form {{ return 303 /new; }}
         location = /away {{ return 302 {elsewhere}; }}
         location = /new {{ return 200 'new here'; }}"
    )
}

#[track_caller]
fn counted(run: Run, outcome: Outcome, redirects: u64, followed: u64) -> Trial {
    let trial = run.trial();
    let total = &trial.record.total;
    assert_eq!(total.outcomes[outcome], 40, "{:?}", trial.record.examples);
    assert_eq!(total.outcomes.total(), 40, "{run:#?}");
    // In an open loop what is due in the window may be answered after it.
    let drain = &trial.record.drain_phase;
    assert_eq!(total.redirects + drain.redirects, redirects, "{run:#?}");
    assert_eq!(total.followed + drain.followed, followed, "{run:#?}");
    run.expect_measured();
    trial
}

/// How nginx listens, and how it is asked: HTTP/1.1 and HTTP/2, in clear and over TLS.
fn ways(files: &Files) -> [(String, String, bool); 4] {
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let tls = |http2: &str| {
        format!(
            " ssl{http2}; ssl_certificate {}; ssl_certificate_key {}",
            certificate.display(),
            key.display()
        )
    };
    [
        (String::new(), String::new(), false),
        (
            " http2".to_owned(),
            "--http2-prior-knowledge".to_owned(),
            false,
        ),
        (tls(""), files.trust(), true),
        (tls(" http2"), format!("--http2 {}", files.trust()), true),
    ]
}

fn url(server: &Nginx, path: &str, is_secure: bool) -> String {
    match is_secure {
        true => server.https_url(path),
        false => server.url(path),
    }
}

#[test]
fn redirects_are_followed_on_the_same_server() {
    let name = "redirects::redirects_are_followed_on_the_same_server";
    let Some([program]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    for (settings, flags, is_secure) in ways(&files) {
        let server = Nginx::start_answering(&program, &settings, &locations("/"));
        for of_loop in LOOPS {
            let flags = format!("{of_loop} {flags} {CREDENTIALS}");
            let older = url(&server, "older", is_secure);
            let trial = counted(
                load(&older, &format!("{flags} --follow")),
                Outcome::Ok,
                80,
                80,
            );
            let reference = trial.record.reference.expect("a reference");
            assert_eq!((reference.status, reference.length), (200, 8));
            let most = format!("{flags} --follow=1 --expect-status 302");
            load(&older, &most)
                .expect_code(1)
                .expect_complaint(&["301"]);
            let circle = url(&server, "circle", is_secure);
            let three = format!("{flags} --follow=3");
            let wanted = format!("{three} --expect-status 307");
            counted(load(&circle, &wanted), Outcome::Ok, 160, 120);
            // It is no right answer by itself, and the run says so.
            let run = load(&circle, &three);
            let trial = run.trial();
            assert_eq!(trial.record.total.outcomes[Outcome::Status], 40, "{run:#?}");
            let notes = trial.record.notes.join("\n");
            assert!(
                notes.contains("was still a redirect, status 307"),
                "{notes}"
            );
            let run = load(&older, &flags);
            assert!(
                run.trial()
                    .record
                    .notes
                    .iter()
                    .any(|note| note.contains("is not followed"))
            );
            counted(run, Outcome::Ok, 40, 0);
        }
        let log = server.quit_and_list();
        let asked = |target: &str| log.iter().filter(|line| line[2] == target).count();
        assert!(asked("/new?a") >= 80, "{}", asked("/new?a"));
        for line in log.iter().filter(|line| line[2] == "/new?a") {
            assert_eq!((line[4].as_str(), line[5].as_str()), ("id=7", "Bearer-x"));
        }
    }
}

#[test]
fn what_was_posted_is_not_posted_again() {
    let Some([program]) = need("redirects::what_was_posted_is_not_posted_again", ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    for (settings, flags, is_secure) in ways(&files) {
        let server = Nginx::start_answering(&program, &settings, &locations("/"));
        let flags = format!("{} {flags} --data seven! --follow", LOOPS[0]);
        counted(
            load(&url(&server, "form", is_secure), &flags),
            Outcome::Ok,
            40,
            40,
        );
        for line in server.quit_and_list() {
            let what = (line[1].as_str(), line[2].as_str(), line[6].as_str());
            assert!(
                matches!(what, ("POST", "/form", "6") | ("GET", "/new", "-")),
                "{line:?}"
            );
        }
    }
}

/// Two servers: nobody is asked of the second one, and no credentials get there.
#[test]
fn another_server_is_not_asked() {
    let Some([program]) = need("redirects::another_server_is_not_asked", ["nginx"]) else {
        return;
    };
    let other = Nginx::start_answering(&program, "", "location / { return 200 'here'; }");
    let server = Nginx::start_answering(&program, "", &locations(&other.url("new")));
    for of_loop in LOOPS {
        let flags = format!("{of_loop} {CREDENTIALS} --follow");
        counted(load(&server.url("away"), &flags), Outcome::Ok, 40, 0);
    }
    assert_eq!(asked(other), 0, "the other server was asked");
}

/// A Lua script that only says what is asked leaves the rest to the plan; others are told why not.
#[test]
fn what_a_lua_script_asks_is_followed() {
    let server = Stub::start_raw(|mut stream, _| {
        while let Some(head) = read_head(&mut stream) {
            let answer: &[u8] = match head.starts_with(b"POST /old HTTP/1.1\r\n") {
                true => b"HTTP/1.1 307 No\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n",
                false if head.starts_with(b"POST /new HTTP/1.1\r\n") => RIGHT,
                false => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            };
            send(&mut stream, answer);
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str, code: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, code).expect("a file");
        path.display().to_string()
    };
    let sets = script("sets.lua", "wrk.method = 'POST' wrk.path = '/old'");
    let run = load(
        &server.url(),
        &format!("{} --follow --lua {sets}", LOOPS[0]),
    );
    counted(run, Outcome::Ok, 40, 40);
    for (name, code) in [
        ("asks.lua", "function request() return wrk.format() end"),
        ("hears.lua", "function response() end"),
        ("waits.lua", "function delay() return 1 end"),
    ] {
        load(
            &server.url(),
            &format!("--follow --lua {}", script(name, code)),
        )
        .expect_code(2)
        .expect_complaint(&["follow: a script in Lua with request(), response() or delay()"]);
    }
}

fn asked(server: Nginx) -> usize {
    server.quit_and_list().len()
}

#[test]
fn what_the_times_are_is_said() {
    let Some([program]) = need("redirects::what_the_times_are_is_said", ["nginx"]) else {
        return;
    };
    let server = Nginx::start_answering(&program, "", &locations("/"));
    let shown = |flags: &str| {
        let url = server.url("old");
        let words = ["load", &url].into_iter().chain(flags.split_whitespace());
        let shown = triathlon(words).expect_measured().stdout;
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = shown(&format!("{} --follow", LOOPS[0]));
    let words = "redirects 40 answers that redirected, 40 followed (up to 10 per exchange); times are \
                 those of all requests of an exchange together";
    assert!(told.contains(words), "{told}");
    let told = shown(LOOPS[0]);
    let words = "redirects 40 answers that redirected, not followed";
    assert!(told.contains(words), "{told}");
}

/// hey follows redirects unless it is told not to, and so does oha.
#[test]
fn tools_follow_as_the_real_ones_do() {
    let name = "redirects::tools_follow_as_the_real_ones_do";
    let Some([nginx, hey]) = need(name, ["nginx", "hey"]) else {
        return;
    };
    let server = Nginx::start_answering(&nginx, "", &locations("/"));
    let url = server.url("older");
    for (flag, status) in [(None, "[200]"), (Some("-disable-redirects"), "[302]")] {
        let words = ["-n", "40", "-c", "4"].into_iter().chain(flag);
        let words: Vec<&str> = words.chain([url.as_str()]).collect();
        check_equal(&both(&hey, "hey", &words), &[status]);
    }
    for (most, status) in [("10", "[200]"), ("1", "[301]"), ("0", "[302]")] {
        let run = triathlon(["oha", "--no-tui", "-n", "40", "-c", "4", "-r", most, &url]);
        let text = run.expect_judged().stdout;
        assert_eq!(field(&text, status), "40 responses", "-r {most}");
    }
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let check = |flags: &str, words: &[&str]| {
        load("http://127.0.0.1:1/", flags)
            .expect_code(2)
            .expect_complaint(words);
    };
    check("--follow=0", &["--follow", "1 to 20"]);
    check("--follow=x", &["--follow"]);
    check("--follow --pipeline 2", &["--follow", "one request"]);
}
