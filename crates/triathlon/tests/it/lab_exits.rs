//! `triathlon lab` from outside: what fails a lab of several servers, and what is a row of it.

use std::fs;
use std::path::Path;

use crate::lab::files;
use crate::support::need;
use crate::support::process::{Run, triathlon};

fn lab(arguments: &[&str]) -> Run {
    triathlon(["lab"].iter().chain(arguments))
}

/// An experiment file with these servers, each with the text of a template where it has one.
fn experiment(folder: &Path, servers: &[(&str, Option<&str>)]) -> String {
    let mut text = "[experiment]\nname = \"mine\"\nquestion = \"?\"\nrounds = 1\n\
                    warmup = \"20ms\"\nduration = \"100ms\"\n"
        .to_owned();
    for (product, template) in servers {
        text.push_str(&format!("[[server]]\nproduct = \"{product}\"\n"));
        if let Some(template) = template {
            let path = folder.join("template.conf");
            fs::write(&path, template).expect("a template");
            text.push_str(&format!("preset = \"{}\"\n", path.display()));
        }
    }
    text.push_str("[[workload]]\nname = \"seven\"\nbody = { bytes = 7 }\n");
    text.push_str("[load]\nmode = \"closed\"\nconnections = [16]\n");
    let file = folder.join("mine.toml");
    fs::write(&file, text).expect("an experiment");
    file.display().to_string()
}

#[test]
fn a_server_that_was_named_and_not_measured_fails_the_lab() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results").display().to_string();
    let origin = ("origin", None);
    let measure = |file: &str, flag: Option<&str>| {
        let words = [file, "--no-lock", "--hiccups", "0s", "--results", &results];
        lab(&words.into_iter().chain(flag).collect::<Vec<_>>())
    };
    let one = experiment(folder.path(), &[origin]);
    measure(&one, None).expect_measured();
    measure(&one, Some("--verify")).expect_code(0);
    // Debian has no package of lwan.
    let two = experiment(folder.path(), &[origin, ("lwan", None)]);
    let run = measure(&two, None).expect_code(1);
    let run = run.expect_complaint(&["asked for, but not measured: lwan"]);
    assert!(run.stdout.contains("report.html"), "{run:#?}");
    measure(&two, Some("--verify")).expect_code(1);
}

/// A pair of server and workload that cannot be is a row, as long as both have another partner.
#[test]
fn what_a_server_does_not_offer_is_a_row_and_no_failure() {
    let name = "what_a_server_does_not_offer_is_a_row_and_no_failure";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results").display().to_string();
    let file = experiment(folder.path(), &[("origin", None), ("nginx", None)]);
    let text = fs::read_to_string(&file).unwrap();
    let body = "body = { bytes = 7 }\n";
    let handlers = format!("{body}handler = [\"static\", \"memory\"]\n");
    fs::write(&file, text.replace(body, &handlers)).unwrap();
    let measure = |more: &[&str]| {
        let words = [&file, "--no-lock", "--hiccups", "0s", "--results", &results];
        lab(&[&words, more].concat())
    };
    measure(&["--verify"]).expect_code(0);
    let run = measure(&[]).expect_measured();
    let why = "origin does not offer 'memory', which the workload needs";
    assert!(run.stderr.contains(why), "{run:#?}");
    let note = "Not measured: origin does not offer what 'seven memory' needs.";
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(note), "{run:#?}");
    // Without nginx nobody does that workload.
    let alone = ["server=origin"];
    let run = measure(&alone).expect_code(1);
    run.expect_complaint(&["asked for, but not measured: origin (seven memory)"]);
    measure(&["server=origin", "--verify"]).expect_code(1);
}

/// A template for nginx that begins with `head`.
fn nginx(head: &str) -> String {
    let mut text = format!("{head}\npid \"{{directory}}/nginx.pid\";\nhttp {{\n");
    for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text.push_str(&format!("{name}_temp_path \"{{directory}}/tmp/{name}\";\n"));
    }
    text + "access_log off; keepalive_requests 1000000; types { text/html html; }\n\
            server { listen 127.0.0.1:{port}; root \"{site}\"; }\n}\n"
}

#[test]
fn a_server_that_cannot_do_what_is_asked_fails_the_lab() {
    let name = "a_server_that_cannot_do_what_is_asked_fails_the_lab";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let results = folder.join("results").display().to_string();
    let background = "events {}";
    let few = "daemon off; events { worker_connections 8; }";
    let many = "daemon off; events { worker_connections 64; }";
    for (template, verify, code, complaint) in [
        (nginx(background), true, 1, "write 'daemon off;'"),
        (
            nginx(background),
            false,
            1,
            "asked for, but not measured: nginx",
        ),
        ("no_such_word {port};".to_owned(), false, 1, "no_such_word"),
        (
            nginx(few),
            true,
            1,
            "it does not serve 16 connections at once",
        ),
        (
            nginx(many),
            true,
            0,
            "nginx template.conf answers correctly",
        ),
    ] {
        let file = experiment(folder, &[("origin", None), ("nginx", Some(&template))]);
        let mut words = vec![file.as_str(), "--no-lock", "--hiccups", "0s"];
        words.extend(["--results", &results]);
        words.extend(verify.then_some("--verify"));
        lab(&words).expect_code(code).expect_complaint(&[complaint]);
    }
}

/// A program for CGI that does not answer: its server is a row with the reason, others are
/// measured, and the program is ended with its server.
#[test]
fn a_program_that_hangs_is_a_row_and_is_ended() {
    let name = "a_program_that_hangs_is_a_row_and_is_ended";
    if need(name, ["lighttpd"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("hang");
    // No other process has this word.
    let word = program.display().to_string();
    fs::write(
        &program,
        format!("#!/bin/sh\nexec tail -f /dev/null \"{word}\"\n"),
    )
    .unwrap();
    open_to_all(folder.path());
    open_to_all(&program);
    let stock = include_str!("../../../../servers/lighttpd/stock.conf");
    let template = format!(
        "{stock}server.modules += ( \"mod_alias\", \"mod_cgi\" )\n\
         alias.url = ( \"/hang\" => \"{word}\" )\n\
         $HTTP[\"url\"] == \"/hang\" {{ cgi.assign = ( \"\" => \"\" ) }}\n"
    );
    let file = experiment(
        folder.path(),
        &[("lighttpd", Some(&template)), ("origin", None)],
    );
    let text = fs::read_to_string(&file).unwrap();
    let hang = "[[workload]]\nname = \"hang\"\nneeds = [\"cgi-c\"]\n[[workload.request]]\n\
                path = \"/hang\"\nexpect = { status = 200 }\n[load]\ntimeout = \"2s\"\n";
    let text = text.replace("\"mine\"", "\"first-heat\"");
    fs::write(&file, text.replace("[load]\n", hang)).unwrap();
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let run = lab(&[&file, "--no-lock", "--hiccups", "0s", "--results", &place]).expect_code(1);
    let run = run.expect_complaint(&["wrong answer for 'hang'", "no answer within 2.00 s"]);
    let is_measured = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("a trial");
        text.contains("\"product\": \"origin\"") || text.contains("\"product\":\"origin\"")
    };
    assert!(
        files(&results, "trials").iter().any(is_measured),
        "{run:#?}"
    );
    let command_lines = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path().join("cmdline");
        fs::read_to_string(path).ok()
    });
    let left: Vec<String> = command_lines.filter(|line| line.contains(&word)).collect();
    assert_eq!(left, Vec::<String>::new(), "{run:#?}");
}

/// Somebody else has the port that a server is told to listen on: that is a row with what the
/// server says of it, and the others are measured.
#[test]
fn a_port_that_is_taken_is_a_row_and_no_end() {
    let name = "a_port_that_is_taken_is_a_row_and_no_end";
    if need(name, ["lighttpd"]).is_none() {
        return;
    }
    let taken = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let stock = include_str!("../../../../servers/lighttpd/stock.conf");
    // The lab wants its own port named somewhere.
    let template = stock.replace("{{ port }}", &format!("{port} # {{{{ port }}}}"));
    assert_ne!(template, stock);
    let folder = tempfile::tempdir().unwrap();
    let file = experiment(
        folder.path(),
        &[("lighttpd", Some(&template)), ("origin", None)],
    );
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"mine\"", "\"first-heat\"")).unwrap();
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let run = lab(&[&file, "--no-lock", "--hiccups", "0s", "--results", &place]).expect_code(1);
    let run = run.expect_complaint(&["not measured: lighttpd", "Address already in use"]);
    let gaps = files(&results, "gaps");
    assert_eq!(gaps.len(), 1, "{run:#?}");
    let is_measured = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("a trial");
        let trial: model::Trial = serde_json::from_str(&text).expect("a trial");
        trial.point.is_some_and(|point| point.id.server == "origin")
    };
    assert!(
        files(&results, "trials").iter().any(is_measured),
        "{run:#?}"
    );
}

/// Servers that root starts give up their rights.
fn open_to_all(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, mode).expect("a mode");
}
