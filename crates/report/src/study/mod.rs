//! A study as a page of Markdown with its charts beside it: made from a stored run and from what
//! was written by hand, whose numbers are placeholders for those of the run.

mod again;
mod charts;
mod errors;
mod knee;
mod notes;
mod probes;
mod probes_again;
mod ranks;

use std::fmt::Write as _;

use model::Environment;
use verdict::words;

use crate::asked::{Answer, Number, Told, answered, answers, convention, rest_on};
use crate::chart::Chart;
use crate::digests::{Run, is_loud};
use crate::published::{WARNING, meaning, rows};

pub use notes::NoteError;
pub use probes::{AgainOfProbes, of_probes};

/// A page and what lies beside it.
#[derive(Clone, Debug)]
pub struct Study {
    /// The page.
    pub page: String,
    /// Its drawings, by the names of their files.
    pub drawings: Vec<(String, String)>,
}

/// So many trials of an answer are named.
const NAMED: usize = 6;

/// What every page says of itself.
const MADE: &str = "This page is generated from stored trials by `cargo xtask studies`. To change \
                    it, change its notes or its record, and generate it again.\n";
/// The heading of what was written by hand.
const NOTES: &str = "\n## What the original got right and wrong\n\n";

/// A run that was made again: what the numbers of the first are held against.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    /// The second run.
    pub run: &'a Run,
    /// Where its trials lie, as a link.
    pub record: &'a str,
}

/// Makes the page called `name`. `record` says where the trials lie, as a link; `notes` is what was
/// written by hand, and may be empty; `again` is a second run, where there is one.
pub fn study(
    run: &Run,
    name: &str,
    record: &str,
    notes: &str,
    again: Option<Again<'_>>,
) -> Result<Study, NoteError> {
    let mut page = format!("# {}\n\n", text(&run.name));
    let _ = writeln!(page, "{}\n", text(&run.question));
    page.push_str(MADE);
    page.push_str(&how(run, record));
    page.push_str(&answer(run));
    let drawings = draw(&mut page, name, &charts::chosen(run));
    page.push_str(&knee::section(run));
    page.push_str(&errors::section(run));
    page.push_str(&then_and_now(run));
    let said = " Trials have their numbers in the record.";
    page.push_str(&asked_table(&answers(run), said));
    page.push_str(&doubts(run));
    if !notes.trim().is_empty() {
        let filled = notes::fill(notes, &|placeholder| notes::number(run, placeholder))?;
        let _ = writeln!(page, "{NOTES}{}", filled.trim());
    }
    if let Some(second) = again {
        page.push_str(&again::section(run, second, notes));
    }
    Ok(Study { page, drawings })
}

/// Puts the charts into the page: the drawings that lie beside it, by the names of their files.
fn draw(page: &mut String, name: &str, charts: &[Chart]) -> Vec<(String, String)> {
    let numbered = (1..).zip(charts);
    let drawn = numbered.map(|(number, chart)| {
        let file = format!("{name}-{number}.svg");
        let (title, caption) = (text(&chart.title), text(&chart.caption));
        let _ = write!(page, "\n![{title}]({file})\n\n{caption}\n");
        (file, crate::html::drawing(chart))
    });
    drawn.collect()
}

/// Which machine, which command, and what was cut.
fn how(run: &Run, record: &str) -> String {
    let mut out = "\n## How it was run\n\n".to_owned();
    if let Some(command) = &run.command {
        let _ = write!(out, "```sh\n{command}\n```\n\n");
    }
    if let Some(environment) = run.environment() {
        out.push_str(&machine(environment));
    }
    for (label, server) in run.servers() {
        let version = &server.version;
        if !version.is_empty() {
            let _ = writeln!(out, "- {}: {}", text(label), text(version));
        }
    }
    let trials = words::plural(run.digests().len() as u64, "trial");
    let rounds = words::plural(u64::from(run.rounds()), "round");
    let _ = writeln!(out, "- {trials} in {rounds}: [the record]({record})");
    out.push_str(&whole(record));
    for note in run.said_first() {
        let _ = writeln!(out, "- {}", text(&note));
    }
    out
}

/// How to see all that a record has.
fn whole(record: &str) -> String {
    let record = record.trim_start_matches("../");
    format!(
        "- All that was measured and read, more than this page shows: \
         `triathlon report {record} --html page.html`\n"
    )
}

/// What it ran on, and with which version.
fn machine(environment: &Environment) -> String {
    let mut out = String::new();
    let or_unknown = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".into());
    let cpus = words::plural(environment.cpus_online.len() as u64, "CPU");
    let _ = writeln!(
        out,
        "- {}, {cpus}, {} of memory, {}",
        text(&or_unknown(&environment.cpu_model)),
        environment
            .memory
            .map_or_else(|| "unknown".into(), |bytes| bytes.to_string()),
        match environment.virtualised {
            Some(true) => "a virtual machine",
            Some(false) => "no virtual machine",
            None => "whether virtual is unknown",
        }
    );
    let _ = writeln!(
        out,
        "- {}, {}",
        text(&or_unknown(&environment.kernel)),
        text(&or_unknown(&environment.system))
    );
    let tool = &environment.tool;
    let commit = tool.commit.as_ref();
    let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    let _ = writeln!(out, "- triathlon {}{commit}", tool.version);
    out
}

/// The answer with its certainty.
fn answer(run: &Run) -> String {
    let mut out = "\n## The answer here\n".to_owned();
    for sentence in run.in_the_way() {
        let _ = write!(out, "\n{}\n", text(&sentence));
    }
    for (comparison, spoilt) in run.answers() {
        let _ = write!(out, "\n**{}**\n\n", text(&comparison.sentence()));
        let said = comparison.certainty().into_iter();
        for sentence in said.chain(comparison.cost()).chain(spoilt) {
            let _ = writeln!(out, "- {}", text(&sentence));
        }
        out.push_str(&ranks::table(run, &comparison));
    }
    out
}

fn then_and_now(run: &Run) -> String {
    let rows = rows(run);
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n## Then and now\n\n**{WARNING}** {}\n\n\
         | what | here | then | now | now / then | source |\n|---|---|--:|--:|--:|---|\n",
        meaning(&rows)
    );
    for row in &rows {
        let (now, ratio) = match &row.now {
            Ok(now) => {
                let of = now.number.standing;
                (standing(&now.number.value, of), standing(&now.ratio, of))
            }
            Err(_) => ("–".to_owned(), "–".to_owned()),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {now} | {ratio} | {} |",
            text(row.what),
            text(&row.here()),
            text(&row.then_with_unit()),
            text(row.source)
        );
    }
    out
}

/// The table of demands; `said` stands behind how many are answered.
fn asked_table(answers: &[Answer], said: &str) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let rest_on = rest_on(answers);
    let convention = convention(answers).map(|said| format!(" {said}"));
    let mut out = format!(
        "\n## What the readers asked\n\n{}{said}{}\n\n\
         | who | demand | answer | of what | verdict | {rest_on} |\n|---|---|--:|---|---|---|\n",
        answered(answers),
        convention.unwrap_or_default()
    );
    for answer in answers {
        let _ = write!(out, "| {} | {} | ", text(&answer.who), text(&answer.demand));
        match &answer.told {
            Told::Number(number) => {
                let means = number.means.as_ref();
                let means = means.map_or_else(String::new, |means| format!(": {means}"));
                let _ = writeln!(
                    out,
                    "{} | {} | {} | {} |",
                    value(number),
                    text(&format!("{}{means}", number.place)),
                    number.status.map_or("–", model::Status::name),
                    stored(number)
                );
            }
            Told::Not(why) => {
                let _ = writeln!(out, "– | {} | – | – |", text(why));
            }
        }
    }
    out
}

/// What a number rests on: its trials by number, or results of probes by their labels.
fn stored(number: &Number) -> String {
    match number.probes.is_empty() {
        true => trials(&number.trials),
        false => text(&number.probes.join(", ")),
    }
}

/// What is invalid or suspect, and why.
fn doubts(run: &Run) -> String {
    let mut out = "\n## What is invalid or suspect\n\n".to_owned();
    let cells: Vec<_> = run
        .workloads()
        .iter()
        .flat_map(|name| run.cells(name))
        .collect();
    let worth: Vec<String> = ["invalid", "suspect", "unknown", "valid"]
        .into_iter()
        .filter_map(|name| {
            let count = cells
                .iter()
                .filter(|cell| cell.status().name() == name)
                .count();
            (count > 0).then(|| format!("{} {name}", words::count(count as u64)))
        })
        .collect();
    let points = words::plural(cells.len() as u64, "point");
    let _ = writeln!(out, "{points}: {}.\n", words::list(&worth));
    for heard in run
        .heard()
        .into_iter()
        .filter(|heard| is_loud(&heard.finding))
    {
        let finding = &heard.finding;
        let trials = words::plural(heard.trials as u64, "trial");
        let _ = writeln!(
            out,
            "- {} in {trials} ({} {}), first: {}",
            finding.worst().name(),
            finding.rule,
            finding.name,
            text(&finding.say)
        );
    }
    out
}

fn value(number: &Number) -> String {
    let interval = number.interval.as_ref();
    let interval = interval.map_or_else(String::new, |text| format!(" {}", self::text(text)));
    format!("{}{interval}", standing(&number.value, number.standing))
}

/// A number as far as it may be believed.
fn standing(number: &str, standing: verdict::analysis::Standing) -> String {
    use verdict::analysis::Standing;
    let number = text(number);
    match standing {
        Standing::Sound => number,
        Standing::AtLeast => format!("at least {number}"),
        Standing::Doubtful => format!("{number} (suspect)"),
        Standing::Struck => format!("~~{number}~~ (invalid)"),
    }
}

fn trials(numbers: &[u32]) -> String {
    let first: Vec<String> = numbers.iter().take(NAMED).map(u32::to_string).collect();
    match numbers.len().saturating_sub(NAMED) {
        0 if first.is_empty() => "–".to_owned(),
        0 => first.join(" "),
        more => format!("{} and {more} more", first.join(" ")),
    }
}

/// Text that is no markup and stays in its cell.
fn text(text: &str) -> String {
    crate::compare::plain_cell(text)
}

#[cfg(test)]
mod tests;
