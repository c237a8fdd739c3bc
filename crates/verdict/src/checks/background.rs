//! CPU-08: something else used the CPUs.
//!
//! Reads the CPU clock of every process before the window and after it (`usage.system.others`), so
//! that it names who it was in a window of any length. What is neither the generator's nor the
//! server's nor the kernel's for them is foreign, as a share of the CPUs that these two could use.
//! Threads of the kernel that may work for them, daemons that write logs and the lab are counted,
//! and a note says so if they used more than 5 %. Trials that do not say who ran are judged by
//! ticks, from a second on.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::cause::{self, Foreign};
use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::{BACKGROUND, SERVING};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "CPU-08",
    name: "background",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Li et al., Tales of the Tail, SoCC 2014: background processes dominate tails",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let foreign = match cause::foreign(facts) {
        Ok(foreign) => foreign,
        Err(blind) => return blind.into(),
    };
    let Some(severity) = BACKGROUND.severity(foreign.share) else {
        return serving(facts, &foreign);
    };
    Found::all(CHECK.claims, severity, foreign.say())
        .evidence("background_share", foreign.share)
        .evidence("who", serde_json::json!(foreign.who))
        .evidence("serving_share", foreign.serving)
        .limit(&BACKGROUND)
        .fix("Stop them, or pin server and generator to CPUs that they leave alone")
        .into()
}

/// What works for everyone is nobody's fault, but worth knowing where it is much.
fn serving(facts: &Facts<'_>, foreign: &Foreign) -> Judgement {
    let share = foreign.serving.unwrap_or(0.0);
    let Some(severity) = SERVING.severity(share) else {
        return Judgement::Silent;
    };
    let system = facts.trial.usage.system.as_ref();
    let others = system.and_then(|system| system.others.as_ref());
    let who: Vec<String> = others
        .into_iter()
        .flat_map(|others| &others.serving_top)
        .map(words::spender)
        .collect();
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "The kernel's own threads, log daemons and this program used {} of the CPUs of \
             generator and server: {}.",
            words::share(share),
            who.join(", ")
        ),
    )
    .evidence("serving_share", share)
    .limit(&SERVING)
    .into()
}
