//! TCP, LNK, CPU, MEM, SRV: the machine and the server on it.

use model::point::{ACCESS_LOG, Value};
use model::record::Example;
use model::trial::Server;
use model::units::Span;
use model::usage::MemoryPart;
use model::{Bytes, Finding, Outcome, Trial};

use super::{Case, closed, of_lab, six_rounds};

fn count(trials: &mut [Trial], name: &str, value: Option<u64>) {
    let counters = &mut trials[0].usage.system.as_mut().unwrap().counters;
    match value {
        Some(value) => counters.insert(name.to_owned(), value),
        None => counters.remove(name),
    };
}

/// Entries of the firewall's table before connecting and at the end of the window.
fn tracked(trials: &mut [Trial], before: u64, after: Option<u64>) {
    let sysctls = &mut trials[0].environment.sysctls;
    sysctls.insert(
        "net.netfilter.nf_conntrack_count".to_owned(),
        before.to_string(),
    );
    trials[0].usage.system.as_mut().unwrap().tracked_connections = after;
}

/// A server on another machine, behind a link of 1 Gbit/s that is used to an eighth.
fn over_network() -> Vec<Trial> {
    let mut trials = closed();
    let reference = trials[0].record.reference.as_mut().unwrap();
    "192.0.2.7:80".clone_into(&mut reference.address);
    let facts = &mut trials[0].environment.facts;
    facts.insert("link.eth0.speed_mbit".to_owned(), "1000".to_owned());
    for (name, value) in [
        ("rx_bytes", 185_000_000),
        ("rx_packets", 600_000),
        ("tx_bytes", 62_000_000),
        ("tx_packets", 600_000),
    ] {
        count(&mut trials, &format!("link.eth0.{name}"), Some(value));
    }
    trials
}

fn others(trials: &mut [Trial]) -> &mut model::usage::Others {
    let system = trials[0].usage.system.as_mut().unwrap();
    system.others.as_mut().unwrap()
}

fn busiest_thread(trials: &mut [Trial], ms: Option<u64>) {
    let server = trials[0].usage.server.as_mut().unwrap();
    server.busiest_thread = ms.map(Span::from_ms);
}

fn server(trials: &mut [Trial]) -> &mut Server {
    trials[0].context.server.as_mut().unwrap()
}

/// A server that logs like that has so many lines of so many right answers.
fn logged(trials: &mut [Trial], how: &str, answers: u64, lines: u64) {
    trials[0].record.total.outcomes[Outcome::Ok] = answers;
    let server = server(trials);
    how.clone_into(&mut server.access_log);
    server.access_log_lines = Some(lines);
    server.access_log_bytes = Some(Bytes::new(lines * 90));
}

/// Of two processes, so many may not be read.
/// Connections from source addresses, and so many clients in the access log.
fn came_from(trials: &mut [Trial], connections: &[u64], seen: u64) {
    trials[0].plan.sources = vec![[127, 0, 0, 2].into()];
    trials[0].record.connections_from = connections.to_vec();
    server(trials).client_addresses = Some(seen);
}

fn hide_memory(trials: &mut [Trial], unread: u32) {
    let usage = trials[0].usage.server.as_mut().unwrap();
    let pss = usage.memory_pss.take().unwrap();
    usage.memory_part = Some(MemoryPart {
        read: 2 - unread,
        unread,
        pss,
    });
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = network();
    cases.extend(links());
    cases.extend(host());
    cases.extend(servers());
    cases.extend(limits_of_servers());
    cases.extend(across_servers());
    cases
}

fn network() -> Vec<Case> {
    vec![
        Case {
            rule: "TCP-01",
            base: closed,
            provoke: |t| {
                t[0].record.total.connections.closed_by_client = 27_000;
            },
            silent: |t| t[0].record.total.connections.closed_by_client = 9_000,
            missing: Some((|t| t[0].environment.sysctls.clear(), "ip_local_port_range")),
        },
        Case {
            rule: "TCP-03",
            base: closed,
            provoke: |t| {
                count(t, "TcpExt.ListenOverflows", Some(37));
                count(t, "TcpExt.ListenDrops", Some(37));
                t[0].record.total.connections.asked = 51_200;
                t[0].record.connect_time.record_n(Span::from_ms(1_020), 37);
            },
            silent: |_| {},
            missing: Some((|t| t[0].usage.system = None, "counters")),
        },
        Case {
            rule: "TCP-04",
            base: closed,
            provoke: |t| count(t, "TcpExt.SyncookiesSent", Some(37)),
            silent: |t| {
                let sysctls = &mut t[0].environment.sysctls;
                sysctls.insert("net.ipv4.tcp_syncookies".to_owned(), "1".to_owned());
            },
            missing: Some((|t| t[0].usage.system = None, "SYN cookies")),
        },
        Case {
            rule: "TCP-17",
            base: closed,
            provoke: |t| count(t, "softnet.dropped", Some(3)),
            silent: |t| count(t, "softnet.squeezed", Some(900)),
            missing: Some((|t| count(t, "softnet.dropped", None), "softnet_stat")),
        },
        Case {
            rule: "TCP-05",
            base: closed,
            provoke: |t| {
                count(t, "Tcp.RetransSegs", Some(2_400));
                let times = &mut t[0].record.service_time;
                times.record_n(Span::from_ms(210), 2_400);
            },
            silent: |t| count(t, "Tcp.RetransSegs", Some(3)),
            missing: Some((|t| count(t, "Tcp.RetransSegs", None), "segments")),
        },
    ]
}

fn links() -> Vec<Case> {
    vec![
        Case {
            rule: "CT-01",
            base: closed,
            provoke: |t| tracked(t, 20, Some(90)),
            silent: |t| tracked(t, 20, Some(25)),
            missing: Some((|t| tracked(t, 20, None), "nf_conntrack_count")),
        },
        Case {
            rule: "LNK-01",
            base: over_network,
            provoke: |t| count(t, "link.eth0.rx_bytes", Some(1_180_000_000)),
            silent: |_| {},
            missing: Some((|t| t[0].environment.facts.clear(), "speed")),
        },
        Case {
            rule: "LNK-02",
            base: closed,
            provoke: |_| {},
            silent: |t| {
                let reference = t[0].record.reference.as_mut().unwrap();
                "192.0.2.7:80".clone_into(&mut reference.address);
            },
            missing: Some((
                |t| {
                    t[0].record.reference = None;
                    t[0].plan.addresses.clear();
                },
                "address",
            )),
        },
    ]
}

fn host() -> Vec<Case> {
    vec![
        Case {
            rule: "CPU-01",
            base: of_lab,
            provoke: |t| t[0].usage.system.as_mut().unwrap().cpus[1].steal = 0.031,
            silent: |t| t[0].usage.system.as_mut().unwrap().cpus[0].steal = 0.004,
            missing: Some((|t| t[0].usage.system = None, "CPU")),
        },
        Case {
            rule: "CPU-03",
            base: closed,
            provoke: |t| {
                t[0].environment.virtualised = Some(true);
                t[0].environment.product = Some("Standard PC (Q35 + ICH9, 2009)".to_owned());
            },
            silent: |_| {},
            missing: Some((|t| t[0].environment.virtualised = None, "virtual")),
        },
        Case {
            rule: "CPU-08",
            base: closed,
            provoke: |t| {
                let others = others(t);
                others.cpu = Span::from_s(3);
                others.top[0].cpu = Span::from_s(3);
            },
            // Much, but for both sides.
            silent: |t| others(t).serving = Span::from_ms(900),
            missing: Some((|t| t[0].usage.system = None, "CPU time")),
        },
        Case {
            rule: "MEM-01",
            base: closed,
            provoke: |t| count(t, "vmstat.pswpin", Some(812)),
            silent: |_| {},
            missing: Some((|t| count(t, "vmstat.pswpin", None), "swapped")),
        },
        Case {
            rule: "MEM-02",
            base: closed,
            provoke: |t| count(t, "vmstat.oom_kill", Some(1)),
            silent: |_| {},
            missing: Some((|t| count(t, "vmstat.oom_kill", None), "killed")),
        },
        Case {
            rule: "MEM-06",
            base: of_lab,
            provoke: |t| hide_memory(t, 1),
            silent: |t| t[0].usage.server.as_mut().unwrap().memory_pss = None,
            missing: None,
        },
    ]
}

fn servers() -> Vec<Case> {
    vec![
        Case {
            rule: "SRV-01",
            base: of_lab,
            provoke: |t| {
                server(t).listener_is_ours = Some(false);
                server(t).listener_owner = Some("apache2 (pid 812)".to_owned());
            },
            silent: |_| {},
            missing: Some((|t| server(t).listener_is_ours = None, "listening socket")),
        },
        Case {
            rule: "SRV-02",
            base: of_lab,
            provoke: |t| server(t).exit = Some("killed by signal 11".to_owned()),
            silent: |t| {
                let after = server(t).processes_after.as_mut().unwrap();
                after.push((977, 100_900));
            },
            missing: Some((|t| server(t).processes_after = None, "processes")),
        },
        Case {
            rule: "SRV-03",
            base: of_lab,
            provoke: |t| server(t).open_files_limit = Some(128),
            silent: |t| server(t).open_files_limit = Some(1_024),
            missing: Some((|t| server(t).open_files_limit = None, "open files")),
        },
        Case {
            rule: "SRV-04",
            base: of_lab,
            provoke: |t| {
                server(t).error_log = vec![
                    "2026/11/20 10:00:03 [alert] 901#901: 512 worker_connections are not enough"
                        .to_owned(),
                ];
            },
            silent: |_| {},
            missing: Some((|t| t[0].context.server = None, "error log")),
        },
        Case {
            rule: "SRV-12",
            base: of_lab,
            provoke: |t| came_from(t, &[3, 2, 0, 1, 4], 1),
            // One that closed before its first answer.
            silent: |t| came_from(t, &[1; 20], 19),
            missing: Some((|t| came_from(t, &[], 1), "source addresses")),
        },
        Case {
            rule: "SRV-13",
            base: of_lab,
            provoke: |t| logged(t, "on", 100_000, 90_000),
            // Those of the warm-up are in it, too.
            silent: |t| logged(t, "on", 100_000, 104_000),
            missing: Some((
                |t| {
                    logged(t, "on", 100_000, 1);
                    server(t).access_log_lines = None;
                },
                "access log",
            )),
        },
    ]
}

fn limits_of_servers() -> Vec<Case> {
    vec![
        Case {
            rule: "SRV-05",
            base: six_rounds,
            provoke: |t| {
                t[0].usage.system.as_mut().unwrap().cpus[0].busy = 0.52;
            },
            silent: |_| {},
            missing: Some((|t| t[0].usage.system = None, "busy")),
        },
        Case {
            rule: "SRV-11",
            base: closed,
            provoke: |t| {
                t[0].record.workers[0].busy = Span::from_ms(9_100);
                busiest_thread(t, Some(8_800));
            },
            silent: |t| {
                t[0].record.workers[0].busy = Span::from_ms(9_100);
                busiest_thread(t, Some(7_000));
            },
            missing: Some((|t| busiest_thread(t, None), "busiest threads")),
        },
        Case {
            rule: "SRV-07",
            base: of_lab,
            provoke: |t| {
                server(t).error_log = vec!["[warn] something is odd".to_owned()];
                server(t).error_log_lines = 3;
            },
            silent: |_| {},
            missing: Some((|t| t[0].context.server = None, "error log")),
        },
    ]
}

fn across_servers() -> Vec<Case> {
    vec![
        Case {
            rule: "SRV-06",
            base: six_rounds,
            provoke: |t| "on".clone_into(&mut server(t).access_log),
            silent: |t| {
                for trial in t {
                    let server = trial.context.server.as_mut().unwrap();
                    "on".clone_into(&mut server.access_log);
                }
            },
            missing: Some((|t| server(t).access_log.clear(), "logs")),
        },
        Case {
            rule: "ENV-01",
            base: six_rounds,
            provoke: |t| t[0].environment.governor = Some("powersave".to_owned()),
            silent: |t| {
                let sysctls = &mut t[0].environment.sysctls;
                let level = "net.netfilter.nf_conntrack_count";
                sysctls.insert(level.to_owned(), "7".to_owned());
            },
            missing: None,
        },
    ]
}

#[test]
fn running_out_of_ports_is_seen() {
    let mut trial = closed().remove(0);
    trial.record.total.connections.asked = 30_000;
    trial.record.total.connections.failed = 1_772;
    trial.record.examples.push(Example {
        outcome: Outcome::Connect,
        text: "Cannot assign requested address".to_owned(),
        request: None,
        at: Some(Span::from_s(3)),
    });
    let found = super::finding(&crate::judge(&trial), "TCP-01").unwrap();
    insta::assert_snapshot!("TCP-01 exhausted", super::told(&found));
}

#[test]
fn ports_are_counted_while_they_are_in_the_way() {
    let says = |change: &dyn Fn(&mut Trial)| {
        let mut trial = closed().remove(0);
        change(&mut trial);
        super::finding(&crate::judge(&trial), "TCP-01").is_some()
    };
    // Those that were open to the end, and were closed then, are the ones that were open.
    let held = |count: u32| {
        move |trial: &mut Trial| {
            trial.plan.connections = count;
            trial.record.drain_phase.connections.closed_by_client = u64::from(count);
        }
    };
    assert!(!says(&held(10_000)));
    assert!(says(&held(20_000)));
    // What is reserved is given to nobody who connects: half of the range.
    assert!(says(&|trial| {
        held(10_000)(trial);
        let reserved = ("net.ipv4.ip_local_reserved_ports", "8080,32768-46883");
        let (name, value) = (reserved.0.to_owned(), reserved.1.to_owned());
        trial.environment.sysctls.insert(name, value);
    }));
    let reuse = |value: &'static str, delay: Option<&'static str>| {
        move |trial: &mut Trial| {
            trial.record.total.connections.closed_by_client = 27_000;
            let sysctls = &mut trial.environment.sysctls;
            sysctls.insert("net.ipv4.tcp_tw_reuse".to_owned(), value.to_owned());
            let delay = delay.map(|ms| ("net.ipv4.tcp_tw_reuse_delay".to_owned(), ms.to_owned()));
            sysctls.extend(delay);
        }
    };
    assert!(says(&reuse("0", None)));
    assert!(!says(&reuse("1", None)));
    assert!(says(&reuse("1", Some("60000"))));
}

#[test]
fn a_recycled_worker_is_a_note_and_a_crashed_one_is_not() {
    let mut trials = of_lab();
    server(&mut trials).processes_after = Some(vec![(900, 100_000), (950, 100_400)]);
    let recycled = super::finding(&crate::judge(&trials[0]), "SRV-02").unwrap();
    assert_eq!(recycled.worst(), model::Severity::Note);
    let line = "[alert] 900#900: worker process 901 exited on signal 11";
    server(&mut trials).error_log = vec![line.to_owned()];
    let crashed = super::finding(&crate::judge(&trials[0]), "SRV-02").unwrap();
    assert_eq!(crashed.worst(), model::Severity::Invalid);
    insta::assert_snapshot!("SRV-02 crashed", super::told(&crashed));
}

#[test]
fn too_many_open_files_are_seen_in_the_log() {
    let mut trials = of_lab();
    server(&mut trials).error_log = vec!["accept4() failed (24: Too many open files)".to_owned()];
    let found = super::finding(&crate::judge(&trials[0]), "SRV-03").unwrap();
    assert_eq!(found.worst(), model::Severity::Invalid);
}

#[test]
fn connection_requests_that_somebody_else_lost_are_no_fault_of_the_server() {
    let check = |asked: u64, slow: u64, failed: u64, expected, name: &str| {
        let mut trials = of_lab();
        server(&mut trials).listen_backlog = Some(4_096);
        count(&mut trials, "TcpExt.ListenOverflows", Some(112));
        let record = &mut trials[0].record;
        record.total.connections.asked = asked;
        record.total.connections.failed = failed;
        record.connect_time.record_n(Span::from_ms(1_020), slow);
        let found = super::finding(&crate::judge(&trials[0]), "TCP-03").unwrap();
        assert_eq!(found.worst(), expected, "{}", found.say);
        insta::assert_snapshot!(name, super::told(&found));
    };
    use model::Severity::{Invalid, Note, Suspect};
    // None of ours was there to be lost, or none that was made waited.
    check(0, 0, 0, Note, "TCP-03 of others");
    check(64, 0, 0, Note, "TCP-03 of none");
    // Some of ours waited, and there were more drops than connects.
    check(64, 3, 1, Suspect, "TCP-03 of some");
    check(200, 100, 12, Invalid, "TCP-03 of the server");
}

#[test]
fn segments_that_no_exchange_waited_for_are_a_note() {
    let mut trials = closed();
    count(&mut trials, "Tcp.RetransSegs", Some(240_000));
    let found = super::finding(&crate::judge(&trials[0]), "TCP-05").unwrap();
    assert_eq!(found.worst(), model::Severity::Note);
    insta::assert_snapshot!("TCP-05 of others", super::told(&found));
    // One exchange in a million that waited does not make it worse: it cannot move a number.
    trials[0].record.service_time.record(Span::from_ms(200));
    let found = super::finding(&crate::judge(&trials[0]), "TCP-05").unwrap();
    assert_eq!(found.worst(), model::Severity::Note);
    assert_eq!(found.evidence["exchanges_struck_at_most"], 1);
}

/// A trial of a lab, with a server that logs like that and is called so. Its configuration has a
/// port and a folder of its own.
fn logs(trial: &mut Trial, (label, log, more): (&str, &str, &str), number: usize) {
    let server = server_of(trial);
    log.clone_into(&mut server.access_log);
    let lines = match log {
        "off" => "access_log off;\n".to_owned(),
        log => format!("access_log {{\n  output /tmp/triathlon-aaaaa{number} {log};\n}}\n"),
    };
    let configuration = format!("listen 127.0.0.1:4000{number};\n{lines}{more}\n");
    server.configuration = [("server.conf".to_owned(), configuration)].into();
    let point = trial.point.as_mut().unwrap();
    let value = Value::Word(log.to_owned());
    point.id = point.id.clone().with(ACCESS_LOG, value);
    label.clone_into(&mut point.id.server);
}

fn server_of(trial: &mut Trial) -> &mut Server {
    trial.context.server.as_mut().unwrap()
}

/// What is said of the first trial of a server, where nginx stands there as `ours` and the others
/// do not log: its label, how it logs, and what else it was told. The last of ours is changed.
fn where_others_do_not_log(
    ours: &[(&str, &str, &str)],
    change: fn(&mut Trial),
    of: &str,
) -> Option<Finding> {
    let mut trials = Vec::new();
    for trial in six_rounds() {
        let label = trial.point.as_ref().unwrap().id.server.clone();
        let ways = match label.as_str() {
            "nginx" => ours,
            label => &[(label, "off", "")][..],
        };
        for (number, way) in ways.iter().enumerate() {
            let mut trial = trial.clone();
            logs(&mut trial, *way, number);
            if label == "nginx" && number + 1 == ours.len() {
                change(&mut trial);
            }
            trials.push(trial);
        }
    }
    let server = |trial: &Trial| trial.point.as_ref().unwrap().id.server.clone();
    let place = trials.iter().position(|trial| server(trial) == of).unwrap();
    let verdict = crate::judge_set(&trials).swap_remove(place);
    super::finding(&verdict, "SRV-06")
}

/// In a lab the access log is an axis of each point, and servers that differ in it are rivals all
/// the same.
#[test]
fn servers_of_a_lab_that_log_differently_do_not_compare() {
    let told = |of: &str| where_others_do_not_log(&[("nginx", "on", "")], |_| {}, of);
    assert_eq!(told("nginx").unwrap().worst(), model::Severity::Invalid);
    assert_eq!(told("lighttpd").unwrap().worst(), model::Severity::Invalid);
}

/// One that logs beside one that does not, and the two differ in something else, too, whatever
/// their labels say.
#[test]
fn the_like_of_a_server_that_logs_differs_from_it_in_nothing_else() {
    let check = |change: fn(&mut Trial), is_told: bool| {
        for [one, other] in [["nginx", "another"], ["nginx log on", "nginx log off"]] {
            let two = [(one, "on", "sendfile on;"), (other, "off", "sendfile on;")];
            let told = where_others_do_not_log(&two, change, one);
            assert_eq!(told.is_some(), is_told, "{one}: {told:?}");
        }
    };
    check(|_| {}, false);
    check(|t| "stock".clone_into(&mut server_of(t).preset), true);
    check(|t| server_of(t).workers += 1, true);
    let with_a_setting = |trial: &mut Trial| {
        let mut texts = server_of(trial).configuration.values_mut();
        texts.next().unwrap().push_str("tcp_nodelay off;\n");
    };
    check(with_a_setting, true);
    // Whoever does not log is still compared with the other.
    let two = [("nginx", "on", ""), ("another", "off", "")];
    assert_eq!(
        where_others_do_not_log(&two, with_a_setting, "lighttpd"),
        None
    );
    let other_axis = |trial: &mut Trial| {
        let id = &mut trial.point.as_mut().unwrap().id;
        id.axes.set("of_another_version", Value::Count(7));
    };
    check(other_axis, true);
}

/// Entries of the experiment that differ in the way to log alone ask what a log costs. Whoever does
/// not log has its like among them.
#[test]
fn an_axis_of_logs_is_no_mismatch() {
    let check = |entries: [(&str, &str); 2], is_told: bool| {
        let entries = entries.map(|(label, log)| (label, log, "sendfile on;"));
        for server in [entries[0].0, entries[1].0, "lighttpd"] {
            let told = where_others_do_not_log(&entries, |_| {}, server);
            assert_eq!(told.is_some(), is_told, "{server}: {told:?}");
        }
    };
    check([("nginx log off", "off"), ("nginx log on", "on")], false);
    // So do entries of their own, however they are called.
    let named = [("nginx 1 core", "off"), ("nginx 1 core log on", "on")];
    check(named, false);
    check([("quiet", "off"), ("chatty", "on")], false);
    // Of two ways to log, neither is that of the others.
    let neither = [("nginx log buffered", "buffered"), ("nginx log on", "on")];
    check(neither, true);
}

#[test]
fn the_firewalls_table_is_held_against_what_it_was_before_this_trial() {
    let found = |before: Option<u64>| {
        let mut trials = closed();
        // When the experiment began, hours ago, there were 20.
        tracked(&mut trials, 20, Some(900));
        trials[0].usage.system.as_mut().unwrap().tracked_before = before;
        super::finding(&crate::judge(&trials[0]), "CT-01").is_some()
    };
    assert!(found(None));
    assert!(!found(Some(895)));
    assert!(found(Some(830)));
}

/// Of a buffered log the buffers of the server's workers may hold the rest.
#[test]
fn a_buffered_log_may_lack_what_buffers_hold() {
    let found = |access_log: &'static str, lines: u64| {
        let mut trials = of_lab();
        logged(&mut trials, access_log, 100_000, lines);
        super::finding(&crate::judge(&trials[0]), "SRV-13").is_some()
    };
    assert!(found("on", 90_000));
    assert!(!found("buffered", 90_000));
    assert!(found("buffered", 60_000));
}
