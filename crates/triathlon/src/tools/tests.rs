use std::ffi::OsString;

use model::fixture;

use super::*;

/// A command line of `tool` that is understood.
pub(super) fn given(tool: &Tool, line: &str) -> Given {
    read(tool, &line.split(' ').collect::<Vec<_>>()).expect("it is understood")
}

fn read(tool: &Tool, words: &[&str]) -> Result<Given, UsageError> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    Given::read(tool, &words)
}

/// A value that a flag takes.
fn sample(flag: &Flag) -> &'static str {
    let (name, read) = flag.value.expect("it has a value");
    let samples = [
        "2",
        "1",
        "2s",
        "TLS1.3",
        "text: x",
        "127.0.0.1",
        "me:secret",
        "http/1.1",
        "1.1",
        "0",
        "ms",
        "16k",
        "4k",
        "30",
        "text",
        "csv",
        "/dev/null",
    ];
    match name {
        "addr" | "address" => "127.0.0.1",
        "GROUPS" => "X25519:P-256",
        "SUITE" => "TLS_AES_128_GCM_SHA256",
        "H" | "HEADER" | "HEADERS" | "attribute" | "str" => "X-A:1",
        _ => samples
            .into_iter()
            .find(|text| read(text).is_ok())
            .unwrap_or_else(|| panic!("no sample is a {name} of {}", flag.shown())),
    }
}

/// What must stand beside any flag of a tool.
fn around(tool: &str) -> &'static str {
    match tool {
        "wrk2" => "-R 100",
        "ab" => "-n 10",
        "hey" | "weighttp" => "-n 10 -c 2",
        "h2load" => "--h1 -n 10 -c 2",
        _ => "",
    }
}

/// Each flag of each tool is done or refused. What is done comes to flags that `triathlon load`
/// takes, what is refused says what to do instead.
#[test]
fn each_flag_is_done_or_refused() {
    for tool in ALL {
        for flag in tool.flags {
            let name = flag.names[0];
            let mut words: Vec<&str> = around(tool.name).split_whitespace().collect();
            words.push(name);
            words.extend(flag.value.map(|_| sample(flag)));
            match name {
                "--cert" => words.extend(["--key", "x"]),
                "--key" => words.extend(["--cert", "x"]),
                "--warm-up-time" => words.extend(["-D", "1"]),
                _ => {}
            }
            words.push("http://127.0.0.1/");
            let given = read(tool, &words);
            if let Here::Refused(why) = flag.here {
                let said = given.expect_err("it is refused").to_string();
                assert!(
                    said.contains(&flag.shown()) && said.ends_with(why),
                    "{said}"
                );
                assert!(
                    why.len() > 20 && !why.ends_with('.'),
                    "{}: {why}",
                    tool.name
                );
                continue;
            }
            let given = given.unwrap_or_else(|error| panic!("{} {name}: {error}", tool.name));
            if let Here::Help | Here::Version = flag.here {
                assert!(given.asks(flag.here));
                continue;
            }
            let Work::Load { asked, .. } = tool.work else {
                continue;
            };
            let asked = asked(&given, "http://127.0.0.1/")
                .unwrap_or_else(|error| panic!("{} {name}: {error}", tool.name));
            let mut native = vec!["load".to_owned(), "http://127.0.0.1/".to_owned()];
            native.extend(given.load());
            native.extend(asked.words);
            Native::try_parse_from(&native).unwrap_or_else(|error| panic!("{native:?}: {error}"));
        }
    }
}

/// Flags that change neither the run nor what is printed of it, each with why that is right, or
/// with what shows its effect.
const UNCHANGED: &[(&str, &str, &str)] = &[
    (
        "ab",
        "-e",
        "it writes a file, which ab_counts_what_ab_counts reads",
    ),
    (
        "h2load",
        "-f",
        "the one value that is taken is the usual one",
    ),
    (
        "h2load",
        "-w",
        "the one value that is taken is the usual one",
    ),
    (
        "h2load",
        "-W",
        "the one value that is taken is the usual one",
    ),
    (
        "h2load",
        "--header-table-size",
        "the one value that is taken is the usual one",
    ),
    (
        "h2load",
        "--encoder-header-table-size",
        "the one value that is taken is the usual one",
    ),
    (
        "oha",
        "--output-format",
        "the one value that is taken is the usual one",
    ),
];

/// A value that differs from the usual one, and from the one that stands beside the flag.
fn unusual(tool: &str, flag: &Flag) -> &'static str {
    match (tool, flag.names[0]) {
        (_, "-n") => "20",
        ("ab", "-e") => "/dev/null",
        ("oha", "-u") => "ns",
        ("wrk" | "wrk2", "-T") => "3",
        _ => sample(flag),
    }
}

/// What stands beside a flag, so that it has something to act on, and the URL.
fn company(tool: &str, flag: &str) -> (&'static str, &'static str) {
    let clear = "http://127.0.0.1/";
    let secure = "https://127.0.0.1/";
    match (tool, flag) {
        ("ab", "-T") => ("-n 10 -p x", clear),
        ("ab", _) => ("-n 10", clear),
        ("h2load", "-p" | "--h1" | "--h3") => ("-n 10 -c 4", clear),
        ("h2load", "--npn-list") => ("-n 10 -c 4", secure),
        ("h2load", "--warm-up-time") => ("--h1 -c 4 -D 1", clear),
        ("h2load", "--rate-period") => ("--h1 -n 10 -c 4 -r 2", clear),
        ("h2load", _) => ("--h1 -n 10 -c 4", clear),
        ("hey", "-h2") => ("-n 10 -c 4", secure),
        ("oha", "-p") => ("--http2", clear),
        ("oha", "--insecure") => ("", secure),
        ("oha", "--cert" | "--key") => ("--cert y --key y", secure),
        ("weighttp", "-T") => ("-n 10 -c 4 -p x", clear),
        ("hey" | "weighttp", _) => ("-n 10 -c 4", clear),
        ("wrk", _) => ("-t 1", clear),
        ("wrk2", _) => ("-t 1 -R 100", clear),
        _ => ("", clear),
    }
}

/// What comes of a command line: the run, by each flag of `triathlon load` as it is read, when it
/// ends at the latest, and what is printed of a trial.
fn effect(tool: &Tool, words: &[&str], url: &str) -> String {
    let Work::Load { asked, told } = tool.work else {
        panic!("{} has runs of its own", tool.name);
    };
    let line = || format!("{} {words:?} {url}", tool.name);
    let given = read(tool, &[words, &[url]].concat());
    let given = given.unwrap_or_else(|error| panic!("{}: {error}", line()));
    let asked = asked(&given, url).unwrap_or_else(|error| panic!("{}: {error}", line()));
    let mut native = vec!["load".to_owned(), url.to_owned()];
    native.extend(given.load());
    native.extend(asked.words);
    let native =
        Native::try_parse_from(&native).unwrap_or_else(|error| panic!("{}: {error}", line()));
    let told = told(&given, url, &fixture::open()).expect("it is told");
    format!("{native:?} {:?}\n{told}", asked.most)
}

/// A flag that is done changes the run, or what is printed of it; where there is nothing to do,
/// nothing changes.
#[test]
fn each_flag_that_is_done_changes_something() {
    let mut wrong = Vec::new();
    let mut unchanged = Vec::new();
    for tool in ALL {
        for flag in tool.flags {
            let changes = match flag.here {
                Here::Load(_) | Here::Done(_) => true,
                Here::Needless(_) => false,
                Here::Refused(_) | Here::Help | Here::Version => continue,
            };
            let (company, url) = company(tool.name, flag.names[0]);
            let mut words: Vec<&str> = company.split_whitespace().collect();
            let without = effect(tool, &words, url);
            words.push(flag.names[0]);
            words.extend(flag.value.map(|_| unusual(tool.name, flag)));
            let is_other = effect(tool, &words, url) != without;
            let named = (tool.name, flag.names[0]);
            if changes && !is_other {
                unchanged.push(named);
            } else if !changes && is_other {
                wrong.push(format!("{named:?} changes something"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    let known: Vec<_> = UNCHANGED
        .iter()
        .map(|(tool, flag, _)| (*tool, *flag))
        .collect();
    assert_eq!(unchanged, known, "flags that change nothing");
}

#[test]
fn names_of_flags_are_of_one_flag() {
    for tool in ALL {
        let names: Vec<_> = tool.flags.iter().flat_map(|flag| flag.names).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{}", tool.name);
        assert!(tool.named(tool.help).is_some(), "{}", tool.name);
    }
}

#[test]
fn letters_are_joined_and_long_names_cut_short_as_getopt_has_it() {
    let one = given(&wrk::TOOL, "-Lc64 --dur=3 http://h/ --thr 4 -- x");
    assert!(one.is("--latency"));
    assert_eq!(one.value("--connections"), Some("64"));
    assert_eq!(one.value("-d"), Some("3"));
    assert_eq!(one.value("-t"), Some("4"));
    assert_eq!(one.operands, ["http://h/"]);
    assert_eq!(one.rest, ["x"]);
    let check = |line: &str, part: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let said = read(&wrk::TOOL, &words).expect_err("it is wrong");
        assert!(said.to_string().contains(part), "{line}: {said}");
    };
    check(
        "-x",
        "-x is not a flag of wrk: 'triathlon wrk --help' lists them",
    );
    check("--t", "lists them");
    check("-c", "-c/--connections: it needs a value");
    check("--latency=1", "it takes no value");
    check("-c few", "'few': write a number from 1");
}

/// The last of several counts, where not each one does.
#[test]
fn the_last_of_several_values_counts() {
    let one = given(&wrk::TOOL, "-c 4 -H a:1 -c 8 -H b:2 http://h/");
    assert_eq!(
        one.load(),
        ["--header=a:1", "--connections=8", "--header=b:2"]
    );
}

#[test]
fn a_tool_is_found_by_link_and_by_argument() {
    let of = |words: &[&str]| {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        of_command_line(&words).map(|tool| tool.name)
    };
    assert_eq!(of(&["/usr/local/bin/wrk", "-c", "1"]), Some("wrk"));
    assert_eq!(of(&["triathlon", "ab", "-n", "1"]), Some("ab"));
    assert_eq!(of(&["triathlon", "load", "ab"]), None);
}
