//! A trial: meters on, load, meters off, judged.

use std::path::Path;
use std::time::Duration;

use model::event::Event;
use model::plan::Stop;
use model::point::Point;
use model::record::Recovery;
use model::trial::Context;
use model::{Condition, Environment, PlanFile, Span, Trial};

use crate::condition;
use crate::error::LabError;
use crate::generator::Generator;
use crate::host::Host;
use crate::meter::Meters;
use crate::server::Running;

/// What surrounds a trial.
pub struct Surroundings<'a> {
    /// The machine of the server.
    pub host: &'a Host<'a>,
    /// The same, as it was read last.
    pub environment: &'a Environment,
    /// How CPUs were divided.
    pub cpu_choice: &'a str,
    /// The generator's.
    pub generator_cpus: &'a [u32],
    /// Whether the load is meant to be more than servers can take.
    pub overload: bool,
    /// Whether the server is told to read its configuration again in the middle of the window.
    pub reload: bool,
}

/// Half of a window.
fn middle(stop: Stop) -> Span {
    match stop {
        Stop::Count(_) => Span::ZERO,
        Stop::DurationNs(length) => length / 2,
    }
}

/// Runs `plan` against `running` with meters on, and judges what came of it.
pub fn measure(
    generator: &mut dyn Generator,
    running: &mut Running,
    plan: &PlanFile,
    point: Point,
    surroundings: &Surroundings<'_>,
) -> Result<Trial, LabError> {
    running.look_before();
    let mut meters = Meters::of(plan).and_behind(running.behind());
    let mut reload = surroundings.reload.then(|| middle(plan.stop));
    let mut trial = generator.run(plan, &mut |event, generator| {
        running.end_if_headless();
        if let Event::Interval { second, .. } = event
            && reload.is_some_and(|middle| *second >= middle.as_s_f64())
        {
            reload = None;
            running.reload(Duration::try_from_secs_f64(*second).unwrap_or_default());
        }
        meters.see(event, generator, running.group());
    })?;
    let reloaded = running.end_reload();
    let mut facts = running.look_after();
    if facts.exit.is_none() {
        reloaded?;
    }
    if let Some(server) = running.condition() {
        let examination = verdict::doctor::examine_server(&Condition {
            environment: surroundings.environment.clone(),
            at_once: Some(plan.connections),
            server: Some(server.clone()),
            kernel_tracing: condition::kernel_tracing(Path::new("/sys")),
            filtered: condition::is_filtered(Path::new("/proc")),
            ..Condition::default()
        });
        facts.doctor = examination.findings();
        facts.doctor_unknown = examination.unknown;
    }
    let shared = surroundings.host.shared_cpus(
        facts.cpus_allowed.as_deref(),
        surroundings.generator_cpus,
        trial.context.shared_cpus.take(),
    );
    trial.point = Some(point);
    trial.environment = surroundings.environment.clone();
    trial.environment.time = Some(crate::environment::rfc3339(sys::clock::realtime()));
    if surroundings.host.is_asked_from_elsewhere {
        let address = surroundings.host.listen.into();
        trial.environment.path = crate::environment::path::at(address);
    }
    trial.usage = meters.usage();
    trial.context = Context {
        // Only the rest of the round can tell.
        ceiling: None,
        cpu_choice: Some(surroundings.cpu_choice.to_owned()),
        shared_cpus: shared,
        overload: surroundings.overload,
        server: (!running.is_elsewhere()).then_some(facts),
        search: None,
        waited: None,
    };
    trial.recovery = Recovery::of(&trial.record.intervals);
    for share in &mut trial.agents {
        share.context.overload = surroundings.overload;
    }
    trial.void = verdict::void(&trial);
    trial.verdict = verdict::judge(&trial);
    verdict::judge_shares(&mut trial);
    Ok(trial)
}
