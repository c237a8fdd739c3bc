//! The numbers of a page, each held against a second run of the same experiment.

use std::fmt::Write as _;

use verdict::analysis::{Comparison, Rival, Standing};
use verdict::pairs::{Answer, Held, differing_at_most, held};
use verdict::words;

use super::{Again, machine, notes, standing, text, value};
use crate::asked::{Number, number};
use crate::digests::Run;
use crate::number::times;

/// The section's heading.
pub(super) const HEADING: &str = "\n## Held against a second run\n\n";

/// What the whole table means.
const MEANS: &str = "\
Where the interval (95 %) of the second run relative to the first leaves out 1, they disagree.
That ratio is the median over all pairs of a round of each run. Where rounds are far apart, it is
not the quotient of the two medians, and its interval is wide.
Ratios of the same rounds are what a page like this claims. A number with a unit depends on the
speed that the machine had that day, too; where the load is fixed beforehand, so does how near a
server was to its limit, and with it each response time and each ratio of them.
";

/// A number of the first run beside that of the second.
pub(super) struct Row {
    pub(super) place: String,
    pub(super) first: String,
    pub(super) second: String,
    /// The rounds of the first.
    pub(super) rounds: Vec<f64>,
    pub(super) kind: Kind,
    pub(super) outcome: Outcome,
}

/// What sort of number it is.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Kind {
    /// How a cost grows.
    Curve,
    /// Of two numbers of the same rounds.
    Ratio,
    /// With a unit.
    Number,
    /// Trials in which a rule spoke.
    Rule,
}

pub(super) enum Outcome {
    /// The runs were compared.
    Held(Held),
    /// A rule spoke in both or in neither; a class of growth is possible in both.
    Same,
    /// A rule spoke in one of them; no class of growth is possible in both.
    Other,
    /// They cannot be compared.
    Not(String),
}

impl Outcome {
    /// Whether they agree; none where that cannot be told.
    const fn agrees(&self) -> Option<bool> {
        match self {
            Self::Held(Held::Agrees(_)) | Self::Same => Some(true),
            Self::Held(Held::Differs(_)) | Self::Other => Some(false),
            Self::Held(Held::Untold) | Self::Not(_) => None,
        }
    }

    fn ratio(&self) -> String {
        let Self::Held(Held::Agrees(found) | Held::Differs(found)) = self else {
            return "–".to_owned();
        };
        let Some(interval) = found.interval else {
            return "–".to_owned();
        };
        let (low, high) = (ratio_of(interval.low), ratio_of(interval.high));
        text(&format!("{} [{low}, {high}]", ratio_of(found.ratio)))
    }

    fn word(&self) -> String {
        match self {
            Self::Not(why) => text(why),
            Self::Held(Held::Untold) => "too few rounds".to_owned(),
            _ if self.agrees() == Some(true) => "agrees".to_owned(),
            _ => "**disagrees**".to_owned(),
        }
    }
}

/// A ratio; that of nothing to something is 0.
fn ratio_of(value: f64) -> String {
    match value < 1e-9 {
        true => "0".to_owned(),
        false => times(value),
    }
}

/// The section.
pub(super) fn section(first: &Run, second: Again<'_>, notes: &str) -> String {
    let mut out = HEADING.to_owned();
    if let Some(command) = &second.run.command {
        let _ = write!(out, "```sh\n{command}\n```\n\n");
    }
    if let Some(environment) = second.run.environment() {
        out.push_str(&machine(environment));
    }
    let trials = words::plural(second.run.digests().len() as u64, "trial");
    let rounds = words::plural(u64::from(second.run.rounds()), "round");
    let _ = writeln!(
        out,
        "- {trials} in {rounds}: [the record]({})",
        second.record
    );
    let (ours, theirs) = (first.comparisons(), second.run.comparisons());
    let mut rows = asked(first, second.run, notes);
    add_declared(&mut rows, &ours, &theirs);
    let _ = write!(out, "\n{MEANS}\n{}", told_of(&rows));
    out.push_str(&answers(&ours, &theirs));
    out.push_str(&table(&rows));
    out
}

/// A line for each row.
pub(super) fn table(rows: &[Row]) -> String {
    let mut out =
        "\n| what | this run | second run | second relative to first | |\n|---|--:|--:|--:|---|\n"
            .to_owned();
    for row in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            text(&row.place),
            row.first,
            row.second,
            row.outcome.ratio(),
            row.outcome.word()
        );
    }
    out
}

/// How many agree, and how many would not by chance.
pub(super) fn told_of(rows: &[Row]) -> String {
    let mut out = String::new();
    let kinds = [
        (Kind::Curve, "curve"),
        (Kind::Ratio, "ratio"),
        (Kind::Number, "number with a unit"),
        (Kind::Rule, "count of trials in which a rule spoke"),
    ];
    for (kind, name) in kinds {
        let of_kind = || rows.iter().filter(|row| row.kind == kind);
        let compared: Vec<bool> = of_kind().filter_map(|row| row.outcome.agrees()).collect();
        let left_out = of_kind().count() - compared.len();
        if of_kind().count() == 0 {
            continue;
        }
        let all = u32::try_from(compared.len()).unwrap_or(u32::MAX);
        let differing = compared.iter().filter(|agrees| !**agrees).count();
        let what = match name.split_once(' ') {
            Some((head, rest)) => format!("{} {rest}", words::plural(u64::from(all), head)),
            None => words::plural(u64::from(all), name),
        };
        let verb = if differing == 1 {
            "disagrees"
        } else {
            "disagree"
        };
        let _ = write!(out, "- {what}: {} {verb}", words::count(differing as u64));
        match kind {
            Kind::Curve => out.push_str(" (no class of growth is possible in both runs)"),
            Kind::Rule => out.push_str(" (it spoke in one of the runs only)"),
            Kind::Ratio | Kind::Number => {
                let chance = differing_at_most(all);
                let _ = write!(
                    out,
                    "; if nothing had changed, at most {chance} would by chance, 95 times in 100 \
                     (counted as if none depended on another)"
                );
            }
        }
        if left_out > 0 {
            let _ = write!(
                out,
                "; {} more cannot be compared",
                words::count(left_out as u64)
            );
        }
        out.push_str(".\n");
    }
    out
}

/// Each number that was asked for or stands in the notes, once.
fn asked(first: &Run, second: &Run, notes: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for demand in first.asked.iter().cloned().chain(notes::named(notes)) {
        let Ok(ours) = number(first, &demand) else {
            continue;
        };
        if rows
            .iter()
            .any(|row| row.place == ours.place && row.first == value(&ours))
        {
            continue;
        }
        rows.push(match number(second, &demand) {
            Ok(theirs) => row(&ours, &theirs),
            Err(why) => Row {
                second: "–".to_owned(),
                outcome: Outcome::Not(why.text("in the second run")),
                ..row(&ours, &ours)
            },
        });
    }
    rows
}

/// The declared comparisons, but for those whose numbers were asked for, too.
fn add_declared(rows: &mut Vec<Row>, ours: &[Comparison], theirs: &[Comparison]) {
    for (comparison, rival) in declared(ours) {
        let rounds = ratios(rival);
        if !rounds.is_empty() && rows.iter().any(|row| row.rounds == rounds) {
            continue;
        }
        rows.push(declared_row(
            comparison,
            rival,
            partner(theirs, comparison, rival),
        ));
    }
}

fn row(first: &Number, second: &Number) -> Row {
    let is_rule = first.rounds.is_empty() && first.status.is_none();
    let kind = match (is_rule, first.is_ratio) {
        (true, _) => Kind::Rule,
        (false, true) => Kind::Ratio,
        (false, false) => Kind::Number,
    };
    let outcome = match kind {
        Kind::Rule if first.trials.is_empty() == second.trials.is_empty() => Outcome::Same,
        Kind::Rule => Outcome::Other,
        Kind::Curve | Kind::Ratio | Kind::Number => {
            compared([first, second].map(worth_of), &first.rounds, &second.rounds)
        }
    };
    Row {
        place: first.place.clone(),
        first: value(first),
        second: value(second),
        rounds: first.rounds.clone(),
        kind,
        outcome,
    }
}

const fn worth_of(number: &Number) -> Standing {
    match number.standing {
        Standing::Struck => Standing::Struck,
        _ if number.is_bound => Standing::AtLeast,
        standing => standing,
    }
}

/// A number that is invalid says nothing, and bounds are not values.
fn compared(worth: [Standing; 2], first: &[f64], second: &[f64]) -> Outcome {
    let [one, other] = worth;
    let not = |why: &str| Outcome::Not(why.to_owned());
    match (one, other) {
        (Standing::Struck, Standing::Struck) => not("invalid in both"),
        (Standing::Struck, _) => not("invalid in the first"),
        (_, Standing::Struck) => not("invalid in the second"),
        (Standing::AtLeast, _) | (_, Standing::AtLeast) => not("a bound"),
        _ => Outcome::Held(held(first, second)),
    }
}

/// All declared comparisons, one for each rival.
fn declared(of: &[Comparison]) -> impl Iterator<Item = (&Comparison, &Rival)> {
    of.iter()
        .flat_map(|one| one.rivals.iter().map(move |rival| (one, rival)))
}

/// The same comparison in the other run.
fn partner<'a>(
    theirs: &'a [Comparison],
    comparison: &Comparison,
    rival: &Rival,
) -> Option<(&'a Comparison, &'a Rival)> {
    declared(theirs).find(|(other, their_rival)| {
        other.workload == comparison.workload
            && other.load == comparison.load
            && other.reference.server == comparison.reference.server
            && their_rival.racer.server == rival.racer.server
    })
}

fn declared_row(
    comparison: &Comparison,
    rival: &Rival,
    other: Option<(&Comparison, &Rival)>,
) -> Row {
    let place = format!(
        "{} of {} relative to {}, {}, {}",
        comparison.quantity(),
        rival.racer.server,
        comparison.reference.server,
        comparison.workload,
        comparison.load.text()
    );
    let second = other.map(|(_, rival)| rival);
    let why_not = |rival: &Rival, which: &str| {
        let why = rival.forbidden.as_ref()?;
        Some(Outcome::Not(format!("not compared in the {which}: {why}")))
    };
    let outcome = match second {
        None => Outcome::Not("not measured in the second".to_owned()),
        Some(theirs) => why_not(rival, "first")
            .or_else(|| why_not(theirs, "second"))
            .unwrap_or_else(|| {
                let worth = [worth(rival), worth(theirs)];
                compared(worth, &ratios(rival), &ratios(theirs))
            }),
    };
    Row {
        place,
        first: ratio(rival),
        second: second.map_or_else(|| "–".to_owned(), ratio),
        rounds: ratios(rival),
        kind: Kind::Ratio,
        outcome,
    }
}

const fn worth(rival: &Rival) -> Standing {
    match rival.is_bound() {
        true => Standing::AtLeast,
        false => Standing::Sound,
    }
}

fn ratios(rival: &Rival) -> Vec<f64> {
    let estimate = rival.estimate.as_ref();
    estimate.map_or_else(Vec::new, verdict::pairs::Estimate::ratios)
}

fn ratio(rival: &Rival) -> String {
    let Some(ratio) = rival.ratio() else {
        return "–".to_owned();
    };
    let interval = rival.interval();
    let interval = interval.map_or_else(String::new, |found| format!(" {found}"));
    standing(&format!("{ratio} ×{interval}"), Standing::Sound)
}

/// Whether definite answers of the one are not those of the other.
fn answers(ours: &[Comparison], theirs: &[Comparison]) -> String {
    let (mut both, mut open, mut against) = (0, 0, Vec::new());
    for (comparison, rival) in declared(ours) {
        let Some((other, their_rival)) = partner(theirs, comparison, rival) else {
            continue;
        };
        let (Some(one), Some(two)) = (rival.answer, their_rival.answer) else {
            continue;
        };
        if !is_definite(one) || !is_definite(two) {
            open += 1;
            continue;
        }
        both += 1;
        if one != two {
            against.push(format!(
                "  - {}, {}: {} in this run, {} in the second.\n",
                text(&comparison.workload),
                text(&rival.racer.server),
                text(&comparison.answer(rival)),
                text(&other.answer(their_rival))
            ));
        }
    }
    let inconclusive = match open {
        0 => String::new(),
        1 => "; 1 is inconclusive in one run or both".to_owned(),
        open => format!(
            "; {} are inconclusive in one run or both",
            words::count(open)
        ),
    };
    match (both, open) {
        (0, 0) => String::new(),
        (0, _) => {
            format!("- No declared comparison has an answer in both runs{inconclusive}.\n")
        }
        _ => {
            let have = if both == 1 { "has" } else { "have" };
            let of = words::plural(both, "declared comparison");
            let count = words::count(against.len() as u64);
            format!(
                "- {of} {have} an answer in both runs: {count} of the answers contradict each \
                 other{inconclusive}.\n{}",
                against.concat()
            )
        }
    }
}

/// Whether it tells how the two compare.
const fn is_definite(answer: Answer) -> bool {
    matches!(answer, Answer::More | Answer::Less | Answer::Equivalent)
}
