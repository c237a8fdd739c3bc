//! The script of a plan as a flat list, and where in it each user is.
//!
//! What a user does depends on the plan's seed and the user's number among all users alone: not on
//! the server, not on the other users, not on how many workers share them out. A step costs a few
//! instructions; nothing is allocated after the start.

use std::ops::Range;

use model::plan::{ScriptFile, StepFile, Think};
use model::units::Span;

use crate::pages::{Begun, begun_with};
use crate::random::Random;
use crate::users::draw;

/// One step of the flat list.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// So many times, to be drawn, up to the place before `end`; then there.
    Enter {
        counter: u32,
        from: u32,
        to: u32,
        end: u32,
    },
    /// Once more from `body`, if there is anything left to count.
    Again {
        counter: u32,
        body: u32,
    },
    /// Several requests together: what is asked of each server lies between two bounds, the first
    /// of them in this place.
    Ask {
        first: u32,
        /// The page that begins with them.
        page: Option<Begun>,
    },
    /// One of so many ways from `first` on.
    Choose {
        first: u32,
        count: u32,
    },
    Jump(u32),
    Wait(Think),
}

/// One of several ways.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The weights of all ways of the step up to and with this one, added up.
    upto: u64,
    to: u32,
}

/// What each user does, compiled. After the last step comes the first.
#[derive(Clone, Debug, Default)]
struct Program {
    ops: Vec<Op>,
    /// The classes of what is asked.
    asked: Vec<u16>,
    /// Places in it.
    bounds: Vec<u32>,
    /// How many servers are asked.
    hosts: usize,
    /// By class: which of them; nothing where there is one.
    host_of: Box<[u16]>,
    ways: Vec<Way>,
    /// How deep repeats lie in each other.
    counters: u32,
}

impl Program {
    fn new(steps: &[StepFile], hosts: usize, host_of: Box<[u16]>) -> Self {
        let mut program = Self {
            hosts,
            host_of,
            ..Self::default()
        };
        program.add(steps, 0);
        program
    }

    /// Which server is asked for `class`.
    fn host(&self, class: u16) -> usize {
        let host = self.host_of.get(usize::from(class));
        host.map_or(0, |host| usize::from(*host))
    }

    fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).expect("a plan has fewer steps")
    }

    fn add(&mut self, steps: &[StepFile], depth: u32) {
        for (position, step) in steps.iter().enumerate() {
            let page = begun_with(steps, position);
            match step {
                StepFile::Ask(class) => self.add_asked(&[*class], page),
                StepFile::Together(classes) => self.add_asked(classes, page),
                StepFile::Wait(law) => self.ops.push(Op::Wait(*law)),
                StepFile::Choose(ways) => self.add_ways(ways, depth),
                StepFile::Repeat { from, to, steps } => {
                    self.counters = self.counters.max(depth + 1);
                    let enter = self.ops.len();
                    self.ops.push(Op::Jump(0));
                    let body = self.here();
                    self.add(steps, depth + 1);
                    let counter = depth;
                    self.ops.push(Op::Again { counter, body });
                    self.ops[enter] = Op::Enter {
                        counter,
                        from: *from,
                        to: *to,
                        end: self.here(),
                    };
                }
            }
        }
    }

    fn add_asked(&mut self, classes: &[u16], page: Option<Begun>) {
        let number = |count: usize| u32::try_from(count).expect("a plan has fewer requests");
        let first = number(self.bounds.len());
        for host in 0..self.hosts {
            self.bounds.push(number(self.asked.len()));
            for class in classes {
                if self.host(*class) == host {
                    self.asked.push(*class);
                }
            }
        }
        self.bounds.push(number(self.asked.len()));
        self.ops.push(Op::Ask { first, page });
    }

    fn add_ways(&mut self, ways: &[model::plan::WayFile], depth: u32) {
        let first = self.ways.len();
        let mut upto = 0;
        for way in ways {
            upto += u64::from(way.weight);
            self.ways.push(Way { upto, to: 0 });
        }
        self.ops.push(Op::Choose {
            first: u32::try_from(first).expect("a plan has fewer steps"),
            count: u32::try_from(ways.len()).expect("a plan has fewer steps"),
        });
        let mut ends = Vec::new();
        for (index, way) in ways.iter().enumerate() {
            self.ways[first + index].to = self.here();
            self.add(&way.steps, depth);
            ends.push(self.ops.len());
            self.ops.push(Op::Jump(0));
        }
        for end in ends {
            self.ops[end] = Op::Jump(self.here());
        }
    }
}

/// Where one user is.
#[derive(Clone, Debug)]
struct Walk {
    random: Random,
    /// The next step.
    at: u32,
    begun: bool,
    /// How often it has been through all steps, or as the how manyth it came.
    round: u32,
}

impl Walk {
    /// That of the `number`th user of `worker`.
    fn new(seed: u64, number: u32, worker: u32, workers: u32) -> Self {
        let number = u64::from(number) * u64::from(workers) + u64::from(worker);
        Self {
            random: Random::new(seed, number ^ 0x5c21_97a1_0000_0000),
            at: 0,
            begun: false,
            round: 0,
        }
    }
}

/// The users of one worker on their ways through the script.
#[derive(Debug)]
pub(crate) struct Walks {
    program: Program,
    start: Option<Think>,
    /// Each leaves behind the last step.
    is_once: bool,
    seed: u64,
    worker: u32,
    workers: u32,
    /// How many requests a user may have under way at once.
    together: usize,
    walks: Box<[Walk]>,
    /// What of the step that each is at is still to be asked: of each server.
    left: Box<[Range<u32>]>,
    /// What each has left to repeat: as many numbers for each as repeats lie in each other.
    counters: Box<[u32]>,
}

impl Walks {
    /// `count` of them: those of worker `worker` of `workers`. `host_of` says by class which of
    /// `hosts` servers is asked.
    pub(crate) fn new(
        script: &ScriptFile,
        seed: u64,
        (worker, workers): (u32, u32),
        count: u32,
        (hosts, host_of): (usize, Box<[u16]>),
    ) -> Self {
        let program = Program::new(&script.steps, hosts, host_of);
        let walk = |place: u32| Walk::new(seed, place, worker, workers);
        Self {
            start: script.start,
            is_once: script.arrivals.rate().is_some(),
            seed,
            worker,
            workers,
            together: script.together(),
            walks: (0..count).map(walk).collect(),
            left: vec![0..0; count as usize * hosts].into(),
            counters: vec![0; count as usize * program.counters as usize].into(),
            program,
        }
    }

    /// How many users there are.
    pub(crate) const fn len(&self) -> usize {
        self.walks.len()
    }

    /// How many requests a user may have under way at once.
    pub(crate) const fn together(&self) -> usize {
        self.together
    }

    /// Somebody comes as the `number`th and takes the place of `user`, who has left.
    pub(crate) fn sit(&mut self, user: usize, number: u32) {
        self.walks[user] = Walk {
            round: number,
            ..Walk::new(self.seed, number, self.worker, self.workers)
        };
        let hosts = self.program.hosts;
        self.left[user * hosts..][..hosts].fill(0..0);
    }

    /// How many servers are asked.
    pub(crate) const fn hosts(&self) -> usize {
        self.program.hosts
    }

    /// Which server is asked for `class`.
    pub(crate) fn host_of(&self, class: u16) -> usize {
        self.program.host(class)
    }

    /// `user` goes on to the next step that asks: how long the steps before it wait; none: it has
    /// been through all steps and leaves.
    pub(crate) fn go_on(&mut self, user: usize) -> Option<Span> {
        let depth = self.program.counters as usize;
        let walk = &mut self.walks[user];
        let counters = &mut self.counters[user * depth..][..depth];
        let hosts = self.program.hosts;
        let to_ask = &mut self.left[user * hosts..][..hosts];
        let mut wait = Span::ZERO;
        if !std::mem::replace(&mut walk.begun, true)
            && let Some(start) = self.start
        {
            wait = draw(start, &mut walk.random);
        }
        loop {
            // The plan has seen to it that a request comes.
            let Some(op) = self.program.ops.get(walk.at as usize) else {
                if self.is_once {
                    return None;
                }
                walk.at = 0;
                walk.round = walk.round.wrapping_add(1);
                continue;
            };
            walk.at += 1;
            match *op {
                Op::Ask { first, .. } => {
                    let bounds = self.program.bounds[first as usize..].windows(2);
                    for (left, bounds) in to_ask.iter_mut().zip(bounds) {
                        *left = bounds[0]..bounds[1];
                    }
                    return Some(wait);
                }
                Op::Wait(law) => {
                    let more = draw(law, &mut walk.random);
                    wait = Span::from_ns(wait.as_ns().saturating_add(more.as_ns()));
                }
                Op::Enter {
                    counter,
                    from,
                    to,
                    end,
                } => {
                    let times = match to - from {
                        0 => from,
                        more => from + below(&mut walk.random, more.saturating_add(1)),
                    };
                    match times.checked_sub(1) {
                        None => walk.at = end,
                        Some(left) => counters[counter as usize] = left,
                    }
                }
                Op::Again { counter, body } => {
                    let left = &mut counters[counter as usize];
                    if *left > 0 {
                        *left -= 1;
                        walk.at = body;
                    }
                }
                Op::Choose { first, count } => {
                    let ways = &self.program.ways[first as usize..][..count as usize];
                    let drawn = walk.random.below(ways[ways.len() - 1].upto);
                    walk.at = ways[ways.partition_point(|way| way.upto <= drawn)].to;
                }
                Op::Jump(to) => walk.at = to,
            }
        }
    }

    /// How often `user` has been through all steps.
    pub(crate) fn round(&self, user: usize) -> u64 {
        u64::from(self.walks[user].round)
    }

    /// The page that begins with the step that `user` is at, if one does.
    pub(crate) fn page(&self, user: usize) -> Option<Begun> {
        let last = self.walks[user].at.checked_sub(1)?;
        match self.program.ops[last as usize] {
            Op::Ask { page, .. } => page,
            _ => None,
        }
    }

    /// Takes the next request to `host` of the step that `user` is at, if one is left.
    #[inline]
    pub(crate) fn take(&mut self, user: usize, host: usize) -> Option<u16> {
        let next = self.left[user * self.program.hosts + host].next()?;
        Some(self.program.asked[next as usize])
    }

    /// Whether something of the step that `user` is at is still to be asked of `host`.
    pub(crate) fn has_left(&self, user: usize, host: usize) -> bool {
        !self.left[user * self.program.hosts + host].is_empty()
    }
}

fn below(random: &mut Random, bound: u32) -> u32 {
    u32::try_from(random.below(u64::from(bound))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use model::plan::WayFile;

    use super::*;

    fn walks(steps: Vec<StepFile>, worker: u32, workers: u32, count: u32) -> Walks {
        let script = ScriptFile {
            steps,
            ..ScriptFile::default()
        };
        Walks::new(&script, 7, (worker, workers), count, (1, Box::default()))
    }

    /// The first requests of the first user.
    fn asked(steps: Vec<StepFile>, count: usize) -> Vec<u16> {
        let mut walks = walks(steps, 0, 1, 1);
        let mut next = || {
            walks.go_on(0);
            walks.take(0, 0).unwrap()
        };
        (0..count).map(|_| next()).collect()
    }

    fn repeat(from: u32, to: u32, steps: Vec<StepFile>) -> StepFile {
        StepFile::Repeat { from, to, steps }
    }

    fn choose(ways: &[(u32, &[StepFile])]) -> StepFile {
        let way = |(weight, steps): &(u32, &[StepFile])| WayFile {
            weight: *weight,
            steps: steps.to_vec(),
        };
        StepFile::Choose(ways.iter().map(way).collect())
    }

    use StepFile::Ask;

    #[test]
    fn steps_come_in_order_again_and_again() {
        assert_eq!(
            asked(vec![Ask(0), Ask(1), Ask(2)], 7),
            [0, 1, 2, 0, 1, 2, 0]
        );
        let nested = vec![
            repeat(2, 2, vec![Ask(0), repeat(3, 3, vec![Ask(1)])]),
            Ask(2),
        ];
        let once = [0, 1, 1, 1, 0, 1, 1, 1, 2];
        assert_eq!(asked(nested, 18), [once, once].concat());
    }

    #[test]
    fn what_is_asked_together_is_one_step() {
        let mut walks = walks(vec![Ask(0), StepFile::Together(vec![1, 2, 1])], 0, 1, 1);
        let mut step = || {
            walks.go_on(0);
            let mut asked = Vec::new();
            while let Some(class) = walks.take(0, 0) {
                asked.push(class);
                assert_eq!(walks.has_left(0, 0), asked.len() < 3 && asked[0] == 1);
            }
            asked
        };
        assert_eq!([step(), step(), step()], [vec![0], vec![1, 2, 1], vec![0]]);
        assert_eq!(walks.together(), 3);
    }

    #[test]
    fn what_is_repeated_as_often_as_drawn_has_its_bounds() {
        let all = asked(vec![repeat(0, 3, vec![Ask(0)]), Ask(1)], 30_000);
        let runs: Vec<usize> = all.split(|class| *class == 1).map(<[u16]>::len).collect();
        for times in 0..=3 {
            let share = runs.iter().filter(|run| **run == times).count() * 100 / runs.len();
            assert!((23..=27).contains(&share), "{times}: {share} %, seed 7");
        }
        assert!(runs.iter().all(|run| *run <= 3));
    }

    #[test]
    fn ways_are_gone_by_their_weights() {
        let way = choose(&[
            (7, &[Ask(0)]),
            (0, &[Ask(9)]),
            (2, &[Ask(1), Ask(2)]),
            (1, &[]),
        ]);
        let all = asked(vec![way, Ask(3)], 100_000);
        let count = |class| all.iter().filter(|one| **one == class).count();
        let rounds = count(3);
        assert_eq!((count(9), count(1)), (0, count(2)));
        for (class, share) in [(0, 70), (1, 20)] {
            let seen = count(class) * 100 / rounds;
            assert!(seen.abs_diff(share) <= 1, "{class}: {seen} %, seed 7");
        }
    }

    /// The fourth of eight users is the same user whether one worker has all of them or three.
    #[test]
    fn a_user_does_the_same_wherever_it_is() {
        let steps = || {
            vec![
                choose(&[(1, &[Ask(0)]), (1, &[Ask(1)])]),
                StepFile::Wait("exp:1s".parse().unwrap()),
            ]
        };
        let path = |mut walks: Walks, place: usize| -> Vec<(Span, u16)> {
            let mut next = || (walks.go_on(place).unwrap(), walks.take(place, 0).unwrap());
            (0..50).map(|_| next()).collect()
        };
        let alone = path(walks(steps(), 0, 1, 8), 4);
        assert_eq!(path(walks(steps(), 1, 3, 3), 1), alone);
        assert_ne!(path(walks(steps(), 0, 1, 8), 5), alone);
        let mut others = walks(steps(), 0, 1, 8);
        for place in [0, 5, 7, 7] {
            others.go_on(place);
        }
        assert_eq!(path(others, 4), alone);
    }

    #[test]
    fn waits_between_requests_add_up_and_the_start_waits_once() {
        let wait = |text: &str| StepFile::Wait(text.parse().unwrap());
        let script = ScriptFile {
            start: "5s".parse().ok(),
            steps: vec![wait("1s"), wait("2s"), Ask(0), wait("4s")],
            ..ScriptFile::default()
        };
        let mut walks = Walks::new(&script, 7, (0, 1), 1, (1, Box::default()));
        let waits: Vec<u64> = (0..3)
            .map(|_| walks.go_on(0).unwrap().as_ns() / 1_000_000_000)
            .collect();
        assert_eq!(waits, [8, 7, 7]);
    }
}
