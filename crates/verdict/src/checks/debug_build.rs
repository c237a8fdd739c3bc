//! GEN-14: a program that was built to be debugged, or is being debugged, measures nothing.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "GEN-14",
    name: "debug-build",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Policy; unoptimised code is several times slower",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let tool = &facts.trial.environment.tool;
    if tool.version.is_empty() {
        return Judgement::unknown("how the generator was built");
    }
    let (say, fix) = if tool.debug_build {
        (
            "The generator was built without optimisation.",
            "Build it with --release",
        )
    } else if tool.traced {
        (
            "A debugger or tracer held the generator.",
            "Run it without strace, gdb or perf trace",
        )
    } else {
        return Judgement::Silent;
    };
    Found::all(CHECK.claims, Invalid, say.to_owned())
        .evidence("debug_build", tool.debug_build)
        .evidence("traced", tool.traced)
        .fix(fix)
        .into()
}
