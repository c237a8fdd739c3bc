//! GEN-19: users who came at a rate and found all places taken.
//!
//! Visitors of a site come whether or not it is slow. Where a place was free for each, the server
//! decided how many were there at once. Where they waited for one, the number of places did, as in
//! a closed loop: the server had fewer users than came, and what they asked first was later. Those
//! are counted over the whole run, the warm-up included. That a server is overloaded looks the
//! same: it keeps its users for longer, until any number of places is taken.

use model::finding::Claim::{Capacity, Comparison, Latency};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::USERS_WAITED;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-19",
    name: "users-waited",
    claims: &[Capacity, Latency, Comparison],
    mandatory: false,
    source: "Schroeder, Wierman and Harchol-Balter, Open Versus Closed (NSDI 2006)",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(users) = &facts.record.users else {
        return Judgement::NotApplicable;
    };
    let Some(waited) = users.found_no_place() else {
        return Judgement::unknown("how many users found all places taken");
    };
    let share = number(waited) / number(users.came).max(1.0);
    let Some(severity) = USERS_WAITED.severity(share) else {
        return Judgement::Silent;
    };
    let plan = &facts.trial.plan;
    let places = u64::from(plan.connections / plan.user_connections());
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "{} of {} users ({}) found all {} places taken and waited for one: how many the server \
             had at once was partly decided by the number of places, as in a closed loop, and not \
             by how users come.",
            words::count(waited),
            words::count(users.came),
            words::share(share),
            words::count(places)
        ),
    )
    .evidence("users_waited_share", share)
    .evidence("came", users.came)
    .evidence("waited", waited)
    .evidence("places", places)
    .limit(&USERS_WAITED)
    .fix(
        "Give more places (load: -c; lab: users, connections): users per second times how long a \
         visit takes, and some more",
    )
    .fix(
        "Let fewer users come (user_rate); where the server keeps them for ever longer, it is \
         overloaded at this rate",
    )
    .into()
}
