//! Whether the servers of an experiment are such as there are: products of the table, and presets.
//!
//! A product that is known and not installed is no mistake: it becomes a row.

use std::path::Path;

use model::Experiment;
use model::experiment::ServerFile;

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
    Ok(())
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
