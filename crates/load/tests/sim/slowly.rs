//! Connections that read and send slowly.

use load::expectation::Expectation;
use load::reference::Findings;
use model::outcome::Outcome;
use model::plan::{PlanFile, Slow};
use model::record::Record;
use model::units::Span;
use sys::reactor::sim::SimServer;

use crate::harness::{
    all, answering, closed, count, findings, ms, s, simulate, simulate_with,
    where_kernels_never_fail,
};

const BODY: usize = 10_000;

fn answer() -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n{}",
        "x".repeat(BODY)
    )
}

fn simulate_large(file: PlanFile, server: SimServer) -> Record {
    let findings = Findings {
        expectations: vec![Expectation {
            status: Some(200),
            length: Some(BODY as u64),
            content: "x".repeat(BODY).into_bytes().into(),
            ..Expectation::default()
        }],
        ..findings(&file)
    };
    simulate_with(file, &findings, server)
}

fn reading(bytes_per_s: u64, plan: PlanFile) -> PlanFile {
    PlanFile {
        slow: Slow {
            read_bytes_per_s: Some(bytes_per_s),
            ..Slow::default()
        },
        ..plan
    }
}

fn longest(record: &Record) -> Span {
    record.service_time.max().expect("some came")
}

#[test]
fn answers_are_read_at_their_pace() {
    where_kernels_never_fail(|| {
        // Of 20,000 bytes per second 5,000 are received at once: three receives, 250 ms apart.
        let record = simulate_large(reading(20_000, count(1, 1)), answering(&answer()));
        let took = longest(&record);
        assert!((ms(500)..ms(503)).contains(&took), "{took}");
        let slowed = record.slowed.expect("it was slow");
        assert_eq!(slowed.connections, 1);
        assert_eq!(slowed.bytes_read.count(), answer().len() as u64);
        assert_eq!(slowed.pieces_sent, 0);
        // The first byte came as it does to others.
        let first = record.first_byte_time.max().expect("one");
        assert!(first < ms(3), "{first}");
    });
}

#[test]
fn a_pace_holds_from_answer_to_answer() {
    where_kernels_never_fail(|| {
        let record = simulate_large(reading(20_000, count(2, 20)), answering(&answer()));
        assert_eq!(record.total.outcomes[Outcome::Ok], 20);
        let bytes = answer().len() as u64;
        // Each of two connections reads ten answers, all but its last piece paced.
        let least = Span::from_ns((bytes * 10 - bytes % 5_000) * 50_000);
        let window = record.window;
        assert!(
            (least..least + ms(60)).contains(&window),
            "{window} for {least}"
        );
        let slowed = record.slowed.expect("they were slow");
        assert_eq!(slowed.bytes_read.count(), bytes * 20);
        assert!(slowed.read_pauses > window, "two connections paused");
    });
}

#[test]
fn who_reads_too_slowly_runs_into_the_timeout() {
    where_kernels_never_fail(|| {
        let plan = reading(1_000, closed(3, s(12)));
        let record = simulate_large(plan, answering(&answer()));
        let outcomes = record.total.outcomes;
        // Ten seconds for an answer, where five are allowed.
        assert_eq!((outcomes[Outcome::Ok], outcomes[Outcome::Timeout]), (0, 6));
        let slowed = record.slowed.expect("they were slow");
        assert_eq!(slowed.connections, all(&record).connections.established);
    });
}

#[test]
fn requests_are_sent_at_their_pace() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            slow: Slow {
                send_bytes_per_s: Some(100),
                ..Slow::default()
            },
            ..count(2, 6)
        };
        let record = simulate(plan, answering(crate::harness::HELLO));
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            6,
            "{:?}",
            record.examples
        );
        let each = all(&record).bytes_sent.count() / 6;
        // Pieces of ten bytes, a tenth of a second apart.
        let pieces = each.div_ceil(10);
        let took = longest(&record);
        let expected = ms(100) * (pieces - 1) + ms(1);
        assert!(
            (expected - ms(2)..expected + ms(12)).contains(&took),
            "{took} for {expected}"
        );
        let slowed = record.slowed.expect("they were slow");
        assert_eq!(slowed.bytes_sent.count(), each * 6);
        assert_eq!((slowed.connections, slowed.pieces_sent), (2, pieces * 6));
        assert_eq!(slowed.bytes_read.count(), 0);
    });
}

/// Two of ten connections are slow, and the others do not wait for them.
#[test]
fn a_share_of_the_connections_is_slow() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            slow: Slow {
                read_bytes_per_s: Some(20_000),
                send_bytes_per_s: Some(1_000),
                of_million: Some(200_000),
            },
            ..closed(10, s(1))
        };
        let record = simulate_large(plan, answering(&answer()));
        assert_eq!(record.slowed.expect("some were").connections, 2);
        assert_eq!(record.total.outcomes.failures(), 0, "{:?}", record.examples);
        let right = record.total.outcomes[Outcome::Ok];
        assert!((7_000..9_000).contains(&right), "{right}");
    });
}

#[test]
fn slow_connections_come_and_go() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            requests_per_connection: Some(1),
            ..reading(100_000, count(3, 30))
        };
        let record = simulate_large(plan, answering(&answer()));
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            30,
            "{:?}",
            record.examples
        );
        assert_eq!(record.slowed.expect("they were slow").connections, 30);
    });
}
