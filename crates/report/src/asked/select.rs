//! The point that a demand names, and its number.

use model::experiment::{Demand, Network, Placement, PointName, Published, Quantity, Shown};
use model::point::{NETWORK, PLACEMENT, SOURCES, Value};
use model::{Claim, Outcome, Status};
use verdict::analysis::{Measure, Standing};
use verdict::pairs::{Estimate, paired};
use verdict::words;

use super::{Number, Why};
use crate::digests::{Cell, Resources, Run};
use crate::number::{Unit, digits, fine_share, times};

/// Positions in the list of quantiles.
const P50: usize = 0;
const P99: usize = 4;

/// A point as it is named, to be found in a run.
struct Place<'d>(PointName<'d>);

impl Place<'_> {
    /// Its cell: of several the one with the highest rate, at home if nothing else is said. Where
    /// there is none, why.
    fn cell<'r>(&self, run: &'r Run) -> Result<Cell<'r>, Why> {
        self.cell_like(None, run)
    }

    /// The same; of several rather one that is where `other` is.
    fn cell_like<'r>(&self, other: Option<&Cell<'_>>, run: &'r Run) -> Result<Cell<'r>, Why> {
        let workloads = run.workloads();
        let name = self.0;
        let named = name.workload.map(str::to_owned);
        let workload = named
            .or_else(|| workloads.first().cloned())
            .unwrap_or_default();
        let server = name.server.unwrap_or_default();
        let label = run.label_for(server, &workload).unwrap_or(server);
        let is_meant = |cell: &Cell<'_>| {
            let place = cell.place();
            let sources = name.sources.map(Value::Count);
            cell.server() == label
                && name
                    .connections
                    .is_none_or(|count| place.connections() == count)
                && name.rate.is_none_or(|rate| place.rate() == Some(rate))
                && sources.is_none_or(|count| place.get(SOURCES) == Some(&count))
                && name.placement.is_none_or(|it| match it {
                    Placement::Apart => cell.is_apart(),
                    it => cell.is_on(PLACEMENT, it.name()) == Some(true),
                })
                && name.network.is_none_or(|it| match it {
                    Network::Loopback => cell.is_near(),
                    it => cell.is_on(NETWORK, it.name()) == Some(true),
                })
        };
        let cells = run.cells(&workload).into_iter().filter(is_meant);
        let rate = |cell: &Cell<'_>| cell.rate().map_or(0.0, |rate| rate.median);
        let alike = |cell: &Cell<'_>| {
            let theirs = other.map(|other| other.place().iter());
            let same = theirs.into_iter().flatten();
            same.filter(|(name, value)| cell.place().get(name) == Some(*value))
                .count()
        };
        let best = cells.max_by(|one, other| {
            let at_home = self.is_at_home(one).cmp(&self.is_at_home(other));
            let alike = alike(one).cmp(&alike(other));
            at_home.then(alike).then(rate(one).total_cmp(&rate(other)))
        });
        best.ok_or_else(|| self.why_not(run, label, &workload))
    }

    /// Its cell at the connections of `one`, if none are named and there is such a cell.
    fn cell_beside<'r>(&self, one: &Cell<'_>, run: &'r Run) -> Result<Cell<'r>, Why> {
        let beside = self.0.or(PointName {
            connections: Some(one.place().connections()),
            ..PointName::default()
        });
        let found = Place(beside).cell_like(Some(one), run);
        found.or_else(|_| self.cell_like(Some(one), run))
    }

    /// Whether a cell is over loopback, with a generator on CPUs of its own, as far as nothing
    /// else is asked for.
    fn is_at_home(&self, cell: &Cell<'_>) -> bool {
        let PointName {
            placement, network, ..
        } = self.0;
        (placement.is_some() || cell.is_apart()) && (network.is_some() || cell.is_near())
    }

    fn why_not(&self, run: &Run, label: &str, workload: &str) -> Why {
        let mut gaps = run.gaps().iter().filter(|gap| {
            gap.server == label && gap.workload.as_deref().is_none_or(|name| name == workload)
        });
        if let Some(gap) = gaps.next() {
            return Why::not_measured(gap.error.clone());
        }
        let mut place = format!("{label}, {workload}");
        let name = self.0;
        for (count, what) in [(name.connections, "connections"), (name.sources, "sources")] {
            if let Some(count) = count {
                place.push_str(&format!(", {count} {what}"));
            }
        }
        let rate = name.rate.map(|rate| words::rate(rate.as_per_second_f64()));
        place.extend(rate.map(|rate| format!(", {rate}/s")));
        let (placement, network) = (name.placement, name.network);
        for word in [placement.map(Placement::name), network.map(Network::name)] {
            place.extend(word.map(|word| format!(", {word}")));
        }
        Why::not_measured(format!("{} ({place})", cause(run, name)))
    }
}

/// Why a run has no trial of a point that a demand names, if no gap says it.
pub(super) fn cause(run: &Run, point: PointName<'_>) -> &'static str {
    // Of a question that came later nobody knows whether this run was to answer it, unless the run
    // says that it left out the server or the workload.
    let is_of = |demand: &Demand| {
        let own = demand.point();
        own == point || demand.against().or(own) == point
    };
    let is_known = !run.is_asked_later() && run.asked.iter().any(is_of);
    let why = run.why_left_out(point, is_known);
    why.unwrap_or("no trial has this point")
}

/// A number of a cell, and the claim that it rests on.
fn measure(cell: &Cell<'_>, shown: Shown) -> (Option<Measure>, Claim) {
    let resources =
        |value: fn(&crate::digests::Digest) -> Option<f64>| cell.value(Claim::Resources, value);
    let spent = |value: fn(&Resources) -> Option<f64>| {
        cell.value(Claim::Resources, |digest| value(&digest.resources))
    };
    // Of the load: how fast the server goes, or what became of requests that came by a schedule.
    let load = cell.response_claim();
    let of_load = |value: fn(&crate::digests::Digest) -> Option<f64>| cell.value(load, value);
    let response = |position| cell.response(position).map(|response| response.measure);
    let number = match shown {
        Shown::Addresses => of_load(|digest| digest.addresses),
        Shown::Begun => spent(|of| of.processes_begun),
        Shown::BesideContent => spent(|of| of.beside_content),
        Shown::Busy => of_load(|digest| digest.busy),
        Shown::ClosedByServer => of_load(crate::digests::Digest::closed_by_server),
        Shown::Content => of_load(|digest| digest.content),
        Shown::Cpu => resources(|digest| digest.cpu_us),
        Shown::CpuBehind => resources(|digest| digest.resources.behind_us),
        Shown::Failures => of_load(failures),
        Shown::Generator => resources(|digest| digest.generator_us),
        Shown::Goodput => of_load(|digest| Some(digest.goodput)),
        Shown::Headroom => of_load(|digest| digest.headroom),
        Shown::KeptAlive => of_load(|digest| digest.kept_alive),
        Shown::LogBytes => spent(|of| of.logged_bytes),
        Shown::LogLines => spent(|of| of.logged_lines),
        Shown::Memory => resources(|digest| digest.memory),
        Shown::P50 => response(P50),
        Shown::P99 => response(P99),
        Shown::PerConnection => of_load(per_connection),
        Shown::Processes => spent(|of| of.processes),
        Shown::Rate => cell.rate(),
        Shown::Received => spent(|of| of.received),
        Shown::Recovery => cell.recovery(),
        Shown::Sent => spent(|of| of.sent),
        Shown::SourcesUsed => of_load(sources_used),
        Shown::Stalled => cell.stalled().map(|stalled| stalled.measure),
        Shown::System => resources(|digest| digest.system_us),
        Shown::Threads => spent(|of| of.threads),
        Shown::User => resources(|digest| digest.user_us),
        Shown::WriteCalls => spent(|of| of.write_calls),
    };
    (number, claim(shown, load))
}

/// The unit in which a number is kept.
const fn unit(shown: Shown) -> Unit {
    match shown.quantity() {
        Quantity::Bytes => Unit::Bytes,
        Quantity::Count => Unit::Count,
        Quantity::Rate => Unit::PerSecond,
        Quantity::Share => Unit::Share,
        Quantity::Time if matches!(shown, Shown::Recovery) => Unit::Seconds,
        Quantity::Time => Unit::Microseconds,
    }
}

/// A value of a figure, whose times are in seconds, in that unit.
pub(super) fn in_its_unit(shown: Shown, value: f64) -> f64 {
    match unit(shown) {
        Unit::Microseconds => value * 1e6,
        _ => value,
    }
}

/// A value in that unit, as people read it.
pub(super) fn with_unit(shown: Shown, value: f64) -> String {
    match shown {
        Shown::Goodput => format!("{}/s", unit(shown).show(value)),
        Shown::Headroom => format!("{} ×", digits(value)),
        Shown::KeptAlive => fine_share(value),
        _ => unit(shown).show(value),
    }
}

/// The claim that a number rests on; `load` is that of what the load says of the server.
const fn claim(shown: Shown, load: Claim) -> Claim {
    match shown {
        Shown::Begun
        | Shown::BesideContent
        | Shown::Cpu
        | Shown::CpuBehind
        | Shown::Generator
        | Shown::LogBytes
        | Shown::LogLines
        | Shown::Memory
        | Shown::Processes
        | Shown::Received
        | Shown::Sent
        | Shown::System
        | Shown::Threads
        | Shown::User
        | Shown::WriteCalls => Claim::Resources,
        Shown::Addresses
        | Shown::Busy
        | Shown::ClosedByServer
        | Shown::Content
        | Shown::Failures
        | Shown::Goodput
        | Shown::Headroom
        | Shown::KeptAlive
        | Shown::P50
        | Shown::P99
        | Shown::PerConnection
        | Shown::Rate
        | Shown::Recovery
        | Shown::SourcesUsed
        | Shown::Stalled => load,
    }
}

/// Source addresses that connections came from.
fn sources_used(digest: &crate::digests::Digest) -> Option<f64> {
    digest.sources.map(|sources| sources.used)
}

/// Whether it is a quantile of response time.
const fn is_time(shown: Shown) -> bool {
    matches!(shown, Shown::P50 | Shown::P99)
}

#[expect(clippy::cast_precision_loss, reason = "a count of exchanges")]
fn failures(digest: &crate::digests::Digest) -> Option<f64> {
    let lost = digest.lost();
    let all = lost + digest.outcomes[Outcome::Ok];
    (all > 0).then(|| lost as f64 / all as f64)
}

/// Exchanges for each connection: for those that were established in the window and those that
/// ended in it, on average of the two. Of connections that are open at either end of it, a part of
/// what they carry lies outside.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of exchanges and connections"
)]
fn per_connection(digest: &crate::digests::Digest) -> Option<f64> {
    let exchanges = digest.outcomes[Outcome::Ok] + digest.outcomes.failures();
    let counts = &digest.connections;
    let ended = counts.closed_by_client + counts.closed_by_server + counts.broken;
    let of_each = match (counts.established, ended) {
        (0, 0) => return None,
        (count, 0) | (0, count) => count as f64,
        (established, ended) => (established + ended) as f64 / 2.0,
    };
    Some(exchanges as f64 / of_each)
}

/// What a cell is worth for a claim; in all where it makes none such.
fn worth(cell: &Cell<'_>, claim: Claim) -> Status {
    let of_claim = cell.claims().get(&claim).map(|(status, _)| *status);
    of_claim.unwrap_or_else(|| cell.status())
}

/// A number of what is invalid is no answer, unless it is a bound: it may be invalid because it is
/// no more than that.
const fn struck_if_invalid(standing: Standing, status: Status, is_bound: bool) -> Standing {
    match status {
        Status::Invalid if !is_bound => Standing::Struck,
        _ => standing,
    }
}

fn place(cell: &Cell<'_>) -> String {
    let id = &cell.rounds[0].id;
    format!("{}, {}, {}", id.server, id.workload, cell.place().text())
}

fn trials(cells: &[&Cell<'_>]) -> Vec<u32> {
    let rounds = cells.iter().flat_map(|cell| cell.rounds.iter());
    let mut trials: Vec<u32> = rounds.map(|digest| digest.sequence).collect();
    trials.sort_unstable();
    trials.dedup();
    trials
}

/// The number that a demand names.
pub(super) fn number_of(run: &Run, shown: Shown, demand: &Demand) -> Result<Number, Why> {
    let cell = Place(demand.point()).cell(run)?;
    number_at(&cell, shown).map(|(number, _)| number)
}

/// A number of a cell, and its value.
pub(super) fn number_at(cell: &Cell<'_>, shown: Shown) -> Result<(Number, f64), Why> {
    let (found, claim) = measure(cell, shown);
    let found = found.ok_or_else(|| not_known(shown, cell))?;
    let show = |value: f64| with_unit(shown, value);
    let ends = found.interval.unzip();
    let high = ends.1.filter(|_| !found.is_open_above);
    let is_at_most = match shown {
        Shown::Recovery => cell.recovered_within(),
        Shown::Stalled => cell.stalled().is_some_and(|stalled| stalled.is_at_most),
        _ => false,
    };
    let interval = words::interval((ends.0, high), show);
    let status = worth(cell, claim);
    let number = Number {
        value: match is_at_most {
            true => format!("at most {}", show(found.median)),
            false => show(found.median),
        },
        interval: interval.filter(|_| !is_at_most),
        place: format!("{}, {}", shown.name(), place(cell)),
        standing: struck_if_invalid(found.standing, status, found.standing == Standing::AtLeast),
        status: Some(status),
        means: None,
        trials: trials(&[cell]),
        probes: Vec::new(),
        rounds: found.counting().into_values().collect(),
        is_ratio: false,
        is_bound: is_at_most || found.standing == Standing::AtLeast,
        counts_unanswered: is_time(shown) && found.has_bounds,
    };
    Ok((number, found.median))
}

fn not_known(shown: Shown, cell: &Cell<'_>) -> Why {
    Why::not_known(format!("{} of {}", shown.name(), place(cell)))
}

/// The cell that a published figure belongs beside: of several the one with the highest rate, at
/// home if nothing else is said.
pub(super) fn beside<'r>(run: &'r Run, figure: &Published) -> Option<Cell<'r>> {
    let point = figure.point();
    point.server.and(point.workload)?;
    Place(point).cell(run).ok()
}

/// The ratio that a demand names.
pub(super) fn ratio_of(run: &Run, shown: Shown, demand: &Demand) -> Result<Number, Why> {
    let point = demand.point();
    let one = Place(point).cell(run)?;
    let other = Place(demand.against().or(point)).cell_beside(&one, run)?;
    if let Some(why) = unlike(&one, &other) {
        return Err(Why::Any(why));
    }
    let (ours, claim) = measure(&one, shown);
    let (theirs, _) = measure(&other, shown);
    let ours = ours.ok_or_else(|| not_known(shown, &one))?;
    let theirs = theirs.ok_or_else(|| not_known(shown, &other))?;
    let standing = match (in_a_ratio(&ours), in_a_ratio(&theirs)) {
        (Standing::AtLeast, Standing::AtLeast) => Standing::Struck,
        // A number that is at least so much, in terms of another, is at least so many times.
        (Standing::AtLeast, Standing::Struck) => Standing::Struck,
        (Standing::AtLeast, _) => Standing::AtLeast,
        // The other way round it is at most so many times, which its text says.
        (standing, Standing::AtLeast) => standing,
        (ours, theirs) => ours.max(theirs),
    };
    let estimate: Estimate = paired(&ours.counting(), &theirs.counting()).ok_or_else(|| {
        format!(
            "no round counts for both: {}; {}",
            place(&one),
            place(&other)
        )
    })?;
    let (low, high) = estimate
        .interval
        .map(|found| (found.low, found.high))
        .unzip();
    let low = low.filter(|_| !theirs.has_bounds);
    let high = high.filter(|_| !ours.has_bounds);
    let most = match (ours.has_bounds, theirs.has_bounds) {
        (false, true) => "at most ",
        _ => "",
    };
    let status = worth(&one, claim).max(worth(&other, claim));
    let is_bound = ours.has_bounds || theirs.has_bounds;
    Ok(Number {
        value: format!("{most}{} ×", times(estimate.ratio)),
        interval: words::interval((low, high), times),
        place: format!(
            "{}, {}, relative to {}",
            shown.name(),
            place(&one),
            place(&other)
        ),
        standing: struck_if_invalid(standing, status, is_bound),
        status: Some(status),
        means: None,
        trials: trials(&[&one, &other]),
        probes: Vec::new(),
        rounds: estimate.ratios(),
        is_ratio: true,
        is_bound,
        counts_unanswered: is_time(shown) && is_bound,
    })
}

/// Why two rivals are not compared, where most rounds of one of them were not measured as those of
/// the other were.
fn unlike(one: &Cell<'_>, other: &Cell<'_>) -> Option<String> {
    if !one.rounds[0].id.is_rival_of(&other.rounds[0].id) {
        return None;
    }
    let rules = one.unlike().or_else(|| other.unlike())?;
    let (one, other) = (place(one), place(other));
    Some(format!("not measured alike ({rules}): {one}; {other}"))
}

/// How far a number may be believed as part of a ratio: what is a bound in one round is one in the
/// ratio of that round, wherever the median lies.
fn in_a_ratio(measure: &Measure) -> Standing {
    match measure.standing {
        Standing::Struck => Standing::Struck,
        _ if measure.has_bounds => Standing::AtLeast,
        standing => standing,
    }
}
