//! What a load is worth that several agents made.
//!
//! A rule that can read the sum judges the sum: counts, quantiles, drift, the busiest thread of
//! all. A rule that cannot, because it reads a machine, judges each agent's share, and the load is
//! worth no more than the worst of them. Where the machine of the servers was read, such a rule
//! judges that one beside them. A finding names the machines that it is about.

use std::collections::{BTreeMap, BTreeSet};

use model::Trial;
use model::finding::{Finding, Severity, Status, Verdict};

use super::GENERATOR_LIMITS;
use crate::words;

/// Rules that read a machine, of servers or of an agent: what one says of a machine says nothing of
/// the others.
const OF_ONE_MACHINE: [&str; 12] = [
    "CPU-01", "CPU-08", "CT-01", "LNK-01", "LNK-06", "LNK-07", "LNK-12", "MEM-01", "MEM-02",
    "TCP-05", "TCP-17", "TCP-18",
];

/// Rules that hold machines against each other: no share alone can answer.
const OF_ALL_MACHINES: [&str; 2] = ["GEN-17", "LNK-11"];

fn is_of_one_machine(rule: &str) -> bool {
    OF_ONE_MACHINE.contains(&rule)
}

/// The verdict on the share of each agent of `trial`, by its name.
pub(crate) fn judged(trial: &Trial) -> Vec<(String, Verdict)> {
    let judged = |share| super::judge(&trial.of_share(share));
    let shares = trial.agents.iter();
    shares
        .map(|share| (share.agent.clone(), judged(share)))
        .collect()
}

/// `whole`, the verdict on the sum by the rules that were `heard`, together with what the others
/// say of the `shares`; `of_servers` says whether the machine of the servers was read.
pub(super) fn together(
    mut whole: Verdict,
    heard: &BTreeSet<&str>,
    shares: &[(String, Verdict)],
    of_servers: bool,
) -> Verdict {
    findings(&mut whole, heard, shares);
    claims(&mut whole, shares);
    let is_unread = |rule: &str| {
        let mut shares = shares.iter();
        shares.any(|(_, share)| share.coverage.unknown.contains_key(rule))
    };
    let before = whole.coverage.unknown.len();
    let is_of_whole =
        |rule: &str| OF_ALL_MACHINES.contains(&rule) || (of_servers && is_of_one_machine(rule));
    whole
        .coverage
        .unknown
        .retain(|rule, _| is_unread(rule) || is_of_whole(rule));
    let read = before - whole.coverage.unknown.len();
    whole.coverage.evaluated += u32::try_from(read).unwrap_or(0);
    whole.generator_limited = whole.findings.iter().any(|finding| {
        finding.worst() == Severity::Invalid && GENERATOR_LIMITS.contains(&finding.rule.as_str())
    });
    let worst = whole.claims.values().map(|claim| claim.status).max();
    whole.status = worst.unwrap_or_default();
    whole
}

/// What each claim is worth by all findings, and where there are none, by what could be read.
fn claims(whole: &mut Verdict, shares: &[(String, Verdict)]) {
    for (claim, worth) in &mut whole.claims {
        let of_shares = || {
            shares
                .iter()
                .filter_map(|(_, share)| share.claims.get(claim))
        };
        worth.partial = of_shares().any(|share| share.partial);
        let about = whole.findings.iter();
        let about: Vec<(Severity, &str)> = about
            .filter_map(|one| Some((*one.severity.get(claim)?, one.rule.as_str())))
            .collect();
        let worst = about.iter().map(|(severity, _)| *severity).max();
        worth.status = match worst {
            Some(Severity::Invalid) => Status::Invalid,
            Some(Severity::Suspect) => Status::Suspect,
            _ if of_shares().any(|share| share.status == Status::Unknown) => Status::Unknown,
            _ => Status::Valid,
        };
        let because = about
            .iter()
            .filter(|(severity, _)| worst == Some(*severity) && *severity > Severity::Note);
        worth.because.clear();
        for (_, rule) in because {
            // Of two machines it is one reason.
            if !worth.because.iter().any(|known| known == rule) {
                worth.because.push((*rule).to_owned());
            }
        }
    }
}

/// A finding about shares: the worst of its rule, and whom it is about, beginning with the agent
/// that it tells of.
struct Told<'a> {
    finding: Finding,
    agents: Vec<&'a str>,
}

/// Adds what rules found of shares that could not read the sum, each once.
fn findings(whole: &mut Verdict, heard: &BTreeSet<&str>, shares: &[(String, Verdict)]) {
    let mut told: BTreeMap<&str, Told<'_>> = BTreeMap::new();
    for (agent, share) in shares {
        for finding in &share.findings {
            let Some(one) = told.get_mut(finding.rule.as_str()) else {
                let first = Told {
                    finding: finding.clone(),
                    agents: vec![agent.as_str()],
                };
                told.insert(&finding.rule, first);
                continue;
            };
            if one.agents.contains(&agent.as_str()) {
                continue;
            }
            let is_worse = finding.worst() > one.finding.worst();
            one.agents
                .insert(if is_worse { 0 } else { one.agents.len() }, agent);
            if is_worse {
                one.finding = finding.clone();
            }
        }
    }
    for finding in &mut whole.findings {
        if is_of_one_machine(&finding.rule) {
            finding.say = format!("The servers' machine: {}", finding.say);
            continue;
        }
        // What is found of some of the agents says whom the load has it from.
        if let Some(one) = told.get(finding.rule.as_str())
            && one.agents.len() < shares.len()
        {
            if is_about_one(finding, &one.finding) {
                // Threads are counted as that agent has them.
                finding.say = format!("Agent {}: {}", one.agents[0], one.finding.say);
                also(finding, &one.agents[1..]);
            } else {
                let agents = words::list(&one.agents);
                finding.say.push_str(&format!(
                    " Of single agents, the same rule objects to {agents}."
                ));
            }
            name(finding, &one.agents);
        }
    }
    for (rule, Told { finding, agents }) in told {
        let is_told = heard.contains(rule) || whole.findings.iter().any(|one| one.rule == rule);
        if is_told && !is_of_one_machine(rule) {
            continue;
        }
        let mut finding = finding;
        finding.say = format!("Agent {}: {}", agents[0], finding.say);
        also(&mut finding, &agents[1..]);
        name(&mut finding, &agents);
        whole.findings.push(finding);
    }
    whole
        .findings
        .sort_by_key(|finding| std::cmp::Reverse(finding.worst()));
}

/// Whether what is said of the sum, as of its busiest thread, is what is said of the `share` of one
/// agent. Otherwise its numbers are those of the whole load.
fn is_about_one(finding: &Finding, share: &Finding) -> bool {
    let numbers = |finding: &Finding| {
        let mut numbers = finding.evidence.clone();
        numbers.remove("worker");
        numbers
    };
    let whole = numbers(finding);
    finding.say == share.say || (!whole.is_empty() && whole == numbers(share))
}

/// Says whom else the rule objects to.
fn also(finding: &mut Finding, others: &[&str]) {
    if !others.is_empty() {
        let others = words::list(others);
        finding
            .say
            .push_str(&format!(" The same rule objects to {others}."));
    }
}

fn name(finding: &mut Finding, agents: &[&str]) {
    let agents: Vec<serde_json::Value> = agents.iter().map(|one| (*one).into()).collect();
    finding.evidence.insert("agents".to_owned(), agents.into());
}

#[cfg(test)]
mod tests {
    use model::fixture::{self, Shaped};
    use model::plan::Arrivals;
    use model::{Claim, Outcome, Rate, Record, Span, Usage};

    use crate::judge;

    use super::*;

    /// A load whose two shares are each the closed fixture, changed by `spoil`.
    fn of_two(spoil: impl Fn(&str, &mut Trial)) -> Trial {
        together_of(&fixture::closed(), spoil)
    }

    /// The same where each share is `one`.
    fn together_of(one: &Trial, spoil: impl Fn(&str, &mut Trial)) -> Trial {
        let share = |agent: &str, worker: u32| {
            let mut trial = one.clone();
            spoil(agent, &mut trial);
            fixture::share(agent, worker..worker + 1, trial)
        };
        let mut whole = one.clone();
        whole.plan.workers = 2;
        whole.plan.connections *= 2;
        if let Arrivals::Fixed { rate_per_1000_s } = &mut whole.plan.arrivals {
            *rate_per_1000_s = Rate::per_1000_s(rate_per_1000_s.as_per_1000_s() * 2);
        }
        whole.environment = model::Environment {
            tool: whole.environment.tool,
            ..model::Environment::default()
        };
        whole.usage = Usage::default();
        whole.agents = vec![share("a", 0), share("b", 1)];
        whole.record = Record::default();
        for share in &whole.agents {
            whole.record.merge(share.record.clone());
        }
        whole
    }

    #[test]
    fn a_load_is_as_good_as_its_shares() {
        let alone = judge(&fixture::closed());
        let trial = of_two(|_, _| ());
        let both = judge(&trial);
        assert_eq!(both.status, alone.status, "{:#?}", both.findings);
        assert_eq!(
            both.coverage.unknown, alone.coverage.unknown,
            "what each share could read is read"
        );
        assert!(!both.generator_limited);
    }

    #[test]
    fn one_saturated_agent_makes_the_rate_a_lower_bound() {
        let trial = of_two(|agent, trial| {
            if agent == "b" {
                for worker in &mut trial.record.workers {
                    worker.busy = worker.window;
                    worker.cpu_time = Some(worker.window);
                }
            }
        });
        let verdict = judge(&trial);
        assert!(verdict.generator_limited);
        assert!(crate::is_bound(&verdict), "{:#?}", verdict.claims);
        let capacity = &verdict.claims[&Claim::Capacity];
        assert_eq!(capacity.status, Status::Invalid);
        let finding = verdict.findings.iter().find(|one| one.rule == "GEN-01");
        let finding = finding.expect("a thread was busy all the time");
        assert!(finding.say.starts_with("Agent b: "), "{}", finding.say);
        let among_others = crate::judge_set(std::slice::from_ref(&trial));
        assert_eq!(among_others[0].claims, verdict.claims);
        let mut trial = trial;
        crate::judge_shares(&mut trial);
        let said = |one: &model::trial::Share| {
            let mut findings = one.verdict.findings.iter();
            findings.any(|one| one.rule == "GEN-01")
        };
        let said: Vec<bool> = trial.agents.iter().map(said).collect();
        assert_eq!(said, [false, true], "{:#?}", trial.agents[1].verdict);
        assert_eq!(finding.evidence["agents"], serde_json::json!(["b"]));
    }

    /// Its numbers are those of the sum, whoever brought them there.
    #[test]
    fn what_is_counted_of_the_whole_load_is_said_of_it() {
        let fail = |trial: &mut Trial| {
            let outcomes = &mut trial.record.total.outcomes;
            let half = outcomes[Outcome::Ok] / 2;
            outcomes[Outcome::Ok] -= half;
            outcomes[Outcome::Timeout] += half;
        };
        let said = |verdict: &Verdict| {
            let found = verdict.findings.iter().find(|one| one.rule == "HTTP-01");
            found.map(|one| (one.say.clone(), one.evidence.get("agents").cloned()))
        };
        let trial = of_two(|agent, trial| {
            if agent == "b" {
                fail(trial);
            }
        });
        let [of_a, of_b] = [0, 1].map(|agent| said(&judge(&trial.of_share(&trial.agents[agent]))));
        assert_eq!(of_a, None);
        let (of_b, _) = of_b.unwrap();
        let (whole, agents) = said(&judge(&trial)).unwrap();
        assert!(of_b.contains("(50 %)"), "{of_b}");
        assert!(whole.contains("(25 %)"), "{whole}");
        assert!(!whole.starts_with("Agent"), "{whole}");
        let whom = " Of single agents, the same rule objects to b.";
        assert!(whole.ends_with(whom), "{whole}");
        assert_eq!(agents, Some(serde_json::json!(["b"])));
        // What all have is said of the load alone.
        let (both, agents) = said(&judge(&of_two(|_, trial| fail(trial)))).unwrap();
        assert!(!both.contains("gent"), "{both}");
        assert_eq!(agents, None);
    }

    fn steal(trial: &mut Trial, share: f64) {
        let system = trial.usage.system.as_mut().unwrap();
        for cpu in &mut system.cpus {
            cpu.steal = share;
        }
    }

    /// The machine of the servers was read, too, and what it says is about itself.
    #[test]
    fn machines_of_servers_and_of_agents_are_told_apart() {
        let lab = |of_servers: f64, of_b: f64| {
            let mut trial = of_two(|agent, trial| {
                steal(trial, if agent == "b" { of_b } else { 0.0 });
            });
            trial.environment = fixture::environment();
            trial.usage = fixture::closed().usage;
            steal(&mut trial, of_servers);
            judge(&trial)
        };
        let said = |verdict: &Verdict| {
            let findings = verdict.findings.iter();
            let steals = findings.filter(|one| one.rule == "CPU-01");
            let whose = steals.map(|one| one.say.split(':').next().unwrap().to_owned());
            whose.collect::<Vec<_>>()
        };
        assert_eq!(said(&lab(0.0, 0.0)), Vec::<String>::new());
        assert_eq!(said(&lab(0.0, 0.3)), ["Agent b"]);
        assert_eq!(said(&lab(0.3, 0.0)), ["The servers' machine"]);
        let both = lab(0.3, 0.3);
        assert_eq!(said(&both), ["The servers' machine", "Agent b"]);
        assert_eq!(both.claims[&Claim::Capacity].because, ["CPU-01"]);
    }

    /// Numbers of CPUs are those of the machine that has them.
    #[test]
    fn cpus_of_agents_are_none_of_the_servers_machine() {
        let judged = |cpu: usize| {
            let mut trial = of_two(|_, _| ());
            trial.environment = fixture::environment();
            trial.usage = fixture::closed().usage;
            trial.plan.cpus = vec![0];
            trial.context.server = Some(model::trial::Server {
                cpus: vec![1],
                ..model::trial::Server::default()
            });
            trial.usage.system.as_mut().unwrap().cpus[cpu].steal = 0.3;
            let findings = judge(&trial).findings;
            findings.iter().any(|one| one.rule == "CPU-01")
        };
        assert_eq!([judged(0), judged(1)], [false, true]);
    }

    /// Who took the CPUs of a machine is read of that machine alone.
    #[test]
    fn what_machines_suffer_is_said_of_them() {
        let alone = |share: f64| {
            let mut trial = fixture::closed();
            steal(&mut trial, share);
            judge(&trial).findings.into_iter().next().unwrap()
        };
        let (some, more) = (alone(0.03), alone(0.3));
        assert_eq!(some.rule, more.rule);
        assert!(some.worst() < more.worst(), "{some:#?} {more:#?}");
        let one = judge(&of_two(|agent, trial| {
            steal(trial, if agent == "b" { 0.3 } else { 0.0 });
        }));
        assert_eq!(one.findings[0].say, format!("Agent b: {}", more.say));
        assert_eq!(one.findings[0].evidence["agents"], serde_json::json!(["b"]));
        let both = judge(&of_two(|agent, trial| {
            steal(trial, if agent == "b" { 0.3 } else { 0.03 });
        }));
        let said = format!("Agent b: {} The same rule objects to a.", more.say);
        assert_eq!(both.findings[0].say, said);
        assert_eq!(both.findings[0].worst(), more.worst());
        assert_eq!(both.claims[&Claim::Capacity].because, [more.rule]);
    }

    /// A share has fewer answers than the sum, and no quantile is read of it alone.
    #[test]
    fn the_sum_is_judged_by_its_own_size() {
        let few = Shaped {
            intended_rate: Some(100),
            rate: 100.0,
            window: Span::from_s(60),
            service: Some(Span::from_us(34)),
            ..Shaped::default()
        };
        let trial = together_of(&few.trial(), |_, _| ());
        let rule = |verdict: &Verdict, rule: &str| {
            let found = verdict.findings.iter().find(|one| one.rule == rule);
            found.map(|one| one.say.clone())
        };
        let whole = judge(&trial);
        let said = rule(&whole, "STA-01");
        let share = rule(&judge(&trial.of_share(&trial.agents[0])), "STA-01");
        assert!(share.is_some_and(|say| say.starts_with("6,000 ")));
        assert!(
            said.is_none_or(|say| say.starts_with("12,000 ")),
            "{whole:#?}"
        );
    }
}
