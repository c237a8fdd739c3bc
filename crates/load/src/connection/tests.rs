use model::units::Instant;
use wire::h1::client::{Connection as H1, HEAD_BYTES, Shared};
use wire::{Client as _, Request, RequestId, RequestParts};

use super::{Cause, Connection, Flight};
use crate::expectation::Expectation;

const AT: Instant = Instant::from_ns(1_000);

fn open(shared: &mut Shared) -> Connection<H1> {
    let mut connection = Connection::new(1);
    let client = H1::new(shared);
    connection.established(client, AT, model::Span::ZERO);
    connection
}

fn begin(connection: &mut Connection<H1>, compares: bool) {
    let parts = RequestParts {
        method: "GET",
        target: "/",
        authority: "a",
        fields: &[],
        content: None,
    };
    let request = Request::compile(RequestId(0), &parts, false);
    let stream = connection.client().begin(&request).unwrap();
    let _sent = connection.client().poll_transmit(AT, &mut Vec::new());
    connection.launch(stream, Flight::new(AT, AT, compares));
}

/// A million of them must fit beside their sockets.
#[test]
fn an_idle_connection_costs_less_than_half_a_kibibyte() {
    let bytes = size_of::<Connection<H1>>() + size_of::<Option<Flight>>();
    assert!(bytes <= 512, "{bytes}");
}

#[test]
fn what_is_not_compared_and_large_is_drained_once() {
    let mut shared = Shared::new(1, HEAD_BYTES);
    let mut connection = open(&mut shared);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\nx".to_vec();
    for compares in [true, false] {
        begin(&mut connection, compares);
        connection
            .receive(&mut shared, &Expectation::default(), AT, &mut head.clone())
            .unwrap();
        if compares {
            assert_eq!(connection.start_skipping(1_000), None);
            let mut rest = vec![b'x'; 49_999];
            connection
                .receive(&mut shared, &Expectation::default(), AT, &mut rest)
                .unwrap();
            assert!(connection.take_over().unwrap().is_answered());
        }
    }
    assert_eq!(connection.start_skipping(60_000), None);
    assert_eq!(connection.start_skipping(1_000), Some(49_999));
    assert_eq!(connection.start_skipping(1_000), None, "asked once");
    connection.skipped(&Expectation::default(), AT, 49_999);
    assert!(connection.take_over().unwrap().is_answered());
}

#[test]
fn what_was_not_sent_is_taken_back_and_not_failed() {
    let mut shared = Shared::new(1, HEAD_BYTES);
    let mut connection = open(&mut shared);
    begin(&mut connection, false);
    assert_eq!(
        connection.take_unsent(AT),
        None,
        "it was sent when it was ready"
    );
    assert_eq!(connection.take_unsent(Instant::ZERO), Some(AT));
    connection.ended(&mut shared, &Expectation::default(), AT, None);
    assert!(connection.take_over().is_none());

    let mut connection = open(&mut shared);
    begin(&mut connection, false);
    connection.ended(&mut shared, &Expectation::default(), AT, None);
    let exchange = connection.take_over().unwrap().end(Some(AT), AT);
    assert!(matches!(exchange.cause, Some(Cause::Ended { .. })));
}
