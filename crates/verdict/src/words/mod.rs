//! Words and numbers as people read them in findings and tables.

use model::environment::{Chrony, TimeSource, Timekeeping};
use model::record::Outage;
use model::usage::Spender;
use model::{Bytes, Record, Span};

pub use crate::number::{all_but, count, plain as rate, share};

/// `[1.72, 1.91]`, `[1.72, …]` where one end is not known; none where neither is.
pub fn interval(ends: (Option<f64>, Option<f64>), show: impl Fn(f64) -> String) -> Option<String> {
    let shown = |end: Option<f64>| end.map_or_else(|| "…".to_owned(), &show);
    let (low, high) = ends;
    (low.is_some() || high.is_some()).then(|| format!("[{}, {}]", shown(low), shown(high)))
}

/// At most so many outages are named; the others are counted.
const OUTAGES_NAMED: usize = 3;

/// `No connection was accepted from 2.1 s to 3.1 s`, instants from the start of the window.
pub fn outages(outages: &[Outage]) -> String {
    let named: Vec<String> = outages
        .iter()
        .take(OUTAGES_NAMED)
        .map(|outage| {
            let end = outage.start + outage.length;
            format!("from {} to {}", seconds(outage.start), seconds(end))
        })
        .collect();
    let more = outages.len().saturating_sub(OUTAGES_NAMED) as u64;
    let more = match more {
        0 => String::new(),
        1 => ", and one more time".to_owned(),
        more => format!(", and {more} more times"),
    };
    format!("No connection was accepted {}{more}", list(&named))
}

/// Seconds, to the tenth or, below one, to the hundredth.
fn seconds(span: Span) -> String {
    let seconds = span.as_s_f64();
    if seconds < 1.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{seconds:.1} s")
    }
}

/// A worker of the generator, as the beginning of a sentence. People count from 1.
pub fn worker(index: u32, record: &Record) -> String {
    match record.workers.len() {
        1 => "The generator's only thread".to_owned(),
        workers => format!("Thread {} of the generator's {workers}", index + 1),
    }
}

/// `1 core`, `2 entries`, `3 processes`: a whole number and its noun.
pub fn plural(number: u64, noun: &str) -> String {
    let shown = count(number);
    if number == 1 {
        format!("{shown} {noun}")
    } else if let Some(stem) = noun.strip_suffix('y') {
        format!("{shown} {stem}ies")
    } else if noun.ends_with('s') {
        format!("{shown} {noun}es")
    } else {
        format!("{shown} {noun}s")
    }
}

/// Names as a sentence has them: `apache, nginx and origin`.
pub fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Who used CPU time: `cc1`, `cc1 (3 processes)`, `short-lived processes of make`.
pub fn spender(spender: &Spender) -> String {
    let name = spender_name(spender);
    if spender.short_lived || spender.processes <= 1 {
        return name;
    }
    let processes = plural(u64::from(spender.processes), "process");
    format!("{name} ({processes})")
}

/// The same without how many there were: `cc1`, `short-lived processes of make`.
pub fn spender_name(spender: &Spender) -> String {
    match spender.short_lived {
        true => format!("short-lived processes of {}", spender.name),
        false => spender.name.clone(),
    }
}

/// The verb to it: `1 line was`, `2 lines were`.
pub const fn was(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

/// CPUs as ranges: `0-3,8`.
pub fn cpus(list: &[u32]) -> String {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let shown: Vec<String> = ranges
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        })
        .collect();
    shown.join(",")
}

/// CPUs with their noun: `CPU 0`, `CPUs 0-1`.
pub fn named_cpus(list: &[u32]) -> String {
    let noun = if list.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {}", cpus(list))
}

/// How much memory a limit allows: `8.0 MiB`.
pub fn limit_of_memory(limit: Bytes) -> String {
    match limit.count() {
        u64::MAX => "no limit".to_owned(),
        _ => limit.to_string(),
    }
}

/// How a clock is kept: `synchronised by chronyd, at most 1.20 ms wrong`, and what chronyd says.
pub fn timekeeping(clock: &Timekeeping) -> String {
    let by = match clock.kept_by.as_slice() {
        [] => String::new(),
        _ => format!(" by {}", list(&clock.kept_by)),
    };
    let mut text = match (clock.synchronised, by.is_empty()) {
        (true, _) => format!("synchronised{by}, at most {} wrong", clock.error_at_most),
        (false, true) => "not synchronised".to_owned(),
        // It has just begun, or does not tell the kernel, or its servers do not answer.
        (false, false) => format!("not synchronised yet{by}"),
    };
    let is_chrony = clock.kept_by.iter().any(|name| name == "chronyd");
    match &clock.chrony {
        Some(chrony) => text.push_str(&format!("; chronyd {}", followed(chrony))),
        None if is_chrony => text.push_str("; what chronyd says is unknown"),
        None => {}
    }
    if !clock.ptp_clocks.is_empty() {
        let noun = match clock.ptp_clocks.len() {
            1 => "PTP clock",
            _ => "PTP clocks",
        };
        text.push_str(&format!("; {noun} of {}", list(&clock.ptp_clocks)));
    }
    text
}

/// What chronyd follows, and how well.
fn followed(chrony: &Chrony) -> String {
    let source = match chrony.source {
        None => return "follows nothing yet".to_owned(),
        Some(TimeSource::Device) => "a device",
        Some(TimeSource::Network) => "a server on the network",
        Some(TimeSource::Own) => "nothing but the machine's own clock",
        Some(TimeSource::Ptp) => "a PTP clock",
    };
    let way = if chrony.offset_ns < 0 {
        "behind"
    } else {
        "ahead"
    };
    format!(
        "follows {source} (stratum {}), {} {way}, root delay {}, root dispersion {}",
        chrony.stratum,
        Span::from_ns(chrony.offset_ns.unsigned_abs()),
        chrony.root_delay,
        chrony.root_dispersion
    )
}

#[cfg(test)]
mod tests;
