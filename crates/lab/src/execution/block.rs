//! A block: its servers are started and warm, and each has its turn at each cell.

use std::collections::BTreeSet;

use model::experiment::{Placement, Restart, Speech};
use model::point::{
    ACCESS_LOG, CERTIFICATE, CONNECTIONS, CORES, HANDSHAKE, NETWORK, PLACEMENT, PROTOCOL, Point,
    PointId, RATE, SOURCES, Value,
};
use model::{Span, Trial};

use super::standby::Waiting;
use super::{Ground, Lab, News, Progress, Standby};
use crate::cpus;
use crate::error::LabError;
use crate::server::Running;
use crate::sweep::{self, Block, Racer, Slot};
use crate::trial::{self, Load, Surroundings, Target};

impl Lab<'_> {
    /// Runs what is open in it, of that what is `wanted`. A server that cannot be started is left
    /// out, and nobody else.
    pub(super) fn run_block(
        &mut self,
        block: &Block,
        wanted: &dyn Fn(&Progress, &Slot) -> bool,
        ground: &mut Ground,
        progress: &mut Progress,
        standby: &mut Standby,
    ) -> Result<(), LabError> {
        let is_open = |slot: &Slot| progress.will_be_open(slot, ground) && wanted(progress, slot);
        let open = self.in_turn(block, &is_open, progress, ground);
        if open.is_empty() {
            return Ok(());
        }
        self.check_interrupt()?;
        let begun = (self.elapsed)();
        ground.environment = self.host.environment();
        let takes_part = |racer: &Racer| open.iter().any(|slot| slot.racer == *racer);
        let racers: Vec<Racer> = block.racers.iter().copied().filter(takes_part).collect();
        self.tell_block(block, &racers, open.len());
        let standing = standby.racers();
        standby.keep(&racers);
        let is_among = |slot: &Slot| open.iter().any(|one| one.sequence == slot.sequence);
        let work = ground.block_work(self.experiment, block, &is_among, &standing);
        let share = work / open.len() as u64;
        let mut lap = Lap {
            round: block.round,
            attempt: block.attempt,
            group: u32::try_from(block.group()).unwrap_or(u32::MAX),
            is_shared: racers.len() > 1,
            lost: BTreeSet::new(),
            wrong: BTreeSet::new(),
            begun: BTreeSet::new(),
            left: Vec::new(),
            starting: Span::ZERO,
        };
        for &racer in &racers {
            if self.stays(racer, &lap, ground) && !standby.has(racer) {
                let most = self.experiment.connections_most();
                if let Some(waiting) = self.start_for(&mut lap, racer, most, ground, progress)? {
                    standby.put(racer, waiting, lap.is_shared);
                }
            }
        }
        let around = (self.elapsed)().saturating_sub(begun + lap.starting);
        progress.learn_around(around);
        for (place, slot) in open.iter().copied().enumerate() {
            self.check_interrupt()?;
            let left = open[place..].iter();
            lap.left = left.map(|slot| (slot.racer, slot.cell.workload)).collect();
            // Who was measured before is again once what is missing beside it was.
            if lap.can_run(slot) && progress.is_open(slot, ground) {
                let before = (self.elapsed)().saturating_sub(lap.starting);
                self.run_slot(&mut lap, slot, ground, progress, standby)?;
                let after = (self.elapsed)().saturating_sub(lap.starting);
                progress.learn_turn(share.turns, after.saturating_sub(before));
            }
            progress.spend(share, block.round, block.attempt);
        }
        Ok(())
    }

    /// What is open in a block, in order; of each cell first what is missing, then what is measured
    /// again because of that.
    fn in_turn<'b>(
        &self,
        block: &'b Block,
        is_open: &dyn Fn(&Slot) -> bool,
        progress: &Progress,
        ground: &Ground,
    ) -> Vec<&'b Slot> {
        let mut cells: Vec<sweep::Cell> = Vec::new();
        let mut open: Vec<(usize, bool, &Slot)> = Vec::new();
        for slot in block.slots.iter().filter(|slot| is_open(slot)) {
            let known = cells.iter().position(|cell| *cell == slot.cell);
            let place = known.unwrap_or_else(|| {
                cells.push(slot.cell);
                cells.len() - 1
            });
            open.push((place, !progress.is_open(slot, ground), slot));
        }
        open.sort_by_key(|(place, is_again, _)| (*place, *is_again));
        open.into_iter().map(|(.., slot)| slot).collect()
    }

    fn tell_block(&mut self, block: &Block, racers: &[Racer], trials: usize) {
        let experiment = self.experiment;
        let servers: Vec<&str> = racers
            .iter()
            .map(|racer| super::label(experiment, *racer))
            .collect();
        (self.news)(&News::Block {
            round: block.round,
            rounds: self.experiment.rounds(),
            attempt: block.attempt,
            servers: &servers,
            trials,
        });
    }

    /// Whether a server stays up between its trials.
    fn stays(&self, racer: Racer, lap: &Lap, ground: &Ground) -> bool {
        let bears_it = ground
            .installed(racer)
            .is_some_and(|installed| installed.product.bears_freezing());
        sweep::restart(self.experiment, racer) == Restart::Round && (bears_it || !lap.is_shared)
    }

    /// Started and warm; none if it cannot be, which is a row, as is each workload that it does not
    /// answer rightly.
    fn start_for(
        &mut self,
        lap: &mut Lap,
        racer: Racer,
        connections: u32,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<Option<Waiting>, LabError> {
        let begun = (self.elapsed)();
        let started = self.start_warm(lap, racer, connections, ground, progress);
        let took = (self.elapsed)().saturating_sub(begun);
        lap.starting += took;
        match &started {
            Ok(Some(_)) => progress.learn_start(ground.start_time(self.experiment, racer), took),
            _ => progress.learn_around(took),
        }
        match started {
            Ok(waiting) => Ok(waiting),
            Err(error) if self.is_gap(&error)? => {
                lap.lost.insert(racer);
                let mut gap = self.gap_of(racer, &error);
                gap.round = Some(lap.round);
                self.tell_gap(&gap)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The same. One that is started anew because it did not go on is asked only for what is still
    /// to be measured: what it was measured by may be what keeps it from answering.
    fn start_warm(
        &mut self,
        lap: &mut Lap,
        racer: Racer,
        connections: u32,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<Option<Waiting>, LabError> {
        let is_again = !lap.begun.insert(racer) && self.stays(racer, lap, ground);
        let mut workloads = ground.asked(racer, self.experiment);
        let all = workloads.len();
        workloads.retain(|index| {
            let one = (racer, *index);
            !lap.wrong.contains(&one) && (!is_again || lap.left.contains(&one))
        });
        let mut asked = self.start_and_ask(racer, &workloads, false, ground, progress)?;
        let is_right = asked.wrong.is_empty() || asked.wrong.len() < workloads.len();
        if !is_right && workloads.len() == all {
            return Err(asked.wrong.swap_remove(0).1);
        }
        for (index, error) in &asked.wrong {
            lap.wrong.insert((racer, *index));
            let mut gap = self.gap_of_workload(racer, *index, error);
            gap.round = Some(lap.round);
            self.tell_gap(&gap)?;
        }
        if !is_right {
            return Ok(None);
        }
        let warming = self.warm(racer, &mut asked, &workloads, connections, ground, progress)?;
        Ok(Some(Waiting::new(asked.running, connections, warming)))
    }

    /// One server's turn at one cell. What goes wrong with it is a row, and it is started afresh
    /// for its next turn.
    fn run_slot(
        &mut self,
        lap: &mut Lap,
        slot: &Slot,
        ground: &Ground,
        progress: &mut Progress,
        standby: &mut Standby,
    ) -> Result<(), LabError> {
        let connections = slot.cell.connections;
        let (mut waiting, state) = match standby.take(slot.racer) {
            Some(taken) => taken,
            None => match self.start_for(lap, slot.racer, connections, ground, progress)? {
                Some(waiting) => (waiting, Ok(false)),
                None => return Ok(()),
            },
        };
        lap.begun.insert(slot.racer);
        let outcome = match state {
            // This start found it wrong, and the others are right.
            Ok(_) if !lap.can_run(slot) => Ok(()),
            Ok(was_frozen) => {
                let standing = standby.standing(&waiting);
                waiting.running.set_standing(standing);
                waiting.held = waiting.held.max(connections);
                self.take_turn(
                    lap,
                    slot,
                    &mut waiting.running,
                    was_frozen,
                    ground,
                    progress,
                )
            }
            Err(why) => Err(self.about(slot.racer, why)),
        };
        match outcome {
            Ok(()) if self.stays(slot.racer, lap, ground) => {
                standby.put(slot.racer, waiting, lap.is_shared);
                return Ok(());
            }
            Err(error) if self.is_gap(&error)? => self.tell_gap_at(lap, slot, &error)?,
            outcome => outcome?,
        }
        standby.end(waiting);
        Ok(())
    }

    fn take_turn(
        &mut self,
        lap: &Lap,
        slot: &Slot,
        running: &mut Running,
        was_frozen: bool,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let workload = &self.experiment.workloads()[slot.cell.workload];
        let place = running.place_over(slot.cell.network);
        let target = ground.target(slot.racer, place, workload, self.experiment);
        if was_frozen {
            let load = Load::one_exchange(self.experiment.timeout(), progress.next_number());
            let asked = trial::verify(self.generator, &target, &load, &self.division.generator);
            self.check_interrupt()?;
            asked.map_err(|why| {
                let why = format!(
                    "it was frozen while others were measured, and no longer \
                                   answers correctly: {why}"
                );
                self.about(slot.racer, why)
            })?;
        }
        self.run_trial(lap, slot, &target, running, ground, progress)?;
        match running.ended("by itself") {
            Some(why) => Err(self.about(slot.racer, why)),
            None => Ok(()),
        }
    }

    /// The trial of a turn, or the search whose answer it is made at.
    fn run_trial(
        &mut self,
        lap: &Lap,
        slot: &Slot,
        target: &Target,
        running: &mut Running,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let is_ceiling = matches!(slot.racer, Racer::Ceiling { .. });
        let outcome = if self.experiment.objective().is_empty() || is_ceiling {
            let mut load = Load::of_cell(self.experiment, &slot.cell, progress.next_number());
            if is_ceiling {
                load = load.hurried();
            }
            let measured = self.measure(&load, lap, slot, target, running, ground);
            measured.and_then(|trial| self.keep(&trial, slot, progress))
        } else {
            self.search_capacity(lap, slot, target, running, ground, progress)
        };
        match outcome {
            // It says nothing about the server, which goes on.
            Err(error @ LabError::Generator { .. }) if self.is_gap(&error)? => {
                self.tell_gap_at(lap, slot, &error)
            }
            outcome => outcome,
        }
    }

    /// Measures under that load.
    pub(super) fn measure(
        &mut self,
        load: &Load,
        lap: &Lap,
        slot: &Slot,
        target: &Target,
        running: &mut Running,
        ground: &Ground,
    ) -> Result<Trial, LabError> {
        let is_shared = slot.cell.placement == Some(Placement::Shared);
        let of_server = running.cpus();
        let (cpus, words) = match is_shared && !of_server.is_empty() {
            true => (of_server.to_vec(), cpus::shared_words(of_server)),
            false => (self.division.generator.clone(), self.division.words.clone()),
        };
        let plan = trial::plan(target, load, &cpus);
        let surroundings = Surroundings {
            host: &self.host,
            environment: &ground.environment,
            cpu_choice: &words,
            generator_cpus: &cpus,
            overload: self.experiment.is_overload(),
            reload: self.experiment.reloads() && matches!(slot.racer, Racer::Server(_)),
        };
        let point = self.point(lap, slot);
        running.ask_for(&self.experiment.workloads()[slot.cell.workload].needs);
        let waited = self.calm.wait();
        if let Some(waited) = waited.as_ref().filter(|waited| !waited.left.is_empty()) {
            (self.news)(&News::Restless(waited));
        }
        let mut trial = trial::measure(self.generator, running, &plan, point, &surroundings)?;
        trial.context.waited = waited;
        // Of what somebody else started others may be asking.
        if running.installed().external.is_none() {
            self.calm.after(running.port());
        }
        if trial.record.interrupted {
            return Err(LabError::Interrupted);
        }
        let server = trial.context.server.as_ref();
        if server.is_some_and(|server| server.exit.is_some()) {
            // Ended together with us, it did not fail.
            self.check_interrupt()?;
        }
        Ok(trial)
    }

    /// Stores the trial of a turn, and tells of it.
    pub(super) fn keep(
        &mut self,
        trial: &Trial,
        slot: &Slot,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let had_ceiling = self.store.set_aside(&progress.renew(slot))?;
        if let (true, Some(point)) = (had_ceiling, &trial.point) {
            // Those that were held against it get the new one when the round is over.
            self.store.complete(point.round, &mut |trial| {
                trial.context.ceiling.take().is_some()
            })?;
        }
        self.store.put_trial(trial)?;
        let is_void = (self.is_void)(trial);
        if let Some(point) = &trial.point {
            progress.count(point, slot, is_void);
        }
        (self.news)(&News::Trial {
            trial,
            done: progress.done(),
            all: progress.all,
            is_void,
            left: progress.left((self.elapsed)()),
        });
        Ok(())
    }

    pub(super) fn tell_gap_at(
        &mut self,
        lap: &Lap,
        slot: &Slot,
        error: &LabError,
    ) -> Result<(), LabError> {
        let point = self.point(lap, slot);
        let mut gap = self.gap_of(slot.racer, error);
        gap.round = Some(point.round);
        gap.workload = Some(point.id.workload);
        gap.load = point.id.load;
        self.tell_gap(&gap)
    }

    pub(super) fn about(&self, racer: Racer, why: String) -> LabError {
        LabError::Server {
            server: self.label(racer).to_owned(),
            why,
        }
    }

    fn point(&self, lap: &Lap, slot: &Slot) -> Point {
        let cell = &slot.cell;
        let mut id = PointId {
            execution: self.manifest.execution(),
            server: self.label(slot.racer).to_owned(),
            workload: self.experiment.workloads()[cell.workload].name.clone(),
            ..PointId::default()
        }
        .with(CONNECTIONS, Value::Count(cell.connections));
        if let Some(rate) = cell.rate {
            id = id.with(RATE, Value::Rate(rate));
        }
        if let Some(sources) = cell.sources {
            id = id.with(SOURCES, Value::Count(sources));
        }
        if let Some(placement) = cell.placement {
            id = id.with(PLACEMENT, Value::Word(placement.name().to_owned()));
        }
        if let Some(network) = cell.network {
            id = id.with(NETWORK, Value::Word(network.name().to_owned()));
        }
        id = match slot.racer {
            Racer::Ceiling { cores, speech } => spoken(id.with(CORES, Value::Count(cores)), speech),
            Racer::Server(index) => {
                let variant = &self.experiment.servers()[index];
                // Of a server that somebody else started nobody knows.
                if variant.url.is_none() {
                    let log = variant.access_log.name().to_owned();
                    id = id
                        .with(CORES, Value::Count(variant.cores))
                        .with(ACCESS_LOG, Value::Word(log));
                }
                spoken(id, variant.speech)
            }
        };
        Point {
            id,
            round: lap.round,
            sequence: slot.sequence,
            attempt: lap.attempt,
            group: lap.group,
            ceiling: matches!(slot.racer, Racer::Ceiling { .. }),
        }
    }
}

/// With what its connections speak.
fn spoken(id: PointId, speech: Speech) -> PointId {
    let word = |name: &str| Value::Word(name.to_owned());
    let mut id = id.with(PROTOCOL, word(speech.protocol.name()));
    if let Some(key) = speech.certificate {
        id = id.with(CERTIFICATE, word(key.name()));
    }
    if let Some(kind) = speech.handshake {
        id = id.with(HANDSHAKE, word(kind.name()));
    }
    id
}

/// What is the same for all trials of a block.
pub(super) struct Lap {
    round: u32,
    attempt: u32,
    group: u32,
    /// Whether several servers stand beside each other.
    is_shared: bool,
    /// Who cannot be started.
    lost: BTreeSet<Racer>,
    /// What was not answered rightly at a start, by the workload's index.
    wrong: BTreeSet<(Racer, usize)>,
    /// Who was started, or went on from an earlier block.
    begun: BTreeSet<Racer>,
    /// The turns to come, that which is being taken included.
    left: Vec<(Racer, usize)>,
    /// How long starts took, those before the first turn included.
    starting: Span,
}

impl Lap {
    /// Whether nothing that was seen at a start forbids a turn.
    fn can_run(&self, slot: &Slot) -> bool {
        let is_wrong = self.wrong.contains(&(slot.racer, slot.cell.workload));
        !self.lost.contains(&slot.racer) && !is_wrong
    }
}
