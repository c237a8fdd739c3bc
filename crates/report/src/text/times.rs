//! The table of times: only quantiles that the sample carries.

use model::{Distribution, Outcome, Span, Trial};
use verdict::summary::{QUANTILES, Quantile, Reading, read};
use verdict::words;

use super::{LABEL, Style};

/// So many addresses of a name are shown; a trial has all of them.
const SHOWN: usize = 4;
/// Columns of one value.
const COLUMN: usize = 10;

/// The table, with a sentence about what it may be used for.
pub(super) fn times(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    let quantiles = columns(style);
    let mut out = header("time", &quantiles, style);
    let open = trial.plan.is_scheduled();
    let mut rows: Vec<(&str, &Distribution)> = vec![("response", &record.response_time)];
    if differ(&record.response_time, &record.service_time) {
        rows.push(("service", &record.service_time));
    }
    if above(&record.blocked_time, Span::from_us(1)) {
        rows.push(("blocked", &record.blocked_time));
    }
    if open || differ(&record.response_time, &record.service_time) {
        rows.push(("late", &record.late_time));
    }
    if differ(&record.service_time, &record.first_byte_time) {
        rows.push(("first byte", &record.first_byte_time));
        if !record.transfer_time.is_empty() {
            rows.push(("transfer", &record.transfer_time));
        }
    }
    if record.connect_time.count() > 0 {
        rows.push(("connect", &record.connect_time));
    }
    let kinds = record.tls.iter();
    let kinds = kinds.flat_map(|tls| {
        [
            ("  full", &tls.full_time),
            ("  resumed", &tls.resumed_time),
            ("  early", &tls.early_time),
        ]
    });
    let kinds: Vec<_> = kinds.filter(|(_, times)| times.count() > 0).collect();
    if record.tls_time.count() > 0 {
        rows.push(("handshake", &record.tls_time));
        if kinds.len() > 1 {
            rows.extend(kinds);
        }
    }
    for (name, times) in rows {
        out.push_str(&row(name, times, &quantiles, trial.plan.timeout));
    }
    out.push_str(&lookup(trial, style));
    out
}

/// How long the name of the host took to be looked up: once, so it has no quantiles.
fn lookup(trial: &Trial, style: Style) -> String {
    let Some(lookup) = &trial.record.lookup else {
        return String::new();
    };
    let Some(longest) = lookup.time.max() else {
        return String::new();
    };
    let times = match lookup.time.count() {
        0 | 1 => "once before the start,".to_owned(),
        many => format!("{many} times before the start, at most"),
    };
    let mut addresses = words::plural(lookup.addresses, "address");
    let found = &lookup.found;
    if !found.is_empty() {
        let shown = found.iter().take(SHOWN).map(ToString::to_string);
        let shown: Vec<String> = shown.collect();
        addresses.push_str(&format!(": {}", shown.join(", ")));
        if found.len() > SHOWN {
            addresses.push_str(", ...");
        }
    }
    style.labelled("look-up", &format!("{times} {longest}: {addresses}"))
}

/// The response times of each request of a mix, and how many of its answers were right. Nothing
/// where the plan has one request.
pub(super) fn classes(trial: &Trial, style: Style) -> String {
    let classes = &trial.record.classes;
    if classes.is_empty() {
        return String::new();
    }
    let quantiles = columns(style);
    let mut out = header("response", &quantiles, style);
    for class in classes {
        let right = class.outcomes[Outcome::Ok];
        let failed = class.outcomes.total() - right;
        let mut line = format!("{}: {} right", class.name, words::count(right));
        if failed > 0 {
            line.push_str(&format!(", {} failed", words::count(failed)));
        }
        out.push_str(&style.paragraph(&line));
        out.push_str(&row(
            "",
            &class.response_time,
            &quantiles,
            trial.plan.timeout,
        ));
    }
    out
}

/// How long whole pages took, and how many were complete. Nothing where users ask for no parts.
pub(super) fn pages(trial: &Trial, style: Style) -> String {
    let pages = &trial.record.pages;
    if pages.is_empty() {
        return String::new();
    }
    let quantiles = columns(style);
    let mut out = header("page", &quantiles, style);
    let mut have_failed = false;
    for page in pages {
        let mut line = format!(
            "{} and its parts: {} complete",
            page.name,
            words::count(page.complete())
        );
        if page.failed > 0 {
            have_failed = true;
            line.push_str(&format!(", {} failed", words::count(page.failed)));
        }
        out.push_str(&style.paragraph(&line));
        out.push_str(&row("", &page.time, &quantiles, trial.plan.timeout));
    }
    let mut line = "Page times are from when a page was due to the end of its last part".to_owned();
    line.push_str(match have_failed {
        true => ", of complete pages: those of which something failed are not in them.",
        false => ".",
    });
    out.push_str(&style.labelled("", &line));
    out
}

/// As many as there is room for.
pub(super) fn columns(style: Style) -> Vec<Quantile> {
    let left_out: &[&str] = if style.is_narrow() {
        &["p75", "p90", "p99_99"]
    } else {
        &["p75"]
    };
    QUANTILES
        .into_iter()
        .filter(|quantile| !left_out.contains(&quantile.name))
        .collect()
}

pub(super) fn header(title: &str, quantiles: &[Quantile], style: Style) -> String {
    let mut out = format!("{title:<LABEL$}");
    for quantile in quantiles {
        out.push_str(&format!("{:>COLUMN$}", quantile.label));
    }
    out.push_str(&format!("{:>COLUMN$}", "max"));
    style.bold(out.trim_end()) + "\n"
}

/// One distribution. "-" stands for too few values, ">" for longer than the timeout.
pub(super) fn row(
    name: &str,
    times: &Distribution,
    quantiles: &[Quantile],
    timeout: Span,
) -> String {
    let mut out = format!("{name:<LABEL$}");
    for quantile in quantiles {
        let cell = match read(times, quantile.q) {
            Reading::TooFew => "-".to_owned(),
            Reading::Censored => format!(">{timeout}"),
            Reading::Value(span) => span.to_string(),
        };
        out.push_str(&format!("{cell:>COLUMN$}"));
    }
    let max = match times.max() {
        _ if times.censored() > 0 => format!(">{timeout}"),
        Some(span) => span.to_string(),
        None => "-".to_owned(),
    };
    out.push_str(&format!("{max:>COLUMN$}\n"));
    out
}

/// Whether the second says anything that the first does not: by 2 % at the median or at p99.
fn differ(one: &Distribution, other: &Distribution) -> bool {
    let far = |q: f64| {
        let (Reading::Value(one), Reading::Value(other)) = (read(one, q), read(other, q)) else {
            return false;
        };
        (one.as_us_f64() - other.as_us_f64()).abs() > 0.02 * one.as_us_f64()
    };
    other.count() > 0 && (far(0.5) || far(0.99) || one.censored() != other.censored())
}

fn above(times: &Distribution, bound: Span) -> bool {
    times.count_above(bound) > 0
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::{Arrivals, ScriptFile};
    use model::units::Rate;

    use super::*;

    /// They come by a schedule, so that how late they were sent is a number of this run.
    #[test]
    fn how_late_users_who_come_were_sent_is_shown() {
        let mut trial = fixture::closed();
        let is_shown = |trial: &Trial| {
            let told = times(trial, Style::new(false, None));
            told.lines().any(|line| line.starts_with("late "))
        };
        assert!(!is_shown(&trial));
        trial.plan.script = Some(ScriptFile {
            arrivals: Arrivals::Poisson {
                rate_per_1000_s: Rate::per_second(50),
            },
            ..ScriptFile::default()
        });
        assert!(is_shown(&trial));
    }
}
