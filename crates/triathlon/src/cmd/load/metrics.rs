//! What a run measures, as Prometheus reads it, while it goes on: one thread, one page.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use fleet::Interval;
use load::Notice;
use load::progress::Published;
use model::Distribution;
use model::units::Span;

use crate::out;

/// How long somebody who asks may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// The quantiles of the last interval that are told.
const QUANTILES: [(f64, &str); 4] = [(0.5, "0.5"), (0.9, "0.9"), (0.99, "0.99"), (0.999, "0.999")];

/// What the last interval was like.
struct Last<'a> {
    connections: u64,
    rate: f64,
    /// None where the load is made in several processes or by agents, of whose quantiles none of
    /// all follows.
    response_time: Option<&'a Distribution>,
    /// How many agents told nothing of it; none where no agents make the load.
    missing: Option<usize>,
}

impl<'a> Last<'a> {
    fn of(interval: &'a Published) -> Self {
        // Who tells of it without counts tells no times either.
        let has_times = interval.counts.is_some();
        Self {
            connections: interval.connections,
            rate: super::output::rate(interval.ok, interval.length),
            response_time: has_times.then_some(&interval.response_time),
            missing: None,
        }
    }

    fn of_agents(interval: &Interval) -> Self {
        Self {
            connections: interval.connections,
            rate: super::output::rate(interval.right, interval.length),
            response_time: None,
            missing: Some(interval.missing.len()),
        }
    }
}

/// The page, as it is now.
#[derive(Debug)]
pub(super) struct Metrics {
    page: Arc<Mutex<String>>,
    right: u64,
    failed: u64,
}

impl Metrics {
    /// Listens at `address`, and says where.
    pub(super) fn listen(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address)
            .with_context(|| format!("--metrics: cannot listen at {address}"))?;
        let bound = listener
            .local_addr()
            .context("--metrics: cannot read the address")?;
        let page = Arc::new(Mutex::new(page(0, 0, None)));
        let shown = Arc::clone(&page);
        std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    let page = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // Whoever goes away has no answer.
                    let _gone = answer(stream, &page);
                }
            })
            .context("--metrics: cannot start a thread")?;
        out::note(format_args!("metrics at http://{bound}/metrics"));
        Ok(Self {
            page,
            right: 0,
            failed: 0,
        })
    }

    /// An interval is over.
    pub(super) fn notice(&mut self, notice: &Notice) {
        let Notice::Interval(interval) = notice else {
            return;
        };
        self.add(interval.ok, interval.failures, &Last::of(interval));
    }

    /// Agents told of an interval.
    pub(super) fn hear_agents(&mut self, interval: &Interval) {
        let last = Last::of_agents(interval);
        self.add(interval.right, interval.failed, &last);
    }

    fn add(&mut self, right: u64, failed: u64, last: &Last<'_>) {
        self.right += right;
        self.failed += failed;
        let page = page(self.right, self.failed, Some(last));
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }
}

/// Reads a request head, and sends the page or says that there is no other.
fn answer(mut stream: TcpStream, page: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut head, mut buffer) = (Vec::new(), [0; 1_024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 16 * 1_024 {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    stream.write_all(answer_to(&head, page).as_bytes())
}

/// What somebody gets who sends this head. The page is that of two paths.
fn answer_to(head: &[u8], page: &str) -> String {
    let target = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    let path = target.split(|byte| *byte == b'?').next();
    let (status, content) = match path {
        Some(b"/" | b"/metrics") => ("200 OK", page),
        _ => ("404 Not Found", "the metrics are at /metrics\n"),
    };
    let length = content.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
}

fn page(right: u64, failed: u64, last: Option<&Last<'_>>) -> String {
    let mut out = String::new();
    let mut tell = |name: &str, kind: &str, help: &str, lines: &[String]| {
        let head = format!("# HELP triathlon_{name} {help}\n# TYPE triathlon_{name} {kind}\n");
        out.push_str(&head);
        for line in lines {
            out.push_str("triathlon_");
            out.push_str(name);
            out.push_str(line);
            out.push('\n');
        }
    };
    tell(
        "exchanges_total",
        "counter",
        "Exchanges that ended in the window.",
        &[
            format!("{{outcome=\"right\"}} {right}"),
            format!("{{outcome=\"failed\"}} {failed}"),
        ],
    );
    let Some(last) = last else { return out };
    tell(
        "connections",
        "gauge",
        "Connections that are open.",
        &[format!(" {}", last.connections)],
    );
    tell(
        "right_answers_per_second",
        "gauge",
        "Right answers per second of the last interval.",
        &[format!(" {}", last.rate)],
    );
    if let Some(missing) = last.missing {
        tell(
            "missing_agents",
            "gauge",
            "Agents that told nothing of the last interval, which counts without them.",
            &[format!(" {missing}")],
        );
    }
    let Some(response_time) = last.response_time else {
        return out;
    };
    let mut lines = Vec::new();
    for (q, name) in QUANTILES {
        let mut line = format!("{{quantile=\"{name}\"}} ");
        let seconds = response_time.quantile(q).map(Span::as_s_f64);
        let seconds = match seconds {
            Some(seconds) => seconds.to_string(),
            // Nothing ended.
            None if response_time.is_empty() => "NaN".to_owned(),
            // It falls among those that failed, which is longer than anything seen.
            None => "+Inf".to_owned(),
        };
        line.push_str(&seconds);
        lines.push(line);
    }
    tell(
        "response_time_seconds",
        "summary",
        "Response times of the last interval.",
        &lines,
    );
    out
}

#[cfg(test)]
mod tests {
    use model::distribution::Shape;

    use super::*;

    #[test]
    fn other_paths_have_no_page() {
        let check = |target: &str, status: &str| {
            let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
            let text = answer_to(head.as_bytes(), "page");
            assert!(
                text.starts_with(&format!("HTTP/1.1 {status} ")),
                "{target}: {text}"
            );
            assert_eq!(text.ends_with("\r\n\r\npage"), status == "200", "{text}");
        };
        check("/metrics", "200");
        check("/metrics?x=1", "200");
        check("/", "200");
        check("/nope", "404");
        check("", "404");
    }

    #[test]
    fn a_page_is_what_prometheus_reads() {
        let mut response_time = Distribution::new(Shape::INTERVAL);
        response_time.record_n(Span::from_ms(2), 10);
        let last = Published {
            start: Span::ZERO,
            length: Span::from_s(1),
            ok: 10,
            failures: 1,
            connections: 4,
            response_time,
            counts: Some(Box::default()),
        };
        let text = page(10, 1, Some(&Last::of(&last)));
        for line in text.lines() {
            let is_comment = line.starts_with("# HELP triathlon_") || line.starts_with("# TYPE ");
            let value = line
                .rsplit(' ')
                .next()
                .and_then(|word| word.parse::<f64>().ok());
            assert!(is_comment || value.is_some(), "{line}");
        }
        for expected in [
            "triathlon_exchanges_total{outcome=\"right\"} 10\n",
            "triathlon_connections 4\n",
            "triathlon_right_answers_per_second 10\n",
            "triathlon_response_time_seconds{quantile=\"0.99\"} 0.00",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("missing_agents"), "{text}");
    }

    /// Longer than any where all failed; no number where nothing ended.
    #[test]
    fn a_second_without_answers_has_no_times() {
        let last = |failed: u64| {
            let mut response_time = Distribution::new(Shape::INTERVAL);
            response_time.record_censored_n(failed);
            Published {
                start: Span::ZERO,
                length: Span::from_s(1),
                ok: 0,
                failures: failed,
                connections: 4,
                response_time,
                counts: Some(Box::default()),
            }
        };
        for (failed, value) in [(3, "+Inf"), (0, "NaN")] {
            let last = last(failed);
            let text = page(0, failed, Some(&Last::of(&last)));
            let line = format!("triathlon_response_time_seconds{{quantile=\"0.5\"}} {value}\n");
            assert!(text.contains(&line), "{text}");
        }
    }

    /// Nobody knows a quantile of what was told without times.
    #[test]
    fn a_page_has_no_times_that_nobody_told() {
        let divided = Published {
            start: Span::ZERO,
            length: Span::from_s(1),
            ok: 10,
            failures: 1,
            connections: 4,
            response_time: Distribution::new(Shape::INTERVAL),
            counts: None,
        };
        let of_agents = Interval {
            start: Span::ZERO,
            length: Span::from_s(1),
            right: 10,
            failed: 1,
            connections: 4,
            bytes_received: model::Bytes::new(70),
            response_time_p99_at_most: Some(Span::from_ms(2)),
            missing: vec!["gen2".parse().unwrap()],
        };
        for last in [Last::of(&divided), Last::of_agents(&of_agents)] {
            let text = page(10, 1, Some(&last));
            assert!(text.contains("triathlon_connections 4\n"), "{text}");
            let rate = "triathlon_right_answers_per_second 10\n";
            assert!(text.contains(rate), "{text}");
            assert!(!text.contains("response_time"), "{text}");
            let is_told = text.contains("triathlon_missing_agents 1\n");
            assert_eq!(is_told, last.missing.is_some(), "{text}");
        }
    }
}
