use model::Trial;
use model::finding::Cause;
use model::fixture::Heat;
use model::usage::{Others, Spender};
use verdict::compare::{Kind, Side, compare};

use super::*;

/// Two servers and the ceiling over eight rounds: 24 trials.
fn trials() -> Vec<Trial> {
    Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        rounds: 8,
        ..Heat::default()
    }
    .trials()
}

fn of_trials(trials: &[Trial]) -> Run {
    let mut run = Run::default();
    trials.iter().for_each(|trial| run.add(trial));
    run
}

fn spender(name: &str, short_lived: bool, ms: u64) -> Spender {
    Spender {
        name: name.to_owned(),
        processes: 1,
        short_lived,
        cpu: Span::from_ms(ms),
    }
}

/// Puts others beside a trial and lets the rules say what they spoilt.
fn beside(trial: &mut Trial, top: Vec<Spender>, unseen_ms: u64) {
    let system = trial.usage.system.as_mut().unwrap();
    system.others = Some(Others {
        window: system.window,
        cpu: top.iter().map(|one| one.cpu).sum(),
        unseen: Some(Span::from_ms(unseen_ms)),
        top,
        begun: Some(2_500),
        ..Others::default()
    });
    // They ran where the idle time was.
    for cpu in &mut system.cpus {
        cpu.user += 0.5;
    }
    trial.void = verdict::void(trial);
}

#[test]
fn whoever_spoilt_most_trials_is_named_first() {
    let mut trials = trials();
    let (by_hypervisor, rest) = trials.split_at_mut(15);
    for trial in by_hypervisor {
        trial.void = Some(Cause {
            rule: "CPU-01".to_owned(),
            ..Cause::default()
        });
    }
    for trial in &mut rest[..4] {
        beside(
            trial,
            vec![
                spender("cc1", false, 900),
                spender("ld", false, 300),
                spender("make", false, 200),
                spender("sshd", false, 2),
            ],
            0,
        );
    }
    let said = of_trials(&trials).in_the_way().remove(0);
    let expected = "the hypervisor (for other machines) in 15, cc1 in 4 and ld in 4. ";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn the_first_sentence_names_whoever_it_was() {
    let check = |top: Vec<Spender>, unseen_ms: u64, expected: &str| {
        let mut trials = trials();
        for trial in &mut trials {
            beside(trial, top.clone(), unseen_ms);
        }
        let said = of_trials(&trials).in_the_way().remove(0);
        assert!(said.contains(&format!(": {expected} in 24. ")), "{said}");
    };
    let (thread, sshd) = (
        spender("[khugepaged]", false, 800),
        spender("sshd", false, 1),
    );
    check(vec![thread, sshd.clone()], 0, "[khugepaged]");
    let children = spender("bash", true, 900);
    check(
        vec![children, sshd.clone()],
        0,
        "short-lived processes of bash",
    );
    // What writes to a disk has most of its work done by the kernel; what serves packets has not.
    let mut trials = trials();
    for trial in &mut trials {
        beside(trial, vec![spender("dd", false, 300)], 0);
        let system = trial.usage.system.as_mut().unwrap();
        let others = system.others.as_mut().unwrap();
        others.serving_top = ["[kworker]", "[ksoftirqd]", "rsyslogd"]
            .map(|name| spender(name, false, 700))
            .to_vec();
    }
    let said = of_trials(&trials).in_the_way().remove(0);
    assert!(said.contains(": [kworker] in 24 and dd in 24. "), "{said}");
    // A parent that ignores how its children end has them in no account.
    check(vec![sshd], 900, "short-lived or hidden processes");
}

#[test]
fn the_numbers_of_each_server_add_up() {
    let mut trials = trials();
    for trial in &mut trials {
        beside(trial, vec![spender("cc1", false, 900)], 0);
    }
    let said = of_trials(&trials).in_the_way().remove(0);
    let expected = "in 24 of 24 trials: cc1 in 24. By server: nginx 8 of 8, origin 8 of 8, the \
                    ceiling 8 of 8. ";
    assert!(said.contains(expected), "{said}");
}

/// A program that burns half of each CPU during the first two rounds: it is named, what it spoilt
/// was measured again, and the points are as good as those of a machine without it.
#[test]
fn when_whoever_was_in_the_way_has_ended_points_are_valid() {
    let mut all = trials();
    let mut again = Vec::new();
    for trial in &mut all {
        let round = trial.point.as_ref().unwrap().round;
        if round > 2 {
            continue;
        }
        let mut second = trial.clone();
        second.point.as_mut().unwrap().attempt = 1;
        beside(trial, vec![spender("burner", false, 1_000)], 0);
        trial.record.achieved_rate *= 0.5;
        if round == 1 {
            beside(&mut second, vec![spender("burner", false, 1_000)], 0);
        }
        again.push(second);
    }
    all.extend(again);
    let verdicts = verdict::judge_set(&all);
    let mut run = of_trials(&all);
    run.judge(&verdicts);
    let said = run.in_the_way().remove(0);
    let expected = "Something other than server and generator used the CPUs in 9 of 30 trials: \
                    burner in 9. By server: nginx 3 of 10, origin 3 of 10, the ceiling 3 of 10. \
                    Those trials do not count, and 6 of them were measured again together with \
                    their rivals.";
    assert_eq!(said, expected);
    for cell in run.cells("seven-bytes") {
        assert_eq!(cell.status(), model::Status::Valid, "{}", cell.server());
    }
}

/// An answer may rest on such trials (ADR 0031): then nothing says that they do not count.
#[test]
fn trials_that_an_answer_rests_on_are_not_said_to_count_for_nothing() {
    let mut trials = trials();
    let said = |trials: &[Trial]| {
        let run = of_trials(trials);
        let flat = crate::text::lab(&run, crate::text::Style::default());
        let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
        (run.in_the_way().remove(0), flat, crate::html::page(&run))
    };
    let mark = "suspect, because it rests on all 8 rounds as they were first measured, and only 2 \
                of them had the CPUs to themselves\">suspect <small>comparison</small>";
    let spoil = |trials: &mut [Trial], rounds: u32| {
        for trial in trials {
            if trial.point.as_ref().unwrap().round <= rounds {
                beside(trial, vec![spender("cc1", false, 900)], 0);
            }
        }
    };
    spoil(&mut trials, 1);
    let (first, text, page) = said(&trials);
    assert!(first.ends_with("Those trials do not count."), "{first}");
    assert!(
        !page.contains(mark),
        "the answer rests on seven good rounds"
    );
    assert!(text.contains("Rounds that do not count: 1 of"), "{text}");
    spoil(&mut trials, 6);
    let (first, text, page) = said(&trials);
    assert_eq!(page.matches(mark).count(), 1, "beside the one rival");
    let expected = "Those trials count only where too few rounds are left without them.";
    assert!(first.ends_with(expected), "{first}");
    let expected = "Rounds that count although something spoilt them: 6 of nginx (CPU-08), 6 of \
                    origin (CPU-08).";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("do not count"), "{text}");
}

/// Whichever attempts a comparison rests on, a place has one number.
#[test]
fn a_place_has_one_number_however_many_rounds_were_spoilt() {
    for spoilt in [1, 5, 8] {
        let mut all = trials();
        let mut again = Vec::new();
        for trial in &mut all {
            let point = trial.point.clone().unwrap();
            if point.round > spoilt || point.ceiling {
                continue;
            }
            let mut second = trial.clone();
            second.point.as_mut().unwrap().attempt = 1;
            second.record.achieved_rate *= 0.9;
            // What was measured again was spoilt as well, but for the last of them.
            let is_spoilt = point.round != spoilt || spoilt == 8;
            trial.record.achieved_rate *= 0.7;
            for (trial, is_spoilt) in [(trial, true), (&mut second, is_spoilt)] {
                trial.void = is_spoilt.then(|| Cause {
                    rule: "CPU-08".to_owned(),
                    ..Cause::default()
                });
            }
            again.push(second);
        }
        all.extend(again);
        let mut run = of_trials(&all);
        run.judge(&verdict::judge_set(&all));
        let mut side = Side::new("A", Kind::Lab);
        all.iter().for_each(|trial| side.add(trial));
        let compared = compare(&side, &side);
        for cell in run.cells("seven-bytes") {
            let place = format!("{}, seven-bytes, 64 connections", cell.server());
            let mut rows = compared.rows.iter().filter(|row| row.place == place);
            let rate = rows.find(|row| row.metric.name == "rate").unwrap();
            let shown = cell.rate().unwrap().median;
            assert!((rate.a.median - shown).abs() < 1e-9, "{spoilt}: {rate:?}");
            let cpu = rows.find(|row| row.metric.name == "cpu");
            let cost = cell.value(model::Claim::Resources, |digest| digest.cpu_us);
            if let (Some(cpu), Some(cost)) = (cpu, cost) {
                assert!((cpu.a.median - cost.median).abs() < 1e-9, "{spoilt}");
            }
        }
    }
}
