use model::{Span, fixture};

use super::super::tests::given;
use super::*;

#[test]
fn the_time_of_connecting_is_that_until_a_request_can_go() {
    let mut record = fixture::closed().record;
    record.connect_time.record(Span::from_ms(1));
    record.tls_time.record(Span::from_ms(3));
    let text = details(&record);
    let row = "DNS+dialup:\t0.0000 secs, 0.0000 secs, 0.0040 secs\n";
    assert!(text.contains(row), "{text}");
}

#[test]
fn rows_have_the_time_of_reading() {
    let mut trial = fixture::closed();
    trial.record.samples = vec![model::record::Sample {
        index: 0,
        worker: 0,
        open_connections: 1,
        due_ns: 0,
        ready_ns: 0,
        sent_ns: Some(0),
        first_byte_ns: Some(2_000_000),
        ended_ns: 5_000_000,
        connect_ns: None,
        outcome: Outcome::Ok,
    }];
    let text = rows(&trial);
    let row = "\n0.0050,0.0000,0.0000,0.0000,0.0020,0.0030,200,0.0000\n";
    assert!(text.ends_with(row), "{text}");
}

#[test]
fn each_worker_makes_as_many_requests() {
    let check = |line: &str, word: &str| {
        let given = given(&TOOL, line);
        let words = asked(&given, "http://h/").expect("it can run").words;
        assert!(words.contains(&word.to_owned()), "{line}: {words:?}");
    };
    check("http://h/", "--requests=200");
    check("-n 10 -c 3 http://h/", "--requests=9");
    check("-n=10 --c 3 http://h/", "--requests=9");
    check("-q 2.5 -c 4 -z 1s http://h/", "--rate=10");
    check("http://h/", "--header=Accept-Encoding: gzip");
    check("http://h/", "--header=User-Agent: hey/0.0.1");
    check("-m POST http://h/", "--data=");
    // hey asks by the method in capitals.
    check("-m post http://h/", "--data=");
    let words = given(&TOOL, "-m post http://h/").load();
    assert_eq!(words, ["--request=POST"]);
    // What -H says stands in the place of a usual field.
    let own = "-H Content-Type:a/b -H accept-encoding:identity http://h/";
    let words = asked(&given(&TOOL, own), "http://h/").expect("it can run");
    let words = words.words.join(" ");
    assert!(
        !words.contains("text/html") && !words.contains("gzip"),
        "{words}"
    );
    let check = |line: &str, url: &str, expected: &[&str]| {
        let words = asked(&given(&TOOL, line), url).expect("it can run").words;
        for word in expected {
            assert!(words.contains(&(*word).to_owned()), "{line}: {words:?}");
        }
    };
    let shared = ["--http2", "--connections=1", "--streams=50"];
    check("-h2 https://h/", "https://h/", &shared);
    let several = ["--connections=3", "--streams=84"];
    check("-h2 -n 250 -c 250 https://h/", "https://h/", &several);
    let alone = ["--connections=50", "--streams=1"];
    check("-h2 -disable-keepalive https://h/", "https://h/", &alone);
    check("-h2 http://h/", "http://h/", &["--connections=50"]);
    let few = given(&TOOL, "-n 2 -c 3 http://h/");
    assert!(asked(&few, "http://h/").is_err());
}

#[test]
fn times_are_read_as_go_reads_them() {
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(duration(text).ok().as_deref(), expected, "{text}");
    };
    check("10s", Some("10000ms"));
    check("1m30s", Some("90000ms"));
    check("1.5s", Some("1500ms"));
    check("500ms", Some("500ms"));
    check("10", None);
    check("", None);
}

#[test]
fn the_histogram_has_each_answer_once() {
    let mut times = Distribution::default();
    for ms in [1, 1, 2, 11] {
        times.record(Span::from_ms(ms));
    }
    let bins = histogram(&times, 40);
    assert_eq!(bins.len(), 11);
    assert_eq!(bins.iter().map(|(_, count, _)| count).sum::<u64>(), 4);
    assert_eq!(bins[0].2.chars().count(), 40);
}

#[test]
fn the_text_has_the_lines_of_hey() {
    let given = given(&TOOL, "http://h/");
    let text = told(&given, "http://h/", &fixture::closed()).expect("it is told");
    let mut rest = text.as_str();
    for expected in [
        "\nSummary:\n  Total:\t",
        " secs\n  Slowest:\t",
        " secs\n  Fastest:\t",
        " secs\n  Average:\t",
        " secs\n  Requests/sec:\t",
        "\n  \n  Total data:\t",
        " bytes\n  Size/request:\t",
        " bytes\n\nResponse time histogram:\n  ",
        "]\t|■",
        "\n\n\nLatency distribution:\n  10% in ",
        "\n  99% in ",
        "\n\nDetails (average, fastest, slowest):\n  DNS+dialup:\t",
        "\n  resp wait:\t",
        "\n\nStatus code distribution:\n  [200]\t",
        " responses\n",
    ] {
        let found = rest.split_once(expected);
        rest = found
            .unwrap_or_else(|| panic!("no {expected:?} in {text}"))
            .1;
    }
}
