//! Runs an experiment: round by round, block by block, trial by trial, each stored at once.
//!
//! A server that is missing or does not start, and a workload that it answers wrongly, is a gap, a
//! row with its reason; the rest of the experiment goes on. Only what makes every further trial
//! impossible ends it.

mod allowance;
mod asking;
mod block;
mod ground;
mod prepare;
mod present;
mod progress;
mod rounds;
mod search;
mod standby;
mod warm;

use std::collections::BTreeSet;

use model::experiment::{Gap, Placement, Workload};
use model::point::PLACEMENT;
use model::trial::{Ceiling, Waited, Warming};
use model::{Experiment, Manifest, Rate, Span, Trial};

use crate::calm::Calm;
use crate::capacity::Made;
use crate::ceiling::Ceilings;
use crate::cpus::Division;
use crate::error::LabError;
use crate::generator::Generator;
use crate::host::Host;
use crate::scratch::Scratch;
use crate::server::Search;
use crate::store::Store;
use crate::sweep::{self, Racer, Round, Slot};

use ground::Ground;
use progress::Progress;
use rounds::Course;
use standby::Standby;

pub use prepare::{Starts, rehearse, verify_all};
pub use present::{Missing, present};

/// What happens, for whoever shows it.
#[derive(Debug)]
pub enum News<'a> {
    /// A server answers correctly.
    Verified {
        /// Its label.
        server: &'a str,
        /// Its version.
        version: &'a str,
    },
    /// Something will not be measured, though it is installed: who is not was known before.
    Gap(&'a Gap),
    /// Servers are about to be started, or measured again.
    Block {
        /// The round, from 1.
        round: u32,
        /// How many there are.
        rounds: u32,
        /// 0; of what is measured again, the how-manieth time.
        attempt: u32,
        /// Their labels, in the order of their starts.
        servers: &'a [&'a str],
        /// Trials to be.
        trials: usize,
    },
    /// A server whose folder asks for that was warmed up until its rate was steady, or until its
    /// limit.
    Warm {
        /// Its label.
        server: &'a str,
        /// What came of it.
        warming: &'a Warming,
    },
    /// An earlier start has not measured all servers that are compared: these trials of the others
    /// are measured again, next to those that are missing, once there is one of these.
    Cut {
        /// How many there are.
        trials: usize,
    },
    /// The machine does not come to rest, and the next trial begins all the same.
    Restless(&'a Waited),
    /// A trial of a search for the capacity is stored.
    Probe {
        /// The server's label.
        server: &'a str,
        /// It, with what came of it.
        made: &'a Made,
    },
    /// A trial is stored.
    Trial {
        /// It.
        trial: &'a Trial,
        /// Trials done, those of an earlier start included.
        done: usize,
        /// Trials in all.
        all: usize,
        /// Whether it was spoilt from outside and its cell will be measured again, if that was not
        /// tried too often.
        is_void: bool,
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
    /// The machine of the servers. It is read before each block, so that what was changed in
    /// mid-run is seen.
    pub host: Host<'a>,
    /// Where programs are looked for.
    pub search: &'a Search,
    /// Its CPUs.
    pub division: &'a Division,
    /// What is waited for before each trial.
    pub calm: Calm<'a>,
    /// What makes load.
    pub generator: &'a mut dyn Generator,
    /// Whether a stored trial was spoilt by something that is neither its server nor the generator.
    /// This never looks at the result, so what is repeated is no choice among results.
    pub is_void: &'a dyn Fn(&Trial) -> bool,
    /// The comparisons of which too few of the stored rounds count, if there are as many spare
    /// rounds as this: like `is_void` it looks at what counts, never at the result.
    pub short: &'a WhatIsShort<'a>,
    /// How long all of it may take, if somebody said so.
    pub budget: Option<Span>,
    /// How long it has been going on, with what came before the lab.
    pub elapsed: &'a dyn Fn() -> Span,
    /// Whether a person wants to stop: from the first yes on, always yes.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Who wants to know.
    pub news: &'a mut dyn FnMut(&News<'_>),
}

/// Reads from what is stored which comparisons lack rounds, if there are so many spare ones.
pub type WhatIsShort<'a> = dyn Fn(&Store, usize) -> Result<Vec<Short>, LabError> + 'a;

/// A comparison that lacks rounds: its servers are measured again at this load.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Short {
    /// The workload's name.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// The intended load; none in a closed loop.
    pub rate: Option<Rate>,
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

impl Lab<'_> {
    /// Measures what is not measured yet.
    pub fn run(mut self) -> Result<(), LabError> {
        self.store.finish()?;
        let (mut ground, missing) = prepare::ground(&self)?;
        for gap in missing.iter().map(|missing| &missing.gap) {
            self.store.put_gap(gap)?;
        }
        let (seed, at_once) = (self.manifest.order_seed, self.manifest.at_once);
        let mut rounds = sweep::schedule(self.experiment, seed, at_once);
        let mut spares = sweep::spares(self.experiment, seed, at_once);
        // With what cannot be measured, so that it is known of whom there are trials.
        let (whole, whole_spares) = (rounds.clone(), spares.clone());
        for round in rounds.iter_mut().chain(&mut spares) {
            round.retain(&|slot| ground.offers(slot.racer, self.workload(slot)));
        }
        let done = self.store.done();
        let is_resumed = !done.is_empty();
        let mut progress = Progress::new(done, self.void()?, seed);
        let is_complete = progress.is_complete(&rounds, &ground);
        if !is_complete || !(self.short)(self.store, spares.len())?.is_empty() {
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
        self.find_cut(&whole, 0, &ground, &mut progress);
        let course = Course {
            spares: spares.into_iter().zip(whole_spares).collect(),
            rounds,
            whole,
            is_resumed,
        };
        self.run_rounds(course, &mut ground, &mut progress)
    }

    /// Finds what has to be measured again because an earlier start left it in two, and tells it.
    fn find_cut(
        &mut self,
        rounds: &[Round],
        from: usize,
        ground: &Ground,
        progress: &mut Progress,
    ) {
        let can_be =
            |slot: &Slot| ground.can_run(slot) && ground.offers(slot.racer, self.workload(slot));
        let told = progress.to_be_renewed();
        for index in from..rounds.len() {
            progress.find_cut(rounds, index, &can_be);
        }
        let trials = progress.to_be_renewed() - told;
        if trials > 0 {
            (self.news)(&News::Cut { trials });
        }
    }

    fn workload(&self, slot: &Slot) -> &Workload {
        &self.experiment.workloads()[slot.cell.workload]
    }

    /// Whether a comparison needs that slot: one of its servers, or their ceiling, which has no
    /// rate.
    fn is_of(&self, slot: &Slot, short: &Short) -> bool {
        let is_ceiling = matches!(slot.racer, Racer::Ceiling { .. });
        self.workload(slot).name == short.workload
            && slot.cell.connections == short.connections
            && (is_ceiling || slot.cell.rate == short.rate)
    }

    /// The sequence numbers of stored trials that were spoilt from outside.
    fn void(&self) -> Result<BTreeSet<u32>, LabError> {
        let mut void = BTreeSet::new();
        for trial in self.store.trials() {
            let trial = trial?;
            let sequence = trial.point.as_ref().map(|point| point.sequence);
            void.extend(sequence.filter(|_| (self.is_void)(&trial)));
        }
        Ok(void)
    }

    /// Gives the trials of a round its ceilings, and judges them again. The ceiling is a racer like
    /// the others, so most trials are stored before it is known.
    fn complete(&self, round: u32) -> Result<(), LabError> {
        let mut ceilings = Ceilings::default();
        for trial in self.store.ceilings(round) {
            ceilings.add(&trial?);
        }
        self.store.complete(round, &mut |trial| {
            let Some(ceiling) = self.ceiling_of(trial, &ceilings) else {
                return false;
            };
            trial.context.ceiling = Some(ceiling);
            trial.verdict = verdict::judge(trial);
            true
        })
    }

    /// The ceiling at the point of `trial`, unless it has one or is one.
    fn ceiling_of(&self, trial: &Trial, ceilings: &Ceilings) -> Option<Ceiling> {
        let point = trial.point.as_ref().filter(|point| !point.ceiling)?;
        let mut servers = self.experiment.servers().iter();
        let variant = servers.find(|variant| variant.label == point.id.server)?;
        let place = point.id.value(PLACEMENT);
        let is_shared = place.is_some_and(|place| place.to_string() == Placement::Shared.name());
        // On CPUs that it shares the generator is slower, by as much as the server takes.
        if trial.context.ceiling.is_some() || is_shared {
            return None;
        }
        let mut ceiling = ceilings.at(variant.cores, &point.id, point.attempt)?;
        ceiling.same_server = variant.product == "origin";
        Some(ceiling)
    }

    /// Before anything is measured every server must answer rightly: what it does not is not
    /// measured. Returns what that is.
    fn verify_before(
        &mut self,
        ground: &mut Ground,
        progress: &mut Progress,
        depth: Depth,
    ) -> Result<Vec<Gap>, LabError> {
        let mut gaps = Vec::new();
        for racer in ground.racers(self.experiment) {
            // A ceiling is for servers that are right.
            if ground.installed(racer).is_none() {
                continue;
            }
            match self.verify_racer(racer, ground, progress, depth) {
                Ok(wrong) => gaps.extend(wrong),
                Err(error) if self.is_gap(&error)? => {
                    let gap = self.gap_of(racer, &error);
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

    fn label(&self, racer: Racer) -> &str {
        label(self.experiment, racer)
    }

    fn gap_of(&self, racer: Racer, error: &LabError) -> Gap {
        let label = self.label(racer).to_owned();
        let product = match racer {
            Racer::Ceiling { .. } => "origin".to_owned(),
            Racer::Server(index) => self.experiment.servers()[index].product.clone(),
        };
        let text = error.to_string();
        let prefix = format!("{label}: ");
        Gap {
            error: text.strip_prefix(&prefix).unwrap_or(&text).to_owned(),
            server: label,
            product,
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

fn label(experiment: &Experiment, racer: Racer) -> &str {
    match racer {
        Racer::Ceiling { .. } => CEILING,
        Racer::Server(index) => &experiment.servers()[index].label,
    }
}

/// The name that ceiling trials have in the place of a server's label.
pub const CEILING: &str = "ceiling";

#[cfg(test)]
mod tests;
