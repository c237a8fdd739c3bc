//! How rates grow with the cores of a server, where an experiment names several
//! numbers of them.

use std::fmt::Write as _;

use verdict::analysis::Standing;
use verdict::scaling::{CORES_LEAST, fit};
use verdict::words;

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::digests::{Cell, Run};
use crate::number::plain;

/// A server without its number of cores, and each number with the label that it has there.
type Group = (String, Vec<(u32, String)>);

/// Servers that were to have several numbers of cores.
fn groups(run: &Run) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for server in run.variants() {
        let unit = if server.cores == 1 { "core" } else { "cores" };
        let name = server
            .label
            .replace(&format!(" {} {unit}", server.cores), "");
        let point = (server.cores, server.label.clone());
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(point),
            None => groups.push((name, vec![point])),
        }
    }
    groups.retain(|(_, points)| points.iter().any(|point| point.0 != points[0].0));
    groups
}

/// A table of what was fitted, or a sentence that says why nothing was; nothing where no server was
/// to have several numbers of cores.
pub(super) fn section(run: &Run, cells: &[Cell<'_>]) -> String {
    let columns = [
        "server",
        "#at",
        "#rate by cores",
        "#efficiency at the most",
        "#share of one core (Amdahl)",
    ];
    let mut table = Table::new("How rates grow with cores", &columns);
    let (mut asked, mut seen) = (0, 0);
    for (name, points) in groups(run) {
        let of_it = |cell: &&Cell<'_>| points.iter().any(|(_, label)| label == cell.server());
        let mut places: Vec<String> = Vec::new();
        for cell in cells.iter().filter(of_it) {
            let place = cell.place().text();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        asked = asked.max(points.len());
        for place in places {
            let rates = points.iter().filter_map(|(cores, label)| {
                let at = |cell: &&Cell<'_>| cell.server() == label && cell.place().text() == place;
                let rate = cells.iter().find(at)?.rate()?;
                (rate.standing != Standing::Struck).then_some((*cores, rate.median, rate.standing))
            });
            let rates: Vec<(u32, f64, Standing)> = rates.collect();
            seen = seen.max(rates.len());
            let pairs: Vec<(u32, f64)> = rates.iter().map(|one| (one.0, one.1)).collect();
            let Some(scaling) = fit(&pairs) else { continue };
            // A share of rates of which one is only the least is neither more nor less.
            let worst = match rates.iter().map(|one| one.2).max() {
                None | Some(Standing::Sound) => Standing::Sound,
                Some(_) => Standing::Doubtful,
            };
            let share = |share: f64| standing(&words::share(share), worst);
            let told = rates
                .iter()
                .map(|(cores, rate, how)| format!("{cores}: {}", standing(&plain(*rate), *how)));
            table
                .row()
                .head(&escape(&name))
                .number(&escape(&place))
                .number(&told.collect::<Vec<_>>().join(", "))
                .number(&share(scaling.efficiency))
                .number(&share(scaling.serial));
        }
    }
    if asked == 0 {
        return String::new();
    }
    let mut html = match table.is_empty() {
        true => String::new(),
        false => table.finish(),
    };
    if seen < CORES_LEAST {
        let _ = writeln!(
            html,
            "<p class=\"note\">How rates grow with cores is not fitted: at most {seen} of {asked} \
             numbers of cores have a rate that counts, and a fit needs {CORES_LEAST}.</p>"
        );
    }
    html
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;

    use crate::digests::Run;
    use crate::html;

    /// A heat of these, in an experiment that names 1, 2, 4 and 8 cores.
    fn page(servers: &[&'static str]) -> String {
        let trials = Heat {
            servers: servers.to_vec(),
            rounds: 6,
            ..Heat::default()
        }
        .trials();
        let manifest = serde_json::json!({
            "format": 2,
            "experiment": {
                "experiment": { "name": "x", "question": "?", "rounds": 6, "duration": "1s" },
                "server": [{ "product": "nginx", "cores": [1, 2, 4, 8] }],
                "workload": [{ "name": "small", "body": { "bytes": 7 } }],
                "load": { "connections": 64 },
            },
            "source": "built-in",
            "command": [],
            "tool": model::environment::Tool::default(),
            "time": "",
            "order_seed": 0,
        });
        let manifest = serde_json::from_value(manifest).expect("a manifest");
        let mut run = Run::of(&manifest, &[]);
        for trial in &trials {
            run.add(trial);
        }
        html::page(&run)
    }

    #[test]
    fn scaling_is_fitted_where_there_are_cores_enough_and_refused_elsewhere() {
        let whole = page(&[
            "nginx 1 core",
            "nginx 2 cores",
            "nginx 4 cores",
            "nginx 8 cores",
        ]);
        assert!(whole.contains("How rates grow with cores</caption>"));
        assert!(!whole.contains("is not fitted"));
        let few = page(&["nginx 1 core", "nginx 2 cores"]);
        assert!(!few.contains("How rates grow with cores</caption>"));
        let told = "at most 2 of 4 numbers of cores have a rate that counts, and a fit needs 3";
        assert!(few.contains(told), "{few}");
        assert!(!html::page(&Run::default()).contains("grow with cores"));
    }
}
