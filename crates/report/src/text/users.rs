//! Users who follow a script, in words.

use model::plan::{Arrivals, ScriptFile, Stop};
use model::record::Record;
use model::{PlanFile, Trial};
use verdict::words;

use super::Style;
use crate::users::{WAIT_QUANTILES, facts};

/// Who asks when.
pub(super) fn pace(plan: &PlanFile, script: &ScriptFile) -> String {
    let requests = script.requests();
    let (rate, spacing) = match script.arrivals {
        Arrivals::Closed => {
            let users = match plan.user_connections() {
                1 => "users".to_owned(),
                each => words::plural(u64::from(plan.connections / each), "user"),
            };
            return format!("closed loop of {users} who follow a script of {requests} requests");
        }
        Arrivals::Fixed { rate_per_1000_s } => (rate_per_1000_s, "evenly spaced"),
        Arrivals::Poisson { rate_per_1000_s } => (rate_per_1000_s, "at random (Poisson)"),
        Arrivals::Uniform { rate_per_1000_s } => (rate_per_1000_s, "each at random in its place"),
    };
    let mut rate = format!("{} users/s come", words::rate(rate.as_per_second_f64()));
    if !plan.stages.is_empty() {
        let stages: Vec<String> = plan.stages.iter().map(ToString::to_string).collect();
        rate = format!(
            "users come in stages {}, {rate} on average",
            stages.join(",")
        );
    }
    let places = u64::from(plan.connections / plan.user_connections());
    format!(
        "partly open loop, {rate}, {spacing}, follow a script of {requests} requests \
         once and leave, up to {} at once",
        words::count(places)
    )
}

/// What became of users who came, in lines; empty where none did.
pub(super) fn came(record: &Record, style: Style) -> String {
    let Some(users) = facts(&record.users) else {
        return String::new();
    };
    let count = words::count;
    let mut text = format!("{} came, warm-up included", count(users.came));
    if let (Some(at_once), Some(waited)) = (users.at_once, users.waited) {
        text.push_str(&match waited {
            0 => ", and found a place at once".to_owned(),
            _ => format!(
                ": {} found a place at once, {} found all taken and waited",
                count(at_once),
                count(waited)
            ),
        });
    }
    if users.still_waited > 0 {
        let still = format!("; {} still waited at the end", count(users.still_waited));
        text.push_str(&still);
    }
    let mut out = style.labelled("users", &text);
    let text = format!(
        "{} went through the script, {} were still there at the end; most there at once: {}",
        count(users.left),
        count(users.still_there),
        count(users.there_most)
    );
    out.push_str(&style.labelled("", &text));
    if users.waited != Some(0)
        && let Some(longest) = users.longest
    {
        let told = WAIT_QUANTILES.iter().zip(users.wait);
        let told = told.filter_map(|((_, name), wait)| Some(format!("{name} {}", wait?)));
        let told: String = told.map(|one| format!("{one}, ")).collect();
        let text = format!(
            "The wait for a place, of all who found one: {told}longest {longest}. What they asked \
             first includes it. Give more connections (-c), unless that limit is what you measure."
        );
        out.push_str(&style.labelled("", &text));
    }
    out
}

/// What response times say where users come; none where all are there from the beginning.
pub(super) fn partly_open(record: &Record) -> Option<&'static str> {
    record.users.as_ref().map(|_| {
        "Partly open loop: users come whether or not others have their answers, but each waits for \
         its own before it goes on. A server that slows down has more of them at once."
    })
}

/// What response times of a closed loop say, and what they do not.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a positive time for people"
)]
pub(super) fn closed_loop(trial: &Trial) -> String {
    const FIXED: &str = "To measure how long users wait, ask for a fixed rate (-R).";
    if let Some(said) = partly_open(&trial.record) {
        return said.to_owned();
    }
    if trial.has_users() {
        const STAY: &str = "Closed loop: each user waits for its answer before it goes on, so a \
                            server that slows down is asked less often. To measure how \
                            long users wait, let them come at a rate (user_rate).";
        return STAY.to_owned();
    }
    // A count that ends soon ends before all connections are open and busy.
    let is_short = matches!(trial.plan.stop, Stop::Count(count) if count / 10 < trial.places());
    if is_short {
        return format!(
            "Closed loop: each connection waits for its answer before it asks again. {FIXED}"
        );
    }
    let seconds = trial.places() as f64 / trial.record.achieved_rate;
    let mean = model::Span::from_ns((seconds * 1e9) as u64);
    if trial.plan.at_once() == 1 {
        return format!(
            "Closed loop: each connection waits for its answer before it asks again, so past \
             saturation the mean is connections / rate = {mean}. {FIXED}"
        );
    }
    format!(
        "Closed loop: the next request waits until one of up to {} exchanges in flight has ended, \
         so past saturation the mean is exchanges in flight / rate = {mean}. {FIXED}",
        words::count(trial.places())
    )
}

#[cfg(test)]
mod tests {
    use model::distribution::Distribution;
    use model::fixture;
    use model::record::UsersRecord;
    use model::units::{Rate, Span};

    use super::*;

    #[test]
    fn who_came_is_told() {
        let mut trial = fixture::closed();
        let style = Style::new(false, None);
        assert_eq!(came(&trial.record, style), "");
        let mut wait = Distribution::default();
        wait.record(Span::from_ms(70));
        trial.record.users = Some(UsersRecord {
            came: 1_234,
            seated: 1_233,
            waited: Some(9),
            left: 1_200,
            there_most: 64,
            waiting_most: 9,
            wait,
        });
        let said = came(&trial.record, style);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "users 1,234 came, warm-up included: 1,225 found a place at once, 9 \
                        found all taken and waited; 1 still waited at the end 1,200 went through \
                        the script, 33 were still there at the end; most there at once: 64 The \
                        wait for a place, of all who found one: longest 70.0 ms.";
        assert!(said.starts_with(expected), "{said}");
        assert!(partly_open(&trial.record).is_some());
        let script = ScriptFile {
            arrivals: Arrivals::Poisson {
                rate_per_1000_s: Rate::per_second(50),
            },
            ..ScriptFile::default()
        };
        let said = pace(&trial.plan, &script);
        assert!(
            said.starts_with("partly open loop, 50 users/s come"),
            "{said}"
        );
        trial.plan.stages = vec!["30s:50".parse().unwrap(), "2m:0".parse().unwrap()];
        let said = pace(&trial.plan, &script);
        let expected = "partly open loop, users come in stages 30s:50,120s:0, 50 users/s come on \
                        average, at random";
        assert!(said.starts_with(expected), "{said}");
    }
}
