//! What was asked for and was not measured, such that the lab fails.
//!
//! A server that was named and that is not here, or that failed, is missed wherever it was to be
//! measured. What is out of reach is a row and no failure: a workload that a product does not
//! offer, more cores than there are. But a product of which nothing was measured is missed all the
//! same, and so is a workload that nobody did.

use lab::execution::{CEILING, Missing};
use lab::server::Installed;
use model::Experiment;
use model::experiment::Gap;

/// What was measured, or can be.
pub(super) struct Done {
    /// The server's label.
    pub(super) server: String,
    /// The workload's name.
    pub(super) workload: String,
}

/// The gaps of `experiment` that are missed, in their order. Servers that are not installed are
/// missed only where they were `named`.
pub(super) fn missed<'g>(
    experiment: &Experiment,
    gaps: &'g [Gap],
    named: bool,
    done: &[Done],
    is_filled: &dyn Fn(&Gap) -> bool,
) -> Vec<&'g Gap> {
    let product_of = |label: &str| {
        let mut servers = experiment.servers().iter();
        let server = servers.find(|server| server.label == label);
        server.map(|server| server.product.as_str())
    };
    let is_product_done = |product: &str| {
        let mut done = done.iter();
        done.any(|one| product_of(&one.server) == Some(product))
    };
    let is_workload_done = |name: &str| done.iter().any(|one| one.workload == name);
    // It says why the product is not here at all.
    let is_told_otherwise = |product: &str| {
        let mut others = gaps.iter();
        others.any(|gap| gap.product == product && !gap.out_of_reach)
    };
    let is_missed = |gap: &&Gap| match &gap.workload {
        _ if gap.server == CEILING || is_filled(gap) => false,
        _ if !gap.out_of_reach => named || gap.remedy.is_none(),
        Some(workload) => !is_product_done(&gap.product) || (named && !is_workload_done(workload)),
        None => !is_product_done(&gap.product) && !is_told_otherwise(&gap.product),
    };
    gaps.iter().filter(is_missed).collect()
}

/// Whether everything that was named can be measured, as far as that is known before the start.
pub(super) fn is_complete(
    experiment: &Experiment,
    (servers, missing): (&[Option<Installed>], &[Missing]),
) -> bool {
    let is_there = |index: usize, workload: &str| {
        let mut gaps = missing.iter().filter(|missing| missing.index == index);
        servers[index].is_some() && !gaps.any(|one| one.gap.workload.as_deref() == Some(workload))
    };
    let mut done = Vec::new();
    for (index, server) in experiment.servers().iter().enumerate() {
        let workloads = experiment.workloads().iter();
        let asked = workloads.filter(|workload| experiment.asks(workload, server.speech));
        let there = asked.filter(|workload| is_there(index, &workload.name));
        done.extend(there.map(|workload| Done {
            server: server.label.clone(),
            workload: workload.name.clone(),
        }));
    }
    let gaps: Vec<Gap> = missing.iter().map(|missing| missing.gap.clone()).collect();
    missed(experiment, &gaps, true, &done, &|_| false).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[experiment]
name = "mine"
question = "?"
rounds = 1
warmup = "1s"
duration = "1s"
[[server]]
product = "nginx"
cores = [1, 8]
[[server]]
product = "lighttpd"
[[workload]]
name = "file"
body = { bytes = 7 }
[[workload]]
name = "perl"
body = { bytes = 7 }
handler = "perl"
[load]
connections = 1
"#;

    fn gap(server: &str, workload: Option<&str>, out_of_reach: bool, remedy: Option<&str>) -> Gap {
        Gap {
            server: server.to_owned(),
            product: server.split(' ').next().unwrap().to_owned(),
            workload: workload.map(str::to_owned),
            remedy: remedy.map(str::to_owned),
            out_of_reach,
            ..Gap::default()
        }
    }

    #[test]
    fn what_is_out_of_reach_is_missed_where_nothing_else_stands_for_it() {
        let experiment = lab::experiment::parse("mine", TEXT, &[]).unwrap();
        let check = |done: &[(&str, &str)], named: bool, gaps: &[Gap], expected: &[&str]| {
            let done: Vec<Done> = done
                .iter()
                .map(|(server, workload)| Done {
                    server: (*server).to_owned(),
                    workload: (*workload).to_owned(),
                })
                .collect();
            let missed = missed(&experiment, gaps, named, &done, &|_| false);
            let missed: Vec<&str> = missed.iter().map(|gap| gap.server.as_str()).collect();
            assert_eq!(missed, expected, "{gaps:?}");
        };
        let nginx = [("nginx 1 core", "file"), ("nginx 1 core", "perl")];
        let both = [nginx[0], nginx[1], ("lighttpd", "file")];
        let no_perl = || gap("lighttpd", Some("perl"), true, None);
        let no_cores = || gap("nginx 8 cores", None, true, None);
        // The study was run as it was planned: rows, and no failure.
        check(&both, true, &[no_perl(), no_cores()], &[]);
        // Of a product, or for a workload, there is nothing at all.
        check(&nginx, true, &[no_perl()], &["lighttpd"]);
        check(&[both[0], both[2]], true, &[no_perl()], &["lighttpd"]);
        check(&[both[0], both[2]], false, &[no_perl()], &[]);
        check(&both[2..], true, &[no_cores()], &["nginx 8 cores"]);
        // Why nginx is not here is said by another row.
        let absent = gap("nginx 1 core", None, false, Some("apt install nginx"));
        let gaps = [absent, no_cores()];
        check(&both[2..], false, &gaps, &[]);
        check(&both[2..], true, &gaps, &["nginx 1 core"]);
        // What failed is missed in any case.
        let failed = gap("lighttpd", Some("file"), false, None);
        check(&both, false, &[failed], &["lighttpd"]);
    }
}
