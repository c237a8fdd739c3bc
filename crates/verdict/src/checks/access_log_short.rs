//! SRV-13: the server's access log has fewer lines than the server gave answers.
//!
//! A server that is to log each request and does not, does less than the others. The log is emptied
//! before the load begins and read when it is over, so it has lines of what came before the window,
//! too: only missing lines mean anything. A line may be written after the answer, so that those of
//! the last exchanges may be still to come, and a buffered log holds some back.

use model::Outcome;
use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::LINES_UNSEEN;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-13",
    name: "access-log-short",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "The lines of the server's access log, and the answers that the generator counted",
    judge: Judge::Alone(judge),
};

/// So much of a buffered log may not be in its file yet: sixteen workers with 64 KiB each.
const HELD_BACK: f64 = 1_048_576.0;

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(server) = facts.trial.context.server.as_ref() else {
        return Judgement::NotApplicable;
    };
    let is_buffered = match server.access_log.as_str() {
        "on" => false,
        "buffered" => true,
        _ => return Judgement::NotApplicable,
    };
    let (Some(lines), Some(bytes)) = (server.access_log_lines, server.access_log_bytes) else {
        return Judgement::unknown("the lines of the server's access log");
    };
    let answered = facts.record.total.outcomes[Outcome::Ok];
    let mut late = number(facts.trial.places());
    if is_buffered {
        let each = number(bytes.count()) / number(lines.max(1));
        // Before the first line nobody knows how long one is: as short as they get.
        late += HELD_BACK / each.max(40.0);
    }
    let missing = number(answered.saturating_sub(lines)) - late;
    let share = missing / number(answered.max(1));
    let Some(severity) = LINES_UNSEEN.severity(share) else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "The server gave {}, but its access log has only {} of that time.",
            words::plural(answered, "right answer"),
            words::plural(lines, "line")
        ),
    )
    .evidence("answered", answered)
    .evidence("lines", lines)
    .evidence("bytes", bytes.count())
    .limit(&LINES_UNSEEN)
    .fix("See whether the server logs each request, and whether its disk takes the lines")
    .into()
}
