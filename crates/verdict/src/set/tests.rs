use model::fixture;

use super::*;
use crate::{judge, judge_set};

fn trials() -> Vec<Trial> {
    fixture::Heat {
        connections: vec![1, 64],
        workloads: vec![("seven-bytes", 7)],
        ..fixture::Heat::default()
    }
    .trials()
}

#[test]
fn rounds_of_a_point_are_found_and_summed_up() {
    let trials = trials();
    let mut set = TrialSet::default();
    for trial in &trials {
        set.add(trial);
    }
    let points = set.points();
    assert_eq!(points.len(), 5 * 2);
    for point in &points {
        assert_eq!(point.trials.len(), 6);
        let rounds: Vec<u32> = point
            .trials
            .iter()
            .map(|p| trials[*p].point.as_ref().unwrap().round)
            .collect();
        assert_eq!(rounds, [1, 2, 3, 4, 5, 6]);
        let interval = point.rate.interval.unwrap();
        assert!(interval.contains(point.rate.median));
        assert!(point.rate.half_width().unwrap() < 0.05);
        assert_eq!(point.ceiling, point.id.server == "null");
    }
}

#[test]
fn trials_read_in_parts_are_judged_as_one_set() {
    let trials = trials();
    let (mut one, mut other) = (TrialSet::default(), TrialSet::default());
    let (first, second) = trials.split_at(20);
    first.iter().for_each(|trial| one.add(trial));
    second.iter().for_each(|trial| other.add(trial));
    one.extend(other);
    assert_eq!(one.verdicts(), judge_set(&trials));
}

#[test]
fn single_runs_are_judged_alone_within_a_set() {
    let trials = [fixture::closed(), fixture::open()];
    let verdicts = judge_set(&trials);
    assert_eq!(verdicts[0], judge(&trials[0]));
    assert_eq!(verdicts[1], judge(&trials[1]));
}

#[test]
fn two_executions_of_one_experiment_are_not_pooled() {
    let mut first = trials();
    let mut second = first.clone();
    for (trials, begun) in [(&mut first, "10:00"), (&mut second, "11:00")] {
        for trial in trials {
            begun.clone_into(&mut trial.point.as_mut().unwrap().id.execution.begun);
        }
    }
    let verdicts = judge_set(&first);
    // What changed between the two is no change in the middle of an experiment.
    for trial in &mut second {
        trial.environment.governor = Some("powersave".to_owned());
    }
    let mut set = TrialSet::default();
    first.iter().chain(&second).for_each(|trial| set.add(trial));
    let points = set.points();
    assert_eq!(points.len(), 2 * 5 * 2);
    assert!(points.iter().all(|point| point.trials.len() == 6));
    assert_eq!(set.verdicts()[..first.len()], verdicts);
}
