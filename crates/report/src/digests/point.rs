//! One cell of the grid: its rounds, and what they say together.

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::{Network, Placement};
use model::point::{NETWORK, PLACEMENT, Values};
use model::{Claim, Outcome, Status};
use verdict::analysis::{Measure, Standing, are_mostly_struck, worth};

use super::digest::Digest;

/// The rounds of one point.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Each round, in order.
    pub rounds: Vec<&'a Digest>,
}

/// A quantile of response time over the rounds of a point.
#[derive(Clone, Debug)]
pub struct Response {
    /// In microseconds.
    pub measure: Measure,
    /// Rounds whose samples carry it.
    pub carried: usize,
    /// Rounds that count.
    pub rounds: usize,
}

impl Response {
    /// Whether some rounds have too few answers for it.
    pub const fn is_partial(&self) -> bool {
        self.carried < self.rounds
    }
}

impl<'a> Cell<'a> {
    pub(super) fn new(mut rounds: Vec<&'a Digest>) -> Self {
        rounds.sort_by_key(|digest| (digest.round, digest.sequence));
        Self { rounds }
    }

    /// The server's label.
    pub fn server(&self) -> &str {
        &self.rounds[0].id.server
    }

    /// Where on the grid it stands, its server apart.
    pub fn place(&self) -> &Values {
        &self.rounds[0].place
    }

    /// Whether it has `word` on `axis`; none where it has nothing there.
    pub fn is_on(&self, axis: &str, word: &str) -> Option<bool> {
        let value = self.place().get(axis)?;
        Some(value.to_string() == word)
    }

    /// Whether the generator has CPUs of its own, as far as is said.
    pub fn is_apart(&self) -> bool {
        self.is_on(PLACEMENT, Placement::Apart.name()) != Some(false)
    }

    /// Whether it is over loopback, as far as is said.
    pub fn is_near(&self) -> bool {
        self.is_on(NETWORK, Network::Loopback.name()) != Some(false)
    }

    /// Whether it is where points are unless an experiment says otherwise.
    pub fn is_at_home(&self) -> bool {
        self.is_apart() && self.is_near()
    }

    /// Right answers per second.
    pub fn rate(&self) -> Option<Measure> {
        self.measure(|digest| Some(digest.rate), Digest::rate_standing)
    }

    /// Whether the rate of `digest`, one of its trials, is one of those that its own is the median
    /// of.
    pub fn is_behind_rate(&self, digest: &Digest) -> bool {
        self.is_behind(digest, Digest::rate_standing)
    }

    /// The same of what rests on `claim`.
    pub fn is_behind_value(&self, digest: &Digest, claim: Claim) -> bool {
        self.is_behind(digest, |one| one.standing(claim))
    }

    fn is_behind(&self, digest: &Digest, standing: impl Fn(&Digest) -> Standing) -> bool {
        if self.is_mostly_struck(&standing) {
            return !digest.is_left_out();
        }
        let counts = |one: &Digest| standing(one) != Standing::Struck;
        match self.rounds.iter().any(|one| counts(one)) {
            true => counts(digest),
            false => digest.attempt == 0,
        }
    }

    /// Anything else that a trial has one of, resting on `claim`.
    pub fn value(&self, claim: Claim, value: impl Fn(&Digest) -> Option<f64>) -> Option<Measure> {
        self.measure(value, |digest| digest.standing(claim))
    }

    /// A quantile of response time, by its position in the list of them, over the rounds whose
    /// samples carry it.
    pub fn response(&self, position: usize) -> Option<Response> {
        let of_round = |digest: &Digest| digest.response_us(position);
        let measure = self.value(self.response_claim(), of_round)?;
        let rounds = |carried: bool| {
            let judged = self.judged();
            let each = judged.filter(|digest| !carried || of_round(digest).is_some());
            each.map(|digest| digest.round).collect::<BTreeSet<u32>>()
        };
        Some(Response {
            measure,
            carried: rounds(true).len(),
            rounds: rounds(false).len(),
        })
    }

    /// Seconds until answers took as before, once a crowd had gone. Where they did not within the
    /// window, it is at least as long as that was watched.
    pub fn recovery(&self) -> Option<Measure> {
        let claim = self.response_claim();
        self.measure(
            |digest| digest.recovery.map(|(seconds, _)| seconds),
            |digest| match digest.recovery {
                Some((_, false)) => digest.standing(claim).max(Standing::AtLeast),
                _ => digest.standing(claim),
            },
        )
    }

    /// Whether rules leave no sample of the rounds that nothing spoilt.
    fn is_mostly_struck(&self, standing: impl Fn(&Digest) -> Standing) -> bool {
        let judged = self.rounds.iter().filter(|digest| !digest.is_left_out());
        let (struck, counting): (Vec<&Digest>, Vec<&Digest>) =
            judged.partition(|digest| standing(digest) == Standing::Struck);
        are_mostly_struck(struck.len(), counting.len())
    }

    /// Where no round counts, it is that of all rounds as they were first measured, as it is in a
    /// comparison. Where rules strike more than half of the rounds that nothing spoilt, it is that
    /// of all of these, and struck: a rule that weighs one result against another, such as lateness
    /// against response times, strikes some results sooner than others, and what it leaves would be
    /// chosen by it.
    fn measure(
        &self,
        value: impl Fn(&Digest) -> Option<f64>,
        standing: impl Fn(&Digest) -> Standing,
    ) -> Option<Measure> {
        let over = |digests: &mut dyn Iterator<Item = &&Digest>| {
            let rounds = digests
                .filter_map(|digest| Some((digest.round, value(digest)?, standing(digest))))
                .filter(|(_, value, _)| value.is_finite());
            Measure::over(rounds.collect())
        };
        let all = over(&mut self.rounds.iter())?;
        if self.is_mostly_struck(&standing) {
            let judged: Vec<&Digest> = self.judged().collect();
            let of_judged = over(&mut judged.iter())?;
            let struck = of_judged.rounds.iter();
            let struck = struck.map(|(round, value, _)| (*round, *value, Standing::Struck));
            return Some(Measure {
                rounds: all.rounds,
                ..Measure::over(struck.collect())?
            });
        }
        if all.struck() < all.rounds.len() {
            return Some(all);
        }
        let first = over(&mut self.rounds.iter().filter(|digest| digest.attempt == 0));
        Some(Measure {
            rounds: all.rounds.clone(),
            ..first.unwrap_or(all)
        })
    }

    /// The claim that response times rest on: closed loops make none of latency.
    pub fn response_claim(&self) -> Claim {
        let first = self.rounds.first();
        first.map_or(Claim::Capacity, |digest| digest.load_claim())
    }

    /// How far the generator was from its limit in the worst of the rounds that count.
    pub fn headroom(&self) -> Option<f64> {
        let each = self.judged().filter_map(|digest| digest.headroom);
        each.min_by(f64::total_cmp)
    }

    /// Where the server had held more connections since its start than this point has, the most of
    /// them: its memory is that after so many.
    pub fn memory_after(&self) -> Option<u32> {
        let before = self.judged().filter_map(|digest| digest.connections_before);
        before
            .max()
            .filter(|most| *most > self.place().connections())
    }

    /// What its rate is made of: the rounds that count, and where none does, all of them as they
    /// were first measured.
    pub(super) fn counting(&self) -> impl Iterator<Item = &'a Digest> + use<'a> {
        let none = self.rounds.iter().all(|digest| digest.is_left_out());
        let rounds = self.rounds.clone().into_iter();
        rounds.filter(move |digest| match none {
            true => digest.attempt == 0,
            false => !digest.is_left_out(),
        })
    }

    /// The rounds that count; all of them where none does.
    fn judged(&self) -> impl Iterator<Item = &'a Digest> {
        let all = self.rounds.iter().all(|digest| digest.is_left_out());
        let rounds = self.rounds.iter().copied();
        rounds.filter(move |digest| all || !digest.is_left_out())
    }

    /// What the point is worth for each claim, by all its rounds, and whether that is only partly
    /// known.
    pub fn claims(&self) -> BTreeMap<Claim, (Status, bool)> {
        let made: BTreeSet<Claim> = self
            .rounds
            .iter()
            .flat_map(|d| d.claims.keys().copied())
            .collect();
        let of_claim = |claim: Claim| {
            let rounds = self.judged().filter_map(|digest| {
                let (status, _) = digest.claims.get(&claim)?;
                let because = digest.because.get(&claim).into_iter().flatten();
                Some((*status, because.map(String::as_str).collect()))
            });
            let partial = |digest: &Digest| digest.claims.get(&claim).is_some_and(|c| c.1);
            (worth(rounds), self.judged().any(partial))
        };
        made.into_iter()
            .map(|claim| (claim, of_claim(claim)))
            .collect()
    }

    /// What the point is worth in all: the worst of its claims.
    pub fn status(&self) -> Status {
        let claims = self.claims().into_values();
        claims.map(|(status, _)| status).max().unwrap_or_default()
    }

    /// How many of the rounds that count are as bad as that or worse, and how many there are.
    pub fn as_bad_as(&self, status: Status) -> (usize, usize) {
        let is_bad = |digest: &&Digest| digest.status >= status;
        (self.judged().filter(is_bad).count(), self.judged().count())
    }

    /// The rules that spoke in any round.
    pub fn rules(&self) -> BTreeSet<&str> {
        self.rounds
            .iter()
            .flat_map(|digest| digest.rules.iter().map(String::as_str))
            .collect()
    }

    /// Exchanges that got no right answer, over all rounds.
    pub fn lost(&self) -> u64 {
        self.rounds
            .iter()
            .map(|digest| digest.outcomes.lost())
            .sum()
    }

    /// Right answers, over all rounds.
    pub fn ok(&self) -> u64 {
        self.rounds
            .iter()
            .map(|digest| digest.outcomes[Outcome::Ok])
            .sum()
    }
}
