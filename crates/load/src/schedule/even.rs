//! Arrivals that are evenly spaced: the k-th of all at k / rate, exactly, and without a division
//! for each.

use model::units::{Rate, Span};

/// How many nanoseconds have 1,000 seconds.
const NS_PER_1000_S: u64 = 1_000_000_000_000;

/// Those of one worker.
#[derive(Clone, Debug)]
pub(super) struct Even {
    rate: Rate,
    workers: u64,
    /// The position of the next among those of all workers.
    position: u64,
    /// When that is due.
    next: Place,
    /// From one of this worker to its next.
    turn: Place,
}

/// A time in nanoseconds: whole ones, and a rest in parts of which `rate` make one.
#[derive(Clone, Copy, Debug)]
struct Place {
    whole: u64,
    rest: u64,
}

impl Even {
    /// Those of worker `index`.
    pub(super) fn new(rate: Rate, index: u32, workers: u64) -> Self {
        let position = u64::from(index);
        Self {
            rate,
            workers,
            position,
            next: Place::of(position, rate),
            turn: Place::of(workers, rate),
        }
    }

    /// Takes the next one: when it is due.
    #[inline]
    pub(super) fn take(&mut self) -> Span {
        let due = self.next.whole;
        self.position += self.workers;
        let whole = due.saturating_add(self.turn.whole);
        let room = parts(self.rate) - self.turn.rest;
        self.next = match self.next.rest.checked_sub(room) {
            None => Place {
                whole,
                rest: self.next.rest + self.turn.rest,
            },
            Some(rest) => Place {
                whole: whole.saturating_add(1),
                rest,
            },
        };
        Span::from_ns(due)
    }

    /// How many are due in `span`.
    pub(super) fn turns_in(&self, span: Span) -> u64 {
        let turn_ns = u128::from(self.workers) * u128::from(NS_PER_1000_S);
        let turns = u128::from(span.as_ns()) * u128::from(self.rate.as_per_1000_s()) / turn_ns;
        u64::try_from(turns).unwrap_or(u64::MAX)
    }

    /// Takes so many at once.
    pub(super) fn skip(&mut self, turns: u64) {
        self.position += turns * self.workers;
        self.next = Place::of(self.position, self.rate);
    }

    /// When the one was due that lies so many turns before the next.
    pub(super) fn before(&self, turns: u64) -> Span {
        instant_of(self.position - turns * self.workers, self.rate)
    }
}

impl Place {
    /// Where `position` lies.
    fn of(position: u64, rate: Rate) -> Self {
        let parts = u128::from(parts(rate));
        let all = u128::from(position) * u128::from(NS_PER_1000_S);
        Self {
            whole: u64::try_from(all / parts).unwrap_or(u64::MAX),
            rest: u64::try_from(all % parts).unwrap_or_default(),
        }
    }
}

/// How many parts a nanosecond has.
fn parts(rate: Rate) -> u64 {
    rate.as_per_1000_s().max(1)
}

/// When the arrival at `position` is due: position / rate.
pub(super) fn instant_of(position: u64, rate: Rate) -> Span {
    Span::from_ns(Place::of(position, rate).whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_due_where_its_position_lies() {
        for per_1000_s in [
            1,
            3,
            7_000,
            333_333,
            1_000_000_007,
            999_999_999_999,
            u64::MAX,
        ] {
            let rate = Rate::per_1000_s(per_1000_s);
            for workers in [1, 3, 64] {
                for index in [0, workers - 1] {
                    let mut even = Even::new(rate, index, u64::from(workers));
                    for turn in 0..1_000 {
                        let position = u64::from(index) + turn * u64::from(workers);
                        let due = even.take();
                        assert_eq!(due, instant_of(position, rate), "{rate:?} {position}");
                        assert_eq!(even.before(1), due);
                        if turn % 100 == 99 {
                            even.skip(0);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_skipped_is_as_if_it_were_taken() {
        let rate = Rate::per_1000_s(333_333);
        let (mut one, mut other) = (Even::new(rate, 1, 3), Even::new(rate, 1, 3));
        for _ in 0..1_000 {
            one.take();
        }
        other.skip(1_000);
        for _ in 0..10 {
            assert_eq!(one.take(), other.take());
        }
        // The 1,010 that were taken, and the place of the next.
        let until = one.before(0) - Span::from_ns(1);
        assert_eq!(one.turns_in(until), 1_010);
    }
}
