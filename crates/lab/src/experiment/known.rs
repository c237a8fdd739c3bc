//! Whether the servers of an experiment are such as there are: products of the table, and presets.
//!
//! A product that is known and not installed is no mistake: it becomes a row.

use std::path::Path;

use model::Experiment;

use super::nearest;
use crate::server::Catalogue;

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
        if let Err(near) = servers.product(&written.product) {
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
