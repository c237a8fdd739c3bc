//! Which servers of an experiment can be run here, and what the others lack.

use model::Experiment;
use model::experiment::{Gap, ServerVariant, Workload};

use crate::cpus::Division;
use crate::pair;
use crate::server::{self, Absent, Installed, Search};

/// A server of the experiment that this machine cannot run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Missing {
    /// Its index in the experiment.
    pub index: usize,
    /// What to tell about it.
    pub gap: Gap,
}

/// Which servers of `experiment` can be run here, and what the others lack.
pub fn present(
    experiment: &Experiment,
    search: &Search,
    division: &Division,
) -> (Vec<Option<Installed>>, Vec<Missing>) {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for (index, variant) in experiment.servers().iter().enumerate() {
        match find(experiment, variant, search, division) {
            Ok(installed) => {
                let before = missing.len();
                missing.extend(not_offered(experiment, index, &installed));
                let offers_some = missing.len() - before < asked_of(experiment, variant).count();
                found.push(offers_some.then_some(installed));
            }
            Err(Lack {
                why: error,
                remedy,
                out_of_reach,
                workloads,
            }) => {
                found.push(None);
                let gap = |workload: Option<String>| Missing {
                    index,
                    gap: Gap {
                        server: variant.label.clone(),
                        product: variant.product.clone(),
                        workload,
                        error: error.clone(),
                        remedy: remedy.clone(),
                        out_of_reach,
                        ..Gap::default()
                    },
                };
                match workloads.as_slice() {
                    [] => missing.push(gap(None)),
                    some => missing.extend(some.iter().map(|name| gap(Some(name.clone())))),
                }
            }
        }
    }
    (found, missing)
}

/// The workloads that are asked in what connections to that server speak.
fn asked_of<'e>(
    experiment: &'e Experiment,
    server: &ServerVariant,
) -> impl Iterator<Item = &'e Workload> {
    let (workloads, speech) = (experiment.workloads().iter(), server.speech);
    workloads.filter(move |workload| experiment.asks(workload, speech))
}

/// Why a server cannot be run, and what to do about it.
struct Lack {
    why: String,
    remedy: Option<String>,
    /// The workloads that cannot be measured because of that; none: whatever it is asked for.
    workloads: Vec<String>,
    /// Whether nothing on this machine can help.
    out_of_reach: bool,
}

impl Lack {
    fn out_of_reach(why: String) -> Self {
        Self {
            why,
            remedy: None,
            workloads: Vec::new(),
            out_of_reach: true,
        }
    }
}

impl From<Absent> for Lack {
    fn from(absent: Absent) -> Self {
        Self {
            why: absent.why,
            remedy: absent.remedy,
            workloads: Vec::new(),
            out_of_reach: false,
        }
    }
}

/// A row for each workload that needs what the server does not offer.
fn not_offered(experiment: &Experiment, index: usize, installed: &Installed) -> Vec<Missing> {
    let variant = &experiment.servers()[index];
    let workloads = asked_of(experiment, variant);
    let gaps = workloads.filter_map(|workload| {
        let needs = workload.needs.iter().map(String::as_str);
        let Absent { why: error, remedy } = installed.lacks(needs)?;
        Some(Gap {
            server: variant.label.clone(),
            product: variant.product.clone(),
            workload: Some(workload.name.clone()),
            error,
            // What is missing can be installed, and one that already runs can be asked otherwise.
            out_of_reach: remedy.is_none() && installed.external.is_none(),
            remedy,
            ..Gap::default()
        })
    });
    gaps.map(|gap| Missing { index, gap }).collect()
}

/// What an experiment cannot do with a server that somebody else started, and what to do instead.
fn not_from_outside(
    experiment: &Experiment,
    variant: &ServerVariant,
) -> Option<(&'static str, &'static str)> {
    if pair::is_needed(experiment) {
        let why = "outside of the network namespace that network = \"veth\" makes for servers";
        return Some((why, "ask it over loopback: load.network=loopback"));
    }
    if experiment.reloads() {
        let why = "and the lab tells only servers that it starts to read their configuration again";
        return Some((why, "leave out reload, or let the lab start it"));
    }
    let is_secure = variant.speech.protocol.is_secure();
    let why = "and the lab can give a certificate only to servers that it starts";
    is_secure.then_some((why, "measure it with triathlon load"))
}

fn find(
    experiment: &Experiment,
    variant: &ServerVariant,
    search: &Search,
    division: &Division,
) -> Result<Installed, Lack> {
    if let Some(url) = &variant.url {
        if let Some((why, remedy)) = not_from_outside(experiment, variant) {
            return Err(Lack::from(Absent {
                why: format!("it already runs, {why}"),
                remedy: Some(remedy.to_owned()),
            }));
        }
        return server::external(url, variant.pid).map_err(Lack::from);
    }
    let product = search
        .catalogue
        .product(&variant.product)
        .map_err(|nearest| {
            let hint = nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?"));
            Absent {
                why: format!("the lab knows no product '{}'{hint}", variant.product),
                remedy: Some("triathlon lab --list servers".to_owned()),
            }
        })?;
    if division.of_server(variant.cores).is_none() {
        return Err(Lack::out_of_reach(format!(
            "{} cores are more than the {} that this machine has for servers",
            variant.cores,
            division.server.len()
        )));
    }
    if let Some(why) = product.cannot_log(variant.access_log) {
        return Err(Lack::out_of_reach(why));
    }
    let protocol = variant.speech.protocol.name();
    if let Some(why) = product.cannot_speak(protocol) {
        let asked = asked_of(experiment, variant).map(|workload| workload.name.clone());
        let mut workloads: Vec<String> = asked.collect();
        // What is true of all is one row.
        if workloads.len() == experiment.workloads().len() {
            workloads.clear();
        }
        return Err(Lack {
            workloads,
            ..Lack::out_of_reach(why)
        });
    }
    if let Some(why) = product.cannot_reload().filter(|_| experiment.reloads()) {
        return Err(Lack::out_of_reach(why));
    }
    let found = server::installed_as(product, search, variant.program.as_deref());
    let found = found.and_then(|found| {
        let cannot = found.cannot_reload().filter(|_| experiment.reloads());
        found.cannot_be(variant).or(cannot).map_or(Ok(found), Err)
    });
    found.map_err(Lack::from)
}
