//! The charts of a study: those that show most of what it asks.

use model::Claim;
use verdict::analysis::Measure;

use crate::chart::{Axis, Chart, Kind, Scale, Series};
use crate::digests::{Across, Cell, Run};
use crate::number::Unit;
use crate::plots::{PLOTS, Subject, add};

/// What shows most of an open loop: what came of the load over time, what of a load that changes
/// was lost, and how long answers took.
const FIRST: [&str; 3] = ["time", "lost", "spectrum"];

/// Two, with bars three, and the rate over time where users begin one after the other. Of the
/// workload that the original drew along an axis the first two charts of its
/// report, of an open loop those over time, of losses and of response times first; else, where
/// there are several workloads, rate and cost over all of them.
pub(super) fn chosen(run: &Run) -> Vec<Chart> {
    let workloads = run.workloads();
    let own = own(run, &workloads);
    if workloads.len() > 1 && own.is_none() {
        let charts = [
            across(
                run,
                "rate",
                "Right answers per second",
                Unit::PerSecond,
                |cell| cell.rate(),
            ),
            across(
                run,
                "cost",
                "CPU time of the server for a request",
                Unit::Microseconds,
                |cell| cell.value(Claim::Resources, |digest| digest.cpu_us),
            ),
        ];
        return charts
            .into_iter()
            .filter(|chart| !chart.is_empty())
            .collect();
    }
    let position = own.unwrap_or(0);
    let Some(workload) = workloads.get(position) else {
        return Vec::new();
    };
    let subject = Subject {
        run,
        workload,
        position,
    };
    let mut charts: Vec<Chart> = PLOTS.iter().flat_map(|plot| plot(&subject)).collect();
    charts.retain(|chart| !chart.is_empty());
    let is_open = run.digests().iter().any(|digest| digest.is_scheduled);
    let place = |chart: &Chart| match is_open {
        true => FIRST.iter().position(|kind| chart.id.starts_with(kind)),
        false => Some(0),
    };
    charts.sort_by_key(|chart| place(chart).unwrap_or(FIRST.len()));
    let is_of = |chart: &Chart, kind: &str| chart.id.starts_with(kind);
    let has_bars = charts.iter().any(|chart| is_of(chart, "bars-"));
    let number = 2 + usize::from(has_bars);
    // Where users begin one after the other, readers ask what of that was counted.
    let has_ramp = charts.iter().any(|chart| is_of(chart, "ramp-"));
    let mut places = 0..;
    charts.retain(|chart| {
        let is_first = places.next().is_some_and(|place| place < number);
        is_first || (has_ramp && is_of(chart, "time-"))
    });
    charts
}

/// The position of the one workload that the original published figures of, if it is measured along
/// an axis here: its readers want to see the shape of those curves again.
fn own(run: &Run, workloads: &[String]) -> Option<usize> {
    let mut published = run.published.iter().map(|one| one.workload.as_deref());
    let first = published.next()??;
    let is_alone = published.all(|other| other == Some(first));
    let is_along = Across::of(&run.cells(first)).joins();
    let position = || workloads.iter().position(|workload| workload == first);
    (is_alone && is_along).then(position)?
}

/// The best point of each server in each workload.
fn across(
    run: &Run,
    id: &str,
    name: &str,
    unit: Unit,
    measure: impl Fn(&Cell<'_>) -> Option<Measure>,
) -> Chart {
    let workloads = run.workloads();
    let mut all: Vec<Series> = Vec::new();
    for (look, (name, labels)) in run.over_workloads().into_iter().enumerate() {
        let mut series = Series::new(&name, look, Kind::Marks);
        for (x, workload) in (0_u32..).zip(&workloads) {
            let cells = run.cells(workload).into_iter();
            let rates = cells.filter(|cell| labels.iter().any(|label| label == cell.server()));
            let rates =
                rates.filter_map(|cell| Some(((cell.is_at_home(), cell.rate()?.median), cell)));
            let best = rates.max_by(|(one, _): &((bool, f64), _), (other, _)| {
                one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
            });
            if let Some(found) = best.and_then(|(_, cell)| measure(&cell)) {
                add(&mut series, f64::from(x), &found);
            }
        }
        all.push(series);
    }
    Chart {
        id: format!("study-{id}"),
        title: format!("{name}, by workload"),
        caption: "The best point of each server, over loopback and with CPUs apart where there is \
                  one: each dot is a round, the mark their median, the \
                  stroke its 95 % interval. A cross marks a number that does not count, an arrow \
                  one that the generator set."
            .to_owned(),
        x: Axis {
            name: "workload".to_owned(),
            unit: Unit::Count,
            scale: Scale::Category(short(&workloads)),
        },
        y: Axis {
            name: name.to_owned(),
            unit,
            scale: Scale::Log,
        },
        series: all,
    }
}

/// Names without the words that all begin with.
fn short(names: &[String]) -> Vec<String> {
    let words = |name: &String| name.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = names.iter().map(words).collect();
    let first = all.first().cloned().unwrap_or_default();
    let is_same = |place: usize| {
        all.iter()
            .all(|name| name.len() > place + 1 && name[place] == first[place])
    };
    let same = (0..first.len()).take_while(|place| is_same(*place)).count();
    all.iter().map(|name| name[same..].join(" ")).collect()
}
