//! One alarm per connection, in a timing wheel (Varghese and Lauck 1987, scheme 6).
//!
//! Time is cut into ticks, and each tick has a list; alarms that are a whole turn of the wheel away
//! lie in the list of their tick and are passed over. To set, move or take an alarm costs the same
//! however many there are. An alarm never goes off early. Cost: 24 bytes per connection.

use model::units::Instant;

/// One tick is 2 to this power nanoseconds: 1.05 ms.
const TICK_MAGNITUDE: u32 = 20;
/// Ticks in a turn: 4.3 s.
const TICKS: usize = 4096;
/// Nobody.
const NONE: u32 = u32::MAX;

/// Alarms of connections, each by its place.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The first place in the list of each tick.
    heads: Box<[u32]>,
    /// A bit for each tick whose list is not empty.
    occupied: [u64; TICKS / 64],
    alarms: Box<[Alarm]>,
    armed: usize,
    /// Everything before this tick has been taken.
    tick: u64,
    /// The next place to look at in the list of `tick`, while that is gone through.
    cursor: u32,
    /// No alarm goes off before this.
    next: Instant,
}

/// The alarm of one connection: `at` is [`Instant::FAR_FUTURE`] while it is not set.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    at: Instant,
    after: u32,
    before: u32,
    /// The list that it lies in.
    slot: u16,
}

impl Wheel {
    /// For `count` connections.
    pub(crate) fn new(count: usize) -> Self {
        let alarm = Alarm {
            at: Instant::FAR_FUTURE,
            after: NONE,
            before: NONE,
            slot: 0,
        };
        Self {
            heads: vec![NONE; TICKS].into(),
            occupied: [0; TICKS / 64],
            alarms: vec![alarm; count].into(),
            armed: 0,
            tick: 0,
            cursor: NONE,
            next: Instant::FAR_FUTURE,
        }
    }

    /// Wakes connection `place` at `at`, unless it is to be woken before that anyway: who is woken
    /// too early sets the alarm again.
    #[inline]
    pub(crate) fn arm(&mut self, place: u32, at: Instant) {
        let before = self.alarms[place as usize].at;
        if before <= at {
            return;
        }
        self.move_to(place, at);
    }

    fn move_to(&mut self, place: u32, at: Instant) {
        self.disarm(place);
        // What is overdue is found in the tick that is looked at next.
        let tick = tick_of(at).max(self.tick);
        let slot = slot_of(tick);
        let head = self.heads[slot];
        self.alarms[place as usize] = Alarm {
            at,
            after: head,
            before: NONE,
            slot: u16::try_from(slot).expect("a slot is below 4,096"),
        };
        if head != NONE {
            self.alarms[head as usize].before = place;
        }
        self.heads[slot] = place;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.armed += 1;
        self.next = self.next.min(at);
        if tick == self.tick {
            self.cursor = place;
        }
    }

    /// Connection `place` is not woken.
    pub(crate) fn disarm(&mut self, place: u32) {
        let Alarm {
            at,
            after,
            before,
            slot,
        } = self.alarms[place as usize];
        if at == Instant::FAR_FUTURE {
            return;
        }
        if self.cursor == place {
            self.cursor = after;
        }
        if after != NONE {
            self.alarms[after as usize].before = before;
        }
        if before == NONE {
            let slot = usize::from(slot);
            self.heads[slot] = after;
            if after == NONE {
                self.occupied[slot / 64] &= !(1 << (slot % 64));
            }
        } else {
            self.alarms[before as usize].after = after;
        }
        self.alarms[place as usize].at = Instant::FAR_FUTURE;
        self.armed -= 1;
    }

    /// Nothing has to be taken before this.
    #[inline]
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Takes an alarm whose time has come. Call it until it gives none.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u32> {
        if self.next > now {
            return None;
        }
        let last = tick_of(now);
        // One turn comes by every list: to begin before it, as at the first look, finds no more.
        let turn = last.saturating_sub(TICKS as u64);
        if self.tick < turn {
            self.tick = turn;
            self.cursor = self.heads[slot_of(turn)];
        }
        loop {
            while self.cursor != NONE {
                let place = self.cursor;
                let Alarm { at, after, .. } = self.alarms[place as usize];
                self.cursor = after;
                if at <= now {
                    self.disarm(place);
                    return Some(place);
                }
            }
            if self.tick >= last {
                break;
            }
            match self.occupied_from(self.tick + 1) {
                Some(tick) if tick <= last => self.tick = tick,
                _ => self.tick = last,
            }
            self.cursor = self.heads[slot_of(self.tick)];
        }
        self.cursor = self.heads[slot_of(self.tick)];
        self.next = self.earliest();
        None
    }

    /// When the next alarm may go off: exact within the tick of now, the start of their tick for
    /// others.
    fn earliest(&self) -> Instant {
        if self.armed == 0 {
            return Instant::FAR_FUTURE;
        }
        let mut soonest = Instant::FAR_FUTURE;
        let mut place = self.heads[slot_of(self.tick)];
        while place != NONE {
            let alarm = self.alarms[place as usize];
            if tick_of(alarm.at) <= self.tick {
                soonest = soonest.min(alarm.at);
            }
            place = alarm.after;
        }
        if soonest < Instant::FAR_FUTURE {
            return soonest;
        }
        // An alarm in the list of this very tick is a whole turn away.
        let tick = self
            .occupied_from(self.tick + 1)
            .unwrap_or(self.tick + TICKS as u64);
        Instant::from_ns(tick << TICK_MAGNITUDE)
    }

    /// The first tick from `from` on, within one turn, whose list is not empty.
    fn occupied_from(&self, from: u64) -> Option<u64> {
        let start = slot_of(from);
        let words = self.occupied.len();
        let mut word = self.occupied[start / 64] & (u64::MAX << (start % 64));
        for step in 0..=words {
            if word != 0 {
                let bit = word.trailing_zeros() as usize;
                let slot = (start / 64 + step) % words * 64 + bit;
                let distance = (slot + TICKS - start) % TICKS;
                return Some(from + distance as u64);
            }
            word = self.occupied[(start / 64 + step + 1) % words];
        }
        None
    }
}

const fn tick_of(at: Instant) -> u64 {
    at.as_ns() >> TICK_MAGNITUDE
}

#[expect(clippy::cast_possible_truncation, reason = "below the number of ticks")]
const fn slot_of(tick: u64) -> usize {
    (tick % TICKS as u64) as usize
}

#[cfg(test)]
mod tests {
    use model::units::Span;
    use proptest::prelude::*;

    use super::*;

    const fn at_us(us: u64) -> Instant {
        Instant::from_ns(us * 1_000)
    }

    /// Lets time go to each of `times` and takes what is due.
    fn taken(wheel: &mut Wheel, times: impl IntoIterator<Item = u64>) -> Vec<(u64, u32)> {
        let mut taken = Vec::new();
        for us in times {
            while let Some(place) = wheel.take_due(at_us(us)) {
                taken.push((us, place));
            }
        }
        taken
    }

    #[test]
    fn alarms_go_off_in_their_time_and_once() {
        let mut wheel = Wheel::new(5);
        for (place, us) in [
            (0, 10),
            (1, 1_500),
            (2, 1_400),
            (3, 6_000_000),
            (4, 60_000_000),
        ] {
            wheel.arm(place, at_us(us));
        }
        assert_eq!(wheel.next(), at_us(10));
        let times = [
            9, 10, 1_399, 1_400, 1_500, 2_000_000, 5_999_999, 6_000_000, 60_000_000,
        ];
        assert_eq!(
            taken(&mut wheel, times),
            [
                (10, 0),
                (1_400, 2),
                (1_500, 1),
                (6_000_000, 3),
                (60_000_000, 4)
            ]
        );
        assert_eq!(wheel.next(), Instant::FAR_FUTURE);
    }

    #[test]
    fn an_alarm_moves_to_an_earlier_time_and_not_to_a_later_one() {
        let mut wheel = Wheel::new(3);
        wheel.arm(0, at_us(9_000_000));
        wheel.arm(0, at_us(50));
        wheel.arm(1, at_us(70));
        wheel.arm(1, at_us(9_000_000));
        wheel.arm(2, at_us(60));
        wheel.disarm(2);
        assert_eq!(
            taken(&mut wheel, [50, 60, 70, 10_000_000]),
            [(50, 0), (70, 1)]
        );
        // What is overdue when it is set goes off at the next look.
        wheel.arm(1, at_us(5));
        assert_eq!(taken(&mut wheel, [10_000_001]), [(10_000_001, 1)]);
    }

    /// The clock counts from the start of the machine, which may be years ago: the wheel does not
    /// go through every turn since then. One that does takes hours here.
    #[test]
    fn years_that_have_passed_cost_no_more_than_one_turn() {
        const CENTURIES: u64 = 500 * 365 * 86_400 * 1_000_000;
        let mut wheel = Wheel::new(200);
        for place in 0..200 {
            wheel.arm(place, at_us(CENTURIES + u64::from(place % 2)));
        }
        assert_eq!(taken(&mut wheel, [CENTURIES - 1]), []);
        assert_eq!(taken(&mut wheel, [CENTURIES]).len(), 100);
        assert_eq!(taken(&mut wheel, [CENTURIES + 1]).len(), 100);
        wheel.arm(0, at_us(CENTURIES + 2));
        let later = CENTURIES + CENTURIES / 10;
        assert_eq!(taken(&mut wheel, [later]), [(later, 0)]);
    }

    proptest! {
        /// Against a list that is searched whole: the same alarms at the same looks.
        #[test]
        fn a_wheel_does_what_a_list_does(
            steps in proptest::collection::vec((0u8..4, 0u32..20, 0u64..9_000_000), 1..200),
        ) {
            let mut wheel = Wheel::new(20);
            let mut list = [None::<Instant>; 20];
            let mut now = at_us(1_000_000);
            for (what, place, us) in steps {
                match what {
                    0 | 1 => {
                        let at = now + Span::from_us(us) - Span::from_us(500);
                        wheel.arm(place, at);
                        let mine = &mut list[place as usize];
                        *mine = Some(mine.map_or(at, |before| before.min(at)));
                    }
                    2 => {
                        wheel.disarm(place);
                        list[place as usize] = None;
                    }
                    _ => {
                        now += Span::from_us(us / 2);
                        let mut due: Vec<u32> = (0..20)
                            .filter(|place| list[*place as usize].is_some_and(|at| at <= now))
                            .collect();
                        let mut seen: Vec<u32> =
                            std::iter::from_fn(|| wheel.take_due(now)).collect();
                        seen.sort_unstable();
                        for place in &due {
                            list[*place as usize] = None;
                        }
                        due.sort_unstable();
                        prop_assert_eq!(seen, due);
                        let earliest = list.iter().flatten().min();
                        prop_assert!(earliest.is_none_or(|at| wheel.next() <= *at));
                        prop_assert!(wheel.next() > now);
                    }
                }
            }
        }
    }
}
