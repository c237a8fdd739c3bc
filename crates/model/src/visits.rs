//! Users who come by a schedule and take what they want to the end: what is left of that when the
//! window is over.

use std::borrow::Cow;

use crate::distribution::Distribution;
use crate::trial::Trial;

impl Trial {
    /// Requests of users who had come that had no answer yet when the window ended: those under way
    /// and those that were still to be asked. Where users wait between requests, or do not all ask
    /// as often, it is the first request of each who never found a place. None are known of other
    /// loads.
    ///
    /// A server that keeps up has hardly any. One that does not has answered a few users fast, and
    /// its times would be those of them alone.
    pub fn unanswered(&self) -> u64 {
        let (Some(script), Some(users)) = (&self.plan.script, &self.record.users) else {
            return 0;
        };
        let Some(each) = script.asked_by_each() else {
            return users.came.saturating_sub(users.seated);
        };
        let record = &self.record;
        let ended = record.warmup_phase.outcomes.total() + record.total.outcomes.total();
        users.came.saturating_mul(each).saturating_sub(ended)
    }

    /// Response times, in which what is unanswered took longer than any answer, as what failed did.
    pub fn response_time(&self) -> Cow<'_, Distribution> {
        let times = &self.record.response_time;
        match self.unanswered() {
            0 => Cow::Borrowed(times),
            many => {
                let mut times = times.clone();
                times.record_censored_n(many);
                Cow::Owned(times)
            }
        }
    }
}
