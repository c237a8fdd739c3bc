//! How users begin who are there to the end.

use model::Trial;
use model::plan::Think;

/// How many users there are at which time, by the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// All of them.
    pub users: f64,
    /// When the first begins, in seconds from the beginning of the window: before it.
    pub first_s: f64,
    /// When the last has begun.
    pub last_s: f64,
}

impl Ramp {
    /// That of a trial whose users begin at random between two moments.
    pub(super) fn of(trial: &Trial) -> Option<Self> {
        let plan = &trial.plan;
        let Some(Think::Uniform { from, to }) = plan.script.as_ref()?.start else {
            return None;
        };
        let begins = |after: model::Span| after.as_s_f64() - plan.warmup.as_s_f64();
        Some(Self {
            users: f64::from(plan.connections / plan.user_connections().max(1)),
            first_s: begins(from),
            last_s: begins(to),
        })
    }
}
