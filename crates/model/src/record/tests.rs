use std::net::IpAddr;

use super::*;

fn record(seed: u64, intervals: u64) -> Record {
    let mut record = Record {
        window: Span::from_s(intervals),
        ..Record::default()
    };
    for second in 0..intervals {
        let mut interval = Interval::new(Span::from_s(second), Span::from_s(1));
        for n in 0..seed + second {
            interval.tally.outcomes[Outcome::Ok] += 1;
            interval.response_time.record(Span::from_us(10 + n * seed));
            record.response_time.record(Span::from_us(10 + n * seed));
        }
        record.total.merge(&interval.tally);
        record.intervals.push(interval);
    }
    record.total.bytes_content = Bytes::new(seed * 100);
    record.quic = (!seed.is_multiple_of(3)).then(|| QuicRecord {
        version: 1,
        connections: seed,
        packets_lost: seed * 2,
        rtt_least: Some(Span::from_us(seed)),
        rtt_most: Some(Span::from_us(seed)),
        window_least: (seed > 1).then_some(seed),
        resets: [(format!("code {seed}"), seed)].into(),
        ..QuicRecord::default()
    });
    record.examples.push(Example {
        outcome: Outcome::Timeout,
        text: format!("seen by {seed}"),
        request: None,
        at: Some(Span::from_ms(seed)),
    });
    record.connections_from = (0..seed).collect();
    let address = |last| IpAddr::from([192, 0, 2, u8::try_from(last).unwrap()]);
    record.lookup =
        (seed > 3).then(|| Lookup::of(Span::from_us(seed), (0..seed).map(address).collect()));
    record.slowed = (seed > 4).then(|| Slowed {
        connections: seed,
        read_pauses: Span::from_ms(seed),
        ..Slowed::default()
    });
    record.users = (seed > 4).then(|| UsersRecord {
        came: seed,
        waited: (seed > 5).then_some(seed),
        ..UsersRecord::default()
    });
    let mut page = Page {
        name: "front page".to_owned(),
        failed: seed,
        ..Page::default()
    };
    page.time.record(Span::from_ms(seed));
    record.pages = (seed > 3).then_some(page).into_iter().collect();
    record.decoded = (seed > 2).then(|| Decoded {
        answers: seed,
        bytes: Bytes::new(seed * 10),
        left_out: seed % 2,
    });
    record.rate_it();
    record
}

#[test]
fn merging_does_not_depend_on_the_order() {
    let [a, b, c] = [record(3, 4), record(5, 4), record(7, 4)];
    let together = |parts: [&Record; 3]| {
        let mut all = Record::default();
        for part in parts {
            all.merge(part.clone());
        }
        all
    };
    let mut right = b.clone();
    right.merge(c.clone());
    let mut nested = a.clone();
    nested.merge(right);
    assert_eq!(together([&a, &b, &c]), together([&c, &a, &b]));
    assert_eq!(together([&a, &b, &c]), nested);
    assert_eq!(nested.examples[0].text, "seen by 3");
    let page = &nested.pages[0];
    assert_eq!((page.complete(), page.failed), (2, 12));
}

#[test]
fn intervals_of_different_resolution_merge() {
    let mut coarse = record(2, 8);
    coarsen(&mut coarse.intervals);
    assert_eq!(coarse.intervals.len(), 4);
    let before = coarse.total.outcomes.total() + record(3, 8).total.outcomes.total();
    coarse.merge(record(3, 8));
    assert_eq!(coarse.intervals.len(), 4);
    let sum: u64 = coarse
        .intervals
        .iter()
        .map(|i| i.tally.outcomes.total())
        .sum();
    assert_eq!(sum, before);
}

#[test]
fn a_record_is_read_back() {
    for seed in [3, 4] {
        let record = record(seed, 4);
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(json.contains("\"pages\""), seed == 4);
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }
}

#[test]
fn what_quic_did_is_summed_and_its_extremes_are_kept() {
    let mut merged = record(4, 1);
    merged.merge(record(3, 1));
    merged.merge(record(2, 1));
    let quic = merged.quic.expect("two of them have it");
    assert_eq!(
        (quic.version, quic.connections, quic.packets_lost),
        (1, 6, 12)
    );
    assert_eq!(quic.rtt_least, Some(Span::from_us(2)));
    assert_eq!(quic.rtt_most, Some(Span::from_us(4)));
    assert_eq!(quic.window_least, Some(2));
    assert_eq!(quic.resets.len(), 2);
}
