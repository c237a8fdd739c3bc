//! What ab prints.

use std::fmt::Write as _;

use anyhow::Context as _;
use model::record::Reference;
use model::{Distribution, Outcome, Trial};

use super::super::figures::{Figures, Row, connecting, number, parts, quantile};
use super::super::given::Given;

/// What ab prints.
pub(super) fn told(given: &Given, url: &str, trial: &Trial) -> anyhow::Result<String> {
    if let Some(path) = given.value("-e") {
        std::fs::write(path, percentages(&trial.record.response_time))
            .with_context(|| format!("-e: cannot write {path}"))?;
    }
    let figures = Figures::new(trial);
    let mut out = head(given, url, trial)?;
    out.push_str(&summary(given, figures));
    if trial.record.response_time.count() > 0 {
        out.push_str(&times(given, trial));
    }
    Ok(out)
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    writeln!(out, "{:<23} {value}", format!("{name}:")).expect("a string takes it");
}

/// What was asked, and of whom.
fn head(given: &Given, url: &str, trial: &Trial) -> anyhow::Result<String> {
    let figures = Figures::new(trial);
    let url = parts(url)?;
    let mut out = format!(
        "This is ApacheBench, Version 2.3 <$Revision$>, as Triathlon {} has it\n\n\
         Benchmarking {} (be patient).....done\n\n\n",
        env!("CARGO_PKG_VERSION"),
        url.host
    );
    let reference = figures.reference().cloned().unwrap_or_default();
    let server = reference.server.as_deref().unwrap_or_default();
    line(&mut out, "Server Software", server);
    line(&mut out, "Server Hostname", &url.host);
    line(&mut out, "Server Port", url.port);
    tls_lines(&mut out, &reference, &url.host);
    out.push('\n');
    line(&mut out, "Document Path", &url.path);
    if given.is("-l") {
        line(&mut out, "Document Length", "Variable");
    } else {
        let length = format!("{} bytes", reference.length);
        line(&mut out, "Document Length", length);
    }
    out.push('\n');
    line(&mut out, "Concurrency Level", trial.plan.connections);
    Ok(out)
}

fn tls_lines(out: &mut String, reference: &Reference, host: &str) {
    let Some(tls) = &reference.tls else { return };
    let protocol = format!("TLSv{},{}", tls.version, tls.suite);
    line(out, "SSL/TLS Protocol", protocol);
    if let Some(group) = &tls.group {
        line(out, "Server Temp Key", group);
    }
    line(out, "TLS Server Name", host);
}

/// What was counted.
fn summary(given: &Given, figures: Figures<'_>) -> String {
    let mut out = String::new();
    let seconds = figures.seconds();
    let complete = figures.complete();
    line(
        &mut out,
        "Time taken for tests",
        format!("{seconds:.3} seconds"),
    );
    line(&mut out, "Complete requests", complete);
    let length = figures.of(Outcome::Content);
    let exceptions = figures.of(Outcome::Timeout) + figures.of(Outcome::Write);
    let (connect, receive) = (figures.connect(), figures.read());
    let failed = connect + receive + length + exceptions;
    line(&mut out, "Failed requests", failed);
    if failed > 0 {
        out.push_str(&format!(
            "   (Connect: {connect}, Receive: {receive}, Length: {length}, Exceptions: \
             {exceptions})\n"
        ));
    }
    let others = complete - figures.hundred(2);
    if others > 0 {
        line(&mut out, "Non-2xx responses", others);
    }
    let tally = &figures.trial.record.total;
    if given.is("-k") {
        let kept = complete.saturating_sub(tally.close_announced);
        line(&mut out, "Keep-Alive requests", kept);
    }
    let received = figures.received();
    line(&mut out, "Total transferred", format!("{received} bytes"));
    if given.is("-p") || given.is("-u") {
        line(&mut out, "Total body sent", tally.bytes_sent.count());
    }
    line(
        &mut out,
        "HTML transferred",
        format!("{} bytes", figures.content()),
    );
    out.push_str(&rates(given, figures));
    out
}

fn rates(given: &Given, figures: Figures<'_>) -> String {
    let mut out = String::new();
    let (seconds, complete) = (figures.seconds(), figures.complete());
    if complete == 0 {
        return out;
    }
    let (each, all) = (seconds * 1e3 / number(complete), number(complete));
    let at_a_time = f64::from(figures.trial.plan.connections);
    let kbytes = |bytes: u64| number(bytes) / 1024.0 / seconds;
    line(
        &mut out,
        "Requests per second",
        format!("{:.2} [#/sec] (mean)", all / seconds),
    );
    line(
        &mut out,
        "Time per request",
        format!("{:.3} [ms] (mean)", each * at_a_time),
    );
    line(
        &mut out,
        "Time per request",
        format!("{each:.3} [ms] (mean, across all concurrent requests)"),
    );
    let received = kbytes(figures.received());
    line(
        &mut out,
        "Transfer rate",
        format!("{received:.2} [Kbytes/sec] received"),
    );
    if given.is("-p") || given.is("-u") {
        let sent = kbytes(figures.trial.record.total.bytes_sent.count());
        out.push_str(&format!("{:24}{sent:.2} kb/s sent\n", ""));
        out.push_str(&format!("{:24}{:.2} kb/s total\n", "", sent + received));
    }
    out
}

/// Where the time went.
fn times(given: &Given, trial: &Trial) -> String {
    let record = &trial.record;
    let answers = record.response_time.count();
    // Requests on a connection that is there take no time to connect.
    let connecting = connecting(record);
    let kept = answers.saturating_sub(connecting.count());
    let rows = [
        (
            "Connect",
            "the initial connection time",
            Row::of(&connecting, kept),
        ),
        (
            "Processing",
            "the processing time",
            Row::of(&record.service_time, 0),
        ),
        (
            "Waiting",
            "the waiting time",
            Row::of(&record.first_byte_time, 0),
        ),
        ("Total", "the total time", Row::of(&record.response_time, 0)),
    ];
    let mut out = String::from("\nConnection Times (ms)\n");
    if given.is("-S") {
        out.push_str("              min   avg   max\n");
        for (name, _, row) in &rows {
            let [min, mean, max] = [row.min, row.mean, row.max].map(f64::round);
            let name = format!("{name}:");
            out.push_str(&format!("{name:<12}{min:5} {mean:5} {max:5}\n"));
        }
    } else {
        out.push_str("              min  mean[+/-sd] median   max\n");
        for (name, _, row) in &rows {
            let [min, mean, median, max] = [row.min, row.mean, row.median, row.max].map(f64::round);
            let name = format!("{name}:");
            out.push_str(&format!(
                "{name:<12}{min:5} {mean:4} {:5.1} {median:6} {max:7}\n",
                row.deviation
            ));
        }
        for (_, what, row) in &rows {
            out.push_str(&warning(what, row));
        }
    }
    if !given.is("-d") && answers > 1 {
        out.push_str(&served(&record.response_time));
    }
    out
}

/// ab's own estimate of what a mean is worth.
fn warning(what: &str, row: &Row) -> String {
    let apart = (row.mean - row.median).abs();
    if apart > 2.0 * row.deviation {
        format!(
            "ERROR: The median and mean for {what} are more than twice the standard\n       \
             deviation apart. These results are NOT reliable.\n"
        )
    } else if apart > row.deviation {
        format!(
            "WARNING: The median and mean for {what} are not within a normal deviation\n        \
             These results are probably not that reliable.\n"
        )
    } else {
        String::new()
    }
}

fn served(times: &Distribution) -> String {
    let mut out = String::from("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in [50_u32, 66, 75, 80, 90, 95, 98, 99] {
        let value = quantile(times, f64::from(percent) / 100.0) / 1e3;
        out.push_str(&format!("  {percent}%  {:5}\n", value.round()));
    }
    let longest = times.max().unwrap_or_default().as_us_f64() / 1e3;
    out.push_str(&format!(" 100%  {:5} (longest request)\n", longest.round()));
    out
}

/// The file of -e.
fn percentages(times: &Distribution) -> String {
    let mut out = String::from("Percentage served,Time in ms\n");
    for percent in 0..=100_u32 {
        let value = quantile(times, f64::from(percent) / 100.0) / 1e3;
        out.push_str(&format!("{percent},{value:.3}\n"));
    }
    out
}
