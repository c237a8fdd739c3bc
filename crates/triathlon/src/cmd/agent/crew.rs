//! What agents make together: who has which workers, and one trial of what all measured.

use fleet::{Ceiling, Member, Seen, division};
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

/// The ceiling of an agent, in words.
pub(super) fn ceiling(ceiling: &Ceiling) -> String {
    let least = if ceiling.at_least { "at least " } else { "" };
    let rate = words::rate(ceiling.rate);
    format!("a thread reached {least}{rate}/s at {}", ceiling.time)
}

/// Who is asked for more than it reached when that was last measured: a sentence for each.
pub(crate) fn beyond(seen: &[Seen], plan: &PlanFile) -> Vec<String> {
    let Some(rate) = plan.arrivals.rate() else {
        return Vec::new();
    };
    let each = rate.as_per_second_f64() / f64::from(plan.workers.max(1));
    let announced = seen.iter().map(|one| &one.announcement);
    let announced = announced.filter_map(|one| Some((&one.name, one.ceiling.as_ref()?)));
    let too_much = announced.filter(|(_, known)| !known.at_least && known.rate < each);
    let told = too_much.map(|(name, known)| {
        format!(
            "agent {name}: {}, and this load asks {}/s of each thread: give it more threads (-t) \
             or agents, or expect it to be late",
            ceiling(known),
            words::rate(each)
        )
    });
    told.collect()
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
        servers_clock: None,
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

#[cfg(test)]
mod tests {
    use fleet::{Announcement, Role};
    use model::plan::Arrivals;
    use model::{Rate, fixture};

    use super::*;

    fn seen(rate: f64, at_least: bool) -> Seen {
        let announcement = Announcement {
            name: "gen1".parse().unwrap(),
            version: String::new(),
            role: Role::Load,
            labels: std::collections::BTreeMap::new(),
            targets: Vec::new(),
            may_start_servers: false,
            cpus: vec![0, 1],
            ceiling: Some(Ceiling {
                rate,
                at_least,
                time: "2026-11-20T10:00:00Z".to_owned(),
            }),
            busy: None,
            environment: Environment::default(),
        };
        Seen {
            announcement,
            clock: fleet::clock::Clock::default(),
        }
    }

    #[test]
    fn who_is_asked_for_more_than_it_reached_is_told() {
        let mut plan = fixture::plan("http://192.0.2.1/", &[]);
        plan.workers = 2;
        let told = |plan: &PlanFile, rate: f64, at_least: bool| {
            let told = beyond(&[seen(rate, at_least)], plan);
            told.into_iter().next()
        };
        plan.arrivals = Arrivals::Closed;
        assert_eq!(told(&plan, 1.0, false), None);
        plan.arrivals = Arrivals::Poisson {
            rate_per_1000_s: Rate::per_1000_s(400_000_000),
        };
        let said = told(&plan, 150_000.0, false).expect("200,000/s are more");
        assert!(
            said.contains("agent gen1: a thread reached 150,000/s"),
            "{said}"
        );
        assert!(said.contains("200,000/s of each thread"), "{said}");
        assert_eq!(told(&plan, 250_000.0, false), None);
        // It can do more than was measured.
        assert_eq!(told(&plan, 150_000.0, true), None);
    }
}
