//! ENV-01: trials on a machine that was changed in between are not rounds of one experiment.

use model::finding::Claim::Comparison;
use model::finding::Severity::Invalid;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;

pub(crate) static CHECK: Check = Check {
    id: "ENV-01",
    name: "environment-changed",
    claims: &[Comparison],
    mandatory: false,
    source: "Policy; an update or a sysctl between two rounds is a treatment of its own",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some(point) = &peers.entry.point else {
        return Judgement::NotApplicable;
    };
    let ours = &peers.entry.surroundings;
    let unlike = peers.entries().iter().find(|other| {
        let execution = other.point.as_ref().map(|other| &other.id.execution);
        execution == Some(&point.id.execution) && other.surroundings != *ours
    });
    let Some(unlike) = unlike else {
        return Judgement::Silent;
    };
    let changed: Vec<&str> = ours
        .iter()
        .zip(&unlike.surroundings)
        .filter(|(one, other)| one != other)
        .map(|((name, _), _)| *name)
        .collect();
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "Not all trials of this experiment ran in the same environment: {} changed.",
            changed.join(", ")
        ),
    )
    .evidence("changed", changed)
    .fix(
        "Run the whole experiment again in one environment (--resume would add trials made in \
          today's)",
    )
    .into()
}
