//! What a review or a ticket shows.

use std::fmt::Write as _;

use verdict::compare::Compared;

use super::{brackets, fact, interval, ratio, surroundings, tables, value};

/// The same as the text, as tables of GitHub's Markdown.
pub fn markdown(compared: &Compared) -> String {
    let mut text = format!(
        "## Comparison\n\n- A: {}\n- B: {}\n",
        cell(&compared.a),
        cell(&compared.b)
    );
    for (heading, rows) in tables(compared) {
        if rows.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n### {heading}\n\n| place | metric | A | B | B ÷ A | interval | answer |\n\
             |---|---|--:|--:|--:|--:|---|\n"
        );
        for row in rows {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                cell(&row.place),
                row.metric.label,
                value(row, &row.a),
                value(row, &row.b),
                ratio(row),
                interval(row),
                cell(&row.text)
            );
        }
    }
    for only in &compared.only {
        let _ = write!(text, "\n{}\n", cell(only));
    }
    for (name, differences) in surroundings(compared) {
        if differences.is_empty() {
            let _ = write!(text, "\nSame {name}, as far as it is known.\n");
            continue;
        }
        let _ = write!(
            text,
            "\n### What differs in the {name}\n\n| what | A | B |\n|---|---|---|\n"
        );
        for one in differences {
            let [a, b] = fact(one).map(|text| cell(&text));
            let _ = writeln!(text, "| {} | {a} | {b} |", cell(&one.what));
        }
    }
    let _ = write!(text, "\n{}\n\n{}\n", compared.declared, compared.caveat);
    if let Some(brackets) = brackets(compared) {
        let _ = writeln!(text, "\n{brackets}");
    }
    text
}

/// Text that is no markup and stays in its cell.
pub(crate) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
