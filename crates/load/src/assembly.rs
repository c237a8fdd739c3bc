//! From a plan and what was found before the run to a worker that is ready.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::plan::{Plan, PlanFile, Spin, Stop};
use sys::reactor::Reactor;
use wire::tls::{Connector, Tls};

use crate::author::{Failure, Seat};
use crate::coming::Coming;
use crate::decoding::Decoder;
use crate::dictation::Dictation;
use crate::hooks::Hooks;
use crate::pages::Pages;
use crate::pool;
use crate::preamble::Preamble;
use crate::progress::Progress;
use crate::recorder;
use crate::redirect::Follower;
use crate::reference::Findings;
use crate::request::Requests;
use crate::schedule::{Schedule, share};
use crate::script::Walks;
use crate::session::Sessions;
use crate::speak::{Http2InClear, InClear, Side, Speak};
use crate::users::Users;
use crate::worker::{Parts, Renewal, Share, Slowness, Split, Worker};

/// The longest that one worker's arrivals may queue up, whatever the plan: 8 MiB of instants.
pub(crate) const BACKLOG_LONGEST: u64 = 1 << 20;

/// Worker `index` of `plan` on `reactor`, ready to run. Simulations drive one by hand.
pub fn worker<R: Reactor>(
    plan: &Plan,
    findings: &Findings,
    index: u32,
    reactor: R,
    progress: Arc<Progress>,
    stop: Arc<AtomicBool>,
) -> Worker<wire::h1::client::Connection, R> {
    let told = (progress, stop);
    let speak = vec![InClear; findings.targets.len()];
    worker_in(&speak, plan, findings, index, reactor, told, None)
}

/// The same with an author.
pub fn led_worker<R: Reactor>(
    plan: &Plan,
    findings: &Findings,
    index: u32,
    reactor: R,
    seat: Seat,
    stop: Arc<AtomicBool>,
) -> Worker<wire::h1::client::Connection, R> {
    let told = (Arc::default(), stop);
    worker_in(
        &[InClear],
        plan,
        findings,
        index,
        reactor,
        told,
        Some((seat, Arc::default())),
    )
}

/// The same over HTTP/2 by prior knowledge.
pub fn http2_worker<R: Reactor>(
    plan: &Plan,
    findings: &Findings,
    index: u32,
    reactor: R,
    progress: Arc<Progress>,
    stop: Arc<AtomicBool>,
) -> Worker<wire::h2::client::Connection, R> {
    let told = (progress, stop);
    let speak = vec![Http2InClear; findings.targets.len()];
    worker_in(&speak, plan, findings, index, reactor, told, None)
}

/// The same with HTTP/1.1 inside TLS, as one connector for each server makes it.
pub fn tls_worker<R: Reactor>(
    connectors: &[Connector],
    plan: &Plan,
    findings: &Findings,
    index: u32,
    reactor: R,
    progress: Arc<Progress>,
    stop: Arc<AtomicBool>,
) -> Worker<Tls<wire::h1::client::Connection>, R> {
    let told = (progress, stop);
    worker_in(connectors, plan, findings, index, reactor, told, None)
}

/// The same, whatever connections speak to each of the servers.
pub(crate) fn worker_in<S: Speak, R: Reactor>(
    speak: &[S],
    plan: &Plan,
    findings: &Findings,
    index: u32,
    reactor: R,
    (progress, stop): (Arc<Progress>, Arc<AtomicBool>),
    seat: Option<(Seat, Failure)>,
) -> Worker<S::Client, R> {
    let file = plan.file();
    let target = seat.as_ref().and_then(|(seat, _)| seat.target);
    let dictation = seat.and_then(|(seat, failure)| {
        let lua = file.lua_at_work()?;
        let connections = plan.connections_of(index);
        let stop = Arc::clone(&stop);
        Some(Dictation::new(
            (seat.author?, seat.asked),
            lua,
            connections,
            failure,
            stop,
        ))
    });
    let window = match file.stop {
        Stop::DurationNs(span) => Some(span),
        Stop::Count(_) => None,
    };
    let requests = Requests::compile(plan, &findings.expectations, u64::from(index));
    let shared = speak.iter().enumerate().map(|(host, speak)| {
        let worker = index;
        speak.shared(plan, &requests, Side { worker, host })
    });
    Worker::new(Parts {
        share: share_of(plan, index, dictation.is_some()),
        recorder: recorder::Settings {
            worker: index,
            by_due: plan.is_open_loop(),
            window,
            interval: file.interval,
            classes: requests.len(),
            samples: samples_of(file, index),
            progress,
        },
        pool: pool::Settings {
            worker: index,
            workers: file.workers,
            connections: plan.connections_of(index),
            capacity: file.at_once(),
            connect_limit: file.connect_limit(),
            targets: target.map_or_else(|| findings.targets.clone(), |one| vec![vec![one]]),
            weights: plan.weights_of_hosts(),
            each: file.user_connections(),
            sources: file.sources.clone(),
            keeps_source: file.renewal.keeps_source,
        },
        shared: shared.collect(),
        preamble: Preamble::new(plan, index),
        names: plan.requests().iter().map(|one| one.name.clone()).collect(),
        schedule: Schedule::new(plan, index),
        users: users(plan, index, dictation.is_some()),
        renewal: Renewal::new(plan, index).map(Box::new),
        slow: Slowness::new(plan, index).map(Box::new),
        split: Split::new(plan, index).map(Box::new),
        hooks: Hooks::new(
            Sessions::new(plan, index),
            dictation,
            Follower::new(plan, plan.connections_of(index)),
            Decoder::new(plan, plan.connections_of(index)),
            Pages::new(plan, index),
        ),
        requests,
        reactor,
        stop,
    })
}

/// How many raw exchanges a worker keeps: those of all workers are as many as the plan says. One
/// that keeps none still counts those that it did not keep.
fn samples_of(file: &PlanFile, index: u32) -> Option<usize> {
    let share = || share(u64::from(file.samples), index, file.workers);
    (file.samples > 0).then(|| usize::try_from(share()).unwrap_or(usize::MAX))
}

/// What a worker needs to know of its plan.
fn share_of(plan: &Plan, index: u32, is_dictated: bool) -> Share {
    let file = plan.file();
    Share {
        open_loop: plan.is_open_loop(),
        chains: !plan.is_open_loop()
            && file.think.is_none()
            && file.script.is_none()
            && !is_dictated,
        deadline: file.deadline,
        count: file.count().map(|count| share(count, index, file.workers)),
        warmup: file.warmup,
        requests_per_connection: file.requests_per_connection,
        timeout: file.timeout,
        connect_limit: file.connect_limit(),
        backlog: backlog(plan),
        spin: spin(plan),
    }
}

/// Those of a closed loop who do more than ask.
fn users(plan: &Plan, index: u32, are_dictated: bool) -> Option<Users> {
    let file = plan.file();
    let count = plan.connections_of(index);
    if are_dictated {
        let together = file.at_once() as usize;
        return (!plan.is_open_loop()).then(|| Users::dictated(count, together));
    }
    if let Some(script) = &file.script {
        let users = plan.users_of(index);
        let coming = Coming::new(plan, index);
        let hosts = plan.hosts().len();
        let host_of = (0..plan.requests().len()).filter(|_| hosts > 1);
        let host_of = host_of.map(|class| u16::try_from(plan.host_of(class)).unwrap_or(0));
        let asked = (hosts, host_of.collect());
        let walks = Walks::new(script, file.seed, (index, file.workers), users, asked);
        return Some(Users::following(walks, file.user_connections(), coming));
    }
    let think = file.think?;
    Some(Users::thinking(think, file.seed, u64::from(index), count))
}

/// How many arrivals of one worker may wait at once: all there will be, up to a bound.
fn backlog(plan: &Plan) -> usize {
    let file = plan.file();
    let Some(rate) = plan.rate() else {
        return 0;
    };
    let arrivals = match file.stop {
        // With stages, the rate of the warm-up is another one than their mean.
        Stop::DurationNs(span) if file.stages.is_empty() => rate * (file.warmup + span),
        // So there is room for any number.
        Stop::DurationNs(_) => BACKLOG_LONGEST * u64::from(file.workers),
        Stop::Count(count) => count.saturating_add(rate * file.warmup),
    };
    let of_one = (arrivals / u64::from(file.workers)).saturating_add(1);
    let most = of_one.min(BACKLOG_LONGEST);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// How workers wait: `auto` needs an open loop, and for each of them a CPU of its own. Whether a
/// server shares those CPUs is known to whoever wrote the plan.
fn spin(plan: &Plan) -> Spin {
    let file = plan.file();
    let may = plan.is_open_loop() && file.cpus.len() >= file.workers as usize;
    match file.spin {
        Spin::Auto if !may => Spin::Never,
        spin => spin,
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::Arrivals;
    use model::units::{Rate, Span};

    use super::*;

    #[test]
    fn the_samples_of_all_workers_are_as_many_as_the_plan_says() {
        let of = |samples, index| {
            let file = PlanFile {
                samples,
                workers: 2,
                ..fixture::plan("http://127.0.0.1:1/", &[])
            };
            samples_of(&file, index)
        };
        assert_eq!((of(3, 0), of(3, 1)), (Some(2), Some(1)));
        // The one that keeps none counts what it did not keep.
        assert_eq!((of(1, 0), of(1, 1)), (Some(1), Some(0)));
        assert_eq!((of(0, 0), of(0, 1)), (None, None));
    }

    #[test]
    fn any_count_has_room_to_wait() {
        let of = |count, warmup| {
            let file = PlanFile {
                stop: Stop::Count(count),
                warmup,
                arrivals: Arrivals::Fixed {
                    rate_per_1000_s: Rate::per_second(10),
                },
                ..fixture::plan("http://127.0.0.1:1/", &[])
            };
            backlog(&Plan::try_from(file).unwrap())
        };
        assert_eq!(of(10, Span::ZERO), 11);
        assert_eq!(of(10, Span::from_s(2)), 31);
        for warmup in [Span::ZERO, Span::from_s(2)] {
            assert_eq!(of(u64::MAX, warmup) as u64, BACKLOG_LONGEST);
        }
    }
}
