//! What users do, in order, again and again, as a plan holds it. People write it as `crate::script`
//! reads it.

use serde::{Deserialize, Serialize};

use super::pace::Think;
use super::{PlanError, PlanFile, field};

/// The most steps that a user may take without a request: what the generator does meanwhile is time
/// that answers of other users wait.
const UNASKED_MAX: u64 = 10_000;

/// What each user does, in order, again and again.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// How long each user waits before the first step, once; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Think>,
    /// In order.
    pub steps: Vec<StepFile>,
}

/// One step of a script.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepFile {
    /// The user sends the request in this position of the plan and waits for its answer.
    Ask(u16),
    /// One of several ways, at random.
    Choose(Vec<WayFile>),
    /// Steps that are taken several times.
    Repeat {
        /// At least so often.
        from: u32,
        /// At most so often; each number between is as probable.
        to: u32,
        /// What is repeated.
        steps: Vec<Self>,
    },
    /// The user waits.
    Wait(Think),
}

/// One of several ways.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WayFile {
    /// How often it is gone, in relation to the weights of the others.
    pub weight: u32,
    /// What is done on it; may be nothing.
    pub steps: Vec<StepFile>,
}

impl ScriptFile {
    /// How many of its steps are requests.
    pub fn requests(&self) -> usize {
        count(&self.steps)
    }
}

fn count(steps: &[StepFile]) -> usize {
    let of = |step: &StepFile| match step {
        StepFile::Ask(_) => 1,
        StepFile::Choose(ways) => ways.iter().map(|way| count(&way.steps)).sum(),
        StepFile::Repeat { steps, .. } => count(steps),
        StepFile::Wait(_) => 0,
    };
    steps.iter().map(of).sum()
}

/// A script goes with what else the plan says, and users get on in it.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let Some(script) = &file.script else {
        return Ok(());
    };
    let wrong = |why: &str| Err(field("script", why));
    if file.arrivals.rate().is_some() {
        return wrong("users ask when their steps say, so there is no rate");
    }
    if file.think.is_some() {
        return wrong("users wait where their steps say, so there is no other think time");
    }
    if file.at_once() > 1 {
        return wrong("a user has one request under way");
    }
    check_steps(&script.steps, file.requests.len())?;
    if !always_asks(&script.steps) {
        return wrong(
            "a user could come to its end without a request: let one stand outside of all chances \
             and branches, or in each branch",
        );
    }
    if unasked(&script.steps) > UNASKED_MAX {
        return wrong("a user could take more than 10,000 steps without a request: repeat less");
    }
    Ok(())
}

fn check_steps(steps: &[StepFile], requests: usize) -> Result<(), PlanError> {
    for step in steps {
        match step {
            StepFile::Ask(class) if usize::from(*class) >= requests => {
                let why = format!("step asks for request {class} of {requests}, from 0");
                return Err(field("script", why));
            }
            StepFile::Ask(_) | StepFile::Wait(_) => {}
            StepFile::Choose(ways) => {
                if ways.iter().all(|way| way.weight == 0) {
                    return Err(field("script", "one branch has a weight of 1 or more"));
                }
                for way in ways {
                    check_steps(&way.steps, requests)?;
                }
            }
            StepFile::Repeat { from, to, steps } => {
                if from > to || *to == 0 {
                    let why = format!("repeat {from} to {to} times: give 1 or more, less first");
                    return Err(field("script", why));
                }
                check_steps(steps, requests)?;
            }
        }
    }
    Ok(())
}

/// Whether whoever takes these steps sends a request, whatever is drawn.
fn always_asks(steps: &[StepFile]) -> bool {
    steps.iter().any(|step| match step {
        StepFile::Ask(_) => true,
        StepFile::Choose(ways) => {
            let mut gone = ways.iter().filter(|way| way.weight > 0);
            gone.all(|way| always_asks(&way.steps))
        }
        StepFile::Repeat { from, steps, .. } => *from > 0 && always_asks(steps),
        StepFile::Wait(_) => false,
    })
}

/// How many steps that may be, at most, without a request.
fn unasked(steps: &[StepFile]) -> u64 {
    let of = |step: &StepFile| match step {
        StepFile::Ask(_) | StepFile::Wait(_) => 1,
        StepFile::Choose(ways) => {
            let longest = ways.iter().map(|way| unasked(&way.steps)).max();
            longest.unwrap_or(0).saturating_add(1)
        }
        StepFile::Repeat { to, steps, .. } => {
            let times = if always_asks(steps) {
                1
            } else {
                u64::from(*to)
            };
            (unasked(steps).saturating_add(1))
                .saturating_mul(times)
                .saturating_add(1)
        }
    };
    steps.iter().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Arrivals, Plan};
    use crate::units::Rate;

    fn wait() -> StepFile {
        StepFile::Wait("1ms".parse().unwrap())
    }

    fn repeat(from: u32, to: u32, steps: Vec<StepFile>) -> StepFile {
        StepFile::Repeat { from, to, steps }
    }

    fn choose(ways: Vec<(u32, Vec<StepFile>)>) -> StepFile {
        let way = |(weight, steps)| WayFile { weight, steps };
        StepFile::Choose(ways.into_iter().map(way).collect())
    }

    fn check(steps: Vec<StepFile>, change: impl FnOnce(&mut PlanFile), expected: &str) {
        let mut file = crate::fixture::plan("http://h/", &[]);
        file.script = Some(ScriptFile { start: None, steps });
        change(&mut file);
        let told = match Plan::try_from(file) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert!(
            told.contains(expected) && told.is_empty() == expected.is_empty(),
            "{told}"
        );
    }

    #[test]
    fn a_user_who_may_never_ask_is_refused() {
        let ask = || StepFile::Ask(0);
        for fine in [
            vec![ask()],
            vec![wait(), repeat(0, 3, vec![wait()]), ask()],
            vec![choose(vec![
                (1, vec![ask()]),
                (2, vec![wait(), ask()]),
                (0, vec![]),
            ])],
            vec![repeat(1, 1_000_000, vec![ask()])],
        ] {
            check(fine, |_| {}, "");
        }
        for without in [
            vec![],
            vec![wait()],
            vec![repeat(0, 2, vec![ask()])],
            vec![choose(vec![(1, vec![ask()]), (1, vec![wait()])])],
        ] {
            check(without, |_| {}, "without a request");
        }
        let rare = choose(vec![(1, vec![ask()]), (9, vec![])]);
        let thousand = repeat(1_000, 1_000, vec![repeat(1_000, 1_000, vec![rare])]);
        check(vec![ask(), thousand], |_| {}, "more than 10,000 steps");
    }

    #[test]
    fn a_script_goes_with_a_closed_loop_and_its_own_waits() {
        let ask = || vec![StepFile::Ask(0)];
        let rate_per_1000_s = Rate::per_second(1);
        let fixed = Arrivals::Fixed { rate_per_1000_s };
        check(ask(), |file| file.arrivals = fixed, "no rate");
        check(ask(), |file| file.pipeline = 2, "one request under way");
        check(ask(), |file| file.think = "1s".parse().ok(), "think time");
        check(vec![StepFile::Ask(1)], |_| {}, "request 1 of 1");
        check(vec![repeat(3, 2, ask())], |_| {}, "less first");
        check(vec![choose(vec![])], |_| {}, "weight of 1 or more");
    }
}
