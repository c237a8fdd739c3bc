//! GEN: the generator.

use model::Outcome;
use model::plan::{LuaFile, RequestFile};
use model::record::{Class, Passed, TimeSplit, UsersRecord};
use model::trial::Ceiling;
use model::units::{Bytes, Span};

use model::finding::Severity;

use super::{Case, closed, finding, of_lab, open};

fn ceiling(rate: f64) -> Option<Ceiling> {
    Some(Ceiling {
        rate,
        at_least: false,
        same_server: false,
    })
}

/// The server had time left.
fn idle_server(trial: &mut model::Trial) {
    let server = trial.usage.server.as_mut().unwrap();
    server.busiest_thread = Some(Span::from_s(6));
}

fn late(trial: &mut model::Trial, each: Span) {
    let count = trial.record.late_time.count();
    trial.record.late_time.clear();
    trial.record.late_time.record_n(each, count);
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = saturation();
    cases.extend(placement());
    cases.extend(instrument());
    cases.push(crowd());
    cases.push(visitors());
    cases.push(late_client());
    cases
}

/// Users who come at a rate, for whom there are too few places.
fn visitors() -> Case {
    fn come(trial: &mut model::Trial, waited: Option<u64>) {
        trial.record.users = Some(UsersRecord {
            came: 5_000,
            seated: 5_000,
            waited,
            left: 4_950,
            there_most: 64,
            waiting_most: 7,
            ..UsersRecord::default()
        });
    }
    Case {
        rule: "GEN-19",
        base: closed,
        provoke: |t| come(&mut t[0], Some(610)),
        silent: |t| come(&mut t[0], Some(0)),
        missing: Some((|t| come(&mut t[0], None), "places taken")),
    }
}

/// Exchanges of one millisecond to each of which the client added so much.
fn split(trial: &mut model::Trial, us: u64) {
    trial.plan.split_one_in = Some(100);
    let mut split = TimeSplit::default();
    split.response.record_n(Span::from_us(1_000), 20_000);
    split.client_added.record_n(Span::from_us(us), 20_000);
    trial.record.split = Some(split);
}

/// A client that wakes up late, by the kernel's times.
fn late_client() -> Case {
    Case {
        rule: "GEN-12",
        base: open,
        provoke: |t| split(&mut t[0], 200),
        silent: |t| split(&mut t[0], 50),
        missing: Some((
            |t| {
                split(&mut t[0], 50);
                t[0].record.split = None;
            },
            "kernel sent",
        )),
    }
}

/// Connections that are still being opened.
fn crowd() -> Case {
    Case {
        rule: "GEN-18",
        base: closed,
        provoke: |t| t[0].plan.connections = 100,
        silent: |t| {
            // Those that are lost and made anew are there.
            t[0].record.total.connections.established += 3;
        },
        missing: Some((|t| t[0].record.intervals.clear(), "intervals")),
    }
}

/// The generator is the limit.
fn saturation() -> Vec<Case> {
    vec![
        Case {
            rule: "GEN-01",
            base: closed,
            provoke: |t| {
                t[0].record.workers[0].busy = Span::from_ms(9_800);
                idle_server(&mut t[0]);
            },
            silent: |t| t[0].record.workers[0].busy = Span::from_ms(7_900),
            missing: Some((|t| t[0].record.workers.clear(), "busy share")),
        },
        Case {
            rule: "GEN-02",
            base: closed,
            provoke: |t| {
                t[0].context.ceiling = ceiling(62_500.0);
                t[0].record.workers[0].busy = Span::from_ms(9_600);
                idle_server(&mut t[0]);
            },
            // Busy, but far from what it can do.
            silent: |t| {
                t[0].context.ceiling = ceiling(120_000.0);
                t[0].record.workers[0].busy = Span::from_ms(9_600);
            },
            missing: Some((|t| t[0].record.workers.clear(), "ceiling")),
        },
        Case {
            rule: "GEN-03",
            base: open,
            provoke: |t| late(&mut t[0], Span::from_us(310)),
            silent: |t| late(&mut t[0], Span::from_us(15)),
            missing: Some((|t| t[0].record.late_time.clear(), "late time")),
        },
        Case {
            rule: "GEN-04",
            base: open,
            provoke: |t| {
                passed(&mut t[0]).sent = 100_000;
                t[0].record.achieved_rate = 1_600.0;
                late(&mut t[0], Span::from_ms(40));
            },
            silent: |t| passed(&mut t[0]).sent = 119_500,
            missing: Some((|t| t[0].record.window = Span::ZERO, "arrivals")),
        },
        Case {
            rule: "GEN-05",
            base: closed,
            provoke: |t| t[0].record.workers[0].outstanding_integral_ns /= 2,
            silent: |t| {
                // A connection that is being made anew is not idle in the generator.
                t[0].record.workers[0].outstanding_integral_ns /= 2;
                let each = Span::from_ns(320_000_000_000 / 600_000);
                t[0].record.blocked_time.clear();
                t[0].record.blocked_time.record_n(each, 600_000);
            },
            missing: Some((
                |t| t[0].record.workers[0].outstanding_integral_ns = 0,
                "in flight",
            )),
        },
    ]
}

/// Where the generator runs.
fn placement() -> Vec<Case> {
    vec![
        Case {
            rule: "GEN-06",
            base: closed,
            provoke: |t| t[0].context.shared_cpus = Some(vec![0]),
            silent: |t| t[0].context.shared_cpus = Some(Vec::new()),
            missing: Some((|t| t[0].context.shared_cpus = None, "CPUs")),
        },
        Case {
            rule: "GEN-07",
            base: open,
            provoke: |t| {
                let system = t[0].usage.system.as_mut().unwrap();
                system.others.as_mut().unwrap().cpu = Span::from_s(3);
                t[0].record.workers[0].runqueue_wait = Some(Span::from_s(2));
            },
            silent: |t| t[0].record.workers[0].runqueue_wait = Some(Span::from_ms(500)),
            missing: Some((
                |t| t[0].record.workers[0].runqueue_wait = None,
                "waited for their CPU",
            )),
        },
        Case {
            rule: "GEN-09",
            base: closed,
            provoke: |t| second_worker(&mut t[0], 300_000),
            silent: |t| second_worker(&mut t[0], 580_000),
            missing: Some((|t| t[0].record.workers.clear(), "counts")),
        },
    ]
}

/// What the generator is.
fn instrument() -> Vec<Case> {
    vec![
        Case {
            rule: "GEN-11",
            base: open,
            provoke: |t| {
                t[0].environment.clocksource = Some("hpet".to_owned());
                t[0].environment.clock_cost_ns = Some(1_180.0);
            },
            silent: |t| t[0].environment.clocksource = Some("kvm-clock".to_owned()),
            missing: Some((
                |t| {
                    t[0].environment.clocksource = None;
                    t[0].environment.clock_cost_ns = None;
                },
                "clock source",
            )),
        },
        Case {
            rule: "GEN-13",
            base: closed,
            provoke: |t| {
                t[0].record.total.sent -= 1_000;
                t[0].record.total.bytes_content = Bytes::new(5_000_000);
            },
            // As many as there are connections are still under way; what ended came mostly before.
            silent: |t| {
                let record = &mut t[0].record;
                record.total.sent += 64;
                record.warmup_phase.bytes_received += record.total.bytes_received;
                record.total.bytes_received = Bytes::new(1);
            },
            missing: None,
        },
        Case {
            rule: "GEN-14",
            base: closed,
            provoke: |t| t[0].environment.tool.debug_build = true,
            silent: |_| {},
            missing: Some((|t| t[0].environment.tool.version.clear(), "built")),
        },
        Case {
            rule: "GEN-16",
            base: open,
            provoke: |t| {
                let worker = &mut t[0].record.workers[0];
                let times = worker.batch_time.as_mut().unwrap();
                let count = times.count();
                times.clear();
                times.record_n(Span::from_us(90), count);
            },
            silent: |_| {},
            missing: Some((|t| t[0].record.workers[0].batch_time = None, "batches")),
        },
    ]
}

fn passed(trial: &mut model::Trial) -> &mut Passed {
    let passed = &mut trial.record.total.passed;
    passed.as_mut().expect("an open loop counts what passed")
}

fn second_worker(trial: &mut model::Trial, ok: u64) {
    let mut second = trial.record.workers[0].clone();
    second.index = 1;
    second.ok = ok;
    trial.record.workers.push(second);
}

#[test]
fn an_overloaded_server_is_a_result() {
    let mut trial = open().remove(0);
    passed(&mut trial).sent = 80_000;
    trial.record.achieved_rate = 1_300.0;
    trial.record.blocked_time.clear();
    trial
        .record
        .blocked_time
        .record_n(Span::from_ms(900), 80_000);
    let verdict = crate::judge(&trial);
    let found = finding(&verdict, "GEN-04").unwrap();
    assert_eq!(found.worst(), Severity::Note);
    let said = "Requests waited for one of";
    assert!(found.say.contains(said), "{}", found.say);
    assert!(!verdict.generator_limited);
    insta::assert_snapshot!("GEN-04 overload", super::told(&found));
}

/// What holds requests back is named: few connections, a deadline, or connections that fail.
#[test]
fn requests_that_wait_for_connections_are_told_apart() {
    let said = |change: &dyn Fn(&mut model::Trial)| {
        let mut trial = open().remove(0);
        passed(&mut trial).sent = 80_000;
        trial.record.blocked_time.clear();
        let blocked = &mut trial.record.blocked_time;
        blocked.record_n(Span::from_ms(900), 80_000);
        trial.record.service_time.clear();
        let service = &mut trial.record.service_time;
        service.record_n(Span::from_ms(300), 1_000);
        trial.plan.connections = 2;
        change(&mut trial);
        finding(&crate::judge(&trial), "GEN-04").unwrap()
    };
    let few = said(&|_| {});
    let expected = "Requests waited for one of 2 connections, which at a mean service time of 300 \
                    ms carry 6.67/s: those beyond that wait longer";
    assert!(few.say.contains(expected), "{}", few.say);
    assert!(few.fix[0].contains("-c"), "{few:?}");
    let given_up = said(&|trial| trial.plan.deadline = Some(Span::from_ms(500)));
    let expected = "those beyond that were given up after 500 ms";
    assert!(given_up.say.contains(expected), "{}", given_up.say);
    let failing = said(&|trial| trial.record.total.connections.backed_off = 12);
    let expected =
        "Requests waited for connections, 12 of which were made again only after a pause";
    assert!(failing.say.contains(expected), "{}", failing.say);
    assert!(!failing.say.contains("overloaded"), "{}", failing.say);
}

#[test]
fn a_ceiling_against_origin_itself_says_nothing() {
    let mut trial = closed().remove(0);
    trial.context.ceiling = Some(Ceiling {
        rate: 61_000.0,
        at_least: false,
        same_server: true,
    });
    trial.record.workers[0].busy = Span::from_ms(5_000);
    let verdict = crate::judge(&trial);
    assert_eq!(finding(&verdict, "GEN-02"), None);
    assert_eq!(verdict.headroom, Some(2.0));
}

#[test]
fn without_a_ceiling_the_busy_share_decides() {
    let mut trial = closed().remove(0);
    trial.record.workers[0].busy = Span::from_ms(7_500);
    let verdict = crate::judge(&trial);
    let found = finding(&verdict, "GEN-02").unwrap();
    assert_eq!(found.worst(), Severity::Suspect);
    insta::assert_snapshot!("GEN-02 busy", super::told(&found));
}

#[test]
fn a_ceiling_trial_may_saturate_the_generator() {
    let mut trial = of_lab().remove(0);
    trial.point.as_mut().unwrap().ceiling = true;
    trial.record.workers[0].busy = Span::from_ms(9_990);
    let verdict = crate::judge(&trial);
    assert_eq!(finding(&verdict, "GEN-01"), None);
    assert!(!verdict.generator_limited);
}

#[test]
fn threads_of_one_core_are_shared_too() {
    let mut trial = of_lab().remove(0);
    trial.environment.thread_siblings = [(0, vec![0, 1]), (1, vec![0, 1])].into();
    let found = finding(&crate::judge(&trial), "GEN-06").unwrap();
    insta::assert_snapshot!("GEN-06 siblings", super::told(&found));
}

#[test]
fn the_remedy_for_shared_cpus_names_those_that_help() {
    let remedy = |server: u32, allowed: &[u32], cores: &[&[u32]]| {
        let mut trial = of_lab().remove(0);
        trial.context.shared_cpus = Some(vec![server]);
        let facts = trial.context.server.as_mut().unwrap();
        facts.cpus_allowed = Some(vec![server]);
        let environment = &mut trial.environment;
        environment.cpus_allowed = allowed.to_vec();
        environment.cpus_online = (0..8).collect();
        environment.thread_siblings = cores
            .iter()
            .flat_map(|core| core.iter().map(|cpu| (*cpu, core.to_vec())))
            .collect();
        finding(&crate::judge(&trial), "GEN-06")
            .unwrap()
            .fix
            .concat()
    };
    let pair = |server: u32, generator: u32| {
        format!(
            "Give server and generator different CPUs (load: --cpus {generator}, and taskset -c \
             {server} for the server; lab: placement = apart)"
        )
    };
    let halves: &[&[u32]] = &[&[0, 1], &[2, 3]];
    assert_eq!(remedy(0, &[0, 1, 2, 3], halves), pair(0, 2));
    assert_eq!(remedy(3, &[1, 3], halves), pair(3, 1));
    assert_eq!(
        remedy(0, &[0, 1], halves),
        "Give server and generator CPUs of different cores, or make the load on another machine"
    );
}

/// An answer before its request, and a timeout behind another request, end what was never sent.
#[test]
fn an_exchange_that_ended_unsent_is_no_contradiction() {
    for outcome in [Outcome::Protocol, Outcome::Timeout] {
        let mut trial = closed().remove(0);
        trial.record.total.due += 9;
        trial.record.total.outcomes[outcome] += 9;
        let verdict = crate::judge(&trial);
        assert_eq!(finding(&verdict, "GEN-13"), None, "{outcome:?}");
    }
}

/// Each request of a mix has content of its own length.
#[test]
fn the_content_of_a_mix_is_counted_by_request() {
    let mut trial = closed().remove(0);
    let right = trial.record.total.outcomes[Outcome::Ok];
    let first = trial.record.reference.clone().unwrap();
    trial.record.classes = [(right - 10, first.length), (10, first.length + 1)]
        .map(|(ok, length)| {
            let mut class = Class {
                bytes_content: Bytes::new(ok * length),
                reference: Some(model::record::Reference {
                    length,
                    ..first.clone()
                }),
                ..Class::default()
            };
            class.outcomes[Outcome::Ok] = ok;
            class
        })
        .into();
    trial
        .plan
        .requests
        .push(RequestFile::get("http://127.0.0.1/longer"));
    trial.record.total.bytes_content += Bytes::new(10);
    let verdict = crate::judge(&trial);
    assert_eq!(finding(&verdict, "GEN-13"), None);

    trial.record.classes[1].bytes_content += Bytes::new(1);
    let verdict = crate::judge(&trial);
    assert!(finding(&verdict, "GEN-13").is_some());
}

#[test]
fn a_run_of_a_few_exchanges_is_judged_the_same_each_time() {
    let judged = |busy_us: u64, cpu_busy: f64| {
        let mut trial = closed().remove(0);
        trial.context.shared_cpus = Some(vec![0]);
        trial.context.ceiling = None;
        trial.record.window = Span::from_ms(2);
        for worker in &mut trial.record.workers {
            worker.window = Span::from_ms(2);
            worker.busy = Span::from_us(busy_us);
        }
        for cpu in &mut trial.usage.system.as_mut().unwrap().cpus {
            cpu.busy = cpu_busy;
        }
        let verdict = crate::judge(&trial);
        let told = ["GEN-01", "GEN-02", "GEN-06"].map(|rule| {
            let found = verdict.findings.iter().find(|found| found.rule == rule);
            found.map(|found| found.say.clone())
        });
        let unread = verdict.coverage.unknown.contains_key("GEN-01");
        (told, unread)
    };
    let (told, unread) = judged(1_990, 1.0);
    assert_eq!((told.clone(), unread), judged(100, 0.0));
    assert!(unread && told[..2] == [None, None], "{told:?}");
    assert!(
        told[2]
            .as_ref()
            .is_some_and(|say| say.contains("too short"))
    );
}

/// A median is not the generator's because 1 in 50 was late; the 99th percentile may be.
#[test]
fn lateness_is_held_against_the_quantile_that_it_can_be_part_of() {
    let tail = |trial: &model::Trial, tenths: u64| {
        let mut trial = trial.clone();
        let slow = trial.record.response_time.count() / 50;
        trial.record.response_time.record_n(Span::from_ms(2), slow);
        let p99 = trial.record.response_time.quantile(0.99).unwrap();
        let many = trial.record.late_time.count() / 50;
        late(&mut trial, Span::ZERO);
        let late = Span::from_ns(p99.as_ns() * tenths / 10);
        trial.record.late_time.record_n(late, many);
        (trial, late)
    };
    let open = open().swap_remove(0);
    let (some, late) = tail(&open, 3);
    let p50 = some.record.response_time.quantile(0.5).unwrap();
    assert!(late > p50, "{late}, {p50}");
    let found = finding(&crate::judge(&some), "GEN-03").unwrap();
    assert_eq!(found.worst(), Severity::Suspect);
    assert_eq!(found.evidence["quantile"], "p99");
    let found = finding(&crate::judge(&tail(&open, 6).0), "GEN-03").unwrap();
    assert_eq!(found.worst(), Severity::Invalid);
    // 1 in 250 cannot be half of the slowest 1 in 100.
    let (mut seldom, late) = tail(&open, 6);
    let count = seldom.record.late_time.count();
    seldom.record.late_time.clear();
    seldom.record.late_time.record_n(Span::ZERO, count);
    seldom.record.late_time.record_n(late, count / 250);
    assert_eq!(finding(&crate::judge(&seldom), "GEN-03"), None);
}

/// Thirty-two threads on one CPU are idle most of the time, each of them.
#[test]
fn threads_that_share_a_cpu_are_busy_together() {
    let mut trial = closed().swap_remove(0);
    let one = trial.record.workers[0].clone();
    let each = |share: u64| {
        let mut worker = one.clone();
        worker.cpu = Some(1);
        worker.busy = Span::from_ns(worker.window.as_ns() * share / 3_200);
        worker
    };
    trial.record.workers = vec![each(30); 32];
    idle_server(&mut trial);
    let busy = trial.record.busiest_worker().map(|(_, busy)| busy);
    assert!((busy.unwrap() - 0.3).abs() < 1e-6, "{busy:?}");
    trial.record.workers = vec![each(97); 32];
    let verdict = crate::judge(&trial);
    let found = finding(&verdict, "GEN-01").unwrap();
    assert!(
        found.say.contains("32 threads on CPU 1 together"),
        "{}",
        found.say
    );
    assert!(verdict.headroom.unwrap() < 1.1, "{:?}", verdict.headroom);
    // Not pinned, each may have a CPU of its own.
    for worker in &mut trial.record.workers {
        worker.cpu = None;
    }
    let (_, alone) = trial.record.busiest_worker().unwrap();
    assert!(alone < 0.04, "{alone}");
}

#[test]
fn a_few_users_who_wait_are_noted() {
    let found = |waited: Option<u64>, most: u64| {
        let mut trial = closed().swap_remove(0);
        trial.record.users = Some(UsersRecord {
            came: 5_000,
            waited,
            waiting_most: most,
            ..UsersRecord::default()
        });
        finding(&crate::judge(&trial), "GEN-19").map(|found| found.worst())
    };
    assert_eq!(found(Some(0), 0), None);
    assert_eq!(found(Some(1), 1), Some(Severity::Note));
    assert_eq!(found(Some(50), 3), Some(Severity::Note));
    assert_eq!(found(Some(51), 3), Some(Severity::Suspect));
    assert_eq!(found(Some(5_000), 3), Some(Severity::Suspect));
    // Where nobody ever waited, a record of before tells so.
    assert_eq!(found(None, 0), None);
}

/// They come by a schedule, and what the generator adds to it is in their times.
#[test]
fn a_generator_that_is_late_for_users_who_come_spoils_their_times() {
    use model::finding::Claim;
    use model::plan::{Arrivals, ScriptFile};
    let judged = |each: Span| {
        let mut trial = closed().swap_remove(0);
        trial.plan.script = Some(ScriptFile {
            arrivals: Arrivals::Poisson {
                rate_per_1000_s: model::Rate::per_second(50),
            },
            ..ScriptFile::default()
        });
        late(&mut trial, each);
        crate::judge(&trial)
    };
    let in_time = judged(Span::from_us(1));
    assert!(in_time.claims.contains_key(&Claim::Latency));
    assert!(!in_time.claims.contains_key(&Claim::Capacity));
    assert_eq!(finding(&in_time, "GEN-03"), None);
    let found = judged(Span::from_ms(100));
    let found = finding(&found, "GEN-03").unwrap();
    assert_eq!(found.severity[&Claim::Latency], Severity::Invalid);
}

#[test]
fn a_client_that_added_half_of_a_response_time_makes_it_invalid() {
    let worst = |us: u64| {
        let mut trial = open().swap_remove(0);
        split(&mut trial, us);
        finding(&crate::judge(&trial), "GEN-12").map(|found| found.worst())
    };
    assert_eq!(worst(100), None);
    assert_eq!(worst(150), Some(Severity::Suspect));
    assert_eq!(worst(600), Some(Severity::Invalid));
}

/// A script in Lua says how long its connections wait, which is nobody's dead time.
#[test]
fn connections_that_a_script_lets_wait_are_not_dead() {
    let mut trial = closed().remove(0);
    trial.record.workers[0].outstanding_integral_ns /= 2;
    assert!(finding(&crate::judge(&trial), "GEN-05").is_some());
    trial.plan.lua = Some(LuaFile {
        name: "delay.lua".to_owned(),
        sha256: String::new(),
        asks: false,
        hears: false,
        waits: true,
    });
    assert_eq!(finding(&crate::judge(&trial), "GEN-05"), None);
}
