//! What the readers asked: each demand with a number and its trials, or why there is none.

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::asked::{Answer, Number, Told, answered, answers, convention, rest_on};
use crate::digests::Run;

/// So many trials of a number are linked; the others stand beside them in the table of all.
const LINKED: usize = 12;

/// The section; nothing where the experiment names no demands.
pub(super) fn section(run: &Run) -> String {
    table(&answers(run))
}

/// A row for each answer.
pub(super) fn table(answers: &[Answer]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let mut table = Table::stacked(
        "Demands and answers",
        &[
            "who",
            "demand",
            "#answer",
            "of what",
            "verdict",
            rest_on(answers),
        ],
    );
    for answer in answers {
        table.row().head(&escape(&answer.who)).text(&answer.demand);
        match &answer.told {
            Told::Number(number) => row(&mut table, number),
            Told::Not(why) => {
                table.number("–").text(why).text("–").text("–");
            }
        }
    }
    let mut html = format!("<p>{}</p>\n", escape(&answered(answers)));
    if let Some(said) = convention(answers) {
        html.push_str(&format!("<p>{}</p>\n", escape(said)));
    }
    html + &table.finish()
}

fn row(table: &mut Table, number: &Number) {
    let mut value = standing(&number.value, number.standing);
    if let Some(interval) = &number.interval {
        value.push_str(&format!(" <small>{}</small>", escape(interval)));
    }
    let mut place = escape(&number.place);
    if let Some(means) = &number.means {
        place.push_str(&format!("<br>{}", escape(means)));
    }
    let verdict = number.status.map_or_else(
        || "–".to_owned(),
        |status| format!("<span class=\"v {0}\">{0}</span>", status.name()),
    );
    table
        .number(&value)
        .cell(&place)
        .cell(&verdict)
        .cell(&match number.probes.is_empty() {
            true => links(&number.trials),
            false => of_probes(&number.probes),
        });
}

/// Where the curves of a probe begin on their page.
pub(super) fn place_of_probe(label: &str) -> String {
    format!("probe-{}", escape(label))
}

/// Links to the curves of probes.
fn of_probes(labels: &[String]) -> String {
    let link = |label: &String| {
        let (place, label) = (place_of_probe(label), escape(label));
        format!("<a href=\"#{place}\">{label}</a>")
    };
    let links: Vec<String> = labels.iter().map(link).collect();
    links.join(" ")
}

/// Links to the rows of trials.
fn links(trials: &[u32]) -> String {
    let each = trials.iter().take(LINKED);
    let each: Vec<String> = each
        .map(|number| format!("<a href=\"#trial-{number}\">{number}</a>"))
        .collect();
    let more = match trials.len().saturating_sub(LINKED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match each.is_empty() {
        true => "–".to_owned(),
        false => format!("{}{more}", each.join(" ")),
    }
}
