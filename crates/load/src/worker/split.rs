//! Where response times go: on some connections the kernel notes when it sends and receives, and
//! each exchange there is cut at those instants.
//!
//! Which connections those are follows from their places alone, so that nothing about a server, and
//! no answer, decides who is looked at.

use model::plan::Plan;
use model::record::TimeSplit;
use model::units::{Instant, Span};
use sys::reactor::{KernelTimes, Key, Reactor};

use crate::recorder::Recorder;

/// The connections of one worker whose exchanges are cut.
#[derive(Debug)]
pub(crate) struct Split {
    places: Box<[Place]>,
    split: TimeSplit,
}

/// Where one connection stands. The place stays, connections come and go.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    is_cut: bool,
    /// The connection whose times the kernel notes.
    key: Option<Key>,
    begun: Option<Begun>,
}

/// What is known of an exchange that was handed in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) due: Instant,
    pub(super) ready: Instant,
    pub(super) sent: Instant,
}

impl Split {
    /// That of worker `index` of `plan`, if its exchanges are to be cut. One connection in so many
    /// over all workers, and the first of each worker.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let one_in = plan.file().split_one_in?.max(1);
        let place = |place: u32| Place {
            is_cut: place.is_multiple_of(one_in),
            ..Place::default()
        };
        Some(Self {
            places: (0..plan.connections_of(index)).map(place).collect(),
            split: TimeSplit::default(),
        })
    }

    /// The connection with this key, in `place`, is established and has sent nothing.
    pub(super) fn established(&mut self, place: u32, key: Key, reactor: &mut impl Reactor) {
        let here = &mut self.places[place as usize];
        if !here.is_cut {
            return;
        }
        let is_noted = reactor.note_times(key);
        here.key = is_noted.then_some(key);
        here.begun = None;
        self.split.connections += u64::from(is_noted);
        self.split.refused += u64::from(!is_noted);
    }

    /// An exchange in `place` was handed in.
    pub(super) fn sent(&mut self, place: u32, key: Key, begun: Begun) {
        let here = &mut self.places[place as usize];
        if here.key == Some(key) {
            here.begun = Some(begun);
        }
    }

    /// The exchange in `place` was answered, and ended at `ended`.
    pub(super) fn answered(
        &mut self,
        place: u32,
        key: Key,
        ended: Instant,
        reactor: &mut impl Reactor,
        recorder: &Recorder,
    ) {
        let here = &mut self.places[place as usize];
        let Some(begun) = here.begun.take_if(|_| here.key == Some(key)) else {
            return;
        };
        let times = reactor.kernel_times(key);
        if recorder.is_in_window(begun.due) {
            self.cut(begun, times, ended);
        }
    }

    fn cut(&mut self, begun: Begun, times: KernelTimes, ended: Instant) {
        let Begun { due, ready, sent } = begun;
        let (Some(left), Some(came)) = (times.sent, times.received) else {
            self.split.incomplete += 1;
            return;
        };
        // What came before the last byte was sent is an answer to an earlier one, or to a part.
        if came < left {
            self.split.incomplete += 1;
            return;
        }
        let from = |earlier: Instant, later: Instant| -> Span { later.saturating_since(earlier) };
        let split = &mut self.split;
        split.response.record(from(due, ended));
        split.blocked.record(from(due, ready));
        split.late.record(from(ready, sent));
        split.client_send.record(from(sent, left));
        split.outside.record(from(left, came));
        split.client_wakeup.record(from(came, ended));
        let added = from(ready, sent) + from(came, ended);
        split.client_added.record(added);
    }

    /// What was seen.
    pub(super) fn told(&mut self) -> TimeSplit {
        std::mem::take(&mut self.split)
    }
}
