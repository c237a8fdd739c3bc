//! Connections that read and send slowly, in words.

use model::plan::Slow;
use model::units::Bytes;
use model::{PlanFile, Trial};
use verdict::words;

use super::Style;

/// What follows the number of connections; empty where none is slow.
pub(super) fn slow(plan: &PlanFile) -> String {
    let Slow {
        read_bytes_per_s,
        send_bytes_per_s,
        of_million,
    } = plan.slow;
    let mut said = Vec::new();
    if let Some(rate) = read_bytes_per_s {
        said.push(format!("reading {}/s", Bytes::new(rate)));
    }
    if let Some(rate) = send_bytes_per_s {
        said.push(format!("sending {}/s", Bytes::new(rate)));
    }
    let share = of_million.map_or(1.0, |parts| f64::from(parts) / 1e6);
    match said.as_slice() {
        [] => String::new(),
        said => format!(", {} of them {}", words::share(share), said.join(" and ")),
    }
}

/// What they did, in a line.
pub(super) fn did(trial: &Trial, style: Style) -> String {
    let Some(slowed) = trial.record.slowed else {
        return String::new();
    };
    let mut said = vec![words::plural(slowed.connections, "connection")];
    if trial.plan.slow.read_bytes_per_s.is_some() {
        let (bytes, pauses) = (slowed.bytes_read, slowed.read_pauses);
        said.push(format!("{bytes} read with pauses of {pauses} in all"));
    }
    if trial.plan.slow.send_bytes_per_s.is_some() {
        let pieces = words::plural(slowed.pieces_sent, "piece");
        said.push(format!("{} sent in {pieces}", slowed.bytes_sent));
    }
    let text = format!("{}: times include this", said.join(", "));
    style.labelled("slow", &text)
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::record::Slowed;
    use model::units::Span;

    use super::*;

    #[test]
    fn what_is_slow_is_told() {
        let mut trial = fixture::closed();
        assert_eq!(
            slow(&trial.plan) + &did(&trial, Style::new(false, None)),
            ""
        );
        trial.plan.slow = Slow {
            read_bytes_per_s: Some(2_048),
            send_bytes_per_s: Some(10),
            of_million: Some(100_000),
        };
        assert_eq!(
            slow(&trial.plan),
            ", 10 % of them reading 2.0 KiB/s and sending 10 B/s"
        );
        trial.record.slowed = Some(Slowed {
            connections: 6,
            bytes_read: Bytes::new(3_072),
            read_pauses: Span::from_ms(1_500),
            bytes_sent: Bytes::new(70),
            pieces_sent: 70,
        });
        let told = did(&trial, Style::new(false, None));
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            told,
            "slow 6 connections, 3.0 KiB read with pauses of 1.50 s in all, 70 B sent in 70 \
             pieces: times include this"
        );
    }
}
