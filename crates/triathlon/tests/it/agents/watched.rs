//! What agents tell while they work, where somebody watches: each interval that is over.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use fleet::Passed;
use model::Trial;
use model::record::Interval;

use super::cut::{Cut, Ear};
use super::labs::{Far, LAB_LIMIT, agent_of};
use super::nats::{Nats, agent, start_load};
use super::{right, shares_add_up};
use crate::support::process::{Running, command, program};
use crate::support::{LIMIT, need, wait_until};

/// A load of five seconds by two agents.
const LOAD: &str = "--agents a,b -t 2 -c 4 -R 300 -d 5s --warmup 0s --json -";
const METRICS: &str = "--metrics 127.0.0.1:0";

/// What an agent said of intervals, by their numbers.
fn told(ear: &Ear) -> BTreeMap<u64, Passed> {
    let heard = ear.heard();
    // The last one may be cut in two.
    let messages = heard.split("\r\n").filter(|line| line.starts_with('{'));
    let messages = messages.filter_map(|line| serde_json::from_str(line).ok());
    let passed = messages.filter_map(|message: serde_json::Value| {
        let passed = message["message"]["interval"].get("passed")?;
        serde_json::from_value::<Passed>(passed.clone()).ok()
    });
    let mut all = BTreeMap::new();
    for passed in passed {
        let before = all.insert(passed.number, passed);
        assert_eq!(before, None, "each is told once: {heard}");
    }
    all
}

/// Where a load says that its metrics are.
fn metrics_of(load: &mut Running) -> String {
    let of = |text: &str| {
        let (_, rest) = text.split_once("metrics at http://")?;
        let (address, _) = rest.split_once("/metrics")?;
        Some(address.to_owned())
    };
    wait_until("it says where its metrics are", || {
        assert!(!load.ended(), "it ended: {}", load.stderr());
        of(&load.stderr()).is_some()
    });
    of(&load.stderr()).expect("it said so")
}

/// The right answers so far, and how many agents told nothing of the last interval; none where
/// nothing was told, or nobody answers any more.
fn page(address: &str) -> Option<(u64, u64)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let value = |name: &str| {
        let lines = text.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix(name));
        values.next()?.trim().parse::<u64>().ok()
    };
    Some((
        value("triathlon_exchanges_total{outcome=\"right\"}")?,
        value("triathlon_missing_agents")?,
    ))
}

/// All but the last, which takes what ends after the window, too.
fn but_the_last(intervals: &[Interval]) -> &[Interval] {
    intervals.split_last().expect("there are some").1
}

#[test]
fn what_two_agents_tell_while_they_work_is_what_their_records_say() {
    let name = "what_two_agents_tell_while_they_work_is_what_their_records_say";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let ears = [Ear::start(nats.address()), Ear::start(nats.address())];
    let _agents = [("a", &ears[0]), ("b", &ears[1])]
        .map(|(name, ear)| agent(&ear.url(), name, "--targets 127.0.0.0/8"));
    let mut load = start_load(&server.url(), &nats.url(), &format!("{LOAD} {METRICS}"));
    let address = metrics_of(&mut load);
    let mut pages = Vec::new();
    wait_until(
        "both have told two intervals, and their sums are shown",
        || {
            assert!(!load.ended(), "it ended: {}", load.stderr());
            pages.extend(page(&address));
            let is_shown = pages.last().is_some_and(|(right, _)| *right > 0);
            is_shown && ears.iter().all(|ear| told(ear).len() >= 2)
        },
    );
    wait_until("it has ended", || {
        pages.extend(page(&address));
        load.ended()
    });
    let run = load.finish().expect_measured();
    let trial = run.trial();
    shares_add_up(&trial);
    for (ear, share) in ears.iter().zip(&trial.agents) {
        let told = told(ear);
        assert!((2..=5).contains(&told.len()), "{told:?}");
        let intervals = but_the_last(&share.record.intervals);
        for (interval, passed) in (0..).zip(intervals).filter_map(|(number, interval)| {
            let passed = told.get(&number)?;
            Some((interval, passed))
        }) {
            let tally = &interval.tally;
            assert_eq!(passed.length, interval.length);
            assert_eq!(passed.right, tally.right_in_it(), "{passed:?}");
            assert_eq!(passed.failed, tally.outcomes.failures());
            assert_eq!(passed.bytes_received, tally.bytes_received);
            assert_eq!(passed.connections, 2, "two of four each");
        }
    }
    let sums = sums(&trial);
    // A machine that was busy elsewhere may have kept an agent from telling its own in time.
    if pages.iter().all(|(_, missing)| *missing == 0) {
        for (right, _) in &pages {
            let is_sum = sums.contains(right) || *right > sums[sums.len() - 1];
            assert!(is_sum, "{right} of {sums:?}");
        }
    }
}

/// How many were right at the end of each interval but the last.
fn sums(trial: &Trial) -> Vec<u64> {
    let each = but_the_last(&trial.record.intervals).iter();
    each.scan(0, |sum, interval| {
        *sum += interval.tally.right_in_it();
        Some(*sum)
    })
    .collect()
}

#[test]
fn an_agent_that_is_cut_off_while_it_tells_loses_that_and_no_more() {
    let name = "an_agent_that_is_cut_off_while_it_tells_loses_that_and_no_more";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let cut = Cut::start(nats.address(), "\"interval\"", 2);
    let _agents = [("a", nats.url()), ("b", cut.url())]
        .map(|(name, url)| agent(&url, name, "--targets 127.0.0.0/8"));
    let load = start_load(&server.url(), &nats.url(), &format!("{LOAD} {METRICS}"));
    let run = load.finish().expect_measured();
    assert_eq!(cut.cuts(), 1, "{run:#?}");
    let trial = run.trial();
    shares_add_up(&trial);
    assert_eq!(trial.agents.len(), 2);
    assert_eq!(trial.record.intervals.len(), 5);
}

#[test]
fn a_terminal_shows_what_agents_tell() {
    let name = "a_terminal_shows_what_agents_tell";
    let Some([nats, script]) = need(name, ["nats-server", "script"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let _agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    let (own, url, broker) = (program(), server.url(), nats.url());
    let flags = "--agents a,b -t 2 -c 2 --think 5ms -d 2500ms --warmup 0s";
    let words = format!("{own} load {url} --nats {broker} {flags}");
    let mut terminal = Command::new(script);
    terminal.args(["-qec", &words, "/dev/null"]);
    terminal.env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
    let run = Running::start(&mut terminal).finish().expect_measured();
    for words in ["right per s", "p99 at most", "█", "over 2 connections"] {
        assert!(run.stdout.contains(words), "no '{words}' in {run:#?}");
    }
    let (_, rest) = run.stdout.rsplit_once("\x1b[J").expect("it is erased");
    assert!(!rest.contains("right per s"), "{rest}");
}

/// Its trials are to be undisturbed; and a load that nobody watches tells nothing either.
#[test]
fn a_lab_asks_for_no_intervals() {
    let name = "a_lab_asks_for_no_intervals";
    let Some([nats, _]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let ears = [Ear::start(nats.address()), Ear::start(nats.address())];
    let asks = Ear::start(nats.address());
    let _agents = [0, 1].map(|which| agent_of(&ears[which].url(), which));
    let far = Far::new(1);
    let words = far.words(&format!("{} --nats {}", far.file().display(), asks.url()));
    let lab = Running::start(&mut command(words)).finish_within(LAB_LIMIT);
    // Two of the server, and two of the ceiling.
    assert_eq!(far.sequences().len(), 4, "{lab:#?}");
    assert!(asks.heard().contains("\"is_watched\":false"));
    assert!(!asks.heard().contains("\"is_watched\":true"));
    let server = right();
    let flags = "--agents a -t 1 -c 1 -R 100 -d 1200ms --warmup 0s";
    start_load(&server.url(), &nats.url(), flags)
        .finish()
        .expect_measured();
    for ear in &ears {
        assert!(ear.heard().contains("\"accepted\""), "it was asked");
        assert_eq!(told(ear), BTreeMap::new());
    }
}
