//! One run: what was asked, what it is worth, and the numbers.

use model::plan::{Arrivals, PlanFile, Protocol};
use model::record::{ConnectionCounts, Tally};
use model::{Claim, Outcome, Status, Trial};
use verdict::summary::{cpu_per_request, median};
use verdict::words;

use super::Style;
use super::thresholds::thresholds;
use super::times::{classes, pages, times};
use super::users;
use super::worth::{coverage, notes, verdict};

/// The whole of it. The verdict comes first.
pub fn trial(trial: &Trial, style: Style) -> String {
    if trial.record.measured_nothing() {
        return format!("{}\n{}", asked(trial, style), remarks(trial, style));
    }
    let mut out = verdict(&trial.verdict, style);
    out.push('\n');
    out.push_str(&thresholds(trial, style));
    out.push_str(&asked(trial, style));
    out.push('\n');
    out.push_str(&rates(trial, style));
    out.push('\n');
    out.push_str(&times(trial, style));
    out.push_str(&super::split::split(trial, style));
    out.push_str(&classes(trial, style));
    out.push_str(&pages(trial, style));
    out.push_str(&meaning(trial, style));
    let failures = failures(trial, style);
    if !failures.is_empty() {
        out.push('\n');
        out.push_str(&failures);
    }
    out.push('\n');
    out.push_str(&connections(trial, style));
    out.push_str(&super::sources::sources(trial, style));
    out.push_str(&super::slow::did(trial, style));
    out.push_str(&super::redirects::redirects(trial, style));
    out.push_str(&super::encoding::encoding(trial, style));
    out.push_str(&super::tls::tls(trial, style));
    out.push_str(&super::http2::http2(trial, style));
    out.push_str(&super::quic::quic(trial, style));
    out.push_str(&costs(trial, style));
    out.push_str(&super::agents::agents(trial, style));
    out.push('\n');
    out.push_str(&remarks(trial, style));
    out.push_str(&notes(&trial.verdict, style));
    out.push_str(&coverage(&trial.verdict, style));
    out
}

/// What was asked of whom.
fn asked(trial: &Trial, style: Style) -> String {
    let plan = &trial.plan;
    let url = plan.requests.first().map_or("", |request| &request.url);
    let method = plan
        .requests
        .first()
        .map_or("GET", |request| &request.method);
    let mut title = match is_bare(plan) {
        true => format!("handshakes with {url}"),
        false => format!("{method} {url}"),
    };
    if plan.requests.len() > 1 {
        let others = words::plural(plan.requests.len() as u64 - 1, "other request");
        title.push_str(&format!(" and {others}{}", super::servers::servers(plan)));
    }
    if let Some(server) = trial
        .record
        .reference
        .as_ref()
        .and_then(|r| r.server.as_ref())
    {
        title.push_str(&format!("  ({server})"));
    }
    let how = how(plan);
    let each = match plan.requests_per_connection {
        None => String::new(),
        Some(0) => " of a handshake of TLS alone".to_owned(),
        Some(each) => format!(" of {}", words::plural(u64::from(each), "request")),
    };
    let renewal = super::renewal::renewal(plan) + &super::slow::slow(plan);
    let protocol = match plan.protocol {
        Protocol::Http1 => "",
        Protocol::Http2 => " of HTTP/2",
        Protocol::Http3 => " of HTTP/3",
    };
    let pipeline = match plan.at_once() {
        1 => String::new(),
        many => format!(" with up to {many} exchanges in flight on each"),
    };
    let threads = words::plural(u64::from(plan.workers), "thread");
    let cpus = match plan.cpus.as_slice() {
        [] => String::new(),
        cpus => format!(" on {}", words::named_cpus(cpus)),
    };
    let measured_nothing = trial.record.measured_nothing();
    let window = if measured_nothing {
        String::new()
    } else {
        format!("{} after ", trial.record.window)
    };
    let mut line = format!(
        "{how}, {}{protocol}{each}{pipeline}{renewal}, {threads}{cpus}, {window}{} of warm-up",
        words::plural(u64::from(plan.connections), "connection"),
        plan.warmup
    );
    if let Some(count) = plan.count() {
        line.push_str(&format!(", {} asked for", words::plural(count, "exchange")));
    }
    if measured_nothing {
        line.push_str("; INTERRUPTED: nothing was measured");
    } else if trial.record.interrupted {
        line.push_str("; INTERRUPTED: only what was measured until then");
    }
    format!("{}\n{}", style.bold(&title), style.paragraph(&line))
}

/// Whether each exchange is a handshake and nothing is asked.
fn is_bare(plan: &PlanFile) -> bool {
    plan.requests_per_connection == Some(0)
}

/// When requests become due, in words, and which script in Lua has a part in it.
fn how(plan: &PlanFile) -> String {
    let pace = pace(plan);
    match &plan.lua {
        None => pace,
        Some(lua) if lua.asks => format!("{pace}, requests by the Lua script {}", lua.name),
        Some(lua) => format!("{pace}, with the Lua script {}", lua.name),
    }
}

fn pace(plan: &PlanFile) -> String {
    if let Some(script) = &plan.script {
        return users::pace(plan, script);
    }
    let (rate, spacing) = match (plan.arrivals, plan.think) {
        (Arrivals::Closed, None) => return "closed loop".to_owned(),
        (Arrivals::Closed, Some(think)) => {
            return format!("closed loop of users who think {think}");
        }
        (Arrivals::Fixed { rate_per_1000_s }, _) => (rate_per_1000_s, "evenly spaced"),
        (Arrivals::Poisson { rate_per_1000_s }, _) => (rate_per_1000_s, "at random (Poisson)"),
        (Arrivals::Uniform { rate_per_1000_s }, _) => {
            (rate_per_1000_s, "each at random in its place")
        }
    };
    let rate = words::rate(rate.as_per_second_f64());
    let mut how = format!("open loop, {rate}/s {spacing}");
    if !plan.stages.is_empty() {
        let stages: Vec<String> = plan.stages.iter().map(ToString::to_string).collect();
        how = format!(
            "open loop, stages {}, {rate}/s on average, {spacing}",
            stages.join(",")
        );
    }
    if let Some(deadline) = plan.deadline {
        how.push_str(&format!(", given up if not sent within {deadline}"));
    }
    how
}

/// Rates, in all and by interval.
fn rates(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    let rate = format!("{}/s", words::rate(record.achieved_rate));
    let what = match is_bare(&trial.plan) {
        true => "handshakes, without a request",
        false => "right answers",
    };
    let rate = match trial.verdict.generator_limited {
        true => format!("at least {rate}"),
        false => rate,
    };
    let claim = match trial.verdict.claims.contains_key(&Claim::Capacity) {
        true => Claim::Capacity,
        false => Claim::Latency,
    };
    let rate = if is_invalid(trial, claim) && !::verdict::is_bound(&trial.verdict) {
        format!("{} {what}, invalid", style.struck(&rate))
    } else {
        format!("{} {what}", style.bold(&rate))
    };
    let mut out = format!("{:<12}{rate}", "rate");
    let ok = record.total.right_in_it();
    out.push_str(&format!(" ({} in {})\n", words::count(ok), record.window));
    if let Some(line) = by_interval(trial) {
        out.push_str(&style.labelled("", &line));
    }
    if let Some(rate) = trial.plan.arrivals.rate() {
        let seconds = record.window.as_s_f64().max(1e-9);
        let sent = number(record.total.sent_in_it()) / seconds;
        out.push_str(&style.labelled(
            "",
            &format!(
                "intended {}/s, sent {}/s; most requests waiting at once: {}",
                words::rate(rate.as_per_second_f64()),
                words::rate(sent),
                words::count(record.backlog_max)
            ),
        ));
    }
    out.push_str(&users::came(record, style));
    let seconds = record.window.as_s_f64().max(1e-9);
    out.push_str(&style.labelled(
        "goodput",
        &format!(
            "{}/s of content, {}/s received, {}/s sent",
            bytes(record.goodput),
            bytes(number(record.total.bytes_received.count()) / seconds),
            bytes(number(record.total.bytes_sent.count()) / seconds),
        ),
    ));
    out
}

/// Whether the trial makes `claim` and may not.
fn is_invalid(trial: &Trial, claim: Claim) -> bool {
    let worth = trial.verdict.claims.get(&claim);
    worth.is_some_and(|worth| worth.status == Status::Invalid)
}

/// The slowest, the median and the fastest whole interval.
fn by_interval(trial: &Trial) -> Option<String> {
    let intervals = &trial.record.intervals;
    let full = intervals.first()?.length;
    let mut rates: Vec<f64> = intervals
        .iter()
        .filter(|interval| interval.length.as_ns() >= full.as_ns() / 2)
        .map(|interval| number(interval.tally.right_in_it()) / interval.length.as_s_f64().max(1e-9))
        .collect();
    rates.sort_by(f64::total_cmp);
    let median = median(&rates)?;
    let (slowest, fastest) = (rates.first()?, rates.last()?);
    if rates.len() < 2 {
        return None;
    }
    let each = if full == model::Span::from_s(1) {
        "second".to_owned()
    } else {
        full.to_string()
    };
    Some(format!(
        "by {each}: slowest {}/s, median {}/s, fastest {}/s",
        words::rate(*slowest),
        words::rate(median),
        words::rate(*fastest)
    ))
}

/// What the times above may be used for.
fn meaning(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    if record.response_time.count() + record.response_time.censored() == 0 {
        return String::new();
    }
    let mut out = String::new();
    if is_invalid(trial, Claim::Latency) {
        out.push_str(&style.labelled("", "Latency is invalid: these times are no result."));
    }
    if is_bare(&trial.plan) {
        let text = "An exchange is a handshake: its response time is the connect and the \
                    handshake, its service time the handshake alone.";
        out.push_str(&style.labelled("", text));
    } else if trial.plan.arrivals.rate().is_none() && record.achieved_rate > 0.0 {
        out.push_str(&style.labelled("", &users::closed_loop(trial)));
    }
    if record.response_time.censored() > 0 {
        out.push_str(&style.labelled(
            "",
            &format!(
                "{} had no right answer: they count as longer than {}.",
                words::plural(record.response_time.censored(), "exchange"),
                trial.plan.timeout
            ),
        ));
    }
    let count = record.response_time.count() + record.response_time.censored();
    if count < 100_000 {
        out.push_str(&style.labelled(
            "",
            &format!(
                "\"-\": too few of the {} values lie beyond this percentile.",
                words::count(count)
            ),
        ));
    }
    out
}

/// Each way to fail, with its first example.
fn failures(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    let outcomes = &record.total.outcomes;
    let other = outcomes.total() - outcomes[Outcome::Ok];
    if other == 0 {
        return String::new();
    }
    let mut out = style.bold(&format!(
        "{:<12}{} of {} exchanges",
        "failures",
        words::count(other),
        words::count(outcomes.total())
    ));
    out.push('\n');
    for (outcome, count) in outcomes.iter().filter(|(_, count)| *count > 0) {
        if outcome == Outcome::Ok {
            continue;
        }
        let example = record
            .examples
            .iter()
            .find(|example| example.outcome == outcome);
        let mut text = words::count(count);
        if let Some(example) = example {
            text.push_str(&format!(", the first: {}", example.told()));
            if let Some(at) = example.at {
                text.push_str(&format!(" (after {at})"));
            }
        }
        let statuses = &record.wrong_statuses;
        if outcome == Outcome::Status && statuses.len() > 1 {
            let each = statuses.iter();
            let each = each.map(|(status, count)| format!("{status} ({})", words::count(*count)));
            let each: Vec<String> = each.collect();
            text.push_str(&format!("; by status: {}", each.join(", ")));
        }
        if outcome == Outcome::Timeout && record.total.cancelled > 0 {
            text.push_str(&format!(
                "; {} cancelled alone, so that the connection went on",
                words::count(record.total.cancelled)
            ));
        }
        out.push_str(&style.labelled(outcome.name(), &text));
    }
    out
}

/// Connections of the whole run, warm-up and end included.
fn connections(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    let mut all = ConnectionCounts::default();
    let phases: [&Tally; 3] = [&record.warmup_phase, &record.total, &record.drain_phase];
    for phase in phases {
        all.merge(&phase.connections);
    }
    let now = &record.total.connections;
    let mut text = format!(
        "{} asked, {} established",
        words::count(all.asked),
        words::count(all.established)
    );
    for (count, what) in [
        (all.failed, "failed"),
        (all.closed_by_client, "closed by us"),
        (all.closed_by_server, "closed by the server"),
        (all.broken, "broken"),
        (all.backed_off, "backed off"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", words::count(count)));
        }
    }
    if now.established > 0 && now.established != all.established {
        text.push_str(&format!(
            "; {} of them within the window",
            words::count(now.established)
        ));
    }
    style.labelled("connections", &text)
}

/// CPU and memory of both sides.
fn costs(trial: &Trial, style: Style) -> String {
    let mut out = String::new();
    let workers = &trial.record.workers;
    let share = |part: fn(&model::record::Worker) -> model::Span| {
        let whole: f64 = workers.iter().map(|w| w.window.as_s_f64()).sum();
        let part: f64 = workers.iter().map(|w| part(w).as_s_f64()).sum();
        (whole > 0.0).then(|| part / whole)
    };
    if let Some(busy) = share(|worker| worker.busy) {
        let mut text = format!(
            "busy {} of {}",
            words::share(busy),
            words::plural(workers.len() as u64, "thread")
        );
        if let Some(spin) = share(|worker| worker.spin).filter(|spin| *spin > 0.0) {
            text.push_str(&format!(", spinning {}", words::share(spin)));
        }
        if let Some(headroom) = trial.verdict.headroom {
            text.push_str(&format!(", headroom {headroom:.2}"));
        }
        out.push_str(&style.labelled("generator", &text));
    }
    let server = trial.usage.server.as_ref();
    let mut parts = Vec::new();
    if let Some(cpu) = cpu_per_request(trial) {
        let split = cpu.split_us.map_or_else(
            || "user and system not split".to_owned(),
            |(user, system)| format!("{user:.2} user, {system:.2} system"),
        );
        parts.push(format!(
            "{:.2} µs of CPU per exchange ({split}{})",
            cpu.total_us,
            if is_invalid(trial, Claim::Resources) {
                ", invalid"
            } else {
                ""
            }
        ));
    }
    if let Some(memory) = server.and_then(|usage| usage.memory_pss) {
        parts.push(format!("{memory} of memory (PSS)"));
    }
    if let Some(usage) = server
        && let (Some(held), Some(count)) = (usage.memory_sockets, usage.memory_sockets_connections)
    {
        let each = held.count().checked_div(count).map(model::Bytes::new);
        let each = each.map_or_else(String::new, |each| format!(", {each} each"));
        let of = words::plural(count, "connection");
        parts.push(format!("{held} in the sockets of {of}{each}"));
    }
    if parts.is_empty() {
        parts.push(super::servers::unread(&trial.plan));
    }
    out.push_str(&style.labelled("server", &parts.join(", ")));
    out
}

/// What a reader must know: backend, checks, CPUs, fallbacks.
fn remarks(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    let mut out = String::new();
    let backend = match record.backend.as_str() {
        "uring" => "io_uring",
        other => other,
    };
    if !backend.is_empty() {
        out.push_str(&style.labelled(
            "backend",
            &format!(
                "{backend}, with timers to {}",
                record.wait_resolution.people()
            ),
        ));
    }
    for (position, checked) in crate::digests::checked(trial).iter().enumerate() {
        out.push_str(&style.labelled(if position == 0 { "checked" } else { "" }, checked));
    }
    if let Some(choice) = &trial.context.cpu_choice {
        out.push_str(&style.labelled("CPUs", choice));
    }
    for note in &record.notes {
        out.push_str(&style.labelled("note", note));
    }
    if record.samples_dropped > 0 {
        out.push_str(&style.labelled(
            "samples",
            &format!(
                "{} kept, {} found no room",
                words::count(record.samples.len() as u64),
                words::count(record.samples_dropped)
            ),
        ));
    }
    out
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn number(count: u64) -> f64 {
    count as f64
}

fn bytes(count: f64) -> String {
    crate::number::bytes(count)
}
