//! The machine itself: processors, memory, disk, kernel log.

use model::condition::{Condition, Disk};
use model::finding::Claim::{Comparison, Latency, Resources};
use model::finding::{Claim, Severity};

use super::{Answer, Rule, clocks};
use crate::cause::Foreign;
use crate::check::Found;
use crate::thresholds::{BACKGROUND, HICCUP_LONGEST, HICCUPS};
use crate::words;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "CPU-01",
        name: "steal",
        reads: "/proc/stat: steal since boot",
        source: "kernel Documentation/virt/kvm/x86/msr.rst (MSR_KVM_STEAL_TIME)",
        examine: steal,
    },
    Rule {
        id: "CPU-02",
        name: "hiccups",
        reads: "gaps between readings of the clock in a busy thread, less its waits for a turn",
        source: "the method of jHiccup and of Linux's hwlat tracer; bounds are policy",
        examine: hiccups,
    },
    Rule {
        id: "CPU-03",
        name: "virtualised",
        reads: "the hypervisor flag of /proc/cpuinfo, /sys/class/dmi/id",
        source: "Bulej et al., ICPE 2020; Maricq et al., OSDI 2018",
        examine: virtualised,
    },
    clocks::RULE,
    Rule {
        id: "CPU-08",
        name: "background",
        reads: "the CPU clock of every process, before and after a second of watching",
        source: "Li et al., Tales of the Tail, SoCC 2014: background processes dominate tails",
        examine: background,
    },
    Rule {
        id: "CPU-10",
        name: "cfs-throttled",
        reads: "cpu.max or cpu.cfs_quota_us of this control group and those above it",
        source: "kernel Documentation/admin-guide/cgroup-v2.rst",
        examine: quota,
    },
    Rule {
        id: "CPU-12",
        name: "mixed-cores",
        reads: "/sys/devices/cpu_core, cpu_atom, system/cpu/cpu*/cpu_capacity; CPUs allowed",
        source: "kernel Documentation/scheduler/sched-capacity.rst",
        examine: mixed_cores,
    },
    Rule {
        id: "CPU-15",
        name: "battery",
        reads: "/sys/class/power_supply/*/online",
        source: "firmware lowers clocks on battery",
        examine: battery,
    },
    Rule {
        id: "MEM-01",
        name: "swap",
        reads: "/proc/meminfo: SwapTotal, SwapFree; VmSwap of the server",
        source: "a page in swap costs milliseconds",
        examine: swap,
    },
    Rule {
        id: "MEM-03",
        name: "reclaim",
        reads: "/proc/meminfo: MemAvailable, MemTotal",
        source: "kernel Documentation/filesystems/proc.rst",
        examine: memory,
    },
    Rule {
        id: "DSK-01",
        name: "disk-fills",
        reads: "statvfs of the folder for results and of files that the server appends to",
        source: "a study of 2016 filled its disk with access logs",
        examine: disk,
    },
    Rule {
        id: "ENV-04",
        name: "kernel-log",
        reads: "/dev/kmsg",
        source: "kernel Documentation/ABI/testing/dev-kmsg",
        examine: kernel_log,
    },
];

fn steal(condition: &Condition) -> Answer {
    let Some(share) = condition.steal else {
        return Answer::unknown("/proc/stat");
    };
    let severity = match share {
        s if s > 0.05 => Severity::Suspect,
        s if s > 0.005 => Severity::Note,
        _ => return Answer::Silent,
    };
    let say = format!(
        "Since boot the hypervisor gave {} of this machine's time to others. What matters is the \
         share during a run.",
        words::share(share)
    );
    Found::all(&Claim::ALL, severity, say)
        .evidence("steal", share)
        .into()
}

fn hiccups(condition: &Condition) -> Answer {
    let Some(seen) = condition.hiccups.filter(|seen| !seen.watched.is_zero()) else {
        return Answer::unknown("not watched: triathlon doctor --hiccups 1s");
    };
    let share = seen.lost.as_s_f64() / seen.watched.as_s_f64();
    let longest = seen.longest.as_s_f64() * 1e3;
    if HICCUPS.severity(share).is_none() && HICCUP_LONGEST.severity(longest).is_none() {
        return Answer::Silent;
    }
    let say = format!(
        "Something below the kernel paused this machine {} times in {} (longest {}, {} of the \
         time): the tail of response times includes these pauses.",
        seen.count,
        seen.watched,
        seen.longest,
        words::share(share)
    );
    Found::all(&[Latency], Severity::Suspect, say)
        .evidence("count", seen.count)
        .evidence("longest_ms", longest)
        .evidence("lost_share", share)
        .limit(&HICCUPS)
        .limit(&HICCUP_LONGEST)
        .into()
}

fn background(condition: &Condition) -> Answer {
    let cpus = condition.environment.cpus_online.len();
    let others = condition.others.as_ref();
    let Some((others, foreign)) =
        others.and_then(|others| Some((others, Foreign::of_machine(others, cpus)?)))
    else {
        return Answer::unknown("not watched: triathlon doctor --hiccups 1s");
    };
    if BACKGROUND.severity(foreign.share).is_none() {
        return Answer::Silent;
    }
    let say = format!(
        "{} That was within {}; what matters is the share during a run.",
        foreign.say(),
        others.window
    );
    Found::all(&Claim::ALL, Severity::Suspect, say)
        .evidence("background_share", foreign.share)
        .evidence("who", serde_json::json!(foreign.who))
        .limit(&BACKGROUND)
        .fix("stop them, or pin server and generator to CPUs that they leave alone")
        .into()
}

fn virtualised(condition: &Condition) -> Answer {
    match condition.environment.virtualised {
        None => Answer::unknown("whether this is a virtual machine"),
        Some(false) => Answer::Silent,
        Some(true) => {
            let product = condition
                .environment
                .product
                .as_deref()
                .unwrap_or("unnamed");
            let say = format!(
                "This is a virtual machine ({product}): its CPUs may be shared with others and \
                 not every hypervisor reports the time it takes. Compare only what was measured \
                 in one lab."
            );
            Found::all(&[Comparison, Latency], Severity::Note, say).into()
        }
    }
}

fn quota(condition: &Condition) -> Answer {
    let Some(quota) = condition.environment.cpu_quota else {
        if !condition.cpu_quota_seen {
            return Answer::unknown("the files of this process's control group");
        }
        return Answer::Silent;
    };
    let say = format!(
        "This control group may use the time of {quota:.2} CPUs. Once that is used up, all its \
         programs stand still for the rest of each 100 ms."
    );
    Found::all(&Claim::ALL, Severity::Suspect, say)
        .evidence("cpu_quota", quota)
        .fix("start the container without a CPU quota (--cpus), and pin by cpuset instead")
        .into()
}

fn mixed_cores(condition: &Condition) -> Answer {
    let Some(kinds) = &condition.core_kinds else {
        return Answer::unknown("the kinds of cores: cpu_core, cpu_atom, cpu_capacity");
    };
    // Whoever has no server yet starts it with the CPUs that this program has.
    let (who, cpus) = match &condition.server {
        None => ("this program", Some(&condition.environment.cpus_allowed)),
        Some(server) => (server.name.as_str(), server.cpus_allowed.as_ref()),
    };
    let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else {
        return Answer::unknown("the CPUs that the server may use");
    };
    let mixed: Vec<&str> = kinds
        .iter()
        .filter(|(_, of_kind)| of_kind.iter().any(|cpu| cpus.contains(cpu)))
        .map(|(kind, _)| kind.as_str())
        .collect();
    if mixed.len() < 2 {
        return Answer::Silent;
    }
    let say = format!(
        "The CPUs that {who} may use differ ({}): a run measures where its threads happened to be.",
        mixed.join(", ")
    );
    Found::all(&[Comparison], Severity::Suspect, say)
        .evidence("kinds", mixed)
        .fix(format!(
            "give server and generator CPUs of one kind: taskset -acp LIST {}",
            condition
                .server
                .as_ref()
                .map_or_else(|| "PID".to_owned(), |server| server.pid.to_string())
        ))
        .into()
}

fn battery(condition: &Condition) -> Answer {
    let Some(mains) = &condition.mains else {
        return Answer::unknown("/sys/class/power_supply");
    };
    if mains.is_empty() {
        return Answer::NotApplicable;
    }
    if mains.contains(&true) {
        return Answer::Silent;
    }
    let say = "The machine runs on battery: its firmware may lower the frequency of the CPUs.";
    Found::all(&Claim::ALL, Severity::Suspect, say.to_owned())
        .fix("plug it in")
        .into()
}

fn swap(condition: &Condition) -> Answer {
    let of_server = condition
        .server
        .as_ref()
        .and_then(|server| server.swap_used);
    if let Some(bytes) = of_server.filter(|bytes| bytes.count() > 0) {
        let say = format!(
            "{bytes} of the server's memory lie in swap: reading them back costs milliseconds."
        );
        return Found::all(&Claim::ALL, Severity::Invalid, say)
            .fix("restart the server, and free memory first")
            .into();
    }
    let Some(used) = condition.swap_used else {
        return Answer::unknown("/proc/meminfo");
    };
    if used.count() == 0 {
        return Answer::Silent;
    }
    let say = format!("{used} of memory lie in swap; the machine was short of memory before.");
    Found::all(&[Latency], Severity::Note, say).into()
}

fn memory(condition: &Condition) -> Answer {
    let (Some(free), Some(all)) = (condition.memory_available, condition.environment.memory) else {
        return Answer::unknown("/proc/meminfo");
    };
    if free.count() * 10 >= all.count() {
        return Answer::Silent;
    }
    let say = format!(
        "Only {free} of {all} of memory are available: the kernel will have to free memory \
         during a run."
    );
    Found::all(&[Latency, Resources], Severity::Suspect, say).into()
}

fn disk(condition: &Condition) -> Answer {
    let server = condition.server.as_ref();
    let logs = server.and_then(|server| server.logs.as_ref());
    let fullest = logs
        .into_iter()
        .flatten()
        .filter(|disk| disk.size.count() > 0)
        .min_by_key(|disk| disk.free.count());
    if let Some(disk) = fullest
        && let Some(severity) = severity_of_logs(disk)
    {
        let say = format!(
            "The server appends to {}, whose file system has {} free: an access log fills that in \
             {} at 100,000 requests a second. A full disk slows some servers, and others stop.",
            disk.path,
            disk.free,
            full_after(disk)
        );
        return Found::all(&Claim::ALL, severity, say)
            .evidence("free_bytes", disk.free.count())
            .fix("free space there, or let the server log elsewhere or not at all")
            .into();
    }
    let Some(disk) = &condition.disk else {
        return Answer::unknown("the file system of the results");
    };
    if disk.free.count() >= RESULTS_MIN {
        return match server {
            Some(_) if logs.is_none() => Answer::unknown("the files that the server appends to"),
            _ => Answer::Silent,
        };
    }
    let say = format!(
        "{} has {} free, and a lab may write more than that. A full disk loses results.",
        disk.path, disk.free
    );
    Found::all(&Claim::ALL, Severity::Suspect, say)
        .evidence("free_bytes", disk.free.count())
        .fix("free space, or send results elsewhere with --results")
        .into()
}

/// How fast an access log grows at 100,000 requests per second, in bytes per second: 90 bytes a
/// line in the common log format.
const LOG_GROWS: u64 = 9_000_000;

/// A log that fills its file system sooner than this spoils the run, in seconds (policy).
const FULL_SOON_S: u64 = 60;

/// The same for a long run (policy).
const FULL_LATER_S: u64 = 600;

/// What the results of a long lab may need, in bytes (policy): a trial is some 50 KB, so this holds
/// 5,000 of them.
const RESULTS_MIN: u64 = 256 << 20;

fn severity_of_logs(disk: &Disk) -> Option<Severity> {
    match disk.free.count() / LOG_GROWS {
        seconds if seconds < FULL_SOON_S => Some(Severity::Invalid),
        seconds if seconds < FULL_LATER_S => Some(Severity::Suspect),
        _ => None,
    }
}

/// When an access log has filled what is free, in words.
fn full_after(disk: &Disk) -> String {
    match disk.free.count() / LOG_GROWS {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

fn kernel_log(condition: &Condition) -> Answer {
    let Some(lines) = &condition.kernel_log else {
        return Answer::unknown("/dev/kmsg (kernel.dmesg_restrict, or no permission)");
    };
    let Some(first) = lines.first() else {
        return Answer::Silent;
    };
    let say = format!(
        "The kernel log has {} of trouble, the last: {}",
        words::plural(lines.len() as u64, "line"),
        lines.last().unwrap_or(first)
    );
    Found::all(&Claim::ALL, Severity::Note, say)
        .evidence("lines", lines.clone())
        .into()
}
