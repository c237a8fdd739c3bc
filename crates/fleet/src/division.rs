//! Which of a plan's workers each agent has.
//!
//! Workers keep their number among all of them, and with it their connections, their arrivals,
//! their source addresses and their randomness: a plan is the same load, however many agents make
//! it.

use std::ops::Range;

/// Divides `workers` among agents that have so many CPUs: each agent has one worker at least, and
/// of the others as large a share as it has of the other CPUs. None where there are fewer workers
/// than agents.
pub fn divide(workers: u32, cpus: &[usize]) -> Option<Vec<Range<u32>>> {
    let agents = u64::try_from(cpus.len()).ok()?;
    let others = u64::from(workers).checked_sub(agents)?;
    let weights: Vec<u64> = cpus.iter().map(|cpus| *cpus as u64).collect();
    let spare: Vec<u64> = match weights.iter().any(|cpus| *cpus > 1) {
        true => weights.iter().map(|cpus| cpus.saturating_sub(1)).collect(),
        false => vec![1; cpus.len()],
    };
    let all: u64 = spare.iter().sum();
    let mut ranges = Vec::with_capacity(cpus.len());
    let (mut first, mut before, mut had) = (0, 0, 0);
    for spare in spare {
        before += spare;
        let until = others * before / all.max(1);
        let end = first + 1 + u32::try_from(until - had).ok()?;
        had = until;
        ranges.push(first..end);
        first = end;
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_divided_by_cpus() {
        let check = |workers: u32, cpus: &[usize], expected: &[Range<u32>]| {
            let divided = divide(workers, cpus).unwrap();
            assert_eq!(divided, expected, "{workers} {cpus:?}");
        };
        check(4, &[2, 2], &[0..2, 2..4]);
        check(6, &[2, 4], &[0..2, 2..6]);
        check(2, &[64, 1], &[0..1, 1..2]);
        check(3, &[1, 1], &[0..1, 1..3]);
        check(5, &[8], std::slice::from_ref(&(0..5)));
        // As many as there are CPUs: one on each.
        check(9, &[1, 3, 5], &[0..1, 1..4, 4..9]);
    }

    #[test]
    fn every_worker_has_one_agent_and_every_agent_a_worker() {
        for workers in 1..40 {
            for cpus in [&[1][..], &[2, 2], &[1, 7, 3], &[64, 1, 1, 2]] {
                let Some(ranges) = divide(workers, cpus) else {
                    assert!((workers as usize) < cpus.len());
                    continue;
                };
                let mut next = 0;
                for range in &ranges {
                    assert_eq!(range.start, next, "{workers} {cpus:?}");
                    assert!(range.end > range.start, "{workers} {cpus:?}");
                    next = range.end;
                }
                assert_eq!((next, ranges.len()), (workers, cpus.len()));
            }
        }
    }
}
