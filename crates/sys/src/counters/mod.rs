//! What the kernel counts, as typed readings: processes, the machine, sockets.
//!
//! Every reader takes the root of `/proc` as an argument, so that tests feed it fixtures. A file
//! that is missing is an error or none, never a zero.

pub mod disk;
pub mod log;
pub mod process;
pub mod socket;
pub mod system;

/// Reads a list of CPUs as the kernel writes it: `0-2,5`.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        match part.split_once('-') {
            None => cpus.push(part.parse().ok()?),
            Some((first, last)) => cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?),
        }
    }
    Some(cpus)
}

/// A page of memory, the unit in which the kernel counts what sockets hold.
pub fn page_size() -> Option<model::Bytes> {
    let bytes = rustix::param::page_size();
    u64::try_from(bytes).ok().map(model::Bytes::new)
}

/// Kernel ticks as time. USER_HZ is 100 on every Linux that runs today; it is asked all the same.
fn ticks(count: u64) -> model::Span {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    model::Span::from_ns(count.saturating_mul(1_000_000_000 / per_second))
}

#[cfg(test)]
mod tests;
