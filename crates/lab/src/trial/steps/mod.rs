//! What users of an experiment do against one server: what their steps name is where this server
//! has it.

use model::Span;
use model::experiment::{Content, Contents, Users, Workload};
use model::plan::{Expectation, Level, ScriptFile, Think, pace};
use model::request::RequestFile;
use model::script::{Around, Named, Script};

use super::{Load, Place, Target, Wanted};
use crate::sweep::Racer;

/// The steps of `users`, who find the contents of `workload` where `wanted` says.
pub(super) fn script(
    users: &Users,
    racer: Racer,
    place: &Place,
    workload: &Workload,
    wanted: &[Wanted],
) -> Option<Script> {
    let named = wanted.iter().map(|one| Named {
        path: one.path.clone(),
        expect: Some(one.expect.clone()),
    });
    let contents = Contents::new(workload, named);
    match racer {
        Racer::Server(_) => {
            let script = users.script(&place.url, &contents)?;
            Some(as_far_as_known(script, workload, wanted))
        }
        Racer::Ceiling { .. } => users.script(&place.url, &Nulls(contents)).map(from_memory),
    }
}

/// A digest is checked against an answer before the run, and nobody fetches what is asked in
/// another way by each user: of such an answer status and length are checked. One that the
/// experiment gives stays, and is refused.
fn as_far_as_known(mut script: Script, workload: &Workload, wanted: &[Wanted]) -> Script {
    let asked = workload.requests.iter().zip(wanted);
    let ours = asked.filter(|(asked, _)| !matches!(asked.content, Content::Path { .. }));
    let ours: Vec<&str> = ours
        .filter_map(|(_, one)| one.expect.sha256.as_deref())
        .collect();
    let steps = &script.steps;
    for request in &mut script.requests {
        let is_fixed = steps.is_fixed(request);
        let Some(expect) = request.expect.as_mut().filter(|_| !is_fixed) else {
            continue;
        };
        if expect
            .sha256
            .as_deref()
            .is_some_and(|digest| ours.contains(&digest))
        {
            expect.sha256 = None;
        }
    }
    script
}

/// What is asked of the null responder, which knows neither users nor other methods than GET.
fn from_memory(script: Script) -> Script {
    let request = |asked: RequestFile| RequestFile {
        name: asked.name,
        ..RequestFile::get(asked.url)
    };
    Script {
        requests: script.requests.into_iter().map(request).collect(),
        steps: script.steps.requests_alone(),
        stages: Vec::new(),
    }
}

/// A right answer to a step that says nothing of it.
pub(super) fn right() -> Expectation {
    Expectation {
        level: Level::Body,
        status: Some(200),
        ..Expectation::default()
    }
}

/// What each user does again and again under `load`.
pub(super) fn of_load(target: &Target, load: &Load) -> Option<ScriptFile> {
    let steps = &target.script.as_ref()?.steps;
    if !load.waits {
        return Some(steps.without_waits());
    }
    let start = (!load.ramp.is_zero()).then_some(Think::Uniform {
        from: Span::ZERO,
        to: load.ramp,
    });
    let arrivals = match load.stages.as_slice() {
        [] => steps.arrivals,
        stages => steps.arrivals.with_rate(|_| pace::mean_rate(stages)),
    };
    Some(ScriptFile {
        start,
        arrivals,
        ..steps.clone()
    })
}

/// The contents of a workload from memory. Where nobody knows how long the answer to a path is, an
/// empty one is as fast as it gets.
struct Nulls(Contents);

impl Around for Nulls {
    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        self.0.file(name)
    }

    fn environment(&self, name: &str) -> Option<String> {
        self.0.environment(name)
    }

    fn named(&self, asked: &str) -> Result<Option<Named>, String> {
        let empty = || Named {
            path: "/.triathlon/null?bytes=0".to_owned(),
            expect: None,
        };
        let named = self.0.named(asked)?;
        Ok(Some(named.unwrap_or_else(empty)))
    }
}

#[cfg(test)]
mod tests;
