//! The conditions that a run had to meet, each with the value it met.

use model::Trial;
use model::threshold::{Judged, Unit};
use verdict::words;

use super::{LABEL, Style};

/// A line for each; nothing where there were none.
pub(super) fn thresholds(trial: &Trial, style: Style) -> String {
    let mut label = "thresholds";
    let mut out = String::new();
    for judged in &trial.thresholds {
        let worth = if judged.met {
            "met".to_owned()
        } else {
            style.bold("FAILED")
        };
        let few = judged.few.map_or_else(String::new, |few| {
            format!(
                ", by {}: too few for this percentile, which takes {}",
                words::plural(few.values, "value"),
                words::count(few.needed)
            )
        });
        let text = format!("{}: {}, {worth}{few}", judged.threshold, value(judged));
        out.push_str(&format!("{label:<LABEL$}{text}\n"));
        label = "";
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// What was measured, in its unit.
fn value(judged: &Judged) -> String {
    let Some(value) = judged.value else {
        return "there is no such value".to_owned();
    };
    match judged.unit {
        Unit::Count => format!("{value}"),
        Unit::PerSecond => format!("{}/s", words::rate(value)),
        Unit::Share => format!("{}%", rounded(value * 100.0)),
        Unit::Us => span(value).to_string(),
    }
}

/// Four digits that matter, and no zeros behind them.
fn rounded(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive time for people"
)]
fn span(us: f64) -> model::Span {
    model::Span::from_ns((us * 1e3).round() as u64)
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    #[test]
    fn each_condition_stands_with_its_value() {
        let mut trial = fixture::closed();
        let judge = |text: &str| {
            let threshold: model::threshold::Threshold = text.parse().expect("a condition");
            threshold.judge(&trial.record)
        };
        let judged = ["errors<0.1%", "count>=999999999"].map(judge);
        trial.thresholds = judged.into();
        let text = thresholds(&trial, Style::default());
        assert!(
            text.starts_with("thresholds  errors<0.1%: 0%, met\n            count>="),
            "{text}"
        );
        assert!(text.ends_with(", FAILED\n\n"), "{text}");
        assert!(super::super::trial(&trial, Style::default()).contains(&text));
        // The largest of a few values says little about the 99.9th percentile of all.
        trial.record.response_time.clear();
        let times = &mut trial.record.response_time;
        times.record_n(model::Span::from_us(436), 25);
        let threshold: model::threshold::Threshold = "p(99.9)<1s".parse().expect("a condition");
        trial.thresholds = vec![threshold.judge(&trial.record)];
        let few = thresholds(&trial, Style::default());
        let expected = "µs, met, by 25 values: too few for this percentile, which takes 10,000\n";
        assert!(few.contains(expected), "{few}");
        trial.thresholds.clear();
        assert_eq!(thresholds(&trial, Style::default()), "");
    }
}
