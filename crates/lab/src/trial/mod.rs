//! One trial: meters on, load, meters off, judged. And the exchange that says whether a server may
//! be measured at all.

mod measure;
mod place;
mod sources;
mod steps;

use model::experiment::{ArrivalKind, Asked, Content, Users, Workload};
use model::plan::{
    Arrivals, Expectation, FORMAT, Level, Protocol, Renewal, Slow, Stage, Stop, Think, pace,
};
use model::request::RequestFile;
use model::script::Script;
use model::units::Rate;
use model::{Experiment, Outcome, PlanFile, Span};
use verdict::words;

use crate::error::LabError;
use crate::generator::Generator;
use crate::site::{Document, MODIFIED, Site, made_at, relayed_at};
use crate::sweep::{Cell, Racer, settle};
use sources::{STRIDE_MIN, sources, stride};

pub use measure::{Surroundings, measure};
pub use place::{Place, Speaks};

/// Of encoded answers one in so many is decoded, as large content is compared.
const DECODED_ONE_IN: u32 = 1_000;

/// What is asked of a running server, and what right answers are.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it is.
    pub place: Place,
    /// At least one request.
    pub requests: Vec<Wanted>,
    /// What users do with them, and ask beside them; none: each is sent by its weight.
    pub script: Option<Script>,
}

/// One request to a running server.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The path and its query.
    pub path: String,
    /// The method.
    pub method: String,
    /// Fields that are sent.
    pub headers: Vec<(String, String)>,
    /// The content that is sent.
    pub sent: Option<String>,
    /// How often it is sent, in relation to the weights of the others.
    pub weight: u32,
    /// What a right answer is.
    pub expect: Expectation,
}

impl Wanted {
    /// A file of that length and digest.
    pub fn file(path: impl Into<String>, length: u64, sha256: Option<String>) -> Self {
        Self {
            path: path.into(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            sent: None,
            weight: 1,
            expect: Expectation {
                level: Level::Body,
                status: Some(200),
                length: Some(length),
                sha256,
                decode_one_in: None,
            },
        }
    }

    /// The same in the way that `asked` says.
    fn asked(self, asked: &Asked) -> Self {
        let mut wanted = Self {
            method: asked.method.clone(),
            headers: asked.headers.clone(),
            sent: asked.sent.clone(),
            weight: asked.weight,
            ..self
        };
        // Where it may come encoded, the file is what it decodes to.
        wanted.expect.decode_one_in = asked.decodes.then_some(DECODED_ONE_IN);
        if asked.unchanged {
            let since = ("If-Modified-Since".to_owned(), MODIFIED.to_owned());
            wanted.headers.push(since);
            wanted.expect = Expectation {
                level: Level::Length,
                status: Some(304),
                length: Some(0),
                sha256: None,
                decode_one_in: None,
            };
        }
        wanted
    }
}

impl Target {
    /// The requests of `workload`, as this racer has them, and what `users` do with them.
    pub fn of(racer: Racer, place: Place, workload: &Workload, users: &Users, site: &Site) -> Self {
        let from_memory = |length: u64| {
            let path = format!("/.triathlon/null?bytes={length}");
            Wanted::file(path, length, None)
        };
        let wanted = |asked: &Asked| match (racer, &asked.content) {
            (Racer::Ceiling { .. }, _) if asked.unchanged => Wanted {
                weight: asked.weight,
                ..from_memory(0)
            },
            (Racer::Ceiling { .. }, Content::Document(bytes)) => Wanted {
                weight: asked.weight,
                ..from_memory(bytes.count())
            },
            (Racer::Ceiling { .. }, Content::File { site: folder, file }) => Wanted {
                weight: asked.weight,
                ..from_memory(site.file(folder, file).bytes.count())
            },
            (Racer::Server(_), Content::File { site: folder, file }) => {
                let found = site.file(folder, file);
                let (length, digest) = (found.bytes.count(), found.sha256.clone());
                Wanted::file(&found.path, length, Some(digest)).asked(asked)
            }
            // Where nobody knows how long the answer is, an empty one is as fast as it gets.
            (Racer::Ceiling { .. }, Content::Path { expect, .. }) => Wanted {
                weight: asked.weight,
                ..from_memory(expect.length.unwrap_or(0))
            },
            (Racer::Server(_), Content::Document(bytes)) => {
                let document = site.document(*bytes);
                let Document { path, sha256, .. } = document;
                let path = match (workload.maker(), workload.relay()) {
                    (Some(maker), _) => made_at(maker, *bytes),
                    (None, Some(relay)) => relayed_at(relay, document),
                    (None, None) => path.clone(),
                };
                Wanted::file(path, bytes.count(), Some(sha256.clone())).asked(asked)
            }
            (Racer::Server(_), Content::Path { path, expect }) => Wanted {
                expect: expect.clone(),
                ..Wanted::file(path.as_str(), 0, None).asked(asked)
            },
        };
        let requests: Vec<Wanted> = workload.requests.iter().map(wanted).collect();
        Self {
            script: steps::script(users, racer, &place, workload, &requests),
            place,
            requests,
        }
    }

    /// Its requests as a plan has them: what a right answer is stands with each where there are
    /// several, and else with the plan.
    fn requests(&self) -> (Vec<RequestFile>, Expectation) {
        if let Some(script) = &self.script {
            return (script.requests.clone(), steps::right());
        }
        let file = |wanted: &Wanted| {
            let request = RequestFile {
                method: wanted.method.clone(),
                headers: wanted.headers.clone(),
                weight: wanted.weight,
                ..RequestFile::get(format!("{}{}", self.place.url, wanted.path))
            };
            request.with_content(wanted.sent.as_deref())
        };
        match self.requests.as_slice() {
            [one] => {
                let request = RequestFile {
                    weight: 1,
                    ..file(one)
                };
                (vec![request], one.expect.clone())
            }
            several => {
                let with_expectation = |wanted: &Wanted| RequestFile {
                    expect: Some(wanted.expect.clone()),
                    ..file(wanted)
                };
                let requests = several.iter().map(with_expectation).collect();
                (requests, Expectation::default())
            }
        }
    }
}

/// How hard a target is loaded.
#[derive(Clone, Debug)]
pub struct Load {
    /// Connections in total.
    pub connections: u32,
    /// The intended load; none in a closed loop.
    pub rate: Option<Rate>,
    /// How arrivals of an open loop are spaced.
    pub arrivals: ArrivalKind,
    /// Before anything counts.
    pub settle: Span,
    /// Over how long users of a script begin, before they settle.
    pub ramp: Span,
    /// How long each user waits before a request; none: not at all.
    pub think: Option<Think>,
    /// Whether users of a script wait where it says so.
    pub waits: bool,
    /// When it ends.
    pub stop: Stop,
    /// It ends after so many requests, if its time has not come.
    pub requests: Option<u64>,
    /// From sent to the last byte.
    pub timeout: Span,
    /// How the rate changes; empty: not at all.
    pub stages: Vec<Stage>,
    /// Enforced by the generator.
    pub requests_per_connection: Option<u32>,
    /// Exchanges in flight on one connection, where that is of HTTP/2.
    pub streams: u32,
    /// How many source addresses; none: as many as the ports of its connections ask for.
    pub sources: Option<u32>,
    /// From the addresses of one trial to those of the next.
    pub stride: u64,
    /// Threads of the generator; none: one for each of its CPUs.
    pub workers: Option<u32>,
    /// Which trial it is: its source addresses and its randomness come from that.
    pub number: u64,
}

impl Load {
    /// One exchange.
    pub fn one_exchange(timeout: Span, number: u64) -> Self {
        Self {
            connections: 1,
            rate: None,
            arrivals: ArrivalKind::Fixed,
            settle: Span::ZERO,
            ramp: Span::ZERO,
            think: None,
            waits: false,
            stop: Stop::Count(1),
            requests: None,
            timeout,
            stages: Vec::new(),
            requests_per_connection: None,
            streams: 1,
            sources: None,
            stride: STRIDE_MIN,
            workers: None,
            number,
        }
    }

    /// Two exchanges for each of the most connections that the experiment will hold at once.
    pub fn crowd(experiment: &Experiment, number: u64) -> Self {
        let connections = experiment.connections_most();
        Self {
            connections,
            stop: Stop::Count(u64::from(connections) * 2),
            stride: stride(experiment),
            ..Self::one_exchange(experiment.timeout(), number)
        }
    }

    /// A closed loop that only warms up.
    pub fn warmup(experiment: &Experiment, connections: u32, length: Span, number: u64) -> Self {
        Self {
            connections,
            stop: Stop::DurationNs(length),
            streams: experiment.streams(),
            stride: stride(experiment),
            ..Self::one_exchange(experiment.timeout(), number)
        }
    }

    /// The load of one cell.
    pub fn of_cell(experiment: &Experiment, cell: &Cell, number: u64) -> Self {
        let workload = &experiment.workloads()[cell.workload];
        Self {
            connections: cell.connections,
            rate: cell.rate,
            arrivals: experiment.arrivals(),
            settle: settle(experiment),
            ramp: experiment.users().ramp(),
            think: experiment.users().think(),
            waits: true,
            stop: Stop::DurationNs(experiment.duration()),
            requests: experiment.requests(),
            timeout: experiment.timeout(),
            stages: match cell.rate {
                None if !experiment.users().come_by_stages() => Vec::new(),
                _ => experiment.stages(),
            },
            requests_per_connection: workload.requests_per_connection,
            streams: experiment.streams(),
            sources: cell.sources,
            stride: stride(experiment),
            workers: experiment.workers(),
            number,
        }
    }

    /// The same by users who wait for nothing but answers: how fast the generator can be.
    #[must_use]
    pub fn hurried(self) -> Self {
        Self {
            ramp: Span::ZERO,
            think: None,
            waits: false,
            requests: None,
            stages: match self.rate {
                Some(_) => self.stages,
                None => Vec::new(),
            },
            ..self
        }
    }
}

/// The plan that loads `target` from `cpus`.
pub fn plan(target: &Target, load: &Load, cpus: &[u32]) -> PlanFile {
    let workers = load
        .workers
        .unwrap_or_else(|| u32::try_from(cpus.len()).unwrap_or(u32::MAX))
        .clamp(1, load.connections.max(1));
    let Place {
        address, speaks, ..
    } = &target.place;
    let address = *address;
    // The stages were fitted to the window, and what they come to holds. In a closed loop they are
    // those of users who come.
    let (rate, stop) = match load.stages.as_slice() {
        [] => (load.rate, load.stop),
        stages => (
            load.rate.map(|_| pace::mean_rate(stages)),
            Stop::DurationNs(pace::length(stages)),
        ),
    };
    let arrivals = match (rate, load.arrivals) {
        (None, _) => Arrivals::Closed,
        (Some(rate_per_1000_s), ArrivalKind::Fixed) => Arrivals::Fixed { rate_per_1000_s },
        (Some(rate_per_1000_s), ArrivalKind::Poisson) => Arrivals::Poisson { rate_per_1000_s },
    };
    let (requests, expect) = target.requests();
    let mut file = PlanFile {
        format: FORMAT,
        requests,
        addresses: vec![address],
        resolve: Vec::new(),
        sources: sources(load, address.ip()),
        unix_socket: None,
        http_proxy: None,
        proxy_protocol: None,
        protocol: speaks.protocol,
        tls: speaks.tls.clone(),
        arrivals,
        stages: load.stages.clone(),
        think: load.think,
        script: steps::of_load(target, load),
        lua: None,
        deadline: None,
        stop,
        requests_most: load.requests,
        warmup: load.ramp + load.settle,
        connections: load.connections,
        requests_per_connection: load.requests_per_connection,
        renewal: Renewal::default(),
        slow: Slow::default(),
        split_one_in: None,
        follow: None,
        pipeline: 1,
        streams: match speaks.protocol {
            Protocol::Http1 => 1,
            Protocol::Http2 | Protocol::Http3 => load.streams,
        },
        timeout: load.timeout,
        connect_timeout: None,
        seed: load.number,
        workers,
        cpus: cpus.to_vec(),
        spin: model::plan::Spin::Auto,
        backend: model::plan::Backend::Auto,
        expect,
        samples: 0,
        interval: interval(stop, load.stages.is_empty()),
    };
    file.seat_users();
    file
}

/// A second; in shorter windows a tenth of them, so that there is something to see. Where the rate
/// changes, it is a sixtieth: what is looked for is when answers are as before.
fn interval(stop: Stop, is_constant: bool) -> Span {
    let parts = if is_constant { 10 } else { 60 };
    match stop {
        Stop::Count(_) => Span::from_s(1),
        Stop::DurationNs(length) => {
            Span::from_ms((length.as_ns() / 1_000_000 / parts).clamp(10, 1_000))
        }
    }
}

/// Asks as `load` says: status, length and digest must be right, and every connection must stand.
pub fn verify(
    generator: &mut dyn Generator,
    target: &Target,
    load: &Load,
    cpus: &[u32],
) -> Result<(), String> {
    let plan = plan(target, load, cpus);
    let trial = match generator.run(&plan, &mut |_, _| ()) {
        Ok(trial) => trial,
        Err(LabError::Generator { why }) => return Err(why),
        Err(error) => return Err(error.to_string()),
    };
    let total = &trial.record.total;
    let refused = total.connections.failed;
    if total.outcomes.failures() == 0 && total.outcomes[Outcome::Ok] > 0 && refused == 0 {
        return Ok(());
    }
    let examples = trial.record.examples.iter();
    let mut texts: Vec<String> = examples.map(|example| example.text.clone()).collect();
    if refused > 0 {
        let refused = words::plural(refused, "connection");
        texts.push(format!("{refused} could not be made"));
    }
    if texts.is_empty() {
        texts.push("no answer came".to_owned());
    }
    Err(texts.join("; "))
}

#[cfg(test)]
mod tests;
