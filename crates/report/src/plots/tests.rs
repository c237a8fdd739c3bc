use model::fixture::Heat;
use model::plan::Arrivals;
use model::point::{CONNECTIONS, Value};

use super::*;

/// The ceiling is measured in a closed loop, whatever rate the servers are asked for.
#[test]
fn a_ceiling_stands_beside_each_rate_that_was_asked_for() {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64, 256],
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        let rate = u64::from(trial.plan.connections) * 100;
        let point = trial.point.as_mut().unwrap();
        point.id = point.id.clone().with(CONNECTIONS, Value::Count(64));
        if !point.ceiling {
            trial.plan.arrivals = Arrivals::Fixed {
                rate_per_1000_s: model::Rate::per_second(rate),
            };
        }
    }
    let mut run = Run::default();
    trials.iter().for_each(|trial| run.add(trial));
    let subject = Subject {
        run: &run,
        workload: "seven-bytes",
        position: 0,
    };
    let chart = rate::plot(&subject).remove(0);
    assert_eq!(chart.title, "Rate against intended load");
    let ceiling = chart
        .series
        .iter()
        .find(|one| one.name.starts_with("ceiling"));
    let mut places: Vec<f64> = ceiling.unwrap().cloud.iter().map(|dot| dot.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    assert_eq!(places, [6_400.0, 25_600.0]);
}
