//! When to look at which connection again: a wheel of coarse ticks, with one list for each.
//!
//! Whether a connection has taken too long is asked when its tick comes, and it is put in line anew
//! if not; so a deadline that moves away, as it does with each request, costs a comparison. A look
//! is never early, and late by one tick at most; a connection that must be looked at later than the
//! wheel reaches is looked at in between.
//!
//! Cost: a few instructions to put in line, to take out and to find the next; 12 bytes for each
//! connection there is room for.

use model::{Instant, Span};

/// How late a look may be.
pub(crate) const TICK: Span = Span::from_ms(250);
/// The wheel reaches two minutes.
const TICKS: usize = 512;
const WORDS: usize = TICKS / 64;
const NOBODY: u32 = u32::MAX;

/// Who is to be looked at, and when.
#[derive(Debug)]
pub(crate) struct Timeouts {
    /// The first tick that has not passed.
    tick: u64,
    /// The first in the list of each tick, by its number modulo [`TICKS`].
    heads: [u32; TICKS],
    /// Which lists have somebody.
    occupied: [u64; WORDS],
    links: Box<[Link]>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    /// Before the first there is nobody.
    previous: u32,
    /// Which list; [`NOBODY`] in none.
    list: u32,
}

impl Timeouts {
    /// For connections with a place below `places`.
    pub(crate) fn new(places: usize) -> Self {
        let link = Link {
            next: NOBODY,
            previous: NOBODY,
            list: NOBODY,
        };
        Self {
            tick: 0,
            heads: [NOBODY; TICKS],
            occupied: [0; WORDS],
            links: vec![link; places].into_boxed_slice(),
        }
    }

    /// Has `place` looked at when `at` has come, unless that happens earlier anyway.
    #[inline]
    pub(crate) fn arm(&mut self, place: usize, at: Instant) {
        let last = self.tick + TICKS as u64 - 1;
        // Not at a tick that is being looked through: it would not come to an end.
        let tick = at.as_ns().div_ceil(TICK.as_ns()).clamp(self.tick + 1, last);
        let armed = self.links[place].list;
        if armed != NOBODY {
            if self.distance(armed) <= tick - self.tick {
                return;
            }
            self.disarm(place);
        }
        self.enter(place, index(tick));
    }

    /// What one place costs.
    #[cfg(test)]
    pub(crate) fn bytes_each(&self) -> u64 {
        size_of_val(&*self.links) as u64 / self.links.len() as u64
    }

    /// Has `place` not looked at.
    pub(crate) fn disarm(&mut self, place: usize) {
        let Link {
            next,
            previous,
            list,
        } = self.links[place];
        if list == NOBODY {
            return;
        }
        self.links[place].list = NOBODY;
        if next != NOBODY {
            self.links[next as usize].previous = previous;
        }
        if previous != NOBODY {
            self.links[previous as usize].next = next;
            return;
        }
        let list = list as usize;
        self.heads[list] = next;
        if next == NOBODY {
            self.occupied[list / 64] &= !(1 << (list % 64));
        }
    }

    /// When there is somebody to look at next.
    pub(crate) fn next(&self) -> Instant {
        self.next_distance().map_or(Instant::FAR_FUTURE, |ticks| {
            Instant::from_ns((self.tick + ticks) * TICK.as_ns())
        })
    }

    /// Lets the ticks up to `now` pass in which nobody is to be looked at.
    #[inline]
    pub(crate) fn pass(&mut self, now: Instant) {
        let today = now.as_ns() / TICK.as_ns();
        if today > self.tick {
            let free = self.next_distance().unwrap_or(u64::MAX);
            self.tick += free.min(today - self.tick);
        }
    }

    /// One who is to be looked at by now, and in no list any more.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<usize> {
        self.pass(now);
        if self.tick * TICK.as_ns() > now.as_ns() {
            return None;
        }
        let place = self.heads[index(self.tick)];
        if place == NOBODY {
            return None;
        }
        self.disarm(place as usize);
        Some(place as usize)
    }

    fn enter(&mut self, place: usize, list: usize) {
        let number = u32::try_from(place).unwrap_or(NOBODY);
        let next = std::mem::replace(&mut self.heads[list], number);
        if next != NOBODY {
            self.links[next as usize].previous = number;
        }
        self.links[place] = Link {
            next,
            previous: NOBODY,
            list: u32::try_from(list).unwrap_or(NOBODY),
        };
        self.occupied[list / 64] |= 1 << (list % 64);
    }

    /// How many ticks from now `list` has its turn.
    fn distance(&self, list: u32) -> u64 {
        (u64::from(list) + TICKS as u64 - index(self.tick) as u64) % TICKS as u64
    }

    /// How many ticks from now the first list with somebody has its turn.
    fn next_distance(&self) -> Option<u64> {
        let start = index(self.tick);
        let (word, bit) = (start / 64, start % 64);
        // The word with the start comes twice: its upper part first, its lower part last.
        for step in 0..=WORDS {
            let at = (word + step) % WORDS;
            let mask = match step {
                0 => u64::MAX << bit,
                WORDS => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let bits = self.occupied[at] & mask;
            if bits != 0 {
                let list = at * 64 + bits.trailing_zeros() as usize;
                return Some(self.distance(u32::try_from(list).unwrap_or(NOBODY)));
            }
        }
        None
    }
}

/// Which list a tick has.
#[expect(clippy::cast_possible_truncation, reason = "below the number of lists")]
const fn index(tick: u64) -> usize {
    (tick % TICKS as u64) as usize
}

#[cfg(test)]
mod tests;
