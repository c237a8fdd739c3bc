//! The spectrum of response times: how long the unlucky waited, as far as the sample tells.

use model::{Distribution, Span, Trial};
use verdict::summary::{Support, quantile_interval, support};
use verdict::words;

use super::Style;

/// Bars of so many columns at most.
const BAR: usize = 20;

/// The spectrum, each step halving the share of exchanges that took longer, as HdrHistogram prints
/// it; with a 95 % interval, and with service times beside response times in an open loop.
pub fn latency(trial: &Trial, style: Style) -> String {
    let times = &trial.record.response_time;
    let open = trial.plan.arrivals.rate().is_some();
    let all = times.count() + times.censored();
    let mut out = style.bold(&format!(
        "{:>12}{:>11}{:>22}{:>11}  ",
        "quantile",
        "response",
        "95 % interval",
        if open { "service" } else { "slower" },
    ));
    out = out.trim_end().to_owned() + "\n";
    let steps: Vec<f64> = steps()
        .take_while(|q| support(all, *q) > Support::TooFew)
        .collect();
    let (low, high) = ends(times, &steps);
    let longest = if style.is_narrow() { 0 } else { BAR };
    for q in &steps {
        let value = times.quantile(*q);
        let last = if open {
            show(trial.record.service_time.quantile(*q), trial)
        } else {
            words::count(slower(all, *q))
        };
        let (from, to) = quantile_interval(times, *q).unwrap_or_default();
        let interval = format!("{} .. {}", show(from, trial), show(to, trial));
        out.push_str(
            format!(
                "{:>12}{:>11}{interval:>22}{last:>11}  {}",
                percent(*q),
                show(value, trial),
                "#".repeat(value.map_or(longest, |value| bar(value, low, high).min(longest))),
            )
            .trim_end(),
        );
        out.push('\n');
    }
    out.push_str(&tail(trial, &steps, style));
    out
}

fn tail(trial: &Trial, steps: &[f64], style: Style) -> String {
    let times = &trial.record.response_time;
    let all = times.count() + times.censored();
    let mut say = format!("{} response times", words::count(all));
    if let (Some(mean), Some(max)) = (times.mean(), times.max()) {
        say.push_str(&format!(", mean {mean}, longest {max}"));
    }
    if times.censored() > 0 {
        say.push_str(&format!(
            ", {} without a right answer",
            words::count(times.censored())
        ));
    }
    if steps.is_empty() {
        say.push_str(": too few for any quantile");
    } else {
        say.push_str("; beyond the last line fewer than 10 remain: too few to tell");
    }
    style.labelled("", &(say + "."))
}

/// 50 %, 75 %, 87.5 %, and so on.
fn steps() -> impl Iterator<Item = f64> {
    (1..40).map(|halvings| 1.0 - 0.5f64.powi(halvings))
}

/// How many of `all` lie beyond `q`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a count"
)]
fn slower(all: u64, q: f64) -> u64 {
    (all as f64 * (1.0 - q)).round() as u64
}

/// `99.9023 %`, with as many digits as tell it from its neighbours.
fn percent(q: f64) -> String {
    if q < 0.8 {
        return format!("{:.0} %", q * 100.0);
    }
    let mut digits = 1usize;
    let mut beyond = 1.0 - q;
    while beyond < 0.1 {
        beyond *= 10.0;
        digits += 1;
    }
    let text = format!("{:.*}", digits, q * 100.0);
    format!("{text} %")
}

fn show(value: Option<Span>, trial: &Trial) -> String {
    value.map_or_else(
        || format!(">{}", trial.plan.timeout),
        |value| value.to_string(),
    )
}

/// The shortest and the longest value of the spectrum.
fn ends(times: &Distribution, steps: &[f64]) -> (Span, Span) {
    let values: Vec<Span> = steps.iter().filter_map(|q| times.quantile(*q)).collect();
    (
        values.first().copied().unwrap_or_default(),
        values.last().copied().unwrap_or_default(),
    )
}

/// Its length on a logarithmic scale from the first value to the last.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of columns"
)]
fn bar(value: Span, low: Span, high: Span) -> usize {
    let log = |span: Span| span.as_us_f64().max(1e-3).ln();
    let whole = (log(high) - log(low)).max(1e-9);
    let part = ((log(value) - log(low)) / whole).clamp(0.0, 1.0);
    1 + (part * (BAR - 1) as f64).round() as usize
}
