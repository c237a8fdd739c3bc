//! What an earlier study saw of operations of the kernel and what its readers asked, each beside
//! what was measured here.

use model::probe::{Growth, ProbeDemand, ProbeFigure, ProbeResult, ProbeShown, ProbesFile};
use verdict::analysis::Standing;
use verdict::growth;

use crate::asked::{Answer, Number, Told};
use crate::number::{Unit, count, plain, plural, times};

/// What an earlier study saw, and what is seen here.
#[derive(Clone, Debug)]
pub struct Then<'a> {
    /// What was seen then, and on which systems.
    pub then: &'a str,
    /// The operation.
    pub name: String,
    /// Here.
    pub now: String,
}

/// The answers, in the order of the demands.
pub fn answers(file: &ProbesFile, results: &[ProbeResult]) -> Vec<Answer> {
    let answer = |demand: &ProbeDemand| Answer {
        who: demand.who.clone(),
        demand: demand.demand.clone(),
        told: told(results, demand),
    };
    file.asked.iter().map(answer).collect()
}

/// What an earlier study saw, in the order of the file.
pub fn then_and_now<'a>(file: &'a ProbesFile, results: &[ProbeResult]) -> Vec<Then<'a>> {
    let row = |figure: &'a ProbeFigure| {
        let found = Place::of(results, &figure.probe, figure.operation.as_deref());
        let (name, now) = match found {
            Ok(place) => (place.name(), place.in_words()),
            Err(why) => (figure.probe.clone(), why),
        };
        Then {
            then: &figure.then,
            name,
            now,
        }
    };
    file.published.iter().map(row).collect()
}

/// An operation that an earlier study has figures of.
pub(crate) struct Published<'a> {
    name: String,
    /// Which server was asked, where one was.
    pub(crate) server: Option<&'a str>,
    waits_by: Option<&'a str>,
    pub(crate) growth: &'a Growth,
}

impl Published<'_> {
    /// The operation; and how the server that was asked waits, where one was.
    pub(crate) fn title(&self) -> String {
        match self.waits_by {
            Some(way) => format!("{}, by {way}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The operations that an earlier study has figures of.
pub(crate) fn published<'a>(file: &ProbesFile, results: &'a [ProbeResult]) -> Vec<Published<'a>> {
    let figures = file.published.iter();
    let published = |figure: &ProbeFigure| {
        let place = Place::of(results, &figure.probe, figure.operation.as_deref()).ok()?;
        Some(Published {
            name: place.name(),
            server: place.fact("server"),
            waits_by: place.fact("waits by"),
            growth: place.growth()?,
        })
    };
    figures.filter_map(published).collect()
}

/// What is known of a demand.
pub(crate) fn told(results: &[ProbeResult], demand: &ProbeDemand) -> Told {
    let number = match (&demand.not, demand.show) {
        (Some(reason), _) => Err(reason.clone()),
        (None, Some(shown)) => number(results, shown, demand),
        (None, None) => Err("the experiment does not say what answers this".to_owned()),
    };
    match number {
        Ok((value, place, interval)) => Told::Number(Number {
            value,
            interval,
            place,
            standing: Standing::Sound,
            status: None,
            means: demand.means.clone(),
            trials: Vec::new(),
            probes: stored(demand),
            rounds: Vec::new(),
            is_ratio: false,
            is_bound: false,
            counts_unanswered: false,
        }),
        Err(why) => Told::Not(why),
    }
}

/// The labels of the results that a demand asks for, each once.
fn stored(demand: &ProbeDemand) -> Vec<String> {
    let probes = [&demand.probe, &demand.against].into_iter().flatten();
    let mut labels: Vec<String> = probes.map(|probe| label(probe)).collect();
    labels.dedup();
    labels
}

/// The label of the result of a probe that is named as experiments name it.
fn label(probe: &str) -> String {
    probe.replace([':', '@'], "-")
}

/// What is asked for in each pass, and whether that is a ratio; none where it is no number of a
/// pass.
pub(crate) fn passes(results: &[ProbeResult], demand: &ProbeDemand) -> Option<(Vec<f64>, bool)> {
    let shown = demand.show?;
    let probe = demand.probe.as_deref()?;
    let place = Place::of(results, probe, demand.operation.as_deref()).ok()?;
    let mut values = place.passes(shown)?;
    let Some(other) = &demand.against else {
        return Some((values, shown == ProbeShown::Ratio));
    };
    let other = Place::of(results, other, demand.against_operation.as_deref()).ok()?;
    for (value, other) in values.iter_mut().zip(other.passes(shown)?) {
        *value /= other;
    }
    Some((values, true))
}

/// A value, of what it is, and its interval.
type Found = (String, String, Option<String>);

fn number(
    results: &[ProbeResult],
    shown: ProbeShown,
    demand: &ProbeDemand,
) -> Result<Found, String> {
    let probe = demand.probe.as_deref().unwrap_or_default();
    let place = Place::of(results, probe, demand.operation.as_deref())?;
    let passes = plural(place.result.passes.len(), "pass");
    if let Some(other) = &demand.against {
        let other = Place::of(results, other, demand.against_operation.as_deref())?;
        let ratio = place.value(shown)? / other.value(shown)?;
        let of = format!(
            "{}, {}, relative to {}, {passes}",
            words(shown),
            place.name(),
            other.name()
        );
        return Ok((format!("{} ×", times(ratio)), of, None));
    }
    let of = format!("{}, {}, {passes}", words(shown), place.name());
    match shown {
        ProbeShown::Growth => {
            let growth = place.known_growth()?;
            Ok((growth.word(), format!("{of}: {}", growth.sentence), None))
        }
        ProbeShown::Beginning | ProbeShown::End => {
            let value = place.value(shown)?;
            Ok((Unit::Nanoseconds.show(value), of, None))
        }
        ProbeShown::Ratio => {
            let growth = place.known_growth()?;
            let (_, low, high) = growth.ratio;
            let interval = (low > 0.0).then(|| format!("[{}, {}]", times(low), times(high)));
            let value = format!("{} ×", times(place.value(shown)?));
            Ok((value, format!("{of}: {}", growth.sentence), interval))
        }
        ProbeShown::Speed => Ok((format!("{} MB/s", plain(place.value(shown)?)), of, None)),
        ProbeShown::Server => {
            let server = place.fact("server");
            let server = server.ok_or_else(|| format!("{probe} asks no server"))?;
            let way = place.fact("waits by").map(|way| format!("waits by {way}"));
            let way = way.ok_or_else(|| format!("{server}: how it waits could not be read"))?;
            Ok((way, server.to_owned(), None))
        }
        ProbeShown::Population => {
            let result = place.result;
            let note = result.note.as_ref();
            let note = note.map_or_else(String::new, |note| format!(": {note}"));
            let of = format!(
                "{}, of {} asked for{note}",
                result.axis,
                count(u64::from(result.population_asked))
            );
            Ok((count(u64::from(result.population)), of, None))
        }
    }
}

const fn words(shown: ProbeShown) -> &'static str {
    match shown {
        ProbeShown::Growth => "class of growth",
        ProbeShown::Beginning => "cost of a call at the beginning",
        ProbeShown::End => "cost of a call at the end",
        ProbeShown::Ratio => "the end relative to the beginning",
        ProbeShown::Speed => "median speed",
        ProbeShown::Population => "population",
        ProbeShown::Server => "server",
    }
}

/// An operation that was measured.
struct Place<'a> {
    result: &'a ProbeResult,
    series: &'a str,
}

impl<'a> Place<'a> {
    /// That of the probe as experiments name it; the operation that it is named after, or else its
    /// first, where none is given.
    fn of(
        results: &'a [ProbeResult],
        probe: &str,
        operation: Option<&str>,
    ) -> Result<Self, String> {
        let label = label(probe);
        let result = results.iter().find(|one| one.label() == label);
        let result = result.ok_or_else(|| format!("{probe} was not measured here"))?;
        let names = result.series_names();
        let Some(first) = names.first() else {
            let why = result.note.clone();
            let why = why.unwrap_or_else(|| "it has no pass".to_owned());
            return Err(format!("{probe} was not measured here: {why}"));
        };
        let wanted = operation.unwrap_or(&result.probe);
        let named = names.iter().find(|name| **name == wanted);
        let series = named.or_else(|| operation.is_none().then_some(first));
        let series = series.ok_or_else(|| {
            let all = names.join(", ");
            format!("{probe} has no operation '{wanted}'; it has {all}")
        })?;
        Ok(Self { result, series })
    }

    /// A probe that is named after its only operation is not named twice.
    fn name(&self) -> String {
        let label = self.result.label();
        match label == self.series {
            true => label,
            false => format!("{label} {}", self.series),
        }
    }

    /// What was read beside the curve.
    fn fact(&self, name: &str) -> Option<&'a str> {
        self.result.facts.get(name).map(String::as_str)
    }

    fn growth(&self) -> Option<&'a Growth> {
        let mut all = self.result.growth.iter();
        all.find(|one| one.series == self.series)
    }

    fn known_growth(&self) -> Result<&'a Growth, String> {
        let growth = self.growth();
        let growth = growth.ok_or_else(|| format!("{} has no class of growth", self.name()))?;
        match growth.classes.is_empty() {
            true => Err(format!("{}: {}", growth.word(), growth.sentence)),
            false => Ok(growth),
        }
    }

    /// The median of all megabytes, per second.
    fn speed(&self) -> Option<f64> {
        let points = self.result.points(self.series).into_iter().flatten();
        median_speed(points.collect()).map(f64::round)
    }

    /// The same value of each pass.
    fn passes(&self, shown: ProbeShown) -> Option<Vec<f64>> {
        let passes = self.result.points(self.series);
        let ends = || growth::ends(&passes);
        Some(match shown {
            ProbeShown::Beginning => ends()?.into_iter().map(|(first, _)| first).collect(),
            ProbeShown::End => ends()?.into_iter().map(|(_, last)| last).collect(),
            ProbeShown::Ratio => ends()?
                .into_iter()
                .map(|(first, last)| last / first)
                .collect(),
            ProbeShown::Speed => passes.into_iter().filter_map(median_speed).collect(),
            ProbeShown::Growth | ProbeShown::Population | ProbeShown::Server => return None,
        })
    }

    fn value(&self, shown: ProbeShown) -> Result<f64, String> {
        let value = match shown {
            ProbeShown::Beginning => self.known_growth()?.typical_ns.0,
            ProbeShown::End => self.known_growth()?.typical_ns.1,
            ProbeShown::Ratio => self.known_growth()?.ratio.0,
            ProbeShown::Speed => self.speed().unwrap_or_default(),
            ProbeShown::Growth | ProbeShown::Population | ProbeShown::Server => 0.0,
        };
        let missing = || format!("{} of {} is not known", words(shown), self.name());
        (value > 0.0).then_some(value).ok_or_else(missing)
    }

    /// What was measured, in a few words.
    fn in_words(&self) -> String {
        match (self.growth(), self.speed()) {
            (Some(growth), _) if growth.classes.is_empty() => growth.word(),
            (Some(growth), _) => format!(
                "{}; {} at the beginning, {} at the end",
                growth.word(),
                Unit::Nanoseconds.show(growth.typical_ns.0),
                Unit::Nanoseconds.show(growth.typical_ns.1)
            ),
            (None, Some(speed)) => format!("{} MB/s", plain(speed)),
            (None, None) => "nothing was measured".to_owned(),
        }
    }
}

/// The median of megabytes, per second.
fn median_speed(points: Vec<(u32, f64)>) -> Option<f64> {
    let mut speeds: Vec<f64> = points.into_iter().map(|(_, ns)| 1e9 / ns).collect();
    speeds.sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied()
}
