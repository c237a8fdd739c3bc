//! The tables of times that other tools print: the real ones and ours hold the same counts, and in
//! both each row agrees with itself.

use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::Run;
use crate::tools::{both, check_equal, field};

/// A number with the unit behind it, as wrk and h2load write them: times in microseconds, sizes in
/// bytes and rates as they are.
#[track_caller]
fn number(text: &str) -> f64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number
        .parse()
        .unwrap_or_else(|_| panic!("no number: {text:?}"));
    let unit = match unit.trim_end_matches("/s") {
        "" | "us" | "B" | "%" => 1.0,
        "ms" | "k" => 1e3,
        "s" | "M" => 1e6,
        "m" => 6e7,
        "KB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        _ => panic!("no unit: {text:?}"),
    };
    number * unit
}

/// The numbers of a line behind its name.
#[track_caller]
fn numbers(text: &str, name: &str) -> Vec<f64> {
    let line = field(text, name).trim_start_matches(':');
    line.split_whitespace().map(number).collect()
}

/// Whether two numbers are the same but for what was rounded off: a share of them, and `step`.
fn is_near(one: f64, other: f64, share: f64, step: f64) -> bool {
    (one - other).abs() <= share * one.abs().max(other.abs()) + step
}

/// The rows of h2load's table.
const ROWS: [&str; 4] = [
    "time for request:",
    "time for connect:",
    "time to 1st byte:",
    "req/s",
];

#[track_caller]
fn check_rows_of_h2load(text: &str, requests: f64) {
    for name in ROWS {
        let row = numbers(text, name);
        let [min, max, mean, deviation, within] = row.as_slice() else {
            panic!("{name} {row:?} {text}");
        };
        // Times are cut to whole units, of which the largest has two digits behind the point.
        let slack = 0.01 * max + 1.0;
        assert!(
            *min <= mean + slack && *mean <= max + slack,
            "{name} {text}"
        );
        assert!(*deviation <= max - min + slack, "{name} {text}");
        assert!((0.0..=100.0).contains(within), "{name} {text}");
    }
    // The share is of a whole number of requests.
    let within = numbers(text, ROWS[0])[4] / 100.0 * requests;
    assert!(
        is_near(within, within.round(), 0.0, 1e-4 * requests),
        "{text}"
    );
    let finished = field(text, "finished in").replace(',', "");
    let words: Vec<&str> = finished.split_whitespace().collect();
    let reckoned = number(words[0]) / 1e6 * number(words[1]);
    assert!(is_near(reckoned, requests, 0.02, 0.01), "{text}");
}

/// What each row of h2load's table says holds of ours: the least, mean and greatest are in order,
/// the deviation is that of a sample, and the share within it includes those at its edge.
#[test]
fn the_table_of_h2load_is_one_of_h2load() {
    let test = "tables::the_table_of_h2load_is_one_of_h2load";
    let Some([h2load, nginx]) = need(test, ["h2load", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let check = |line: &str, requests: f64| {
        let words: Vec<&str> = line.split(' ').chain([url.as_str()]).collect();
        let runs = both(&h2load, "h2load", &words);
        check_equal(&runs, &["requests:", "status codes:", "traffic:"]);
        for run in &runs {
            check_rows_of_h2load(&run.stdout, requests);
        }
        runs.map(|run| numbers(&run.stdout, "time for connect:"))
    };
    check("--h1 -n 500 -c 4 -t 2", 500.0);
    // Of one connection there is one time, whatever it is.
    for _ in 0..5 {
        for row in check("--h1 -n 20 -c 1", 20.0) {
            assert!(row[0] >= row[2] && row[1] <= row[2], "{row:?}");
            assert!(row[3] <= 0.0 && row[4] >= 100.0, "{row:?}");
        }
    }
    // Of two values both are as far from their mean as the deviation of a sample allows, or less:
    // half of what lies between them, and the deviation is that times the root of two.
    for row in check("--h1 -n 20 -c 2", 20.0) {
        let expected = (row[1] - row[0]) / 2.0_f64.sqrt();
        let step = 2.0 + 0.015 * row[1];
        assert!(is_near(row[3], expected, 0.0, step), "{row:?}");
        assert!(row[4] >= 100.0, "{row:?}");
    }
}

#[track_caller]
fn check_stats_of_wrk(text: &str, threads: f64) -> f64 {
    for name in ["Latency  ", "Req/Sec"] {
        let row = numbers(text, name);
        let [mean, deviation, max, within] = row.as_slice() else {
            panic!("{name} {row:?} {text}");
        };
        assert!(
            *mean <= max * 1.01 && *deviation <= max * 1.01,
            "{name} {text}"
        );
        assert!((0.0..=100.0).contains(within), "{name} {text}");
    }
    let percents = ["50%", "75%", "90%", "99%"].map(|name| numbers(text, name)[0]);
    assert!(percents.is_sorted(), "{text}");
    assert!(
        percents[3] <= numbers(text, "Latency  ")[2] * 1.01,
        "{text}"
    );
    let line = text.lines().find(|line| line.contains(" requests in "));
    let line = line.expect("a line of counts").replace(',', "");
    let words: Vec<&str> = line.split_whitespace().collect();
    let (requests, seconds) = (number(words[0]), number(words[3]) / 1e6);
    let bytes = number(words[4]);
    let rate = number(field(text, "Requests/sec:"));
    assert!(is_near(requests, rate * seconds, 0.02, 1.0), "{text}");
    let transfer = number(field(text, "Transfer/sec:"));
    assert!(is_near(bytes, transfer * seconds, 0.02, 1.0), "{text}");
    // wrk looks each tenth of a second, and forgets the last look.
    assert!(
        numbers(text, "Req/Sec")[0] * threads <= rate * 3.0,
        "{text}"
    );
    bytes / requests
}

/// The rates and times of wrk agree with each other in both, and an answer has as many bytes.
#[test]
fn the_stats_of_wrk_are_those_of_wrk() {
    let test = "tables::the_stats_of_wrk_are_those_of_wrk";
    let Some([wrk, nginx]) = need(test, ["wrk", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let line = "-t 2 -c 4 -d 2 --latency";
    let words: Vec<&str> = line.split(' ').chain([url.as_str()]).collect();
    let runs = both(&wrk, "wrk", &words);
    let [theirs, ours] = runs.map(|run| check_stats_of_wrk(&run.stdout, 2.0));
    assert!(is_near(theirs, ours, 0.02, 0.0), "{theirs} {ours}");
}

/// Connections that cannot be shared out evenly among threads: wrk leaves some out, as
/// docs/tools.md says, and we open them all.
#[test]
fn all_connections_are_opened_however_many_threads_there_are() {
    let test = "tables::all_connections_are_opened_however_many_threads_there_are";
    let Some([wrk, nginx]) = need(test, ["wrk", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let words: Vec<&str> = "-t 2 -c 3 -d 1".split(' ').chain([url.as_str()]).collect();
    let before = server.status().accepts;
    let runs = both(&wrk, "wrk", &words);
    // wrk makes one to try whether it can and two for its threads; we make three, and two for the
    // answers before the run. The last one asks nginx.
    assert_eq!(server.status().accepts - before, 3 + 5 + 1, "{runs:#?}");
}

/// A row of the histogram of hey: its bound in seconds, its count and the length of its bar.
fn bin(line: &str) -> Option<(f64, u64, usize)> {
    let (bound, rest) = line.trim().split_once(" [")?;
    let (count, bar) = rest.split_once(']')?;
    let bar = bar.trim().strip_prefix('|')?;
    Some((
        bound.parse().ok()?,
        count.parse().ok()?,
        bar.chars().count(),
    ))
}

/// Average, least and greatest of a row in the details of hey.
#[track_caller]
fn detail(text: &str, name: &str) -> [f64; 3] {
    let row = field(text, name)
        .trim_start_matches(':')
        .replace(" secs", "");
    let values: Vec<f64> = row
        .split(',')
        .map(|value| value.trim().parse().expect("seconds"))
        .collect();
    values.try_into().expect("three of them")
}

#[track_caller]
fn check_summary_of_hey(text: &str, requests: u64) {
    let seconds = |name: &str| number_before_secs(field(text, name));
    let (total, slowest) = (seconds("Total:"), seconds("Slowest:"));
    let (fastest, average) = (seconds("Fastest:"), seconds("Average:"));
    assert!(
        fastest <= average + 1e-4 && average <= slowest + 1e-4,
        "{text}"
    );
    let rate: f64 = field(text, "Requests/sec:").parse().expect("a rate");
    let reckoned = rate * (total + 1e-4);
    assert!(reckoned >= requests as f64 * 0.99, "{text}");
    let histogram = text.split("Response time histogram:").nth(1);
    let histogram = histogram.and_then(|rest| rest.split("Latency distribution:").next());
    let bins: Vec<_> = histogram.expect("both").lines().filter_map(bin).collect();
    assert_eq!(bins.len(), 11, "{text}");
    assert_eq!(
        bins.iter().map(|bin| bin.1).sum::<u64>(),
        requests,
        "{text}"
    );
    assert!(bins.is_sorted_by(|one, next| one.0 <= next.0), "{text}");
    assert!((bins[0].0 - fastest).abs() <= 1e-3, "{text}");
    assert!((bins[10].0 - slowest).abs() <= 1e-3, "{text}");
    let most = bins.iter().map(|bin| bin.1).max().expect("some");
    for (_, count, bar) in &bins {
        let expected = (*count * 40) as f64 / most as f64;
        assert!((*bar as f64 - expected).abs() <= 0.51, "{text}");
    }
    let percents = ["10%", "25%", "50%", "75%", "90%", "95%", "99%"];
    let percents = percents.map(|name| number_before_secs(&field(text, name).replace("in ", "")));
    assert!(percents.is_sorted(), "{text}");
    assert!(
        percents[0] >= fastest - 1e-4 && percents[6] <= slowest + 1e-4,
        "{text}"
    );
    for name in ["resp wait", "resp read"] {
        let [average, least, greatest] = detail(text, name);
        assert!(
            least <= average + 1e-4 && average <= greatest + 1e-4,
            "{name} {text}"
        );
        assert!(greatest <= slowest + 1e-4, "{name} {text}");
    }
}

#[track_caller]
fn number_before_secs(text: &str) -> f64 {
    let number = text.trim().trim_end_matches("secs").trim();
    number
        .parse()
        .unwrap_or_else(|_| panic!("no seconds: {text:?}"))
}

/// The histogram of hey holds each answer once, from the fastest to the slowest, in both.
#[test]
fn the_summary_of_hey_is_one_of_hey() {
    let test = "tables::the_summary_of_hey_is_one_of_hey";
    let Some([hey, nginx]) = need(test, ["hey", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    let runs = both(&hey, "hey", &["-n", "403", "-c", "4", &url]);
    let once = ["-n", "201", "-c", "2", "-disable-keepalive", &url];
    let closed = both(&hey, "hey", &once);
    for (runs, requests) in [(runs, 400), (closed, 200)] {
        check_equal(&runs, &["Total data:", "Size/request:", "[200]"]);
        for run in &runs {
            check_summary_of_hey(&run.stdout, requests);
        }
        let names = |run: &Run| {
            let details = run.stdout.split("Details").nth(1).expect("details");
            let rows = details
                .lines()
                .skip(1)
                .map_while(|line| line.split_once(':'));
            rows.map(|row| row.0.trim().to_owned()).collect::<Vec<_>>()
        };
        let [theirs, ours] = runs.each_ref().map(names);
        let known: Vec<String> = theirs
            .into_iter()
            .filter(|name| name != "req write")
            .collect();
        assert_eq!(ours, known);
    }
}

#[track_caller]
fn check_times_of_ab(text: &str, concurrency: f64) {
    for name in ["Connect:", "Processing:", "Waiting:", "Total:"] {
        let row = numbers(text, name);
        let [min, mean, deviation, median, max] = row.as_slice() else {
            panic!("{name} {row:?} {text}");
        };
        // Each is rounded to a millisecond.
        assert!(*min <= mean + 1.0 && *mean <= max + 1.0, "{name} {text}");
        assert!(min <= median && median <= max, "{name} {text}");
        assert!(*deviation <= max - min + 1.0, "{name} {text}");
    }
    let percents = [
        "50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "100%",
    ];
    let percents = percents.map(|name| {
        let word = field(text, name).split_whitespace().next();
        number(word.expect("a time"))
    });
    assert!(percents.is_sorted(), "{text}");
    assert!(
        is_near(percents[8], numbers(text, "Total:")[4], 0.0, 1.0),
        "{text}"
    );
    let first = |name: &str| {
        let word = field(text, name).split_whitespace().next();
        number(word.expect("a number"))
    };
    let rate = first("Requests per second:");
    let times: Vec<f64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("Time per request:"))
        .map(|line| number(line.split_whitespace().next().expect("a time")))
        .collect();
    assert!(
        is_near(times[0], concurrency * 1e3 / rate, 0.01, 0.001),
        "{text}"
    );
    assert!(is_near(times[1], 1e3 / rate, 0.01, 0.001), "{text}");
    let bytes = first("Total transferred:");
    let kbytes = bytes / first("Complete requests:") * rate / 1024.0;
    assert!(
        is_near(first("Transfer rate:"), kbytes, 0.01, 0.02),
        "{text}"
    );
}

/// The times of ab are in order, and its rates follow from each other, in both.
#[test]
fn the_times_of_ab_are_those_of_ab() {
    let test = "tables::the_times_of_ab_are_those_of_ab";
    let Some([ab, nginx]) = need(test, ["ab", "nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let url = server.url("a");
    for line in ["-q -k -n 500 -c 4", "-q -n 200 -c 4"] {
        let words: Vec<&str> = line.split(' ').chain([url.as_str()]).collect();
        for run in both(&ab, "ab", &words) {
            check_times_of_ab(&run.stdout, 4.0);
        }
    }
}
