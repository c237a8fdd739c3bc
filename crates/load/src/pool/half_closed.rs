//! Sockets whose last answer has come, which wait for the server's close.
//!
//! So TIME_WAIT stays where the close was announced. They wait for a while, and only so many do:
//! the oldest goes first. To add one, or to let one go, costs the same however many there are.

use model::units::{Instant, Span};
use sys::reactor::Key;

/// So many wait at once.
pub(crate) const HALF_CLOSED: usize = 1_024;
/// How long one waits before we close it.
const PATIENCE: Span = Span::from_ms(500);
/// Nobody.
const NONE: u32 = u32::MAX;

/// A socket that its connection has let go of.
#[derive(Debug)]
pub(super) struct Left<C> {
    pub(super) key: Key,
    /// Who still hears what comes on it, if anybody does: tickets of TLS, for a session that is
    /// resumed later.
    pub(super) client: Option<Box<C>>,
    /// Bytes sent on it that the recorder knows of. The rest of an upload may still go.
    pub(super) counted: u64,
    /// Which of the servers it leads to.
    pub(super) host: usize,
}

/// The sockets that wait, the oldest first.
#[derive(Debug)]
pub(crate) struct HalfClosed<C> {
    places: Box<[Waiting<C>]>,
    free: Vec<u32>,
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct Waiting<C> {
    key: Option<Key>,
    client: Option<Box<C>>,
    counted: u64,
    host: usize,
    until: Instant,
    after: u32,
    before: u32,
}

impl<C> HalfClosed<C> {
    /// With room for [`HALF_CLOSED`].
    pub(super) fn new() -> Self {
        let nobody = || Waiting {
            key: None,
            client: None,
            counted: 0,
            host: 0,
            until: Instant::FAR_FUTURE,
            after: NONE,
            before: NONE,
        };
        let count = u32::try_from(HALF_CLOSED).expect("a thousand");
        Self {
            places: (0..HALF_CLOSED).map(|_| nobody()).collect(),
            free: (0..count).rev().collect(),
            first: NONE,
            last: NONE,
        }
    }

    /// Whether one more would have no room.
    pub(super) const fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// When the oldest has waited long enough.
    pub(crate) fn next(&self) -> Instant {
        let oldest = self.places.get(self.first as usize);
        oldest.map_or(Instant::FAR_FUTURE, |oldest| oldest.until)
    }

    /// `socket` waits from `now` on, in the place that is returned. There is room.
    pub(super) fn push(&mut self, socket: Left<C>, now: Instant) -> u32 {
        let place = self.free.pop().expect("the caller has looked for room");
        self.places[place as usize] = Waiting {
            key: Some(socket.key),
            client: socket.client,
            counted: socket.counted,
            host: socket.host,
            until: now + PATIENCE,
            after: NONE,
            before: self.last,
        };
        match self.places.get_mut(self.last as usize) {
            Some(last) => last.after = place,
            None => self.first = place,
        }
        self.last = place;
        place
    }

    /// Who hears what comes in `place`, and from which of the servers.
    pub(crate) fn client(&mut self, place: u32) -> Option<(&mut C, usize)> {
        let here = self.places.get_mut(place as usize)?;
        Some((here.client.as_deref_mut()?, here.host))
    }

    /// Takes the one that has waited for longest.
    pub(super) fn take_oldest(&mut self) -> Option<Left<C>> {
        self.take(self.first)
    }

    /// Takes the one in `place`.
    pub(super) fn take(&mut self, place: u32) -> Option<Left<C>> {
        let waiting = self.places.get_mut(place as usize)?;
        let key = waiting.key.take()?;
        let client = waiting.client.take();
        let Waiting {
            counted,
            host,
            after,
            before,
            ..
        } = *waiting;
        match self.places.get_mut(after as usize) {
            Some(next) => next.before = before,
            None => self.last = before,
        }
        match self.places.get_mut(before as usize) {
            Some(previous) => previous.after = after,
            None => self.first = after,
        }
        self.free.push(place);
        Some(Left {
            key,
            client,
            counted,
            host,
        })
    }
}
