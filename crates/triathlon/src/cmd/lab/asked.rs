//! What is asked for: an experiment by its name or file, or one that was begun and goes on.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use lab::LabError;
use lab::cpus::Division;
use lab::environment;
use lab::experiment::{ReadError, Source};
use lab::pair::Pair;
use lab::server::{Catalogue, Installed};
use lab::store::Store;
use lab::sweep::{self, Cost, Present, Racer, Slot, scale};
use model::experiment::{LeftOut, Why};
use model::{Environment, Experiment, Manifest, Span};
use verdict::words;

use super::{Args, resumed};
use crate::exit::UsageError;
use crate::out;

/// What is to be run, and what there is of it already.
pub(super) struct Asked {
    pub(super) experiment: Experiment,
    source: Option<Source>,
    stored: Option<(Store, Manifest)>,
    scaled: Vec<String>,
    /// What was left out to fit the budget or this machine.
    left_out: Vec<LeftOut>,
    /// The experiment, and what was left out, before the budget changed them.
    whole: Option<(Experiment, Vec<LeftOut>)>,
    /// What is missing of the study that it is named after, if anything is.
    shortfall: Option<String>,
    /// That its smallest form takes longer than the budget, if it does.
    longer: Option<String>,
    /// What a reader must know besides.
    notes: Vec<String>,
    /// The command line that began it.
    command: Vec<String>,
}

impl Asked {
    pub(super) fn read(args: &Args, servers: &Catalogue) -> anyhow::Result<Self> {
        let Some(resume) = &args.resume else {
            let name = args.experiment.as_deref().ok_or_else(|| {
                UsageError("give an experiment: triathlon lab first-heat".to_owned())
            })?;
            let source = read(name, &args.overrides, servers)?;
            return Ok(Self {
                experiment: source.experiment.clone(),
                notes: source.notes.clone(),
                source: Some(source),
                stored: None,
                scaled: Vec::new(),
                left_out: Vec::new(),
                whole: None,
                shortfall: None,
                longer: None,
                command: crate::shell::command_line(),
            });
        };
        if !args.overrides.is_empty() || args.budget.is_some() {
            let why = "--resume continues what was begun: leave out KEY=VALUE and --budget";
            return Err(UsageError(why.to_owned()).into());
        }
        let folder = resumed::folder(args, resume.as_deref(), servers)?;
        let (store, manifest) = Store::open(&folder)?;
        resumed::refuse_another(args.experiment.as_deref(), &folder, &manifest, servers)?;
        if manifest.at_once == 0 {
            let why = format!(
                "{} was begun by an earlier version, which measured in another order: begin anew",
                folder.display()
            );
            return Err(LabError::Resume { why }.into());
        }
        out::note(format_args!("going on in {}", folder.display()));
        let experiment = Experiment::try_from(manifest.experiment.clone())
            .with_context(|| format!("{} cannot be resumed", folder.display()))?;
        Ok(Self {
            experiment,
            source: None,
            scaled: manifest.scaled.clone(),
            left_out: Vec::new(),
            whole: None,
            shortfall: None,
            longer: None,
            notes: manifest.notes.clone(),
            stored: Some((store, manifest)),
            command: crate::shell::command_line(),
        })
    }

    /// Takes it as begun by that command line, which read the experiment there: another machine's.
    pub(super) fn begun_by(&mut self, source: &str, command: &[String]) {
        self.command = command.to_vec();
        if let Some(read) = &mut self.source {
            source.clone_into(&mut read.name);
        }
    }

    /// The experiment as it is written; empty where results are gone on with.
    pub(super) fn text(&self) -> &str {
        let source = self.source.as_ref();
        source.map_or("", |source| source.text.as_str())
    }

    /// Where that was read.
    pub(super) fn source_name(&self) -> &str {
        let source = self.source.as_ref();
        source.map_or("", |source| source.name.as_str())
    }

    /// The results that are gone on with.
    pub(super) fn stored(&self) -> Option<&Store> {
        self.stored.as_ref().map(|(store, _)| store)
    }

    /// Gives servers as many cores as this machine has, where they want more.
    pub(super) fn fit_machine(&mut self, cores: usize) {
        if self.stored.is_none() {
            let cores = u32::try_from(cores).unwrap_or(u32::MAX);
            let (fitted, said) = sweep::fit_cores(&self.experiment, cores);
            let gone = sweep::left_out(&self.experiment, &fitted, Why::Machine);
            self.left_out.extend(gone);
            self.experiment = fitted;
            self.notes.extend(said);
        }
    }

    /// Gives the load as many threads as agents have CPUs, where nobody said how many.
    pub(super) fn fit_agents(&mut self, cpus: u32) -> anyhow::Result<()> {
        let mut file = self.experiment.file().clone();
        if self.stored.is_none() && file.load.workers.is_none() {
            file.load.workers = Some(cpus);
            self.experiment = Experiment::try_from(file)?;
        }
        Ok(())
    }

    /// Leaves out the points of a network that cannot be made here, where another one is left.
    pub(super) fn fit_network(
        &mut self,
        made: Result<Option<Pair>, LabError>,
    ) -> Result<Option<Pair>, LabError> {
        let why = match made {
            Err(error) if self.stored.is_none() => error,
            made => return made,
        };
        let Some(rest) = sweep::without_veth(&self.experiment) else {
            return Err(why);
        };
        let gone = sweep::left_out(&self.experiment, &rest, Why::Machine);
        self.left_out.extend(gone);
        self.experiment = rest;
        self.notes
            .push(format!("Points over veth are left out: {why}."));
        Ok(None)
    }

    /// Notes what is missing of the study that it is named after, where these of its servers can be
    /// measured.
    pub(super) fn note_shortfall(&mut self, present: &Present) {
        let source = self.source.as_ref().filter(|_| self.stored.is_none());
        let written = source.and_then(|source| source.as_written.as_ref());
        self.shortfall =
            written.and_then(|written| sweep::shortfall(written, &self.experiment, present));
    }

    /// What a reader must know beside what was scaled.
    fn notes(&self) -> impl Iterator<Item = &String> {
        let before = self.shortfall.iter().chain(&self.notes);
        before.chain(&self.longer)
    }

    /// Says what was changed of it.
    pub(super) fn tell(&self) {
        for said in self.notes() {
            out::note(format_args!("{said}"));
        }
        for said in &self.scaled {
            out::note(format_args!("scaled to the budget: {said}"));
        }
    }

    /// What is left to measure of results that are gone on with, beside how many trials there are;
    /// none of results that begin.
    pub(super) fn left(&self, servers: &[Option<Installed>]) -> Option<(usize, Cost)> {
        let (store, manifest) = self.stored.as_ref()?;
        let done = store.done();
        let can_be = |slot: &Slot| match slot.racer {
            Racer::Ceiling { .. } => slot
                .racer
                .is_there(&self.experiment, &|index| servers[index].is_some()),
            Racer::Server(index) => {
                let needs = self.experiment.workloads()[slot.cell.workload].needs.iter();
                let needs = needs.map(String::as_str);
                let server = servers[index].as_ref();
                server.is_some_and(|server| server.lacks(needs).is_none())
            }
        };
        let order = (manifest.order_seed, manifest.at_once);
        let is_done = |sequence| done.contains(&sequence);
        let rounds = sweep::schedule(&self.experiment, order.0, order.1);
        let cut = |index| sweep::cut(&rounds, index, &is_done, &|_| false, &can_be).cells;
        let again: BTreeSet<u32> = (0..rounds.len()).flat_map(cut).flatten().collect();
        let is_open = |slot: &Slot| {
            can_be(slot) && (!is_done(slot.sequence) || again.contains(&slot.sequence))
        };
        let cost = Cost::of_those(&self.experiment, &super::here(servers), order, &is_open);
        let stored = done.difference(&again).count();
        Some((stored, cost))
    }

    /// How many servers are started together: as it was begun, or as this machine allows.
    pub(super) fn at_once(&self, environment: &Environment) -> u32 {
        let begun = self.stored.as_ref().map(|(_, manifest)| manifest.at_once);
        begun.unwrap_or_else(|| sweep::at_once(environment.memory))
    }

    /// The experiment as it was before a budget changed it.
    pub(super) fn whole(&self) -> &Experiment {
        let whole = self.whole.as_ref();
        whole.map_or(&self.experiment, |(experiment, _)| experiment)
    }

    /// Scales it down to the budget, if there is one; anew where more is known of `installed` than
    /// before.
    pub(super) fn fit(
        &mut self,
        installed: &Present,
        at_once: u32,
        budget: Option<Span>,
        is_rehearsed: bool,
    ) -> anyhow::Result<()> {
        let Some(budget) = budget else {
            return Ok(());
        };
        let as_it_is = || (self.experiment.clone(), self.left_out.clone());
        let (experiment, left_out) = self.whole.get_or_insert_with(as_it_is).clone();
        let scaled = scale(&experiment, installed, at_once, budget);
        // What was seen is told; what is reckoned beforehand may be wrong by that much.
        let most = budget + budget / if is_rehearsed { 2 } else { 10 };
        if scaled.takes > most {
            let experiment = &scaled.experiment;
            let error = LabError::Budget {
                experiment: experiment.name().to_owned(),
                budget,
                form: format!(
                    "{}, {}, windows of {}",
                    words::plural(u64::from(experiment.rounds()), "round"),
                    words::plural(experiment.connections().len() as u64, "connection count"),
                    experiment.duration()
                ),
                least: scaled.takes,
            };
            return Err(UsageError(error.to_string()).into());
        }
        self.longer = (!scaled.fits).then(|| {
            let (takes, budget) = (scaled.takes.people(), budget.people());
            format!("The smallest form takes about {takes}, more than the budget of {budget}.")
        });
        self.experiment = scaled.experiment;
        self.scaled = scaled.said;
        self.left_out = left_out;
        self.left_out.extend(scaled.left_out);
        Ok(())
    }

    /// The folder for its results: a new one, or the one that is resumed.
    pub(super) fn store(
        &mut self,
        results: &Path,
        environment: &Environment,
        division: &Division,
    ) -> anyhow::Result<(Store, Manifest)> {
        if let Some((store, manifest)) = self.stored.take() {
            return Ok((store, manifest));
        }
        let mut file = self.experiment.file().clone();
        file.experiment.reference = Some(self.experiment.reference().to_owned());
        let now = sys::clock::realtime();
        let manifest = Manifest {
            format: model::plan::FORMAT,
            order_seed: file.experiment.seed.unwrap_or_else(|| now.as_ns()),
            experiment: file,
            source: self.source_name().to_owned(),
            command: self.command.clone(),
            tool: environment.tool.clone(),
            time: environment::rfc3339(now),
            scaled: self.scaled.clone(),
            not_repeated: 0,
            left_out: Some(self.left_out.clone()),
            notes: self.notes().cloned().collect(),
            server_cpus: division.server.clone(),
            generator_cpus: division.generator.clone(),
            cpu_choice: division.words.clone(),
            at_once: sweep::at_once(environment.memory),
        };
        let store = Store::create(results, &manifest, self.text())?;
        Ok((store, manifest))
    }
}

/// What cannot be understood is wrong usage; what cannot be read is the world's.
fn read(name: &str, overrides: &[String], servers: &Catalogue) -> anyhow::Result<Source> {
    lab::experiment::read_with(name, overrides, servers).map_err(|error| match error {
        ReadError::Unreadable { .. } => error.into(),
        _ => UsageError(error.to_string()).into(),
    })
}
