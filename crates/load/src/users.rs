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
    Follow(Walks),
    Think(Think, Random),
}

/// The users of one worker, by the place of their connection.
#[derive(Debug)]
pub(crate) struct Users {
    habit: Habit,
    /// When each asks next; [`Instant::FAR_FUTURE`] while that is open.
    asks: Box<[Instant]>,
    /// Of those who follow a script, when the request was due that each asks again, because its
    /// connection could not carry it.
    again: Box<[Option<Instant>]>,
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
            again: vec![None; count].into(),
        }
    }

    /// Whether they follow a script: each request is a certain user's.
    pub(crate) const fn follow(&self) -> bool {
        matches!(self.habit, Habit::Follow(_))
    }

    /// How often the user in `place` has been through the script.
    pub(crate) fn round(&self, place: u32) -> u64 {
        match &self.habit {
            Habit::Follow(walks) => walks.round(place),
            Habit::Think(..) => 0,
        }
    }

    /// The request that the script has for the user in `place`.
    #[inline]
    pub(crate) fn class(&self, place: u32) -> Option<u16> {
        match &self.habit {
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
                    Habit::Follow(walks) => walks.go_on(place),
                    Habit::Think(think, random) => draw(*think, random),
                };
        }
        *asks
    }

    /// The user in `place` asks once more what was due at `due`.
    pub(crate) fn ask_again(&mut self, place: u32, due: Instant) {
        self.again[place as usize] = Some(due);
    }

    /// Takes what the user in `place` asks once more.
    pub(crate) fn take_again(&mut self, place: u32) -> Option<Instant> {
        self.again.get_mut(place as usize)?.take()
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
