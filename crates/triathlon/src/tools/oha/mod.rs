//! oha: so many requests, or a time, over connections that share a rate.

mod flags;

use model::record::Record;
use model::{Distribution, Trial};

use super::figures::{self, Figures, connecting, number, quantile, whole};
use super::given::{Given, Grammar};
use super::hey::{errors, histogram};
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "oha",
    usage: "oha [OPTIONS] <URL>",
    help: "--help",
    grammar: Grammar::Getopt,
    flags: flags::FLAGS,
    examples: &[
        (
            "triathlon oha -n 10000 -c 64 --no-tui http://127.0.0.1:8080/",
            "what oha would print; the verdict is on standard error",
        ),
        (
            "ln -s triathlon oha; ./oha -z 30s -q 800 --latency-correction http://127.0.0.1:8080/",
            "the same through a link of that name: 800 requests per second for 30 seconds",
        ),
    ],
    differs: &[
        "Redirects to another server are not followed, and with several streams on a connection \
         none are: they count as answers with another status.",
        "There is no live view; text is never coloured.",
        "The histogram and the times cover right answers only.",
        "With -q, requests are due at even intervals; without --latency-correction times are \
         measured from sending.",
        "Without -t an answer may take 60 seconds; oha waits forever.",
        figures::CONNECTING,
        "What stands behind a semicolon of -F is type= or filename=, or it is refused; oha drops \
         it.",
        "The flags and the User-Agent are those of oha 1.15.0.",
        "Requests in flight at the end of -z are waited for and not counted; with -w, oha counts \
         them. What the verdict says of them stands on standard error.",
    ],
    work: Work::Load { asked, told },
};

/// The run.
fn asked(given: &Given, url: &str) -> Result<Asked, UsageError> {
    if given.is("-z") && given.is("-n") {
        let why = "oha: -n and -z exclude each other: give one of them";
        return Err(UsageError(why.to_owned()));
    }
    let mut words = vec!["--warmup=0s".to_owned(), "--expect=status".to_owned()];
    let usual = [
        ("-c", "--connections=50"),
        ("-t", "--timeout=60s"),
        ("--connect-timeout", "--connect-timeout=5s"),
    ];
    let left_out = usual.into_iter().filter(|(name, _)| !given.is(name));
    words.extend(left_out.map(|(_, word)| word.to_owned()));
    if !given.is("-z") {
        words.push(format!("--requests={}", given.number("-n", 200)));
    }
    let version = match given.is("--http2") {
        true => Some("2"),
        false => given.value("--http-version"),
    };
    let protocol = match version {
        Some("2") => Some(super::http2(url)),
        Some("3") => Some("--http3".to_owned()),
        _ => None,
    };
    let streams = given.number("-p", 1);
    if let Some(protocol) = &protocol {
        words.extend([protocol.clone(), format!("--streams={streams}")]);
    }
    let redirects = given.number("-r", 10);
    if redirects > 0 && (protocol.is_none() || streams == 1) {
        words.push(format!("--follow={redirects}"));
    }
    if given.is("--insecure") {
        // oha takes it with an http URL, too, where there is no certificate to look at.
        words.extend(super::unverified(url));
    }
    if !given.is("--disable-compression") && !given.has_field("Accept-Encoding") {
        words.push("--header=Accept-Encoding: gzip, compress, deflate, br".to_owned());
    }
    if !given.is("-A") {
        words.extend(super::usual(given, "Accept", "*/*"));
    }
    words.extend(super::usual(given, "User-Agent", "oha/1.15.0"));
    words.extend(content(given)?);
    Ok(Asked { words, most: None })
}

/// The method, and the form that is sent. oha sends content with any method, and GET is its usual
/// one; a form it sends with POST instead.
fn content(given: &Given) -> Result<Vec<String>, UsageError> {
    let parts = given
        .flags
        .iter()
        .filter(|(flag, _)| flag.names.contains(&"-F"));
    let mut words: Vec<_> = parts
        .map(|(_, part)| format!("--multipart={part}"))
        .collect();
    let has_form = !words.is_empty();
    let has_content = given.is("-d") || given.is("-D");
    if has_form && has_content {
        let why = "oha: -F excludes -d and -D: give one of them";
        return Err(UsageError(why.to_owned()));
    }
    let method = match given.value("-m") {
        None | Some("GET") if has_form => Some("POST"),
        None if has_content => Some("GET"),
        method => method,
    };
    words.extend(method.map(|method| format!("--request={method}")));
    Ok(words)
}

/// A unit of times, and how many of it are a second.
type Unit = (&'static str, f64);

const UNITS: [Unit; 4] = [("sec", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];

/// The unit that was asked for, or that the slowest answer has.
fn unit_of(given: &Given, times: &Distribution) -> Unit {
    let slowest = times.max().unwrap_or_default().as_s_f64();
    let asked = given.value("-u");
    let fits = |(name, per_second): &Unit| match asked {
        Some(asked) => asked == *name || (asked == "s" && *name == "sec"),
        None => slowest * per_second >= 1.0,
    };
    UNITS.into_iter().find(fits).unwrap_or(UNITS[0])
}

/// What oha prints.
fn told(given: &Given, _url: &str, trial: &Trial) -> anyhow::Result<String> {
    let record = &trial.record;
    let times = if given.is("--latency-correction") {
        &record.response_time
    } else {
        &record.service_time
    };
    let unit = unit_of(given, times);
    let mut out = summary(Figures::new(trial), times, unit);
    out.push_str("\nResponse time histogram:\n");
    out.push_str(&bars(times, unit));
    out.push_str("\nResponse time distribution:\n");
    for percent in [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99] {
        let value = quantile(times, percent / 100.0) / 1e6 * unit.1;
        out.push_str(&format!("  {percent:.2}% in {value:.4} {}\n", unit.0));
    }
    out.push_str(&details(record, unit));
    out.push_str("\nStatus code distribution:\n");
    for (status, count) in Figures::new(trial).statuses() {
        out.push_str(&format!("  [{status}] {count} responses\n"));
    }
    let errors = errors(trial);
    if !errors.is_empty() {
        out.push_str("\nError distribution:\n");
    }
    for (count, text) in errors {
        out.push_str(&format!("  [{count}] {text}\n"));
    }
    Ok(out)
}

fn summary(figures: Figures<'_>, times: &Distribution, (name, per_second): Unit) -> String {
    let complete = figures.complete();
    let seconds = figures.seconds();
    let all = complete
        + errors(figures.trial)
            .iter()
            .map(|(count, _)| count)
            .sum::<u64>();
    let shown = |seconds: f64| format!("{:.4} {name}", seconds * per_second);
    let span = |span: Option<model::Span>| shown(span.unwrap_or_default().as_s_f64());
    let content = figures.content();
    let each = if complete > 0 {
        size(number(content) / number(complete))
    } else {
        "NaN".to_owned()
    };
    format!(
        "Summary:\n  Success rate:\t{:.2}%\n  Total:\t{}\n  Slowest:\t{}\n  Fastest:\t{}\n  \
         Average:\t{}\n  Requests/sec:\t{:.4}\n\n  Total data:\t{}\n  Size/request:\t{each}\n  \
         Size/sec:\t{}\n",
        100.0 * number(complete) / number(all.max(1)),
        shown(seconds),
        span(times.max()),
        span(times.min()),
        span(times.mean()),
        number(complete) / seconds,
        size(number(content)),
        size(number(content) / seconds)
    )
}

fn bars(times: &Distribution, (name, per_second): Unit) -> String {
    let bins = histogram(times, 32);
    let counts = bins.iter().map(|(_, count, _)| count.to_string().len());
    let widest = counts.max().unwrap_or(0);
    let labels = bins
        .iter()
        .map(|(upper, _, _)| whole(upper * per_second).to_string().len());
    let width = labels.max().unwrap_or(0) + 4;
    let mut out = String::new();
    for (upper, count, bar) in bins {
        let (label, count) = (upper * per_second, format!("[{count}]"));
        let room = widest + 2;
        out.push_str(&format!(
            "  {label:>width$.3} {name} {count:<room$} |{bar}\n"
        ));
    }
    out
}

fn details(record: &Record, (name, per_second): Unit) -> String {
    let times = connecting(record);
    let shown = |span: Option<model::Span>| {
        let seconds = span.unwrap_or_default().as_s_f64();
        format!("{:.4} {name}", seconds * per_second)
    };
    let none = shown(None);
    format!(
        "\n\nDetails (average, fastest, slowest):\n  DNS+dialup:\t{}, {}, {}\n  \
         DNS-lookup:\t{none}, {none}, {none}\n",
        shown(times.mean()),
        shown(times.min()),
        shown(times.max()),
    )
}

fn size(bytes: f64) -> String {
    let kib = 1024.0;
    if bytes >= kib * kib * kib {
        format!("{:.2} GiB", bytes / kib / kib / kib)
    } else if bytes >= kib * kib {
        format!("{:.2} MiB", bytes / kib / kib)
    } else if bytes >= kib {
        format!("{:.2} KiB", bytes / kib)
    } else {
        format!("{bytes:.0} B")
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::super::tests::given;
    use super::*;

    #[test]
    fn the_unit_is_that_of_the_slowest_or_the_one_asked_for() {
        let mut times = Distribution::default();
        times.record(model::Span::from_ms(12));
        let check = |line: &str, name: &str| {
            assert_eq!(unit_of(&given(&TOOL, line), &times).0, name, "{line}");
        };
        check("u", "ms");
        check("-u us u", "us");
        check("--time-unit=s u", "sec");
    }

    #[test]
    fn a_number_and_a_time_exclude_each_other() {
        let both = given(&TOOL, "-n 5 -z 1s u");
        assert!(asked(&both, "u").is_err());
    }

    #[test]
    fn a_form_is_posted_in_parts() {
        let check = |line: &str, expected: &[&str]| {
            let given = given(&TOOL, line);
            let mut words = given.load();
            words.extend(asked(&given, "u").expect("it can run").words);
            let those = words.into_iter();
            let those = those.filter(|word| word.contains("=a") || word.contains("--request="));
            assert_eq!(those.collect::<Vec<_>>(), expected, "{line}");
        };
        check(
            "-F a=1 --form a=@b u",
            &["--multipart=a=1", "--multipart=a=@b", "--request=POST"],
        );
        check("-F a=1 -m GET u", &["--multipart=a=1", "--request=POST"]);
        check("-F a=1 -m PUT u", &["--multipart=a=1", "--request=PUT"]);
        check("-d a u", &["--data=a", "--request=GET"]);
        check("-m PUT u", &["--request=PUT"]);
        assert!(asked(&given(&TOOL, "-F a=1 -d a u"), "u").is_err());
    }

    #[test]
    fn the_text_has_the_lines_of_oha() {
        let given = given(&TOOL, "http://h/");
        let text = told(&given, "http://h/", &fixture::closed()).expect("it is told");
        let mut rest = text.as_str();
        for expected in [
            "Summary:\n  Success rate:\t",
            "%\n  Total:\t",
            "\n  Slowest:\t",
            "\n  Fastest:\t",
            "\n  Average:\t",
            "\n  Requests/sec:\t",
            "\n\n  Total data:\t",
            "\n  Size/request:\t",
            "\n  Size/sec:\t",
            "\n\nResponse time histogram:\n  ",
            "] |■",
            "\n\nResponse time distribution:\n  10.00% in ",
            "\n  99.99% in ",
            "\n\n\nDetails (average, fastest, slowest):\n  DNS+dialup:\t",
            "\n  DNS-lookup:\t",
            "\n\nStatus code distribution:\n  [200] ",
            " responses\n",
        ] {
            let found = rest.split_once(expected);
            rest = found
                .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
                .1;
        }
    }
}
