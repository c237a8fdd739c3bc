//! What a comparison prints: rates, what a response cost either side, ratios, and whether a target
//! is met.

use super::generator::Reading;
use super::statistics::{Summary, summary};

/// What one generator, or one server, did in each round.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) missing: Option<&'static str>,
    rates: Vec<f64>,
    generator_us: Vec<f64>,
    server_share: Vec<f64>,
}

impl Row {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            missing: None,
            rates: Vec::new(),
            generator_us: Vec::new(),
            server_share: Vec::new(),
        }
    }

    /// Adds a round; the server worked during the warm-up too, at the same rate.
    pub(super) fn push(&mut self, reading: Reading, server_ns: u64, seconds: f64) {
        #[expect(clippy::cast_precision_loss, reason = "a few seconds")]
        let server_us = server_ns as f64 / 1e3;
        self.rates.push(reading.rate);
        self.generator_us.push(reading.cpu_us);
        let answers = reading.answers.unwrap_or(reading.rate * seconds);
        self.server_share.push(server_us / answers);
    }
}

/// Rates, what a response cost either side, and the ratios to each of `references`.
pub(super) fn table(rows: &[Row], references: &[&str]) {
    print!(
        "  {:<28} {:>10} {:>9} {:>9}",
        "", "per s", "client us", "server us"
    );
    for reference in references {
        print!("  {:>26}", format!("x {reference}, worst"));
    }
    println!();
    for row in rows {
        if let Some(package) = row.missing {
            println!(
                "  {:<28} not installed (apt-get install {package})",
                row.name
            );
            continue;
        }
        let median = |values: &[f64]| summary(values).map_or(f64::NAN, |s| s.median);
        print!(
            "  {:<28} {:>10.0} {:>9.2} {:>9.2}",
            row.name,
            median(&row.rates),
            median(&row.generator_us),
            median(&row.server_share)
        );
        for reference in references {
            let Some(other) = rows.iter().find(|other| other.name == *reference) else {
                print!("  {:>26}", "-");
                continue;
            };
            let ratios: Vec<f64> = row
                .rates
                .iter()
                .zip(&other.rates)
                .map(|(ours, theirs)| ours / theirs)
                .collect();
            let text = summary(&ratios).map_or_else(
                || "-".to_owned(),
                |s| {
                    format!(
                        "{:.2} [{:.2}, {:.2}] {:.2}",
                        s.median, s.low, s.high, s.least
                    )
                },
            );
            print!("  {text:>26}");
        }
        println!();
    }
    println!("  a ratio is a median over rounds [with its interval], then the worst round");
}

/// The CPU time of the client per response, of `ours` as a ratio to `theirs`. A target is met if
/// the whole interval is, and missed if none of it is.
pub(super) fn cpu_ratio(rows: &[Row], ours: &str, theirs: &str, most: Option<f64>) {
    ratio(
        rows,
        ("client", |row| &row.generator_us),
        (ours, theirs),
        most,
    );
}

/// The rate of `one` as a ratio to that of `other`, of which nothing is demanded.
pub(super) fn rate_beside(rows: &[Row], one: &str, other: &str) {
    if let Some(ratio) = ratio_of(rows, |row| &row.rates, (one, other)) {
        println!(
            "  rate, {one} / {other}: {:.3} [{:.3}, {:.3}]",
            ratio.median, ratio.low, ratio.high
        );
    }
}

/// The rate of `ours` as a ratio to that of `theirs`, which should be `least` at least.
pub(super) fn rate_ratio(rows: &[Row], ours: &str, theirs: &str, least: f64) {
    let Some(ratio) = ratio_of(rows, |row| &row.rates, (ours, theirs)) else {
        return;
    };
    let target = if ratio.low >= least {
        "met"
    } else if ratio.high < least {
        "missed"
    } else {
        "open, more rounds would tell"
    };
    println!(
        "  rate, {ours} / {theirs}: {:.3} [{:.3}, {:.3}]; target {least}: {target}",
        ratio.median, ratio.low, ratio.high
    );
}

/// The CPU time of the server per response, in the same way.
pub(super) fn server_cpu_ratio(rows: &[Row], ours: &str, theirs: &str, most: Option<f64>) {
    ratio(
        rows,
        ("server", |row| &row.server_share),
        (ours, theirs),
        most,
    );
}

fn ratio(
    rows: &[Row],
    (side, cpu_us): (&str, fn(&Row) -> &[f64]),
    (ours, theirs): (&str, &str),
    most: Option<f64>,
) {
    let Some(ratio) = ratio_of(rows, cpu_us, (ours, theirs)) else {
        return;
    };
    let target = match most {
        None => String::new(),
        Some(most) if ratio.high <= most => format!("; target {most}: met"),
        Some(most) if ratio.low > most => format!("; target {most}: missed"),
        Some(most) => format!("; target {most}: open, more rounds would tell"),
    };
    println!(
        "  {side} CPU per answer, {ours} / {theirs}: {:.3} [{:.3}, {:.3}]{target}",
        ratio.median, ratio.low, ratio.high
    );
}

/// What `of` has of one, as ratios to the other's, round by round.
fn ratio_of(rows: &[Row], of: fn(&Row) -> &[f64], (ours, theirs): (&str, &str)) -> Option<Summary> {
    let find = |name: &str| rows.iter().find(|row| row.name == name);
    let (our, their) = (find(ours)?, find(theirs)?);
    let pairs = of(our).iter().zip(of(their));
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
    summary(&ratios)
}
