//! Answers given before, found again by the exact bytes of the request's head, and sent from where
//! they lie.
//!
//! Clients that ask often ask in the same words. Where a head is byte for byte one that was
//! answered before, and the answer still holds, nothing is parsed and nothing copied: the reactor
//! has the bytes. They have a date, so an answer is stored anew when it is asked for in another
//! second. Whoever the client is makes no difference; a single different byte takes the long way.
//!
//! Cost: one comparison with the head answered last; else a search for its end, a hash, a
//! comparison. Once a second for each answer that is asked for, a copy.

use std::cell::Cell;
use std::fs::File;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::rc::Rc;
use std::sync::Arc;

use model::Instant;
use sys::reactor::{Reactor, Stored};
use wire::{Part, date};

use crate::head::Today;

/// Places; a new answer takes the place of whoever hashes to it.
const PLACES: usize = 512;
/// Longer heads are not kept.
const HEAD_LIMIT: usize = 2 * 1024;
/// Longer answers are not kept: a small file fits with its head.
pub(crate) const ANSWER_LIMIT: usize = 18 * 1024;
/// All that is kept: an answer counts twice, because the reactor has its bytes too.
const KEPT_LIMIT: usize = 8 * 1024 * 1024;

/// The answers that one worker has given.
#[derive(Debug)]
pub(crate) struct Answers {
    places: Vec<Option<Rc<Answer>>>,
    last: usize,
    /// Where the search for one to give up goes on.
    hand: usize,
    kept_bytes: usize,
    /// What the reactor still has of those that were given up.
    given_up: Vec<Stored>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The request's head, byte for byte.
    pub(crate) request: Box<[u8]>,
    /// Head and content, or the head alone.
    pub(crate) bytes: Box<[u8]>,
    /// What follows them.
    pub(crate) rest: Option<Part<Arc<File>>>,
    /// Where its date starts; none where there is no date.
    pub(crate) date_at: Option<usize>,
    /// Until when it holds without looking at the file again.
    pub(crate) holds_until: Instant,
    /// What the access log says of it, after the time.
    pub(crate) log_tail: Box<[u8]>,
    /// Where it is found again, and by what the reactor knows it.
    pub(crate) place: Place,
}

/// What changes about an answer while connections may hold it.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The bytes as the reactor has them, and the second of their date.
    stored: Cell<Option<(Stored, u64)>>,
    /// It was asked for since the search for one to give up came by.
    was_used: Cell<bool>,
    /// It is found no more.
    is_given_up: Cell<bool>,
}

impl Answer {
    fn cost(&self) -> usize {
        size_of::<Self>() + self.request.len() + 2 * self.bytes.len() + self.log_tail.len()
    }

    /// Appends it to `out`, dated today.
    pub(crate) fn copy(&self, today: &Today, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        if let Some(at) = self.date_at {
            out[start + at..start + at + date::LENGTH].copy_from_slice(&today.text);
        }
    }

    /// By what the reactor knows it, dated today.
    #[inline]
    pub(crate) fn stored(&self, today: &Today, reactor: &mut impl Reactor) -> Stored {
        let second = self.date_at.map_or(0, |_| today.second);
        if let Some((stored, of)) = self.place.stored.get()
            && of == second
        {
            return stored;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        self.copy(today, &mut bytes);
        let stored = reactor.store(bytes);
        if let Some((old, _)) = self.place.stored.replace(Some((stored, second))) {
            reactor.discard(old);
        }
        stored
    }

    /// To be called after it was sent: an answer that was given up meanwhile leaves nothing behind.
    #[inline]
    pub(crate) fn was_sent(&self, reactor: &mut impl Reactor) {
        if self.place.is_given_up.get()
            && let Some((stored, _)) = self.place.stored.take()
        {
            reactor.discard(stored);
        }
    }
}

impl Answers {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            places: std::iter::repeat_with(|| None).take(PLACES).collect(),
            last: 0,
            hand: 0,
            kept_bytes: 0,
            given_up: Vec::new(),
            hasher: BuildHasherDefault::new(),
        }
    }

    /// The answer to the request whose head `bytes` begin with, if it still holds.
    #[inline]
    pub(crate) fn find(&mut self, bytes: &[u8], now: Instant) -> Option<&Rc<Answer>> {
        let is_last = self.places[self.last]
            .as_ref()
            .is_some_and(|answer| bytes.starts_with(&answer.request));
        if !is_last {
            let window = &bytes[..bytes.len().min(HEAD_LIMIT)];
            let end = memchr::memmem::find(window, b"\r\n\r\n")? + 4;
            let place = self.place(&window[..end]);
            let answer = self.places[place].as_ref()?;
            if *answer.request != window[..end] {
                return None;
            }
            self.last = place;
        }
        let answer = self.places[self.last].as_ref()?;
        if now >= answer.holds_until {
            return None;
        }
        answer.place.was_used.set(true);
        Some(answer)
    }

    /// Whether an answer of that length to a request head of that length would be kept.
    pub(crate) const fn keeps(request: &[u8], answer: &[u8]) -> bool {
        request.len() <= HEAD_LIMIT && answer.len() <= ANSWER_LIMIT
    }

    /// Keeps `answer` for the next who asks the same.
    pub(crate) fn keep(&mut self, answer: Answer) {
        debug_assert!(Self::keeps(&answer.request, &answer.bytes));
        let place = self.place(&answer.request);
        self.give_up(place);
        while self.kept_bytes + answer.cost() > KEPT_LIMIT {
            self.give_up_one();
        }
        self.kept_bytes += answer.cost();
        self.places[place] = Some(Rc::new(answer));
        self.last = place;
    }

    /// Tells the reactor to forget what was given up.
    #[inline]
    pub(crate) fn discard(&mut self, reactor: &mut impl Reactor) {
        while let Some(stored) = self.given_up.pop() {
            reactor.discard(stored);
        }
    }

    /// Gives up the next that was not asked for since it was last spared.
    fn give_up_one(&mut self) {
        loop {
            self.hand = (self.hand + 1) % PLACES;
            match &self.places[self.hand] {
                Some(answer) if answer.place.was_used.take() => {}
                Some(_) => return self.give_up(self.hand),
                None => {}
            }
        }
    }

    fn give_up(&mut self, place: usize) {
        if let Some(answer) = self.places[place].take() {
            self.kept_bytes -= answer.cost();
            answer.place.is_given_up.set(true);
            let stored = answer.place.stored.take();
            self.given_up.extend(stored.map(|(stored, _)| stored));
        }
    }

    fn place(&self, request: &[u8]) -> usize {
        usize::try_from(self.hasher.hash_one(request) % PLACES as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
