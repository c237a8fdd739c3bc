//! weighttp: so many requests over so many clients and threads.

use model::Trial;

use super::figures::{Figures, number, whole};
use super::flag::{Flag, content, flag};
use super::given::{Given, Grammar};
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "weighttp",
    usage: "weighttp <options> <URI>",
    help: "-h",
    grammar: Grammar::Getopt,
    flags: FLAGS,
    examples: &[
        (
            "triathlon weighttp -n 100000 -c 1000 -t 8 -k http://127.0.0.1:8080/",
            "what weighttp would print; the verdict is on standard error",
        ),
        (
            "ln -s triathlon weighttp; ./weighttp -n 1000 -c 10 -k 127.0.0.1:8080/",
            "the same through a link of that name",
        ),
    ],
    differs: &[
        "What is printed is the text of weighttp 0.4, which scripts read; 0.5 prints JSON.",
        "An answer is right if it has the status of the answer before the run; for weighttp, any \
         status from 200 to 299 is right.",
        "-v prints the version, as in 0.4, whose User-Agent is sent.",
    ],
    work: Work::Load { asked, told },
};

/// As who it asks.
pub(super) const USER_AGENT: &str = "weighttp/0.4";

/// A proxy that is no Unix socket.
fn proxy(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        let why =
            "a proxy's Unix socket is not supported; triathlon load --unix-socket asks a server's";
        return Err(why.to_owned());
    }
    Ok(text.to_owned())
}

const FLAGS: &[Flag] = &[
    flag(&["-n"], "number of requests (mandatory)")
        .takes("num", count)
        .load("--requests={}"),
    flag(&["-t"], "thread count (default: 1)")
        .takes("num", count)
        .load("--threads={}"),
    flag(&["-c"], "concurrent clients (default: 1)")
        .takes("num", count)
        .load("--connections={}"),
    flag(&["-k"], "keep alive (default: no)").done("without it, --requests-per-connection=1"),
    flag(&["-K"], "num pipelined requests (default: 1)")
        .takes("num", count)
        .load("--pipeline={}"),
    flag(&["-6"], "use ipv6 (default: no)").refused(
        "addresses are not chosen by their family; write the address in the URL, http://[::1]/, or \
         use triathlon load --resolve",
    ),
    flag(&["-i"], "use HTTP HEAD method (default: GET)").done("--request=HEAD"),
    flag(&["-m"], "use custom HTTP method (default: GET)")
        .text("method")
        .done("--request"),
    flag(
        &["-H"],
        "add header to request (\"label: value\"); repeatable",
    )
    .text("str")
    .many()
    .load("--header={}"),
    flag(&["-b"], "socket buffer sizes (SO_SNDBUF, SO_RCVBUF)")
        .text("size")
        .refused(
            "the kernel sizes the buffers of sockets; set net.ipv4.tcp_rmem and net.ipv4.tcp_wmem",
        ),
    flag(
        &["-B"],
        "local address to bind to when making outgoing connections",
    )
    .text("addr")
    .done("--interface, once for each of the addresses between commas"),
    flag(
        &["-C"],
        "add cookie to request (\"cookie-name=value\"); repeatable",
    )
    .text("cookie")
    .many()
    .secret()
    .load("--header=Cookie:{}"),
    flag(&["-F"], "use TCP Fast Open (RFC 7413)").refused(
        "TCP Fast Open is not used; triathlon load --requests-per-connection 1 measures \
         connecting without it",
    ),
    flag(&["-T"], "Content-Type header to use for POST/PUT data")
        .text("type")
        .done("a Content-Type field where there is content; text/plain unless given"),
    flag(
        &["-A"],
        "add Basic WWW Authorization (str is username:password)",
    )
    .text("string")
    .secret()
    .load("--user={}"),
    flag(
        &["-P"],
        "add Basic Proxy-Authorization (str is username:password)",
    )
    .text("string")
    .secret()
    .load("--proxy-user={}"),
    flag(
        &["-X"],
        "proxy:port or unix domain socket path beginning w/ '/'",
    )
    .takes("proxy", proxy)
    .load("--proxy={}"),
    flag(
        &["-p"],
        "make HTTP POST request using file contents for body",
    )
    .takes("file", content)
    .load("--data={}"),
    flag(
        &["-u"],
        "make HTTP PUT request using file contents for body",
    )
    .takes("file", content)
    .load("--data={}"),
    flag(&["-d"], "(ignored; compatibility with Apache Bench (ab))")
        .needless("weighttp ignores it too"),
    flag(&["-l"], "(ignored; compatibility with Apache Bench (ab))")
        .needless("weighttp ignores it too"),
    flag(&["-r"], "(ignored; compatibility with Apache Bench (ab))")
        .needless("weighttp ignores it too"),
    flag(&["-q"], "quiet: do not show version header or progress").done("they are left out"),
    flag(&["-h"], "show help and exit").help(),
    flag(&["-V", "-v"], "show version and exit").version(),
];

/// A number from 1; what the sweep of abc writes in place of one is understood.
fn count(text: &str) -> Result<String, String> {
    if text.starts_with('[') {
        return Err("this is a sweep as abc writes it: run triathlon abc \
                    '[FROM-TO:NBR+STEPxROUNDS]' URL"
            .to_owned());
    }
    super::flag::count(text)
}

/// The run.
fn asked(given: &Given, _url: &str) -> Result<Asked, UsageError> {
    let wrong = |why: &str| Err(UsageError(format!("weighttp: {why}")));
    let requests = given.number("-n", 0);
    let (threads, clients) = (given.number("-t", 1), given.number("-c", 1));
    if requests == 0 {
        return wrong("num of requests has to be > 0: give -n");
    }
    if clients > requests {
        return wrong("concur_count > req_count: give -n at least as high as -c");
    }
    if threads > clients {
        return wrong("thread_count > concur_count: give -c at least as high as -t");
    }
    let mut words = vec!["--warmup=0s".to_owned(), "--expect=status".to_owned()];
    if !given.is("-t") {
        words.push("--threads=1".to_owned());
    }
    if !given.is("-c") {
        words.push("--connections=1".to_owned());
    }
    if !given.is("-k") && given.number("-K", 1) < 2 {
        words.push("--requests-per-connection=1".to_owned());
    }
    let sources = given.value("-B").unwrap_or_default().split(',');
    let sources = sources.filter(|source| !source.is_empty());
    words.extend(sources.map(|source| format!("--interface={source}")));
    words.extend(super::method_and_kind(given));
    words.extend(super::usual(given, "User-Agent", USER_AGENT));
    Ok(Asked { words, most: None })
}

/// What weighttp prints.
fn told(given: &Given, _url: &str, trial: &Trial) -> anyhow::Result<String> {
    let figures = Figures::new(trial);
    let mut out = String::new();
    if !given.is("-q") {
        out.push_str("weighttp - a lightweight and simple webserver benchmarking tool\n\n");
    }
    out.push_str("starting benchmark...\n");
    let requests = given.number("-n", 0);
    let threads = given.number("-t", 1);
    for thread in 0..threads {
        let share = |all: u64| all / threads + u64::from(thread < all % threads);
        out.push_str(&format!(
            "spawning thread #{}: {} concurrent requests, {} total requests\n",
            thread + 1,
            share(given.number("-c", 1)),
            share(requests)
        ));
    }
    if !given.is("-q") {
        for tenth in 1..=10 {
            out.push_str(&format!("progress: {:3}% done\n", tenth * 10));
        }
    }
    let seconds = figures.seconds();
    let us = whole(seconds * 1e6);
    let complete = figures.complete();
    out.push_str(&format!(
        "\nfinished in {} sec, {} millisec and {} microsec, {:.0} req/s, {:.0} kbyte/s\n",
        us / 1_000_000,
        us / 1_000 % 1_000,
        us % 1_000,
        (number(complete) / seconds).floor(),
        (number(figures.received()) / 1024.0 / seconds).floor()
    ));
    let succeeded = figures.succeeded();
    // Interrupted, it has not begun all of them.
    let done = match trial.record.interrupted {
        true => trial.record.total.outcomes.total().min(requests),
        false => requests,
    };
    let started = match trial.record.interrupted {
        true => trial.record.total.sent_in_it().clamp(done, requests),
        false => requests,
    };
    let broken = done.saturating_sub(complete);
    out.push_str(&format!(
        "requests: {requests} total, {started} started, {done} done, {succeeded} succeeded, {} \
         failed, {broken} errored\n",
        done.saturating_sub(succeeded)
    ));
    let [two, three, four, five] = [2, 3, 4, 5].map(|hundred| figures.hundred(hundred));
    out.push_str(&format!(
        "status codes: {two} 2xx, {three} 3xx, {four} 4xx, {five} 5xx\n"
    ));
    let (all, content) = (figures.received(), figures.content());
    out.push_str(&format!(
        "traffic: {all} bytes total, {} bytes http, {content} bytes data\n",
        all.saturating_sub(content)
    ));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::super::tests::given;
    use super::*;

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let check = |line: &str, why: &str| {
            let given = given(&TOOL, line);
            let said = asked(&given, "h").expect_err("it does not fit").to_string();
            assert!(said.contains(why), "{said}");
        };
        check("-c 1 h", "num of requests has to be > 0");
        check("-n 1 -c 2 h", "concur_count > req_count");
        check("-n 9 -c 2 -t 3 h", "thread_count > concur_count");
    }

    /// As a well-known page quotes it.
    #[test]
    fn a_sweep_of_abc_is_known() {
        let said = count("[0-1000").expect_err("it is no number");
        assert!(said.contains("triathlon abc"), "{said}");
    }

    #[test]
    fn the_text_has_the_lines_of_weighttp() {
        let given = given(&TOOL, "-n 100000 -c 64 -t 2 -k h");
        let text = told(&given, "h", &fixture::closed()).expect("it is told");
        let mut rest = text.as_str();
        for expected in [
            "starting benchmark...\nspawning thread #1: 32 concurrent requests, 50000 total \
             requests\nspawning thread #2: 32 concurrent requests, 50000 total requests\n\
             progress:  10% done\n",
            "progress: 100% done\n\nfinished in ",
            " sec, ",
            " millisec and ",
            " microsec, ",
            " req/s, ",
            " kbyte/s\nrequests: 100000 total, 100000 started, 100000 done, ",
            " succeeded, ",
            " failed, ",
            " errored\nstatus codes: ",
            " 2xx, ",
            " 5xx\ntraffic: ",
            " bytes total, ",
            " bytes http, ",
            " bytes data\n",
        ] {
            let found = rest.split_once(expected);
            rest = found
                .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
                .1;
        }
        assert_eq!(rest, "");
    }
}
