//! The page of two results laid over each other.

use std::fmt::Write as _;

use verdict::compare::{Compared, Difference, Row};

use super::frame::{self, ASSETS, Assets};
use super::table::Table;
use super::{escape, gains, probe};
use crate::compare::{brackets, fact, interval, ratio, tables, value};
use crate::probe::Side;

/// The page; `probes` are the results of probes, whose curves it lays over each other, too.
pub fn comparison(compared: &Compared, probes: &[Side<'_>]) -> String {
    assemble(compared, probes, &ASSETS)
}

pub(super) fn assemble(compared: &Compared, probes: &[Side<'_>], assets: &Assets) -> String {
    let [(declared, answers), (rest, others)] = tables(compared);
    let mut sections = vec![
        ("answers", "What differs between A and B", {
            let mut html = format!("<p>{}</p>\n", escape(compared.caveat));
            if let Some(said) = brackets(compared) {
                let _ = writeln!(html, "<p>{said}</p>");
            }
            html.push_str(&rows(declared, &answers));
            html.push_str(&gains::section(&answers));
            let _ = writeln!(html, "<p>{}</p>", escape(&compared.declared));
            for only in &compared.only {
                let _ = writeln!(html, "<p class=\"note\">{}.</p>", escape(only));
            }
            html
        }),
        ("everything", "Everything else", rows(rest, &others)),
        (
            "environment",
            "What differs around them",
            format!(
                "{}{}",
                differences("Environment", &compared.environment),
                differences("Configuration", &compared.configuration)
            ),
        ),
    ];
    if !probes.is_empty() {
        sections.extend(probe::sections(probes));
    }
    frame::page("A comparison", &header(compared), &sections, "", assets)
}

fn header(compared: &Compared) -> String {
    let mut html =
        "<header>\n<p class=\"kicker\">Triathlon</p>\n<h1>A comparison</h1>\n".to_owned();
    for (letter, name) in [("A", &compared.a), ("B", &compared.b)] {
        let _ = writeln!(html, "<p class=\"facts\">{letter}: {}</p>", escape(name));
    }
    let _ = write!(
        html,
        "<p class=\"facts\">results of {}</p>\n</header>\n",
        compared.kind.command()
    );
    html
}

fn rows(caption: &str, rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        "place",
        "metric",
        "#A",
        "#B",
        "#B ÷ A",
        "#interval",
        "answer",
    ];
    let mut table = Table::stacked(caption, &columns);
    for row in rows {
        table
            .row()
            .head(&escape(&row.place))
            .text(row.metric.label)
            .number(&escape(&value(row, &row.a)))
            .number(&escape(&value(row, &row.b)))
            .number(&escape(&ratio(row)))
            .number(&escape(&interval(row)))
            .text(&row.text);
    }
    table.finish()
}

fn differences(caption: &str, differences: &[Difference]) -> String {
    if differences.is_empty() {
        let caption = caption.to_lowercase();
        return format!("<p>Same {caption}, as far as it is known.</p>\n");
    }
    let mut table = Table::stacked(caption, &["what", "A", "B"]);
    for one in differences {
        let [a, b] = fact(one);
        table.row().head(&escape(&one.what)).text(&a).text(&b);
    }
    table.finish()
}
