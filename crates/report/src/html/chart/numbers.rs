//! A chart's numbers as a table: for readers without script, on paper, and for those who want to
//! know exactly.

use std::fmt::Write as _;

use super::super::table::Table;
use super::drawing::x_text;
use super::{escape, told};
use crate::chart::{Chart, Kind, Point, Series, Standing};

/// Above so many single measurements a table helps nobody; they are in the data beside the
/// report.
const DOTS_MAX: usize = 6_000;

/// The table.
pub(super) fn table(chart: &Chart) -> String {
    let dots: usize = chart.series.iter().map(|series| series.cloud.len()).sum();
    if dots == 0 {
        return wide(chart);
    }
    let mut html = long(chart, dots <= DOTS_MAX);
    if dots > DOTS_MAX {
        let _ = write!(
            html,
            "<p class=\"note\">{} points are drawn; all of them are in the data beside this report.</p>",
            crate::number::count(dots as u64)
        );
    }
    html
}

/// A value as it stands in a table: "at least" and struck through where due.
pub(in super::super) fn standing(text: &str, standing: Standing) -> String {
    let text = escape(text);
    match standing {
        Standing::Sound => text,
        Standing::AtLeast => format!("<span class=\"least\">at least {text}</span>"),
        Standing::Doubtful => {
            format!("<span class=\"doubt\" title=\"suspect\">{text}</span>")
        }
        Standing::Struck => format!("<s title=\"invalid\">{text}</s>"),
    }
}

/// A row for each point: its value, its interval, each measurement.
fn long(chart: &Chart, with_dots: bool) -> String {
    let value = format!("#{}", chart.y.name);
    let mut columns = vec!["", chart.x.name.as_str(), value.as_str(), "#interval"];
    if with_dots {
        columns.push("each round");
    }
    let mut table = Table::new(&chart.title, &columns);
    for series in told(chart) {
        let mut rest: Vec<&crate::chart::Dot> = series.cloud.iter().collect();
        for point in &series.points {
            let here: Vec<String> = rest
                .iter()
                .filter(|dot| same(dot.x, point.x))
                .map(|dot| standing(&chart.y.unit.show(dot.y), dot.standing))
                .collect();
            rest.retain(|dot| !same(dot.x, point.x));
            table
                .row()
                .head(&label(series))
                .number(&escape(&x_text(chart, point.x)))
                .number(&standing(&chart.y.unit.show(point.y), point.standing))
                .number(&interval(chart, point));
            if with_dots {
                table.cell(&format!(
                    "<span class=\"rounds\">{}</span>",
                    here.join(" · ")
                ));
            }
        }
        if !with_dots {
            continue;
        }
        for dot in rest {
            table
                .row()
                .head(&label(series))
                .number(&escape(&x_text(chart, dot.x)))
                .number(&standing(&chart.y.unit.show(dot.y), dot.standing))
                .number("")
                .cell("");
        }
    }
    table.finish()
}

/// A row for each series, a column for each place; turned round where there are many places.
fn wide(chart: &Chart) -> String {
    let points = told(chart).flat_map(|series| &series.points);
    let mut places: Vec<f64> = points.map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| same(*a, *b));
    let shown = told(chart).filter(|series| !series.points.is_empty());
    let shown: Vec<&Series> = shown.collect();
    let cell = |series: &Series, place: f64| {
        series
            .points
            .iter()
            .find(|point| same(point.x, place))
            .map_or_else(String::new, |point| {
                let mut html = standing(&chart.y.unit.show(point.y), point.standing);
                if point.interval.is_some() {
                    let _ = write!(html, " <small>{}</small>", interval(chart, point));
                }
                html
            })
    };
    if places.len() <= 12 {
        let names: Vec<String> = places
            .iter()
            .map(|place| format!("#{}", x_text(chart, *place)))
            .collect();
        let mut columns = vec![chart.x.name.as_str()];
        columns.extend(names.iter().map(String::as_str));
        let mut table = Table::new(&chart.title, &columns);
        for series in shown {
            table.row().head(&label(series));
            for place in &places {
                table.number(&cell(series, *place));
            }
        }
        return table.finish();
    }
    let names: Vec<String> = shown
        .iter()
        .map(|series| format!("#{}", name(series)))
        .collect();
    let mut columns = vec![chart.x.name.as_str()];
    columns.extend(names.iter().map(String::as_str));
    let mut table = Table::new(&chart.title, &columns);
    for place in &places {
        table.row().head(&escape(&x_text(chart, *place)));
        for series in &shown {
            table.number(&cell(series, *place));
        }
    }
    table.finish()
}

fn interval(chart: &Chart, point: &Point) -> String {
    point.interval.map_or_else(String::new, |interval| {
        escape(&super::range(chart, interval, point.is_open_above))
    })
}

fn name(series: &Series) -> String {
    match &series.part {
        Some(part) => format!("{} {part}", series.name),
        None => series.name.clone(),
    }
}

fn label(series: &Series) -> String {
    let text = escape(&name(series));
    if series.kind == Kind::Reference {
        format!("<em>{text}</em>")
    } else {
        text
    }
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(1.0)
}
