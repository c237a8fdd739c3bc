use model::fixture;

use super::super::flag::Here;
use super::super::tests::given;
use super::*;

#[test]
fn http2_is_spoken_unless_http1_is_asked_for() {
    let check = |line: &str, url: &str, expected: [&str; 2]| {
        let given = given(&TOOL, line);
        let words = asked(&given, url).expect("it can run").words;
        for word in expected {
            assert!(words.contains(&word.to_owned()), "{line}: {words:?}");
        }
    };
    let clear = "--http2-prior-knowledge";
    check("-n 1 u", "http://h/", [clear, "--streams=1"]);
    check("-p h2c -m 7 u", "http://h/", [clear, "--streams=7"]);
    check("-m 7 u", "https://h/", ["--http2", "--streams=7"]);
    check("-p http/1.1 u", "https://h/", ["--http2", "--insecure"]);
    check("--h1 -m 3 u", "http://h/", ["--pipeline=3"; 2]);
    check("-p http/1.1 u", "http://h/", ["--pipeline=1"; 2]);
    check("--alpn-list=http/1.1 u", "https://h/", ["--pipeline=1"; 2]);
    check("--alpn-list=h2,http/1.1 u", "https://h/", ["--http2"; 2]);
    check("--h3 -m 7 u", "https://h/", ["--http3", "--streams=7"]);
    check(
        "--alpn-list=h3,h2 u",
        "https://h/",
        ["--http3", "--insecure"],
    );
    check("--alpn-list=h3 u", "http://h/", [clear; 2]);
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let check = |line: &str, why: &str| {
        let given = given(&TOOL, line);
        let said = asked(&given, "h").expect_err("it does not fit").to_string();
        assert!(said.contains(why), "{said}");
    };
    check("--h1 -c 1 -t 2 h", "-t must not be more than -c");
    check("--h1 -n 1 -c 2 h", "-n must not be less than -c");
    check("--h1 --warm-up-time=1 h", "needs -D");
}

#[test]
fn sizes_and_times_are_shown_as_h2load_shows_them() {
    let check = |is: String, should: &str| assert_eq!(is, should);
    check(duration(0.000_132), "132us");
    check(duration(0.036_55), "36.55ms");
    check(duration(2.0), "2.00s");
    check(binary(241_000.0), "235.35K");
    check(binary(7_227_590.0), "6.89M");
    check(binary(0.0), "0");
}

#[test]
fn headers_of_http1_are_names_and_values() {
    let mut reference = Reference {
        status: 200,
        version: "HTTP/1.1".to_owned(),
        headers: vec![("Server".to_owned(), "x".to_owned()); 2],
        ..Reference::default()
    };
    let head = "HTTP/1.1 200 OK\r\nServer: x\r\nServer: x\r\n\r\n";
    reference.head_bytes = head.len() as u64;
    assert_eq!(fields(&reference), 14);
}

#[test]
fn a_time_is_told_as_it_was_asked_for() {
    let mut trial = fixture::closed();
    trial.plan.stop = Stop::DurationNs(Span::from_s(4));
    trial.record.window = Span::from_ms(800);
    let text = beginning(&given(&TOOL, "-D 4 h"), &trial);
    assert!(text.contains(" and 4s of main duration"), "{text}");
}

/// What the page says of flags with one value.
#[test]
fn flags_of_which_one_value_is_taken_say_so() {
    for flag in flags::FLAGS {
        let Some((_, read)) = flag.value else {
            continue;
        };
        let refuses = ["16384", "30", "4096"]
            .iter()
            .filter(|one| read(one).is_err());
        if let Here::Done(how) = flag.here
            && refuses.count() == 2
        {
            assert!(
                how.contains("others are refused"),
                "{}: {how}",
                flag.shown()
            );
        }
    }
}

#[test]
fn the_text_has_the_lines_of_h2load() {
    let given = given(&TOOL, "--h1 -n 100000 -c 64 -t 2 h");
    let text = told(&given, "h", &fixture::closed()).expect("it is told");
    let mut rest = text.as_str();
    for expected in [
        "starting benchmark...\nspawning thread #0: 32 total client(s). 50000 total requests\n",
        "Application protocol: http/1.1\n\nfinished in ",
        " req/s, ",
        "B/s\nrequests: 100000 total, ",
        " started, ",
        " done, ",
        " succeeded, ",
        " failed, ",
        " errored, ",
        " timeout\nstatus codes: ",
        " 2xx, ",
        " 5xx\ntraffic: ",
        ") total, ",
        ") headers (space savings 0.00%), ",
        ") data\n                     min         max         mean         sd        +/- sd\n",
        "time for request: ",
        "%\ntime for connect: ",
        "%\ntime to 1st byte: ",
        "%\nreq/s           : ",
    ] {
        let found = rest.split_once(expected);
        rest = found
            .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
            .1;
    }
}
