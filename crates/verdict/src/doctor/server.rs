//! The server that was asked about.

use model::condition::{Condition, OpenFiles, Remedy, ServerCondition};
use model::finding::Claim::{Capacity, Comparison, Latency};
use model::finding::{Claim, Severity};

use super::{Answer, Rule};
use crate::check::Found;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "TCP-07",
        name: "backlog-too-small",
        reads: "the accept queue of the listening socket (sock_diag)",
        source: "kernel Documentation/networking/snmp_counter.rst",
        examine: backlog,
    },
    Rule {
        id: "CPU-11",
        name: "cores-not-delivered",
        reads: "Cpus_allowed_list of the server's threads, its processes, CPUs online",
        source: "nginx counts CPUs online, not CPUs allowed",
        examine: cores,
    },
    Rule {
        id: "CPU-16",
        name: "instrumented",
        reads: "TracerPid and Seccomp of the server; tracefs: current_tracer, set_event",
        source: "ptrace(2), seccomp(2), kernel Documentation/trace/ftrace.rst",
        examine: instrumented,
    },
    Rule {
        id: "SRV-01",
        name: "wrong-server",
        reads: "the owner of the listening socket (sock_diag, /proc/*/fd)",
        source: "two servers on one port answer in turn",
        examine: owner,
    },
    Rule {
        id: "SRV-03",
        name: "nofile",
        reads: "/proc/PID/limits: Max open files",
        source: "a study of 2016 ran at 10,000",
        examine: open_files,
    },
];

/// Connections that a benchmark opens at once, unless told otherwise.
const AT_ONCE: u32 = 1_000;

fn at_once(condition: &Condition) -> u32 {
    condition.at_once.unwrap_or(AT_ONCE)
}

fn of_server(condition: &Condition, rule: impl Fn(&ServerCondition) -> Answer) -> Answer {
    condition
        .server
        .as_ref()
        .map_or(Answer::NotApplicable, rule)
}

fn backlog(condition: &Condition) -> Answer {
    of_server(condition, |server| {
        let listeners = server.listeners.iter().flatten();
        let Some(listener) = listeners.min_by_key(|listener| listener.backlog) else {
            return Answer::unknown("the server's listening sockets");
        };
        if listener.backlog >= at_once(condition) {
            return Answer::Silent;
        }
        let say = format!(
            "{} on {} lets at most {} connections wait to be accepted. If more are opened at \
             once, the rest are tried again after a second.",
            server.name, listener.address, listener.backlog
        );
        Found::all(&[Latency, Capacity], Severity::Suspect, say)
            .evidence("backlog", listener.backlog)
            .fix("nginx: listen ... backlog=4096")
            .fix("Apache: ListenBackLog 4096")
            .fix("lighttpd: server.listen-backlog = 4096")
            .into()
    })
}

fn cores(condition: &Condition) -> Answer {
    of_server(condition, |server| {
        let Some(cpus) = &server.cpus_allowed else {
            return Answer::unknown("the CPUs that the server's threads may use");
        };
        let online = condition.environment.cpus_online.len();
        if cpus.len() >= online || server.processes.len() <= cpus.len() + 1 {
            return Answer::Silent;
        }
        let say = format!(
            "{} runs {} processes on {} of {online} CPUs: several workers share a CPU and take \
             turns.",
            server.name,
            server.processes.len(),
            cpus.len()
        );
        Found::all(&[Capacity, Comparison], Severity::Note, say)
            .fix("give it as many workers as CPUs, and its CPUs by name")
            .into()
    })
}

fn instrumented(condition: &Condition) -> Answer {
    let server = condition.server.as_ref();
    if let Some(server) = server.filter(|server| server.traced == Some(true)) {
        let say = format!("{} runs under a debugger or tracer.", server.name);
        return Found::all(&Claim::ALL, Severity::Invalid, say)
            .fix("detach it")
            .into();
    }
    if let Some(what) = condition
        .kernel_tracing
        .as_ref()
        .filter(|all| !all.is_empty())
    {
        let say = format!(
            "The kernel traces itself ({}{}): every system call, packet or switch of a thread \
             costs more.",
            what.iter().take(3).cloned().collect::<Vec<_>>().join(", "),
            if what.len() > 3 { ", ..." } else { "" }
        );
        return Found::all(&Claim::ALL, Severity::Suspect, say)
            .evidence("tracing", what.clone())
            .fix("end the program that traces (trace-cmd, perf trace, bpftrace)")
            .fix("cd /sys/kernel/tracing; echo nop > current_tracer; echo > set_event")
            .into();
    }
    of_server(condition, |server| {
        if server.filtered == Some(true) && condition.filtered == Some(false) {
            let say = format!(
                "The system calls of {} pass through a filter (seccomp), as in a container, and \
                 those of this program do not. Each call costs that server more than one without \
                 a filter.",
                server.name
            );
            return Found::all(&[Comparison], Severity::Note, say)
                .fix("compare it with servers under the same filter")
                .fix("docker run --security-opt seccomp=unconfined")
                .into();
        }
        match (server.traced, server.filtered, &condition.kernel_tracing) {
            (None, _, _) => Answer::unknown("TracerPid of the server's processes"),
            (_, None, _) => Answer::unknown("Seccomp of the server's processes"),
            (_, _, None) => Answer::unknown(
                "current_tracer of /sys/kernel/tracing: root may read it, where tracefs is mounted",
            ),
            _ => Answer::Silent,
        }
    })
}

fn owner(condition: &Condition) -> Answer {
    of_server(condition, |server| {
        let Some(listeners) = &server.listeners else {
            return Answer::unknown(
                "the server's sockets: it belongs to another user or network namespace",
            );
        };
        if listeners.is_empty() {
            let say = format!(
                "{} (process {}) listens on no TCP socket.",
                server.name, server.pid
            );
            return Found::all(&Claim::ALL, Severity::Invalid, say).into();
        }
        Answer::Silent
    })
}

fn open_files(condition: &Condition) -> Answer {
    of_server(condition, |server| {
        if server.open_files.is_empty() {
            return Answer::unknown("/proc/PID/limits");
        }
        let connections = at_once(condition);
        let needed = u64::from(connections) * 2 + 64;
        let few = |of: &&OpenFiles| of.soft.is_some_and(|soft| soft < needed);
        let Some(limit) = server
            .open_files
            .iter()
            .filter(few)
            .filter_map(|of| of.soft)
            .min()
        else {
            return Answer::Silent;
        };
        let say = format!(
            "A process of {} may open {limit} files; {connections} connections with their files \
             need up to {needed}.",
            server.name
        );
        let short = server.open_files.iter().filter(few);
        let remedies = short.map(|of| more_files(of, needed));
        let found = Found::all(&[Capacity], Severity::Suspect, say).evidence("limit", limit);
        Answer::Found(found, remedies.collect())
    })
}

/// Leaves the hard limit alone where that is possible: once lowered it needs a privilege to come
/// back.
fn more_files(of: &OpenFiles, needed: u64) -> Remedy {
    let enough = needed.max(65_535);
    let pid = of.pid;
    let word = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |n| n.to_string());
    let soft = word(of.soft);
    let (apply, undo) = match of.hard {
        Some(hard) if hard < enough => (format!("{enough}:{enough}"), format!("{soft}:{hard}")),
        _ => (format!("{enough}:"), format!("{soft}:")),
    };
    Remedy {
        apply: format!("prlimit --pid {pid} --nofile={apply}"),
        undo: Some(format!("prlimit --pid {pid} --nofile={undo}")),
    }
}
