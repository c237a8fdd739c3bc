//! SRV-03: a limit of open files is a limit of connections.

use model::finding::Claim::Capacity;
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-03",
    name: "nofile",
    claims: &[Capacity],
    mandatory: false,
    source: "RLIMIT_NOFILE; a worker may hold a file beside each connection",
    judge: Judge::Alone(judge),
};

/// Files that a program holds beside those of its connections.
const OTHER_FILES: u64 = 64;

fn judge(facts: &Facts<'_>) -> Judgement {
    let server = facts.trial.context.server.as_ref();
    let log = server.map_or(&[][..], |server| &server.error_log);
    let examples = facts.record.examples.iter().map(|example| &example.text);
    let seen = log
        .iter()
        .chain(examples)
        .find(|line| line.to_ascii_lowercase().contains("too many open files"));
    if let Some(line) = seen {
        return Found::new(
            &[(Capacity, Invalid)],
            format!("A limit of open files was reached: \"{line}\"."),
        )
        .evidence("line", line.clone())
        .fix("Raise the limit of open files in the shell that starts it: ulimit -n 65536")
        .into();
    }
    let connections = u64::from(facts.trial.plan.connections);
    let ours = facts.trial.environment.open_files_limit;
    let theirs = server.and_then(|server| server.open_files_limit);
    if ours.is_none() || (theirs.is_none() && facts.trial.point.is_some()) {
        return Judgement::unknown("the limits of open files of generator and server");
    }
    let workers = server.map_or(1, |server| u64::from(server.workers.max(1)));
    for (who, limit, needed) in [
        ("generator", ours, connections + OTHER_FILES),
        (
            "server",
            theirs,
            connections.div_ceil(workers) * 2 + OTHER_FILES,
        ),
    ] {
        if let Some(limit) = limit.filter(|limit| *limit < needed) {
            return Found::new(
                &[(Capacity, Suspect)],
                format!(
                    "The {who} may have {} files open, and {} connections can need {}.",
                    words::count(limit),
                    words::count(connections),
                    words::count(needed)
                ),
            )
            .evidence("limit", limit)
            .evidence("needed", needed)
            .fix("Raise the limit of open files in the shell that starts it: ulimit -n 65536")
            .into();
        }
    }
    Judgement::Silent
}
