//! What all blocks stand on: what is installed, the documents, and who can be asked for what.

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::{Speech, Workload};
use model::{Environment, Experiment, Span};

use crate::certificate::Certificates;
use crate::server::Installed;
use crate::site::Site;
use crate::sweep::{self, Block, Present, Racer, Slot, Work};
use crate::trial::{Place, Target};

/// What all blocks stand on.
pub(super) struct Ground {
    /// The machine, as it was when the block began.
    pub(super) environment: Environment,
    pub(super) site: Site,
    pub(super) certificates: Certificates,
    pub(super) servers: Vec<Option<Installed>>,
    /// The cores of each and what it speaks: a ceiling is measured for them.
    pub(super) kinds: Vec<(u32, Speech)>,
    pub(super) responder: Installed,
    pub(super) templates: BTreeMap<String, String>,
    /// What was not answered rightly before the first trial, by the workload's index: it is neither
    /// asked nor measured.
    pub(super) wrong: BTreeSet<(Racer, usize)>,
}

impl Ground {
    /// The workloads that are asked in what it speaks, and that it offers what they need.
    pub(super) fn workloads<'e>(
        &self,
        racer: Racer,
        experiment: &'e Experiment,
    ) -> Vec<&'e Workload> {
        let speech = racer.speech(experiment);
        let workloads = experiment.workloads().iter();
        workloads
            .filter(|workload| experiment.asks(workload, speech) && self.offers(racer, workload))
            .collect()
    }

    /// The same without what it answered wrongly, by their indices.
    pub(super) fn asked(&self, racer: Racer, experiment: &Experiment) -> Vec<usize> {
        let speech = racer.speech(experiment);
        let workloads = experiment.workloads().iter().enumerate();
        workloads
            .filter(|(_, workload)| experiment.asks(workload, speech))
            .filter(|(_, workload)| self.offers(racer, workload))
            .map(|(index, _)| index)
            .filter(|index| !self.wrong.contains(&(racer, *index)))
            .collect()
    }

    /// Whether something can come of a slot: its server is there and was not wrong.
    pub(super) fn can_run(&self, slot: &Slot) -> bool {
        let is_wrong = self.wrong.contains(&(slot.racer, slot.cell.workload));
        self.installed(slot.racer).is_some() && !is_wrong
    }

    /// What `workload` asks of it there.
    pub(super) fn target(
        &self,
        racer: Racer,
        place: Place,
        workload: &Workload,
        experiment: &Experiment,
    ) -> Target {
        Target::of(racer, place, workload, experiment.users(), &self.site)
    }

    /// Whether it offers what the workload needs.
    pub(super) fn offers(&self, racer: Racer, workload: &Workload) -> bool {
        let Racer::Server(_) = racer else {
            return true;
        };
        let needs = workload.needs.iter().map(String::as_str);
        self.installed(racer)
            .is_some_and(|installed| installed.lacks(needs).is_none())
    }

    pub(super) fn installed(&self, racer: Racer) -> Option<&Installed> {
        match racer {
            Racer::Ceiling { cores, speech } => {
                let mut there = self.servers.iter().zip(&self.kinds);
                let is_for = there.any(|(one, kind)| one.is_some() && *kind == (cores, speech));
                Some(&self.responder).filter(|one| is_for && !one.version.is_empty())
            }
            Racer::Server(index) => self.servers[index].as_ref(),
        }
    }

    /// What is reckoned for the open trials of `block`, if these racers stand there already.
    pub(super) fn block_work(
        &self,
        experiment: &Experiment,
        block: &Block,
        is_open: &dyn Fn(&Slot) -> bool,
        standing: &BTreeSet<Racer>,
    ) -> Work {
        let start = |racer| self.start_time(experiment, racer);
        sweep::block_work(experiment, block, is_open, &start, standing)
    }

    /// What is reckoned for a start.
    pub(super) fn start_time(&self, experiment: &Experiment, racer: Racer) -> Span {
        let installed = self.installed(racer);
        let steady_within = installed.and_then(|one| one.product.steady_within());
        sweep::start_time(experiment, None, steady_within)
    }

    /// Each server and each ceiling that can be started.
    pub(super) fn racers(&self, experiment: &Experiment) -> Vec<Racer> {
        let servers = (0..self.servers.len()).map(Racer::Server);
        let ceilings = sweep::ceilings(experiment, &|index| self.servers[index].is_some());
        let all = servers.chain(ceilings);
        all.filter(|racer| self.installed(*racer).is_some())
            .collect()
    }

    /// The servers that can be measured.
    pub(super) fn present(&self) -> Present {
        let servers = self.servers.iter().enumerate();
        let there = servers.filter(|(_, server)| server.is_some());
        there.map(|(index, _)| index).collect()
    }
}
