//! Runs an experiment: round by round, server by server, point by point, each trial stored at once.
//!
//! A server that is missing, does not start or answers wrongly is a gap, a row with its reason; the
//! rest of the experiment goes on. Only what makes every further trial impossible ends it.

mod block;
mod prepare;

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::{Gap, Workload};
use model::{Environment, Experiment, Manifest, Span, Trial};

use crate::ceiling::Ceilings;
use crate::cpus::Division;
use crate::error::LabError;
use crate::generator::Generator;
use crate::scratch::Scratch;
use crate::server::{Installed, Search};
use crate::site::Site;
use crate::store::Store;
use crate::sweep::{self, Block, Cell, Racer};

pub use prepare::{Missing, present, verify_all};

/// What happens, for whoever shows it.
#[derive(Debug)]
pub enum News<'a> {
    /// A server answers rightly.
    Verified {
        /// Its label.
        server: &'a str,
        /// Its version.
        version: &'a str,
    },
    /// Something will not be measured, though it is installed: who is not was known before.
    Gap(&'a Gap),
    /// A server is about to be started.
    Block {
        /// The round, from 1.
        round: u32,
        /// How many there are.
        rounds: u32,
        /// The server's label.
        server: &'a str,
    },
    /// A trial is stored.
    Trial {
        /// It.
        trial: &'a Trial,
        /// Trials done, those of an earlier start included.
        done: usize,
        /// Trials in all.
        all: usize,
        /// How long the rest will take.
        left: Span,
    },
}

/// An experiment and all that is needed to run it.
pub struct Lab<'a> {
    /// What is asked.
    pub experiment: &'a Experiment,
    /// What was written down about it.
    pub manifest: &'a Manifest,
    /// Where results go.
    pub store: &'a Store,
    /// Where what must not outlive the run is kept.
    pub scratch: &'a Scratch,
    /// The machine.
    pub environment: Environment,
    /// Where programs are looked for.
    pub search: &'a Search,
    /// Its CPUs.
    pub division: &'a Division,
    /// What makes load.
    pub generator: &'a mut dyn Generator,
    /// Whether a person wants to stop: from the first yes on, always yes.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Who wants to know.
    pub news: &'a mut dyn FnMut(&News<'_>),
}

/// What is the same for all blocks.
struct Ground {
    site: Site,
    servers: Vec<Option<Installed>>,
    responder: Installed,
    templates: BTreeMap<String, String>,
}

/// How much a server is asked before it is trusted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Depth {
    /// Once for each document, and then by the most connections of the load at once: what takes
    /// its time before a run, and would be told by the run itself.
    Connections,
    /// Once for each document.
    Documents,
}

/// How far it is.
struct Progress {
    done: BTreeSet<u32>,
    all: usize,
    cost_left: Span,
    cost_done: Span,
    started: std::time::Instant,
    /// Numbers of exchanges and loads, each with source addresses of its own.
    number: u64,
}

impl Lab<'_> {
    /// Measures what is not measured yet.
    pub fn run(mut self) -> Result<(), LabError> {
        let (mut ground, missing) = prepare::ground(&self)?;
        for gap in missing.iter().map(|missing| &missing.gap) {
            self.store.put_gap(gap)?;
        }
        let seed = self.manifest.order_seed;
        let mut blocks = sweep::schedule(self.experiment, seed);
        for block in &mut blocks {
            let racer = block.racer;
            let workload = |cell: &Cell| &self.experiment.workloads()[cell.workload];
            block
                .cells
                .retain(|cell| ground.offers(racer, workload(cell)));
        }
        let mut progress = Progress::new(self.store.done(), &blocks, &ground, seed);
        if !progress.is_complete() {
            let mut gaps: Vec<Gap> = missing.into_iter().map(|missing| missing.gap).collect();
            gaps.extend(self.verify_before(&mut ground, &mut progress, Depth::Documents)?);
            if ground.servers.iter().all(Option::is_none) {
                let all = gaps
                    .iter()
                    .map(|gap| format!("{}: {}", gap.server, gap.error));
                return Err(LabError::NothingToMeasure {
                    experiment: self.experiment.name().to_owned(),
                    why: all.collect::<Vec<_>>().join("; "),
                });
            }
        }
        progress.plan(self.experiment, &blocks, &ground);
        let mut ceilings = Ceilings::default();
        let mut round = 0;
        for block in &blocks {
            if block.round != round {
                round = block.round;
                ceilings = self.ceilings_of(round)?;
            }
            let left = block
                .cells
                .iter()
                .any(|cell| !progress.done.contains(&cell.sequence));
            if !left || ground.installed(block.racer).is_none() {
                continue;
            }
            match self.run_block(block, &ground, &mut progress, &mut ceilings) {
                Err(error) if self.is_gap(&error)? => {
                    let gap = self.gap_of(block, &error);
                    self.tell_gap(&gap)?;
                }
                result => result?,
            }
        }
        Ok(())
    }

    /// Every server must answer rightly before anything is measured. Returns who does not.
    fn verify_before(
        &mut self,
        ground: &mut Ground,
        progress: &mut Progress,
        depth: Depth,
    ) -> Result<Vec<Gap>, LabError> {
        let mut gaps = Vec::new();
        let racers = (0..ground.servers.len()).map(Racer::Server);
        let ceilings = sweep::core_counts(self.experiment).into_iter().take(1);
        let ceilings = ceilings.map(|cores| Racer::Ceiling { cores });
        for racer in racers.chain(ceilings).collect::<Vec<_>>() {
            if ground.installed(racer).is_none() {
                continue;
            }
            match self.verify_racer(racer, ground, progress, depth) {
                Ok(()) => {}
                Err(error) if self.is_gap(&error)? => {
                    let block = Block {
                        round: 0,
                        racer,
                        cells: Vec::new(),
                    };
                    let mut gap = self.gap_of(&block, &error);
                    gap.round = None;
                    self.tell_gap(&gap)?;
                    gaps.push(gap);
                    match racer {
                        Racer::Server(index) => ground.servers[index] = None,
                        // Without a responder there is no ceiling, and each verdict says so.
                        Racer::Ceiling { .. } => ground.responder.version.clear(),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(gaps)
    }

    /// Ceilings of a round that were measured before an interruption.
    fn ceilings_of(&self, round: u32) -> Result<Ceilings, LabError> {
        let mut ceilings = Ceilings::default();
        for trial in self.store.ceilings(round) {
            ceilings.add(&trial?);
        }
        Ok(ceilings)
    }

    fn label(&self, racer: Racer) -> &str {
        match racer {
            Racer::Ceiling { .. } => CEILING,
            Racer::Server(index) => &self.experiment.servers()[index].label,
        }
    }

    fn gap_of(&self, block: &Block, error: &LabError) -> Gap {
        let label = self.label(block.racer).to_owned();
        let product = match block.racer {
            Racer::Ceiling { .. } => "origin".to_owned(),
            Racer::Server(index) => self.experiment.servers()[index].product.clone(),
        };
        let text = error.to_string();
        let prefix = format!("{label}: ");
        Gap {
            error: text.strip_prefix(&prefix).unwrap_or(&text).to_owned(),
            server: label,
            product,
            round: Some(block.round),
            ..Gap::default()
        }
    }

    fn tell_gap(&mut self, gap: &Gap) -> Result<(), LabError> {
        self.store.put_gap(gap)?;
        (self.news)(&News::Gap(gap));
        Ok(())
    }

    fn check_interrupt(&self) -> Result<(), LabError> {
        if (self.interrupted)() {
            return Err(LabError::Interrupted);
        }
        Ok(())
    }

    /// Whether `error` is a row and not the end. Whoever stops everything at once (a service
    /// manager, a shutdown) takes servers and generators along, and their end may be seen first:
    /// what failed when a person wanted to stop was interrupted, and is still to be measured.
    fn is_gap(&self, error: &LabError) -> Result<bool, LabError> {
        if error.is_about_one_server() {
            self.check_interrupt()?;
            return Ok(true);
        }
        Ok(false)
    }
}

/// The name that ceiling trials have in the place of a server's label.
pub const CEILING: &str = "ceiling";

impl Ground {
    /// The workloads that it is measured with: all that it offers what they need.
    fn workloads<'e>(&self, racer: Racer, experiment: &'e Experiment) -> Vec<&'e Workload> {
        let workloads = experiment.workloads().iter();
        workloads
            .filter(|workload| self.offers(racer, workload))
            .collect()
    }

    /// Whether it offers what the workload needs.
    fn offers(&self, racer: Racer, workload: &Workload) -> bool {
        let Racer::Server(_) = racer else {
            return true;
        };
        let needs = workload.needs.iter().map(String::as_str);
        self.installed(racer)
            .is_some_and(|installed| installed.product.lacks(needs).is_none())
    }

    fn installed(&self, racer: Racer) -> Option<&Installed> {
        match racer {
            Racer::Ceiling { .. } => {
                Some(&self.responder).filter(|responder| !responder.version.is_empty())
            }
            Racer::Server(index) => self.servers[index].as_ref(),
        }
    }
}

impl Progress {
    fn new(done: BTreeSet<u32>, blocks: &[Block], ground: &Ground, seed: u64) -> Self {
        let wanted = blocks
            .iter()
            .filter(|block| ground.installed(block.racer).is_some());
        Self {
            all: wanted.map(|block| block.cells.len()).sum(),
            cost_left: Span::ZERO,
            cost_done: Span::ZERO,
            started: std::time::Instant::now(),
            // Another lab a moment ago used other addresses, very likely; and so did this one
            // before it was interrupted.
            number: (seed % 1_000_003 + done.len() as u64) * 4_096,
            done,
        }
    }

    fn is_complete(&self) -> bool {
        self.done.len() >= self.all
    }

    const fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// What is left to do, in predicted time.
    fn plan(&mut self, experiment: &Experiment, blocks: &[Block], ground: &Ground) {
        let start = sweep::START + experiment.warmup();
        let trial = sweep::trial_cost(experiment);
        self.all = 0;
        for block in blocks {
            if ground.installed(block.racer).is_none() {
                continue;
            }
            self.all += block.cells.len();
            let open = block
                .cells
                .iter()
                .filter(|cell| !self.done.contains(&cell.sequence))
                .count();
            if open > 0 {
                self.cost_left += start + trial * u64::try_from(open).unwrap_or(u64::MAX);
            }
        }
        self.started = std::time::Instant::now();
    }

    fn spend(&mut self, cost: Span) {
        self.cost_done += cost;
        self.cost_left = self.cost_left.saturating_sub(cost);
    }

    /// What is left, at the speed it went so far, once there is something to go by.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time left for people"
    )]
    fn left(&self) -> Span {
        let predicted = self.cost_left.as_s_f64();
        let done = self.cost_done.as_s_f64();
        let slowness = if done > 5.0 {
            self.started.elapsed().as_secs_f64() / done
        } else {
            1.0
        };
        Span::from_ms((predicted * slowness * 1e3) as u64)
    }
}

#[cfg(test)]
mod tests;
