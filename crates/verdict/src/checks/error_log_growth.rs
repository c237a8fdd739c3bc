//! SRV-07: the server wrote into its error log.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-07",
    name: "error-log-growth",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "The server's error log",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(server) = facts.trial.context.server.as_ref() else {
        return if facts.trial.point.is_some() {
            Judgement::unknown("the server's error log")
        } else {
            Judgement::NotApplicable
        };
    };
    let Some(first) = server
        .error_log
        .first()
        .filter(|_| server.error_log_lines > 0)
    else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        Suspect,
        format!(
            "{} wrote {} into its error log, the first: \"{first}\".",
            server.product,
            words::plural(server.error_log_lines, "line")
        ),
    )
    .evidence("lines", server.error_log_lines)
    .evidence(
        "first",
        server.error_log.iter().take(5).cloned().collect::<Vec<_>>(),
    )
    .fix("Mend what it complains about")
    .into()
}
