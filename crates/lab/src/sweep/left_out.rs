//! What fits leaves out, as data: reports answer by it why a point has no trial.

use model::Experiment;
use model::experiment::{LeftOut, Part, RateText, Why};

/// What `run` has no points of that `asked` has. A server that an axis less gave another label is
/// still there.
pub fn left_out(asked: &Experiment, run: &Experiment, why: Why) -> Vec<LeftOut> {
    let mut parts: Vec<Part> = Vec::new();
    let is_there = |label: &str| run.servers().iter().any(|server| server.is_called(label));
    let servers = asked.servers().iter().map(|server| &server.label);
    let servers = servers.filter(|label| !is_there(label));
    parts.extend(servers.cloned().map(Part::Server));
    let names = |of: &Experiment| -> Vec<String> {
        let workloads = of.workloads().iter();
        workloads.map(|workload| workload.name.clone()).collect()
    };
    parts.extend(gone(&names(asked), &names(run)).map(Part::Workload));
    parts.extend(gone(asked.connections(), run.connections()).map(Part::Connections));
    let rates = gone(asked.rates(), run.rates());
    parts.extend(rates.map(|rate| Part::Rate(RateText(rate))));
    parts.extend(gone(asked.networks(), run.networks()).map(Part::Network));
    let parts = parts.into_iter();
    parts.map(|part| LeftOut { part, why }).collect()
}

/// Those of `asked` that are not in `left`.
fn gone<T: Clone + PartialEq>(asked: &[T], left: &[T]) -> impl Iterator<Item = T> {
    let gone = asked.iter().filter(|one| !left.contains(one));
    gone.cloned()
}

#[cfg(test)]
mod tests {
    use model::Span;
    use model::experiment::Network;
    use model::units::Rate;

    use super::*;
    use crate::experiment::{BUILT_IN, parse};
    use crate::sweep::{fit_cores, without_veth};

    fn read(name: &str, overrides: &[&str]) -> Experiment {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
        parse(name, text, &overrides).unwrap()
    }

    fn parts(asked: &Experiment, run: &Experiment) -> Vec<Part> {
        let all = left_out(asked, run, Why::Machine).into_iter();
        all.map(|one| one.part).collect()
    }

    #[test]
    fn what_two_forms_of_an_experiment_differ_in_is_listed() {
        let check = |asked: &[&str], run: &[&str], expected: &[Part]| {
            let (asked, run) = (read("first-heat", asked), read("first-heat", run));
            assert_eq!(parts(&asked, &run), expected);
        };
        check(&[], &["rounds=9"], &[]);
        check(
            &["connections=1,16,64"],
            &["connections=1,64"],
            &[Part::Connections(16)],
        );
        let rates = ["mode=open", "rate=100,200"];
        let rate = Part::Rate(RateText(Rate::per_second(100)));
        check(&rates, &["mode=open", "rate=200"], &[rate]);
        let server = |label: &str| Part::Server(label.to_owned());
        check(
            &["server=origin,nginx,apache"],
            &["server=nginx"],
            &[server("origin"), server("apache")],
        );
    }

    #[test]
    fn what_a_machine_cannot_do_is_listed() {
        let written = read("revisited-2005", &[]);
        let run = without_veth(&written).unwrap();
        assert_eq!(parts(&written, &run), [Part::Network(Network::Veth)]);
        // Servers with fewer cores are there; so are those whose labels named the others.
        let written = read("real-load-2022", &[]);
        assert_eq!(parts(&written, &fit_cores(&written, 1).0), []);
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let (asked, run) = (
            read("first-heat", &["connections=1,16,64"]),
            read("first-heat", &["connections=1,64", "server=nginx"]),
        );
        let why = Why::Budget {
            time: Span::from_s(600),
            priority: Some(3),
        };
        let all = left_out(&asked, &run, why);
        assert!(all.len() > 2);
        let text = serde_json::to_string(&all).unwrap();
        let read: Vec<LeftOut> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, all, "{text}");
    }
}
