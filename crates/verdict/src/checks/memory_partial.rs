//! MEM-06: the memory of some of the server's processes may not be read.

use model::finding::Claim::Resources;
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "MEM-06",
    name: "memory-partial",
    claims: &[Resources],
    mandatory: false,
    source: "proc(5): the memory of a process is for its owner and for root to read",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let server = facts.trial.usage.server.as_ref();
    let Some(part) = server.and_then(|usage| usage.memory_part) else {
        return Judgement::Silent;
    };
    let all = words::plural(u64::from(part.read + part.unread), "process");
    let known = if part.read == 0 {
        "the total is unknown".to_owned()
    } else {
        format!(
            "the total is unknown, but it is at least {} (PSS)",
            part.pss
        )
    };
    Found::all(
        CHECK.claims,
        Note,
        format!(
            "The server has {all}, and the memory of {} cannot be read: {known}.",
            part.unread
        ),
    )
    .evidence("memory_part.read", part.read)
    .evidence("memory_part.unread", part.unread)
    .fix("Measure as the user who owns the server's processes, or as root")
    .into()
}
