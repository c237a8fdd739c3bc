//! `docs/tools.md`: what becomes of each flag of each tool, made from the tables.

use std::fs;
use std::path::Path;

use super::flag::Here;
use super::{ALL, Tool};

const INTRODUCTION: &str = "\
# For those who come from another tool

Triathlon takes the command lines of other tools and prints what they print, so that scripts that
read their output keep working: `triathlon wrk ...`, or a link of that name (`ln -s triathlon wrk`).
It measures as `triathlon load` does, with every answer checked, and says on standard error what the
run is worth. Exit codes are those of `triathlon load`: 3 where the numbers are worth nothing.

No flag is silently ignored. Each flag of a tool is listed below: it has an effect, through a flag
of `triathlon load` or as described; or there is nothing to do; or it is refused, with what to do
instead.
This page is generated from the tables with which the program reads command lines.
";

const NOT_TAKEN: &str = "
## Tools whose command lines are not taken

These have command lines or languages of their own. What they do is done by `triathlon load`; the
tables say how it is written there.
";

/// A tool whose command line is not taken: what to write instead, and what differs.
struct Written {
    name: &'static str,
    about: &'static str,
    /// A flag there, and what to write here.
    flags: &'static [(&'static str, &'static str)],
    differs: &'static [&'static str],
}

const WRITTEN: &[Written] = &[
    Written {
        name: "vegeta",
        about: "`vegeta attack` becomes `triathlon load`. Its targets are read as they are.",
        flags: &[
            (
                "-targets FILE, -format http or json",
                "--urls FILE; which format it is, is seen",
            ),
            ("-rate N/1s", "--rate N, always per second: 0.5 for 30/1m"),
            (
                "-rate 0 -max-workers N",
                "-c N without --rate: a closed loop",
            ),
            ("-duration T", "--duration T"),
            ("-body FILE", "--data @FILE"),
            ("-header FIELD", "--header FIELD"),
            (
                "-connections N, -workers N, -max-workers N, -max-connections N",
                "-c N",
            ),
            ("-timeout T", "--timeout T"),
            (
                "-redirects N",
                "--follow=N; without it they are not followed, and counted",
            ),
            ("-keepalive=false", "--requests-per-connection 1"),
            ("-http2, -h2c", "--http2, --http2-prior-knowledge"),
            ("-insecure, -root-certs FILE", "--insecure, --cacert FILE"),
            ("-cert FILE, -key FILE", "--cert FILE, --key FILE"),
            (
                "-session-tickets",
                "sessions are resumed unless --no-resumption is given",
            ),
            ("-connect-to A:B, -resolvers", "--connect-to, --resolve"),
            ("-unix-socket PATH", "--unix-socket PATH"),
            ("-laddr ADDRESS", "--interface ADDRESS"),
            ("-prometheus-addr ADDRESS", "--metrics ADDRESS"),
            (
                "-output FILE",
                "--json FILE for the trial, --samples FILE for each exchange",
            ),
            (
                "-lazy, -max-body, -dns-ttl, -chunked",
                "none: targets are read before the run, \
             contents are checked and not kept, names are looked up once, lengths are sent",
            ),
            (
                "vegeta report, plot",
                "triathlon report FILE, and --html PAGE",
            ),
            (
                "vegeta report -type='hist[...]' or hdrplot",
                "--latency, --hgrm FILE",
            ),
        ],
        differs: &[
            "A response time begins when the request was due; vegeta's when a worker took it up.",
            "The number of connections is fixed; vegeta's grows while answers are late.",
            "Targets are drawn by their weights from the seed; vegeta takes them in turn.",
        ],
    },
    Written {
        name: "zrk",
        about: "`zrk` becomes `triathlon load`. Where a letter means something else, the long \
                name is below.",
        flags: &[
            (
                "-t, -c, -d, -R N, -H, -k, --http2, --http3, --latency, --timeout",
                "the same",
            ),
            ("-R A:B", "--stages 1ms:=A,T:B, with T the duration"),
            ("--closed", "no --rate"),
            ("-s, --streams N", "--streams N (-m N)"),
            ("-m, --method NAME", "--request NAME"),
            ("-b, --body TEXT or @FILE", "--data TEXT or @FILE"),
            (
                "--script FILE",
                "--lua FILE, and words for init behind --, or each with --lua-arg",
            ),
            ("--disable-keepalive", "--requests-per-connection 1"),
            ("--deadline T", "--deadline T"),
            (
                "--deadline-abort",
                "none: a request that was sent ends by --timeout",
            ),
            (
                "--interval, --timeseries FILE",
                "--series FILE: each second",
            ),
            (
                "--timeseries-histogram",
                "--hlog FILE: response times of each interval",
            ),
            ("--hdr FILE", "--hgrm FILE"),
            ("--format json -o FILE", "--json FILE"),
            (
                "--plain",
                "nothing to do: without a terminal lines are written",
            ),
            (
                "--slo-p99 T, --max-error-rate SHARE",
                "--threshold 'p(99)<T', --threshold \
             'errors<SHARE'; the exit code is 4",
            ),
            (
                "--no-record-timeouts",
                "none: who waited in vain counts, in quantiles too",
            ),
        ],
        differs: &[
            "Without --rate the loop is closed; zrk asks 1,000 per second then.",
            "A connection carries one request at a time, as there; those that are due meanwhile \
             go to any other that is free.",
        ],
    },
    Written {
        name: "k6",
        about: "`k6 run` takes a program; [script.md](script.md) shows how to write it down as \
                steps. Its flags and options:",
        flags: &[
            ("-u, --vus N", "-c N"),
            ("-d, --duration T", "--duration T"),
            (
                "-i, --iterations N",
                "--requests N counts requests, not rounds of a user",
            ),
            (
                "-s, --stage T:N (users)",
                "user_stages of a script, which are users per second",
            ),
            (
                "constant-arrival-rate, ramping-arrival-rate",
                "user_rate and user_stages of a \
             script; --rate and --stages for single requests",
            ),
            (
                "preAllocatedVUs, maxVUs",
                "-c N; who finds no place waits, and the wait counts",
            ),
            (
                "thresholds",
                "--threshold, with k6's conditions; the exit code is 4, not 99",
            ),
            ("--rps N", "--rate N: an open loop"),
            ("--local-ips ADDRESSES", "--interface ADDRESSES"),
            ("--no-connection-reuse", "--requests-per-connection 1"),
            ("--insecure-skip-tls-verify", "--insecure"),
            ("hosts", "--resolve, --connect-to"),
            (
                "-e NAME=VALUE",
                "a variable of a script with environment = \"NAME\"",
            ),
            ("-o json=FILE", "--samples FILE"),
            ("--summary-export FILE", "--json FILE"),
            ("-o experimental-prometheus-rw", "--metrics ADDRESS"),
            (
                "-q, --quiet",
                "nothing to do: progress goes to standard error",
            ),
        ],
        differs: &[
            "A response time begins when the step was due; k6's http_req_duration when the \
             request was sent, without connecting and TLS. --threshold 'service_time: ...' is \
             nearest to it.",
            "An iteration that k6 drops is a user who waits here, and is told.",
        ],
    },
];

/// The part of the page for tools whose command lines are not taken.
fn written(tool: &Written) -> String {
    let mut text = format!(
        "\n### {}\n\n{}\n\n| there | here |\n|---|---|\n",
        tool.name,
        lines(tool.about)
    );
    for (there, here) in tool.flags {
        text += &format!("| `{}` | {} |\n", there.replace('|', "\\|"), cell(here));
    }
    text += "\nDifferent from the tool:\n\n";
    for sentence in tool.differs {
        text += &item(sentence);
    }
    text
}

/// A cell of a table, in which a bar would end it and a star would be emphasis.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('*', "\\*")
}

/// A point of a list, in lines of at most 100 columns.
fn item(sentence: &str) -> String {
    folded("-", sentence, " ") + "\n"
}

/// A paragraph, in lines of at most 100 columns.
fn lines(sentence: &str) -> String {
    folded("", sentence, "").trim_start().to_owned()
}

/// Words after `start`, in lines of at most 100 columns, each line after the first with `indent`.
fn folded(start: &str, sentence: &str, indent: &str) -> String {
    let mut text = String::from(start);
    let mut column = start.len();
    for word in sentence.split(' ') {
        if column + 1 + word.len() > 100 {
            text.push('\n');
            text.push_str(indent);
            column = indent.len();
        }
        if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text
}

fn section(tool: &Tool) -> String {
    let mut text = format!(
        "\n## {}\n\n`{}`\n\n| flag | in the tool | here |\n|---|---|---|\n",
        tool.name, tool.usage
    );
    for flag in tool.flags {
        let value = flag.value.map_or("", |(name, _)| name);
        let names = format!("{} {value}", flag.names.join(", "));
        let here = match flag.here {
            Here::Load(template) => {
                let shown = template.replace("{}", value).replace(' ', "` and `");
                format!("`{shown}`")
            }
            Here::Done(how) => cell(how),
            Here::Needless(why) => format!("nothing to do: {}", cell(why)),
            Here::Refused(why) => format!("**refused**: {}", cell(why)),
            Here::Help => "prints the flags".to_owned(),
            Here::Version => "prints the version".to_owned(),
        };
        text += &format!(
            "| `{}` | {} | {here} |\n",
            names.trim_end(),
            cell(flag.about)
        );
    }
    text += "\nDifferent from the tool:\n\n";
    for sentence in tool.differs {
        text += &item(sentence);
    }
    text
}

fn page() -> String {
    let sections = ALL.iter().map(|tool| section(tool));
    let others = WRITTEN.iter().map(written);
    INTRODUCTION.to_owned()
        + &sections.collect::<String>()
        + NOT_TAKEN
        + &others.collect::<String>()
}

#[test]
fn the_page_of_tools_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let text = page();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(&path, &text).expect("the page can be written");
    }
    let there = fs::read_to_string(&path).expect("the page is there");
    assert!(
        there == text,
        "docs/tools.md is not what the tables say: cargo xtask bless --accept"
    );
}
