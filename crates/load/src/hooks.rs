//! Who takes part in exchanges beside the plan: users who know something, an author who makes the
//! requests or hears the answers, whoever follows redirects, whoever decodes what comes, and
//! whoever times pages.
//!
//! A worker has them behind one pointer, so that an exchange without them pays for a look at it
//! and for nothing else.

use model::event::Phase;
use model::units::{Instant, Span};
use wire::{Client, Head, Request, RequestId};

use crate::decoding::Decoder;
use crate::dictation::Dictation;
use crate::exchange::{Cause, Exchange};
use crate::flight::Flight;
use crate::pages::Pages;
use crate::redirect::{Follower, Since};
use crate::session::Sessions;

/// Those who take part in the exchanges of one worker.
#[derive(Debug)]
pub(crate) struct Hooks {
    /// What users know, if they know anything.
    sessions: Option<Sessions>,
    /// Who makes the requests or hears the answers, if not the plan alone.
    pub(crate) dictation: Option<Dictation>,
    /// Who follows redirects, if the plan wants that.
    follower: Option<Follower>,
    /// Who decodes answers, if the plan wants that.
    pub(crate) decoder: Option<Decoder>,
    /// The pages of users, if they have parts.
    pub(crate) pages: Option<Pages>,
}

impl Hooks {
    /// None where nobody takes part.
    pub(crate) fn new(
        sessions: Option<Sessions>,
        dictation: Option<Dictation>,
        follower: Option<Follower>,
        decoder: Option<Decoder>,
        pages: Option<Pages>,
    ) -> Option<Box<Self>> {
        let has_any = sessions.is_some()
            || dictation.is_some()
            || follower.is_some()
            || decoder.is_some()
            || pages.is_some();
        has_any.then(|| {
            Box::new(Self {
                sessions,
                dictation,
                follower,
                decoder,
                pages,
            })
        })
    }

    /// A turn of the worker begins.
    pub(crate) fn begin_turn(&mut self, now: Instant) {
        if let Some(sessions) = &mut self.sessions {
            sessions.begin_turn(now);
        }
    }

    /// The most bytes that a user sends at once.
    pub(crate) fn longest(&self) -> usize {
        self.sessions
            .as_ref()
            .map_or(0, |sessions| sessions.longest)
    }

    /// Whether redirects are followed.
    pub(crate) const fn follows(&self) -> bool {
        self.follower.is_some()
    }

    /// What an author asks in `place`, if one makes the requests.
    pub(crate) fn asked(&self, place: u32) -> Option<&[u8]> {
        let author = self.dictation.as_ref().filter(|author| author.asks())?;
        Some(author.begun_last(place))
    }

    /// Whether an author makes the requests.
    pub(crate) fn asks(&self) -> bool {
        self.dictation.as_ref().is_some_and(Dictation::asks)
    }

    /// Whether an author is told the answers.
    pub(crate) fn hears(&self) -> bool {
        self.dictation.as_ref().is_some_and(Dictation::hears)
    }

    /// Whether an author wants nothing more to be asked, or has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.dictation.as_ref().is_some_and(Dictation::is_over)
    }

    /// Whether an author asked that nothing more be asked.
    pub(crate) fn has_stopped(&self) -> bool {
        self.dictation.as_ref().is_some_and(Dictation::has_stopped)
    }

    /// How long an author waits before the next request.
    pub(crate) fn delay(&mut self) -> Span {
        let delay = self.dictation.as_mut().map(Dictation::delay);
        delay.unwrap_or_default()
    }

    /// What an author's user in `place` asked last is to be asked again.
    pub(crate) fn rewind(&mut self, place: u32) {
        if let Some(dictation) = &mut self.dictation {
            dictation.rewind(place);
        }
    }

    /// Whether the content of answers to `class` is looked at.
    pub(crate) fn reads_content(&self, class: u16) -> bool {
        let sessions = self.sessions.as_ref();
        self.hears() || sessions.is_some_and(|sessions| sessions.read_content(class))
    }

    /// One more exchange of `class` begins: whether it is decoded, should it be encoded.
    pub(crate) fn decodes(&mut self, class: u16) -> bool {
        let decoder = self.decoder.as_mut();
        decoder.is_some_and(|decoder| decoder.begin(class))
    }

    /// The message that begins in `place` instead of `request`, as HTTP/1.1 has it: where a
    /// redirect led, or what a user of a script asks. What a user asks is written into `out`, if
    /// the protocol has to be told; else it is written when it is sent.
    pub(crate) fn begin<'a, C: Client>(
        &'a mut self,
        (place, request, goes_on): (u32, &Request, bool),
        round: impl FnOnce() -> u64,
        out: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        let id = request.id();
        if let Some(follower) = &mut self.follower {
            return follower.begin(place, id.0 / 2, goes_on, request.closes());
        }
        let sessions = self.sessions.as_mut().filter(|_| C::WRITES)?;
        out.clear();
        let is_written = sessions.write(place, round(), id, out);
        is_written.then_some(out)
    }

    /// What is sent in `place` instead of the bytes of `request`, if anything is. What a user asks
    /// is written into `out`.
    pub(crate) fn bytes<'a>(
        &'a mut self,
        place: u32,
        request: RequestId,
        round: impl FnOnce() -> u64,
        out: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        if self.asks() {
            return self.asked(place);
        }
        let follower = self.follower.as_ref();
        if let Some(led) = follower.and_then(|follower| follower.message(place)) {
            return Some(led);
        }
        let sessions = self.sessions.as_mut()?;
        let is_written = sessions.write(place, round(), request, out);
        is_written.then_some(out)
    }

    /// The head of a redirect has come to `place`: whether it is followed.
    pub(crate) fn redirected(&mut self, place: u32, class: u16, head: &Head<'_>) -> bool {
        let follower = self.follower.as_mut();
        follower.is_some_and(|follower| follower.hear(place, class, head))
    }

    /// The head of an answer has come to `place`.
    pub(crate) fn head(&mut self, place: u32, class: u16, head: &Head<'_>) {
        if let Some(sessions) = &mut self.sessions {
            sessions.head(place, class, head.bytes);
        }
        if let Some(author) = self.dictation.as_mut().filter(|author| author.hears()) {
            author.head(place, head.status, head.bytes);
        }
    }

    /// Content has come to `place`.
    pub(crate) fn content(&mut self, place: u32, class: u16, bytes: &[u8]) {
        if let Some(sessions) = &mut self.sessions
            && sessions.read_content(class)
        {
            sessions.content(place, bytes);
        }
        if let Some(author) = self.dictation.as_mut().filter(|author| author.hears()) {
            author.content(place, bytes);
        }
    }

    /// The answer in `place` is complete: what it lacks for its user.
    pub(crate) fn lacks(&mut self, place: u32, class: u16) -> Option<Cause> {
        self.sessions.as_mut()?.complete(place, class)
    }

    /// The exchange in `place` has ended with its answer.
    pub(crate) fn complete(&mut self, place: u32) {
        if let Some(author) = self.dictation.as_mut().filter(|author| author.hears()) {
            author.complete(place);
        }
    }

    /// An exchange in `place` has ended in whatever way, in this phase.
    pub(crate) fn ended(&mut self, place: u32, exchange: &Exchange, phase: Phase) {
        if let Some(pages) = &mut self.pages {
            pages.end(place, exchange, phase);
        }
    }

    /// The redirect that came to `place` is complete: its exchange waits to go on.
    pub(crate) fn hold(&mut self, place: u32, flight: &Flight) {
        if let Some(follower) = &mut self.follower {
            follower.hold(place, flight);
        }
    }

    /// Whether an exchange waits to go on where a redirect led.
    pub(crate) fn has_led(&self) -> bool {
        self.follower.as_ref().is_some_and(Follower::has_waiting)
    }

    /// Takes the exchange that goes on next: when it was due, and which request it is. It begins,
    /// or is given up, before another one is taken.
    pub(crate) fn take_led(&mut self) -> Option<(Instant, u16)> {
        self.follower.as_mut()?.take()
    }

    /// Since when the exchange in `place` is under way, if it went on there.
    pub(crate) fn since(&self, place: u32) -> Option<Since> {
        self.follower.as_ref()?.since(place)
    }

    /// What was taken last does not go on: since when it was under way.
    pub(crate) fn give_up_led(&mut self) -> Option<Since> {
        self.follower.as_mut()?.give_up()
    }
}
