//! The first questions: a server that was started is asked for what will be measured, once each.
//!
//! One that does not answer a question may answer nothing more, as lighttpd while a program for CGI
//! hangs. So it is started anew, and asked for the rest alone.

use model::experiment::{Gap, Network};
use verdict::words;

use super::{Ground, Lab, Progress};
use crate::error::LabError;
use crate::server::Running;
use crate::sweep::Racer;
use crate::trial::{self, Load};

/// A server that was asked.
pub(super) struct Asked {
    pub(super) running: Running,
    /// What it did not answer rightly, by the workload's index, and what came instead.
    pub(super) wrong: Vec<(usize, LabError)>,
}

impl Lab<'_> {
    /// Starts it and asks for these workloads, by their indices. After each that is not answered
    /// rightly it is started anew and asked for those that are left. The responder must be right
    /// for all.
    pub(super) fn start_and_ask(
        &mut self,
        racer: Racer,
        workloads: &[usize],
        is_checked: bool,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<Asked, LabError> {
        let mut running = self.start(racer, ground, is_checked)?;
        let mut wrong = Vec::new();
        self.look_who_listens(racer, &mut running)?;
        for (place, &index) in workloads.iter().enumerate() {
            let Err(error) = self.ask(racer, index, &mut running, ground, progress) else {
                continue;
            };
            if matches!(racer, Racer::Ceiling { .. }) || !self.is_gap(&error)? {
                return Err(error);
            }
            wrong.push((index, error));
            // Of one that was never right nothing is measured.
            if place + 1 < workloads.len() || wrong.len() <= place {
                running.stop();
                running = self.start(racer, ground, false)?;
                self.look_who_listens(racer, &mut running)?;
            }
        }
        // One that goes into the background may have answered, but nobody would meter it.
        let ended = running.ended("by itself");
        match ended.filter(|_| wrong.is_empty() || wrong.len() < workloads.len()) {
            Some(why) => Err(self.about(racer, why)),
            None => Ok(Asked { running, wrong }),
        }
    }

    /// That it is measured, and nobody else at its port.
    fn look_who_listens(&self, racer: Racer, running: &mut Running) -> Result<(), LabError> {
        running.look_before();
        let facts = running.look_after();
        if facts.listener_is_ours != Some(false) {
            return Ok(());
        }
        let owner = facts.listener_owner.as_deref().unwrap_or("nobody");
        let why = format!(
            "port {} belongs to {owner}, not to {}",
            running.port(),
            match &running.installed().external {
                Some(_) => "the process that was named",
                None => "the server that was started",
            }
        );
        Err(self.about(racer, why))
    }

    /// The right status, length and bytes, on the measured port, from a process that we started.
    fn ask(
        &mut self,
        racer: Racer,
        index: usize,
        running: &mut Running,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let workload = &self.experiment.workloads()[index];
        let ways: Vec<Option<Network>> = match self.experiment.networks() {
            [] => vec![None],
            networks => networks.iter().copied().map(Some).collect(),
        };
        for way in ways {
            let place = running.place_over(way);
            let target = ground.target(racer, place, workload, self.experiment);
            let load = Load::one_exchange(self.experiment.timeout(), progress.next_number());
            let asked = trial::verify(self.generator, &target, &load, &self.division.generator);
            self.check_interrupt()?;
            asked.map_err(|why| {
                let said = in_brackets(&running.complaint());
                let over = over_words(way);
                let why = format!("wrong answer for '{}'{over}: {why}{said}", workload.name);
                self.about(racer, why)
            })?;
        }
        Ok(())
    }

    /// The row of a workload that was not answered rightly.
    pub(super) fn gap_of_workload(&self, racer: Racer, index: usize, error: &LabError) -> Gap {
        Gap {
            workload: Some(self.experiment.workloads()[index].name.clone()),
            ..self.gap_of(racer, error)
        }
    }

    /// The most connections of the load at once: a server whose limits are lower is told now, and
    /// not by every trial.
    pub(super) fn ask_by_all_connections(
        &mut self,
        racer: Racer,
        running: &mut Running,
        ground: &Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let Some(&first) = ground.asked(racer, self.experiment).first() else {
            return Ok(());
        };
        let workload = &self.experiment.workloads()[first];
        let target = ground.target(racer, running.place(), workload, self.experiment);
        let load = Load::crowd(self.experiment, progress.next_number());
        let asked = trial::verify(self.generator, &target, &load, &self.division.generator);
        self.check_interrupt()?;
        asked.map_err(|why| LabError::Server {
            server: self.label(racer).to_owned(),
            why: format!(
                "it does not serve {} at once: {why}{}",
                words::plural(u64::from(load.connections), "connection"),
                in_brackets(&running.complaint())
            ),
        })
    }
}

/// What must be true for a server to be asked that way, where that is not so with every one.
const fn over_words(way: Option<Network>) -> &'static str {
    match way {
        Some(Network::Veth) => " over veth, for which it must listen on {{ address }}",
        _ => "",
    }
}

/// What a server said, behind a sentence about it.
fn in_brackets(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(" (it said: {said})")
    }
}
