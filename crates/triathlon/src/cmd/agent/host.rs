//! What an agent has done on its machine: `triathlon load` as a child process with meters on, as a
//! lab has it done.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::Receiver;

use anyhow::Context as _;
use fleet::agent::Heard;
use fleet::{Ceiling, Host, Job, Line, Output, Passed};
use lab::LabError;
use lab::condition::{self, Roots};
use lab::environment::timekeeping;
use lab::generator::{Local, Part, Told};
use lab::meter::Meters;
use lab::scratch::Scratch;
use model::plan::Spin;
use model::trial::Context;
use model::{Bytes, Environment, Event, Instant, PlanFile, Span, Trial, Verdict};
use sys::clock;
use sys::process::Interrupt;
use verdict::doctor::examine;

use super::{ceiling, servers};
use crate::cmd::load::{is_ours, path_of};
use crate::out;

/// The machine of an agent.
pub(crate) struct Machine {
    interrupt: Interrupt,
    cpus: Vec<u32>,
    environment: Environment,
    scratch: Scratch,
    ceiling: Option<Ceiling>,
}

impl Machine {
    pub(crate) fn new(interrupt: Interrupt) -> anyhow::Result<Self> {
        let environment = lab::environment::of_this_machine(crate::tool::this());
        let condition = condition::read(&Roots::default(), environment, Path::new("."), None);
        let examination = examine(&condition);
        let mut environment = condition.environment;
        environment.doctor = examination.findings();
        environment.doctor_unknown = examination.unknown;
        Ok(Self {
            interrupt,
            cpus: sys::cpu::allowed().context("cannot read which CPUs may be used")?,
            environment,
            scratch: Scratch::create()?,
            ceiling: None,
        })
    }

    /// Measures what one thread of its generator reaches, to be announced.
    pub(super) fn measure_ceiling(&mut self) -> anyhow::Result<()> {
        self.ceiling = Some(ceiling::measure(&self.cpus, self.interrupt, &self.scratch)?);
        Ok(())
    }

    /// How many CPUs it has for workers.
    pub(crate) const fn threads(&self) -> usize {
        self.cpus.len()
    }

    /// Makes `workers` of `plan`, which begin when they are told to; `watch` sees what the
    /// generator says meanwhile.
    pub(crate) fn make(
        &self,
        mut plan: PlanFile,
        workers: Range<u32>,
        told: &mut dyn FnMut(bool) -> Told,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Trial, LabError> {
        let program = std::env::current_exe().map_err(|error| LabError::Generator {
            why: format!("its program cannot be found: {error}"),
        })?;
        plan.cpus = cpus_of(&workers, plan.workers, &self.cpus);
        let is_here = plan.addresses.iter().any(|address| is_ours(*address));
        // A thread that polls would take the CPU of a server that is here, too.
        if is_here && plan.spin == Spin::Auto {
            plan.spin = Spin::Never;
        }
        let asked = plan.addresses.first().map(SocketAddr::ip);
        let cpus = self.cpus.clone();
        let mut generator = Local::new(program, cpus, Some(self.interrupt), &self.scratch);
        let mut meters = Meters::of(&plan);
        let part = Part { workers, told };
        let mut trial = generator.run_part(&plan, part, &mut |event, group| {
            meters.see(event, group, None);
            watch(event);
        })?;
        trial.environment = Environment {
            time: Some(lab::environment::rfc3339(clock::realtime())),
            path: path_of(asked, &trial.record),
            timekeeping: timekeeping::read(timekeeping::Roots::default()),
            ..self.environment.clone()
        };
        trial.usage = meters.usage();
        trial.context = Context {
            cpu_choice: Some("all that the agent may use".to_owned()),
            shared_cpus: (!is_here).then(Vec::new),
            ..Context::default()
        };
        // It is a share, which whoever has the whole plan judges.
        trial.verdict = Verdict::default();
        Ok(trial)
    }
}

impl Host for Machine {
    fn environment(&self) -> Environment {
        Environment {
            timekeeping: timekeeping::again(self.environment.timekeeping.as_ref()),
            ..self.environment.clone()
        }
    }

    fn cpus(&self) -> Vec<u32> {
        self.cpus.clone()
    }

    fn ceiling(&self) -> Option<Ceiling> {
        self.ceiling.clone()
    }

    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        resolve(host, port)
    }

    fn run(&self, job: &Job, line: &Line) -> Result<Trial, String> {
        let mut told = |is_ready| match line.listen(is_ready) {
            Heard::Nothing => Told::Nothing,
            Heard::Begin(at) => Told::Begin(here(at)),
            Heard::Stop => Told::Stop,
        };
        let mut watch = |event: &Event| {
            if let Some(passed) = passed(event, job.plan.interval) {
                line.pass(passed);
            }
        };
        let (plan, workers) = (job.plan.clone(), job.workers.clone());
        let made = self.make(plan, workers, &mut told, &mut watch);
        made.map_err(|error| error.to_string())
    }

    fn lab(&self, lines: &Receiver<String>, output: &Output) -> Result<(), String> {
        servers::run(lines, output)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn note(&self, text: &str) {
        out::note(text);
    }
}

/// What the generator says of an interval that is over; intervals are so long by the plan.
fn passed(event: &Event, length: Span) -> Option<Passed> {
    let Event::Interval {
        second,
        right,
        failures,
        connections,
        bytes_received,
        response_time_p99_us,
        ..
    } = event
    else {
        return None;
    };
    let end = whole(second * 1e9);
    let number = end.checked_sub(1)?.checked_div(length.as_ns())?;
    Some(Passed {
        number,
        length: Span::from_ns(end - number * length.as_ns()),
        right: *right,
        failed: *failures,
        connections: *connections,
        bytes_received: Bytes::new(bytes_received.unwrap_or(0)),
        response_time_p99: response_time_p99_us.map(|us| Span::from_ns(whole(us * 1e3))),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds for people; what is negative or too large is cut off"
)]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// The addresses that a name has on this machine.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("cannot find '{host}' here: {error}"))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// The instant of the monotonic clock at which the machine's clock shows `unix_ns`.
pub(crate) fn here(unix_ns: u64) -> Instant {
    let ahead = unix_ns.saturating_sub(clock::realtime().as_ns());
    clock::monotonic() + Span::from_ns(ahead)
}

/// The CPUs of a plan that has `all` workers, such that `workers` have those of this machine in
/// turn: a plan gives them out by the position of a worker among all.
fn cpus_of(workers: &Range<u32>, all: u32, cpus: &[u32]) -> Vec<u32> {
    if workers.len() > cpus.len() {
        return cpus.to_vec();
    }
    let own = |worker: u32| worker.saturating_sub(workers.start) as usize % cpus.len();
    (0..all).map(|worker| cpus[own(worker)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_its_number_from_its_end() {
        let check = |second: f64, length: Span, number: u64, lasted: Span| {
            let event = Event::Interval {
                second,
                achieved_rate: 3.0,
                right: 3,
                failures: 1,
                connections: 2,
                bytes_received: Some(21),
                response_time_p50_us: None,
                response_time_p99_us: Some(250.5),
            };
            let passed = passed(&event, length).unwrap();
            assert_eq!((passed.number, passed.length), (number, lasted), "{second}");
            let counts = (passed.right, passed.failed, passed.connections);
            assert_eq!(counts, (3, 1, 2));
            assert_eq!(passed.bytes_received, Bytes::new(21));
            assert_eq!(passed.response_time_p99, Some(Span::from_ns(250_500)));
        };
        let second = Span::from_s(1);
        check(1.0, second, 0, second);
        check(7.0, second, 6, second);
        // As a number with a fraction may come back from a line of text.
        check(6.999_999_999_999, second, 6, second);
        check(2.5, second, 2, Span::from_ms(500));
        check(0.3, Span::from_ms(100), 2, Span::from_ms(100));
        assert_eq!(passed(&Event::Ready, second), None);
    }

    #[test]
    fn each_worker_of_a_part_has_a_cpu_of_its_own_where_there_are_enough() {
        let check = |workers: Range<u32>, all: u32, cpus: &[u32], expected: &[u32]| {
            let given = cpus_of(&workers, all, cpus);
            let of_part: Vec<u32> = workers
                .clone()
                .map(|worker| given[worker as usize % given.len()])
                .collect();
            assert_eq!(of_part, expected, "{workers:?} of {all} on {cpus:?}");
            // A worker polls only where each has its own.
            let are_enough = workers.len() <= cpus.len();
            assert_eq!(given.len() >= all as usize, are_enough);
        };
        check(0..2, 4, &[0, 1], &[0, 1]);
        check(2..4, 4, &[0, 1], &[0, 1]);
        check(3..5, 6, &[4, 6, 8], &[4, 6]);
        check(1..4, 4, &[0, 1], &[1, 0, 1]);
    }
}
