//! Users of a closed loop: each connection has one, who thinks before every request, or follows
//! the script of the plan.
//!
//! A wait begins when the answer has come, or with the connection; that of a script begins with the
//! run. It is the user's, not the connection's: if the server closes the connection meanwhile, a
//! new one is made when the user asks. Draws of who thinks depend on the plan's seed and the worker
//! alone.

use model::plan::Think;
use model::units::{Instant, Span};

use crate::random::Random;
use crate::script::Walks;

/// What users do between an answer and the next request.
#[derive(Debug)]
enum Habit {
    /// An author says what they ask and how long they wait before, for so many requests at once.
    Dictated(Box<[Batch]>),
    Follow(Walks),
    Think(Think, Random),
}

/// The rest of what an author handed over at once.
#[derive(Clone, Copy, Debug)]
struct Batch {
    due: Instant,
    /// Requests that nobody has begun.
    left: u32,
}

/// What was due and came back from a connection that could not carry it.
#[derive(Clone, Copy, Debug)]
struct Again {
    due: Instant,
    /// Several only of a batch, which is due at once.
    count: u32,
}

/// The users of one worker, by the place of their connection.
#[derive(Debug)]
pub(crate) struct Users {
    habit: Habit,
    /// When each asks next; [`Instant::FAR_FUTURE`] while that is open.
    asks: Box<[Instant]>,
    /// Of those whose requests are their own, what each asks again.
    again: Box<[Again]>,
}

impl Users {
    /// `count` of them who think. `stream` keeps the draws of one worker apart from those of the
    /// others.
    pub(crate) fn thinking(think: Think, seed: u64, stream: u64, count: u32) -> Self {
        let random = Random::new(seed, stream ^ 0x7415_4b5a_0f75_e125);
        Self {
            habit: Habit::Think(think, random),
            asks: vec![Instant::FAR_FUTURE; count as usize].into(),
            again: Box::default(),
        }
    }

    /// Those who go these ways.
    pub(crate) fn following(walks: Walks) -> Self {
        let count = walks.len();
        Self {
            habit: Habit::Follow(walks),
            asks: vec![Instant::FAR_FUTURE; count].into(),
            again: vec![Again::NONE; count].into(),
        }
    }

    /// `count` of them whose requests an author makes, or whom it makes wait.
    pub(crate) fn dictated(count: u32) -> Self {
        let batch = Batch {
            due: Instant::ZERO,
            left: 0,
        };
        Self {
            habit: Habit::Dictated(vec![batch; count as usize].into()),
            asks: vec![Instant::FAR_FUTURE; count as usize].into(),
            again: vec![Again::NONE; count as usize].into(),
        }
    }

    /// Whether each request is a certain user's: they follow a script, or an author.
    pub(crate) const fn follow(&self) -> bool {
        matches!(self.habit, Habit::Dictated(_) | Habit::Follow(_))
    }

    /// Whether an author says how long they wait.
    pub(crate) const fn are_dictated(&self) -> bool {
        matches!(self.habit, Habit::Dictated(_))
    }

    /// The user in `place` waits until `asks`, as its author says.
    pub(crate) fn wait(&mut self, place: u32, asks: Instant) -> Instant {
        self.asks[place as usize] = asks;
        asks
    }

    /// The user in `place` was handed `left` more requests, due with the one that begins.
    pub(crate) fn hand(&mut self, place: u32, due: Instant, left: u32) {
        if let Habit::Dictated(batches) = &mut self.habit {
            batches[place as usize] = Batch { due, left };
        }
    }

    /// Takes one more of the requests that the user in `place` was handed.
    pub(crate) fn take_handed(&mut self, place: u32) -> Option<Instant> {
        let Habit::Dictated(batches) = &mut self.habit else {
            return None;
        };
        let batch = &mut batches[place as usize];
        batch.left = batch.left.checked_sub(1)?;
        Some(batch.due)
    }

    /// How often the user in `place` has been through the script.
    pub(crate) fn round(&self, place: u32) -> u64 {
        match &self.habit {
            Habit::Follow(walks) => walks.round(place),
            Habit::Dictated(_) | Habit::Think(..) => 0,
        }
    }

    /// The request that the script has for the user in `place`.
    #[inline]
    pub(crate) fn class(&self, place: u32) -> Option<u16> {
        match &self.habit {
            Habit::Dictated(_) => Some(0),
            Habit::Follow(walks) => Some(walks.class(place)),
            Habit::Think(..) => None,
        }
    }

    /// The user in `place` begins to think at `at`, or goes on in the script, unless that is so
    /// already; when the next request is due.
    pub(crate) fn think(&mut self, place: u32, at: Instant) -> Instant {
        let asks = &mut self.asks[place as usize];
        if *asks == Instant::FAR_FUTURE {
            *asks = at
                + match &mut self.habit {
                    Habit::Dictated(_) => Span::ZERO,
                    Habit::Follow(walks) => walks.go_on(place),
                    Habit::Think(think, random) => draw(*think, random),
                };
        }
        *asks
    }

    /// The user in `place` asks once more what was due at `due`.
    pub(crate) fn ask_again(&mut self, place: u32, due: Instant) {
        let again = &mut self.again[place as usize];
        again.due = due;
        again.count += 1;
    }

    /// Takes what the user in `place` asks once more.
    pub(crate) fn take_again(&mut self, place: u32) -> Option<Instant> {
        let again = self.again.get_mut(place as usize)?;
        again.count = again.count.checked_sub(1)?;
        Some(again.due)
    }

    /// When the user in `place` asks next.
    pub(crate) fn asks(&self, place: u32) -> Instant {
        self.asks[place as usize]
    }

    /// The user in `place` asks, if it is time.
    pub(crate) fn take(&mut self, place: u32, now: Instant) -> Option<Instant> {
        let asks = &mut self.asks[place as usize];
        (*asks <= now).then(|| std::mem::replace(asks, Instant::FAR_FUTURE))
    }
}

impl Again {
    const NONE: Self = Self {
        due: Instant::ZERO,
        count: 0,
    };
}

/// How long it is this time.
pub(crate) fn draw(think: Think, random: &mut Random) -> Span {
    match think {
        Think::Constant { time } => time,
        Think::Exponential { mean } => scaled(mean, random.exponential()),
        Think::LogNormal {
            median,
            sigma_per_1000,
        } => {
            let sigma = f64::from(sigma_per_1000) / 1e3;
            scaled(median, (sigma * random.normal()).exp())
        }
        Think::Uniform { from, to } => {
            let wide = (to - from).as_ns().saturating_add(1);
            from + Span::from_ns(random.below(wide))
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "not negative; beyond 584 years it is 584 years"
)]
fn scaled(span: Span, factor: f64) -> Span {
    Span::from_ns((span.as_ns() as f64 * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of 100,000 think times that are shorter than each bound.
    fn check(think: &str, expected: &[(Span, f64)]) {
        let mut users = Users::thinking(think.parse().unwrap(), 7, 0, 1);
        let drawn: Vec<Span> = (0..100_000)
            .map(|_| {
                let asks = users.think(0, Instant::ZERO);
                assert_eq!(users.take(0, asks), Some(asks));
                asks - Instant::ZERO
            })
            .collect();
        for (bound, share) in expected {
            let below = drawn.iter().filter(|span| *span < bound).count();
            let below = below as f64 / 100_000.0;
            assert!(
                (below - share).abs() < 0.01,
                "{think}: {below} < {bound}, seed 7"
            );
        }
    }

    #[test]
    fn think_times_have_the_law_they_should() {
        let ms = Span::from_ms;
        check("20ms", &[(ms(20), 0.0), (ms(21), 1.0)]);
        check("exp:20ms", &[(ms(20), 0.632), (ms(60), 0.950)]);
        check(
            "uniform:10ms-30ms",
            &[(ms(10), 0.0), (ms(15), 0.25), (ms(31), 1.0)],
        );
        // One sigma above the median is e times it.
        check(
            "lognormal:20ms/1",
            &[(ms(20), 0.5), (Span::from_us(54_366), 0.841)],
        );
    }

    #[test]
    fn a_user_thinks_once_and_asks_once() {
        let mut users = Users::thinking("exp:1s".parse().unwrap(), 1, 0, 2);
        let asks = users.think(1, Instant::ZERO);
        assert_eq!(users.think(1, Instant::from_ns(5)), asks);
        assert_eq!((users.asks(1), users.asks(0)), (asks, Instant::FAR_FUTURE));
        assert_eq!(users.take(1, asks - Span::from_ns(1)), None);
        assert_eq!(users.take(1, asks), Some(asks));
        assert_eq!(users.take(1, asks), None);
    }
}
