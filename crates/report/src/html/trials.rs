//! Every trial, one row each: nothing that was measured is left out.

use model::{Claim, Status};

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::chart::Standing;
use crate::digests::{Digest, Run};
use crate::number::{self, Unit, plural};

/// The section.
pub(super) fn section(run: &Run) -> String {
    if run.digests().is_empty() {
        return String::new();
    }
    let mut table = Table::new(
        "All trials in the order of execution",
        &[
            "#no",
            "server",
            "workload",
            "#connections",
            "#round",
            "verdict",
            "#rate",
            "#p50",
            "#p99",
            "#CPU per request",
            "#memory",
            "#failed",
            "#generator busy",
            "rules",
        ],
    );
    for (position, digest) in run.digests().iter().enumerate() {
        row(&mut table, position, digest);
    }
    format!(
        "<details class=\"all\"><summary>{}, ceilings included</summary>\n{}</details>\n",
        plural(run.digests().len(), "trial"),
        table.finish()
    )
}

fn row(table: &mut Table, position: usize, digest: &Digest) {
    let show = |unit: Unit, value: Option<f64>, level: Standing| {
        value.map_or_else(
            || "–".to_owned(),
            |value| standing(&unit.show(value), level),
        )
    };
    let time = |position: usize| {
        let time = digest.response(position);
        let level = time.map_or(Standing::Sound, |time| digest.time_standing(time));
        show(Unit::Microseconds, time.map(|time| time.us), level)
    };
    let resources = digest.standing(Claim::Resources);
    let number = if digest.sequence > 0 {
        u64::from(digest.sequence)
    } else {
        position as u64 + 1
    };
    let server = if digest.ceiling {
        "<em>ceiling</em>".to_owned()
    } else {
        escape(&digest.id.server)
    };
    let verdict = if digest.ceiling && digest.status == Status::Unknown {
        "–".to_owned()
    } else {
        format!("<span class=\"v {0}\">{0}</span>", digest.status.name())
    };
    let cut = if digest.interrupted {
        " (cut short)"
    } else {
        ""
    };
    let rules: Vec<&str> = digest.rules.iter().map(|(rule, _)| rule.as_str()).collect();
    table
        .row()
        .number(&format!("<span id=\"trial-{number}\">{number}</span>"))
        .cell(&server)
        .text(&digest.id.workload)
        .number(&number::count(u64::from(digest.id.connections())))
        .number(&round(digest))
        .cell(&verdict)
        .number(&show(
            Unit::PerSecond,
            Some(digest.rate),
            digest.rate_standing(),
        ))
        .number(&time(0))
        .number(&time(4))
        .number(&show(Unit::Microseconds, digest.cpu_us, resources))
        .number(&show(Unit::Bytes, digest.memory, resources))
        .number(&number::count(digest.lost()))
        .number(&show(Unit::Share, digest.busy, Standing::Sound))
        .text(&format!("{}{cut}", rules.join(" ")));
}

/// Its round, and whether it is one that was measured again.
fn round(digest: &Digest) -> String {
    match digest.attempt {
        0 => digest.round.to_string(),
        _ => format!("{} <small>again</small>", digest.round),
    }
}
