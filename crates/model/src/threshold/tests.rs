use super::*;
use crate::record::{Class, Page};

fn record() -> Record {
    let mut record = Record {
        window: Span::from_s(10),
        ..Record::default()
    };
    record.total.outcomes[Outcome::Ok] = 990;
    record.total.outcomes[Outcome::Timeout] = 10;
    record.total.outcomes[Outcome::Unfinished] = 5;
    record.response_time.record_n(Span::from_ms(1), 900);
    record.response_time.record_n(Span::from_ms(4), 90);
    record.response_time.record_censored_n(10);
    record.service_time.record_n(Span::from_us(500), 990);
    let mut class = Class {
        name: "GET /slow".to_owned(),
        ..Class::default()
    };
    class.outcomes[Outcome::Ok] = 90;
    class.response_time.record_n(Span::from_ms(4), 90);
    record.classes.push(class);
    let mut class = Class {
        name: "GET /usual".to_owned(),
        ..Class::default()
    };
    class.outcomes[Outcome::Ok] = 900;
    class.outcomes[Outcome::Timeout] = 10;
    class.outcomes[Outcome::Unfinished] = 5;
    record.classes.push(class);
    let page = |name: &str, failed, ms| {
        let mut page = Page {
            name: name.to_owned(),
            failed,
            ..Page::default()
        };
        page.time.record_n(Span::from_ms(ms), 50);
        page
    };
    record.pages = vec![page("front", 0, 20), page("search", 10, 40)];
    record
}

#[test]
fn conditions_are_judged_with_their_value() {
    let check = |text: &str, value: Option<f64>, met: bool| {
        let judged = text.parse::<Threshold>().unwrap().judge(&record());
        let near = match (judged.value, value) {
            (Some(is), Some(should)) => (is / should - 1.0).abs() < 0.01,
            (is, should) => is == should,
        };
        assert!(near && judged.met == met, "{text}: {judged:?}");
        assert_eq!(judged.threshold, text.trim());
    };
    check("p(90)<5ms", Some(1_000.0), true);
    check("p(99) < 5ms", Some(4_000.0), true);
    check("p(99)<4", Some(4_000.0), false);
    check("p99<5ms", Some(4_000.0), true);
    check("p99.9<5ms", None, false);
    check("p(99.9)<5ms", None, false);
    check("max>1", None, false);
    check("med<=1.1ms", Some(1_000.0), true);
    check("min>=500us", Some(1_000.0), true);
    check("avg<2", None, false);
    check("service_time: avg<600us", Some(500.0), true);
    check("service_time: p(99)<600us", Some(500.0), true);
    check("errors<0.1%", Some(0.01), false);
    check("errors<=1%", Some(0.01), true);
    check("errors<0.02", Some(0.01), true);
    check(" rate>98.5 ", Some(99.0), true);
    check("rate>1k", Some(99.0), false);
    check("rate>0", Some(99.0), true);
    check("count==990", Some(990.0), true);
    check("count===990", Some(990.0), true);
    check("count!=990", Some(990.0), false);
    check("{GET /slow}:p(50)<5ms", Some(4_000.0), true);
    check("{GET /slow}: rate>10", Some(9.0), false);
    check("{GET /fast}:rate>10", None, false);
    check("page_time: p(45)<30ms", Some(20_000.0), true);
    check("page_time: p(90)<30ms", Some(40_000.0), false);
    // Ten of 110 failed: they are longer than any.
    check("page_time: p(95)<10s", None, false);
    check("{front}: page_time: max<=20.1ms", Some(20_000.0), true);
    check("{search}: page_time: med<1s", Some(40_000.0), true);
    check("{GET /slow}: page_time: med<1s", None, false);
}

/// Arrivals that were given up before they were any request belong to all of them.
#[test]
fn what_never_began_counts_for_each_request() {
    let mut record = record();
    let judged = |text: &str, record: &Record| {
        let judged = text.parse::<Threshold>().unwrap().judge(record);
        (judged.value, judged.met)
    };
    assert_eq!(judged("{GET /slow}: errors<1%", &record), (Some(0.0), true));
    assert!(judged("{GET /slow}: p(90)<5ms", &record).1);
    // Ten arrivals of eleven were shed.
    record.total.outcomes[Outcome::Shed] = 10_050;
    let (share, is_met) = judged("{GET /slow}: errors<1%", &record);
    assert!((share.unwrap() - 10.0 / 11.0).abs() < 1e-9 && !is_met);
    let (share, _) = judged("{GET /usual}: errors<1%", &record);
    assert!((share.unwrap() - (10.0 + 9_150.0) / (910.0 + 9_150.0)).abs() < 1e-9);
    assert_eq!(judged("{GET /slow}: p(90)<5ms", &record), (None, false));
    assert!(judged("{GET /slow}: p(5)<5ms", &record).1);
    // Nothing ever began.
    for class in &mut record.classes {
        class.outcomes = OutcomeCounts::default();
    }
    assert_eq!(
        judged("{GET /slow}: errors<1%", &record),
        (Some(1.0), false)
    );
}

#[test]
fn a_condition_that_a_higher_load_meets_is_no_limit_of_one() {
    let asks = |text: &str| text.parse::<Threshold>().unwrap().asks_for_load();
    assert!(asks("rate>8000") && asks("count>=5") && asks("rate==10"));
    assert!(!asks("rate<8000") && !asks("errors<1%") && !asks("p(99)<5ms"));
}

#[test]
fn a_mistake_is_pointed_at() {
    let check = |text: &str, column: usize, words: &str| {
        let error = text.parse::<Threshold>().unwrap_err();
        assert_eq!(error.column + 1, column, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    check("", 1, "something to judge is missing");
    check("p99", 4, "operator");
    check("p(99)", 6, "operator");
    check("p(99)<", 7, "is not a time");
    check("p(99)<5mx", 7, "'5mx' is not a time");
    check("p(101)<5ms", 3, "from 0 to 100");
    check("p(99<5ms", 2, "not closed");
    check("q(99)<5ms", 1, "'q' cannot be judged");
    check("rate=5", 5, "operator");
    check("rate>fast", 6, "a rate per second");
    check("errors<10", 8, "write 0.1%");
    check("response_time p(99)<1", 14, "colon");
    check("response_time: rate>1", 16, "'rate' cannot be judged");
    check("{a: p(99)<1", 1, "brace");
    let shown = "  p(99)<5mx".parse::<Threshold>().unwrap_err().to_string();
    assert!(
        shown.ends_with("\n      p(99)<5mx\n            ^"),
        "{shown}"
    );
}

/// Targets with several bodies for one URL have one name.
#[test]
fn all_requests_of_a_name_are_judged() {
    let mut record = Record {
        window: Span::from_s(10),
        ..Record::default()
    };
    for (ms, failed) in [(1, 0), (200, 50)] {
        let mut class = Class {
            name: "POST /p/${id}".to_owned(),
            ..Class::default()
        };
        class.outcomes[Outcome::Ok] = 50;
        class.outcomes[Outcome::Status] = failed;
        class.response_time.record_n(Span::from_ms(ms), 50);
        class.service_time.record_n(Span::from_ms(ms), 50);
        record.classes.push(class);
        record.total.outcomes[Outcome::Ok] += 50;
        record.total.outcomes[Outcome::Status] += failed;
    }
    for (what, expected) in [
        ("p(75)<1s", 200_000.0),
        ("service_time: p(75)<1s", 200_000.0),
        ("rate>1", 10.0),
        ("count>1", 100.0),
        ("errors<1%", 1.0 / 3.0),
    ] {
        let threshold: Threshold = format!("{{POST /p/${{id}}}}: {what}").parse().unwrap();
        let value = threshold.judge(&record).value.unwrap();
        assert!((value / expected - 1.0).abs() < 1e-2, "{what}: {value}");
    }
}

/// Of many requests of one name each has less than one of those that never began.
#[test]
fn what_never_began_is_counted_for_all_of_a_name_together() {
    let mut record = Record::default();
    for _ in 0..100 {
        let mut class = Class {
            name: "POST /p".to_owned(),
            ..Class::default()
        };
        class.outcomes[Outcome::Ok] = 1;
        record.classes.push(class);
    }
    record.total.outcomes[Outcome::Ok] = 100;
    record.total.outcomes[Outcome::Shed] = 50;
    let threshold: Threshold = "{POST /p}: errors<1%".parse().unwrap();
    let value = threshold.judge(&record).value.unwrap();
    assert!((value - 1.0 / 3.0).abs() < 1e-9, "{value}");
}
