//! Whether what the readers asked for can be answered by an experiment: each demand names a point
//! or a rule that there is. A published figure, too, stands beside a point that there is.

use std::collections::BTreeSet;

use model::Experiment;
use model::experiment::{Demand, Network, Placement, PointName};
use model::units::Rate;
use verdict::words;

use super::known::Misnomer;
use super::nearest;

/// The first demand that names nothing, or the first published figure of a point that there is not.
pub(super) fn check(experiment: &Experiment) -> Result<(), Misnomer> {
    let in_table = |table: &str, index: usize, found: Misnomer| Misnomer {
        key: match found.key.as_str() {
            "" => format!("{table}[{index}]"),
            key => format!("{table}[{index}].{key}"),
        },
        ..found
    };
    for (index, figure) in experiment.file().published.iter().enumerate() {
        let point = figure.point();
        check_point(experiment, &point, str::to_owned)
            .and_then(|()| meets(experiment, &point, "workload".to_owned()))
            .map_err(|found| in_table("published", index, found))?;
    }
    for (index, demand) in experiment.file().asked.iter().enumerate() {
        check_one(experiment, demand).map_err(|found| in_table("asked", index, found))?;
    }
    Ok(())
}

/// Whether there is a point of that name, as far as one can tell key by key. `key` is how the key
/// of that name is written there.
fn check_point(
    experiment: &Experiment,
    name: &PointName<'_>,
    key: impl Fn(&str) -> String,
) -> Result<(), Misnomer> {
    let is_a_name = |name: &&str| {
        let mut servers = experiment.servers().iter();
        servers.any(|one| one.name == **name && experiment.is_own(one))
    };
    let servers = experiment.servers().iter().map(|one| one.label.as_str());
    named(
        &key("server"),
        name.server.filter(|name| !is_a_name(name)),
        servers,
    )?;
    let workloads = experiment.workloads().iter();
    let workloads = workloads.map(|one| one.name.as_str());
    named(&key("workload"), name.workload, workloads)?;
    let workloads = experiment.workloads().iter();
    let connections = workloads.flat_map(|workload| experiment.connections_of(workload));
    let connections: BTreeSet<u32> = connections.copied().collect();
    let connections: Vec<u32> = connections.into_iter().collect();
    counted(&key("connections"), name.connections, &connections)?;
    at_rate(&key("rate"), name.rate, experiment.rates())?;
    counted(&key("sources"), name.sources, experiment.sources())?;
    placed(&key("placement"), name.placement, experiment)?;
    over(&key("network"), name.network, experiment)
}

/// Where both are named, the server is one that the workload is asked of.
fn meets(experiment: &Experiment, name: &PointName<'_>, key: String) -> Result<(), Misnomer> {
    let (Some(server), Some(workload)) = (name.server, name.workload) else {
        return Ok(());
    };
    if experiment.server_for(server, workload).is_some() {
        return Ok(());
    }
    let mut workloads = experiment.workloads().iter();
    let asked = workloads.find(|one| one.name == workload);
    let asked = asked.map_or(&[][..], |one| experiment.protocols_of(one));
    let asked: Vec<&str> = asked.iter().map(|one| one.name()).collect();
    let why = format!(
        "'{server}' is not one server that '{workload}' is asked of, in {}: name one by its \
         whole label",
        words::list(&asked)
    );
    Err(wrong(&key, why))
}

/// A placement is one of those that there are; where none is named, the generator has CPUs of its
/// own.
fn placed(key: &str, given: Option<Placement>, experiment: &Experiment) -> Result<(), Misnomer> {
    let there = match experiment.placements() {
        [] => &[Placement::Apart],
        named => named,
    };
    named(
        key,
        given.map(Placement::name),
        there.iter().map(|one| one.name()),
    )
}

/// A network is one of those that there are; where none is named, servers on this machine are asked
/// over loopback.
fn over(key: &str, given: Option<Network>, experiment: &Experiment) -> Result<(), Misnomer> {
    let there = match experiment.networks() {
        [] if experiment.asked_at().is_none() => &[Network::Loopback],
        named => named,
    };
    named(
        key,
        given.map(Network::name),
        there.iter().map(|one| one.name()),
    )
}

fn wrong(key: &str, why: String) -> Misnomer {
    Misnomer {
        key: key.to_owned(),
        why,
        nearest: None,
    }
}

fn check_one(experiment: &Experiment, demand: &Demand) -> Result<(), Misnomer> {
    let ways = [
        demand.show.is_some(),
        demand.rule.is_some(),
        demand.not.is_some(),
    ];
    if ways.into_iter().filter(|given| *given).count() != 1 {
        let why = "give one of show (a number), rule (a rule) and not (the reason why there is \
                   no answer)";
        return Err(wrong("", why.to_owned()));
    }
    if demand.show.is_some() && demand.server.is_none() {
        let why = "show takes the number of a point: say of which server";
        return Err(wrong("show", why.to_owned()));
    }
    if demand.is_ratio() && demand.show.is_none() {
        let why = "a ratio has two numbers: say with show which ones";
        return Err(wrong("", why.to_owned()));
    }
    let point = demand.point();
    check_point(experiment, &point, str::to_owned)?;
    let key_against = |key: &str| match key {
        "server" => "against".to_owned(),
        key => format!("against_{key}"),
    };
    check_point(experiment, &demand.against(), key_against)?;
    if demand.show.is_some() {
        let first = experiment.workloads().first().map(|one| one.name.as_str());
        let first = PointName {
            workload: first,
            ..PointName::default()
        };
        let key = match demand.workload {
            Some(_) => "workload",
            None => "server",
        };
        meets(experiment, &point.or(first), key.to_owned())?;
        let against = demand.against();
        let key = match (against.workload, against.server) {
            (Some(_), _) => key_against("workload"),
            (None, Some(_)) => key_against("server"),
            (None, None) => key.to_owned(),
        };
        meets(experiment, &against.or(point).or(first), key)?;
    }
    let rules = verdict::rules().iter().map(|rule| rule.id);
    named("rule", demand.rule.as_deref(), rules)
}

/// A name is one of those that there are.
fn named<'n>(
    key: &str,
    given: Option<&str>,
    there: impl Iterator<Item = &'n str>,
) -> Result<(), Misnomer> {
    let there: Vec<&str> = there.collect();
    let Some(stranger) = given.filter(|given| !there.contains(given)) else {
        return Ok(());
    };
    let why = match there.as_slice() {
        [] => "the experiment says nothing of that: name it under [load] first".to_owned(),
        [one] => format!("there is no '{stranger}', only {one}"),
        all => format!("there is no '{stranger}'; there are {}", all.join(", ")),
    };
    Err(Misnomer {
        key: key.to_owned(),
        why,
        nearest: nearest(stranger, there.iter().copied()).map(str::to_owned),
    })
}

/// A count is one of those on its axis.
fn counted(key: &str, given: Option<u32>, axis: &[u32]) -> Result<(), Misnomer> {
    let Some(stranger) = given.filter(|given| !axis.contains(given)) else {
        return Ok(());
    };
    let near = axis.iter().min_by_key(|count| count.abs_diff(stranger));
    Err(Misnomer {
        key: key.to_owned(),
        why: format!("the experiment has no point with {stranger}"),
        nearest: near.map(u32::to_string),
    })
}

/// A rate is one of those that are asked for.
fn at_rate(key: &str, given: Option<Rate>, axis: &[Rate]) -> Result<(), Misnomer> {
    let Some(stranger) = given.filter(|given| !axis.contains(given)) else {
        return Ok(());
    };
    let there = axis
        .iter()
        .map(|rate| words::rate(rate.as_per_second_f64()));
    let there: Vec<String> = there.collect();
    let stranger = words::rate(stranger.as_per_second_f64());
    let why = match there.is_empty() {
        true => "no rate is asked for: the experiment has none under [load]".to_owned(),
        false => format!(
            "the experiment has no point at {stranger}/s; it has {}/s",
            words::list(&there.iter().map(String::as_str).collect::<Vec<_>>())
        ),
    };
    Err(wrong(key, why))
}

#[cfg(test)]
mod tests {
    use model::experiment::Placement;

    use super::super::{BUILT_IN, parse};

    const SMALL: &str = "\
[experiment]
name = \"x\"
question = \"?\"
rounds = 6
duration = \"1s\"
[[server]]
product = \"nginx\"
cores = [1, 2]
[[workload]]
name = \"small\"
body = { bytes = 7 }
[load]
connections = [10, 1000]
[[asked]]
who = \"comment 8\"
demand = \"Was the generator the limit?\"
show = \"headroom\"
server = \"nginx 1 core\"
connections = 1000
";

    #[test]
    fn a_demand_that_names_nothing_is_told_with_its_line_and_the_nearest() {
        parse("x.toml", SMALL, &[]).unwrap();
        let check = |from: &str, to: &str, said: &str| {
            let text = SMALL.replacen(from, to, 1);
            let error = parse("x.toml", &text, &[]).unwrap_err().to_string();
            assert_eq!(error, said);
        };
        check(
            "server = \"nginx 1 core\"",
            "server = \"nginx 1 cores\"",
            "x.toml:18: asked[0].server: there is no 'nginx 1 cores'; there are nginx 1 core, \
             nginx 2 cores; did you mean 'nginx 1 core'?",
        );
        check(
            "server = \"nginx 1 core\"\n",
            "",
            "x.toml:17: asked[0].show: show takes the number of a point: say of which server",
        );
        check(
            "connections = 1000\n",
            "connections = 900\n",
            "x.toml:19: asked[0].connections: the experiment has no point with 900; did you mean \
             '1000'?",
        );
        check(
            "show = \"headroom\"",
            "show = \"hedroom\"",
            "x.toml:17: asked[0].show: write \"addresses\", \"begun\", \"beside_content\", \
             \"busy\", \"closed_by_server\", \"content\", \"cpu\", \"cpu_behind\", \
             \"failures\", \"generator\", \"goodput\", \"headroom\", \"kept_alive\", \
             \"log_bytes\", \"log_lines\", \"memory\", \"p50\", \"p99\", \"per_connection\", \
             \"processes\", \"rate\", \"received\", \"recovery\", \"sent\", \"sources_used\", \
             \"stalled\", \"system\", \"threads\", \"user\" or \"write_calls\", not \
             \"hedroom\"; did you mean 'headroom'?",
        );
        check(
            "show = \"headroom\"",
            "rule = \"GEN-91\"\nnot = \"no\"",
            "x.toml:14: asked[0]: give one of show (a number), rule (a rule) and not (the \
             reason why there is no answer)",
        );
        let text = SMALL.replacen("show = \"headroom\"", "rule = \"GEN-00\"", 1);
        let error = parse("x.toml", &text, &[]).unwrap_err().to_string();
        assert!(
            error.contains("asked[0].rule: there is no 'GEN-00'"),
            "{error}"
        );
        let rate = |load: &str, rate: &str| {
            let text = SMALL.replacen("connections = 1000\n", &format!("rate = {rate}\n"), 1);
            let text = text.replacen("[load]\n", &format!("[load]\n{load}"), 1);
            parse("x.toml", &text, &[]).map_err(|error| error.to_string())
        };
        let open = "mode = \"open\"\nrate = [\"1k\", 2000]\n";
        rate(open, "\"2k\"").unwrap();
        let error = rate(open, "3000").unwrap_err();
        let said =
            "asked[0].rate: the experiment has no point at 3,000/s; it has 1,000 and 2,000/s";
        assert!(error.ends_with(said), "{error}");
        let error = rate("", "3000").unwrap_err();
        assert!(
            error.contains("asked[0].rate: no rate is asked for"),
            "{error}"
        );
        // What was cut on the command line may leave a demand without its point.
        parse("x.toml", SMALL, &["connections=10".to_owned()]).unwrap();
    }

    #[test]
    fn a_published_figure_names_a_way_to_ask_that_there_is() {
        let figure = |keys: &str| {
            let figure = format!("[[published]]\nwhat = \"w\"\nrate = 1\n{keys}\n[[asked]]");
            let text = SMALL.replacen("[[asked]]", &figure, 1);
            let ways = "[load]\nsources = [64, 12_000]\nplacement = [\"apart\", \"shared\"]\n\
                        network = [\"loopback\", \"veth\"]\n";
            let text = text.replacen("[load]\n", ways, 1);
            parse("x.toml", &text, &[]).map_err(|error| error.to_string())
        };
        let read = figure("sources = 12_000\nplacement = \"shared\"\nnetwork = \"veth\"");
        let read = read.unwrap();
        let one = &read.file().published[0];
        assert_eq!(one.sources, Some(12_000));
        assert_eq!(one.placement.map(Placement::name), Some("shared"));
        for (keys, said) in [
            (
                "sources = 12_001",
                "x.toml:20: published[0].sources: the experiment has no point with 12001; did you \
                 mean '12000'?",
            ),
            (
                "network = \"remote\"",
                "x.toml:20: published[0].network: there is no 'remote'; there are loopback, veth",
            ),
        ] {
            assert_eq!(figure(keys).unwrap_err(), said);
        }
    }

    #[test]
    fn a_published_figure_is_a_rate_or_another_number_with_its_unit() {
        let figure = |keys: &str| {
            let figure = format!("[[published]]\nwhat = \"w\"\n{keys}\n[[asked]]");
            let text = SMALL.replacen("[[asked]]", &figure, 1);
            parse("x.toml", &text, &[]).map_err(|error| error.to_string())
        };
        for keys in [
            "rate = 2997.1",
            "show = \"rate\"\nvalue = \"2k\"",
            "show = \"user\"\nvalue = \"95us\"",
            "show = \"failures\"\nvalue = \"2.5 %\"",
            "show = \"received\"\nvalue = 15_600",
            "show = \"per_connection\"\nvalue = 7.5",
        ] {
            figure(keys).unwrap();
        }
        for (keys, said) in [
            (
                "",
                "14: published[0]: give the figure: rate (right answers per second), or show and \
                 value (which number it is, and how much)",
            ),
            (
                "show = \"user\"\nrate = 1",
                "17: published[0].rate: it is short for show = \"rate\" and a value: give either \
                 rate, or show and value",
            ),
            (
                "show = \"user\"",
                "16: published[0].show: say with value how much it was: a time with its unit, as \
                 in value = \"95us\"",
            ),
            (
                "value = 95",
                "16: published[0].value: say with show which number it is, as in show = \"user\"",
            ),
            (
                "show = \"user\"\nvalue = 95",
                "17: published[0].value: write a time with its unit, as in value = \"95us\", not \
                 95",
            ),
        ] {
            assert_eq!(figure(keys).unwrap_err(), format!("x.toml:{said}"));
        }
        let error = figure("show = \"usr\"\nvalue = \"95us\"").unwrap_err();
        assert!(error.ends_with("did you mean 'user'?"), "{error}");
        let error = figure("show = \"user\"\nvalue = true").unwrap_err();
        let said = "write a number, or text with its unit";
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn a_published_figure_names_a_point_that_there_is() {
        let figure = |keys: &str| {
            let figure = format!("[[published]]\nwhat = \"w\"\nrate = 1\n{keys}\n[[asked]]");
            let text = SMALL.replacen("[[asked]]", &figure, 1);
            parse("x.toml", &text, &[]).map_err(|error| error.to_string())
        };
        figure("server = \"nginx 2 cores\"\nworkload = \"small\"\nconnections = 10").unwrap();
        for (keys, said) in [
            (
                "server = \"nginx 2 core\"",
                "server: there is no 'nginx 2 core'; there are nginx 1 core, nginx 2 cores; did \
                 you mean 'nginx 2 cores'?",
            ),
            (
                "workload = \"smal\"",
                "workload: there is no 'smal', only small; did you mean 'small'?",
            ),
            (
                "connections = 11",
                "connections: the experiment has no point with 11; did you mean '10'?",
            ),
            ("sources = 2", "sources: the experiment has no point with 2"),
            (
                "network = \"veth\"",
                "network: there is no 'veth', only loopback",
            ),
        ] {
            let said = format!("x.toml:17: published[0].{said}");
            assert_eq!(figure(keys).unwrap_err(), said);
        }
    }

    /// The servers of a workload with a protocol of its own go by the names that others have.
    #[test]
    fn a_demand_names_a_server_in_whatever_protocol_its_workload_has() {
        let own = "[[workload]]\nname = \"tls\"\nbody = { bytes = 7 }\nprotocol = \"http1-tls\"\n\
                   [load]\n";
        let text = SMALL.replacen("[load]\n", own, 1);
        let read = |keys: &str| {
            let text = format!("{text}{keys}\n");
            parse("x.toml", &text, &[]).map_err(|error| error.to_string())
        };
        read("workload = \"tls\"\nagainst_workload = \"small\"").unwrap();
        read("workload = \"tls\"\nagainst = \"nginx 2 cores http1-tls\"").unwrap();
        let error = read("against = \"nginx 2 cores http1-tls\"").unwrap_err();
        let said = "asked[0].against: 'nginx 2 cores http1-tls' is not one server that 'small' is \
                    asked of, in http1: name one by its whole label";
        assert!(error.ends_with(said), "{error}");
        let several = text.replacen("\"http1-tls\"", "[\"http1-tls\", \"http2\"]", 1);
        let several = format!("{several}workload = \"tls\"\n");
        let error = parse("x.toml", &several, &[]).unwrap_err().to_string();
        assert!(error.contains("name one by its whole label"), "{error}");
    }

    /// Loopback and CPUs of its own are what there is where an experiment names nothing else.
    #[test]
    fn what_goes_without_saying_may_be_named() {
        let usual = "placement = \"apart\"\nnetwork = \"loopback\"\n";
        parse("x.toml", &format!("{SMALL}{usual}"), &[]).unwrap();
        let figure = format!("[[published]]\nwhat = \"w\"\nrate = 1\n{usual}[[asked]]");
        let text = SMALL.replacen("[[asked]]", &figure, 1);
        parse("x.toml", &text, &[]).unwrap();
        let other = SMALL.to_owned() + "network = \"veth\"\n";
        let error = parse("x.toml", &other, &[]).unwrap_err().to_string();
        let said = "asked[0].network: there is no 'veth', only loopback";
        assert!(error.ends_with(said), "{error}");
    }

    #[test]
    fn every_study_answers_what_its_readers_asked() {
        let with: Vec<(&str, usize)> = BUILT_IN
            .iter()
            .map(|(name, text)| (*name, parse(name, text, &[]).unwrap().file().asked.len()))
            .filter(|(_, count)| *count > 0)
            .collect();
        let names: Vec<&str> = with.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "handshakes",
                "real-load-2022",
                "revisited-2005",
                "rootusers-2016",
                "slashdotting",
                "yitian-2023"
            ]
        );
    }
}
