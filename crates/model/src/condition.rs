//! The state of a machine, and of a server on it, at one moment: what the doctor looks at.
//!
//! [`Environment`] is what stays as it is for a while; this adds what moves. Whatever cannot be
//! read is none.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::units::{Bytes, Span};
use crate::usage::Others;

/// A machine at one moment.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Condition {
    /// What stays as it is.
    pub environment: Environment,
    /// Whether it can be seen what CPU time the control group of this process may use: only then
    /// does [`Environment::cpu_quota`] say that there is no limit.
    pub cpu_quota_seen: bool,
    /// A page of memory.
    pub page_size: Option<Bytes>,
    /// Memory that programs could still have.
    pub memory_available: Option<Bytes>,
    /// Memory that lies in swap.
    pub swap_used: Option<Bytes>,
    /// Sockets of the machine by state: `TCP.tw`, `TCP.orphan`, `TCP.mem` (pages).
    pub sockets: BTreeMap<String, u64>,
    /// Connections that the firewall tracks now.
    pub tracked_connections: Option<u64>,
    /// How many it may.
    pub tracked_connections_max: Option<u64>,
    /// Share of time since boot that the hypervisor gave to others, 0 to 1.
    pub steal: Option<f64>,
    /// What kept a thread from running that always wanted to; none if nobody watched.
    #[serde(default)]
    pub hiccups: Option<Hiccups>,
    /// Who used the CPUs while that was watched; none if nobody looked.
    #[serde(default)]
    pub others: Option<Others>,
    /// How clocks are governed, the CPUs of one way together; empty where the kernel does not tell,
    /// as in most virtual machines.
    #[serde(default)]
    pub clocks: Vec<Clocks>,
    /// Network links by name.
    pub links: Vec<Link>,
    /// The file system that results and logs go to.
    pub disk: Option<Disk>,
    /// Whether each mains supply is on; empty where there is none to ask, none where the kernel
    /// does not tell of supplies.
    pub mains: Option<Vec<bool>>,
    /// CPUs by the kind of their core; more than one kind is a machine of mixed cores.
    pub core_kinds: Option<BTreeMap<String, Vec<u32>>>,
    /// Lines of the kernel log that matter for a benchmark; none where it may not be read.
    pub kernel_log: Option<Vec<String>>,
    /// What the kernel traces on the way of every request: a tracer by name, events as
    /// `sched:sched_switch`; empty is nothing, none where it may not be read.
    #[serde(default)]
    pub kernel_tracing: Option<Vec<String>>,
    /// Whether the system calls of this process are filtered (seccomp).
    #[serde(default)]
    pub filtered: Option<bool>,
    /// Connections that the benchmark opens at once, where somebody has said so.
    #[serde(default)]
    pub at_once: Option<u32>,
    /// The server that was asked about.
    pub server: Option<ServerCondition>,
}

/// What kept a thread from running that did nothing but read the clock, beside the waits for its
/// turn that the kernel accounts for: interrupts, firmware, a hypervisor.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Hiccups {
    /// How long it was watched.
    pub watched: Span,
    /// How often it was kept.
    pub count: u64,
    /// For how long altogether.
    pub lost: Span,
    /// The longest time.
    pub longest: Span,
}

/// How the clocks of some CPUs are governed (cpufreq).
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Clocks {
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// The governor: `schedutil`.
    pub governor: String,
    /// The driver: `intel_pstate`.
    pub driver: Option<String>,
    /// What the processor itself is asked to prefer: `balance_performance`.
    pub preference: Option<String>,
}

/// A network link.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Link {
    /// Its name: `lo`, `eth0`.
    pub name: String,
    /// Its largest packet.
    pub mtu: Option<u64>,
    /// Whether a device is behind it, and not the kernel alone, as behind lo, bridges and tunnels.
    #[serde(default)]
    pub device: bool,
    /// Its speed in megabits per second; none where the driver does not say.
    pub speed_mbit: Option<u64>,
}

/// A file system.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Disk {
    /// The folder that was asked about.
    pub path: String,
    /// What it can hold.
    pub size: Bytes,
    /// What it can still hold.
    pub free: Bytes,
}

/// A server at one moment.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ServerCondition {
    /// The process that was asked about, or that owns the listening socket.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its processes: itself and all descendants.
    pub processes: Vec<u32>,
    /// CPUs that its threads may use, all together.
    pub cpus_allowed: Option<Vec<u32>>,
    /// The limits of open files of its processes, where they can be read.
    pub open_files: Vec<OpenFiles>,
    /// Sockets it listens on; none where its descriptors are not readable or it lives in another
    /// network namespace.
    pub listeners: Option<Vec<ListenerCondition>>,
    /// Whether a debugger or tracer holds one of its processes.
    pub traced: Option<bool>,
    /// Whether the system calls of one of its processes are filtered (seccomp).
    #[serde(default)]
    pub filtered: Option<bool>,
    /// The file systems of files that its processes append to, one file for each; none where its
    /// descriptors are not readable.
    #[serde(default)]
    pub logs: Option<Vec<Disk>>,
    /// Memory of its processes that lies in swap.
    pub swap_used: Option<Bytes>,
}

/// How many files a process may open.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct OpenFiles {
    /// The process.
    pub pid: u32,
    /// The limit that holds; none is unlimited.
    pub soft: Option<u64>,
    /// How far the process may raise it; none is unlimited.
    pub hard: Option<u64>,
}

/// A listening socket.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ListenerCondition {
    /// Where it listens; unspecified is everywhere.
    pub address: SocketAddr,
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// How many may wait.
    pub backlog: u32,
}

/// Something to do about a finding, and how to undo it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Remedy {
    /// The command that mends it.
    pub apply: String,
    /// The command that restores what was; none where nothing need be restored.
    pub undo: Option<String>,
}
