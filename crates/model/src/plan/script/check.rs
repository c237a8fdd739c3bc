//! Scripts that no plan can have.

use std::collections::BTreeSet;

use super::{
    FromFile, PlanError, PlanFile, ScriptFile, SourceFile, StepFile, TakeFile, VariableFile, field,
};
use crate::redact::REDACTED;
use crate::units::Rate;

/// The most steps that a user may take without a request: what the generator does meanwhile is time
/// that answers of other users wait.
const UNASKED_MAX: u64 = 10_000;
/// The most connections that a user may have.
const USER_CONNECTIONS_MAX: u32 = 64;

/// A script goes with what else the plan says, and users get on in it.
pub(in crate::plan) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let Some(script) = &file.script else {
        return Ok(());
    };
    let wrong = |why: &str| Err(field("script", why));
    if file.arrivals.rate().is_some() {
        return wrong("users ask when their steps say, so there is no rate");
    }
    if script.arrivals.rate().is_some_and(Rate::is_zero) {
        return wrong("user_rate: give users per second, as in 50");
    }
    if file.think.is_some() {
        return wrong("users wait where their steps say, so there is no other think time");
    }
    check_seats(file, script)?;
    check_values(file, script)?;
    check_steps(&script.steps, file.requests.len())?;
    if !always_asks(&script.steps) {
        return wrong(
            "a user could reach the end without a request: put one outside all chances and \
             branches, or one in each branch",
        );
    }
    if unasked(&script.steps) > UNASKED_MAX {
        return wrong("a user could take more than 10,000 steps without a request: repeat less");
    }
    Ok(())
}

/// What users ask together goes with the connections that they have.
fn check_seats(file: &PlanFile, script: &ScriptFile) -> Result<(), PlanError> {
    let wrong = |why: &str| Err(field("script", why));
    let each = file.user_connections();
    if script.together() <= 1 && file.at_once() > 1 {
        return wrong("a user has one request under way, unless a step has parts");
    }
    if script.together() <= 1 && script.user_connections.is_some_and(|each| each > 1) {
        return wrong(
            "user_connections is for steps with parts: a user has one request under way, and needs \
             one connection",
        );
    }
    if !(1..=USER_CONNECTIONS_MAX).contains(&script.user_connections.unwrap_or(1)) {
        return wrong("user_connections: give 1 to 64");
    }
    if !file.connections.is_multiple_of(each) {
        let why = format!(
            "each user has {each} connections, so {} cannot be all of them: give a multiple",
            file.connections
        );
        return Err(field("connections", why));
    }
    // What comes of answers side by side on one connection is not kept apart.
    let is_read = |class: &u16| script.answers.iter().any(|answer| answer.request == *class);
    if file.at_once() > 1 && any_together(&script.steps, &is_read) {
        return wrong(
            "take and contains look at answers that come one after the other: a part cannot have \
             them where several requests are under way on one connection",
        );
    }
    Ok(())
}

/// Whether that is so of one of the requests that are asked together.
fn any_together(steps: &[StepFile], is_so: &impl Fn(&u16) -> bool) -> bool {
    steps.iter().any(|step| match step {
        StepFile::Ask(_) | StepFile::Wait(_) => false,
        StepFile::Choose(ways) => ways.iter().any(|way| any_together(&way.steps, is_so)),
        StepFile::Repeat { steps, .. } => any_together(steps, is_so),
        StepFile::Together(requests) => requests.iter().any(is_so),
    })
}

/// What users know, and what they take from answers.
fn check_values(file: &PlanFile, script: &ScriptFile) -> Result<(), PlanError> {
    let wrong = |why: String| Err(field("script", why));
    let mut names = BTreeSet::new();
    for VariableFile { name, source, .. } in &script.variables {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return wrong(format!(
                "'{name}' cannot be the name of a variable: use letters, digits, '_', '-' and '.'"
            ));
        }
        if !names.insert(name.as_str()) {
            return wrong(format!("there are two variables '{name}'"));
        }
        match source {
            SourceFile::List { values, .. } if values.is_empty() => {
                return wrong(format!("variable '{name}': give at least one value"));
            }
            SourceFile::List { values, .. } if values.contains(&REDACTED.to_owned()) => {
                return wrong(format!(
                    "the values of {name} were taken out when this was stored; give them again"
                ));
            }
            SourceFile::Random { from, to, .. } if from > to => {
                return wrong(format!(
                    "variable '{name}': the smallest number comes first"
                ));
            }
            _ => {}
        }
    }
    for answer in &script.answers {
        if usize::from(answer.request) >= file.requests.len() {
            return wrong(format!("there is no request {}, from 0", answer.request));
        }
        for TakeFile { variable, from } in &answer.takes {
            if !names.contains(variable.as_str()) {
                return wrong(format!("there is no variable '{variable}' to take a value"));
            }
            match from {
                FromFile::Json(pointer) if !pointer.is_empty() && !pointer.starts_with('/') => {
                    return wrong(format!(
                        "'{pointer}' is not a JSON pointer: begin it with '/'"
                    ));
                }
                FromFile::Pattern(pattern) => {
                    if let Err(error) = regex_lite::Regex::new(pattern) {
                        return wrong(format!("'{pattern}' is not a regular expression: {error}"));
                    }
                }
                FromFile::Header(_) | FromFile::Json(_) => {}
            }
        }
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
            StepFile::Together(classes) if classes.is_empty() => {
                return Err(field("script", "parts: give at least one"));
            }
            StepFile::Together(classes) => {
                let asks = classes.iter().map(|class| StepFile::Ask(*class));
                check_steps(&asks.collect::<Vec<_>>(), requests)?;
            }
            StepFile::Ask(_) | StepFile::Wait(_) => {}
            StepFile::Choose(ways) => {
                if ways.iter().all(|way| way.weight == 0) {
                    return Err(field(
                        "script",
                        "give at least one branch a weight of 1 or more",
                    ));
                }
                for way in ways {
                    check_steps(&way.steps, requests)?;
                }
            }
            StepFile::Repeat { from, to, steps } => {
                if from > to || *to == 0 {
                    let why = format!(
                        "repeat {from} to {to} times: give 1 or more, the smaller number first"
                    );
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
        StepFile::Ask(_) | StepFile::Together(_) => true,
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
        StepFile::Ask(_) | StepFile::Together(_) | StepFile::Wait(_) => 1,
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
