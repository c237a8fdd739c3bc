//! Several servers in one run, each with a log of its own.

use std::fs;

use model::Outcome;
use rcgen::CertificateParams;

use crate::scripts::{self, Heard, answering};
use crate::support::nginx::Nginx;
use crate::support::process::{Run, triathlon};
use crate::support::stub::Stub;
use crate::support::{need, wait_until};
use crate::tls::{Files, https};

const ANSWER: &str = "location / { return 200 'seven!'; }";

fn load(urls: &[&str], flags: &str) -> Run {
    let words = ["load"].into_iter().chain(urls.iter().copied());
    let words = words.chain(flags.split_whitespace());
    triathlon(words.chain(["--json", "-"]))
}

/// How often each path stands in the log of a server, without what was fetched before the run.
fn asked(server: Nginx, paths: &[&str]) -> Vec<u64> {
    let lines = server.quit_and_list();
    let known = |line: &Vec<String>| paths.contains(&line[2].as_str());
    assert!(lines.iter().all(known), "{lines:?}");
    let of = |path: &&str| lines.iter().filter(|line| line[2] == **path).count() as u64;
    paths.iter().map(|path| of(path) - 2).collect()
}

/// Whatever carries them: each server is asked for what is its own, by its own name.
#[test]
fn each_server_is_asked_for_what_is_its_own() {
    let name = "hosts::each_server_is_asked_for_what_is_its_own";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    for (file, host) in [("one", "localhost"), ("two", "127.0.0.1")] {
        files.sign(file, |params| {
            *params = CertificateParams::new([host.to_owned()]).expect("a certificate");
        });
    }
    let secured = |file: &str| {
        let path = |kind: &str| files.path(&format!("{file}.{kind}")).display().to_string();
        let (certificate, key) = (path("pem"), path("key"));
        format!("; ssl_certificate {certificate}; ssl_certificate_key {key}")
    };
    for (is_secure, settings, flags) in [
        (false, "", "-c 8"),
        (false, "", "-c 8 --requests-per-connection 3"),
        (false, "", "-c 8 -R 2000 --poisson"),
        (false, " http2", "-c 4 -m 2 --http2-prior-knowledge"),
        (true, " ssl", "-c 8"),
        (true, " ssl http2", "-c 4 -m 2 -R 2000 --http2"),
    ] {
        let more = |file: &str| {
            if is_secure {
                secured(file)
            } else {
                String::new()
            }
        };
        let start = |file: &str| {
            let settings = format!("{settings}{}", more(file));
            Nginx::start_answering(&nginx, &settings, ANSWER)
        };
        let (one, two) = (start("one"), start("two"));
        let (scheme, trust) = match is_secure {
            true => ("https", files.trust()),
            false => ("http", String::new()),
        };
        let url = |server: &Nginx, host: &str, path: &str| {
            let plain = server.url(path);
            let (_, rest) = plain.split_once("127.0.0.1").expect("its address");
            format!("{scheme}://{host}{rest}")
        };
        let urls = [
            url(&one, "localhost", "a"),
            url(&two, "127.0.0.1", "b"),
            url(&one, "localhost", "c"),
        ];
        let urls = urls.each_ref().map(String::as_str);
        let flags = format!("{flags} {trust} -n 600 -t 2 --warmup 0s --weights 1,1,2");
        let run = load(&urls, &flags).expect_measured();
        let classes = run.trial().record.classes;
        let right: Vec<u64> = classes
            .iter()
            .map(|one| one.outcomes[Outcome::Ok])
            .collect();
        assert_eq!(right.iter().sum::<u64>(), 600, "{flags}: {run:#?}");
        let of_one = asked(one, &["/a", "/c"]);
        let of_two = asked(two, &["/b"]);
        assert_eq!(right, [of_one[0], of_two[0], of_one[1]], "{flags}");
        if flags.contains("-R") {
            // 150 and a standard deviation of 11.
            assert!((90..210).contains(&right[1]), "{flags}: {right:?}");
        }
    }
}

#[test]
fn each_server_is_asked_for_what_is_its_own_over_http3() {
    let files = Files::new();
    for (file, host) in [("one", "localhost"), ("two", "127.0.0.1")] {
        files.sign(file, |params| {
            *params = CertificateParams::new([host.to_owned()]).expect("a certificate");
        });
    }
    let serve = |file: &str, page: &str| {
        let pages: [(&str, &[u8]); 1] = [(page, b"seven!\n")];
        files.serve(file, &pages, "--http3 --access-log log")
    };
    let (one, two) = (serve("one", "a"), serve("two", "b"));
    let urls = [
        https(&one.url("/a")).replace("127.0.0.1", "localhost"),
        https(&two.url("/b")),
    ];
    let urls = urls.each_ref().map(String::as_str);
    let flags = format!(
        "--http3 {} -n 200 -c 4 -t 2 --warmup 0s --timeout 10s",
        files.trust()
    );
    let run = load(&urls, &flags).expect_measured();
    let classes = run.trial().record.classes;
    for (served, page, class) in [(&one, "a", &classes[0]), (&two, "b", &classes[1])] {
        let right = class.outcomes[Outcome::Ok];
        // What was fetched before the run comes first.
        let logged = usize::try_from(right).expect("200 at most") + 2;
        let read = || fs::read_to_string(served.path().join("log")).expect("a log");
        wait_until("the log is whole", || read().lines().count() >= logged);
        let asked = format!("\"GET /{page} HTTP/3.0\" 200 7");
        let log = read();
        assert_eq!(log.lines().count(), logged, "{log}");
        assert!(log.lines().all(|line| line.contains(&asked)), "{log}");
    }
    let all: u64 = classes.iter().map(|one| one.outcomes[Outcome::Ok]).sum();
    assert_eq!(all, 200, "{run:#?}");
}

#[test]
fn what_several_servers_cannot_have_is_refused() {
    let urls = ["http://127.0.0.1:1/", "http://127.0.0.2:1/"];
    let check = |flags: &str, words: &[&str]| {
        load(&urls, flags).expect_code(2).expect_complaint(words);
    };
    check("-c 1 -t 1", &["--connections", "give at least 2"]);
    check("-c 8 --follow", &["--follow", "one server"]);
    check(
        "-c 8 --unix-socket /run/x",
        &["--unix-socket", "one server"],
    );
    load(&["http://127.0.0.1:1/", "https://127.0.0.1:2/"], "-c 8")
        .expect_code(2)
        .expect_complaint(&["all http or all https"]);
    // Where --resolve says that the first one is, nobody listens either.
    load(&urls, "-c 8 -n 8 --resolve 127.0.0.1:1:127.0.0.3")
        .expect_code(1)
        .expect_complaint(&["http://127.0.0.1:1/", "127.0.0.3:1"]);
    // One that nobody reaches is told before anything is measured.
    load(&urls, "-c 8 -n 8")
        .expect_code(1)
        .expect_complaint(&["http://127.0.0.1:1/", "is the server running"]);
}

/// A server that gives each who asks a cookie.
fn giving(cookie: &'static str) -> (Stub, Heard) {
    answering(move |_| {
        let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: {cookie}; Path=/\r\n");
        (head + "Content-Length: 7\r\n\r\nseven!\n").into_bytes()
    })
}

fn port(server: &Stub) -> String {
    let url = server.url();
    let (_, rest) = url.rsplit_once(':').expect("a port");
    let port = rest.split('/').next();
    port.expect("a port").to_owned()
}

/// Users have a connection to each server and know it by its name, and tell none what another one
/// gave them.
#[test]
fn users_ask_several_servers_and_keep_their_cookies_apart() {
    let (one, at_one) = giving("from=one");
    let (two, at_two) = giving("from=two");
    let (first, second) = (
        format!("one.test:{}", port(&one)),
        format!("two.test:{}", port(&two)),
    );
    let script = format!(
        "cookies = true
        [[step]]
        get = 'http://{first}/front'
        [[step]]
        parts = [{{ get = 'http://{first}/a' }}, {{ get = 'http://{second}/b' }}]
        [[step]]
        get = 'http://{second}/c'"
    );
    let flags = format!(
        "-n 40 -c 2 -t 1 --warmup 0s --timeout 20s --json - --resolve {first}:127.0.0.1 \
         --resolve {second}:127.0.0.1"
    );
    let run = scripts::run(&one.url(), &script, &flags).expect_measured();
    let record = run.trial().record;
    let classes = record.classes.iter();
    let right: Vec<u64> = classes.map(|one| one.outcomes[Outcome::Ok]).collect();
    assert_eq!(right.iter().sum::<u64>(), 40, "{run:#?}");
    // Users go through the steps side by side, and one may be ahead at the end.
    assert!(right.iter().all(|one| (8..=12).contains(one)), "{right:?}");
    // On a busy machine one of the two may come too late to ask the second server.
    let established = record.total.connections.established;
    assert!((3..=4).contains(&established), "{run:#?}");
    for (heard, host, own, paths, asked) in [
        (at_one, &first, "from=one", ["/front", "/a"], &right[..2]),
        (at_two, &second, "from=two", ["/b", "/c"], &right[2..]),
    ] {
        let heard = heard.lock().expect("nobody panicked");
        // What the first user asks first is asked once before the run, on a connection of its own.
        let before = u64::from(host == &first);
        assert_eq!(heard.len() as u64 - before, asked.iter().sum::<u64>());
        for (connection, text) in heard.iter() {
            assert!(*connection < 2 + before, "{text}");
            assert!(text.contains(&format!("\r\nHost: {host}\r\n")), "{text}");
            assert!(
                paths
                    .iter()
                    .any(|path| text.starts_with(&format!("GET {path} ")))
            );
            let cookies = text.lines().filter(|line| line.starts_with("Cookie: "));
            for cookie in cookies {
                assert_eq!(cookie, format!("Cookie: {own}"));
            }
        }
        let with = heard.iter().filter(|(_, text)| text.contains("Cookie: "));
        assert_eq!(
            with.count() as u64 + 2 + before,
            heard.len() as u64,
            "all but the first of each user"
        );
    }
}

/// What a user is given for a domain, the other servers of that domain hear from it.
#[test]
fn a_cookie_of_a_domain_goes_to_all_of_its_servers() {
    let (shop, _) = giving("user=7; Domain=shop.test");
    let (pictures, at_pictures) = giving("seen=1");
    let (first, second) = (
        format!("www.shop.test:{}", port(&shop)),
        format!("img.shop.test:{}", port(&pictures)),
    );
    let script = format!(
        "cookies = true
        [[step]]
        get = 'http://{first}/front'
        [[step]]
        get = 'http://{second}/1.jpg'"
    );
    let flags = format!(
        "-n 20 -c 1 -t 1 --warmup 0s --timeout 20s --json - --resolve {first}:127.0.0.1 \
         --resolve {second}:127.0.0.1"
    );
    let run = scripts::run(&shop.url(), &script, &flags).expect_measured();
    assert_eq!(run.trial().record.total.outcomes[Outcome::Ok], 20);
    let heard = at_pictures.lock().expect("nobody panicked");
    let knows = |(_, text): &&(u64, String)| text.contains("\r\nCookie: user=7");
    assert_eq!(heard.iter().filter(knows).count(), heard.len(), "{heard:?}");
    assert_eq!(heard.len(), 10, "{heard:?}");
}

/// Who is asked by another name than its address sets cookies for the domain of that name.
#[test]
fn a_cookie_is_for_the_host_that_the_request_names() {
    let (shop, at_shop) = giving("user=7; Domain=shop.test");
    let script = format!(
        "cookies = true
        [[step]]
        get = '{}'
        headers = [['Host', 'www.shop.test:8080']]",
        shop.url()
    );
    let flags = "-n 10 -c 1 -t 1 --warmup 0s --timeout 20s --json -";
    let run = scripts::run(&shop.url(), &script, flags).expect_measured();
    assert_eq!(run.trial().record.total.outcomes[Outcome::Ok], 10);
    let heard = at_shop.lock().expect("nobody panicked");
    let knows = |(_, text): &&(u64, String)| text.contains("\r\nCookie: user=7\r\n");
    assert_eq!(heard.iter().filter(knows).count(), 9, "{heard:?}");
}

/// Of a recording, what went to a server that somebody places is asked, and nothing else.
#[test]
fn a_recording_asks_the_servers_that_are_placed() {
    let (shop, at_shop) = giving("from=shop");
    let (pictures, at_pictures) = giving("from=pictures");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("page.har");
    let text = scripts::recording(&[
        ("000", "GET", "http://shop.test/"),
        ("001", "GET", "http://pictures.test/1.jpg"),
        ("001", "GET", "http://ads.test/x"),
        ("001", "GET", "http://shop.test/a.css"),
        ("001", "GET", "http://pictures.test/2.jpg"),
    ]);
    fs::write(&path, text).expect("a file");
    let url = shop.url();
    let rule = format!("pictures.test:80:127.0.0.1:{}", port(&pictures));
    let path = path.display().to_string();
    let words = ["load", &url, "--har", &path, "--connect-to", &rule];
    let flags = "-n 40 -c 1 -t 1 --warmup 0s --timeout 20s --json -";
    let run = triathlon(words.into_iter().chain(flags.split_whitespace())).expect_measured();
    let said = "left out: 1 to other servers (--resolve and --connect-to say where";
    assert!(run.stderr.contains(said), "{run:#?}");
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 40, "{run:#?}");
    let asked = |heard: Heard, path: &str| {
        let heard = heard.lock().expect("nobody panicked");
        let start = format!("GET {path} ");
        let of_path = heard.iter().filter(|(_, text)| text.starts_with(&start));
        of_path.count()
    };
    // Twice more before the run.
    let count = asked(at_pictures.clone(), "/1.jpg");
    assert!((10..=12).contains(&count), "{count}");
    let count = asked(at_shop, "/a.css");
    assert!((10..=12).contains(&count), "{count}");
    let heard = at_pictures.lock().expect("nobody panicked");
    let named = |(_, text): &(u64, String)| text.contains("\r\nHost: pictures.test\r\n");
    assert!(heard.iter().all(named), "{heard:?}");
}
