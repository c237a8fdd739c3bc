//! Several servers in one run, each with a log of its own.

use std::fs;

use model::Outcome;
use rcgen::CertificateParams;

use crate::support::nginx::Nginx;
use crate::support::process::{Run, triathlon};
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
        "-c 8 --resolve 127.0.0.1:1:127.0.0.3",
        &["--connect-to or --resolve", "one server"],
    );
    check(
        "-c 8 --unix-socket /run/x",
        &["--unix-socket", "one server"],
    );
    load(&["http://127.0.0.1:1/", "https://127.0.0.1:2/"], "-c 8")
        .expect_code(2)
        .expect_complaint(&["all http or all https"]);
    // One that nobody reaches is told before anything is measured.
    load(&urls, "-c 8 -n 8")
        .expect_code(1)
        .expect_complaint(&["http://127.0.0.1:1/", "is the server running"]);
}
