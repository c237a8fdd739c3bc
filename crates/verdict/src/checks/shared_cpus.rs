//! GEN-06: a generator on the server's CPUs takes from it what it is measuring.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Invalid, Note, Suspect};
use model::units::Span;

use crate::apart::apart;
use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::SHARED_BUSY;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-06",
    name: "shared-cpus",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "pyperf: CPU isolation; TechEmpower runs its load from another machine",
    judge: Judge::Alone(judge),
};

/// The kernel tells how busy a CPU was in ticks of 10 ms: in a shorter window one of them is more
/// than 5 %.
const READABLE_MIN: Span = Span::from_ms(200);

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(shared) = &facts.trial.context.shared_cpus else {
        return Judgement::unknown("the CPUs that the server may use");
    };
    if shared.is_empty() {
        return siblings(facts);
    }
    if facts.is_sharing_asked() {
        return asked(facts, shared);
    }
    let is_short = facts.record.window < READABLE_MIN;
    let busy = facts.busy_share(shared).filter(|_| !is_short);
    let capacity = match busy {
        Some(busy) if SHARED_BUSY.severity(busy).is_none() => Suspect,
        None if is_short => Suspect,
        _ => Invalid,
    };
    let mut say = format!("Generator and server share {}", words::named_cpus(shared));
    match busy {
        Some(busy) => {
            let were = if shared.len() == 1 { "was" } else { "were" };
            say += &format!(", which {were} {} busy.", words::share(busy));
        }
        None if is_short => say += "; the window is too short to say how busy that was.",
        None => say += "; how busy that was could not be read.",
    }
    Found::new(
        &[
            (Capacity, capacity),
            (Latency, Suspect),
            (Resources, Suspect),
            (Comparison, Suspect),
        ],
        say,
    )
    .evidence("shared_cpus", shared.clone())
    .evidence("busy_share", busy)
    .limit(&SHARED_BUSY)
    .fix(remedy(facts))
    .into()
}

/// What gives both CPUs of their own, where there are such.
fn remedy(facts: &Facts<'_>) -> String {
    let environment = &facts.trial.environment;
    let server = facts.server_cpus().unwrap_or(&environment.cpus_allowed);
    match apart(server, environment) {
        Some((theirs, ours)) => format!(
            "Give server and generator different CPUs (load: --cpus {ours}, and taskset -c \
             {theirs} for the server; lab: placement = apart)"
        ),
        None => "Give server and generator CPUs of different cores, or make the load on another \
                 machine"
            .to_owned(),
    }
}

/// What was asked for is no defect: it says what the rate is, and what it compares with.
fn asked(facts: &Facts<'_>, shared: &[u32]) -> Judgement {
    let say = format!(
        "Generator and server share {}, as the experiment asks: the rate is what both reach \
         together. Compare it with other servers that share CPUs with the generator. Next to \
         that of the same server on CPUs of its own, it says what sharing costs.",
        words::named_cpus(shared)
    );
    Found::new(
        &[
            (Capacity, Suspect),
            (Latency, Note),
            (Resources, Note),
            (Comparison, Note),
        ],
        say,
    )
    .evidence("shared_cpus", shared.to_vec())
    .evidence("busy_share", facts.busy_share(shared))
    .fix("Read what the server can do alone at the points with placement = apart")
    .into()
}

/// CPUs apart may still be threads of one core.
fn siblings(facts: &Facts<'_>) -> Judgement {
    let Some(server) = facts.server_cpus() else {
        return Judgement::Silent;
    };
    let threads = &facts.trial.environment.thread_siblings;
    let pairs: Vec<(u32, u32)> = facts
        .generator_cpus()
        .into_iter()
        .flat_map(|ours| server.iter().map(move |theirs| (ours, *theirs)))
        .filter(|(ours, theirs)| threads.get(ours).is_some_and(|core| core.contains(theirs)))
        .collect();
    let Some((ours, theirs)) = pairs.first() else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        Suspect,
        format!(
            "CPU {ours} of the generator and CPU {theirs} of the server are two threads of one \
             core, which they share."
        ),
    )
    .evidence("pairs", serde_json::json!(pairs))
    .fix("Choose CPUs of different cores (lscpu -e shows them)")
    .into()
}
