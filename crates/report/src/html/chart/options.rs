//! A chart as options of Apache ECharts.
//!
//! Colours are names of the style sheet (`var(--s1)`), which the page's script replaces by what
//! they mean in light or dark; the script also adds what options cannot say in JSON: how numbers
//! are written, and the bands.

use charming::component::{Axis as EAxis, Grid, Legend};
use charming::datatype::{CompositeValue, DataFrame, NumericValue};
use charming::element::{
    AxisLabel, AxisTick, AxisType, ItemStyle, LineStyle, LineStyleType, SplitLine, Symbol, Tooltip,
    Trigger,
};
use charming::series::{Bar, Custom, Line, Scatter, Series as ESeries};
use serde_json::{Value, json};

use super::drawing::{x_text, x_ticks};
use super::{MARKS_LARGE, look};
use crate::chart::scale::Placing;
use crate::chart::{Axis, Chart, Kind, Point, Scale, Series, Standing};
use crate::number::rounded;

/// Above so many marks a canvas draws faster than a tree of elements.
const CANVAS_FROM: usize = 3_000;

/// What the script is given: the options, and what axes count.
pub(super) fn options(chart: &Chart) -> Value {
    let (x, y) = chart.placings();
    let (x_marks, y_marks) = (x_ticks(chart, &x), y.ticks());
    let trigger = if chart
        .series
        .iter()
        .any(|series| series.kind == Kind::Scatter)
    {
        Trigger::Item
    } else {
        Trigger::Axis
    };
    let mut options = charming::Chart::new()
        .animation(false)
        .grid(
            Grid::new()
                .left(8)
                .right(26)
                .top(12)
                .bottom(34)
                .contain_label(true),
        )
        .legend(Legend::new().show(false))
        .tooltip(Tooltip::new().trigger(trigger))
        .x_axis(axis(&chart.x, &x, &x_marks))
        .y_axis(axis(&chart.y, &y, &y_marks));
    for series in &chart.series {
        for drawn in draw(chart, series) {
            options = options.series(drawn);
        }
    }
    let marks: usize = chart
        .series
        .iter()
        .map(|series| series.points.len() + series.cloud.len())
        .sum();
    json!({
        "options": options,
        "x": about(&chart.x, &x, &x_marks),
        "y": about(&chart.y, &y, &y_marks),
        "renderer": if marks > CANVAS_FROM { "canvas" } else { "svg" },
    })
}

/// What the script is told of an axis: what is written at each mark, too.
fn about(axis: &Axis, placing: &Placing<'_>, marks: &[f64]) -> Value {
    let label = |mark: &f64| json!([scaled(&axis.scale, *mark), placing.label(*mark)]);
    let marks: Vec<Value> = marks.iter().map(label).collect();
    json!({
        "name": axis.name,
        "unit": axis.unit.name(),
        "scale": scale_name(&axis.scale),
        "marks": marks,
    })
}

const fn scale_name(scale: &Scale) -> &'static str {
    match scale {
        Scale::Category(_) => "category",
        Scale::Linear => "linear",
        Scale::Log => "log",
        Scale::Quantile => "quantile",
    }
}

fn axis(axis: &Axis, placing: &Placing<'_>, ticks: &[f64]) -> EAxis {
    let line = |colour: &str| SplitLine::new().line_style(LineStyle::new().color(colour).width(1));
    let made = EAxis::new()
        .name(axis.name.clone())
        .axis_label(AxisLabel::new().color("var(--muted)").font_size(12))
        .split_line(line("var(--grid)"));
    if let Scale::Category(names) = &axis.scale {
        return made.type_(AxisType::Category).data(names.clone());
    }
    let (low, high) = placing.ends();
    let marks: Vec<CompositeValue> = ticks
        .iter()
        .map(|tick| place(scaled(&axis.scale, *tick)))
        .collect();
    let type_ = match axis.scale {
        Scale::Log => AxisType::Log,
        _ => AxisType::Value,
    };
    made.type_(type_)
        .min(place(scaled(&axis.scale, low)))
        .max(place(scaled(&axis.scale, high)))
        .axis_tick(AxisTick::new().custom_values(marks.clone()))
        .axis_label(marks.into_iter().fold(
            AxisLabel::new().color("var(--muted)").font_size(12),
            // This setter adds one value; its twin on ticks takes all.
            AxisLabel::custom_values,
        ))
}

/// A value as the axis of the script counts it: it knows logarithms, but no quantiles.
fn scaled(scale: &Scale, value: f64) -> f64 {
    match scale {
        Scale::Quantile => scale.count(value),
        _ => value,
    }
}

fn draw(chart: &Chart, series: &Series) -> Vec<ESeries> {
    let colour = if series.kind == Kind::Reference {
        "var(--muted)".to_owned()
    } else {
        look::colour(series.look)
    };
    if let Kind::Bar { stack } = series.kind {
        return vec![bar(chart, series, stack, &colour)];
    }
    let mut drawn = Vec::new();
    let banded: Vec<&Point> = series
        .points
        .iter()
        .filter(|point| point.interval.is_some() && point.standing != Standing::Struck)
        .collect();
    if !banded.is_empty() {
        drawn.push(band(chart, series, &banded, &colour));
    }
    for struck in [false, true] {
        drawn.extend(cloud(chart, series, struck, &colour));
    }
    if !series.points.is_empty() {
        drawn.push(line(chart, series, &colour));
    }
    drawn.extend(marked(chart, series, &colour));
    drawn
}

fn name(series: &Series) -> String {
    series.name.clone()
}

/// The line through the medians: across, up, low, high, what part it is.
fn line(chart: &Chart, series: &Series, colour: &str) -> ESeries {
    let data: DataFrame = series
        .points
        .iter()
        .map(|point| {
            let y = match point.standing {
                Standing::Struck => CompositeValue::from("-"),
                _ => number(point.y),
            };
            let mut value = vec![number(scaled(&chart.x.scale, point.x)), y];
            if let Some((low, high)) = point.interval {
                value.extend([number(low), number(high)]);
            } else {
                value.extend([CompositeValue::from("-"), CompositeValue::from("-")]);
            }
            value.push(CompositeValue::from(standing_name(point.standing)));
            value.push(CompositeValue::from(
                series.part.clone().unwrap_or_default(),
            ));
            CompositeValue::from(value).into()
        })
        .collect();
    let bare = matches!(series.kind, Kind::Curve | Kind::Reference | Kind::Trace);
    let type_ = match series.kind {
        Kind::Reference => LineStyleType::Dotted,
        _ if series.light => LineStyleType::Dotted,
        Kind::Line if look::dashed(series.look) => LineStyleType::Dashed,
        _ => LineStyleType::Solid,
    };
    let size = match series.points.len() {
        _ if bare => 0,
        0..=MARKS_LARGE => 9,
        _ => 5,
    };
    let width = if series.kind == Kind::Trace { 1.2 } else { 2.0 };
    Line::new()
        .name(name(series))
        .symbol(Symbol::Custom(format!(
            "path://{}",
            look::symbol(series.look)
        )))
        .symbol_size(size)
        .show_symbol(!bare)
        .line_style(LineStyle::new().color(colour).width(width).type_(type_))
        .item_style(ItemStyle::new().color(colour))
        .z(4)
        .data(data)
        .into()
}

/// Points that are not as they seem: an arrow for "at least", a cross for "invalid".
fn marked(chart: &Chart, series: &Series, colour: &str) -> Vec<ESeries> {
    if series.kind != Kind::Line {
        return Vec::new();
    }
    [
        (Standing::AtLeast, look::AT_LEAST),
        (Standing::Struck, look::STRUCK),
    ]
    .into_iter()
    .filter_map(|(standing, symbol)| {
        let data: DataFrame = series
            .points
            .iter()
            .filter(|point| point.standing == standing)
            .map(|point| pair(chart, point.x, point.y))
            .collect();
        (!data.is_empty()).then(|| {
            Scatter::new()
                .id(format!("{}:{}:mark", series.name, standing_name(standing)))
                .name(name(series))
                .symbol(Symbol::Custom(format!("path://{symbol}")))
                .symbol_size(11)
                .item_style(ItemStyle::new().color(colour).opacity(1))
                .data(data)
                .into()
        })
    })
    .collect()
}

/// Each measurement by itself.
fn cloud(chart: &Chart, series: &Series, struck: bool, colour: &str) -> Option<ESeries> {
    let data: DataFrame = series
        .cloud
        .iter()
        .filter(|dot| (dot.standing == Standing::Struck) == struck)
        .map(|dot| pair(chart, dot.x, dot.y))
        .collect();
    if data.is_empty() {
        return None;
    }
    let (symbol, size) = if struck {
        (Symbol::Custom(format!("path://{}", look::STRUCK)), 8)
    } else if series.kind == Kind::Scatter {
        (Symbol::Circle, 3)
    } else {
        (Symbol::Circle, 5)
    };
    Some(
        Scatter::new()
            .name(name(series))
            .symbol(symbol)
            .symbol_size(size)
            .item_style(ItemStyle::new().color(colour).opacity(0.45))
            .data(data)
            .into(),
    )
}

/// The interval, drawn by the script: across, low, high.
fn band(chart: &Chart, series: &Series, points: &[&Point], colour: &str) -> ESeries {
    let data: DataFrame = points
        .iter()
        .filter_map(|point| {
            let (low, high) = point.interval?;
            let value = vec![
                number(scaled(&chart.x.scale, point.x)),
                number(low),
                number(high),
            ];
            Some(CompositeValue::from(value).into())
        })
        .collect();
    Custom::new()
        .name(name(series))
        .item_style(ItemStyle::new().color(colour).opacity(0.16))
        .data(data)
        .into()
}

fn bar(chart: &Chart, series: &Series, stack: usize, colour: &str) -> ESeries {
    let data: DataFrame = series
        .points
        .iter()
        .map(|point| {
            let value = vec![
                CompositeValue::from(x_text(chart, point.x)),
                number(point.y),
                CompositeValue::from("-"),
                CompositeValue::from("-"),
                CompositeValue::from(standing_name(point.standing)),
                CompositeValue::from(series.part.clone().unwrap_or_default()),
            ];
            CompositeValue::from(value).into()
        })
        .collect();
    let half = if series.light { "light" } else { "solid" };
    Bar::new()
        .id(format!("{stack}:{half}"))
        .name(name(series))
        .stack(stack.to_string())
        .item_style(
            ItemStyle::new()
                .color(colour)
                .opacity(if series.light { 0.4 } else { 1.0 }),
        )
        .data(data)
        .into()
}

fn pair(chart: &Chart, x: f64, y: f64) -> charming::datatype::DataPoint {
    CompositeValue::from(vec![number(scaled(&chart.x.scale, x)), number(y)]).into()
}

const fn standing_name(standing: Standing) -> &'static str {
    match standing {
        Standing::Sound => "",
        Standing::AtLeast => "at least",
        Standing::Doubtful => "suspect",
        Standing::Struck => "invalid",
    }
}

/// A place on an axis: whole numbers as they are, because 5 MiB have seven digits.
fn place(value: f64) -> CompositeValue {
    if value.fract() == 0.0 {
        exactly(value)
    } else {
        number(value)
    }
}

/// A number in as few bytes as show it.
fn number(value: f64) -> CompositeValue {
    exactly(rounded(value))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "checked to be whole and small"
)]
fn exactly(value: f64) -> CompositeValue {
    CompositeValue::Number(if value.fract() == 0.0 && value.abs() < 1e15 {
        NumericValue::Integer(value as i64)
    } else {
        NumericValue::Float(value)
    })
}
