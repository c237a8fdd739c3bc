//! Races that are not fair, provoked with real servers: each is caught, and told what it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::{Claim, Severity, Status, Trial, Verdict};

use crate::lab::files;
use crate::support::need;
use crate::support::process::triathlon;

/// nginx as its `stock` preset has it, and what it answers.
fn template(answers: &str) -> String {
    let stock = include_str!("../../../../servers/nginx/stock.conf");
    let root = "root \"{{ site }}\";\n";
    assert!(stock.contains(root), "{stock}");
    stock.replacen(root, &format!("{root}{answers}\n"), 1)
}

/// An error that is sent as a success, with as many bytes as the file has.
const ERROR: &str = "location / { default_type text/html; return 200 \"sorry!\\n\"; }";

/// A cache that has the right answer at first, and then at times that of yesterday.
const STALE: &str =
    "default_type text/html; if ($connection_requests ~ \"5$\") { return 200 \"stale!\\n\"; }";

/// The lab of all of them, beside a server that is fair; each asks for a file of seven bytes, and
/// says that it takes gzip. The windows are long enough for several answers of a server that gets
/// hardly any CPU time, and the load is low: what is unfair is so at any rate.
fn experiment(folder: &Path) -> String {
    let server = |label: &str, product: &str, keys: &str| {
        format!("[[server]]\nproduct = \"{product}\"\nlabel = \"{label}\"\n{keys}\n")
    };
    let preset = |name: &str, answers: &str| {
        let path = folder.join(name);
        fs::write(&path, template(answers)).expect("a template");
        format!("preset = \"{}\"", path.display())
    };
    let gzip = "settings = { gzip = \"on\", gzip_min_length = 1, gzip_types = \"*\" }";
    let servers = [
        server("fair", "nginx", ""),
        server("logs", "origin", "access_log = \"on\""),
        server("closes", "nginx", "keep_alive = { requests = 100 }"),
        server("gzips", "nginx", gzip),
        server("errs", "nginx", &preset("errs.conf", ERROR)),
        server("is late", "nginx", &preset("stale.conf", STALE)),
    ];
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"?\"\nrounds = 1\nreference = \"fair\"\n\
         warmup = \"20ms\"\nduration = \"2s\"\n{}\
         [[workload]]\nname = \"seven\"\n[[workload.request]]\nbody = {{ bytes = 7 }}\n\
         headers = [[\"Accept-Encoding\", \"gzip\"]]\n[load]\nmode = \"open\"\nrate = 300\n\
         connections = 2\n",
        servers.concat()
    );
    let file = folder.join("unfair.toml");
    fs::write(&file, text).expect("an experiment");
    file.display().to_string()
}

/// What each rule says of a server, of all of its trials.
fn told(judged: &[(Trial, Verdict)], server: &str) -> BTreeMap<String, String> {
    let findings = of(judged, server).flat_map(|(_, verdict)| &verdict.findings);
    let words = findings.map(|found| (found.rule.clone(), found.say.clone()));
    words.collect()
}

/// Those of a server.
fn of<'a>(
    judged: &'a [(Trial, Verdict)],
    server: &'a str,
) -> impl Iterator<Item = &'a (Trial, Verdict)> {
    judged.iter().filter(move |(trial, _)| {
        let point = trial.point.as_ref().expect("a point");
        point.id.server == server && !point.ceiling
    })
}

/// The trials, with what they are worth.
fn verdicts(results: &Path) -> Vec<(Trial, Verdict)> {
    let mut judged = Vec::new();
    let arguments = ["judge", "--json", &results.display().to_string()];
    for line in triathlon(arguments).expect_measured().stdout.lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let file = value["file"].as_str().expect("a file");
        let text = fs::read_to_string(file).expect("a trial");
        let trial: Trial = serde_json::from_str(&text).expect("a trial");
        let verdict: Verdict = serde_json::from_value(value).expect("a verdict");
        judged.push((trial, verdict));
    }
    judged
}

#[test]
fn each_is_caught_and_named() {
    if need("unfair::each_is_caught_and_named", ["nginx"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("results");
    let place_text = place.display().to_string();
    let file = experiment(folder.path());
    let words = ["repeats=0", "calm=0s", "--no-lock", "--hiccups", "0s"];
    let words = words.into_iter().chain(["--results", &place_text]);
    // Two of them answer wrongly before anything is measured.
    let run = triathlon(["lab", &file].into_iter().chain(words)).expect_code(1);
    let gaps = files(&place, "gaps");
    let read = |path: &std::path::PathBuf| fs::read_to_string(path).expect("a gap");
    let gaps: Vec<String> = gaps.iter().map(read).collect();
    let gap = |server: &str| {
        let mut of_it = gaps
            .iter()
            .filter(|gap| gap.contains(&format!("\"{server}\"")));
        of_it
            .next()
            .unwrap_or_else(|| panic!("{server}: {gaps:?} {run:#?}"))
    };
    assert!(gap("errs").contains("content with SHA-256"), "{gaps:?}");
    assert!(gap("gzips").contains("content-encoding gzip"), "{gaps:?}");
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    let results = files(&place, "trials")[0]
        .ancestors()
        .nth(2)
        .expect("a folder")
        .to_owned();
    let judged = verdicts(&results);
    let check = |server: &str, rule: &str, words: &str| {
        let told = told(&judged, server);
        let said = told
            .get(rule)
            .unwrap_or_else(|| panic!("{server} {rule}: {told:#?} {run:#?}"));
        assert!(said.contains(words), "{server}: {said}");
    };
    check("logs", "SRV-06", "access log of origin is on");
    check("closes", "HTTP-09", "closed");
    check("is late", "HTTP-03", "another length or body");
    let fair = told(&judged, "fair");
    assert!(
        !fair.contains_key("HTTP-03") && !fair.contains_key("HTTP-01"),
        "{fair:#?}"
    );
}

/// nginx with room for fewer connections than come, which it tells; Apache that tells what it
/// thinks of each request; and nginx that has nothing to tell.
fn complaining(folder: &Path) -> String {
    let stock = include_str!("../../../../servers/nginx/stock.conf");
    let room = stock.replacen("worker_connections 768;", "worker_connections 10;", 1);
    let few = room.replacen("error.log\" error;", "error.log\" warn;", 1);
    assert!(few != room && room != stock, "{stock}");
    let path = folder.join("few.conf");
    fs::write(&path, few).expect("a template");
    let text = format!(
        "[experiment]\nname = \"first-heat\"\nquestion = \"?\"\nrounds = 1\nreference = \"fair\"\n\
         warmup = \"20ms\"\nduration = \"2s\"\n\
         [[server]]\nproduct = \"nginx\"\nlabel = \"fair\"\n\
         [[server]]\nproduct = \"nginx\"\nlabel = \"few\"\npreset = \"{}\"\n\
         [[server]]\nproduct = \"apache\"\nlabel = \"talks\"\n\
         settings = {{ LogLevel = \"debug\" }}\n\
         [[workload]]\nname = \"seven\"\nbody = {{ bytes = 7 }}\n[load]\nconnections = 16\n\
         think = \"20ms\"\n",
        path.display()
    );
    let file = folder.join("complaining.toml");
    fs::write(&file, text).expect("an experiment");
    file.display().to_string()
}

/// Each server with what it wrote, where it wrote something in a trial.
fn complaints(judged: &[(Trial, Verdict)]) -> BTreeMap<&'static str, String> {
    let servers = ["fair", "few", "talks"].into_iter();
    let of_each = servers.filter_map(|server| {
        let facts = of(judged, server).map(|(trial, _)| trial.context.server.as_ref());
        let lines = facts.flat_map(|facts| facts.expect("facts").error_log.clone());
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| (server, lines.join("\n")))
    });
    of_each.collect()
}

/// What a server writes into its error log while it is measured stands in the trial and in the
/// report, and makes what was measured suspect.
#[test]
fn what_servers_write_into_their_error_logs_is_told_and_judged() {
    let name = "unfair::what_servers_write_into_their_error_logs_is_told_and_judged";
    if need(name, ["nginx", "apache2"]).is_none() {
        return;
    }
    // A machine that is busy with something else may give one of them no time to find out.
    let mut tries = (0..5).map(|_| {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("results");
        let file = complaining(folder.path());
        let place_text = place.display().to_string();
        let words = ["repeats=0", "calm=0s", "--no-lock", "--hiccups", "0s"];
        let words = words.into_iter().chain(["--results", &place_text]);
        let run = triathlon(["lab", &file].into_iter().chain(words)).expect_measured();
        assert!(files(&place, "gaps").is_empty(), "{run:#?}");
        let results = files(&place, "trials")[0]
            .ancestors()
            .nth(2)
            .expect("it")
            .to_owned();
        let judged = verdicts(&results);
        (folder, results, judged)
    });
    let has_both = |(_, _, judged): &(_, std::path::PathBuf, Vec<_>)| complaints(judged).len() == 2;
    let (folder, results, judged) = tries
        .find(has_both)
        .expect("a machine with time for servers");
    let written = complaints(&judged);
    for (server, words) in [
        ("few", "worker_connections are not enough"),
        ("talks", "authorization result of Require all granted"),
    ] {
        assert!(written[server].contains(words), "{server}: {written:?}");
        let said = &told(&judged, server)["SRV-07"];
        assert!(said.contains("into its error log, the first: "), "{said}");
        for (trial, verdict) in of(&judged, server) {
            let facts = trial.context.server.as_ref().expect("facts");
            if facts.error_log_lines > 0 {
                let mut findings = verdict.findings.iter();
                let found = findings.find(|one| one.rule == "SRV-07").expect("it");
                assert_eq!(found.severity[&Claim::Resources], Severity::Suspect);
                let worth = verdict.claims[&Claim::Resources].status;
                assert_ne!(worth, Status::Valid, "{server}");
            }
        }
    }
    assert!(!told(&judged, "fair").contains_key("SRV-07"), "{written:?}");
    let page = folder.path().join("report.html");
    let (results, path) = (results.display().to_string(), page.display().to_string());
    triathlon(["report", &results, "--html", &path]).expect_measured();
    let page = fs::read_to_string(&page).expect("a page");
    for part in [
        "Error log of few: ",
        "worker_connections are not enough",
        "Error log of talks: ",
        "authorization result of Require all granted",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Error log of fair"));
}
