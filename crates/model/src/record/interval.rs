//! The measured window, cut into stretches.

use serde::{Deserialize, Serialize};

use super::Tally;
use crate::distribution::{Distribution, Shape};
use crate::units::{Rate, Span};

/// One stretch of the measured window.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// From the start of the measured window.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// How long it was; the last one is as long as the window left it.
    #[serde(rename = "length_ns")]
    pub length: Span,
    /// What happened in it.
    #[serde(flatten)]
    pub tally: Tally,
    /// Response times of the right answers that ended in it, coarser than the total.
    pub response_time: Distribution,
    /// The rate at which requests were to be sent in it, where the plan changes that.
    #[serde(
        rename = "scheduled_rate_per_1000_s",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub scheduled: Option<Rate>,
}

impl Interval {
    /// An empty one.
    pub fn new(start: Span, length: Span) -> Self {
        Self {
            start,
            length,
            tally: Tally::default(),
            response_time: Distribution::new(Shape::INTERVAL),
            scheduled: None,
        }
    }
}

/// Adds interval by interval. Records of one plan share their interval length up to powers of
/// two, because each halves its resolution when full: the finer one is coarsened first.
pub(super) fn merge(mine: &mut Vec<Interval>, mut theirs: Vec<Interval>) {
    if mine.is_empty() {
        *mine = theirs;
        return;
    }
    let full = |intervals: &[Interval]| intervals.first().map_or(Span::ZERO, |first| first.length);
    while theirs.len() > 1 && full(mine) >= full(&theirs) * 2 {
        coarsen(&mut theirs);
    }
    while mine.len() > 1 && full(&theirs) >= full(mine) * 2 {
        coarsen(mine);
    }
    for (position, interval) in theirs.into_iter().enumerate() {
        match mine.get_mut(position) {
            Some(ours) => {
                ours.length = ours.length.max(interval.length);
                ours.tally.merge(&interval.tally);
                ours.response_time.merge(&interval.response_time);
            }
            None => mine.push(interval),
        }
    }
}

/// Merges neighbours: half as many intervals, each twice as long.
pub fn coarsen(intervals: &mut Vec<Interval>) {
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len() / 2 + 1);
    for (position, interval) in intervals.drain(..).enumerate() {
        match merged.last_mut() {
            Some(last) if position % 2 == 1 => {
                last.length += interval.length;
                last.tally.merge(&interval.tally);
                last.response_time.merge(&interval.response_time);
            }
            _ => merged.push(interval),
        }
    }
    *intervals = merged;
}
