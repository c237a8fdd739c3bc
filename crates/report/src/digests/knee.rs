//! Where curves of rate against connections bend, and which side was the limit there.

use std::collections::BTreeMap;

use model::point::{CONNECTIONS, Values};
use model::{Trial, Verdict};
use verdict::analysis::Measure;
use verdict::limit::{Side, server_busy_share, side};
use verdict::thresholds::{FLAT, IDLE_SERVER, SERVER_FULL, WAITS_GROW};
use verdict::words;

use super::digest::Digest;
use super::point::Cell;

/// The rule that says where a rate has stopped to grow, and what it calls that.
const RULE: (&str, &str) = ("STA-09", "saturated_from_connections");

/// So many counts of connections make a curve.
const COUNTS_LEAST: usize = 3;

/// Where the curve of a server bends.
#[derive(Clone, Debug)]
pub struct Knee {
    /// The server's label.
    pub server: String,
    /// What else its points have in common; without connections.
    pub place: Values,
    /// The counts of connections, from the fewest.
    pub counts: Vec<u32>,
    /// The count from which on the rate does not grow, where one was seen; none where no trial
    /// that counts could tell.
    pub at: Option<Option<u32>>,
    /// The rate there; where no knee was seen, that with the most connections.
    pub rate: Option<Measure>,
    /// The side that was the limit in most trials from there on, with their number.
    pub limit: Option<(Side, usize)>,
    /// How many trials that count there are from there on.
    pub trials: usize,
}

/// The count of connections from which on the rate had not grown, as STA-09 found it.
pub(super) fn flat_from(verdict: &Verdict) -> Option<u32> {
    let mut findings = verdict.findings.iter();
    let finding = findings.find(|finding| finding.rule == RULE.0)?;
    let count = finding.evidence.get(RULE.1)?.as_u64()?;
    u32::try_from(count).ok()
}

/// How busy the server was: its busiest thread or CPU, or all its processes together on the CPUs
/// that it was given. Where many processes share the work, none of them is busy all the time, and
/// ticks of a short window are too coarse to tell of a CPU.
pub(super) fn server_busy(trial: &Trial) -> Option<f64> {
    let together = trial.usage.server.as_ref().and_then(|group| {
        let cpus = trial.context.server.as_ref()?.cpus.len();
        let each = group.covered.unwrap_or(group.window).as_s_f64();
        let all = each * f64::from(u32::try_from(cpus).ok()?);
        let cpu = group.cpu.filter(|_| all > 0.0)?;
        Some(cpu.as_s_f64() / all)
    });
    let busiest = server_busy_share(trial).into_iter();
    busiest.chain(together).max_by(f64::total_cmp)
}

/// The knee of each curve, by server and place.
pub fn knees(cells: &[Cell<'_>]) -> Vec<Knee> {
    let mut curves: Vec<(&str, Values, Vec<&Cell<'_>>)> = Vec::new();
    let asks_as_fast = |cell: &&Cell<'_>| cell.rounds.iter().all(|one| !one.is_scheduled);
    let of_search = |cell: &Cell<'_>| cell.rounds.iter().any(|one| one.search.is_some());
    let closed = cells.iter().filter(asks_as_fast);
    for cell in closed.filter(|cell| !of_search(cell) && cell.place().connections() > 0) {
        let place = cell.place().without(CONNECTIONS);
        let is_it = |curve: &(&str, Values, _)| curve.0 == cell.server() && curve.1 == place;
        match curves.iter().position(is_it) {
            Some(curve) => curves[curve].2.push(cell),
            None => curves.push((cell.server(), place, vec![cell])),
        }
    }
    let all = curves.into_iter().filter_map(|(server, place, mut cells)| {
        cells.sort_by_key(|cell| cell.place().connections());
        (cells.len() >= COUNTS_LEAST).then(|| knee(server, place, &cells))
    });
    all.collect()
}

/// The knee of one curve, from the fewest connections to the most.
fn knee(server: &str, place: Values, cells: &[&Cell<'_>]) -> Knee {
    let count = |cell: &Cell<'_>| cell.place().connections();
    let last = cells[cells.len() - 1];
    let mut told = last.counting().filter(|one| !one.is_left_out()).peekable();
    let at = told.peek().is_some().then(|| {
        let mut found = told.filter_map(|one| one.flat_from);
        found.next()
    });
    let from = at.flatten().unwrap_or_else(|| count(last));
    let there = || cells.iter().filter(|cell| count(cell) >= from);
    let mut named: BTreeMap<Side, usize> = BTreeMap::new();
    let mut trials = 0;
    for one in there().flat_map(|cell| cell.counting()) {
        trials += 1;
        if let Some(side) = one.limit() {
            *named.entry(side).or_default() += 1;
        }
    }
    Knee {
        server: server.to_owned(),
        place,
        counts: cells.iter().map(|cell| count(cell)).collect(),
        at,
        rate: there().next().and_then(|cell| cell.rate()),
        limit: named.into_iter().max_by_key(|(_, count)| *count),
        trials,
    }
}

impl Digest {
    /// Which side was the limit, as far as rules name one.
    fn limit(&self) -> Option<Side> {
        let rules = self.rules.iter();
        side(
            self.server_busy,
            rules.map(|(rule, severity)| (rule.as_str(), *severity)),
        )
    }
}

impl Knee {
    /// The server, and what else its points have in common.
    pub fn curve(&self) -> String {
        match self.place.is_empty() {
            true => self.server.clone(),
            false => format!("{}, {}", self.server, self.place.text()),
        }
    }

    /// The counts: `1, 16, 64`; of many the first, the last and how many there are.
    pub fn counted(&self) -> String {
        const MOST: usize = 6;
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|one| words::count(u64::from(*one)))
            .collect();
        match counts.len() > MOST {
            true => format!(
                "{} from {} to {}",
                counts.len(),
                counts[0],
                counts[counts.len() - 1]
            ),
            false => counts.join(", "),
        }
    }

    /// Where it bends, in words.
    pub fn bend(&self) -> String {
        match self.at {
            Some(Some(count)) => words::plural(u64::from(count), "connection"),
            Some(None) => "none seen".to_owned(),
            None => "no trial counts".to_owned(),
        }
    }

    /// Which side was the limit from there on, in words.
    pub fn limited_by(&self) -> String {
        let trials = words::plural(self.trials as u64, "trial");
        match self.limit {
            Some((side, count)) if count == self.trials => format!("{} ({trials})", side.name()),
            Some((side, count)) => format!("{} ({count} of {trials})", side.name()),
            None => "no rule names one".to_owned(),
        }
    }
}

/// What a knee is, and how the side that was the limit is told.
pub(crate) fn definition() -> String {
    let share = |level: Option<f64>| words::share(level.unwrap_or_default());
    format!(
        "The knee is the load beyond which response times grow with it and the rate hardly does \
         (R. Jain, The Art of Computer Systems Performance Analysis, 1991, section 3.3). Here it \
         is the fewest connections, at most half of the most, from which to the most the rate grew \
         by {} or less and response times by more than {} times what connections did (STA-09). \
         The limit is told by the trials from the knee on, and where none was seen, by those with \
         the most connections. It is the server's CPU where its busiest thread or CPU, or all its \
         processes together on its CPUs, were busy for more than {} of the window (SRV-11), or \
         for more than {} while nothing else objects (SRV-05). It is the generator where GEN-01 \
         or GEN-02 objects, and either of the two where \
         SRV-11 finds both near their limits. It is neither's CPU where SRV-05 found both idle.",
        share(FLAT.note),
        WAITS_GROW.note.unwrap_or_default(),
        share(SERVER_FULL.note),
        share(IDLE_SERVER.note),
    )
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;
    use verdict::judge_set;

    use super::*;
    use crate::digests::Run;

    fn run(connections: &[u32], rate: impl Fn(u32) -> f64) -> Run {
        let mut trials = Heat {
            servers: vec!["nginx"],
            workloads: vec![("seven-bytes", 7)],
            connections: connections.to_vec(),
            ceiling: false,
            ..Heat::default()
        }
        .trials();
        for trial in &mut trials {
            let count = trial.point.as_ref().unwrap().id.connections();
            trial.record.achieved_rate = rate(count);
        }
        let verdicts = judge_set(&trials);
        let mut run = Run::default();
        for (trial, verdict) in trials.iter_mut().zip(verdicts) {
            trial.verdict = verdict;
            run.add(trial);
        }
        run
    }

    #[test]
    fn a_curve_bends_where_its_rate_stops_to_grow() {
        let flat = run(&[16, 64, 256], |_| 50_000.0);
        let found = knees(&flat.cells("seven-bytes"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].bend(), "16 connections");
        assert_eq!(found[0].curve(), "nginx");
        assert_eq!(found[0].counted(), "16, 64, 256");
        assert_eq!(found[0].trials, 18);
        let grows = run(&[16, 64, 256], |count| f64::from(count) * 100.0);
        let found = knees(&grows.cells("seven-bytes"));
        assert_eq!(found[0].bend(), "none seen");
        assert_eq!(found[0].trials, 6);
    }

    #[test]
    fn two_counts_are_no_curve() {
        let run = run(&[16, 256], |_| 50_000.0);
        assert!(knees(&run.cells("seven-bytes")).is_empty());
    }

    #[test]
    fn the_limit_is_that_of_most_trials_from_the_knee_on() {
        let mut run = run(&[16, 64, 256], |_| 50_000.0);
        for digest in &mut run.digests {
            digest.rules.clear();
            digest.server_busy = Some(match digest.round {
                1 => 0.5,
                _ => 0.97,
            });
        }
        let found = knees(&run.cells("seven-bytes"));
        assert_eq!(found[0].limited_by(), "the server's CPU (15 of 18 trials)");
        for digest in &mut run.digests {
            digest.server_busy = None;
        }
        let found = knees(&run.cells("seven-bytes"));
        assert_eq!(found[0].limited_by(), "no rule names one");
    }

    /// None of many processes is busy all the time, and their CPU may be.
    #[test]
    fn all_processes_together_may_leave_nothing_of_a_cpu() {
        use model::units::Span;
        let mut trial = model::fixture::closed();
        trial.usage.system = None;
        trial.context.server.get_or_insert_default().cpus = vec![1];
        let group = trial.usage.server.as_mut().unwrap();
        (group.window, group.covered) = (Span::from_ms(410), Some(Span::from_ms(400)));
        (group.busiest_thread, group.cpu) = (None, Some(Span::from_ms(390)));
        let busy = |trial: &Trial| server_busy(trial).unwrap();
        assert!((busy(&trial) - 0.975).abs() < 1e-9);
        trial.context.server.get_or_insert_default().cpus = vec![1, 2];
        assert!((busy(&trial) - 0.4875).abs() < 1e-9);
        trial.usage.server.as_mut().unwrap().cpu = None;
        assert_eq!(server_busy(&trial), None);
    }

    #[test]
    fn the_definition_has_the_limits_of_the_rules() {
        let said = definition();
        for part in [
            "by 5.0 % or less",
            "more than 0.9 times",
            "more than 95 %",
            "more than 85 %",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
