//! Whether the servers of an experiment are such as there are: products of the table, and presets.
//!
//! A product that is known and not installed is no mistake: it becomes a row.

use std::collections::BTreeSet;
use std::path::Path;

use model::Experiment;
use model::experiment::{OneOrMany, ServerFile};

use super::nearest;
use crate::server::{Catalogue, Product};

/// A word in an experiment that names nothing.
pub(super) struct Misnomer {
    /// Its key by its path from the top.
    pub(super) key: String,
    pub(super) why: String,
    pub(super) nearest: Option<String>,
}

/// The first server that cannot be meant.
pub(super) fn check(experiment: &Experiment, servers: &Catalogue) -> Result<(), Misnomer> {
    for (index, written) in experiment.file().server.iter().enumerate() {
        if written.url.is_some() {
            continue;
        }
        let product = servers.product(&written.product);
        if let Ok(product) = &product
            && let Some((why, nearest)) = wrong_variant(written, product)
        {
            let key = format!("server[{index}].variant");
            return Err(Misnomer { key, why, nearest });
        }
        if let Ok(product) = &product
            && let Some((key, why)) = product.cannot_set(written)
        {
            return Err(Misnomer {
                key: format!("server[{index}].{key}"),
                why,
                nearest: None,
            });
        }
        if let Err(near) = product {
            return Err(Misnomer {
                key: format!("server[{index}].product"),
                why: format!(
                    "the lab knows no product '{}'; triathlon lab --list servers prints those it \
                     knows",
                    written.product
                ),
                nearest: near.map(str::to_owned),
            });
        }
        let preset = written.preset.as_str();
        if !matches!(preset, "stock" | "tuned") && !Path::new(preset).is_file() {
            return Err(Misnomer {
                key: format!("server[{index}].preset"),
                why: format!(
                    "a preset is stock, tuned or the path of a template, and there is no file \
                     '{preset}'"
                ),
                nearest: nearest(preset, ["stock", "tuned"].into_iter()).map(str::to_owned),
            });
        }
    }
    wrong_handler(experiment, servers).map_or(Ok(()), Err)
}

/// The first handler of a workload that no product has.
fn wrong_handler(experiment: &Experiment, servers: &Catalogue) -> Option<Misnomer> {
    let there: BTreeSet<String> = servers
        .products()
        .flat_map(|product| {
            let [_, (_, handlers), ..] = product.supports();
            handlers.into_iter().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    for (index, workload) in experiment.file().workload.iter().enumerate() {
        let mut handlers = workload.handler.iter().flat_map(OneOrMany::as_slice);
        if let Some(stranger) = handlers.find(|name| !there.contains(&name.as_str())) {
            return Some(Misnomer {
                key: format!("workload[{index}].handler"),
                why: format!(
                    "no server has a handler '{stranger}'; there are {}",
                    there.join(", ")
                ),
                nearest: nearest(stranger, there.iter().copied()).map(str::to_owned),
            });
        }
    }
    None
}

/// The first variant that the product does not have: why it is wrong, and the nearest that is not.
fn wrong_variant(written: &ServerFile, product: &Product) -> Option<(String, Option<String>)> {
    let asked = written.variant.as_ref()?;
    let [.., (_, known)] = product.supports();
    let is_unknown = |name: &&String| !known.contains(&name.as_str());
    let stranger = asked.as_slice().iter().find(is_unknown)?;
    let there_are = match known.as_slice() {
        [] => format!("{} has no variants: leave it out", product.name()),
        some => format!(
            "{} has no variant '{stranger}'; there are {}",
            product.name(),
            some.join(", ")
        ),
    };
    let near = nearest(stranger, known.iter().copied());
    Some((there_are, near.map(str::to_owned)))
}
