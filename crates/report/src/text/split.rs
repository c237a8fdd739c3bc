//! Where response times went, by times that the kernel noted on some connections.

use model::record::TimeSplit;
use model::{Distribution, Trial};
use verdict::words;

use super::Style;
use super::times::{columns, header, row};
use crate::split::{PARTS, left_out, shares};

/// A table, with what share of all time each part is; nothing where no times were asked for.
pub(super) fn split(trial: &Trial, style: Style) -> String {
    let Some(split) = &trial.record.split else {
        return String::new();
    };
    let quantiles = columns(style);
    let mut out = header("where it went", &quantiles, style);
    for (name, times) in rows(split) {
        out.push_str(&row(name, times, &quantiles, trial.plan.timeout));
    }
    out.push_str(&style.labelled("", &told(split)));
    out
}

fn rows(split: &TimeSplit) -> impl Iterator<Item = (&'static str, &Distribution)> {
    // Shorter than [`PARTS`], to leave room for quantiles.
    let names = ["blocked", "late", "sending", "net+server", "waking up"];
    let rows = names.into_iter().zip(split.parts());
    rows.filter(|(_, times)| times.count() > 0)
}

fn told(split: &TimeSplit) -> String {
    let connections = words::plural(split.connections, "connection");
    let exchanges = words::plural(split.response.count(), "exchange");
    let mut text = format!("Of {exchanges} on {connections}, by the kernel's own times");
    let parts = PARTS.into_iter().zip(shares(split));
    let shares: Vec<String> = parts
        .filter_map(|(name, share)| Some(format!("{name} {}", words::share(share?))))
        .collect();
    if !shares.is_empty() {
        text.push_str(&format!(": {}", shares.join(", ")));
    }
    text.push('.');
    for sentence in left_out(split) {
        text.push(' ');
        text.push_str(&sentence);
    }
    text
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::units::Span;

    use super::*;

    #[test]
    fn parts_have_rows_and_shares() {
        let style = Style::new(false, None);
        let mut trial = fixture::closed();
        assert_eq!(split(&trial, style), "");
        let mut cut = TimeSplit {
            connections: 2,
            incomplete: 3,
            ..TimeSplit::default()
        };
        let parts = [
            (&mut cut.response, 1_000),
            (&mut cut.blocked, 0),
            (&mut cut.late, 100),
            (&mut cut.client_send, 50),
            (&mut cut.outside, 800),
            (&mut cut.client_wakeup, 50),
            (&mut cut.client_added, 150),
        ];
        for (times, us) in parts {
            times.record_n(Span::from_us(us), 10_000);
        }
        trial.record.split = Some(cut);
        let said = split(&trial, style);
        assert!(said.starts_with("where it went"), "{said}");
        let row = said.lines().find(|line| line.starts_with("net+server"));
        assert!(row.unwrap().contains("800"), "{said}");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "Of 10,000 exchanges on 2 connections, by the kernel's own times: \
            blocked 0 %, late 10 %, sending here 5.0 %, network and server 80 %, waking up here \
            5.0 %. 3 more exchanges had no times of the kernel.";
        assert!(words.ends_with(expected), "{words}");
    }
}
