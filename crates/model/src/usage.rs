//! CPU, memory, network and scheduling consumed over exactly the measured window.
//!
//! What could not be read is none, never zero; each reading names its source.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

/// What the generator, the server and the machine consumed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Usage {
    /// The generator's process.
    pub generator: Option<GroupUsage>,
    /// The server's process tree, reaped children included.
    pub server: Option<GroupUsage>,
    /// The machine as a whole.
    pub system: Option<SystemUsage>,
}

/// A process with all its descendants.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupUsage {
    /// The time between the two readings.
    #[serde(rename = "window_ns")]
    pub window: Span,
    /// How much of the measured window lies between them: a reading that came late has missed the
    /// work before it, while after the window there is none.
    #[serde(
        rename = "covered_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub covered: Option<Span>,
    /// User and system CPU time together.
    #[serde(rename = "cpu_ns")]
    pub cpu: Option<Span>,
    /// User CPU time; none where the source cannot split so short a window.
    #[serde(rename = "user_ns")]
    pub user: Option<Span>,
    /// System CPU time.
    #[serde(rename = "system_ns")]
    pub system: Option<Span>,
    /// Where CPU time was read: `cgroup`, `proc`, `rusage`.
    pub cpu_source: String,
    /// Proportional set size at the end of the window.
    pub memory_pss: Option<Bytes>,
    /// Resident set size at the end of the window: counts shared pages once per process.
    pub memory_rss: Option<Bytes>,
    /// Voluntary context switches.
    pub context_switches_voluntary: Option<u64>,
    /// Involuntary context switches.
    pub context_switches_involuntary: Option<u64>,
    /// Time spent runnable but not running, over all threads.
    #[serde(rename = "runqueue_wait_ns")]
    pub runqueue_wait: Option<Span>,
    /// Processes at the end of the window.
    pub processes: Option<u32>,
    /// Threads at the end of the window.
    pub threads: Option<u32>,
    /// Bytes in use by the listening and connected sockets, where a cgroup tells.
    pub memory_sockets: Option<Bytes>,
}

/// The machine over the window.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SystemUsage {
    /// The time between the two readings.
    #[serde(rename = "window_ns")]
    pub window: Span,
    /// Each CPU.
    pub cpus: Vec<CpuUsage>,
    /// How far each kernel counter went, by name: `TcpExt.ListenOverflows`, `Tcp.RetransSegs`,
    /// `vmstat.pswpin`. A counter that this kernel lacks is absent.
    pub counters: BTreeMap<String, u64>,
    /// Connections that the firewall tracked at the end of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracked_connections: Option<u64>,
}

/// One CPU over the window, in shares of it from 0 to 1.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuUsage {
    /// Its number.
    pub cpu: u32,
    /// Neither idle nor waiting for I/O.
    pub busy: f64,
    /// In user mode.
    pub user: f64,
    /// In the kernel for a task.
    pub system: f64,
    /// In interrupts and softirqs.
    pub interrupt: f64,
    /// Wanted but given to another guest by the hypervisor.
    pub steal: f64,
}
