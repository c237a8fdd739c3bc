//! How far ratios of servers within rounds spread, for each folder of results that is named: what
//! the order of an experiment is worth on this machine.
//!
//! `cargo run -p lab --example paired-variance results/first-heat/*`

#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use lab::store::Store;
use model::Trial;
use verdict::summary::median;

/// What the servers of a cell reached in a round.
type Cells = BTreeMap<(String, u32, u32), BTreeMap<String, f64>>;

fn main() -> Result<(), lab::LabError> {
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let (store, manifest) = Store::open(&folder)?;
        println!("{}", folder.display());
        let mut rates = Cells::new();
        let mut costs = Cells::new();
        let mut labels = Vec::new();
        for trial in store.trials() {
            let trial = trial?;
            let Some(point) = trial.point.as_ref().filter(|point| !point.ceiling) else {
                continue;
            };
            let cell = || {
                (
                    point.id.workload.clone(),
                    point.id.connections(),
                    point.round,
                )
            };
            if !labels.contains(&point.id.server) {
                labels.push(point.id.server.clone());
            }
            // Later attempts replace earlier ones: they come later.
            let rate = trial.record.achieved_rate;
            rates
                .entry(cell())
                .or_default()
                .insert(point.id.server.clone(), rate);
            if let Some(cost) = cpu_us(&trial) {
                costs
                    .entry(cell())
                    .or_default()
                    .insert(point.id.server.clone(), cost);
            }
        }
        let order = manifest.experiment.experiment.order;
        labels.sort();
        for (what, cells) in [("rate", &rates), ("CPU time per request", &costs)] {
            for (index, one) in labels.iter().enumerate() {
                for other in &labels[index + 1..] {
                    tell(
                        &format!("{order:?} order, {what}, {one} to {other}"),
                        cells,
                        one,
                        other,
                    );
                }
            }
        }
    }
    Ok(())
}

/// Prints the standard deviation of log ratios within cells, over rounds, and their median.
fn tell(what: &str, cells: &Cells, one: &str, other: &str) {
    let mut of_point: BTreeMap<(&str, u32), Vec<f64>> = BTreeMap::new();
    for ((workload, connections, _), servers) in cells {
        if let (Some(one), Some(other)) = (servers.get(one), servers.get(other))
            && *one > 0.0
            && *other > 0.0
        {
            let ratios = of_point.entry((workload, *connections)).or_default();
            ratios.push((one / other).ln());
        }
    }
    let mut all = Vec::new();
    let (mut squares, mut freedom) = (0.0, 0.0);
    for ratios in of_point.values() {
        let count = ratios.iter().map(|_| 1.0).sum::<f64>();
        let mean = ratios.iter().sum::<f64>() / count;
        squares += ratios
            .iter()
            .map(|ratio| (ratio - mean).powi(2))
            .sum::<f64>();
        freedom += count - 1.0;
        all.extend(ratios);
    }
    all.sort_by(f64::total_cmp);
    if let (Some(middle), true) = (median(&all), freedom > 0.0) {
        println!(
            "  {what}: median ratio {:.3}, standard deviation of log ratios {:.3}",
            middle.exp(),
            (squares / freedom).sqrt()
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn cpu_us(trial: &Trial) -> Option<f64> {
    let cpu = trial.usage.server.as_ref()?.cpu?;
    let count = trial.record.total.outcomes.total();
    (count > 0).then(|| cpu.as_us_f64() / count as f64)
}
