//! One server's part of a round: a start, a warm-up, its points in random order.

use model::PointId;
use model::experiment::Restart;
use model::point::{ACCESS_LOG, CONNECTIONS, CORES, Point, RATE, Value};
use model::trial::Ceiling;

use super::{Ground, Lab, News, Progress};
use crate::ceiling::Ceilings;
use crate::error::LabError;
use crate::server::Running;
use crate::sweep::{self, Block, Cell, Racer};
use crate::trial::{self, Load, Surroundings, Target};

impl Lab<'_> {
    pub(super) fn run_block(
        &mut self,
        block: &Block,
        ground: &Ground,
        progress: &mut Progress,
        ceilings: &mut Ceilings,
    ) -> Result<(), LabError> {
        (self.news)(&News::Block {
            round: block.round,
            rounds: self.experiment.rounds(),
            server: match block.racer {
                Racer::Ceiling { .. } => super::CEILING,
                Racer::Server(index) => &self.experiment.servers()[index].label,
            },
        });
        let mut running = None;
        for cell in &block.cells {
            self.check_interrupt()?;
            if progress.done.contains(&cell.sequence) {
                continue;
            }
            if self.experiment.restart() == Restart::Trial {
                running = None;
            }
            let server = match &mut running {
                Some(server) => server,
                none => {
                    let started = self.start_warm(block.racer, ground, progress)?;
                    progress.spend(sweep::START + self.experiment.warmup());
                    none.insert(started)
                }
            };
            self.run_cell(block, cell, server, ground, progress, ceilings)?;
            if let Some(why) = server.ended("by itself") {
                return Err(LabError::Server {
                    server: self.label(block.racer).to_owned(),
                    why,
                });
            }
        }
        Ok(())
    }

    /// Started, right, and warm for every document.
    fn start_warm(
        &mut self,
        racer: Racer,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<Running, LabError> {
        let mut running = self.start(racer, ground)?;
        self.ask_for_everything(racer, &mut running, ground, progress)?;
        running.read_condition();
        let workloads = ground.workloads(racer, self.experiment);
        let share = self.experiment.warmup() / u64::try_from(workloads.len()).unwrap_or(1);
        if !share.is_zero() {
            for workload in workloads {
                let target = Target::of(racer, running.port(), workload, &ground.site);
                let load = Load::warmup(self.experiment, share, progress.next_number());
                let plan = trial::plan(&target, &load, &self.division.generator);
                self.generator.run(&plan, &mut |_, _| ())?;
                self.check_interrupt()?;
            }
        }
        Ok(running)
    }

    fn run_cell(
        &mut self,
        block: &Block,
        cell: &Cell,
        running: &mut Running,
        ground: &Ground,
        progress: &mut Progress,
        ceilings: &mut Ceilings,
    ) -> Result<(), LabError> {
        let workload = &self.experiment.workloads()[cell.workload];
        let target = Target::of(block.racer, running.port(), workload, &ground.site);
        let load = Load::of_cell(
            self.experiment,
            workload,
            cell.connections,
            cell.rate,
            progress.next_number(),
        );
        let plan = trial::plan(&target, &load, &self.division.generator);
        let surroundings = Surroundings {
            environment: &self.environment,
            ceiling: self.ceiling_of(block.racer, cell, ceilings),
            cpu_choice: &self.division.words,
            generator_cpus: &self.division.generator,
        };
        let point = self.point(block, cell);
        let at = point.id.load.clone();
        let measured = trial::measure(self.generator, running, &plan, point, &surroundings);
        let trial = match measured {
            Ok(trial) if trial.record.interrupted => return Err(LabError::Interrupted),
            Ok(trial) => trial,
            Err(error) if self.is_gap(&error)? => {
                let mut gap = self.gap_of(block, &error);
                gap.workload = Some(workload.name.clone());
                gap.load = at;
                return self.tell_gap(&gap);
            }
            Err(error) => return Err(error),
        };
        let server = trial.context.server.as_ref();
        if server.is_some_and(|server| server.exit.is_some()) {
            // Ended together with us, it did not fail.
            self.check_interrupt()?;
        }
        self.store.put_trial(&trial)?;
        ceilings.add(&trial);
        progress.done.insert(cell.sequence);
        progress.spend(sweep::trial_cost(self.experiment));
        (self.news)(&News::Trial {
            trial: &trial,
            done: progress.done.len(),
            all: progress.all,
            left: progress.left(),
        });
        Ok(())
    }

    fn point(&self, block: &Block, cell: &Cell) -> Point {
        let mut id = PointId {
            execution: self.manifest.execution(),
            server: self.label(block.racer).to_owned(),
            workload: self.experiment.workloads()[cell.workload].name.clone(),
            ..PointId::default()
        }
        .with(CONNECTIONS, Value::Count(cell.connections));
        if let Some(rate) = cell.rate {
            id = id.with(RATE, Value::Rate(rate));
        }
        id = match block.racer {
            Racer::Ceiling { cores } => id.with(CORES, Value::Count(cores)),
            Racer::Server(index) => {
                let variant = &self.experiment.servers()[index];
                let log = variant.access_log.name().to_owned();
                id.with(CORES, Value::Count(variant.cores))
                    .with(ACCESS_LOG, Value::Word(log))
            }
        };
        Point {
            id,
            round: block.round,
            sequence: cell.sequence,
            ceiling: matches!(block.racer, Racer::Ceiling { .. }),
        }
    }

    fn ceiling_of(&self, racer: Racer, cell: &Cell, ceilings: &Ceilings) -> Option<Ceiling> {
        let Racer::Server(index) = racer else {
            return None;
        };
        let variant = &self.experiment.servers()[index];
        let workload = &self.experiment.workloads()[cell.workload].name;
        let mut ceiling = ceilings.at(variant.cores, workload, cell.connections)?;
        ceiling.same_server = variant.product == "origin";
        Some(ceiling)
    }
}
