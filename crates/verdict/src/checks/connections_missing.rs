//! GEN-18: a closed loop that had fewer connections than it names.
//!
//! Connections are opened before the window, a few hundred at a time so that servers can take them.
//! Many of them may need longer than the warm-up. What the window then measures is the load of
//! those that are open, and the response times of the others include the wait for their connection.
//! What is still missing when the first interval of the window has passed is compared with all that
//! the plan names, or with what the pages of its users need. In an open loop arrivals are the load,
//! however many connections carry them.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::CONNECTIONS_MISSING;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-18",
    name: "connections-missing",
    claims: &[Capacity, Latency, Comparison, Resources],
    mandatory: false,
    source: "Policy; 40,000 connections in a closed loop had 34,543 open after 15 s",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let (plan, record) = (&facts.trial.plan, &facts.trial.record);
    // A few requests need not take all connections, nor do as many users as happen to be there.
    let do_come = record.users.is_some();
    if facts.is_open_loop() || do_come || plan.count().is_some() {
        return Judgement::NotApplicable;
    }
    let Some(first) = record.intervals.first() else {
        return Judgement::unknown("the intervals of the window");
    };
    let before = record.warmup_phase.connections.established;
    let open = before + first.tally.connections.established;
    let wanted = u64::from(plan.connections_wanted());
    let missing = 1.0 - number(open) / number(wanted).max(1.0);
    let Some(severity) = CONNECTIONS_MISSING.severity(missing) else {
        return Judgement::Silent;
    };
    let ever = before + record.total.connections.established;
    let later = if ever < wanted {
        format!("{} were never opened", words::count(wanted - ever))
    } else {
        "the others came later".to_owned()
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "Only {} of {} connections had been opened when the first interval of the window \
             ended, and {later}: the load was not the one that the plan asks for.",
            words::count(open),
            words::count(wanted)
        ),
    )
    .evidence("missing", missing)
    .evidence("opened", open)
    .evidence("wanted", wanted)
    .limit(&CONNECTIONS_MISSING)
    .fix("Warm up for longer (load: --warmup; lab: settle), so that all of them are opened before")
    .into()
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::{ScriptFile, StepFile};
    use model::request::RequestFile;

    use super::CHECK;

    /// Users of two servers who may have six connections to each, and whose pages need one.
    #[test]
    fn connections_that_no_page_needs_are_not_missing() {
        let check = |connections: fn(u32) -> u32, expected: usize| {
            let mut trial = fixture::closed();
            trial.plan.requests = ["http://a.test/", "http://b.test/"]
                .map(RequestFile::get)
                .into();
            trial.plan.script = Some(ScriptFile {
                steps: vec![StepFile::Ask(0), StepFile::Together(vec![0, 1])],
                user_connections: Some(6),
                ..ScriptFile::default()
            });
            trial.plan.connections = connections(trial.plan.connections_wanted());
            let verdict = crate::judge(&trial);
            let found = verdict.findings.iter().filter(|one| one.rule == CHECK.id);
            assert_eq!(found.count(), expected, "{verdict:?}");
        };
        // Of twelve connections of each user two are opened.
        check(|opened| opened / 2 * 12, 0);
        check(|opened| opened * 120, 1);
    }
}
