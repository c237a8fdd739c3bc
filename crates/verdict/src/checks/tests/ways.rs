//! What an experiment asks for: CPUs that both sides share.

use model::experiment::Placement;
use model::finding::{Claim, Severity};
use model::point::{PLACEMENT, Value};

use super::*;

/// A trial of a lab with a value on an axis.
fn asked(axis: &str, word: &str) -> Trial {
    let mut trial = of_lab().swap_remove(0);
    let point = trial.point.as_mut().unwrap();
    point.id = point.id.clone().with(axis, Value::Word(word.to_owned()));
    trial
}

#[test]
fn sharing_that_was_asked_for_is_told_and_strikes_nothing() {
    let shared = |word: &str| {
        let mut trial = asked(PLACEMENT, word);
        trial.context.shared_cpus = Some(vec![0]);
        trial.usage.system.as_mut().unwrap().cpus[0].busy = 0.99;
        finding(&judge(&trial), "GEN-06").unwrap()
    };
    let found = shared(Placement::Shared.name());
    assert_eq!(found.worst(), Severity::Suspect);
    assert_eq!(found.severity[&Claim::Comparison], Severity::Note);
    assert!(
        found.say.contains("as the experiment asks"),
        "{}",
        found.say
    );
    // Nobody asked for this.
    let found = shared(Placement::Apart.name());
    assert_eq!(found.worst(), Severity::Invalid);
}
