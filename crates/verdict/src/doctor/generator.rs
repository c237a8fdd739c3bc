//! What the generator brings along: its build, its clock, its environment.

use model::condition::Condition;
use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::{Claim, Severity};

use super::{Answer, Rule};
use crate::apart::apart;
use crate::check::Found;
use crate::number;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "GEN-06",
        name: "shared-cpus",
        reads: "CPUs that this program and the server may use, topology/thread_siblings_list",
        source: "pyperf, system tuning; measurement on loopback",
        examine: shared_cpus,
    },
    Rule {
        id: "GEN-11",
        name: "clock",
        reads: "/sys/devices/system/clocksource/clocksource0/current_clocksource, 100,000 readings",
        source: "kernel Documentation/virt/kvm/x86/timekeeping.rst",
        examine: clock,
    },
    Rule {
        id: "GEN-14",
        name: "debug-build",
        reads: "how this program was built, TracerPid of its status",
        source: "a build without optimisation measures itself",
        examine: debug_build,
    },
    Rule {
        id: "GEN-15",
        name: "env-proxy-dns",
        reads: "proxy variables of the environment",
        source: "curl(1), environment",
        examine: proxies,
    },
];

fn shared_cpus(condition: &Condition) -> Answer {
    let allowed = &condition.environment.cpus_allowed;
    if allowed.is_empty() {
        return Answer::unknown("the CPUs that this program may use");
    }
    let server = condition.server.as_ref();
    match server.map(|server| server.cpus_allowed.as_ref()) {
        None if allowed.len() > 1 => Answer::NotApplicable,
        None => {
            let what = "this program may use one CPU only, so a server on this machine shares it";
            found_shared(
                what,
                "let this program use CPUs of two cores: one for the server, one for it",
            )
        }
        Some(None) => Answer::unknown("the CPUs that the server may use"),
        Some(Some(server)) => {
            let remedy = || apart_with_taskset(condition, server);
            let mut free = allowed
                .iter()
                .filter(|cpu| !server.contains(cpu))
                .peekable();
            if free.peek().is_none() {
                let what = "the server may run on every CPU that the generator may use";
                return found_shared(what, &remedy());
            }
            let siblings = &condition.environment.thread_siblings;
            let shares_core = |cpu: &u32| {
                let of_core = siblings.get(cpu).into_iter().flatten();
                of_core.copied().any(|sibling| server.contains(&sibling))
            };
            if free.all(shares_core) {
                let what = "each CPU that is left to the generator is one half of a core whose \
                            other half is the server's";
                return found_shared(what, &remedy());
            }
            Answer::Silent
        }
    }
}

/// What gives both CPUs of their own, where there are such.
fn apart_with_taskset(condition: &Condition, server: &[u32]) -> String {
    let pid = condition.server.as_ref().map(|server| server.pid);
    match pid.zip(apart(server, &condition.environment)) {
        Some((pid, (theirs, ours))) => format!(
            "taskset -acp {theirs} {pid}   # the server on CPU {theirs}; then run the generator \
             with --cpus {ours}"
        ),
        None => "let the server and this program use CPUs of different cores, or make the load on \
                 another machine"
            .to_owned(),
    }
}

fn found_shared(what: &str, remedy: &str) -> Answer {
    let say = format!(
        "Server and generator share CPUs: {what}. The generator then takes CPU time from the \
         server, and the wait for the generator becomes part of every response time."
    );
    Found::all(
        &[Capacity, Latency, Resources, Comparison],
        Severity::Suspect,
        say,
    )
    .fix(remedy)
    .into()
}

/// Clock sources that are read without a system call.
const CHEAP: &[&str] = &[
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
];

fn clock(condition: &Condition) -> Answer {
    let Some(source) = &condition.environment.clocksource else {
        return Answer::unknown("the kernel's clock source");
    };
    let cost = condition.environment.clock_cost_ns;
    let dear = cost.is_some_and(|ns| ns > 100.0);
    if CHEAP.contains(&source.as_str()) && !dear {
        return Answer::Silent;
    }
    let follows = if CHEAP.contains(&source.as_str()) {
        "every time stamp is part of what is measured"
    } else {
        "every time stamp becomes a system call and part of what is measured"
    };
    let say = format!(
        "The clock source is {source}{}: {follows}.",
        cost.map_or_else(String::new, |ns| {
            format!(", one reading costs {}", number::time_us(ns / 1_000.0))
        })
    );
    Found::all(&[Latency], Severity::Suspect, say)
        .evidence("clocksource", source.clone())
        .fix("boot with tsc=reliable if the CPU has a stable counter (constant_tsc nonstop_tsc)")
        .into()
}

fn debug_build(condition: &Condition) -> Answer {
    let tool = &condition.environment.tool;
    if !tool.debug_build && !tool.traced {
        return Answer::Silent;
    }
    let what = if tool.debug_build {
        "was built without optimisation"
    } else {
        "runs under a debugger"
    };
    Found::all(
        &Claim::ALL,
        Severity::Invalid,
        format!("This program {what}: it measures itself."),
    )
    .fix("cargo build --release, and run without a debugger")
    .into()
}

fn proxies(condition: &Condition) -> Answer {
    let proxies = &condition.environment.proxies;
    if proxies.is_empty() {
        return Answer::Silent;
    }
    let say = format!(
        "The environment names a proxy ({}). This generator goes straight to the server, other \
         tools do not: comparisons with them would measure the proxy.",
        proxies.join(", ")
    );
    Found::all(&[Comparison], Severity::Note, say)
        .fix("unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY")
        .into()
}
