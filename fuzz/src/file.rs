//! Files that people and other programs write.

use model::experiment::{Experiment, ExperimentFile};
use model::{Plan, PlanFile};

/// A plan is refused with a sentence, or means the same after being written and read again.
pub fn plan(data: &[u8]) {
    let Ok(file) = serde_json::from_slice::<PlanFile>(data) else {
        return;
    };
    match Plan::try_from(file) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(plan) => {
            let text = serde_json::to_string(plan.file()).expect("a plan can be written");
            let again: PlanFile = serde_json::from_str(&text).expect("what we write we can read");
            assert_eq!(Plan::try_from(again).as_ref(), Ok(&plan));
        }
    }
}

/// An experiment is refused with a sentence, or expands.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(file) = toml::from_str::<ExperimentFile>(text) else {
        return;
    };
    match Experiment::try_from(file) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(experiment) => assert!(!experiment.servers().is_empty()),
    }
}
