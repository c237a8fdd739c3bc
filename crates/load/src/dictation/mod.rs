//! What the author of one worker dictates, and what it is told, by the place of a connection.
//!
//! A batch is what an author hands over at once: one request, or several. They are begun one after
//! the other, as exchanges of their own; the next batch is asked for when all of them have ended.
//! Memory is used again; what grows is what the author says and answers hold.

mod split;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::plan::{LuaFile, Plan};
use model::units::Span;
use wire::{Request, RequestId, RequestParts};

pub use self::split::{Malformed, requests};
use crate::author::{Asked, Author, Call, Failure};

/// Of the content of an answer, an author is told so much.
const CONTENT_MAX: usize = 16 << 20;

/// What is longer than this is not copied on its way, but kept until it is sent.
pub(crate) const COPIED: usize = 8 * 1024;

/// The author of one worker at work.
#[derive(Debug)]
pub(crate) struct Dictation {
    author: Box<dyn Author>,
    asked: Arc<Asked>,
    asks: bool,
    hears: bool,
    waits: bool,
    places: Box<[Place]>,
    /// How a request is told to the protocol whose answer has content, and one whose has none.
    forms: [Request; 2],
    failure: Failure,
    /// Ends the run.
    stop: Arc<AtomicBool>,
    has_failed: bool,
}

/// What one connection sends and hears.
#[derive(Clone, Debug, Default)]
struct Place {
    batch: Vec<u8>,
    /// Where each request of the batch ends, and whether it is a HEAD.
    ends: Vec<(usize, bool)>,
    /// How many of them were begun.
    begun: usize,
    status: u16,
    head: Vec<u8>,
    content: Vec<u8>,
}

/// A request that begins.
#[derive(Debug)]
pub(crate) struct Next<'a> {
    pub(crate) form: &'a Request,
    pub(crate) bytes: &'a [u8],
    /// How many come behind it, if it is the first of its batch.
    pub(crate) behind: u32,
}

impl Dictation {
    /// `author` does what `lua` says, for so many connections.
    pub(crate) fn new(
        (author, asked): (Box<dyn Author>, Arc<Asked>),
        lua: &LuaFile,
        connections: u32,
        failure: Failure,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let form = |method| {
            let parts = RequestParts {
                method,
                target: "/",
                authority: "",
                fields: &[],
                content: None,
            };
            Request::compile(RequestId(0), &parts, false)
        };
        Self {
            author,
            asked,
            asks: lua.asks,
            hears: lua.hears,
            waits: lua.waits,
            places: vec![Place::default(); connections as usize].into(),
            forms: [form("GET"), form("HEAD")],
            failure,
            stop,
            has_failed: false,
        }
    }

    /// Whether the author makes the requests.
    #[inline]
    pub(crate) const fn asks(&self) -> bool {
        self.asks
    }

    /// Whether the author is told the answers.
    #[inline]
    pub(crate) const fn hears(&self) -> bool {
        self.hears
    }

    /// Whether nothing more is to be asked.
    pub(crate) fn is_over(&self) -> bool {
        self.has_failed || self.author.has_stopped()
    }

    /// Whether the author asked for that.
    pub(crate) fn has_stopped(&self) -> bool {
        self.author.has_stopped()
    }

    /// How long the connection waits before it sends next.
    pub(crate) fn delay(&mut self) -> Span {
        if !self.waits || self.is_over() {
            return Span::ZERO;
        }
        self.asked.begin(Call::Delay);
        let delay = self.author.delay();
        self.asked.end();
        self.take(delay).unwrap_or_default()
    }

    /// The request that begins in `place`; none where the author has failed.
    pub(crate) fn next(&mut self, place: u32) -> Option<Next<'_>> {
        let mut behind = 0;
        let here = &self.places[place as usize];
        if here.begun == here.ends.len() {
            behind = self.ask(place)?;
        }
        let here = &mut self.places[place as usize];
        here.begun += 1;
        let here = &self.places[place as usize];
        let (_, is_head) = here.ends[here.begun - 1];
        Some(Next {
            form: &self.forms[usize::from(is_head)],
            bytes: here.begun_last(),
            behind,
        })
    }

    /// Asks the author for the next batch of `place`: how many requests come behind its first.
    fn ask(&mut self, place: u32) -> Option<u32> {
        if self.has_failed {
            return None;
        }
        let here = &mut self.places[place as usize];
        here.begun = 0;
        here.batch.clear();
        here.ends.clear();
        self.asked.begin(Call::Request);
        let asked = self.author.request(&mut here.batch);
        self.asked.end();
        split::ends(&here.batch, &mut here.ends);
        let count = here.ends.len();
        self.take(asked)?;
        if count == 0 {
            return self.take(Err("request() returned no request".to_owned()));
        }
        u32::try_from(count - 1).ok()
    }

    /// The bytes of the request that was begun last in `place`.
    #[inline]
    pub(crate) fn begun_last(&self, place: u32) -> &[u8] {
        self.places[place as usize].begun_last()
    }

    /// The request that was begun last in `place` is to begin again, elsewhere.
    pub(crate) fn rewind(&mut self, place: u32) {
        let begun = &mut self.places[place as usize].begun;
        *begun = begun.saturating_sub(1);
    }

    /// The head of an answer has come to `place`.
    pub(crate) fn head(&mut self, place: u32, status: u16, head: &[u8]) {
        let here = &mut self.places[place as usize];
        here.status = status;
        here.head.clear();
        here.head.extend_from_slice(head);
        here.content.clear();
    }

    /// Content has come to `place`.
    pub(crate) fn content(&mut self, place: u32, bytes: &[u8]) {
        let content = &mut self.places[place as usize].content;
        let room = CONTENT_MAX - content.len();
        content.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The answer in `place` is complete.
    pub(crate) fn complete(&mut self, place: u32) {
        if self.is_over() {
            return;
        }
        let here = &self.places[place as usize];
        self.asked.begin(Call::Answer);
        let told = self.author.answer(here.status, &here.head, &here.content);
        self.asked.end();
        let _ended = self.take(told);
    }

    /// What the author said; its mistake ends the run.
    fn take<T>(&mut self, said: Result<T, String>) -> Option<T> {
        match said {
            Ok(said) => Some(said),
            Err(mistake) => {
                self.has_failed = true;
                // Of several workers, the first says what was wrong.
                let _told_already = self.failure.set(mistake);
                self.stop.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}

impl Place {
    fn begun_last(&self) -> &[u8] {
        let last = self.begun.saturating_sub(1);
        let end = |index: usize| self.ends.get(index).map_or(0, |(end, _)| *end);
        let start = last.checked_sub(1).map_or(0, end);
        &self.batch[start..end(last)]
    }
}

/// Whether an author is at work in `plan` who makes its requests.
pub(crate) fn asks(plan: &Plan) -> bool {
    plan.file().is_asked_by_lua()
}

#[cfg(test)]
mod tests;
