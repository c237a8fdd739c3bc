use model::fixture::Heat;
use verdict::compare::{Compared, Kind, Side, compare};

use super::*;

fn side(name: &str, seed: u64, factor: f64) -> Side {
    let mut side = Side::new(name, Kind::Lab);
    let heat = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        rounds: 8,
        seed,
        ..Heat::default()
    };
    for mut trial in heat.trials() {
        trial.record.achieved_rate *= factor;
        trial.environment.kernel = Some(format!("Linux <6.{seed}> | a"));
        side.add(&trial);
    }
    side
}

fn compared() -> Compared {
    compare(&side("old <results>", 1, 1.0), &side("new", 2, 0.9))
}

#[test]
fn the_text_has_what_differs_before_the_numbers_and_the_answers_before_the_rest() {
    let text = text(&compared());
    let order = [
        "A: old <results>\nB: new\n",
        "What differs in the environment:\n  kernel\n    A  Linux <6.1> | a\n    B  Linux <6.2> | a\n",
        "Same configuration, as far as it is known.",
        "Declared comparisons (ratio: B relative to A)\n  nginx, seven-bytes, 64 connections\n    \
         rate",
        "slower (margin 2.0 %)",
        "Everything else: intervals, no answers",
        "CPU per request",
        "Declared: 2 comparisons",
        "The two were measured at different times.",
    ];
    let mut rest = text.as_str();
    for part in order {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("{part} is not there, or too early:\n{text}"));
        rest = &rest[at..];
    }
    assert!(text.contains("(95.0 %)"), "{text}");
    assert!(!rest.contains("slower by"), "{text}");
}

#[test]
fn markdown_and_the_page_say_the_same_and_hold_no_markup_of_others() {
    let compared = compared();
    let markdown = markdown(&compared);
    let html = crate::html::comparison(&compared, &[]);
    for row in &compared.rows {
        assert!(
            markdown.contains(&row.text) && html.contains(&row.text),
            "{row:?}"
        );
        assert!(markdown.contains(&interval(row)) && html.contains(&interval(row)));
    }
    assert!(markdown.contains("| kernel | Linux &lt;6.1> \\| a | Linux &lt;6.2> \\| a |"));
    assert!(markdown.contains("- A: old &lt;results>\n"), "{markdown}");
    assert!(html.contains("Linux &lt;6.1&gt; | a") && html.contains("old &lt;results&gt;"));
    assert!(!html.contains("<results>"));
}

/// A study of two machines draws by how much the one is faster.
#[test]
fn the_page_draws_how_much_more_the_one_has() {
    let compared = compared();
    let html = crate::html::comparison(&compared, &[]);
    let (_, figure) = html.split_once("id=\"gain\"").expect("a figure");
    let (figure, _) = figure.split_once("</figure>").expect("its end");
    for row in compared.rows.iter().filter(|row| row.is_declared) {
        let gain = row.estimate.as_ref().unwrap().ratio - 1.0;
        assert!(gain < 0.0);
        let gain = Unit::Share.show(gain);
        assert!(figure.contains(&gain), "{gain}: {figure}");
    }
    // One row alone is read in the table.
    let mut one = compared;
    one.rows.truncate(1);
    assert!(!crate::html::comparison(&one, &[]).contains("id=\"gain\""));
}

#[test]
fn ratios_have_the_digits_that_mean_something() {
    for (ratio, text) in [
        (0.971_26, "0.971"),
        (1.0, "1.000"),
        (12.345, "12.3"),
        (1_234.5, "1,234"),
        (1e304, "no end"),
    ] {
        assert_eq!(times(ratio), text);
    }
}
