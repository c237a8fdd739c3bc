//! Users who come, go through the script once and leave: between the closed loop and the open one.
//!
//! When they come does not depend on the server; what each asks, and when, does. Schroeder and
//! others call that partly open ("Open Versus Closed: A Cautionary Tale", NSDI 2006). Whoever finds
//! all places taken waits for one, and what it asks first is due when it would have been.

use std::collections::VecDeque;

use model::plan::{Plan, Stop};
use model::record::UsersRecord;
use model::units::{Instant, Span};

use crate::assembly::BACKLOG_LONGEST;
use crate::schedule::Schedule;

/// A user who takes a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seated {
    /// Which place that is.
    pub(crate) user: u32,
    /// Its number among those who took one, from 0.
    pub(crate) number: u32,
    /// When it came.
    pub(crate) came: Instant,
    /// Since when there has been a place for it.
    pub(crate) place_since: Instant,
}

/// Who comes to one worker, and who waits for a place.
#[derive(Debug)]
pub(crate) struct Coming {
    schedule: Schedule,
    /// Places that nobody has, the next one last.
    vacant: Vec<u32>,
    /// Since when nobody has had a place, of as many as there are of those: the longest first.
    vacant_since: VecDeque<Instant>,
    /// Whether somebody has the place.
    is_taken: Box<[bool]>,
    /// When those came who wait for a place.
    waiting: VecDeque<Instant>,
    /// How many of those, from the front on, are known to have found all places taken.
    known: usize,
    /// How many may wait.
    most: usize,
    told: UsersRecord,
}

impl Coming {
    /// Those of worker `index`; none where users are there from the beginning to the end.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let schedule = Schedule::of_users(plan, index)?;
        let file = plan.file();
        let rate = file.script.as_ref()?.arrivals.rate()?;
        let count = plan.users_of(index);
        let time = match file.stop {
            Stop::DurationNs(span) => file.warmup + span,
            Stop::Count(_) => Span::from_s(3_600),
        };
        // With stages, the rate of the warm-up is another one than their mean.
        let rate = plan
            .curve()
            .map_or(rate, |all| all.mean_rate(Span::ZERO, time));
        let most = (rate * time / u64::from(file.workers) + 1).min(BACKLOG_LONGEST);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Some(Self {
            schedule,
            vacant: (0..count).rev().collect(),
            vacant_since: vec![Instant::ZERO; count as usize].into(),
            is_taken: vec![false; count as usize].into(),
            waiting: VecDeque::with_capacity(most),
            known: 0,
            most,
            told: UsersRecord {
                waited: Some(0),
                ..UsersRecord::default()
            },
        })
    }

    /// The first comes at `start` or later. To be called once.
    pub(crate) fn begin(&mut self, start: Instant) {
        self.schedule.begin(start);
    }

    /// When the next one comes; none: nobody does any more.
    pub(crate) fn next(&self) -> Option<Instant> {
        let has_room = self.waiting.len() < self.most;
        self.schedule.next().filter(|_| has_room)
    }

    /// Nobody comes at or after `end`.
    pub(crate) fn cut(&mut self, end: Instant) {
        self.schedule.cut(end);
    }

    /// Whether nobody has the place of `user`.
    #[inline]
    pub(crate) fn is_vacant(&self, user: usize) -> bool {
        !self.is_taken[user]
    }

    /// Takes note of who has come by `now`.
    pub(crate) fn look(&mut self, now: Instant) {
        while self.waiting.len() < self.most
            && let Some(due) = self.schedule.take_due(now)
        {
            self.told.came += 1;
            self.waiting.push_back(due);
        }
    }

    /// The next of those who wait takes a place, if there is one.
    pub(crate) fn sit(&mut self, now: Instant) -> Option<Seated> {
        let came = *self.waiting.front()?;
        let Some(user) = self.vacant.pop() else {
            self.told.waiting_most = self.told.waiting_most.max(self.waiting.len() as u64);
            self.note_waiting();
            return None;
        };
        let place_since = self.vacant_since.pop_front().unwrap_or(now);
        self.waiting.pop_front();
        self.known = self.known.saturating_sub(1);
        self.is_taken[user as usize] = true;
        let number = u32::try_from(self.told.seated).unwrap_or(u32::MAX);
        self.told.seated += 1;
        let there = self.told.seated - self.told.left;
        self.told.there_most = self.told.there_most.max(there);
        // What passed since there has been a place is our lateness, and told with what is asked.
        self.told.wait.record(place_since.saturating_since(came));
        Some(Seated {
            user,
            number,
            came,
            place_since,
        })
    }

    /// `user` has been through the script, and leaves at `now`.
    pub(crate) fn leave(&mut self, user: u32, now: Instant) {
        self.is_taken[user as usize] = false;
        self.vacant.push(user);
        self.vacant_since.push_back(now);
        self.told.left += 1;
    }

    /// What became of them, at `now`: those who came and still wait.
    pub(crate) fn tell(&mut self, now: Instant) -> UsersRecord {
        self.look(now);
        let come = self.schedule.take_all_before(now);
        let come = come.map_or(0, |come| come.count);
        self.told.came += come;
        if self.vacant.is_empty() {
            self.note_waiting();
            *self.told.waited.get_or_insert(0) += come;
        }
        std::mem::take(&mut self.told)
    }

    /// All places are taken: each of those who wait has found none.
    fn note_waiting(&mut self) {
        *self.told.waited.get_or_insert(0) += (self.waiting.len() - self.known) as u64;
        self.known = self.waiting.len();
    }
}
