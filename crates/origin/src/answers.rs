//! Answers given before, found again by the exact bytes of the request's head.
//!
//! Clients that ask often ask in the same words. Where a head is byte for byte one that was
//! answered before, and the answer still holds, it is copied with a new date, and nothing is
//! parsed. Whoever the client is makes no difference; a single different byte takes the long way.
//!
//! Cost: one comparison with the head answered last; else a search for its end, a hash, a
//! comparison.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use model::Instant;
use wire::date;

use crate::head::Today;

/// Places; a new answer takes the place of whoever hashes to it.
const PLACES: usize = 512;
/// Longer heads are not kept.
const HEAD_LIMIT: usize = 2 * 1024;
/// Longer answers are not kept: a small file fits with its head.
pub(crate) const ANSWER_LIMIT: usize = 18 * 1024;

/// The answers that one worker has given.
#[derive(Debug)]
pub(crate) struct Answers {
    places: Vec<Option<Answer>>,
    last: usize,
    hasher: BuildHasherDefault<DefaultHasher>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The request's head, byte for byte.
    pub(crate) request: Box<[u8]>,
    /// Head and content.
    pub(crate) bytes: Vec<u8>,
    /// Where its date starts; none where there is no date.
    pub(crate) date_at: Option<usize>,
    /// The second of that date.
    pub(crate) second: u64,
    /// Until when it holds without looking at the file again.
    pub(crate) holds_until: Instant,
    /// What the access log says of it, after the time.
    pub(crate) log_tail: Box<[u8]>,
}

impl Answers {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            places: std::iter::repeat_with(|| None).take(PLACES).collect(),
            last: 0,
            hasher: BuildHasherDefault::new(),
        }
    }

    /// The answer to the request whose head `bytes` begin with, dated today, if it still holds.
    #[inline]
    pub(crate) fn find(&mut self, bytes: &[u8], now: Instant, today: &Today) -> Option<&Answer> {
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
        let answer = self.places[self.last].as_mut()?;
        if now >= answer.holds_until {
            return None;
        }
        if answer.second != today.second
            && let Some(at) = answer.date_at
        {
            answer.second = today.second;
            answer.bytes[at..at + date::LENGTH].copy_from_slice(&today.text);
        }
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
        self.places[place] = Some(answer);
        self.last = place;
    }

    fn place(&self, request: &[u8]) -> usize {
        usize::try_from(self.hasher.hash_one(request) % PLACES as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(request: &[u8], bytes: &[u8], holds_until: u64) -> Answer {
        Answer {
            request: request.into(),
            bytes: bytes.to_vec(),
            date_at: Some(0),
            second: 0,
            holds_until: Instant::from_ns(holds_until),
            log_tail: Box::default(),
        }
    }

    #[test]
    fn an_answer_is_found_again_while_it_holds() {
        let mut answers = Answers::new();
        let today = Today::at(784_111_777);
        let now = Instant::from_ns(5);
        let bytes = [b'-'; date::LENGTH + 1];
        for path in 0..100 {
            let head = format!("GET /{path} HTTP/1.1\r\n\r\n");
            answers.keep(answer(head.as_bytes(), &bytes, 10));
            let found = answers.find(format!("{head}GET").as_bytes(), now, &today);
            assert_eq!(found.unwrap().bytes, b"Sun, 06 Nov 1994 08:49:37 GMT-");
            assert!(answers.find(&head.as_bytes()[1..], now, &today).is_none());
            assert!(answers.find(&head.as_bytes()[..10], now, &today).is_none());
            let late = Instant::from_ns(10);
            assert!(answers.find(head.as_bytes(), late, &today).is_none());
        }
        let again = (0..100)
            .filter(|path| {
                let head = format!("GET /{path} HTTP/1.1\r\n\r\n");
                answers.find(head.as_bytes(), now, &today).is_some()
            })
            .count();
        assert!(again > 70, "only {again} of 100 were kept");
    }
}
