//! wrk2: wrk at a rate, with latencies from the moment a request was due.

use model::{Distribution, Trial};

use super::figures::quantile;
use super::flag::{Flag, flag};
use super::given::{Given, Grammar};
use super::wrk::{self, padded, time_us};
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "wrk2",
    usage: "wrk2 <options> <url>",
    help: "--help",
    grammar: Grammar::Getopt,
    flags: FLAGS,
    examples: &[
        (
            "triathlon wrk2 -t 2 -c 64 -d 30s -R 2000 -L http://127.0.0.1:8080/",
            "what wrk2 would print for 2,000 requests per second; the verdict is on standard error",
        ),
        (
            "ln -s triathlon wrk2; ./wrk2 -c 64 -R 2k -U http://127.0.0.1:8080/",
            "the same through a link of that name, with the times from sending as well",
        ),
    ],
    differs: &[
        "Requests are due at even intervals over all connections, to the nanosecond; wrk2 paces \
         each connection by itself, in milliseconds.",
        "There are no 10 seconds of calibration: the run is measured from its beginning.",
        "The uncorrected latency is the time from sending; wrk2's is the same.",
        "The spectrum has no line of buckets, as the histogram is not wrk2's.",
        "A script is asked for a request when one is due; one with delay() is refused. The eight \
         scripts that come with wrk2 (its commit 44a94c1 of September 2019) run as they are. They \
         are not part of this repository, so no test repeats that.",
        "What is said about scripts and TLS under wrk applies here, too.",
    ],
    work: Work::Load { asked, told },
};

const FLAGS: &[Flag] = &[
    wrk::CONNECTIONS,
    wrk::DURATION,
    wrk::THREADS,
    wrk::SCRIPT,
    wrk::HEADER,
    flag(&["-L", "--latency"], "Print latency statistics").done("the spectrum is printed"),
    flag(
        &["-U", "--u_latency"],
        "Print uncorrected latency statistics",
    )
    .done("the spectrum of times from sending is printed too"),
    wrk::TIMEOUT,
    flag(
        &["-B", "--batch_latency"],
        "Measure latency of whole batches of pipelined ops",
    )
    .refused("each answer is timed by itself; triathlon load --pipeline sends batches"),
    wrk::VERSION,
    flag(
        &["-R", "--rate"],
        "Work rate (throughput) in requests/sec (total)",
    )
    .takes("T", wrk::metric)
    .load("--rate={}"),
    wrk::HELP,
];

/// The run.
fn asked(given: &Given, url: &str) -> Result<Asked, UsageError> {
    if !given.is("-R") {
        let why = "wrk2: Throughput MUST be specified with the --rate or -R option";
        return Err(UsageError(why.to_owned()));
    }
    wrk::common(given, url)
}

/// What wrk2 prints.
fn told(given: &Given, url: &str, trial: &Trial) -> anyhow::Result<String> {
    let record = &trial.record;
    let mut out = wrk::head(given, url, trial);
    if given.is("-L") || given.is("-U") {
        out.push_str(&spectrum("Recorded Latency", &record.response_time));
    }
    if given.is("-U") {
        let what = "Uncorrected Latency (measured without taking delayed starts into account)";
        out.push('\n');
        out.push_str(&spectrum(what, &record.service_time));
    }
    out.push_str(&wrk::foot(trial));
    Ok(out)
}

fn spectrum(what: &str, times: &Distribution) -> String {
    let mut out = format!("  Latency Distribution (HdrHistogram - {what})\n");
    for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let value = quantile(times, percent / 100.0);
        out.push_str(&format!("{percent:7.3}%{}\n", padded(&time_us(value), 10)));
    }
    out.push_str("\n  Detailed Percentile spectrum:\n");
    out.push_str(&format!(
        "{:>12} {:>12} {:>12} {:>12}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    ));
    for line in report::hdr::hgrm(times).lines().skip(2) {
        let words: Vec<f64> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        match words.as_slice() {
            [value, percentile, count, inverse] => out.push_str(&format!(
                "{value:12.3} {percentile:12.6} {count:12} {inverse:12.2}\n"
            )),
            [value, percentile, count] => out.push_str(&format!(
                "{value:12.3} {percentile:12.6} {count:12} {:>12}\n",
                "inf"
            )),
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    out.push_str(&format!("{}\n", "-".repeat(58)));
    out
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::super::tests::given;
    use super::*;

    #[test]
    fn a_rate_must_be_given() {
        let without = given(&TOOL, "-c 4 http://h/");
        let said = asked(&without, "http://h/").expect_err("no rate");
        assert!(said.to_string().contains("--rate"), "{said}");
        let with = given(&TOOL, "-R 2k http://h/");
        assert!(with.load().contains(&"--rate=2000".to_owned()));
    }

    #[test]
    fn the_text_has_the_lines_of_wrk2() {
        let given = given(&TOOL, "-c 64 -R 2000 -U http://h/");
        let text = told(&given, "http://h/", &fixture::open()).expect("it is told");
        let mut rest = text.as_str();
        for expected in [
            "Running 10s test @ http://h/\n  2 threads and 64 connections\n  Thread Stats",
            "\n    Latency   ",
            "\n    Req/Sec   ",
            "\n  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%  ",
            "\n 99.999%  ",
            "\n100.000%  ",
            "\n\n  Detailed Percentile spectrum:\n",
            "       Value   Percentile   TotalCount 1/(1-Percentile)\n\n",
            " 0.000000 ",
            " 1.000000 ",
            " inf\n#[Mean    = ",
            "\n----------------------------------------------------------\n",
            "\n  Latency Distribution (HdrHistogram - Uncorrected Latency",
            "\n  Detailed Percentile spectrum:\n",
            " requests in ",
            "B read\nRequests/sec: ",
            "\nTransfer/sec: ",
        ] {
            let found = rest.split_once(expected);
            rest = found
                .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
                .1;
        }
    }
}
