//! The trials as CSV (RFC 4180): a row for each, columns with units in their names.

mod codings;
mod connections;
mod users;

use std::collections::BTreeMap;

use model::point::{AXES, Value, axis};
use model::{Claim, Outcome, PointId};
use verdict::analysis::{Comparison, Measure, Standing};

use crate::digests::{Cell, Digest, QUANTILES, Resources, Run};

/// The columns before those of the axes, each with what it holds.
const FIRST: [(&str, &str); 4] = [
    ("experiment", "the experiment's name"),
    ("begun", "when this execution of it began, RFC 3339 in UTC"),
    ("server", "the server's label"),
    ("workload", "the workload's name"),
];

/// The columns after those of the axes.
const REST: [(&str, &str); 70] = [
    ("round", "the round, from 1"),
    ("sequence", "position in the order of execution"),
    (
        "attempt",
        "how often its cell had been measured in this round before",
    ),
    (
        "void",
        "the rule that found it spoilt by something other than server and generator; empty where \
         none did",
    ),
    (
        "rate_counts",
        "1 where its rate is one of those behind the point's median, else 0; where no round \
         counts, these are all as they were first measured",
    ),
    (
        "server_cpu_counts",
        "the same for its CPU time per exchange, which rests on another claim",
    ),
    ("response_time_counts", "the same for its response times"),
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
    (
        "response_time_bound_from",
        "the first of these that is only a bound, because so many requests got no answer: the \
         timeout, or the longest answer; empty where none is",
    ),
    ("late_time_p99_us", "how late the generator itself was"),
    (
        "ok",
        "right answers to exchanges that became due in the window; the rate counts all right \
         answers that came in it",
    ),
    (
        "failures",
        "exchanges that got no right answer, those given up unsent among them",
    ),
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
        "server_socket_memory_bytes",
        "what the kernel held for the contents of the server's TCP sockets, without the sockets \
         themselves; empty where that is unknown",
    ),
    (
        "server_socket_memory_per_connection_bytes",
        "the same for each connection",
    ),
    (
        "server_memory_per_connection_bytes",
        "proportional set size of the server's processes for each connection of the load",
    ),
    (
        "server_runqueue_wait_us",
        "how long threads of the server could have run and had no CPU, per exchange, microseconds",
    ),
    (
        "server_switches_voluntary",
        "how often threads of the server gave their CPU up, per exchange",
    ),
    (
        "server_switches_involuntary",
        "how often their CPU was taken from them, per exchange",
    ),
    (
        "server_write_calls",
        "system calls of the server that wrote to a file or a socket (write, writev, sendfile; \
         not send), per exchange",
    ),
    (
        "processes_begun",
        "processes and threads that began on the machine, per exchange of all phases",
    ),
    (
        "server_interrupt_us",
        "interrupts and softirqs on the server's CPUs, per exchange, microseconds",
    ),
    (
        "received_bytes",
        "bytes that the generator received, per exchange",
    ),
    (
        "received_bytes_beside_content",
        "those of heads, framing and encryption, per exchange",
    ),
    ("sent_bytes", "bytes that the generator sent, per exchange"),
    (
        "generator_cpu_user_us",
        "the generator's user CPU time per exchange, microseconds",
    ),
    (
        "generator_cpu_system_us",
        "its system CPU time per exchange, microseconds",
    ),
    (
        "server_connections_before",
        "the most connections that the server had held since its start: its memory was read after \
         that many; empty where that is unknown",
    ),
    (
        "ceiling_rate_per_s",
        "the generator's ceiling at this point in this round",
    ),
    (
        "headroom",
        "the larger of ceiling / rate and 1 / busy share; only the latter for origin, with which \
         the ceiling is measured",
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
    ("comparison", "the same for comparison"),
    ("resources", "the same for resources"),
    (
        "point_status",
        "what the point is worth over all its rounds; empty for the ceiling, as all that follows",
    ),
    (
        "point_rate_per_s",
        "the point's rate: the median over the rounds that count",
    ),
    (
        "point_rate_at_least",
        "1 where the generator set that median, else 0",
    ),
    (
        "point_rate_low_per_s",
        "lower end of its 95 % interval; empty below six rounds",
    ),
    (
        "point_rate_high_per_s",
        "upper end of it; empty where that is a bound, too",
    ),
    ("point_rate_precision", "sharp, fair or rough"),
    (
        "point_server_cpu_us",
        "the server's CPU time per exchange, the median over the rounds that count",
    ),
    ("point_response_time_p50_us", "the same for this"),
    (
        "point_response_time_p50_at_least",
        "1 where that median is a bound, because more than half of the requests of a round got no \
         answer, else 0",
    ),
    (
        "reference",
        "the server that this one is compared with at this load; empty where there is none",
    ),
    (
        "ratio",
        "rate (in an open loop: median response time) relative to the reference's, within rounds",
    ),
    (
        "ratio_low",
        "lower end of its interval; empty where the reference's values are bounds, as the ratio is \
         at most that",
    ),
    (
        "ratio_high",
        "upper end of it; empty where this server's values are bounds, as the ratio is at least \
         that",
    ),
    ("answer", "what may be said about the two"),
];

/// Every column, with what it holds.
pub fn columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let axes = AXES.iter().map(|axis| (axis.column, axis.meaning));
    let rest = REST.into_iter().chain(connections::COLUMNS);
    let rest = rest.chain(codings::COLUMNS).chain(users::COLUMNS);
    FIRST.into_iter().chain(axes).chain(rest)
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
    let (first, rest) = (FIRST.iter(), REST.iter().chain(&connections::COLUMNS));
    let rest = rest.chain(&codings::COLUMNS).chain(&users::COLUMNS);
    let all = first.map(|(name, _)| *name).chain(headings);
    let all = all.chain(rest.map(|(name, _)| *name));
    line(&mut out, all.map(str::to_owned));
    for run in runs {
        let analysis = Analysis::of(run);
        for digest in run.digests() {
            let mut cells = row(digest, &axes, analysis.is_behind(digest));
            cells.extend(analysis.cells(digest));
            cells.extend(connections::cells(digest));
            cells.extend(codings::cells(digest));
            cells.extend(users::cells(digest));
            line(&mut out, cells.into_iter());
        }
    }
    out
}

/// What the analysis says of the points of a run: each row of a point repeats it.
struct Analysis<'a> {
    points: BTreeMap<&'a PointId, Cell<'a>>,
    comparisons: Vec<Comparison>,
}

impl<'a> Analysis<'a> {
    fn of(run: &'a Run) -> Self {
        let workloads = run.workloads();
        let cells = workloads.iter().flat_map(|workload| run.cells(workload));
        Self {
            points: cells.map(|cell| (&cell.rounds[0].id, cell)).collect(),
            comparisons: run.comparisons(),
        }
    }

    /// Whether its rate is one of those that the rate of its point is the median of, and the same
    /// for its CPU time and its response times, as far as it has them.
    fn is_behind(&self, digest: &Digest) -> [bool; 3] {
        let cell = self.points.get(&digest.id).filter(|_| !digest.ceiling);
        let counts = match cell {
            Some(cell) => cell.is_behind(digest),
            None => !digest.is_left_out(),
        };
        [
            counts,
            counts && digest.cpu_us.is_some(),
            counts && digest.response(0).is_some(),
        ]
    }

    fn cells(&self, digest: &Digest) -> Vec<String> {
        let cell = self.points.get(&digest.id).filter(|_| !digest.ceiling);
        let status = cell.map_or_else(String::new, |cell| cell.status().name().to_owned());
        let rate = cell.and_then(Cell::rate);
        let rate = rate.as_ref();
        let interval = rate.and_then(|rate| rate.interval);
        let cpu = cell.and_then(|cell| cell.value(Claim::Resources, |digest| digest.cpu_us));
        let p50 = cell.and_then(|cell| cell.response(0));
        let p50 = p50.map(|response| response.measure);
        let least = |measure: &Measure| flag(measure.standing == Standing::AtLeast);
        let word = rate.map(|rate| rate.precision.sharpness.word());
        let mut cells = vec![
            status,
            number(rate.map(|rate| rate.median)),
            rate.map_or_else(String::new, least),
            number(interval.map(|(low, _)| low)),
            number(
                interval
                    .filter(|_| rate.is_some_and(|rate| !rate.is_open_above))
                    .map(|(_, high)| high),
            ),
            word.unwrap_or_default().to_owned(),
            number(cpu.map(|cpu| cpu.median)),
            number(p50.as_ref().map(|p50| p50.median)),
            p50.as_ref().map_or_else(String::new, least),
        ];
        cells.extend(self.compared(digest));
        cells
    }

    fn compared(&self, digest: &Digest) -> [String; 5] {
        let found = self.comparisons.iter().find_map(|comparison| {
            let is_here =
                comparison.workload == digest.id.workload && comparison.load == digest.id.load;
            let mut rivals = comparison.rivals.iter();
            let rival = rivals.find(|rival| rival.racer.server == digest.id.server)?;
            (is_here && !digest.ceiling).then_some((comparison, rival))
        });
        let Some((comparison, rival)) = found else {
            return Default::default();
        };
        let estimate = rival.estimate.as_ref();
        let (low, high) = rival.ends();
        [
            comparison.reference.server.clone(),
            number(estimate.map(|estimate| estimate.ratio)),
            number(low),
            number(high),
            comparison.answer(rival),
        ]
    }
}

fn flag(on: bool) -> String {
    if on { "1" } else { "0" }.to_owned()
}

fn resources(of: &Resources) -> [Option<f64>; 12] {
    [
        of.memory_per_connection,
        of.runqueue_wait_us,
        of.switches_voluntary,
        of.switches_involuntary,
        of.write_calls,
        of.processes_begun,
        of.interrupt_us,
        of.received,
        of.beside_content,
        of.sent,
        of.generator_user_us,
        of.generator_system_us,
    ]
}

/// Response times, and the first of them that is a bound.
fn times(digest: &Digest) -> Vec<String> {
    let mut names = QUANTILES.iter().enumerate();
    let times = names
        .clone()
        .map(|(n, _)| digest.response(n).map(|time| time.us));
    let mut cells: Vec<String> = times.map(number).collect();
    let is_bound = |n: usize| digest.response(n).is_some_and(|time| time.is_bound);
    let first = names.find(|(n, _)| is_bound(*n));
    cells.push(first.map_or_else(String::new, |(_, (_, name))| (*name).to_owned()));
    cells
}

fn row(digest: &Digest, axes: &[&str], is_behind: [bool; 3]) -> Vec<String> {
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
    let void = digest.void.as_ref().map(|cause| cause.rule.clone());
    cells.extend([
        digest.round.to_string(),
        digest.sequence.to_string(),
        digest.attempt.to_string(),
        void.unwrap_or_default(),
    ]);
    cells.extend(is_behind.map(flag));
    cells.extend([
        flag(digest.ceiling),
        digest.time.clone().unwrap_or_default(),
        number(Some(digest.window_s)),
        number(Some(digest.rate)),
        flag(digest.generator_limited),
        number(Some(digest.goodput)),
    ]);
    cells.extend(times(digest));
    cells.extend([
        number(digest.late_p99_us()),
        digest.outcomes[Outcome::Ok].to_string(),
        digest.lost().to_string(),
        digest.outcomes[Outcome::Timeout].to_string(),
        digest.connections.established.to_string(),
        number(digest.user_us),
        number(digest.system_us),
        number(digest.cpu_us),
        number(digest.generator_us),
        number(digest.busy),
        number(digest.memory),
        number(digest.memory_sockets),
        number(digest.memory_per_connection),
    ]);
    cells.extend(resources(&digest.resources).map(number));
    cells.extend([
        digest
            .connections_before
            .map_or_else(String::new, |count| count.to_string()),
        number(digest.ceiling_here.as_ref().map(|ceiling| ceiling.rate)),
        number(digest.headroom),
        digest.status.name().to_owned(),
        claim(Claim::Capacity),
        claim(Claim::Latency),
        claim(Claim::Comparison),
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
