//! Whether a run is still the study that its name says: what a smaller machine changes of it, and
//! what is missing that it cannot do without.

use std::collections::BTreeSet;

use model::experiment::{Experiment, ExperimentFile, Network, OneOrMany, ServerFile};
use verdict::words;

use super::Present;

/// Gives each server whose every number of cores is more than `available` as many as there are.
/// Says which: a sentence for each.
pub fn fit_cores(experiment: &Experiment, available: u32) -> (Experiment, Vec<String>) {
    let mut file: ExperimentFile = experiment.file().clone();
    let mut said = Vec::new();
    for server in file.server.iter_mut().filter(|one| one.url.is_none()) {
        let cores = server.cores.as_slice();
        let Some(&least) = cores.iter().min().filter(|least| **least > available) else {
            continue;
        };
        let name = server.label.as_ref().unwrap_or(&server.product);
        said.push(format!(
            "{name} has {} instead of {least}: this machine has no more CPUs for servers.",
            words::plural(u64::from(available), "core"),
        ));
        server.cores = OneOrMany::One(available);
    }
    match Experiment::try_from(file) {
        Ok(fitted) if !said.is_empty() => (fitted, said),
        // A label that others go by may have named the number of cores.
        _ => (experiment.clone(), Vec::new()),
    }
}

/// `experiment` without the points over a pair of devices; none where no others would be left.
pub fn without_veth(experiment: &Experiment) -> Option<Experiment> {
    let mut rest = experiment.networks().to_vec();
    rest.retain(|network| *network != Network::Veth);
    let mut file: ExperimentFile = experiment.file().clone();
    file.load.network = (!rest.is_empty()).then_some(OneOrMany::Many(rest));
    file.load.network.as_ref()?;
    Experiment::try_from(file).ok()
}

/// What `run` lacks of the study that `written` repeats, where these of its servers can be
/// measured: a server or workload of priority 1, or the second point of an axis. None where it
/// lacks nothing, or where this repeats no study.
pub fn shortfall(written: &Experiment, run: &Experiment, present: &Present) -> Option<String> {
    if written.file().published.is_empty() && written.file().asked.is_empty() {
        return None;
    }
    let mut lacks: Vec<String> = Vec::new();
    let gone = &names(written) - &names(run);
    if !gone.is_empty() {
        let gone: Vec<String> = gone.into_iter().collect();
        lacks.push(format!("it lacks {}", words::list(&gone)));
    }
    let here = run.servers().iter().enumerate();
    let here: Vec<_> = here.filter(|(index, _)| present.has(*index)).collect();
    // A server that somebody else started has no product, and is there.
    let missing: BTreeSet<String> = first_servers(run)
        .filter(|one| one.url.is_none())
        .filter(|one| here.iter().all(|(_, server)| server.product != one.product))
        .map(|one| one.product.clone())
        .collect();
    if !missing.is_empty() {
        let missing: Vec<String> = missing.into_iter().collect();
        let missing = words::list(&missing);
        lacks.push(format!("{missing} cannot be measured here"));
    }
    let asked: BTreeSet<u32> = written.servers().iter().map(|one| one.cores).collect();
    let left: BTreeSet<u32> = here.iter().map(|(_, one)| one.cores).collect();
    // Servers of one number of cores get fewer where there are no more: that is said elsewhere.
    let cores = ("numbers of cores", asked.len(), left.len());
    let axes = |of: &Experiment| {
        [
            ("connections", of.connections().len()),
            ("rates", of.rates().len()),
            ("source addresses", of.sources().len()),
            ("places of the generator", of.placements().len()),
            ("networks", of.networks().len()),
        ]
    };
    let others = axes(written).into_iter().zip(axes(run));
    let others = others.map(|((name, asked), (_, left))| (name, asked, left));
    for (name, asked, left) in others.chain([cores]) {
        if asked > 1 && left < 2 {
            lacks.push(format!(
                "{left} of {asked} points is left on the axis of {name}"
            ));
        }
    }
    (!lacks.is_empty()).then(|| {
        format!(
            "This is not the study {}: {}.",
            written.name(),
            lacks.join("; ")
        )
    })
}

fn is_first(priority: Option<u32>) -> bool {
    priority.unwrap_or(1) == 1
}

/// The servers of priority 1, as they are written.
fn first_servers(experiment: &Experiment) -> impl Iterator<Item = &ServerFile> {
    let all = experiment.file().server.iter();
    all.filter(|one| is_first(one.priority))
}

/// The servers and workloads of priority 1, by the names that they have in the file: a server's
/// configurations go by its product, preset and label.
fn names(experiment: &Experiment) -> BTreeSet<String> {
    let file = experiment.file();
    let servers = first_servers(experiment).flat_map(|one| {
        let variants = one.variant.as_ref().map_or(&[][..], OneOrMany::as_slice);
        let name = one.label.clone().unwrap_or_else(|| one.product.clone());
        match variants {
            [] => vec![name],
            some => some
                .iter()
                .map(|variant| format!("{name} {variant}"))
                .collect(),
        }
    });
    let workloads = experiment.workloads().iter().filter(|workload| {
        let written = file.workload.iter();
        let written = written.filter(|one| workload.name.starts_with(&one.name));
        let written = written.max_by_key(|one| one.name.len());
        written.is_some_and(|one| is_first(one.priority))
    });
    let workloads = workloads.map(|workload| format!("'{}'", workload.name));
    servers.chain(workloads).collect()
}

#[cfg(test)]
mod tests {
    use model::Span;

    use super::*;
    use crate::experiment::{BUILT_IN, parse};
    use crate::sweep::{Cost, Present, scale};

    fn study(name: &str, overrides: &[&str]) -> Experiment {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
        parse(name, text, &overrides).unwrap()
    }

    fn all(experiment: &Experiment) -> Present {
        (0..experiment.servers().len()).collect()
    }

    fn lacks(written: &Experiment, run: &Experiment) -> Option<String> {
        shortfall(written, run, &all(run))
    }

    #[test]
    fn a_machine_with_fewer_cores_runs_a_study_on_those_that_it_has() {
        let real_load = study("real-load-2022", &[]);
        let (fitted, said) = fit_cores(&real_load, 1);
        assert!(fitted.servers().iter().all(|server| server.cores == 1));
        assert_eq!(fitted.servers().len(), real_load.servers().len());
        assert_eq!(
            said[0],
            "Apache as published has 1 core instead of 4: this machine has no more CPUs for \
             servers."
        );
        assert_eq!(lacks(&real_load, &fitted), None);
        let (same, said) = fit_cores(&real_load, 4);
        assert_eq!((same, said.len()), (real_load, 0));
        // Where some number fits, the others are rows.
        let rootusers = study("rootusers-2016", &[]);
        assert_eq!(fit_cores(&rootusers, 1).0, rootusers);
    }

    #[test]
    fn a_machine_without_privileges_runs_a_study_over_loopback_alone() {
        let written = study("revisited-2005", &[]);
        let run = without_veth(&written).unwrap();
        assert_eq!(run.networks(), [Network::Loopback]);
        assert_eq!(
            lacks(&written, &run).as_deref(),
            Some(
                "This is not the study revisited-2005: 1 of 2 points is left on the axis of \
                 networks."
            )
        );
        let alone = study("revisited-2005", &["load.network=veth"]);
        assert_eq!(without_veth(&alone), None);
    }

    #[test]
    fn what_a_study_cannot_do_without_is_told() {
        let check = |name: &str, overrides: &[&str], expected: Option<&str>| {
            let said = lacks(&study(name, &[]), &study(name, overrides));
            assert_eq!(said.as_deref(), expected);
        };
        check("revisited-2005", &["rounds=6", "connections=1,16"], None);
        check(
            "rootusers-2016",
            &["server=nginx,apache"],
            Some(
                "This is not the study rootusers-2016: it lacks apache event, apache \
                 prefork, apache worker, cherokee, lighttpd, openlitespeed and varnish nginx; 1 of \
                 4 points is left on the axis of numbers of cores.",
            ),
        );
        check(
            "real-load-2022",
            &["sources=64"],
            Some(
                "This is not the study real-load-2022: 1 of 2 points is left on the axis of \
                  source addresses.",
            ),
        );
        // What repeats no study lacks nothing of one.
        check("first-heat", &["server=origin", "connections=1"], None);
    }

    #[test]
    fn what_a_machine_cannot_measure_of_a_study_is_told() {
        let study = study("rootusers-2016", &[]);
        let of = |can: &dyn Fn(&str, u32) -> bool| -> Present {
            let all = study.servers().iter().enumerate();
            let here = all.filter(|(_, server)| can(&server.product, server.cores));
            here.map(|(index, _)| index).collect()
        };
        let said = |present: &Present| shortfall(&study, &study, present);
        assert_eq!(said(&of(&|_, _| true)), None);
        assert_eq!(
            said(&of(&|product, cores| product != "cherokee" && cores == 1)).as_deref(),
            Some(
                "This is not the study rootusers-2016: cherokee cannot be measured here; 1 of \
                 4 points is left on the axis of numbers of cores."
            )
        );
    }

    /// Nothing is missing where the lab starts none of the servers.
    #[test]
    fn servers_of_others_are_not_missing() {
        let text = "[experiment]\nname = \"own\"\nquestion = \"?\"\nrounds = 6\n\
                    duration = \"1s\"\n[[server]]\nurl = \"http://127.0.0.1:1\"\n\
                    label = \"mine\"\n[[workload]]\nname = \"page\"\nbody = { bytes = 7 }\n\
                    [load]\nconnections = [1]\n[[published]]\nwhat = \"once\"\nrate = 1\n\
                    server = \"mine\"\nworkload = \"page\"\nconnections = 1\n";
        let own = parse("own", text, &[]).unwrap();
        assert_eq!(lacks(&own, &own), None);
    }

    /// With all that Debian has of their servers.
    #[test]
    fn every_study_has_a_form_for_minutes_on_two_cores() {
        let built = ["cherokee", "openlitespeed", "hiawatha", "lwan"];
        for (name, _) in BUILT_IN {
            let budget = Span::from_s(if *name == "rootusers-2016" {
                1_200
            } else {
                600
            });
            let (experiment, _) = fit_cores(&study(name, &[]), 1);
            let servers = experiment.servers().iter().enumerate();
            let present = servers.filter(|(_, server)| {
                server.cores == 1 && !built.contains(&server.product.as_str())
            });
            let present: Present = present.map(|(index, _)| index).collect();
            let scaled = scale(&experiment, &present, 32, budget);
            let takes = scaled.takes;
            assert!(
                takes <= budget + budget / 10,
                "{name}, {takes}: {:?}",
                scaled.said
            );
            assert_eq!(lacks(&experiment, &scaled.experiment), None, "{name}");
        }
    }

    #[test]
    fn a_budget_that_fits_leaves_a_study_what_it_cannot_do_without() {
        for (name, _) in BUILT_IN {
            let (experiment, _) = fit_cores(&study(name, &[]), 1);
            let present: Present = (0..experiment.servers().len())
                .filter(|index| experiment.servers()[*index].cores == 1)
                .collect();
            let whole = Cost::of(&experiment, &present, 32).time;
            for share in [2, 4, 8, 16] {
                let scaled = scale(&experiment, &present, 32, whole / share);
                // What does not fit is refused.
                assert!(scaled.fits || share > 2, "{name}: {:?}", scaled.said);
                assert_eq!(lacks(&experiment, &scaled.experiment), None, "{name}");
            }
        }
    }
}
