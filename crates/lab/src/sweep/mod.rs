//! Axes become rounds of cells in random order: randomised complete blocks, from a stored seed.
//!
//! The schedule depends on the experiment, the seed and a stored number alone, never on what is
//! installed or what was measured already: so an interrupted experiment is resumed by making it
//! again and leaving out what is there. What has to be measured again follows from stored trials.
//!
//! What is compared is measured next to each other (ADR 0022): machines drift within minutes, and
//! what two neighbours share falls out of their ratio.

mod budget;
mod cut;
mod left_out;
mod study;

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::{AccessLog, Network, Order, Placement, ServerVariant, Speech};
use model::units::Rate;
use model::{Bytes, Experiment, Random, Span};

pub use budget::{Cost, Present, Scaled, rounds_least, rounds_needed, scale, untold};
pub(crate) use budget::{Work, block_work, plannable, restart, start_time};
pub use cut::{Cut, cut};
pub use left_out::left_out;
pub use model::experiment::REPEATS_MAX;
pub use study::{fit_cores, shortfall, without_veth};

/// The ceiling is measured at up to so many connection counts (glossary).
const CEILINGS_MAX: usize = 6;

/// Who runs.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Racer {
    /// Origin's null responder: it shows the generator's ceiling.
    Ceiling {
        /// As many as the servers that it is the ceiling for.
        cores: u32,
        /// What connections to them speak.
        speech: Speech,
    },
    /// The server configuration of that index in the experiment.
    Server(usize),
}

impl Racer {
    /// What connections to it speak.
    pub fn speech(self, experiment: &Experiment) -> Speech {
        match self {
            Self::Ceiling { speech, .. } => speech,
            Self::Server(index) => experiment.servers()[index].speech,
        }
    }

    /// Whether it can run, where the servers are there that `has` says: a ceiling is measured for
    /// servers, and for none there is nothing to measure.
    pub fn is_there(self, experiment: &Experiment, has: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Self::Server(index) => has(index),
            Self::Ceiling { cores, speech } => {
                let mut servers = experiment.servers().iter().enumerate();
                servers.any(|(index, server)| {
                    (server.cores, server.speech) == (cores, speech) && has(index)
                })
            }
        }
    }
}

/// All that is measured once before anything is measured again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Round {
    /// From 1.
    pub number: u32,
    /// In this order.
    pub blocks: Vec<Block>,
    /// Trials of a first attempt: the distance from a trial to that which repeats it.
    size: u32,
    /// How often a cell with a spoilt trial is measured again at most.
    repeats: u32,
}

/// Racers that are started together and stay until their trials are done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block {
    /// The round, from 1.
    pub round: u32,
    /// 0; where the block repeats void cells, the how-manieth time.
    pub attempt: u32,
    /// Racers of equal groups have equal cores, log state and protocol: they share cells.
    group: usize,
    /// Who, in the order of their starts.
    pub racers: Vec<Racer>,
    /// Their trials, in this order.
    pub slots: Vec<Slot>,
}

/// One trial to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slot {
    /// Position in the order of execution of the whole experiment, from 1. Behind each round there
    /// is room for its repeats.
    pub sequence: u32,
    /// Who.
    pub racer: Racer,
    /// What.
    pub cell: Cell,
}

/// What all racers of a group do in turn.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Cell {
    /// The workload of that index in the experiment.
    pub workload: usize,
    /// Connections.
    pub connections: u32,
    /// The intended load; none in a closed loop.
    pub rate: Option<Rate>,
    /// How many source addresses; none where the experiment says nothing.
    pub sources: Option<u32>,
    /// On whose CPUs the generator runs; none where the experiment says nothing.
    pub placement: Option<Placement>,
    /// What lies between generator and server; none where the experiment says nothing.
    pub network: Option<Network>,
}

/// How many racers may be started together on a machine with so much memory: as many as it has
/// room for, if each is a large one.
pub fn at_once(memory: Option<Bytes>) -> u32 {
    const EACH: u64 = 256 << 20;
    let room = memory.map_or(u64::MAX, |memory| memory.count() / EACH);
    u32::try_from(room.clamp(3, 32)).expect("it is 32 at most")
}

/// The rounds that were asked for. At most `at_once` racers are started together.
pub fn schedule(experiment: &Experiment, seed: u64, at_once: u32) -> Vec<Round> {
    rounds(experiment, seed, at_once, experiment.rounds())
}

/// Spare rounds that follow those of the schedule, for comparisons of which rounds were lost: half
/// as many as were asked for at most.
pub fn spares(experiment: &Experiment, seed: u64, at_once: u32) -> Vec<Round> {
    let planned = experiment.rounds();
    let all = rounds(experiment, seed, at_once, planned + planned / 2);
    let is_spare = |round: &Round| round.number > planned;
    all.into_iter().filter(is_spare).collect()
}

fn rounds(experiment: &Experiment, seed: u64, at_once: u32, count: u32) -> Vec<Round> {
    let mut order = Random::new(seed);
    let groups = groups(experiment, at_once);
    let mut before = 0;
    (1..=count)
        .map(|number| {
            let mut blocks = match experiment.order() {
                Order::Cell => by_cell(experiment, &groups, &mut order),
                Order::Server => by_server(experiment, &groups, &mut order),
            };
            let mut size = 0;
            for block in &mut blocks {
                block.round = number;
                for slot in &mut block.slots {
                    size += 1;
                    slot.sequence = before + size;
                }
            }
            before += size * (1 + REPEATS_MAX);
            Round {
                number,
                blocks,
                size,
                repeats: experiment.repeats(),
            }
        })
        .collect()
}

impl Block {
    /// Which racers belong together.
    pub const fn group(&self) -> usize {
        self.group
    }
}

impl Round {
    /// Leaves those slots alone that `is_wanted` lets pass.
    pub fn retain(&mut self, is_wanted: &dyn Fn(&Slot) -> bool) {
        for block in &mut self.blocks {
            block.slots.retain(is_wanted);
        }
        self.blocks.retain(|block| !block.slots.is_empty());
    }

    /// What is to be measured in this attempt. Of a repeat that are the cells of which a trial of
    /// the attempt before is void: all racers of such a cell run again, so that pairs stay pairs.
    fn attempt(&self, attempt: u32, is_void: &dyn Fn(u32) -> bool) -> Vec<Block> {
        let Some(last) = attempt.checked_sub(1) else {
            return self.blocks.clone();
        };
        let cells = self.void_cells(last, is_void);
        let again = |block: &Block| {
            let wanted = |slot: &&Slot| cells.contains(&(block.group, slot.cell));
            let slots = block.slots.iter().filter(wanted).map(|slot| Slot {
                sequence: slot.sequence + attempt * self.size,
                ..*slot
            });
            Block {
                attempt,
                slots: slots.collect(),
                ..block.clone()
            }
        };
        let mut blocks: Vec<Block> = self.blocks.iter().map(again).collect();
        blocks.retain(|block| !block.slots.is_empty());
        blocks
    }

    /// The cells of which a trial of that attempt is void.
    fn void_cells(&self, attempt: u32, is_void: &dyn Fn(u32) -> bool) -> BTreeSet<(usize, Cell)> {
        let void = |slot: &&Slot| is_void(slot.sequence + attempt * self.size);
        let slots = |block: &'_ Block| {
            let cells = block
                .slots
                .iter()
                .filter(void)
                .map(|slot| (block.group, slot.cell));
            cells.collect::<Vec<_>>()
        };
        self.blocks.iter().flat_map(slots).collect()
    }

    fn cells(&self) -> usize {
        self.void_cells(0, &|_| true).len()
    }
}

/// What is to be measured in an attempt at `rounds[index]`. Repeats go on as long as they help:
/// nobody measures three times as long because somebody else has the CPUs all the time. Only what
/// spoilt trials decides it, never what they measured.
pub fn attempt(
    rounds: &[Round],
    index: usize,
    attempt: u32,
    is_void: &dyn Fn(u32) -> bool,
) -> Vec<Block> {
    if helps(rounds, index, attempt, is_void) {
        rounds[index].attempt(attempt, is_void)
    } else {
        Vec::new()
    }
}

/// Whether there is hope for an attempt: the repeat before it, or else the round before, made at
/// least half of its cells good.
fn helps(rounds: &[Round], index: usize, attempt: u32, is_void: &dyn Fn(u32) -> bool) -> bool {
    let void = |round: &Round, attempt| round.void_cells(attempt, is_void).len();
    // Whether the first attempts of a round are repeated depends on the round before it.
    let mut is_hopeful = true;
    for before in &rounds[..index] {
        let spoilt = void(before, 0);
        is_hopeful = if is_hopeful && spoilt > 0 {
            2 * void(before, 1) <= spoilt
        } else {
            2 * spoilt <= before.cells()
        };
    }
    let round = &rounds[index];
    match attempt {
        0 => true,
        _ if attempt > round.repeats => false,
        1 => is_hopeful,
        _ => is_hopeful && 2 * void(round, attempt - 1) <= void(round, attempt - 2),
    }
}

/// Each group is one block: its cells in random order, the racers of each cell in random order.
fn by_cell(experiment: &Experiment, groups: &[Vec<Racer>], order: &mut Random) -> Vec<Block> {
    let mut blocks: Vec<Block> = (0..groups.len())
        .map(|group| {
            let mut racers = groups[group].clone();
            order.shuffle(&mut racers);
            let mut racers_of: BTreeMap<Cell, Vec<Racer>> = BTreeMap::new();
            for &racer in &racers {
                for cell in cells_of(experiment, racer) {
                    racers_of.entry(cell).or_default().push(racer);
                }
            }
            let mut cells: Vec<(Cell, Vec<Racer>)> = racers_of.into_iter().collect();
            order.shuffle(&mut cells);
            let mut slots = Vec::new();
            for (cell, mut racers) in cells {
                order.shuffle(&mut racers);
                slots.extend(racers.into_iter().map(|racer| slot(racer, cell)));
            }
            block(group, racers, slots)
        })
        .collect();
    order.shuffle(&mut blocks);
    blocks
}

/// Each racer is one block: its cells in random order. The ceilings are racers like the others.
fn by_server(experiment: &Experiment, groups: &[Vec<Racer>], order: &mut Random) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (group, racers) in groups.iter().enumerate() {
        for &racer in racers {
            let mut cells = cells_of(experiment, racer);
            order.shuffle(&mut cells);
            let slots = cells.into_iter().map(|cell| slot(racer, cell)).collect();
            blocks.push(block(group, vec![racer], slots));
        }
    }
    order.shuffle(&mut blocks);
    blocks
}

const fn slot(racer: Racer, cell: Cell) -> Slot {
    Slot {
        sequence: 0,
        racer,
        cell,
    }
}

const fn block(group: usize, racers: Vec<Racer>, slots: Vec<Slot>) -> Block {
    Block {
        round: 0,
        attempt: 0,
        group,
        racers,
        slots,
    }
}

/// Racers with equal cores, log state and protocol, at most so many of them in a group; what is
/// left over makes further groups, each with the reference, so that everybody has met it. The
/// ceiling of a number of cores and a protocol belongs to the first group that has both.
fn groups(experiment: &Experiment, at_once: u32) -> Vec<Vec<Racer>> {
    let servers = experiment.servers();
    let kind_of = |server: &ServerVariant| (server.cores, server.access_log, server.speech);
    let mut kinds: Vec<(u32, AccessLog, Speech)> = Vec::new();
    for server in servers {
        let kind = kind_of(server);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    // In the order of servers there is one racer at a time, and nothing to share.
    let room = match experiment.order() {
        Order::Cell => usize::try_from(at_once).unwrap_or(usize::MAX).max(3) - 1,
        Order::Server => usize::MAX,
    };
    let mut groups = Vec::new();
    let mut seen = BTreeSet::new();
    for kind in kinds {
        let is_of_it = |index: &usize| kind_of(&servers[*index]) == kind;
        let (cores, _, speech) = kind;
        let members: Vec<usize> = (0..servers.len()).filter(is_of_it).collect();
        for mut members in parts(experiment, members, room) {
            let ceiling = seen
                .insert((cores, speech))
                .then_some(Racer::Ceiling { cores, speech });
            let servers = members.drain(..).map(Racer::Server);
            groups.push(servers.chain(ceiling).collect());
        }
    }
    groups
}

/// `members` in parts of at most `room`, each with the reference.
fn parts(experiment: &Experiment, members: Vec<usize>, room: usize) -> Vec<Vec<usize>> {
    if members.len() <= room {
        return vec![members];
    }
    let reference = reference(experiment, &members);
    let others: Vec<usize> = members
        .into_iter()
        .filter(|index| *index != reference)
        .collect();
    others
        .chunks(room - 1)
        .map(|others| {
            std::iter::once(reference)
                .chain(others.iter().copied())
                .collect()
        })
        .collect()
}

/// Whom the others are compared with, or who stands in where none of `members` is it.
fn reference(experiment: &Experiment, members: &[usize]) -> usize {
    let servers = experiment.servers();
    let is_it = |index: &&usize| experiment.is_reference(&servers[**index]);
    *members.iter().find(is_it).unwrap_or(&members[0])
}

/// What servers that are there speak, each with the fewest cores of those that do.
pub(crate) fn ceilings(experiment: &Experiment, has: &dyn Fn(usize) -> bool) -> Vec<Racer> {
    let mut found = BTreeMap::new();
    for (index, server) in experiment.servers().iter().enumerate() {
        if !has(index) {
            continue;
        }
        let cores = found.entry(server.speech).or_insert(server.cores);
        *cores = server.cores.min(*cores);
    }
    let ceiling = |(speech, cores)| Racer::Ceiling { cores, speech };
    found.into_iter().map(ceiling).collect()
}

fn cells_of(experiment: &Experiment, racer: Racer) -> Vec<Cell> {
    let rates = match racer {
        // The ceiling is how fast the generator can be: a closed loop, whatever the load is.
        Racer::Ceiling { .. } => vec![None],
        Racer::Server(_) => values(experiment.rates(), true),
    };
    // How fast the generator can be depends on neither: one ceiling is enough.
    let of_all = matches!(racer, Racer::Server(_));
    let sources = values(experiment.sources(), of_all);
    let placements = values(experiment.placements(), of_all);
    // How fast it can be depends on the path.
    let networks = values(experiment.networks(), true);
    let speech = racer.speech(experiment);
    let mut cells = Vec::new();
    let workloads = experiment.workloads().iter().enumerate();
    for (workload, asked) in workloads.filter(|(_, asked)| experiment.asks(asked, speech)) {
        let connections = experiment.connections_of(asked);
        let connections = match racer {
            Racer::Ceiling { .. } => spread(connections, CEILINGS_MAX),
            Racer::Server(_) => connections.to_vec(),
        };
        for &connections in &connections {
            for &rate in &rates {
                for &sources in &sources {
                    for &placement in &placements {
                        cells.extend(networks.iter().map(|&network| Cell {
                            workload,
                            connections,
                            rate,
                            sources,
                            placement,
                            network,
                        }));
                    }
                }
            }
        }
    }
    cells
}

/// The values of an axis, or that there is none; the first alone unless all are wanted.
fn values<T: Copy>(axis: &[T], all: bool) -> Vec<Option<T>> {
    match axis {
        [] => vec![None],
        [first, ..] if !all => vec![Some(*first)],
        axis => axis.iter().copied().map(Some).collect(),
    }
}

/// At most `count` of `values`, evenly spread, both ends included.
pub(crate) fn spread<T: Copy>(values: &[T], count: usize) -> Vec<T> {
    match (values, count) {
        (values, count) if values.len() <= count => values.to_vec(),
        ([first, ..], 0 | 1) => vec![*first],
        (values, count) => (0..count)
            .map(|i| values[(i * (values.len() - 1) + (count - 1) / 2) / (count - 1)])
            .collect(),
    }
}

/// How long each trial's load runs before its window begins: its connections are new, its server
/// is warm. One that was frozen finds the caches as another left them. The experiment may say it.
pub fn settle(experiment: &Experiment) -> Span {
    if let Some(given) = experiment.file().experiment.settle {
        return given;
    }
    let duration = experiment.duration();
    let least = match experiment.order() {
        Order::Cell => Span::from_ms(100),
        Order::Server => Span::from_ms(20),
    };
    // Windows that are shorter than that are for trying things out.
    let least = least.min(duration / 2);
    (duration / 10).clamp(least, Span::from_ms(500))
}

#[cfg(test)]
mod tests;
