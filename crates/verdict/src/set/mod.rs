//! The trials of an experiment, judged together without being held together.
//!
//! A trial is megabytes of histograms. What rules across rounds and points read of it is a few
//! hundred bytes, and what the other rules answered does not change: an `Entry` keeps both.

mod logging;
mod points;
mod tls;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use model::environment::PathEnd;
use model::environment::settings::{is_setting, without_foreign_values};
use model::finding::{Claim, Finding, Verdict};
use model::http2::Http2Record;
use model::plan::{Protocol, Url};
use model::point::Point;
use model::record::{ConnectionCounts, Reference};
use model::units::Span;
use model::{Environment, Trial};

pub use points::PointSummary;

use crate::check::{Facts, Judge, Judgement};
use crate::checks;
use crate::judge::{judged, verdict};
use crate::summary::{QUANTILES, Reading, Support, Trend, cpu_per_request, read, support};
pub(crate) use logging::Logging;
pub(crate) use tls::Kind;
use tls::Tls;

/// Trials that are judged together. Add each, then ask for their verdicts.
#[derive(Clone, Debug, Default)]
pub struct TrialSet {
    entries: Vec<Entry>,
}

impl TrialSet {
    /// Takes what the rules need of `trial`.
    pub fn add(&mut self, trial: &Trial) {
        self.entries.push(Entry::of(trial));
    }

    /// Takes the trials of `other`, behind those that are here.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// What each trial is worth, in the order in which they were added.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let grid = Grid::new(&self.entries);
        (0..self.entries.len())
            .map(|position| {
                verdict(&Peers {
                    entry: &self.entries[position],
                    grid: Some((&grid, position)),
                })
            })
            .collect()
    }

    /// All points in order. Trials without a point are left out.
    pub fn points(&self) -> Vec<PointSummary> {
        points::points(&self.entries)
    }
}

/// What is kept of one trial.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) claims: Vec<Claim>,
    pub(crate) point: Option<Point>,
    /// Whether something spoilt it that is neither generator nor server: it does not count.
    pub(crate) is_void: bool,
    /// Whether requests, or users who ask, come by a schedule, whatever the server does.
    pub(crate) is_scheduled: bool,
    pub(crate) requests_per_connection: Option<u32>,
    /// Whether the plan has connections made anew by age or by chance.
    pub(crate) renews: bool,
    pub(crate) window: Span,
    pub(crate) rate: f64,
    /// Whether the rate rises or falls within the window.
    pub(crate) trend: Trend,
    pub(crate) response_mean_us: Option<f64>,
    pub(crate) response_p50_us: Option<f64>,
    pub(crate) response_p99_us: Option<f64>,
    pub(crate) responses: u64,
    pub(crate) cpu_us: Option<f64>,
    pub(crate) memory: Option<f64>,
    pub(crate) ended: u64,
    pub(crate) failures: u64,
    pub(crate) connections: ConnectionCounts,
    pub(crate) close_announced: u64,
    /// The coding of the reference's content, empty where it has none; none without a reference.
    pub(crate) content_coding: Option<String>,
    /// What was asked, but for the host: it differs by the port.
    pub(crate) request: String,
    /// Exchanges that the plan wants in flight on a connection of HTTP/2; none of HTTP/1.1.
    pub(crate) streams: Option<u32>,
    /// What HTTP/2 did.
    pub(crate) http2: Option<Http2Record>,
    /// What was negotiated; none where connections are in clear.
    pub(crate) tls: Option<Tls>,
    /// Who logs, and how; none where nobody knows.
    pub(crate) logging: Option<Logging>,
    /// Parts of the environment by name, each as a hash.
    pub(crate) surroundings: [(&'static str, u64); 6],
    /// How busy the server's CPUs were.
    pub(crate) server_busy: Option<f64>,
    /// How busy the busiest worker was.
    pub(crate) generator_busy: Option<f64>,
    pub(crate) headroom: Option<f64>,
    /// Quantiles of response time that the sample carries, by name.
    pub(crate) quantiles: Vec<String>,
    /// Whether the experiment asks what a server does under more load than it can take.
    pub(crate) overload: bool,
    /// What the doctor found before the trial.
    pub(crate) doctor: Vec<Finding>,
    /// What the rules that judge by the trial alone answered, in the order of the table; none for
    /// those that look across.
    pub(crate) answers: Vec<Option<Judgement>>,
    /// Whether something that is neither generator nor server disturbed it.
    pub(crate) is_disturbed: bool,
    /// What the shares of its agents are worth; none where one machine made it.
    pub(crate) shares: Vec<(String, Verdict)>,
    /// Whether anything was read of the machine that the trial itself is of.
    pub(crate) is_machine_read: bool,
}

impl Entry {
    pub(crate) fn of(trial: &Trial) -> Self {
        let facts = Facts::new(trial);
        let record = &trial.record;
        let claims = trial.claims();
        let answers = checks::ALL
            .iter()
            .map(|check| match check.judge {
                Judge::Across(_) => None,
                Judge::Alone(judge) if check.claims.iter().any(|c| claims.contains(c)) => {
                    Some(judge(&facts))
                }
                Judge::Alone(_) => Some(Judgement::NotApplicable),
            })
            .collect::<Vec<_>>();
        let is_disturbed = crate::judge::is_disturbed(&claims, &answers);
        let times = trial.response_time();
        let quantile = |q: f64| match read(&times, q) {
            Reading::Value(span) => Some(span.as_us_f64()),
            Reading::Censored | Reading::TooFew => None,
        };
        Self {
            claims,
            point: trial.point.clone(),
            is_void: trial.void.is_some(),
            is_scheduled: trial.plan.is_scheduled(),
            requests_per_connection: trial.plan.requests_per_connection,
            renews: trial.plan.renewal.closes(),
            window: record.window,
            rate: record.achieved_rate,
            trend: Trend::of(trial, trial.plan.is_scheduled()),
            response_mean_us: times.mean().map(Span::as_us_f64),
            response_p50_us: quantile(0.5),
            response_p99_us: quantile(0.99),
            responses: times.count(),
            cpu_us: cpu_per_request(trial).map(|cpu| cpu.total_us),
            memory: memory(trial),
            ended: facts.ended(),
            failures: record.total.outcomes.lost() + trial.unanswered(),
            connections: record.total.connections,
            close_announced: record.total.close_announced,
            content_coding: record.reference.as_ref().map(content_coding),
            request: request(trial),
            streams: (trial.plan.protocol == Protocol::Http2).then_some(trial.plan.streams),
            http2: record.http2.clone(),
            tls: Tls::of(trial),
            logging: Logging::of(trial),
            surroundings: surroundings(&trial.environment),
            server_busy: facts.server_cpus().and_then(|cpus| facts.busy_share(cpus)),
            generator_busy: facts.record.busiest_worker().map(|(_, busy)| busy),
            headroom: checks::headroom(&facts).map(|headroom| headroom.value),
            quantiles: QUANTILES
                .iter()
                .filter(|quantile| {
                    support(times.count() + times.censored(), quantile.q) > Support::TooFew
                })
                .map(|quantile| quantile.name.to_owned())
                .collect(),
            overload: trial.context.overload,
            doctor: before(trial),
            answers,
            is_disturbed,
            shares: judged(trial),
            is_machine_read: trial.environment.kernel.is_some(),
        }
    }

    /// Whether this measures the generator itself, against the null responder.
    pub(crate) fn is_ceiling(&self) -> bool {
        self.point.as_ref().is_some_and(|point| point.ceiling)
    }
}

/// What the doctor said of the machine and of the server, but for links that take no part: over
/// loopback that is each but `lo`, between virtual devices of the lab all that it saw before.
fn before(trial: &Trial) -> Vec<Finding> {
    let server = trial.context.server.iter();
    let of_server = server.flat_map(|server| &server.doctor);
    let of_machine = &trial.environment.doctor;
    let facts = Facts::new(trial);
    let (is_loopback, is_veth) = (facts.is_loopback() == Some(true), facts.is_over_veth());
    let takes_part = |finding: &Finding| match finding.evidence.contains_key("mtu.lo") {
        _ if finding.rule != "LNK-03" => true,
        true => !is_veth,
        false => !is_veth && !is_loopback,
    };
    let all = of_machine.iter().chain(of_server);
    all.filter(|finding| takes_part(finding)).cloned().collect()
}

fn content_coding(reference: &Reference) -> String {
    let field = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-encoding");
    let coding = reference.headers.iter().find(field);
    coding.map_or_else(String::new, |(_, value)| value.to_ascii_lowercase())
}

fn request(trial: &Trial) -> String {
    let each = trial.plan.requests.iter().map(|request| {
        let path = Url::parse(&request.url).map_or_else(|_| request.url.clone(), |url| url.path);
        let (method, fields) = (&request.method, &request.headers);
        format!("{method} {path} {fields:?} {:?}", request.body_base64)
    });
    each.collect::<Vec<_>>().join("; ")
}

/// What stays as it is between the trials of one experiment, unless somebody changes it.
fn surroundings(environment: &Environment) -> [(&'static str, u64); 6] {
    let settings: Vec<_> = environment
        .sysctls
        .iter()
        .filter(|(name, _)| {
            ["net.", "vm.", "kernel.sched"]
                .iter()
                .any(|p| name.starts_with(p))
        })
        // Earlier versions stored others, too.
        .filter(|(name, _)| is_setting(name))
        // A level, not a setting.
        .filter(|(name, _)| *name != "net.netfilter.nf_conntrack_count")
        .collect();
    let command_line = environment.command_line.as_deref();
    let command_line = command_line.map(without_foreign_values);
    let tool = &environment.tool;
    let path = environment.path.as_ref().map(|path| PathEnd {
        round_trip_at_most: None,
        ..path.clone()
    });
    let hash = |part: &dyn std::fmt::Debug| {
        let mut hasher = DefaultHasher::new();
        format!("{part:?}").hash(&mut hasher);
        hasher.finish()
    };
    [
        ("kernel", hash(&environment.kernel)),
        ("kernel command line", hash(&command_line)),
        ("kernel settings", hash(&settings)),
        ("governor", hash(&environment.governor)),
        ("network path", hash(&path)),
        (
            "version of this program",
            hash(&(&tool.version, &tool.commit)),
        ),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "bytes of memory, below 2^53")]
fn memory(trial: &Trial) -> Option<f64> {
    let server = trial.usage.server.as_ref()?;
    server.memory_pss.map(|bytes| bytes.count() as f64)
}

/// What a rule that looks across may read: what is kept of this trial, and of the others where they
/// are at hand.
pub(crate) struct Peers<'a> {
    pub(crate) entry: &'a Entry,
    grid: Option<(&'a Grid<'a>, usize)>,
}

impl<'a> Peers<'a> {
    /// Without any others.
    pub(crate) const fn none(entry: &'a Entry) -> Self {
        Self { entry, grid: None }
    }

    /// All trials of the experiment; none where there are no others at hand.
    pub(crate) fn entries(&self) -> &'a [Entry] {
        self.grid.map_or(&[], |(grid, _)| grid.entries)
    }

    /// Those of `trials` in which nothing but generator and server took the CPUs.
    pub(crate) fn undisturbed(&self, trials: &'a [usize]) -> impl Iterator<Item = &'a Entry> {
        let entries = self.entries();
        let each = trials.iter().map(|trial| &entries[*trial]);
        each.filter(|entry| !entry.is_disturbed)
    }

    /// Trials of other servers in the same round with the same load.
    pub(crate) fn rivals(&self) -> impl Iterator<Item = (&'a Entry, &'a Point)> {
        let ours = self.entry.point.as_ref().filter(|point| !point.ceiling);
        self.entries()
            .iter()
            .filter_map(|other| Some((other, other.point.as_ref()?)))
            .filter(move |(_, other)| {
                ours.is_some_and(|ours| {
                    !other.ceiling && other.round == ours.round && other.id.is_rival_of(&ours.id)
                })
            })
    }

    /// This trial's point over all its rounds; none where it is judged alone.
    pub(crate) fn point(&self) -> Option<&'a PointSummary> {
        let (grid, position) = self.grid?;
        Some(&grid.points[grid.point_of[position]?])
    }

    /// What a rule says that needs the point, and there is none: the trial is no round of it, or
    /// it is judged alone, without `what`.
    pub(crate) fn without_point(&self, what: &str) -> Judgement {
        if self.grid.is_some() {
            let why = "this trial does not count as a round of its point";
            return Judgement::CannotApply(why.to_owned());
        }
        Judgement::unknown(what)
    }

    /// All points of this trial's server in its execution, its own included.
    pub(crate) fn points_of_server(&self) -> impl Iterator<Item = &'a PointSummary> {
        let ours = self.point().map(|point| &point.id);
        let points = self.grid.map_or(&[][..], |(grid, _)| &grid.points);
        points.iter().filter(move |other| {
            ours.is_some_and(|ours| {
                (&other.id.execution, &other.id.server) == (&ours.execution, &ours.server)
            })
        })
    }

    /// All points of the other servers in this trial's execution, without those of the ceiling.
    pub(crate) fn points_of_other_servers(&self) -> impl Iterator<Item = &'a PointSummary> {
        let ours = self.point().map(|point| &point.id);
        let points = self.grid.map_or(&[][..], |(grid, _)| &grid.points);
        points.iter().filter(move |other| {
            ours.is_some_and(|ours| {
                !other.ceiling
                    && other.id.execution == ours.execution
                    && other.id.server != ours.server
            })
        })
    }

    /// The points that differ from this one in their number of connections alone, itself included,
    /// by connections.
    pub(crate) fn line(&self) -> &'a [PointSummary] {
        let (Some((grid, _)), Some(point)) = (self.grid, self.point()) else {
            return &[];
        };
        grid.line(point)
    }
}

/// All entries by point.
struct Grid<'a> {
    entries: &'a [Entry],
    /// Sorted, so that points which differ in connections alone are neighbours.
    points: Vec<PointSummary>,
    /// For each entry, the position of its point.
    point_of: Vec<Option<usize>>,
}

impl<'a> Grid<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        let points = points::points(entries);
        let mut point_of = vec![None; entries.len()];
        for (position, point) in points.iter().enumerate() {
            for trial in &point.trials {
                point_of[*trial] = Some(position);
            }
        }
        Self {
            entries,
            points,
            point_of,
        }
    }

    fn line(&self, point: &PointSummary) -> &[PointSummary] {
        let same = |other: &PointSummary| other.id.is_on_line_of(&point.id);
        let first = self.points.iter().position(same).unwrap_or(0);
        let count = self.points[first..].iter().take_while(|p| same(p)).count();
        &self.points[first..first + count]
    }
}

#[cfg(test)]
mod tests;
