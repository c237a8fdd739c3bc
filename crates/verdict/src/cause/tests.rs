use model::fixture;
use model::usage::CpuUsage;

use super::*;

const SECOND: u64 = 1_000_000_000;

fn spender(name: &str, processes: u32, cpu: Span) -> Spender {
    Spender {
        name: name.to_owned(),
        processes,
        short_lived: false,
        cpu,
    }
}

/// A trial of 350 ms on CPU 0 and 1 beside which `top` used so many milliseconds.
fn beside(top: &[(&str, u64)]) -> Trial {
    let mut trial = fixture::Shaped {
        window: Span::from_ms(350),
        ..fixture::Shaped::default()
    }
    .trial();
    let spenders: Vec<Spender> = top
        .iter()
        .map(|(name, ms)| spender(name, 1, Span::from_ms(*ms)))
        .collect();
    *others(&mut trial) = Others {
        window: Span::from_ms(400),
        cpu: spenders.iter().map(|spender| spender.cpu).sum(),
        top: spenders,
        ..Others::default()
    };
    trial
}

fn others(trial: &mut Trial) -> &mut Others {
    let system = trial.usage.system.as_mut().unwrap();
    system.others.get_or_insert_default()
}

/// The machine was elsewhere when the window began: both readings came at its end, and no tick lies
/// between them.
#[test]
fn who_had_the_cpus_of_a_window_that_nobody_saw_is_told() {
    let check = |ms: u64, expected: Option<&str>| {
        let mut trial = beside(&[("cc1", ms)]);
        trial.context.server = Some(fixture::server("nginx", "1.22.1"));
        let system = trial.usage.system.as_mut().unwrap();
        system.window = Span::from_ms(4);
        system.cpus.clear();
        let said = void(&trial).map(|cause| cause.say);
        assert_eq!(said.as_deref(), expected, "{ms}");
    };
    check(
        790,
        Some("Other programs used 99 % of CPUs 0-1, where generator and server ran: cc1 99 %."),
    );
    check(20, None);
    // A trial that does not tell who ran has nothing to go by.
    let mut trial = beside(&[]);
    let system = trial.usage.system.as_mut().unwrap();
    system.cpus.clear();
    system.others = None;
    assert!(matches!(
        foreign(&Facts::new(&trial)),
        Err(Blind::Unread(_))
    ));
}

/// CPUs that generator and server used.
fn ours(trial: &Trial) -> f64 {
    sides(&trial.usage).sum()
}

fn cpu(trial: &mut Trial, cpu: usize) -> &mut CpuUsage {
    &mut trial.usage.system.as_mut().unwrap().cpus[cpu]
}

#[test]
fn foreign_cpu_time_makes_a_trial_void_and_is_told_by_name() {
    let check = |top: &[(&str, u64)], expected: Option<&str>| {
        let said = void(&beside(top)).map(|cause| cause.say);
        assert_eq!(said.as_deref(), expected, "{top:?}");
    };
    check(&[], None);
    check(&[("sshd", 20)], None);
    check(
        &[("cc1", 150), ("backup", 30), ("sshd", 1)],
        Some(
            "Other programs used 23 % of CPUs 0-1, where generator and server ran: cc1 19 %, backup \
             3.8 %, sshd 0.1 %.",
        ),
    );
}

#[test]
fn short_lived_processes_and_unseen_ones_are_told_as_such() {
    let mut trial = beside(&[]);
    *others(&mut trial) = Others {
        window: Span::from_ms(400),
        cpu: Span::from_ms(90),
        top: vec![
            Spender {
                short_lived: true,
                ..spender("make", 1, Span::from_ms(80))
            },
            spender("make", 2, Span::from_ms(10)),
        ],
        unseen: Some(Span::from_ms(40)),
        begun: Some(312),
        ..Others::default()
    };
    let cause = void(&trial).unwrap();
    assert_eq!(cause.rule, "CPU-08");
    assert_eq!(
        cause.say,
        "Other programs used 16 % of CPUs 0-1, where generator and server ran: short-lived processes \
         of make 10 %, make (2 processes) 1.2 %, processes that ended at once or cannot be seen \
         from here (312 tasks began meanwhile) 5.0 %."
    );
    assert_eq!(cause.who.len(), 2);
}

#[test]
fn the_kernel_at_work_for_both_sides_is_not_foreign() {
    let mut trial = beside(&[]);
    others(&mut trial).serving = Span::from_ms(200);
    others(&mut trial).serving_top = vec![spender("ksoftirqd", 2, Span::from_ms(200))];
    assert_eq!(void(&trial), None);
    let note = crate::judge(&trial);
    let note = note
        .findings
        .iter()
        .find(|found| found.rule == "CPU-08")
        .unwrap();
    assert_eq!(note.worst(), model::Severity::Note);
    assert!(note.say.contains("ksoftirqd (2 processes)"), "{}", note.say);
}

#[test]
fn what_others_use_elsewhere_is_no_cause() {
    let mut trial = beside(&[("backup", 390)]);
    // The machine has two more CPUs, and the backup ran on one of these.
    let system = trial.usage.system.as_mut().unwrap();
    for cpu in [2, 3] {
        system.cpus.push(CpuUsage {
            cpu,
            user: 0.5,
            ..CpuUsage::default()
        });
    }
    system.tick = Some(Span::from_ms(1));
    let tasks: f64 = system.cpus[..2]
        .iter()
        .map(|cpu| cpu.user + cpu.system)
        .sum();
    assert!(tasks <= ours(&trial));
    trial.context.server = Some(fixture::server("nginx", "1.22.1"));
    assert_eq!(void(&trial), None);
    // On theirs, it is.
    cpu(&mut trial, 0).user += 0.5;
    assert_eq!(
        void(&trial).map(|cause| cause.rule).as_deref(),
        Some("CPU-08")
    );
}

/// Trials are stored whose account has what a long compile used before their window.
#[test]
fn nobody_uses_more_than_the_cpus_have_left() {
    let check = |idle: f64, expected: Option<&str>| {
        let mut trial = beside(&[("bash", 1_520)]);
        let (count, ours) = (2.0, ours(&trial));
        for usage in &mut trial.usage.system.as_mut().unwrap().cpus {
            usage.system = 0.0;
            usage.user = (ours / count + 1.0 - idle).min(1.0);
        }
        trial.usage.system.as_mut().unwrap().tick = Some(Span::from_ms(1));
        let cause = void(&trial);
        assert_eq!(
            cause.as_ref().map(|cause| cause.say.as_str()),
            expected,
            "{idle}"
        );
    };
    check(1.0, None);
    check(
        0.8,
        Some(
            "Other programs used 20 % of CPUs 0-1, where generator and server ran: bash at most \
             20 %.",
        ),
    );
}

#[test]
fn stolen_time_makes_a_trial_void_where_ticks_can_tell() {
    let check = |window_ms: u64, steal: f64, is_void: bool| {
        let mut trial = beside(&[]);
        trial.usage.system.as_mut().unwrap().window = Span::from_ms(window_ms);
        cpu(&mut trial, 1).steal = steal;
        let cause = void(&trial);
        assert_eq!(cause.is_some(), is_void, "{window_ms} {steal}: {cause:?}");
    };
    check(10_000, 0.04, false);
    check(10_000, 0.07, true);
    // A tick is 2.9 % of this window: 7 % may be 4.1 %.
    check(350, 0.07, false);
    check(350, 0.09, true);
    // Nothing can be told of this one.
    check(150, 0.20, false);
}

#[test]
fn a_window_too_short_for_ticks_makes_the_claim_partial() {
    let mut trial = beside(&[]);
    trial.usage.system.as_mut().unwrap().window = Span::from_ms(150);
    let verdict = crate::judge(&trial);
    let why = &verdict.coverage.cannot_apply["CPU-01"];
    assert!(why.contains("one step is 6.7 % of this window"), "{why}");
    assert!(verdict.claims[&model::Claim::Capacity].partial);
}

/// The worker on CPU 1 was ready without a CPU for so long of its 350 ms.
fn waited(trial: &mut Trial, ms: u64) {
    trial.record.workers[0].runqueue_wait = Some(Span::from_ms(ms));
}

#[test]
fn a_wait_for_others_makes_a_trial_void() {
    let mut trial = beside(&[("cc1", 39)]);
    waited(&mut trial, 39);
    let cause = void(&trial).unwrap();
    assert_eq!(cause.rule, "GEN-07");
    assert_eq!(
        cause.say,
        "The generator's only thread was ready to run but had no CPU for 11 % of the window. CPU \
         time went to cc1 4.9 %."
    );
}

/// Others are watched from before the warm-up on: what they used then, nobody waited for in the
/// window.
#[test]
fn what_others_took_is_a_share_of_the_time_for_which_they_were_watched() {
    let mut trial = beside(&[("agent", 20)]);
    others(&mut trial).window = Span::from_ms(1_000);
    waited(&mut trial, 35);
    let kept = kept(&Facts::new(&trial)).unwrap();
    assert!((kept.share - 0.1).abs() < 1e-9, "{}", kept.share);
    assert!((kept.by_others - 0.02).abs() < 1e-9, "{}", kept.by_others);
}

#[test]
fn no_wait_is_longer_than_the_window() {
    let mut trial = beside(&[("cc1", 700)]);
    // The thread noticed the end of its window late, because it waited for its CPU.
    waited(&mut trial, 368);
    let facts = Facts::new(&trial);
    let kept = kept(&facts).unwrap();
    assert!(kept.share <= 1.0 && kept.by_others <= 1.0, "{}", kept.share);
    let said = kept.say(&facts);
    assert!(said.contains("no CPU for 100 % of the window"), "{said}");
    // Where it tells how far its readings lay apart, its share is one of that time.
    trial.record.workers[0].read_over = Some(Span::from_ms(460));
    let facts = Facts::new(&trial);
    let share = super::kept(&facts).unwrap().share;
    assert!((share - 0.8).abs() < 1e-9, "{share}");
}

#[test]
fn a_wait_for_threads_of_ones_own_is_no_cause() {
    // Nobody else ran.
    let mut trial = beside(&[]);
    waited(&mut trial, 100);
    assert_eq!(void(&trial), None);
    // Nobody knows who ran, but the server may use this CPU.
    let mut trial = beside(&[]);
    waited(&mut trial, 100);
    trial.usage.system.as_mut().unwrap().others = None;
    trial.context.shared_cpus = Some(vec![1]);
    assert_eq!(void(&trial), None);
    // Nor where the generator's threads share it: 32 of them on one CPU.
    trial.context.shared_cpus = Some(Vec::new());
    let worker = trial.record.workers[0].clone();
    for index in 1..32 {
        trial.record.workers.push(model::record::Worker {
            index,
            ..worker.clone()
        });
    }
    assert_eq!(void(&trial), None);
    let verdict = crate::judge(&trial);
    assert!(verdict.findings.iter().all(|found| found.rule != "GEN-07"));
}

#[test]
fn a_trial_that_does_not_tell_who_ran_tells_that_its_generator_waited() {
    let mut trial = beside(&[]);
    trial.usage.system.as_mut().unwrap().others = None;
    waited(&mut trial, 70);
    let cause = void(&trial).unwrap();
    assert_eq!(cause.rule, "GEN-07");
    assert!(cause.share > 0.19, "{cause:?}");
}

#[test]
fn what_was_measured_changes_nothing() {
    let mut trial = beside(&[("cc1", 150)]);
    let before = void(&trial);
    trial.record.achieved_rate = 1.0;
    trial.record.response_time.clear();
    trial.record.total = model::record::Tally::default();
    trial.record.intervals.clear();
    trial.verdict = model::Verdict::default();
    assert_eq!(void(&trial), before);
    let mut quiet = beside(&[]);
    quiet.record.achieved_rate = 1.0;
    quiet.record.total.outcomes = model::outcome::OutcomeCounts::default();
    assert_eq!(void(&quiet), None);
}

#[test]
fn a_cause_is_stored_with_its_trial() {
    let mut trial = beside(&[("cc1", 150)]);
    let plain = serde_json::to_value(&trial).unwrap();
    assert_eq!(
        plain.get("void"),
        None,
        "a trial that counts has no such field"
    );
    trial.void = void(&trial);
    let text = serde_json::to_string(&trial).unwrap();
    let read: Trial = serde_json::from_str(&text).unwrap();
    assert_eq!(read.void, trial.void);
}

#[test]
fn void_trials_that_fall_on_one_server_are_seen() {
    let check = |counts: &[(&str, u64, u64)], expected: Option<&str>| {
        let counts: Vec<VoidCount> = counts
            .iter()
            .map(|(server, void, trials)| VoidCount {
                server: (*server).to_owned(),
                void: *void,
                trials: *trials,
            })
            .collect();
        let found = void_shares(&counts).map(|one| one.server.as_str());
        assert_eq!(found, expected, "{counts:?}");
    };
    check(&[], None);
    check(&[("nginx", 3, 48)], None);
    check(&[("nginx", 0, 48), ("origin", 0, 48)], None);
    check(
        &[("nginx", 5, 48), ("origin", 8, 50), ("apache", 6, 48)],
        None,
    );
    check(
        &[("nginx", 1, 48), ("origin", 2, 48), ("apache", 14, 48)],
        Some("apache"),
    );
    check(&[("nginx", 0, 4), ("origin", 2, 4)], None);
}

#[test]
fn half_a_cpu_is_not_taken_for_a_saturated_generator() {
    let mut trial = fixture::closed();
    let worker = &mut trial.record.workers[0];
    // Busy by the clock on the wall, on its CPU for half of that, ready and without one for the
    // rest.
    worker.busy = Span::from_ns(98 * SECOND / 10);
    worker.cpu_time = Some(Span::from_ns(5 * SECOND));
    worker.runqueue_wait = Some(Span::from_ns(48 * SECOND / 10));
    others(&mut trial).cpu = Span::from_ns(5 * SECOND);
    others(&mut trial).top = vec![spender("stress", 1, Span::from_ns(5 * SECOND))];
    for number in [0, 1] {
        cpu(&mut trial, number).user += 0.5;
    }
    let verdict = crate::judge(&trial);
    let capacity = &verdict.claims[&model::Claim::Capacity];
    assert_eq!(capacity.status, model::Status::Invalid);
    assert_eq!(capacity.because, ["GEN-07", "CPU-08"]);
    assert!(!verdict.generator_limited);
}
