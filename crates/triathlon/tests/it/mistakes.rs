//! Mistakes on command lines: each is named, with what to do instead.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use crate::serve::Served;
use crate::support::need;
use crate::support::process::{Running, load, program, triathlon};
use crate::tls::Files;

#[track_caller]
fn check(arguments: &str, words: &[&str]) {
    let run = triathlon(arguments.split(' '));
    run.expect_code(2).expect_complaint(words);
}

#[test]
fn what_a_flag_needs_is_told_whatever_else_is_given() {
    for flags in [
        "doctor --connections 5000",
        "doctor --connections 5000 --hiccups 0s",
        "doctor --kernel 5.10 --hiccups 0s",
        "doctor --memory 4G --fix-script",
    ] {
        check(flags, &["is about a file: give --sysctl FILE, too"]);
    }
    check(
        "doctor --sysctl f --server 1",
        &["--server", "cannot be used with"],
    );
    check("probe --list --json", &["cannot be used with"]);
    check("lab first-heat --verify --list", &["cannot be used with"]);
    check(
        "load http://127.0.0.1:1/ -c 99999999999",
        &["more than any machine has"],
    );
    check(
        "serve . --listen 127.0.0.1:65000 --listen 127.0.0.1:65000",
        &["--listen 127.0.0.1:65000 is given twice"],
    );
    // What would have no effect, or fail every request, is told before it starts.
    check("serve . --log-buffer 64k", &["--access-log"]);
    check("serve . --seed 7", &["--synthetic"]);
    check(
        "serve . --header-timeout 0s",
        &["--header-timeout 0s leaves clients no time at all"],
    );
}

/// Only where there is a flag for it.
#[test]
fn a_url_that_names_a_user_is_told_what_to_do() {
    let url = "http://user@127.0.0.1:1/";
    let why = "it carries a user name, which a URL may not have here";
    check(&format!("load {url}"), &[why, "give --user NAME:PASSWORD"]);
    for words in [&["wrk", url][..], &["probe", "connect", "--url", url]] {
        let run = triathlon(words).expect_code(2).expect_complaint(&[why]);
        assert!(!run.stderr.contains("--user"), "{run:#?}");
    }
}

#[test]
fn a_command_line_that_is_no_text_is_shown_as_far_as_it_is() {
    let words = ["lab", "first-heat", "--list", "--results"].map(OsStr::new);
    let odd = OsStr::from_bytes(b"results-\xff");
    triathlon(words.into_iter().chain([odd])).expect_code(0);
}

#[test]
fn addresses_that_nothing_can_come_from_are_refused() {
    for (range, word) in [
        ("0.0.0.0/0", "those of many others"),
        ("::/0", "those of many others"),
        ("224.0.0.0/24", "multicast"),
        ("ff02::/112", "multicast"),
        ("127.5.0.0/16", "loopback"),
    ] {
        check(&format!("addresses add {range} --dev lo"), &[word]);
    }
}

#[test]
fn a_page_that_cannot_be_written_is_told_as_such() {
    if need(
        "mistakes::a_page_that_cannot_be_written_is_told_as_such",
        ["chromium"],
    )
    .is_none()
    {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, page) = (path("a.json"), path("a.html"));
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    triathlon(["load", &url, "-d", "100ms", "-c", "1", "--json", &file]).expect_measured();
    let report = |pdf: &str| triathlon(["report", &file, "--html", &page, "--pdf", pdf]);
    // Neither a folder nor what is in none.
    for pdf in [&path(""), &path("no/a.pdf")] {
        report(pdf)
            .expect_code(1)
            .expect_complaint(&["cannot write", pdf]);
    }
    let pdf = path("a.pdf");
    fs::write(&pdf, "an older one").unwrap();
    report(&pdf).expect_code(0);
    assert!(fs::read(&pdf).unwrap().starts_with(b"%PDF"));
    triathlon(["report", &file, "--markdown", "-"])
        .expect_code(2)
        .expect_complaint(&["its charts are files beside it"]);
}

#[test]
fn a_request_that_would_not_be_sent_as_it_stands_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("request");
    fs::write(&file, "GET / HTTP/1.1\nHost: h\nConnection: close\n\n").unwrap();
    let file = file.display().to_string();
    triathlon(["load", "http://127.0.0.1:1/", "--raw", &file])
        .expect_code(2)
        .expect_complaint(&[
            "'Connection: close' is not sent",
            "--requests-per-connection 1",
        ]);
}

#[test]
fn what_is_wrong_with_tls_is_told_with_its_remedy() {
    let name = "mistakes::what_is_wrong_with_tls_is_told_with_its_remedy";
    let Some([openssl]) = need(name, ["openssl"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    files.sign("other", |_| {});
    let path = |name: &str| files.path(name).display().to_string();
    let (certificate, locked) = (path("site.pem"), path("locked.key"));
    let output = Command::new(openssl)
        .args(["pkey", "-in", &path("site.key"), "-out", &locked])
        .args(["-aes256", "-passout", "pass:x"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let folder = files.path("").display().to_string();
    let serve = |key: &str| {
        let tls = ["--tls-cert", &certificate, "--tls-key", key];
        let listen = ["serve", &folder, "--listen", "127.0.0.1:0"];
        triathlon(listen.into_iter().chain(tls))
    };
    let failed = |key: &str, words: &[&str]| {
        let run = serve(key);
        assert_ne!(run.code, Some(0), "{run:#?}");
        run.expect_complaint(words);
    };
    failed(
        &locked,
        &["a private key with a passphrase", "openssl pkey"],
    );
    failed(
        &path("other.key"),
        &["the private key does not belong to the certificate"],
    );
    let served = files.serve("site", &[("a", b"seven!\n")], "");
    let url = served.url("/a");
    let run = triathlon(["load", &url, "-d", "100ms", "-c", "1"]);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    let said = words.join(" ");
    assert!(said.contains("if that is an https:// port"), "{run:#?}");
    let secure = crate::tls::https(&url);
    let groups = "-k --tls-version 1.2 --tls-groups X25519MLKEM768 -d 100ms -c 1";
    load(&secure, groups).expect_complaint(&["TLS 1.2 has none of the key-exchange groups"]);
}

/// Whoever has read enough of a help needs no word about the rest.
#[test]
fn a_help_that_nobody_reads_says_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(program())
        .args(["load", "--help"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// What somebody compares with itself cannot differ, and is told so.
#[test]
fn a_result_that_is_compared_with_itself_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json").display().to_string();
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    triathlon(["load", &url, "-d", "100ms", "-c", "1", "--json", &file]).expect_measured();
    let mut compare = Command::new(program());
    compare.args(["compare", &file, &file]);
    let run = Running::start(&mut compare).finish();
    run.expect_complaint(&["A and B are the same result"]);
}
