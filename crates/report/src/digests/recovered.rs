//! How soon a server answered as before, once a crowd had gone.

use model::Trial;
use model::record::Recovery;

use super::Cell;

/// What one trial tells.
#[derive(Clone, Copy, Debug)]
pub struct Recovered {
    /// Until the end of the first interval in which answers took as before, or of the window.
    pub seconds: f64,
    /// Whether they did within the window.
    pub was_seen: bool,
    /// Whether they did in the first interval that was looked at: it may have taken less.
    is_first: bool,
}

impl Recovered {
    /// None where no crowd came and went.
    pub(super) fn of(trial: &Trial) -> Option<Self> {
        let Recovery { took, watched, .. } = trial.recovery?;
        Some(Self {
            seconds: took.unwrap_or(watched).as_s_f64(),
            was_seen: took.is_some(),
            is_first: took.is_some_and(|took| took <= trial.plan.interval),
        })
    }
}

impl Cell<'_> {
    /// Whether its recovery is only known to have taken no longer than that, which is an interval
    /// of the record: in each of the rounds that count, the first interval was as before.
    pub fn recovered_within(&self) -> bool {
        let mut all = self.counting().filter_map(|digest| digest.recovery);
        self.recovery().is_some() && all.all(|one| one.is_first)
    }
}
