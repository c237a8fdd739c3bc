//! What comes before it was asked for: answers without a question, goodbyes on idle connections,
//! and answers to requests that are still being sent.

use std::sync::atomic::Ordering;

use model::outcome::Outcome;
use model::plan::PlanFile;
use model::request::RequestFile;
use sys::reactor::sim::{Kernel, Reply, Service, SimServer, Then};

use crate::harness::{
    HELLO, all, count, ms, numbered, open, s, simulate, simulate_on, where_kernels_never_fail,
};

const GOODBYE: &str = "HTTP/1.1 408 Timed out\r\n\r\n";

/// The second answer comes while the next request has begun and was not handed in. It is the answer
/// to nothing: that exchange is a violation of the protocol, no other one is charged, none leaks.
#[test]
fn an_answer_before_its_request_is_a_violation_of_the_protocol() {
    where_kernels_never_fail(|| {
        let server = numbered(|number| {
            Some(Reply::new(if number % 10 == 5 {
                HELLO.repeat(2)
            } else {
                HELLO.to_owned()
            }))
        })
        .in_segments(HELLO.len(), model::Span::ZERO);
        let record = simulate(count(1, 100), server);
        let outcomes = record.total.outcomes;
        // Requests 5, 15, 25 and so on are answered twice; the request after each is not sent.
        assert_eq!(outcomes[Outcome::Protocol], 9, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Ok], 91, "{outcomes:?}");
        assert_eq!(record.total.sent, 91, "what was not handed in was not sent");
        let counts = all(&record).connections;
        assert_eq!((counts.broken, counts.established), (9, 10));
        assert_eq!(record.examples[0].text, "bytes came that answer no request");
    });
}

#[test]
fn a_goodbye_to_an_idle_connection_is_a_close_and_nobody_is_charged() {
    where_kernels_never_fail(|| {
        // It comes 5 ms after the answer, when nothing is in flight.
        let server = numbered(|_| Some(Reply::new(format!("{HELLO}{GOODBYE}")).then(Then::Finish)))
            .in_segments(HELLO.len(), ms(5));
        let record = simulate(open(4, 100, s(1)), server);
        let counts = all(&record).connections;
        assert_eq!(record.total.outcomes[Outcome::Ok], 100);
        assert_eq!((counts.broken, counts.backed_off), (0, 0));
        assert!(counts.closed_by_server >= 96, "{counts:?}");
    });
}

#[test]
fn a_goodbye_that_meets_the_next_request_is_a_close_and_the_request_asks_elsewhere() {
    where_kernels_never_fail(|| {
        let server = numbered(|_| Some(Reply::new(format!("{HELLO}{GOODBYE}")).then(Then::Finish)))
            .in_segments(HELLO.len(), model::Span::ZERO);
        let record = simulate(count(2, 50), server);
        let counts = all(&record).connections;
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            50,
            "{:?}",
            record.examples
        );
        assert_eq!((counts.broken, counts.backed_off), (0, 0));
    });
}

/// A request whose content takes long to go out was sent when its first byte was: the time that the
/// rest takes is the server's, and an answer before the rest is an answer.
#[test]
fn a_large_upload_is_sent_with_its_first_byte() {
    let upload = |url: &str| RequestFile {
        method: "POST".to_owned(),
        body_base64: Some("eHh4".repeat(10_000)),
        ..RequestFile::get(url)
    };
    let plan = || PlanFile {
        requests: vec![upload("http://sim/")],
        ..count(1, 20)
    };
    let kernel = Kernel {
        seed: 3,
        partial_sends_per_1000: 1_000,
        send_pause: ms(4),
        ..Kernel::default()
    };
    // It answers when the whole content is there.
    let body = "xxx".repeat(10_000);
    let whole = Box::leak(body.into_bytes().into_boxed_slice());
    let server = SimServer::new(Service::Constant(ms(1)), |_| Some(Reply::new(HELLO)))
        .with_request_end(whole);
    let record = simulate_on(kernel, plan(), server);
    assert_eq!(
        record.total.outcomes[Outcome::Ok],
        20,
        "{:?}",
        record.examples
    );
    assert_eq!(record.late_time.max(), Some(model::Span::ZERO));
    let mean = record.service_time.mean().unwrap();
    assert!(mean > ms(3), "the pauses count: {mean}");

    // It refuses at the head.
    let refusal = "HTTP/1.1 413 Too large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = SimServer::new(Service::Constant(ms(1)), move |_| {
        Some(Reply::new(refusal).then(Then::Finish))
    });
    let seen = server.counts();
    let record = simulate_on(kernel, plan(), server);
    assert_eq!(
        record.total.outcomes[Outcome::Status],
        20,
        "{:?}",
        record.examples
    );
    let sent = all(&record).bytes_sent.count();
    assert!(
        sent < 20 * 30_000,
        "{sent} bytes: what was not handed in was not sent"
    );
    assert!(sent >= seen.bytes.load(Ordering::Relaxed), "{sent} bytes");
}
