//! How many requests a plan means to send at which time, where that changes.

use super::{Plan, PlanFile};
use crate::units::{Rate, Span};

impl PlanFile {
    /// Requests per second that users who come mean to send, on average, whatever the server does;
    /// none of other loads, and where that is not known.
    pub fn rate_of_users(&self) -> Option<Rate> {
        let script = self.script.as_ref()?;
        let users = script.arrivals.rate()?;
        let each = script.asked_by_each()?;
        users
            .as_per_1000_s()
            .checked_mul(each)
            .map(Rate::per_1000_s)
    }

    /// Whether users come at a rate, each for one visit.
    pub fn do_users_come(&self) -> bool {
        let script = self.script.as_ref();
        script.is_some_and(|script| script.arrivals.rate().is_some())
    }

    /// Whether requests, or users who ask, come by a schedule, whatever the server does.
    pub fn is_scheduled(&self) -> bool {
        self.arrivals.rate().is_some() || self.do_users_come()
    }
}

impl Plan {
    /// The rate at which requests are to be sent in a part of the window, where that changes. Of
    /// users who come it is known where each asks as often as any other, without a pause.
    pub fn scheduled(&self, start: Span, length: Span) -> Option<Rate> {
        let from = self.file.warmup + start;
        let rate = self.curve()?.mean_rate(from, from + length);
        let of_each = match self.is_open_loop() {
            true => 1,
            false => self.file.script.as_ref()?.asked_by_each()?,
        };
        rate.as_per_1000_s()
            .checked_mul(of_each)
            .map(Rate::per_1000_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Claim;
    use crate::fixture;
    use crate::plan::Stop;
    use crate::script;

    /// Of users who come, in the second of three seconds of which it is the busy one.
    #[track_caller]
    fn check(steps: &str, expected: Option<u64>) {
        let plan = plan_of_users(steps);
        let mean = plan.file().rate_of_users();
        assert_eq!(mean, expected.map(|rate| Rate::per_second(rate * 20 / 50)));
        let second = Span::from_s(1);
        let scheduled = plan.scheduled(second, second);
        assert_eq!(scheduled, expected.map(Rate::per_second), "{steps}");
        assert!(plan.file().is_scheduled(), "{steps}");
    }

    fn plan_of_users(steps: &str) -> Plan {
        let text = format!("user_stages = '1s:=5,1s:=50,1s:=5'\n{steps}");
        let script = script::read("script", &text, Some("http://h/"), &script::Alone).unwrap();
        let file = PlanFile {
            requests: script.requests,
            script: Some(script.steps),
            stages: script.stages,
            stop: Stop::DurationNs(Span::from_s(3)),
            connections: 100,
            ..fixture::plan("http://h/", &[])
        };
        Plan::try_from(file).unwrap()
    }

    /// Users who come ask whether or not others have their answers: how long these take is what
    /// the load says, and not how fast the server goes.
    #[test]
    fn a_load_of_users_who_come_claims_latency() {
        let mut trial = fixture::closed();
        assert!(trial.claims().contains(&Claim::Capacity));
        trial.plan = plan_of_users("[[step]]\nget = '/'\n[[step]]\nwait = '1s'")
            .file()
            .clone();
        // Nobody knows how often each would ask: those who found no place had one request at least.
        trial.record.users = Some(crate::record::UsersRecord {
            came: 30,
            seated: 21,
            ..crate::record::UsersRecord::default()
        });
        assert_eq!(trial.unanswered(), 9);
        let claims = trial.claims();
        assert!(claims.contains(&Claim::Latency), "{claims:?}");
        assert!(!claims.contains(&Claim::Capacity), "{claims:?}");
    }

    #[test]
    fn users_who_ask_alike_and_without_pause_have_a_schedule_of_requests() {
        check("[[step]]\nget = '/'", Some(50));
        check("[[step]]\nget = '/'\nrepeat = 4", Some(200));
        let page = "[[step]]\nget = '/'\n[[step]]\nparts = [{ get = '/a' }, { get = '/b' }]";
        check(page, Some(150));
        check("[[step]]\nget = '/'\nrepeat = '1-4'", None);
        check("[[step]]\nget = '/'\n[[step]]\nwait = '1s'", None);
    }
}
