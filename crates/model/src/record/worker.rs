//! What one worker of the generator did, and when none of its connects succeeded.

use serde::{Deserialize, Serialize};

use super::Record;
use crate::distribution::Distribution;
use crate::units::Span;

/// One worker: a thread of the generator.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Worker {
    /// Its position among the workers, from 0.
    pub index: u32,
    /// The agent on whose machine it ran; none: on this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Its thread id, so that meters find it.
    pub thread_id: Option<u32>,
    /// Right answers in the measured window.
    pub ok: u64,
    /// The part of the window that this record covers.
    #[serde(rename = "window_ns")]
    pub window: Span,
    /// Time outside waits and empty polls: GEN-01 reads its share of the window.
    #[serde(rename = "busy_ns")]
    pub busy: Span,
    /// CPU time burnt in empty polls.
    #[serde(rename = "spin_ns")]
    pub spin: Span,
    /// CPU time of the thread in the window, from its own clock; none if unreadable.
    #[serde(rename = "cpu_ns")]
    pub cpu_time: Option<Span>,
    /// Time spent runnable but not running in the window; none if unreadable.
    #[serde(rename = "runqueue_wait_ns")]
    pub runqueue_wait: Option<Span>,
    /// How far the readings of these times lie apart, where that is more than the window: who has
    /// no CPU notices late that it ends. None where it is the window.
    #[serde(
        rename = "read_over_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub read_over: Option<Span>,
    /// Batches of events handled and events in them.
    pub batches: u64,
    /// Events handled.
    pub events: u64,
    /// How long handling one batch took.
    pub batch_time: Option<Distribution>,
    /// The integral of exchanges in flight over the window, in exchange-nanoseconds, kept
    /// independently of the distributions: Little's law is checked against it.
    pub outstanding_integral_ns: u64,
    /// How long the exchanges that were in flight when the window began had been by then, summed
    /// up; none if unknown.
    #[serde(rename = "age_at_start_ns", default)]
    pub age_at_start: Option<Span>,
    /// The same of those in flight when the window ended.
    #[serde(rename = "age_at_end_ns", default)]
    pub age_at_end: Option<Span>,
    /// Exchanges that were under way through the whole window: sent before it began, and not over
    /// when it ended. Where a connection has one at a time, it got no answer in the window. None if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled: Option<u64>,
    /// Its share of the plan's connections.
    pub connections: u32,
    /// When none of its connects succeeded, at most the 32 longest of such times in the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// How long its connections waited in the window before they were made again, because the one
    /// before had failed or broken, summed up.
    #[serde(rename = "backed_off_ns", default)]
    pub backed_off: Span,
}

/// A time in which connects failed and none succeeded.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outage {
    /// When it began, from the start of the measured window.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// How long it was; at most to the end of the window.
    #[serde(rename = "length_ns")]
    pub length: Span,
}

/// A shorter time without a connection is one failed connect, and told as that.
const OUTAGE_MIN: Span = Span::from_ms(5);

/// How busy a thread was in a shorter window is chance.
const BUSY_WINDOW_MIN: Span = Span::from_ms(10);

impl Worker {
    /// Its time outside waits and empty polls, as a share of its window, less what it was kept from
    /// its CPU meanwhile: a thread that had half a CPU was not busy for the other half. One that got
    /// answers without being busy did not measure how busy it was, and a window below 10 ms says
    /// nothing: a single batch of events is a tenth of a millisecond.
    pub fn busy_share(&self) -> Option<f64> {
        let measured = self.window >= BUSY_WINDOW_MIN && (!self.busy.is_zero() || self.ok == 0);
        measured.then(|| (self.busy_on_cpu().as_s_f64() / self.window.as_s_f64()).min(1.0))
    }

    /// Busy time is told by the clock on the wall. What is missing of it on the thread's own clock
    /// was somebody else's, as far as the thread was ready meanwhile.
    fn busy_on_cpu(&self) -> Span {
        let (Some(cpu), Some(wait)) = (self.cpu_time, self.runqueue_wait) else {
            return self.busy;
        };
        self.busy.min(cpu.max(self.busy.saturating_sub(wait)))
    }
}

impl Record {
    /// Times in which connects failed and none succeeded, whichever worker made them: what all
    /// workers that have connections had at once.
    pub fn outages(&self) -> Vec<Outage> {
        let workers = || self.workers.iter().filter(|worker| worker.connections > 0);
        let mut edges: Vec<(Span, bool)> = workers()
            .flat_map(|worker| &worker.outages)
            .flat_map(|outage| [(outage.start, true), (outage.start + outage.length, false)])
            .collect();
        edges.sort_unstable();
        let (all, mut down) = (workers().count(), 0);
        let mut together: Vec<Outage> = Vec::new();
        let mut since = None;
        for (at, begins) in edges {
            match begins {
                true => down += 1,
                false => down -= 1,
            }
            if down == all {
                since = Some(at);
            } else if let Some(start) = since.take() {
                let length = at - start;
                together.push(Outage { start, length });
            }
        }
        together.retain(|outage| outage.length >= OUTAGE_MIN);
        together
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_never_busier_than_always_and_short_windows_say_nothing() {
        let of = |window_ms: u64, busy_ms: u64| {
            let worker = Worker {
                window: Span::from_ms(window_ms),
                busy: Span::from_ms(busy_ms),
                ok: 10,
                ..Worker::default()
            };
            worker.busy_share()
        };
        assert_eq!(of(9, 9), None);
        assert_eq!(of(100, 50), Some(0.5));
        assert_eq!(of(100, 107), Some(1.0));
    }

    #[test]
    fn an_outage_is_one_of_all_workers() {
        let of = |workers: &[&[(u64, u64)]]| {
            let worker = |outages: &&[(u64, u64)]| Worker {
                connections: 1,
                outages: outages
                    .iter()
                    .map(|(start, length)| Outage {
                        start: Span::from_ms(*start),
                        length: Span::from_ms(*length),
                    })
                    .collect(),
                ..Worker::default()
            };
            let mut record = Record {
                workers: workers.iter().map(worker).collect(),
                ..Record::default()
            };
            // One that has no connections knows nothing.
            record.workers.push(Worker::default());
            let outages = record.outages().into_iter();
            let ms = |span: Span| span.as_ns() / 1_000_000;
            let told = outages.map(|outage| (ms(outage.start), ms(outage.length)));
            told.collect::<Vec<_>>()
        };
        assert_eq!(of(&[&[(10, 20), (50, 4)]]), [(10, 20)]);
        assert_eq!(of(&[&[(10, 20)], &[]]), []);
        assert_eq!(
            of(&[&[(10, 20), (40, 20)], &[(15, 40)]]),
            [(15, 15), (40, 15)]
        );
        // They touch, and nobody was cut off at once.
        assert_eq!(of(&[&[(10, 20)], &[(30, 20)]]), []);
    }
}
