//! Axes become blocks of cells in random order: randomised complete blocks, from a stored seed.
//!
//! The schedule depends on the experiment and the seed alone, never on what is installed or what
//! was measured already: so an interrupted experiment is resumed by making it again and leaving
//! out what is there.

mod budget;

use model::units::Rate;
use model::{Experiment, Random, Span};

pub use budget::{Cost, Scaled, rounds_needed, scale, untold};

/// The ceiling is measured at up to so many connection counts (glossary).
const CEILINGS_MAX: usize = 6;

/// Who runs a block.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Racer {
    /// Origin's null responder on so many cores: it shows the generator's ceiling.
    Ceiling {
        /// As many as the servers that it is the ceiling for.
        cores: u32,
    },
    /// The server configuration of that index in the experiment.
    Server(usize),
}

/// One racer's part of a round: started once, its cells in random order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block {
    /// From 1.
    pub round: u32,
    /// Who.
    pub racer: Racer,
    /// What, in this order.
    pub cells: Vec<Cell>,
}

/// One trial to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cell {
    /// Position in the order of execution of the whole experiment, from 1.
    pub sequence: u32,
    /// The workload of that index in the experiment.
    pub workload: usize,
    /// Connections.
    pub connections: u32,
    /// The intended load; none in a closed loop.
    pub rate: Option<Rate>,
}

/// All blocks of all rounds. In each round the ceilings come first, so that they are known when the
/// trials that they belong to are stored; then every server, in random order.
pub fn schedule(experiment: &Experiment, seed: u64) -> Vec<Block> {
    let mut order = Random::new(seed);
    let mut sequence = 0;
    let mut blocks = Vec::new();
    for round in 1..=experiment.rounds() {
        let mut racers: Vec<Racer> = (0..experiment.servers().len()).map(Racer::Server).collect();
        order.shuffle(&mut racers);
        let ceilings = core_counts(experiment)
            .into_iter()
            .map(|cores| Racer::Ceiling { cores });
        for racer in ceilings.chain(racers) {
            let mut cells = cells_of(experiment, racer);
            order.shuffle(&mut cells);
            for cell in &mut cells {
                sequence += 1;
                cell.sequence = sequence;
            }
            blocks.push(Block {
                round,
                racer,
                cells,
            });
        }
    }
    blocks
}

/// The numbers of cores that occur, ascending.
pub(crate) fn core_counts(experiment: &Experiment) -> Vec<u32> {
    let mut counts: Vec<u32> = experiment.servers().iter().map(|s| s.cores).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn cells_of(experiment: &Experiment, racer: Racer) -> Vec<Cell> {
    let (connections, rates) = match racer {
        // The ceiling is how fast the generator can be: a closed loop, whatever the load is.
        Racer::Ceiling { .. } => (spread(experiment.connections(), CEILINGS_MAX), vec![None]),
        Racer::Server(_) if experiment.rates().is_empty() => {
            (experiment.connections().to_vec(), vec![None])
        }
        Racer::Server(_) => (
            experiment.connections().to_vec(),
            experiment.rates().iter().copied().map(Some).collect(),
        ),
    };
    let mut cells = Vec::new();
    for workload in 0..experiment.workloads().len() {
        for &connections in &connections {
            for &rate in &rates {
                cells.push(Cell {
                    sequence: 0,
                    workload,
                    connections,
                    rate,
                });
            }
        }
    }
    cells
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

/// What one trial takes beside its window: new connections, the verifying exchange, meters, the
/// generator's start and end, storing. Measured on two cores of 2.5 GHz.
pub(crate) const OVERHEAD: Span = Span::from_ms(75);

/// What a start takes: the server's own, the checks, the end.
pub(crate) const START: Span = Span::from_ms(350);

/// How long each trial's load runs before its window begins: its connections are new, its server
/// is warm.
pub fn settle(duration: Span) -> Span {
    (duration / 10).clamp(Span::from_ms(20), Span::from_ms(500))
}

/// What one trial takes in all.
pub(crate) fn trial_cost(experiment: &Experiment) -> Span {
    settle(experiment.duration()) + experiment.duration() + OVERHEAD
}

#[cfg(test)]
mod tests;
