//! abc, the wrapper that asks weighttp over a range of connections: how many answers per second at
//! each, over some rounds.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use model::Trial;
use model::calendar::Calendar;

use super::figures::{Figures, number, whole};
use super::flag::{Flag, flag};
use super::given::{Given, Grammar};
use super::weighttp::USER_AGENT;
use super::{Asked, Tool, Work};
use crate::exit::{Exit, UsageError};
use crate::out;

pub(super) const TOOL: Tool = Tool {
    name: "abc",
    usage: "abc [FROM-TO:NBR[A]+STEPxROUNDS] <IP[:PORT]/URI>",
    help: "-h",
    grammar: Grammar::Getopt,
    flags: FLAGS,
    examples: &[
        (
            "triathlon abc 127.0.0.1:8080/",
            "0 to 1,000 connections, ten more each time, 3 rounds of 100,000 requests with \
             keep-alive at each",
        ),
        (
            "triathlon abc '[0-100:10kA+20x5]' 127.0.0.1:8080/",
            "0 to 100, twenty more each time, 5 rounds of 10,000 requests; A is keep-alive",
        ),
    ],
    differs: &[
        "Quote the range, or the shell takes it for a pattern.",
        "SERVER_NAME is refused: CPU time and memory of a server are what triathlon lab measures.",
        "No CSV file is written: the rows go to standard output.",
        "The machine and the answer of the server are not printed before the table.",
        "A line on standard error says what each round is worth.",
        "Times are UTC.",
    ],
    work: Work::Own(run),
};

const FLAGS: &[Flag] = &[flag(&["-h", "--help"], "Print the form of the command line").help()];

/// Dashes below the table.
const RULE: &str =
    "-------------------------------------------------------------------------------";

/// The head of the table.
const COLUMNS: &str = concat!(
    " Number        Requests per second\n",
    "   of     ----------------------------\n",
    "Clients      min       ave       max         Time\n",
    "--------  --------  --------  --------  --------------\n",
);

/// What to measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Range {
    from: u64,
    to: u64,
    requests: u64,
    keeps_alive: bool,
    step: u64,
    rounds: u64,
}

impl Range {
    const USUAL: Self = Self {
        from: 0,
        to: 1_000,
        requests: 100_000,
        keeps_alive: true,
        step: 10,
        rounds: 3,
    };

    /// Reads `[FROM-TO:NBR[A]+STEPxROUNDS]`.
    fn read(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let (from, rest) = inner.split_once('-')?;
        let (to, rest) = rest.split_once(':')?;
        let (requests, rest) = rest.split_once('+')?;
        let (step, rounds) = rest.split_once('x')?;
        let keeps_alive = requests.ends_with('A');
        let range = Self {
            from: size(from)?,
            to: size(to)?,
            requests: size(requests.trim_end_matches('A'))?,
            keeps_alive,
            step: size(step)?,
            rounds: size(rounds)?,
        };
        let runs = range.from <= range.to && range.step > 0 && range.rounds > 0;
        (runs && range.requests > 0).then_some(range)
    }

    /// The populations, of which 0 stands for 1.
    fn connections(self) -> impl Iterator<Item = u64> {
        let mut next = Some(self.from);
        std::iter::from_fn(move || {
            let now = next.filter(|now| *now <= self.to)?;
            next = now.checked_add(self.step);
            Some(now.max(1))
        })
    }
}

/// A number with a unit: k and m are thousands, K and M powers of 1,024.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['k', 'm', 'K', 'M']);
    let scale = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// The range and the URL.
fn asked(given: &Given) -> Result<(Range, &str), UsageError> {
    let wrong = |why: String| UsageError(format!("abc: {why}"));
    let range = |text: &str| {
        Range::read(text).ok_or_else(|| {
            wrong(format!(
                "'{text}' is not a range: write '[FROM-TO:NBR+STEPxROUNDS]', as in \
                 '[0-1k:100kA+10x3]'"
            ))
        })
    };
    match given.operands.as_slice() {
        [] => Err(wrong(format!("there is no URL: write '{}'", TOOL.usage))),
        [url] if !url.starts_with('[') => Ok((Range::USUAL, url)),
        [text] => Err(wrong(format!("'{text}': a URL must follow the range"))),
        [text, url] if text.starts_with('[') => Ok((range(text)?, url)),
        [text, _] if Range::read(&format!("[{text}]")).is_some() => {
            Err(wrong(format!("write the range in brackets: '[{text}]'")))
        }
        [server, ..] => Err(wrong(format!(
            "'{server}': the CPU time and memory of a server are not printed here; triathlon lab \
             measures them, or leave the name out"
        ))),
    }
}

/// Threads, as abc has one for each CPU; weighttp wants at least as many connections.
fn threads() -> u64 {
    let cpus = std::thread::available_parallelism();
    cpus.map_or(1, |cpus| cpus.get() as u64)
}

/// The flags of one round.
fn round_of(range: Range, connections: u64, url: &str) -> Asked {
    let threads = threads();
    let mut words = vec![
        format!("--requests={}", range.requests),
        format!("--connections={}", connections.max(threads)),
        format!("--threads={threads}"),
        "--header=Accept-Encoding: gzip".to_owned(),
        format!("--header=User-Agent: {USER_AGENT}"),
        "--warmup=0s".to_owned(),
        "--expect=status".to_owned(),
    ];
    if !range.keeps_alive {
        words.push("--requests-per-connection=1".to_owned());
    }
    words.extend(super::unverified(url));
    Asked { words, most: None }
}

/// Rates of the rounds at one population.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    min: u64,
    sum: u64,
    max: u64,
    rounds: u64,
}

impl Rates {
    fn add(&mut self, rate: u64) {
        self.min = if self.rounds == 0 {
            rate
        } else {
            self.min.min(rate)
        };
        self.max = self.max.max(rate);
        self.sum += rate;
        self.rounds += 1;
    }

    const fn mean(self) -> u64 {
        match self.sum.checked_div(self.rounds) {
            Some(mean) => mean,
            None => 0,
        }
    }
}

/// The sweep.
fn run(given: &Given) -> anyhow::Result<Exit> {
    let (range, url) = asked(given)?;
    out::write(&head(range, url))?;
    let began = Instant::now();
    let mut totals = [0; 3];
    let mut exit = Exit::Done;
    'sweep: for connections in range.connections() {
        let mut rates = Rates::default();
        for round in 1..=range.rounds {
            let (trial, _) = super::measured(&TOOL, given, url, round_of(range, connections, url))?;
            tell(connections, round, &trial);
            exit = worse(exit, crate::cmd::load::exit_of(&trial));
            let figures = Figures::new(&trial);
            let failed = range.requests.saturating_sub(figures.succeeded());
            if exit == Exit::Interrupted {
                break 'sweep;
            }
            if failed > 0 {
                out::line(format_args!("* failed responses:{failed}"))?;
                break 'sweep;
            }
            rates.add(whole(number(figures.complete()) / figures.seconds()));
        }
        out::write(&row(connections, rates, &clock()))?;
        for (total, rate) in totals.iter_mut().zip([rates.min, rates.mean(), rates.max]) {
            *total += rate;
        }
    }
    out::write(&foot(totals, began.elapsed().as_secs()))?;
    Ok(exit)
}

/// What stands before the rows.
fn head(range: Range, url: &str) -> String {
    let url = url.strip_prefix("http://").unwrap_or(url);
    let scheme = if url.contains("://") { "" } else { "http://" };
    format!(
        "weighttp -n {} -c [{}-{} step:{} rounds:{}] -t {} {} \"{scheme}{url}\"\n\n\n{COLUMNS}",
        range.requests,
        range.from,
        range.to,
        range.step,
        range.rounds,
        threads(),
        if range.keeps_alive { "-k" } else { "" }
    )
}

fn row(connections: u64, rates: Rates, clock: &str) -> String {
    let (min, mean, max) = (rates.min, rates.mean(), rates.max);
    format!("{connections:7}, {min:8}, {mean:8}, {max:8},   {clock}\n")
}

/// What stands behind them.
fn foot([min, mean, max]: [u64; 3], seconds: u64) -> String {
    let time = Calendar::of(seconds);
    format!(
        "{RULE}\nmin:{min}   avg:{mean}   max:{max} Time:{seconds} second(s) \
         [{:02}:{:02}:{:02}]\n{RULE}\n\n",
        time.hour, time.minute, time.second
    )
}

/// The time of the day, UTC.
fn clock() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = Calendar::of(since.map_or(0, |since| since.as_secs()));
    format!("{:02}:{:02}:{:02}", now.hour, now.minute, now.second)
}

/// Of a round, what it is worth.
fn tell(connections: u64, round: u64, trial: &Trial) {
    let verdict = report::text::verdict(&trial.verdict, report::text::Style::default());
    let worth = verdict.lines().find(|line| !line.trim().is_empty());
    out::note(format_args!(
        "{connections} connections, round {round}: {}",
        worth.unwrap_or_default().trim()
    ));
}

/// The exit code of a sweep is that of its worst round.
const fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Interrupted, _) | (_, Exit::Interrupted) => Exit::Interrupted,
        (Exit::Done, other) => other,
        (one, _) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use super::*;

    #[test]
    fn ranges_are_read_as_abc_reads_them() {
        let usual = Range::USUAL;
        let check = |text: &str, expected: Option<Range>| {
            assert_eq!(Range::read(text), expected, "{text}");
        };
        check("[0-1000:100000A+10x3]", Some(usual));
        check("[0-1k:100kA+10x3]", Some(usual));
        let closing = Range {
            keeps_alive: false,
            from: 5,
            to: 1_024,
            requests: 2 << 20,
            step: 100,
            rounds: 1,
        };
        check("[5-1K:2M+100x1]", Some(closing));
        for wrong in [
            "[0-10]",
            "0-1:1+1x1",
            "[9-1:1+1x1]",
            "[0-1:1+0x1]",
            "[0-1:+1x1]",
            "[]",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn no_connections_are_one() {
        let range = Range::read("[0-30:1+10x1]").expect("a range");
        let all: Vec<u64> = range.connections().collect();
        assert_eq!(all, [1, 10, 20, 30]);
        let all: Vec<u64> = Range::USUAL.connections().collect();
        assert_eq!((all.len(), all[0], all[1], all[100]), (101, 1, 10, 1_000));
    }

    #[test]
    fn a_range_may_stand_before_the_url_and_a_server_may_not() {
        let check = |line: &str, part: Option<&str>| {
            let given = given(&TOOL, line);
            let said = asked(&given).err().map(|error| error.to_string());
            let fits = match (part, &said) {
                (None, None) => true,
                (Some(part), Some(said)) => said.contains(part),
                _ => false,
            };
            assert!(fits, "{line}: {said:?}");
        };
        check("127.0.0.1/", None);
        check("[0-1:1+1x1] 127.0.0.1/", None);
        check("nginx 127.0.0.1/", Some("'nginx': the CPU time"));
        check("[0-1] 127.0.0.1/", Some("'[0-1]' is not a range"));
        check(
            "1-5:2+1x2 127.0.0.1/",
            Some("range in brackets: '[1-5:2+1x2]'"),
        );
        check("[0-1:1+1x1]", Some("a URL must follow"));
    }

    #[test]
    fn the_text_has_the_lines_of_abc() {
        let mut rates = Rates::default();
        for rate in [30, 10, 21] {
            rates.add(rate);
        }
        assert_eq!(
            row(10, rates, "12:00:01"),
            "     10,       10,       20,       30,   12:00:01\n"
        );
        let head = head(Range::USUAL, "127.0.0.1:80/index.html");
        assert!(
            head.starts_with("weighttp -n 100000 -c [0-1000 step:10 rounds:3] -t "),
            "{head}"
        );
        assert!(
            head.contains(" -k \"http://127.0.0.1:80/index.html\"\n"),
            "{head}"
        );
        let foot = foot([10, 20, 30], 61);
        assert!(
            foot.contains("\nmin:10   avg:20   max:30 Time:61 second(s) [00:01:01]\n"),
            "{foot}"
        );
    }
}
