//! Before a budget is divided: how long starts of its servers take on this machine.
//!
//! No constant knows that: Apache with 1,000 processes takes ten times as long as nginx. This costs
//! a start of each server, which the budget pays.

use lab::LabError;
use lab::calm::{Calm, Here};
use lab::cpus::Division;
use lab::execution::{Lab, Starts, rehearse};
use lab::generator::Generator;
use lab::host::Host;
use lab::scratch::Scratch;
use lab::server::Search;
use model::{Environment, Experiment, Span};
use sys::process::Interrupt;

use super::{Args, Asked};

/// Whether starts are tried before the budget is divided. With agents, who come once the plan is
/// made, what is reckoned beforehand has to do.
pub(super) fn is_for(args: &Args, experiment: &Experiment) -> bool {
    args.budget.is_some() && !args.verify && experiment.generator().is_none()
}

/// Where servers are started.
pub(super) struct Stage<'a> {
    pub(super) search: &'a Search,
    pub(super) division: &'a Division,
    pub(super) environment: &'a Environment,
    pub(super) read: &'a dyn Fn() -> Environment,
    pub(super) interrupt: Interrupt,
}

impl Stage<'_> {
    /// How long starts of the servers of what is asked take.
    pub(super) fn starts(
        &self,
        asked: &mut Asked,
        generator: &mut dyn Generator,
    ) -> anyhow::Result<Starts> {
        crate::out::note("starting each server once, as the budget counts how long that takes");
        // What the lab itself builds there must not be there already.
        let scratch = Scratch::create()?;
        let results = scratch.path().join("results");
        let (store, manifest) = asked.store(&results, self.environment, self.division)?;
        let begun = sys::clock::monotonic();
        let lab = Lab {
            experiment: &asked.experiment,
            manifest: &manifest,
            store: &store,
            scratch: &scratch,
            host: Host::of(&asked.experiment, self.read),
            search: self.search,
            division: self.division,
            calm: Calm::of(&Here, Span::ZERO),
            generator,
            is_void: &|_| false,
            short: &|_, _| Ok::<_, LabError>(Vec::new()),
            budget: None,
            elapsed: &|| sys::clock::monotonic() - begun,
            interrupted: &|| self.interrupt.is_raised(),
            news: &mut |_| (),
        };
        Ok(rehearse(lab)?)
    }
}
