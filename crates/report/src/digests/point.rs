//! One cell of the grid: its rounds, and what they say together.

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::{Network, Placement};
use model::point::{NETWORK, PLACEMENT, Values};
use model::{Claim, Outcome, Status};
use verdict::analysis::{Measure, Standing, are_mostly_struck, worth};

use super::digest::Digest;
use super::time::Time;

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
        let is_bound = |digest: &Digest| digest.is_bound;
        self.measure(|digest| Some(digest.rate), Digest::rate_standing, is_bound)
    }

    /// Whether `digest`, one of its trials, is one of those that its numbers are medians of.
    pub fn is_behind(&self, digest: &Digest) -> bool {
        self.counting().any(|one| std::ptr::eq(one, digest))
    }

    /// Anything else that a trial has one of, resting on `claim`.
    pub fn value(&self, claim: Claim, value: impl Fn(&Digest) -> Option<f64>) -> Option<Measure> {
        self.measure(value, |digest| digest.standing(claim), |_| false)
    }

    /// A time that a trial has one of, or what it is at least.
    pub fn time(&self, time: impl Fn(&Digest) -> Option<Time>) -> Option<Measure> {
        self.measure(
            |digest| Some(time(digest)?.us),
            |digest| digest.standing(digest.load_claim()),
            |digest| time(digest).is_some_and(|time| time.is_bound),
        )
    }

    /// A quantile of response time, by its position in the list of them, over the rounds whose
    /// samples carry it.
    pub fn response(&self, position: usize) -> Option<Response> {
        let of_round = |digest: &Digest| digest.response(position);
        let measure = self.time(of_round)?;
        let rounds = |carried: bool| {
            let counting = self.counting();
            let each = counting.filter(|digest| !carried || of_round(digest).is_some());
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
            |digest| digest.recovery.map(|found| found.seconds),
            |digest| digest.standing(claim),
            |digest| digest.recovery.is_some_and(|found| !found.was_seen),
        )
    }

    /// A number over the rounds that count: those that nothing else spoilt, and where there are
    /// none, all of them as they were first measured, as in a comparison. No rule chooses among
    /// them by what came out: where rules object to more than half of them, the number is struck;
    /// where they object to fewer, these count, too, and are doubted.
    fn measure(
        &self,
        value: impl Fn(&Digest) -> Option<f64>,
        standing: impl Fn(&Digest) -> Standing,
        is_bound: impl Fn(&Digest) -> bool,
    ) -> Option<Measure> {
        let counting: Vec<&Digest> = self.counting().collect();
        let none_is_left = counting.iter().any(|digest| digest.is_left_out());
        let struck = counting.iter();
        let struck = struck
            .filter(|one| standing(one) == Standing::Struck)
            .count();
        let is_struck = none_is_left || are_mostly_struck(struck, counting.len() - struck);
        let of_rounds = |digests: &[&Digest], level: fn(Standing, bool) -> Standing| {
            let each = digests.iter();
            let each = each.filter_map(|digest| {
                let value = value(digest).filter(|value| value.is_finite())?;
                let level = match level(standing(digest), is_struck) {
                    // What is drawn of it.
                    Standing::Sound if is_bound(digest) => Standing::AtLeast,
                    level => level,
                };
                Some(((digest.round, value, level), is_bound(digest)))
            });
            each.unzip::<_, _, Vec<_>, Vec<bool>>()
        };
        let (measured, bounds) = of_rounds(&counting, |standing, is_struck| match standing {
            _ if is_struck => Standing::Struck,
            Standing::Struck => Standing::Doubtful,
            standing => standing,
        });
        let mut measure = Measure::with_bounds(measured, &bounds)?;
        // Those that do not count are shown beside them.
        let others = self.rounds.iter().copied();
        let others: Vec<&Digest> = others.filter(|digest| !self.is_behind(digest)).collect();
        let (others, _) = of_rounds(&others, |_, _| Standing::Struck);
        measure.rounds.extend(others);
        measure.rounds.sort_by_key(|(round, ..)| *round);
        Some(measure)
    }

    /// The claim that response times rest on: closed loops make none of latency.
    pub fn response_claim(&self) -> Claim {
        let first = self.rounds.first();
        first.map_or(Claim::Capacity, |digest| digest.load_claim())
    }

    /// How far the generator was from its limit in the worst of the rounds that count.
    pub fn headroom(&self) -> Option<f64> {
        let each = self.counting().filter_map(|digest| digest.headroom);
        each.min_by(f64::total_cmp)
    }

    /// Where the server had held more connections since its start than this point has, the most of
    /// them: its memory is that after so many.
    pub fn memory_after(&self) -> Option<u32> {
        let before = self
            .counting()
            .filter_map(|digest| digest.connections_before);
        before
            .max()
            .filter(|most| *most > self.place().connections())
    }

    /// What its numbers are made of: the rounds that nothing else spoilt, and where there are none,
    /// all of them as they were first measured.
    pub(super) fn counting(&self) -> impl Iterator<Item = &'a Digest> + use<'a> {
        let none = self.rounds.iter().all(|digest| digest.is_left_out());
        let rounds = self.rounds.clone().into_iter();
        rounds.filter(move |digest| match none {
            true => digest.attempt == 0,
            false => !digest.is_left_out(),
        })
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
            let rounds = self.counting().filter_map(|digest| {
                let (status, _) = digest.claims.get(&claim)?;
                let because = digest.because.get(&claim).into_iter().flatten();
                Some((*status, because.map(String::as_str).collect()))
            });
            let partial = |digest: &Digest| digest.claims.get(&claim).is_some_and(|c| c.1);
            (worth(rounds), self.counting().any(partial))
        };
        made.into_iter()
            .map(|claim| (claim, of_claim(claim)))
            .collect()
    }

    /// How far what the point says of `claim` may be believed, all rounds taken together.
    pub fn standing(&self, claim: Claim) -> Standing {
        if self.rounds.iter().all(|digest| digest.is_left_out()) {
            return Standing::Struck;
        }
        match self.claims().get(&claim).map(|(status, _)| *status) {
            Some(Status::Invalid) => Standing::Struck,
            Some(Status::Suspect) => Standing::Doubtful,
            Some(Status::Valid | Status::Unknown) | None => Standing::Sound,
        }
    }

    /// The rules that say of most rounds that they must not be held against those of others.
    pub fn unlike(&self) -> Option<String> {
        let rules: Vec<Option<&str>> = self.counting().map(|one| one.round().unlike_by).collect();
        let found: BTreeSet<&str> = rules.iter().flatten().copied().collect();
        let unlike = rules.iter().flatten().count();
        let is_most = are_mostly_struck(unlike, rules.len() - unlike);
        is_most.then(|| verdict::words::list(&found.into_iter().collect::<Vec<_>>()))
    }

    /// What the point is worth in all: the worst of its claims.
    pub fn status(&self) -> Status {
        let claims = self.claims().into_values();
        claims.map(|(status, _)| status).max().unwrap_or_default()
    }

    /// How many of the rounds that count are as bad as that or worse, and how many there are. A
    /// round of what several groups share has several trials; a trial of no lab has no round.
    pub fn as_bad_as(&self, status: Status) -> (usize, usize) {
        let rounds = |is_meant: &dyn Fn(&Digest) -> bool| {
            let meant = self.counting().filter(|digest| is_meant(digest));
            let rounds = meant.map(|digest| match digest.round {
                0 => (0, digest.sequence),
                round => (round, 0),
            });
            rounds.collect::<BTreeSet<(u32, u32)>>().len()
        };
        (rounds(&|digest| digest.status >= status), rounds(&|_| true))
    }

    /// The rules that spoke in any round.
    pub fn rules(&self) -> BTreeSet<&str> {
        self.rounds
            .iter()
            .flat_map(|digest| digest.rules.iter().map(|(rule, _)| rule.as_str()))
            .collect()
    }

    /// Exchanges that got no right answer, over all rounds.
    pub fn lost(&self) -> u64 {
        self.rounds.iter().map(|digest| digest.lost()).sum()
    }

    /// Right answers, over all rounds.
    pub fn ok(&self) -> u64 {
        self.rounds
            .iter()
            .map(|digest| digest.outcomes[Outcome::Ok])
            .sum()
    }
}
