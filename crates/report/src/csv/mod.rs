//! The trials as CSV (RFC 4180): a row for each, columns with units in their names.

use model::point::{AXES, Value, axis};
use model::{Claim, Outcome};

use crate::run::{Digest, QUANTILES, Run};

/// The columns before those of the axes, each with what it holds.
const FIRST: [(&str, &str); 4] = [
    ("experiment", "the experiment's name"),
    ("begun", "when this execution of it began, RFC 3339 in UTC"),
    ("server", "the server's label"),
    ("workload", "the workload's name"),
];

/// The columns after those of the axes.
const REST: [(&str, &str); 34] = [
    ("round", "the round, from 1"),
    ("sequence", "position in the order of execution"),
    (
        "ceiling",
        "1 where this measures the generator's ceiling, else 0",
    ),
    ("time", "when the trial began, RFC 3339 in UTC"),
    ("window_s", "measured window in seconds"),
    ("achieved_rate_per_s", "right answers per second"),
    (
        "rate_at_least",
        "1 where the generator set the rate, else 0",
    ),
    (
        "goodput_bytes_per_s",
        "content bytes of right answers per second",
    ),
    (
        "response_time_p50_us",
        "response time in microseconds; empty where the sample does not support it",
    ),
    ("response_time_p75_us", "the same"),
    ("response_time_p90_us", "the same"),
    ("response_time_p95_us", "the same"),
    ("response_time_p99_us", "the same"),
    ("response_time_p99_5_us", "the same"),
    ("response_time_p99_9_us", "the same"),
    ("response_time_p99_95_us", "the same"),
    ("response_time_p99_99_us", "the same"),
    ("late_time_p99_us", "how late the generator itself was"),
    ("ok", "right answers"),
    ("failures", "exchanges that failed"),
    ("timeouts", "of those, unanswered in time"),
    (
        "connections_established",
        "connects that succeeded in the window",
    ),
    (
        "server_cpu_user_us",
        "user CPU time per exchange, microseconds",
    ),
    (
        "server_cpu_system_us",
        "system CPU time per exchange, microseconds",
    ),
    ("server_cpu_us", "both, per exchange, microseconds"),
    (
        "generator_cpu_us",
        "the generator's CPU time per exchange, microseconds",
    ),
    (
        "generator_busy_share",
        "busy share of the busiest worker, 0 to 1",
    ),
    (
        "server_memory_bytes",
        "proportional set size of the server's processes",
    ),
    (
        "ceiling_rate_per_s",
        "the generator's ceiling at this point in this round",
    ),
    (
        "headroom",
        "the larger of ceiling / rate and 1 / busy share",
    ),
    (
        "status",
        "valid, suspect, invalid or unknown: the worst over the claims",
    ),
    (
        "capacity",
        "what the claim of capacity is worth; empty where not made",
    ),
    ("latency", "the same for latency"),
    ("resources", "the same for resources"),
];

/// Every column, with what it holds.
pub fn columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let axes = AXES.iter().map(|axis| (axis.column, axis.meaning));
    FIRST.into_iter().chain(axes).chain(REST)
}

/// All trials of `runs`, a heading first. Axes that only another version knows follow those of the
/// table, by their names.
pub fn rows(runs: &[&Run]) -> String {
    let digests = || runs.iter().flat_map(|run| run.digests());
    let mut axes: Vec<&str> = AXES.iter().map(|axis| axis.name).collect();
    for (name, _) in digests().flat_map(|digest| digest.id.values()) {
        if !axes.contains(&name) {
            axes.push(name);
        }
    }
    let headings = axes.iter().map(|name| match axis(name).column {
        "" => name,
        column => column,
    });
    let mut out = String::new();
    let (first, rest) = (FIRST.iter(), REST.iter());
    let all = first.map(|(name, _)| *name).chain(headings);
    let all = all.chain(rest.map(|(name, _)| *name));
    line(&mut out, all.map(str::to_owned));
    for digest in digests() {
        line(&mut out, row(digest, &axes).into_iter());
    }
    out
}

fn row(digest: &Digest, axes: &[&str]) -> Vec<String> {
    let claim = |claim: Claim| {
        digest
            .claims
            .get(&claim)
            .map_or_else(String::new, |(status, _)| status.name().to_owned())
    };
    let id = &digest.id;
    let mut cells = vec![
        id.execution.experiment.clone(),
        id.execution.begun.clone(),
        id.server.clone(),
        id.workload.clone(),
    ];
    let plain = |value: &Value| match value.number() {
        Some(number) => number.to_string(),
        None => value.to_string(),
    };
    let values = axes.iter().map(|name| id.value(name).map(plain));
    cells.extend(values.map(Option::unwrap_or_default));
    let flag = |on: bool| if on { "1" } else { "0" }.to_owned();
    cells.extend([
        digest.round.to_string(),
        digest.sequence.to_string(),
        flag(digest.ceiling),
        digest.time.clone().unwrap_or_default(),
        number(Some(digest.window_s)),
        number(Some(digest.rate)),
        flag(digest.generator_limited),
        number(Some(digest.goodput)),
    ]);
    cells.extend(
        QUANTILES
            .iter()
            .enumerate()
            .map(|(n, _)| number(digest.response_us(n))),
    );
    cells.extend([
        number(digest.late_p99_us),
        digest.outcomes[Outcome::Ok].to_string(),
        digest.outcomes.failures().to_string(),
        digest.outcomes[Outcome::Timeout].to_string(),
        digest.established.to_string(),
        number(digest.user_us),
        number(digest.system_us),
        number(digest.cpu_us),
        number(digest.generator_us),
        number(digest.busy),
        number(digest.memory),
        number(digest.ceiling_here.as_ref().map(|ceiling| ceiling.rate)),
        number(digest.headroom),
        digest.status.name().to_owned(),
        claim(Claim::Capacity),
        claim(Claim::Latency),
        claim(Claim::Resources),
    ]);
    cells
}

/// Full precision, the shortest text that reads back as the same number.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    for (position, cell) in cells.enumerate() {
        if position > 0 {
            out.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&cell);
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests;
