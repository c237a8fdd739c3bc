//! The agents that made a load, each with its share and what that is worth.

use model::environment::Timekeeping;
use model::trial::{Offset, Share};
use model::{Span, Status, Trial};
use verdict::words;

use super::Style;

/// A line for each agent, and how far their windows may be apart. Nothing where one machine made
/// the load.
pub(super) fn agents(trial: &Trial, style: Style) -> String {
    let mut out = String::new();
    for (position, share) in trial.agents.iter().enumerate() {
        let label = if position == 0 { "agents" } else { "" };
        out.push_str(&style.labelled(label, &line(share)));
    }
    if trial.agents.len() > 1 {
        let apart = trial.windows_apart_at_most();
        let line = format!("their windows may be up to {apart} apart, by what is known of clocks");
        out.push_str(&style.labelled("", &line));
    }
    if let Some(servers) = trial.servers_clock {
        let kept = trial.environment.timekeeping.as_ref();
        let line = format!("the servers' machine: {}", clock(servers, kept));
        out.push_str(&style.labelled("", &line));
    }
    out
}

fn line(share: &Share) -> String {
    let record = &share.record;
    let threads = words::plural(share.workers.len() as u64, "thread");
    let rate = words::rate(record.achieved_rate);
    let mut text = format!("{}: {threads}, {rate}/s", share.agent);
    if let Some(p99) = record.response_time.quantile(0.99) {
        text.push_str(&format!(", p99 {p99}"));
    }
    text.push_str(&format!(", {}", share.verdict.status));
    let rules = share.verdict.claims.values();
    let mut rules: Vec<&str> = rules
        .filter(|claim| claim.status == share.verdict.status)
        .flat_map(|claim| claim.because.iter().map(String::as_str))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    if share.verdict.status > Status::Unknown && !rules.is_empty() {
        text.push_str(&format!(" because of {}", rules.join(", ")));
    }
    let kept = share.environment.timekeeping.as_ref();
    text.push_str(&format!("; {}", clock(share.clock(), kept)));
    text
}

/// How far a clock is away, and how it is kept.
fn clock(offset: Offset, kept: Option<&Timekeeping>) -> String {
    let sign = if offset.offset_ns < 0 { '-' } else { '+' };
    let away = Span::from_ns(offset.offset_ns.unsigned_abs());
    let kept = kept.map(|kept| format!(", {}", words::timekeeping(kept)));
    let kept = kept.unwrap_or_default();
    format!("clock {sign}{away} within {}{kept}", offset.within)
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    #[test]
    fn each_agent_has_a_line() {
        let share = |agent: &str, clock_offset_ns: i64| Share {
            clock_offset_ns,
            verdict: verdict::judge(&fixture::closed()),
            ..fixture::share(agent, 0..2, fixture::closed())
        };
        let mut trial = fixture::closed();
        assert_eq!(agents(&trial, Style::default()), "");
        trial.agents = vec![share("gen1", 1_500), share("gen2", -2_000_000)];
        trial.agents[1].environment.timekeeping = Some(Timekeeping {
            synchronised: true,
            error_at_most: Span::from_ms(3),
            kept_by: vec!["chronyd".to_owned()],
            ..Timekeeping::default()
        });
        trial.servers_clock = Some(Offset {
            offset_ns: -3_000,
            within: Span::from_us(40),
        });
        let text = agents(&trial, Style::default());
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        for expected in [
            "agents gen1: 2 threads, 60,000/s, p99 ",
            "; clock +1.50 µs within 100 µs",
            "gen2: 2 threads",
            "; clock -2.00 ms within 100 µs, synchronised by chronyd, at most 3.00 ms wrong",
            "their windows may be up to 200 µs apart",
            "the servers' machine: clock -3.00 µs within 40.0 µs",
        ] {
            assert!(words.contains(expected), "no '{expected}' in {words}");
        }
    }
}
