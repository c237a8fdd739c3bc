use std::ffi::OsString;

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
