//! CPU-08: somebody else used the machine.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::BACKGROUND;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "CPU-08",
    name: "background",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Li et al., Tales of the Tail, SoCC 2014: background processes dominate tails",
    judge: Judge::Alone(judge),
};

/// CPU time is counted in ticks of 10 ms: in a shorter window they are too coarse to tell.
const WINDOW_MIN_S: f64 = 1.0;

fn judge(facts: &Facts<'_>) -> Judgement {
    let usage = &facts.trial.usage;
    let spent = |group: &Option<model::usage::GroupUsage>| {
        group
            .as_ref()
            .and_then(|group| Some(group.cpu?.as_s_f64() / group.window.as_s_f64().max(1e-9)))
    };
    let (Some(system), Some(server), Some(generator)) = (
        usage
            .system
            .as_ref()
            .filter(|system| !system.cpus.is_empty()),
        spent(&usage.server),
        spent(&usage.generator),
    ) else {
        return Judgement::unknown("CPU time of machine, server and generator over one window");
    };
    if system.window.as_s_f64() < WINDOW_MIN_S {
        return Judgement::NotApplicable;
    }
    let tasks: f64 = system.cpus.iter().map(|cpu| cpu.user + cpu.system).sum();
    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    let machine = system.cpus.len() as f64;
    let share = ((tasks - server - generator) / machine).max(0.0);
    let Some(severity) = BACKGROUND.severity(share) else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "Other programs used {} of the machine while it was measured.",
            words::share(share)
        ),
    )
    .evidence("background_share", share)
    .evidence("server_cpus", server)
    .evidence("generator_cpus", generator)
    .limit(&BACKGROUND)
    .fix("Stop them (top shows which), or pin server and generator to CPUs that they leave alone")
    .into()
}
