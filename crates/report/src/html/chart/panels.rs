//! A chart of more things than there are looks: a panel for each, in which all others are grey.
//!
//! Past the last look colours repeat, and lines of that many things cover each other. A panel names
//! its line in its heading, so no legend must be searched; all panels have the same axes, and the
//! one whose line ends highest comes first.

use std::fmt::Write as _;

use super::drawing::{
    LINE, Plot, RIGHT, Size, TOP, broken, description, floor_height, left_of, marks,
};
use super::escape;
use super::readout::colour;
use crate::chart::scale::index;
use crate::chart::{Chart, Kind, LOOKS, Scale, Series, Standing};

/// The height of the plot area of a panel.
const HEIGHT: f64 = 88.0;
/// Between columns: what is written at the last mark of one does not touch that of the next.
const GAP: f64 = 30.0;
/// The least a column may have.
const WIDTH_MIN: f64 = 120.0;
/// Columns at most.
const COLUMNS: usize = 4;
/// Above the panels, for the name of the axis.
const HEAD: f64 = 24.0;
/// From one mark of the axis up to the next, at least.
const BETWEEN_MARKS: f64 = 21.0;

/// The names that get a panel each, in order; none where the chart is one plot.
pub(super) fn names(chart: &Chart) -> Option<Vec<&str>> {
    let all = chart.legend();
    let mut named: Vec<&Series> = all.into_iter().filter(|series| is_own(series)).collect();
    let is_joined = !matches!(chart.x.scale, Scale::Category(_));
    if named.len() <= LOOKS || !is_joined || !chart.series.iter().all(has_place) {
        return None;
    }
    named.sort_by(|one, other| end(other).total_cmp(&end(one)));
    Some(
        named
            .into_iter()
            .map(|series| series.name.as_str())
            .collect(),
    )
}

/// Whether a series has a panel of its own; what others are held against is in each.
pub(super) const fn is_own(series: &Series) -> bool {
    !matches!(series.kind, Kind::Reference | Kind::Shade)
}

/// Whether a panel can show it. Bars share the room across, and clouds hide each other.
const fn has_place(series: &Series) -> bool {
    match series.kind {
        Kind::Curve | Kind::Line | Kind::Marks | Kind::Reference | Kind::Shade | Kind::Trace => {
            true
        }
        Kind::Bar { .. } | Kind::Scatter | Kind::Sum { .. } => false,
    }
}

/// Where a line ends: its last number that counts.
fn end(series: &Series) -> f64 {
    let mut points = series.points.iter().rev();
    let counts = |standing| standing != Standing::Struck;
    let last = points.find(|point| counts(point.standing));
    last.map_or(f64::NEG_INFINITY, |point| point.y)
}

/// Where the panels stand.
struct Layout {
    columns: usize,
    count: usize,
    left: f64,
    /// The width of a plot area.
    width: f64,
    /// Lines of the longest heading.
    lines: usize,
}

impl Layout {
    fn of(chart: &Chart, names: &[&str], size: Size) -> Self {
        let left = left_of(&chart.placings().1);
        let room = |columns: usize| {
            let between = GAP * index(columns - 1);
            (size.width() - left - RIGHT - between) / index(columns)
        };
        let fits = |columns: &usize| room(*columns) >= WIDTH_MIN;
        let columns = (1..=COLUMNS).rev().find(fits).unwrap_or(1);
        let width = room(columns);
        let lines = names.iter().map(|name| broken(name, width + GAP).len());
        Self {
            columns,
            count: names.len(),
            left,
            width,
            lines: lines.max().unwrap_or(1),
        }
    }

    /// From row to row.
    fn pitch(&self) -> f64 {
        self.heading() + HEIGHT + 12.0
    }

    fn heading(&self) -> f64 {
        LINE * index(self.lines) + 6.0
    }

    fn rows(&self) -> usize {
        self.count.div_ceil(self.columns)
    }

    fn height(&self) -> f64 {
        HEAD + self.pitch() * index(self.rows()) + 44.0
    }

    /// The upper left corner of a plot area.
    fn corner(&self, place: usize) -> (f64, f64) {
        let (row, column) = (place / self.columns, place % self.columns);
        let x = self.left + (self.width + GAP) * index(column);
        let y = HEAD + self.pitch() * index(row) + self.heading();
        (x, y)
    }

    /// Whether no panel stands below.
    const fn is_last_of_column(&self, place: usize) -> bool {
        place + self.columns >= self.count
    }
}

/// The whole drawing, and how high it is.
pub(super) fn svg(chart: &Chart, names: &[&str], size: Size) -> (String, f64) {
    let layout = Layout::of(chart, names, size);
    let (x, y) = chart.placings();
    // A plot that is one panel: its area begins at the left, below the usual room at the top.
    let plot = Plot {
        chart,
        size: size.resized(layout.width + RIGHT, TOP + HEIGHT + floor_height(1)),
        marks: Vec::new(),
        left: 0.0,
        x,
        y,
        stacks: 0,
    };
    let id = format!("{}-{}-others", chart.id, size.class());
    let (width, height) = (size.width(), layout.height());
    let mut svg = format!(
        "<svg class=\"still many {}\" viewBox=\"0 0 {width} {height:.0}\" role=\"img\" \
         aria-label=\"{}\"><defs><g id=\"{}\">",
        size.class(),
        escape(&description(chart)),
        escape(&id)
    );
    backdrop(&mut svg, &plot);
    svg.push_str("</g></defs>");
    for (place, name) in names.iter().enumerate() {
        panel(&mut svg, &plot, &layout, (place, name), &id);
    }
    let _ = write!(
        svg,
        "<text class=\"name\" x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\
         <text class=\"name\" x=\"8\" y=\"16\">{}</text>\
         <path class=\"cursor\" d=\"M0 0v{HEIGHT}\"/></svg>",
        width - RIGHT,
        height - 8.0,
        escape(&chart.x.name),
        escape(&chart.y.name)
    );
    (svg, height)
}

/// What is in each panel: the lines of all in grey, and what they are held against.
fn backdrop(svg: &mut String, plot: &Plot<'_>) {
    for tick in ticks(plot) {
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M0 {:.1}h{:.1}\"/>",
            plot.up(tick),
            plot.size.width() - RIGHT
        );
    }
    let floor = TOP + HEIGHT;
    let width = plot.size.width() - RIGHT;
    let _ = write!(svg, "<path class=\"axis\" d=\"M0 {floor}h{width:.1}\"/>");
    for series in &plot.chart.series {
        let alone = Series {
            cloud: Vec::new(),
            ..series.clone()
        };
        match series.kind {
            Kind::Reference => {
                let name = escape(&series.name);
                let _ = write!(
                    svg,
                    "<g data-name=\"{name}\" style=\"--c:{}\">",
                    colour(series)
                );
                plot.line(svg, &alone);
                svg.push_str("</g>");
            }
            Kind::Shade => plot.shade(svg, series),
            Kind::Marks => {
                let _ = write!(svg, "<path class=\"other dots\" d=\"");
                for point in &series.points {
                    let _ = write!(
                        svg,
                        "M{:.1} {:.1}h0",
                        plot.across(point.x),
                        plot.up(point.y)
                    );
                }
                svg.push_str("\"/>");
            }
            _ => {
                let path = plot.path(series);
                let _ = write!(svg, "<path class=\"other line\" d=\"{path}\"/>");
            }
        }
    }
}

/// The marks up: as many as have room.
fn ticks(plot: &Plot<'_>) -> Vec<f64> {
    let ticks = plot.y.ticks();
    let fits = |every: &usize| {
        let kept: Vec<f64> = ticks
            .iter()
            .step_by(*every)
            .map(|tick| plot.up(*tick))
            .collect();
        kept.windows(2).all(|two| two[0] - two[1] >= BETWEEN_MARKS)
    };
    let every = (1..ticks.len().max(2)).find(fits).unwrap_or(ticks.len());
    ticks.into_iter().step_by(every.max(1)).collect()
}

/// One panel: its heading, what is in each, and its own line over that.
fn panel(
    svg: &mut String,
    plot: &Plot<'_>,
    layout: &Layout,
    (place, name): (usize, &str),
    backdrop: &str,
) {
    let (x, y) = layout.corner(place);
    let _ = write!(
        svg,
        "<g class=\"panel\" data-name=\"{}\" data-left=\"{x:.1}\" data-right=\"{:.1}\" \
         data-top=\"{y:.1}\" data-bottom=\"{:.1}\" transform=\"translate({x:.1} {:.1})\">",
        escape(name),
        x + layout.width,
        y + HEIGHT,
        y - TOP
    );
    let heading = broken(name, layout.width + GAP);
    for (number, line) in heading.iter().rev().enumerate() {
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"0\" y=\"{:.1}\">{}</text>",
            TOP - 6.0 - LINE * index(number),
            escape(line)
        );
    }
    let _ = write!(svg, "<use href=\"#{}\"/>", escape(backdrop));
    for series in plot
        .chart
        .series
        .iter()
        .filter(|series| series.name == name)
    {
        let _ = write!(svg, "<g style=\"--c:{}\">", colour(series));
        plot.line(svg, series);
        svg.push_str("</g>");
    }
    if place % layout.columns == 0 {
        for tick in ticks(plot) {
            let _ = write!(
                svg,
                "<text class=\"y\" x=\"-8\" y=\"{:.1}\">{}</text>",
                plot.up(tick) + 4.0,
                escape(&plot.y.label(tick))
            );
        }
    }
    if layout.is_last_of_column(place) {
        let floor = TOP + HEIGHT;
        for (tick, lines) in marks(plot.chart, &plot.x, layout.width) {
            let x = plot.across(tick);
            let _ = write!(
                svg,
                "<path class=\"axis\" d=\"M{x:.1} {floor}v5\"/>\
                 <text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                floor + 6.0 + LINE,
                escape(&lines.concat())
            );
        }
    }
    svg.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::super::{Room, figure, file};
    use super::*;
    use crate::chart::{Axis, Dot, Point};
    use crate::number::Unit;

    /// So many lines from 0 to their number, the first the lowest, below a ceiling.
    fn chart(count: u32, kind: Kind) -> Chart {
        let axis = |name: &str| Axis {
            name: name.to_owned(),
            unit: Unit::Count,
            scale: Scale::Linear,
        };
        let mut ceiling = Series::new("ceiling", 0, Kind::Reference);
        ceiling.points = vec![Point::new(1.0, 50.0), Point::new(9.0, 50.0)];
        let lines = (1..=count).map(|number| {
            let mut line = Series::new(format!("server {number:02}"), number as usize - 1, kind);
            let y = f64::from(number);
            line.points = vec![Point::new(1.0, 0.0), Point::new(9.0, y)];
            line.cloud = vec![Dot {
                x: 9.0,
                y,
                standing: Standing::Sound,
            }];
            line
        });
        Chart {
            id: "rate-1".to_owned(),
            title: "Rate".to_owned(),
            caption: String::new(),
            x: axis("connections"),
            y: axis("answers"),
            series: std::iter::once(ceiling).chain(lines).collect(),
        }
    }

    /// What stands between `begin` and `end`, each time.
    fn between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
        let parts = text.split(begin).skip(1);
        parts
            .filter_map(|part| part.split_once(end))
            .map(|(part, _)| part)
            .collect()
    }

    #[test]
    fn more_lines_than_looks_get_a_panel_each() {
        let check = |chart: &Chart, panels: usize| {
            for text in [figure(chart, 4, Room::Half), file(chart)] {
                // A page has one for telephones, too.
                let drawings = text.matches("class=\"still ").count();
                let found = text.matches("<g class=\"panel\"").count();
                assert_eq!(found, panels * drawings, "{text}");
            }
        };
        for kind in [Kind::Curve, Kind::Line, Kind::Marks, Kind::Trace] {
            check(&chart(8, kind), 0);
            check(&chart(9, kind), 9);
            check(&chart(40, kind), 40);
        }
        check(&chart(9, Kind::Scatter), 0);
        check(&chart(9, Kind::Bar { stack: 0 }), 0);
        let mut named = chart(9, Kind::Marks);
        named.x.scale = Scale::Category(vec!["a".to_owned(), "b".to_owned()]);
        check(&named, 0);
    }

    #[test]
    fn panels_stand_by_where_their_lines_end_and_name_them() {
        let mut chart = chart(10, Kind::Line);
        // What does not count is no end.
        chart.series[10].points[1].standing = Standing::Struck;
        let drawn = figure(&chart, 4, Room::Half);
        let wide = drawn
            .split("<svg class=\"still many narrow\"")
            .next()
            .unwrap();
        let names = between(wide, "<g class=\"panel\" data-name=\"", "\"");
        let mut expected: Vec<String> = (1..=9).rev().map(|n| format!("server {n:02}")).collect();
        expected.push("server 10".to_owned());
        assert_eq!(names, expected);
        // A heading names it; the legend says only what is in all panels.
        for name in &names {
            assert!(wide.contains(&format!(">{name}</text>")), "{name}: {wide}");
        }
        let keys = between(wide, "aria-pressed=\"true\" data-name=\"", "\"");
        assert_eq!(keys, ["ceiling"]);
        assert!(wide.contains("grey: all others"), "{wide}");
    }

    #[test]
    fn a_panel_has_its_own_dots_and_all_have_the_axes_of_the_chart() {
        let chart = chart(16, Kind::Line);
        for size in [super::super::drawing::FULL, super::super::drawing::NARROW] {
            let names = names(&chart).unwrap();
            let (svg, height) = svg(&chart, &names, size);
            // The backdrop is drawn once, and shown in each panel.
            assert_eq!(svg.matches("class=\"other line\"").count(), 16);
            assert_eq!(svg.matches("<use href=\"#rate-1-").count(), 16);
            let panels: Vec<&str> = svg.split("<g class=\"panel\"").skip(1).collect();
            let mut seen = std::collections::BTreeSet::new();
            for panel in panels {
                assert_eq!(panel.matches("class=\"dots\"").count(), 1, "{panel}");
                let place = |name: &str| -> f64 {
                    let begin = format!("data-{name}=\"");
                    between(panel, &begin, "\"")[0].parse().unwrap()
                };
                let [left, right] = ["left", "right"].map(place);
                let [top, bottom] = ["top", "bottom"].map(place);
                assert!(left >= 0.0 && right <= size.width() && left + 100.0 < right);
                assert!(top >= 0.0 && bottom <= height && top < bottom);
                assert!(
                    seen.insert(format!("{left:.0} {top:.0}")),
                    "two at one place"
                );
            }
        }
    }
}
