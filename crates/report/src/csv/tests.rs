use model::Coding;
use model::coding::Coded;
use model::tls::Negotiated;

use super::*;

/// Splits a line of CSV whose quoted cells hold no line ends.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let last = cells.last_mut().unwrap();
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                last.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => last.push(c),
        }
    }
    cells
}

#[test]
fn every_row_has_every_column_and_reads_back() {
    let mut run = Run::default();
    let mut trial = model::fixture::closed();
    trial.context.server = None;
    if let Some(reference) = &mut trial.record.reference {
        reference.server = Some("odd, \"quoted\" server".to_owned());
    }
    let outcomes = &mut trial.record.total.outcomes;
    outcomes[Outcome::Shed] = 3;
    let failures = outcomes.failures() + 3;
    trial.verdict = verdict::judge(&trial);
    run.add(&trial);
    let text = rows(&[&run]);
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 2);
    let names = cells(lines[0]);
    let values = cells(lines[1]);
    assert_eq!(names, columns().map(|(name, _)| name).collect::<Vec<_>>());
    assert_eq!(values.len(), names.len());
    let of = |name: &str| {
        let place = names.iter().position(|other| other == name).unwrap();
        values[place].clone()
    };
    assert_eq!(of("server"), "odd, \"quoted\" server");
    let rate: f64 = of("achieved_rate_per_s").parse().unwrap();
    assert!((rate - trial.record.achieved_rate).abs() < f64::EPSILON);
    assert_eq!(
        of("ok"),
        trial.record.total.outcomes[Outcome::Ok].to_string()
    );
    assert_eq!(of("failures"), failures.to_string());
    assert_eq!(of("intended_rate_per_s"), "");
}

#[test]
fn an_axis_that_this_version_does_not_know_has_its_column() {
    let mut run = Run::default();
    let mut trial = model::fixture::closed();
    let id = PointId::default().with("tls", Value::Word("1.3".to_owned()));
    trial.point = Some(model::Point {
        id,
        ..model::Point::default()
    });
    run.add(&trial);
    let text = rows(&[&run]);
    let lines: Vec<Vec<String>> = text.split_terminator("\r\n").map(cells).collect();
    let place = lines[0].iter().position(|name| name == "tls").unwrap();
    assert_eq!(lines[1][place], "1.3");
    assert_eq!(lines[0].len(), lines[1].len());
}

#[test]
fn what_tls_http2_and_quic_came_to_has_its_columns() {
    let mut trial = model::fixture::closed();
    let mut tls = model::tls::TlsRecord {
        failed: 2,
        ..model::tls::TlsRecord::default()
    };
    let negotiated = Negotiated {
        version: "1.3".to_owned(),
        suite: "TLS_AES_128_GCM_SHA256".to_owned(),
        group: Some("X25519".to_owned()),
        key_type: Some("ECDSA P-256".to_owned()),
        chain_bytes: 400,
        ..Negotiated::default()
    };
    let resumed = Negotiated {
        resumed: true,
        key_type: None,
        chain_bytes: 0,
        ..negotiated.clone()
    };
    tls.add(negotiated, 7);
    let early = Negotiated {
        early: true,
        ..resumed.clone()
    };
    tls.add(resumed, 2);
    tls.add(early, 1);
    trial.record.tls = Some(tls);
    trial.record.http2 = Some(model::http2::Http2Record {
        streams_allowed: Some(128),
        resets: [("CANCEL".to_owned(), 4), ("NO_ERROR".to_owned(), 1)].into(),
        ..model::http2::Http2Record::default()
    });
    trial.record.quic = Some(model::quic::QuicRecord {
        version: 1,
        datagrams_sent: 40,
        datagrams_received: 41,
        packets_lost: 3,
        ..model::quic::QuicRecord::default()
    });
    let of = |trial: &model::Trial, name: &str| {
        let mut run = Run::default();
        run.add(trial);
        let text = rows(&[&run]);
        let lines: Vec<Vec<String>> = text.split_terminator("\r\n").map(cells).collect();
        let place = lines[0].iter().position(|other| other == name).unwrap();
        lines[1][place].clone()
    };
    let expected = [
        ("tls_version", "1.3"),
        ("tls_suite", "TLS_AES_128_GCM_SHA256"),
        ("tls_group", "X25519"),
        ("tls_key", "ECDSA P-256"),
        ("tls_chain_bytes", "400"),
        ("tls_full", "7"),
        ("tls_resumed", "3"),
        ("tls_early", "1"),
        ("tls_failed", "2"),
        ("http2_streams_allowed", "128"),
        ("http2_go_aways", "0"),
        ("http2_resets", "5"),
        ("quic_version", "1"),
        ("quic_datagrams_sent", "40"),
        ("quic_datagrams_received", "41"),
        ("quic_packets_lost", "3"),
    ];
    let in_clear = model::fixture::closed();
    for (name, value) in expected {
        assert_eq!(of(&trial, name), value, "{name}");
        assert_eq!(of(&in_clear, name), "", "{name}");
    }
}

#[test]
fn how_answers_were_encoded_has_its_columns() {
    let of = |codings: &[(Coding, u64, u64)]| {
        let mut trial = model::fixture::closed();
        let coded = |(coding, answers, bytes): &(Coding, u64, u64)| {
            let (answers, bytes) = (*answers, model::Bytes::new(*bytes));
            (*coding, Coded { answers, bytes })
        };
        trial.record.codings = codings.iter().map(coded).collect();
        let mut run = Run::default();
        run.add(&trial);
        let text = rows(&[&run]);
        let lines: Vec<Vec<String>> = text.split_terminator("\r\n").map(cells).collect();
        let place = lines[0]
            .iter()
            .position(|name| name == "content_coding")
            .unwrap();
        lines[1][place..place + 3].to_vec()
    };
    assert_eq!(of(&[]), ["", "", ""]);
    assert_eq!(of(&[(Coding::Identity, 9, 900)]), ["identity", "0", ""]);
    let both = [
        (Coding::Identity, 9, 900),
        (Coding::Br, 2, 15),
        (Coding::Gzip, 2, 21),
    ];
    assert_eq!(of(&both), ["identity br gzip", "4", "9"]);
}

/// Its rate is the median of what was measured first: these rows say so.
#[test]
fn where_no_round_counts_those_behind_the_rate_are_marked() {
    let mut trials = model::fixture::Heat::of_one("origin", 3).trials();
    let mut again = Vec::new();
    for trial in &mut trials {
        trial.void = Some(model::finding::Cause {
            rule: "CPU-08".to_owned(),
            ..model::finding::Cause::default()
        });
        let mut second = trial.clone();
        second.point.as_mut().unwrap().attempt = 1;
        second.record.achieved_rate *= 2.0;
        again.push(second);
    }
    let mut run = Run::default();
    trials.iter().chain(&again).for_each(|trial| run.add(trial));
    let text = rows(&[&run]);
    let lines: Vec<Vec<String>> = text.split_terminator("\r\n").map(cells).collect();
    let place = |name: &str| lines[0].iter().position(|other| other == name).unwrap();
    let (mut counted, mut all) = (Vec::new(), 0);
    for line in lines[1..]
        .iter()
        .filter(|line| line[place("ceiling")] == "0")
    {
        all += 1;
        if line[place("rate_counts")] == "1" {
            assert_eq!(line[place("attempt")], "0");
            counted.push(line[place("achieved_rate_per_s")].parse::<f64>().unwrap());
        }
    }
    assert_eq!((counted.len(), all), (3, 6));
    counted.sort_by(f64::total_cmp);
    let of_server = lines[1..].iter().find(|line| line[place("ceiling")] == "0");
    let said: f64 = of_server.unwrap()[place("point_rate_per_s")]
        .parse()
        .unwrap();
    assert!((said - counted[1]).abs() < 1e-9, "{said} of {counted:?}");
}
