use sys::allocations::Bytes;

use super::*;

fn read(query: &str) -> Result<Order, String> {
    order(".triathlon/synthetic", Some(query)).expect("there is one of that name")
}

/// What an order puts on the wire: the bytes, and what follows them.
fn made(query: &str) -> (String, Vec<String>) {
    let Ok(Order::Synthetic(recipe)) = read(query) else {
        panic!("{query}")
    };
    let mut out = Vec::new();
    let mut random = Random::stream(7, 0);
    let today = Today::at(0);
    let filler = Filler::new().unwrap();
    let go_on = Persistence::Usual;
    let (_, parts) = answer(&recipe, &filler, true, go_on, &today, &mut random, &mut out);
    let name = |part| match part {
        Part::File { length, .. } => format!("File {length}"),
        Part::Cycle { block, length, .. } => format!("Cycle {block} of {length}"),
        Part::Bytes(_) => "Bytes".to_owned(),
        other => format!("{other:?}"),
    };
    (
        String::from_utf8(out).unwrap(),
        parts.into_iter().map(name).collect(),
    )
}

#[test]
fn orders_are_read() {
    assert_eq!(order("index.html", None), None);
    assert_eq!(order(".triathlon/other", None), None);
    let null = |query| order(".triathlon/null", query).unwrap();
    assert_eq!(null(None), Ok(Order::Null { bytes: None }));
    assert_eq!(
        null(Some("bytes=100k")),
        Ok(Order::Null {
            bytes: Some(102_400)
        })
    );
    assert!(null(Some("size=5")).is_err());
    for query in [
        "bytes=x",
        "bytes=-1",
        "bytes=65G",
        "bytes=17179869184G",
        "bytes=18446744073709551615",
        "bytes=18446744073709551616",
        "bytes=99999999999999999999999",
        "status=99",
        "status=100",
        "status=600",
        "delay=5parsecs",
        "delay=2h",
        "delay=gamma:1ms",
        "delay=bimodal:1ms,2ms",
        "delay=bimodal:1ms,2ms,3",
        "fault=fire",
        "colour=red",
    ] {
        assert!(read(query).is_err(), "{query}");
    }
}

#[test]
fn answers_are_as_ordered() {
    let (text, parts) = made("");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.ends_with("Content-Length: 7\r\n\r\n0123456"), "{text}");
    assert!(parts.is_empty());
    let (text, parts) = made("bytes=1M&status=503");
    assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
    assert!(text.ends_with("Content-Length: 1048576\r\n\r\n"), "{text}");
    assert_eq!(parts, ["Cycle 1048576 of 1048576"]);
    let (text, parts) = made("status=204&bytes=5");
    assert!(
        text.ends_with("\r\n\r\n") && !text.contains("Content-Length"),
        "{text}"
    );
    assert!(parts.is_empty());
    let (text, parts) = made("delay=3ms");
    assert_eq!(text, "");
    assert_eq!(parts, ["Pause(Span { ns: 3000000 })", "Bytes"]);
    assert_eq!(made("bytes=2500k").1, ["Cycle 1048576 of 2560000"]);
}

#[test]
fn an_answer_of_any_size_costs_the_same_memory() {
    let filler = Filler::new().unwrap();
    let mut random = Random::stream(7, 0);
    let today = Today::at(0);
    let mut cost = |bytes: &str, has_content: bool| {
        let order = |path: &str| order(path, Some(&format!("bytes={bytes}")));
        let mut out = Vec::new();
        let before = Bytes::of_this_thread();
        let Some(Ok(Order::Synthetic(recipe))) = order(".triathlon/synthetic") else {
            panic!("{bytes}")
        };
        let usual = Persistence::Usual;
        let made = answer(
            &recipe,
            &filler,
            has_content,
            usual,
            &today,
            &mut random,
            &mut out,
        );
        let null = answer_null(Some(made.0), &filler, has_content, usual, &mut out);
        drop((made, null));
        Bytes::of_this_thread().allocated - before.allocated
    };
    for has_content in [true, false] {
        let small = cost("2M", has_content);
        let large = cost("64G", has_content);
        assert!(large <= small + 64, "{large} bytes for 64G, {small} for 2M");
        assert!(large < 2_048, "{large} bytes");
    }
}

#[test]
fn faults_are_as_ordered() {
    assert_eq!(
        made("fault=close"),
        (String::new(), vec!["Close".to_owned()])
    );
    let (text, parts) = made("fault=truncate&bytes=10");
    assert!(text.ends_with("Content-Length: 10\r\n\r\n01234"), "{text}");
    assert_eq!(parts, ["Close"]);
    let (_, parts) = made("fault=stall&bytes=100k");
    assert_eq!(parts, ["Cycle 1048576 of 51200", "Stall"]);
    let (text, parts) = made("fault=reset");
    assert!(text.ends_with("\r\n\r\n"), "{text}");
    assert_eq!(parts, ["Reset"]);
}

#[test]
fn delays_follow_their_distribution_and_the_seed() {
    let mean_of = |text: &str| {
        let delay = delay(text).unwrap();
        let mut random = Random::stream(1, 2);
        let sum: Span = (0..100_000).map(|_| delay.draw(&mut random)).sum();
        (sum / 100_000).as_us_f64()
    };
    assert!((mean_of("1ms") - 1_000.0).abs() < 0.1);
    assert!((mean_of("exponential:1ms") - 1_000.0).abs() < 15.0);
    assert!((mean_of("bimodal:1ms,11ms,0.1") - 2_000.0).abs() < 40.0);
}
