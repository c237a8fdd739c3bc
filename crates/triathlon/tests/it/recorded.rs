//! What Chromium recorded of pages that origin served (`recorded/*.har`, written by Playwright) is
//! asked again: all of each page, in the order of its visits.

use std::collections::BTreeMap;
use std::path::Path;

use model::Outcome;
use serde_json::Value;

use crate::serve::Served;
use crate::support::process::triathlon;

/// Method and target of each request that went over the network, in the order of their beginning.
fn asked(recording: &str) -> Vec<String> {
    let recording: Value = serde_json::from_str(recording).expect("a HAR file");
    let entries = recording["log"]["entries"].as_array().expect("entries");
    let travelled = |entry: &&Value| entry["response"]["_transferSize"] != 0;
    let request = |entry: &Value| {
        let text = |key: &str| entry["request"][key].as_str().expect("a text").to_owned();
        let url = text("url");
        let (_, rest) = url.split_once("://127.0.0.1:").expect("the server's URL");
        let target = rest.find('/').map(|at| &rest[at..]).expect("a target");
        format!("{} {target}", text("method"))
    };
    entries.iter().filter(travelled).map(request).collect()
}

/// A server of files at all those targets but the reserved ones.
fn serving(asked: &[String], flags: &str) -> Served {
    let names = asked.iter().filter_map(|request| {
        let name = request.split_once(" /")?.1.split('?').next()?;
        match name {
            reserved if reserved.starts_with(".triathlon/") => None,
            "" => Some("index.html".to_owned()),
            folder if folder.ends_with('/') => Some(format!("{folder}index.html")),
            file => Some(file.to_owned()),
        }
    });
    let names: Vec<String> = names.collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), &b"x"[..]))
        .collect();
    Served::start(&files, &format!("{flags} --access-log log"))
}

/// What one user asks who does once what was recorded, as the server's log has it, each line with
/// its protocol, and what the user has left out.
fn replay(name: &str, serves: &str, scheme: &str, asks: &str) -> (Vec<String>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/recorded");
    let path = folder.join(name);
    let recording = std::fs::read_to_string(&path).expect("a recording");
    let expected = asked(&recording);
    let served = serving(&expected, serves);
    let url = served.url("/").replace("http:", scheme);
    let (path, count) = (path.display().to_string(), expected.len().to_string());
    let words = [
        "load", &url, "--har", &path, "-c", "1", "-t", "1", "-n", &count, "--json", "-",
    ];
    let run = triathlon(words.into_iter().chain(asks.split_whitespace())).expect_measured();
    let record = run.trial().record;
    assert_eq!(
        record.total.outcomes[Outcome::Ok],
        expected.len() as u64,
        "{run:#?}"
    );
    assert_eq!(record.total.outcomes.failures(), 0, "{run:#?}");
    // What is asked in several ways has several names: `GET /a` and `GET /a #2`.
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for class in &record.classes {
        let name = class.name.split(" #").next().expect("a name");
        *counts.entry(name.to_owned()).or_default() += class.outcomes[Outcome::Ok];
    }
    for request in &expected {
        let count = counts.get_mut(request);
        let count = count.unwrap_or_else(|| panic!("{request}: {run:#?}"));
        *count = count.checked_sub(1).unwrap_or_else(|| panic!("{request}"));
    }
    assert!(counts.values().all(|left| *left == 0), "{counts:?}");
    let log = std::fs::read_to_string(served.path().join("log")).expect("a log");
    let lines = log.lines().map(|line| {
        let request = line.split('"').nth(1).expect("a request");
        request.to_owned()
    });
    (lines.collect(), run.stderr)
}

#[test]
fn a_page_with_its_pictures_is_asked_for_as_a_whole() {
    let (log, said) = replay("page.har", "", "http:", "");
    assert!(log.iter().all(|line| line.ends_with("HTTP/1.1")), "{log:?}");
    // The icon of the page is one of its pictures.
    let left_out = "1 answered from the browser's cache";
    assert!(said.contains(left_out), "{said}");
}

#[test]
fn pages_are_visited_in_their_order_over_http2() {
    let flags = "--http2 --insecure";
    let (log, said) = replay("visits.har", "--tls-self-signed", "https:", flags);
    assert!(log.iter().all(|line| line.ends_with("HTTP/2.0")), "{log:?}");
    assert!(
        said.contains("1 answered from the browser's cache"),
        "{said}"
    );
    // The last visit is the user's; before it the right answers were fetched.
    let shops = log.iter().filter(|line| line.contains("/shop/"));
    let shops: Vec<&String> = shops.collect();
    let visits: Vec<&str> = shops[shops.len() - 3..]
        .iter()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    let pages = [
        "/shop/",
        "/shop/second.html?from=index",
        "/shop/third.html?from=second",
    ];
    assert_eq!(visits, pages);
}

#[test]
fn what_a_script_of_a_page_asks_is_asked_again_with_its_query_and_its_content() {
    let (log, _) = replay("form.har", "--synthetic", "http:", "");
    let posts = log.iter().filter(|line| line.starts_with("POST ")).count();
    assert!(posts >= 2, "{log:?}");
    let search = "GET /search.json?q=caf%C3%A9+cr%C3%A8me&page=2 HTTP/1.1";
    assert!(log.iter().any(|line| line == search), "{log:?}");
}
