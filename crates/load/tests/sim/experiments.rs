//! Users of an experiment: its waits and its think time are there between their requests.

use model::experiment::Contents;
use model::outcome::Outcome;
use model::plan::PlanFile;
use model::script::Named;
use model::{Experiment, ExperimentFile};
use sys::reactor::sim::{Reply, Service, SimServer};

use crate::harness::{HELLO, count, ms, simulate, where_kernels_never_fail};

/// The experiment with that load, which asks for a page and a picture.
fn experiment(load: &str) -> Experiment {
    let text = format!(
        r#"{{
            "experiment": {{ "name": "n", "question": "q", "rounds": 1, "duration": "1s" }},
            "server": [{{ "product": "nginx" }}],
            "workload": [{{ "name": "site", "request": [
                {{ "name": "page", "body": {{ "bytes": 7 }} }},
                {{ "name": "picture", "body": {{ "bytes": 9 }} }}
            ] }}],
            "load": {load}
        }}"#
    );
    let file: ExperimentFile = serde_json::from_str(&text).expect("an experiment");
    Experiment::try_from(file).expect("a right one")
}

/// What `plan` becomes under that load.
fn loaded(plan: PlanFile, load: &str) -> PlanFile {
    let experiment = experiment(load);
    let named = ["/page", "/picture"].map(|path| Named {
        path: path.to_owned(),
        expect: None,
    });
    let contents = Contents::new(&experiment.workloads()[0], named);
    let script = experiment.users().script("http://sim/", &contents);
    PlanFile {
        samples: 100,
        connections: experiment.connections()[0],
        think: experiment.users().think(),
        requests: script
            .as_ref()
            .map_or(plan.requests, |one| one.requests.clone()),
        script: script.map(|one| one.steps),
        ..plan
    }
}

/// From the end of each answer to when the next request was due, in milliseconds, and the counts
/// of each request.
fn waits(plan: PlanFile) -> (Vec<i64>, Vec<(String, u64)>) {
    let server = SimServer::new(Service::Constant(ms(1)), |_| Some(Reply::new(HELLO)));
    let record = simulate(plan, server);
    assert_eq!(record.total.outcomes.failures(), 0, "{:?}", record.examples);
    let waits = record.samples.windows(2).map(|two| {
        assert_eq!(two[1].sent_ns, Some(two[1].due_ns));
        (two[1].due_ns - two[0].ended_ns) / 1_000_000
    });
    let classes = record.classes.iter();
    let counts = classes.map(|one| (one.name.clone(), one.outcomes[Outcome::Ok]));
    (waits.collect(), counts.collect())
}

#[test]
fn steps_of_an_experiment_wait_as_long_as_they_say() {
    where_kernels_never_fail(|| {
        let load = r#"{ "users": 1, "step": [
        { "get": "page" }, { "wait": "20ms" }, { "repeat": 3, "get": "picture" }
    ] }"#;
        let (waits, counts) = waits(loaded(count(1, 8), load));
        let once = [20, 0, 0, 0];
        assert_eq!(waits, [once, once].concat()[..7]);
        let counts: Vec<(&str, u64)> = counts.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(counts, [("GET page", 2), ("GET picture", 6)]);
    });
}

#[test]
fn users_of_an_experiment_think_before_each_request() {
    where_kernels_never_fail(|| {
        let (waits, _) = waits(loaded(count(1, 5), r#"{ "users": 1, "think": "30ms" }"#));
        assert_eq!(waits, [30; 4]);
    });
}
