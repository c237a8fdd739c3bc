//! Users of a closed loop: each connection has one, who thinks before every request, or follows
//! the script of the plan. Where the script asks for several things together, as a browser asks for
//! the parts of a page, a user may have several connections: they take those requests in turn.
//!
//! A wait begins when the answer has come, or with the connection; that of a script begins with the
//! run. It is the user's, not the connection's: if the server closes the connection meanwhile, a
//! new one is made when the user asks. Draws of who thinks depend on the plan's seed and the worker
//! alone.

use std::collections::VecDeque;
use std::ops::Range;

use model::plan::Think;
use model::units::{Instant, Span};

use crate::coming::{Coming, Seated};
use crate::pages::Begun;
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

/// A request that came back from a connection that could not carry it.
#[derive(Clone, Copy, Debug)]
struct Again {
    due: Instant,
    class: u16,
}

/// The users of one worker. Each has a connection, or several in places side by side.
#[derive(Debug)]
pub(crate) struct Users {
    habit: Habit,
    /// Who comes when; none where all are there from the beginning to the end.
    coming: Option<Box<Coming>>,
    /// Connections of each, at most.
    each: u32,
    /// How many servers each asks: it has as many connections to each of them, side by side.
    hosts: u32,
    /// How many requests each may have under way.
    together: usize,
    /// When each asks next; [`Instant::FAR_FUTURE`] while that is open.
    asks: Box<[Instant]>,
    /// Of those whose requests are their own, when what each asks now was due.
    due: Box<[Instant]>,
    /// The same, what each asks again.
    again: Box<[VecDeque<Again>]>,
    /// By the place of a connection: which request was taken for it last.
    taken: Box<[u16]>,
    /// Of those who come, since when there has been the place that each has.
    place_since: Box<[Instant]>,
}

impl Users {
    /// `count` of them who think. `stream` keeps the draws of one worker apart from those of the
    /// others.
    pub(crate) fn thinking(think: Think, seed: u64, stream: u64, count: u32) -> Self {
        let random = Random::new(seed, stream ^ 0x7415_4b5a_0f75_e125);
        Self {
            habit: Habit::Think(think, random),
            coming: None,
            each: 1,
            hosts: 1,
            together: 1,
            asks: vec![Instant::FAR_FUTURE; count as usize].into(),
            due: Box::default(),
            again: Box::default(),
            taken: Box::default(),
            place_since: Box::default(),
        }
    }

    /// Those who go these ways, each with so many connections.
    pub(crate) fn following(walks: Walks, each: u32, coming: Option<Coming>) -> Self {
        let (count, together) = (walks.len(), walks.together());
        Self {
            hosts: u32::try_from(walks.hosts()).unwrap_or(1),
            place_since: match coming {
                Some(_) => vec![Instant::ZERO; count].into(),
                None => Box::default(),
            },
            coming: coming.map(Box::new),
            ..Self::of_their_own(Habit::Follow(walks), count, each, together)
        }
    }

    /// `count` of them whose requests an author makes, up to `together` at once, or whom it makes
    /// wait.
    pub(crate) fn dictated(count: u32, together: usize) -> Self {
        let batch = Batch {
            due: Instant::ZERO,
            left: 0,
        };
        let count = count as usize;
        let habit = Habit::Dictated(vec![batch; count].into());
        Self::of_their_own(habit, count, 1, together)
    }

    fn of_their_own(habit: Habit, count: usize, each: u32, together: usize) -> Self {
        Self {
            habit,
            coming: None,
            each,
            hosts: 1,
            together,
            asks: vec![Instant::FAR_FUTURE; count].into(),
            due: vec![Instant::ZERO; count].into(),
            // Not cloned: a clone of an empty queue has no room.
            again: (0..count)
                .map(|_| VecDeque::with_capacity(together))
                .collect(),
            taken: vec![0; count * each as usize].into(),
            place_since: Box::default(),
        }
    }

    /// Whose connection that in `place` is.
    #[inline]
    const fn user(&self, place: u32) -> usize {
        (place / self.each) as usize
    }

    /// The places of the connections of the user who has that in `place`.
    pub(crate) const fn places(&self, place: u32) -> Range<u32> {
        let first = place - place % self.each;
        first..first + self.each
    }

    /// Which server the connection in `place` leads to.
    #[inline]
    const fn host(&self, place: u32) -> usize {
        match self.hosts {
            1 => 0,
            hosts => (place % self.each / (self.each / hosts)) as usize,
        }
    }

    /// Of those places, the ones that lead to the same server.
    pub(crate) const fn places_beside(&self, place: u32) -> Range<u32> {
        let to_each = self.each / self.hosts;
        let first = place - place % self.each + to_each * (place % self.each / to_each);
        first..first + to_each
    }

    /// Whether they ask several servers.
    #[inline]
    pub(crate) const fn ask_several(&self) -> bool {
        self.hosts > 1
    }

    /// Whether what the user with the connection in `place` asks next is asked of another server,
    /// and due.
    pub(crate) fn asks_elsewhere(&self, place: u32, now: Instant) -> bool {
        self.ask_several() && self.asks(place) <= now && self.place_to_ask(place) != place
    }

    /// The place of a connection of the same user to the server that it asks next: this one, if it
    /// leads there.
    pub(crate) fn place_to_ask(&self, place: u32) -> u32 {
        let user = self.user(place);
        match &self.habit {
            Habit::Follow(walks) if self.ask_several() && self.asks[user] < Instant::FAR_FUTURE => {
                if walks.has_left(user, self.host(place)) {
                    return place;
                }
                let to_each = self.each / self.hosts;
                let host = (0..self.hosts).find(|host| walks.has_left(user, *host as usize));
                host.map_or(place, |host| self.places(place).start + host * to_each)
            }
            Habit::Follow(_) | Habit::Dictated(_) | Habit::Think(..) => place,
        }
    }

    /// Connections of each, at most.
    pub(crate) const fn each(&self) -> u32 {
        self.each
    }

    /// How many users there are.
    pub(crate) const fn len(&self) -> usize {
        self.asks.len()
    }

    /// Whether a user may have several requests under way, or one on any of several connections.
    pub(crate) const fn ask_together(&self) -> bool {
        self.are_dictated() || self.together > 1 || self.ask_several()
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

    /// Takes one more of what the user with the connection in `place` asks together, for it.
    pub(crate) fn take_more(&mut self, place: u32) -> Option<Instant> {
        let (user, host) = (self.user(place), self.host(place));
        match &mut self.habit {
            Habit::Dictated(batches) => {
                let batch = &mut batches[user];
                batch.left = batch.left.checked_sub(1)?;
                Some(batch.due)
            }
            // Else it is about to ask.
            Habit::Follow(walks) if self.asks[user] == Instant::FAR_FUTURE => {
                self.taken[place as usize] = walks.take(user, host)?;
                Some(self.due[user])
            }
            Habit::Follow(_) | Habit::Think(..) => None,
        }
    }

    /// Whether more is to be asked, on the connection in `place`, of the step that its user is at.
    pub(crate) fn has_more(&self, place: u32) -> bool {
        self.has_more_for(place, |walks, user| walks.has_left(user, self.host(place)))
    }

    /// The same on any of the connections of that user.
    pub(crate) fn has_any_more(&self, place: u32) -> bool {
        self.has_more_for(place, |walks, user| {
            (0..walks.hosts()).any(|host| walks.has_left(user, host))
        })
    }

    /// Whether the user with the connection in `place` asks something once more.
    pub(crate) fn has_again(&self, place: u32) -> bool {
        let again = self.again.get(self.user(place));
        again.is_some_and(|again| !again.is_empty())
    }

    fn has_more_for(&self, place: u32, has_left: impl Fn(&Walks, usize) -> bool) -> bool {
        let user = self.user(place);
        match &self.habit {
            Habit::Follow(walks) => self.asks[user] == Instant::FAR_FUTURE && has_left(walks, user),
            Habit::Dictated(_) | Habit::Think(..) => false,
        }
    }

    /// How often the user with the connection in `place` has been through the script.
    pub(crate) fn round(&self, place: u32) -> u64 {
        match &self.habit {
            Habit::Follow(walks) => walks.round(self.user(place)),
            Habit::Dictated(_) | Habit::Think(..) => 0,
        }
    }

    /// The page that the user with the connection in `place` begins with what it has just asked.
    pub(crate) fn page(&self, place: u32) -> Option<Begun> {
        match &self.habit {
            Habit::Follow(walks) => walks.page(self.user(place)),
            Habit::Dictated(_) | Habit::Think(..) => None,
        }
    }

    /// The request of the script that was taken last for the connection in `place`.
    #[inline]
    pub(crate) fn class(&self, place: u32) -> Option<u16> {
        match &self.habit {
            Habit::Dictated(_) => Some(0),
            Habit::Follow(_) => Some(self.taken[place as usize]),
            Habit::Think(..) => None,
        }
    }

    /// The user with the connection in `place` begins to think at `at`, or goes on in the script,
    /// unless that is so already; when the next request is due. None: it has left, or leaves now.
    pub(crate) fn think(&mut self, place: u32, at: Instant) -> Option<Instant> {
        if self.is_vacant(place) {
            return None;
        }
        let user = self.user(place);
        let asks = &mut self.asks[user];
        if *asks == Instant::FAR_FUTURE {
            *asks = at
                + match &mut self.habit {
                    Habit::Dictated(_) => Span::ZERO,
                    Habit::Follow(walks) => walks.go_on(user)?,
                    Habit::Think(think, random) => draw(*think, random),
                };
        }
        Some(*asks)
    }

    /// Who comes when; none where all are there from the beginning to the end.
    pub(crate) fn coming(&mut self) -> Option<&mut Coming> {
        self.coming.as_deref_mut()
    }

    /// When the next one comes, if somebody does.
    pub(crate) fn next_comes(&self) -> Instant {
        let next = self.coming.as_ref().and_then(|all| all.next());
        next.unwrap_or(Instant::FAR_FUTURE)
    }

    /// The next of those who wait takes a place, if there is one: the first place of its
    /// connections.
    pub(crate) fn sit(&mut self, now: Instant) -> Option<u32> {
        let seated = self.coming.as_mut()?.sit(now)?;
        let Seated {
            user, number, came, ..
        } = seated;
        self.place_since[user as usize] = seated.place_since;
        if let Habit::Follow(walks) = &mut self.habit {
            walks.sit(user as usize, number);
        }
        let place = user * self.each;
        self.think(place, came);
        Some(place)
    }

    /// Whether they come, and leave.
    pub(crate) const fn come(&self) -> bool {
        self.coming.is_some()
    }

    /// Whether nobody has the connection in `place`.
    #[inline]
    pub(crate) fn is_vacant(&self, place: u32) -> bool {
        let user = self.user(place);
        self.coming.as_ref().is_some_and(|all| all.is_vacant(user))
    }

    /// Since when the user with the connection in `place` could have asked what was due at `due`.
    pub(crate) fn could_ask(&self, place: u32, due: Instant) -> Instant {
        let place_since = self.place_since.get(self.user(place));
        place_since.map_or(due, |since| due.max(*since))
    }

    /// The user with the connection in `place` has been through the script and leaves at `now`.
    pub(crate) fn leave(&mut self, place: u32, now: Instant) {
        let user = place / self.each;
        if let Some(coming) = &mut self.coming
            && !coming.is_vacant(user as usize)
        {
            coming.leave(user, now);
        }
    }

    /// The user with the connection in `place` asks once more what was due at `due`.
    pub(crate) fn ask_again(&mut self, place: u32, due: Instant, class: u16) {
        let user = self.user(place);
        // What was taken back later was due before.
        self.again[user].push_front(Again { due, class });
    }

    /// Takes what the user asks once more, for its connection in `place`.
    pub(crate) fn take_again(&mut self, place: u32) -> Option<Instant> {
        let (user, host) = (self.user(place), self.host(place));
        let again = self.again.get_mut(user)?;
        let position = match &self.habit {
            Habit::Follow(walks) if self.hosts > 1 => {
                let is_there = |one: &Again| walks.host_of(one.class) == host;
                again.iter().position(is_there)?
            }
            Habit::Follow(_) | Habit::Dictated(_) | Habit::Think(..) => 0,
        };
        let Again { due, class } = again.remove(position)?;
        self.taken[place as usize] = class;
        Some(due)
    }

    /// When the user with the connection in `place` asks next.
    pub(crate) fn asks(&self, place: u32) -> Instant {
        self.asks[self.user(place)]
    }

    /// The user asks, if it is time, on its connection in `place`, if that leads to the server that
    /// is asked.
    pub(crate) fn take(&mut self, place: u32, now: Instant) -> Option<Instant> {
        let (user, host) = (self.user(place), self.host(place));
        if self.asks_elsewhere(place, now) {
            return None;
        }
        let asks = &mut self.asks[user];
        let due = (*asks <= now).then(|| std::mem::replace(asks, Instant::FAR_FUTURE))?;
        if let Habit::Follow(walks) = &mut self.habit {
            self.due[user] = due;
            self.taken[place as usize] = walks.take(user, host)?;
        }
        Some(due)
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
                let asks = users.think(0, Instant::ZERO).unwrap();
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
        let asks = users.think(1, Instant::ZERO).unwrap();
        assert_eq!(users.think(1, Instant::from_ns(5)), Some(asks));
        assert_eq!((users.asks(1), users.asks(0)), (asks, Instant::FAR_FUTURE));
        assert_eq!(users.take(1, asks - Span::from_ns(1)), None);
        assert_eq!(users.take(1, asks), Some(asks));
        assert_eq!(users.take(1, asks), None);
    }
}
