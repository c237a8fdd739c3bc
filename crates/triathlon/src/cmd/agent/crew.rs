//! What agents make together: who has which workers, and one trial of what all measured.

use fleet::{Member, Seen, division};
use model::plan::FORMAT;
use model::record::{Record, Recovery};
use model::trial::{Context, Share};
use model::{Environment, PlanFile, Trial, Usage, Verdict};
use verdict::words;

/// Divides `workers` among those that were seen, by their CPUs; none where there are fewer workers
/// than agents.
pub(crate) fn divide(seen: &[Seen], workers: u32) -> Option<Vec<Member>> {
    let cpus = seen.iter().map(|one| one.announcement.cpus.len());
    let parts = division::divide(workers, &cpus.collect::<Vec<_>>())?;
    let members = seen.iter().zip(parts).map(|(one, workers)| Member {
        name: one.announcement.name.clone(),
        workers,
        clock: one.clock,
    });
    Some(members.collect())
}

/// One trial of what all measured, in `environment`.
pub(crate) fn together(
    plan: PlanFile,
    crew: &[Member],
    trials: Vec<Trial>,
    mut environment: Environment,
) -> Trial {
    let mut record = Record::default();
    let mut agents = Vec::with_capacity(crew.len());
    for (member, mut trial) in crew.iter().zip(trials) {
        for worker in &mut trial.record.workers {
            worker.agent = Some(member.name.to_string());
        }
        record.merge(trial.record.clone());
        agents.push(Share {
            agent: member.name.to_string(),
            workers: member.workers.clone(),
            clock_offset_ns: member.clock.offset_ns,
            clock_offset_within: member.clock.within,
            environment: trial.environment,
            record: trial.record,
            usage: trial.usage,
            context: trial.context,
            verdict: Verdict::default(),
        });
    }
    record.notes.extend(differing(&agents));
    environment.time = Some(lab::environment::rfc3339(sys::clock::realtime()));
    let tools = || agents.iter().map(|share| &share.environment.tool);
    environment.tool.debug_build |= tools().any(|tool| tool.debug_build);
    environment.tool.traced |= tools().any(|tool| tool.traced);
    let are_apart = |share: &Share| {
        let shared = share.context.shared_cpus.as_ref();
        shared.is_some_and(Vec::is_empty)
    };
    let recovery = Recovery::of(&record.intervals);
    Trial {
        format: FORMAT,
        point: None,
        plan,
        environment,
        record,
        usage: Usage::default(),
        context: Context {
            cpu_choice: Some("each agent's own".to_owned()),
            shared_cpus: agents.iter().all(are_apart).then(Vec::new),
            ..Context::default()
        },
        verdict: Verdict::default(),
        void: None,
        thresholds: Vec::new(),
        recovery,
        agents,
    }
}

/// Agents that were answered otherwise before the run: they may have asked another server.
fn differing(agents: &[Share]) -> Option<String> {
    let digest = |share: &Share| {
        share
            .record
            .reference
            .as_ref()
            .map(|one| one.sha256.clone())
    };
    let first = digest(agents.first()?)?;
    let others = agents
        .iter()
        .filter(|share| digest(share).as_ref() != Some(&first));
    let others: Vec<&str> = others.map(|share| share.agent.as_str()).collect();
    (!others.is_empty()).then(|| {
        format!(
            "{} got another answer before the run than {}: do all of them ask the same server?",
            words::list(&others),
            agents[0].agent
        )
    })
}
