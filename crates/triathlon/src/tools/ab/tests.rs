use model::fixture;

use super::super::tests::given;
use super::*;

#[test]
fn a_time_limit_implies_50000_requests_unless_a_number_follows() {
    let check = |line: &str, count: u64, most: Option<u64>| {
        let given = given(&TOOL, line);
        let asked = asked(&given, "http://h/").expect("it can run");
        let word = format!("--requests={count}");
        assert!(asked.words.contains(&word), "{line}: {:?}", asked.words);
        assert_eq!(asked.most, most.map(Span::from_s), "{line}");
    };
    check("-c 1 http://h/", 1, None);
    check("-n 30 http://h/", 30, None);
    check("-t 5 http://h/", 50_000, Some(5));
    check("-n 30 -t 5 http://h/", 50_000, Some(5));
    check("-t 5 -n 30 http://h/", 30, Some(5));
    let more = given(&TOOL, "-n 2 -c 3 http://h/");
    let said = asked(&more, "http://h/").expect_err("too many").to_string();
    assert!(said.contains("concurrency level greater"), "{said}");
}

#[test]
fn each_method_is_that_of_its_flag() {
    let check = |line: &str, expected: &[&str]| {
        let given = given(&TOOL, line);
        let mut words = given.load();
        words.extend(asked(&given, "http://h/").expect("it can run").words);
        for word in expected {
            assert!(words.iter().any(|one| one == word), "{word}: {words:?}");
        }
    };
    check("-i http://h/", &["--request=HEAD"]);
    check("-m PATCH http://h/", &["--request=PATCH"]);
    check(
        "-p f -T a/b http://h/",
        &["--data=@f", "--header=Content-Type: a/b"],
    );
    check(
        "-u f http://h/",
        &[
            "--data=@f",
            "--request=PUT",
            "--header=Content-Type: text/plain",
        ],
    );
    check(
        "http://h/",
        &["--requests-per-connection=1", "--expect=length"],
    );
    check("-l -s 4 http://h/", &["--expect=status", "--timeout=4s"]);
}

/// The lines that programs look for, each in its form.
#[test]
fn the_text_has_the_lines_of_ab() {
    let given = given(&TOOL, "-n 100 -c 64 -k http://h:81/a?b");
    let text = told::told(&given, "http://h:81/a?b", &fixture::closed()).expect("it is told");
    let mut rest = text.as_str();
    for expected in [
        "This is ApacheBench, Version 2.3 <$Revision$>",
        "\nServer Hostname:        h\nServer Port:            81\n",
        "\nDocument Path:          /a?b\nDocument Length:        ",
        " bytes\n\nConcurrency Level:      64\nTime taken for tests:   ",
        " seconds\nComplete requests:      ",
        "\nFailed requests:        ",
        "\nKeep-Alive requests:    ",
        "\nTotal transferred:      ",
        " bytes\nHTML transferred:       ",
        " bytes\nRequests per second:    ",
        " [#/sec] (mean)\nTime per request:       ",
        " [ms] (mean)\nTime per request:       ",
        " [ms] (mean, across all concurrent requests)\nTransfer rate:          ",
        " [Kbytes/sec] received\n\nConnection Times (ms)\n              min  mean[+/-sd] median   max\n",
        "Connect:   ",
        "\nProcessing: ",
        "\nWaiting:   ",
        "\nTotal:     ",
        "\nPercentage of the requests served within a certain time (ms)\n  50%  ",
        "\n  99%  ",
        "\n 100%  ",
        " (longest request)\n",
    ] {
        let found = rest.split_once(expected);
        rest = found
            .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
            .1;
    }
    assert_eq!(rest, "");
}
