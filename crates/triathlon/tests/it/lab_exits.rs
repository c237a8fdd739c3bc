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
                    repeats = 0\ncalm = \"0s\"\nwarmup = \"20ms\"\nduration = \"100ms\"\n"
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
    text.push_str("[load]\nmode = \"closed\"\nconnections = [16]\nthink = \"5ms\"\n");
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

/// A program for CGI that does not answer: it is a row with the reason, all else is measured, also
/// of its server, and the program is ended with its server.
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
    // It is asked first, and all of lighttpd waits for it.
    let hang = "[[workload]]\nname = \"hang\"\nneeds = [\"cgi-c\"]\n[[workload.request]]\n\
                path = \"/hang\"\nexpect = { status = 200 }\n[[workload]]\n";
    let text = text.replace("\"mine\"", "\"first-heat\"");
    let text = text.replace("[load]\n", "[load]\ntimeout = \"2s\"\n");
    fs::write(&file, text.replace("[[workload]]\n", hang)).unwrap();
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let run = lab(&[&file, "--no-lock", "--hiccups", "0s", "--results", &place]).expect_code(1);
    let run = run.expect_complaint(&["wrong answer for 'hang'", "no answer within 2.00 s"]);
    let read = |path: &std::path::PathBuf| -> model::Trial {
        let text = fs::read_to_string(path).expect("a trial");
        serde_json::from_str(&text).expect("a trial")
    };
    let trials: Vec<model::Trial> = files(&results, "trials").iter().map(read).collect();
    let is_measured = |server: &str, workload: &str| {
        let mut points = trials.iter().filter_map(|trial| trial.point.as_ref());
        points.any(|point| point.id.server.starts_with(server) && point.id.workload == workload)
    };
    // What it answers rightly is measured.
    for server in ["origin", "lighttpd"] {
        assert!(is_measured(server, "seven"), "{server}: {run:#?}");
    }
    assert!(!is_measured("lighttpd", "hang"), "{run:#?}");
    assert_eq!(with_word(&word), Vec::<String>::new(), "{run:#?}");
}

/// A program for CGI that answers eighty times, and whoever starts it later waits for somebody who
/// never comes.
const AT_FIRST: &str = "#!/bin/sh
echo >> FOLDER/count
if [ $(wc -l < FOLDER/count) -gt 80 ]; then read word < FOLDER/never; fi
printf 'Content-Type: text/plain\\r\\n\\r\\nseven!\\n'
";

/// The processes that have this word on their command line.
fn with_word(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc");
    let lines = entries.filter_map(|entry| {
        let path = entry.ok()?.path().join("cmdline");
        fs::read_to_string(path).ok()
    });
    lines.filter(|line| line.contains(word)).collect()
}

/// A lab of lighttpd, whose program for CGI hangs after a while, beside origin; with a folder for
/// the program.
fn hanging(folder: &Path) -> Run {
    let word = folder.join("hang").display().to_string();
    let program = AT_FIRST.replace("FOLDER", &folder.display().to_string());
    fs::write(&word, program).expect("a program");
    fs::write(folder.join("count"), "").expect("a file");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("never"))
        .status();
    assert!(made.expect("mkfifo").success());
    open_to_all(folder);
    open_to_all(Path::new(&word));
    for name in ["count", "never"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(folder.join(name), mode).expect("a mode");
    }
    let stock = include_str!("../../../../servers/lighttpd/stock.conf");
    let template = format!(
        "{stock}server.modules += ( \"mod_alias\", \"mod_cgi\" )\n\
         alias.url = ( \"/hang\" => \"{word}\" )\n\
         $HTTP[\"url\"] == \"/hang\" {{ cgi.assign = ( \"\" => \"\" ) }}\n"
    );
    let file = experiment(folder, &[("lighttpd", Some(&template)), ("origin", None)]);
    let text = fs::read_to_string(&file).expect("an experiment");
    let text = text
        .replace("\"mine\"", "\"first-heat\"")
        .replace("\"100ms\"", "\"2s\"\nsettle = \"100ms\"");
    let hang = "[[workload]]\nname = \"hang\"\nneeds = [\"cgi-c\"]\n[[workload.request]]\n\
                path = \"/hang\"\nexpect = { status = 200 }\n[load]\nmode = \"open\"\n\
                rate = 60\nconnections = [4]\ntimeout = \"500ms\"\n";
    let (text, _) = text.split_once("[load]\n").expect("a load");
    fs::write(&file, format!("{text}{hang}")).expect("an experiment");
    let results = folder.join("results").display().to_string();
    let words = ["repeats=0", "calm=0s", "--no-lock", "--hiccups", "0s"];
    let words = words.into_iter().chain(["--results", &results]);
    lab(&std::iter::once(file.as_str())
        .chain(words)
        .collect::<Vec<_>>())
}

/// It hangs in the middle of a window: what was asked then is counted as what it is, the point says
/// why it is worth nothing, all else is measured, and the program is ended with its server.
#[test]
fn a_program_that_hangs_in_the_middle_of_a_window_is_counted_and_ended() {
    let name = "a_program_that_hangs_in_the_middle_of_a_window_is_counted_and_ended";
    if need(name, ["lighttpd"]).is_none() {
        return;
    }
    let read = |path: &std::path::PathBuf| -> model::Trial {
        let text = fs::read_to_string(path).expect("a trial");
        serde_json::from_str(&text).expect("a trial")
    };
    // On a busy machine it may hang before the window or after it.
    let mut tries = (0..5).map(|_| {
        let folder = tempfile::tempdir().expect("a folder");
        let run = hanging(folder.path());
        let left = with_word(&folder.path().join("hang").display().to_string());
        assert_eq!(left, Vec::<String>::new(), "{run:#?}");
        let trials = files(&folder.path().join("results"), "trials");
        let trials: Vec<model::Trial> = trials.iter().map(read).collect();
        (folder, run, trials)
    });
    let of = |trial: &model::Trial, server: &str, workload: &str| {
        let point = trial.point.as_ref().expect("a point");
        !point.ceiling && point.id.server.starts_with(server) && point.id.workload == workload
    };
    let hangs = |(_, _, trials): &(_, _, Vec<model::Trial>)| {
        let mut trials = trials.iter();
        let it = trials.find(|trial| of(trial, "lighttpd", "hang"));
        it.is_some_and(|trial| trial.record.total.outcomes[model::Outcome::Ok] > 0)
    };
    let (_folder, run, trials) = tries.find(hangs).expect("a machine with time for servers");
    let told = |server: &str, workload: &str| {
        let mut trials = trials.iter();
        let found = trials.find(|trial| of(trial, server, workload));
        found.unwrap_or_else(|| panic!("{server} {workload}: {run:#?}"))
    };
    let hung = told("lighttpd", "hang");
    let outcomes = &hung.record.total.outcomes;
    assert!(outcomes[model::Outcome::Timeout] > 0, "{outcomes:?}");
    // Whatever was due has one end.
    assert_eq!(outcomes.total(), hung.record.total.due, "{outcomes:?}");
    let rules = |trial: &model::Trial| -> Vec<(String, String)> {
        let findings = trial.verdict.findings.iter();
        findings
            .map(|one| (one.rule.clone(), one.say.clone()))
            .collect()
    };
    let findings = rules(hung);
    let why = findings.iter().find(|(rule, _)| rule == "HTTP-01");
    assert!(
        why.is_some_and(|(_, say)| say.contains("timeout")),
        "{findings:?}"
    );
    assert!(
        findings.iter().all(|(rule, _)| rule != "GEN-13"),
        "{findings:?}"
    );
    let is_fine = |trial: &model::Trial| {
        let outcomes = &trial.record.total.outcomes;
        assert_eq!(outcomes.failures(), 0, "{:?}: {outcomes:?}", trial.point);
    };
    is_fine(told("origin", "seven"));
    // It does not end its connections, so it is started anew, and asked for what is still to be
    // measured.
    is_fine(told("lighttpd", "seven"));
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
