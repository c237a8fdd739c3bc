//! Wrong answers: each has its outcome, its example in words, and no part in the goodput, in a
//! closed loop as in an open one.

use model::outcome::Outcome;
use model::plan::{PlanFile, Stop};
use sys::reactor::sim::{Kernel, Reply, Then};

use crate::harness::{
    HELLO, answering, count, ms, numbered, open, s, simulate, simulate_on, simulate_with,
    where_kernels_never_fail,
};

/// Ten requests over two connections, in a closed loop and in an open one.
fn loops() -> [PlanFile; 2] {
    let paced = PlanFile {
        stop: Stop::Count(10),
        ..open(2, 1_000, s(1))
    };
    [count(2, 10), paced]
}

/// Ten requests, all answered with `answer` and then `then`: all end with `outcome`.
#[track_caller]
fn check(answer: &str, then: Then, outcome: Outcome, example: &str) {
    for plan in loops() {
        check_loop(plan, answer, then, outcome, example);
    }
}

#[track_caller]
fn check_loop(plan: PlanFile, answer: &str, then: Then, outcome: Outcome, example: &str) {
    let owned = answer.to_owned();
    let server = numbered(move |_| Some(Reply::new(owned.clone()).then(then)));
    let record = simulate(plan, server);
    assert_eq!(
        record.total.outcomes[outcome], 10,
        "{:?}",
        record.total.outcomes
    );
    assert_eq!(record.total.outcomes.total(), 10);
    let told = record.examples.iter().find(|told| told.outcome == outcome);
    assert_eq!(told.map_or("", |told| told.text.as_str()), example);
    if outcome != Outcome::Ok {
        assert_eq!(record.total.bytes_content.count(), 0);
        assert_eq!(record.response_time.count(), 0);
        assert_eq!(record.response_time.censored(), 10);
    }
}

#[test]
fn right_answers_in_every_form() {
    where_kernels_never_fail(|| {
        for answer in [
            HELLO,
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nDigest: x\r\n\r\n",
        ] {
            check(answer, Then::Continue, Outcome::Ok, "");
        }
        check(
            "HTTP/1.1 200 OK\r\n\r\nhello",
            Then::Finish,
            Outcome::Ok,
            "",
        );
        let heads = format!(
            "HTTP/1.1 200 OK\r\n{}Content-Length: 5\r\n\r\nhello",
            "X-Padding: 0123456789abcdef0123456789abcdef0123456789\r\n".repeat(1_200)
        );
        check(&heads, Then::Continue, Outcome::Ok, "");
    });
}

#[test]
fn wrong_answers_of_every_kind() {
    where_kernels_never_fail(|| {
        check(
            "HTTP/1.1 503 Unavailable\r\nContent-Length: 5\r\n\r\nhello",
            Then::Continue,
            Outcome::Status,
            "status 503 instead of 200",
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell",
            Then::Continue,
            Outcome::Content,
            "4 bytes of content instead of 5",
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo",
            Then::Continue,
            Outcome::Content,
            "the body differs from the reference at byte 1",
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
            Then::Finish,
            Outcome::Read,
            "the server closed the connection after 3 bytes of content",
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            Then::Finish,
            Outcome::Read,
            "the server closed the connection after 5 bytes of content",
        );
        check(
            "HTTP/1.1 200",
            Then::Finish,
            Outcome::Read,
            "the server closed the connection within the head of the answer",
        );
        check(
            "",
            Then::Finish,
            Outcome::Read,
            "the server closed the connection without an answer",
        );
        check(
            "SSH-2.0-OpenSSH_9.2p1\r\n",
            Then::Continue,
            Outcome::Protocol,
            "the answer does not begin with HTTP/1.",
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello",
            Then::Continue,
            Outcome::Protocol,
            "more bytes came than the answer announced",
        );
        check(
            &format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(140_000)),
            Then::Continue,
            Outcome::Protocol,
            "the head of the answer is longer than 131072 bytes",
        );
    });
}

#[test]
fn one_wrong_answer_among_many_is_found() {
    where_kernels_never_fail(|| {
        let server = numbered(|number| {
            let wrong = number == 777;
            Some(Reply::new(if wrong {
                HELLO.replace("hello", "hellO")
            } else {
                HELLO.to_owned()
            }))
        });
        let record = simulate(count(8, 2_000), server);
        assert_eq!(record.total.outcomes[Outcome::Ok], 1_999);
        assert_eq!(record.total.outcomes[Outcome::Content], 1);
        assert_eq!(record.examples.len(), 1);
    });
}

#[test]
fn a_large_body_is_drained_unread_and_its_length_checked() {
    where_kernels_never_fail(|| {
        let plan = || count(2, 2_500);
        let body = "x".repeat(100_000);
        let right = format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{body}");
        let findings = |file: &PlanFile| load::reference::Findings {
            expectations: vec![load::expectation::Expectation {
                status: Some(200),
                length: Some(100_000),
                content: body.as_bytes().into(),
                no_error: false,
                coding: None,
                plain: None,
            }],
            ..crate::harness::findings(file)
        };
        let run = |server| {
            let file = plan();
            let findings = findings(&file);
            simulate_with(file, &findings, server)
        };
        let record = run(answering(&right).in_segments(30_000, ms(1)));
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            2_500,
            "{:?}",
            record.examples
        );
        assert_eq!(record.total.bytes_content.count(), 250_000_000);
        // One in a thousand is compared: a body that is always wrong is found two or three times.
        let wrong = format!("{}y", &right[..right.len() - 1]);
        let record = run(answering(&wrong).in_segments(30_000, ms(1)));
        assert_eq!(record.total.outcomes[Outcome::Content], 3);
        assert_eq!(
            record.examples[0].text,
            "the body differs from the reference at byte 99999"
        );
    });
}

/// This machine could not send: that is no silence of the server.
#[test]
fn a_send_without_memory_is_a_write_that_failed() {
    let kernel = Kernel {
        failed_sends_per_1000: 1_000,
        ..Kernel::default()
    };
    for plan in loops() {
        let plan = PlanFile {
            timeout: ms(50),
            ..plan
        };
        let record = simulate_on(kernel, plan, answering(HELLO));
        let outcomes = record.total.outcomes;
        assert_eq!(outcomes[Outcome::Write], 10, "{outcomes:?}");
        assert_eq!(outcomes.total(), 10, "{outcomes:?}");
    }
}

/// Connects have a limit of their own, below that of answers or above it.
#[test]
fn connects_have_a_limit_of_their_own() {
    where_kernels_never_fail(|| {
        for (timeout, connect_timeout, expected) in [
            (ms(500), None, Outcome::Ok),
            (ms(500), Some(ms(150)), Outcome::Connect),
            (ms(150), None, Outcome::Connect),
            (ms(150), Some(ms(500)), Outcome::Timeout),
        ] {
            for plan in loops() {
                let plan = PlanFile {
                    timeout,
                    connect_timeout,
                    ..plan
                };
                // 200 ms for a connect, and as long for an answer.
                let record = simulate(plan, answering(HELLO).with_delay(ms(100)));
                let outcomes = record.total.outcomes;
                assert_eq!(outcomes.total(), 10, "{outcomes:?}");
                assert_eq!(outcomes[expected], 10, "{outcomes:?}");
            }
        }
    });
}
