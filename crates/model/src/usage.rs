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
    /// The part of `cpu` that belongs to processes behind the one that is asked, where a server is
    /// several; of those that were there before the load. None where it is one, or where it cannot
    /// be read.
    #[serde(
        rename = "behind_cpu_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub behind_cpu: Option<Span>,
    /// Where CPU time was read: `cgroup`, `proc`, `rusage`.
    pub cpu_source: String,
    /// Proportional set size at the end of the window.
    pub memory_pss: Option<Bytes>,
    /// Resident set size at the end of the window: counts shared pages once per process.
    pub memory_rss: Option<Bytes>,
    /// What is known of the memory, where not all of it may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_part: Option<MemoryPart>,
    /// Voluntary context switches.
    pub context_switches_voluntary: Option<u64>,
    /// Involuntary context switches.
    pub context_switches_involuntary: Option<u64>,
    /// System calls that wrote to a file or a socket, as the kernel counts them (`syscw`): `write`,
    /// `writev`, `sendfile` and their like, but not `send` and `sendmsg`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_calls: Option<u64>,
    /// Time spent runnable but not running, over all threads.
    #[serde(rename = "runqueue_wait_ns")]
    pub runqueue_wait: Option<Span>,
    /// CPU time of the thread that used most, of those that lived all the time; none if unreadable.
    #[serde(
        rename = "busiest_thread_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub busiest_thread: Option<Span>,
    /// Processes at the end of the window.
    pub processes: Option<u32>,
    /// Threads at the end of the window.
    pub threads: Option<u32>,
    /// Kernel memory that the TCP sockets at the server's port are charged with at one edge of the
    /// window, as sock_diag tells: what was received and is not read, what was written and is not
    /// acknowledged, what is set aside for either, options, and what came while a socket was busy.
    /// The sockets' own structures, their files and their inodes are not in it, nor are sockets of
    /// other ports. None where nobody could tell, as with HTTP/3.
    pub memory_sockets: Option<Bytes>,
    /// How many connections that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_sockets_connections: Option<u64>,
}

/// Memory of some processes of a tree: those of other users may not be read.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryPart {
    /// Processes whose memory was read.
    pub read: u32,
    /// Processes whose memory may not be read.
    pub unread: u32,
    /// Proportional set size of those that were read.
    pub pss: Bytes,
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
    /// The same before this trial opened its own; none where nobody looked then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracked_before: Option<u64>,
    /// The step in which the times of CPUs are counted; none in trials that do not tell, where it
    /// was 10 ms.
    #[serde(rename = "tick_ns", default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Span>,
    /// Who else used the CPUs; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
}

impl SystemUsage {
    /// The step in which the times of CPUs are counted, as a share of the window: a share that was
    /// read may be off by so much.
    pub fn tick_share(&self) -> f64 {
        const USUAL: Span = Span::from_ms(10);
        self.tick.unwrap_or(USUAL).as_s_f64() / self.window.as_s_f64().max(1e-9)
    }
}

/// CPU time of whoever is neither generator nor server, process by process and to the nanosecond.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Others {
    /// The time between the two looks: from before the window, so that looking costs it nothing.
    #[serde(rename = "window_ns")]
    pub window: Span,
    /// CPU time of foreign processes, and of threads of the kernel that work for nobody here.
    #[serde(rename = "cpu_ns")]
    pub cpu: Span,
    /// CPU time of tasks that no process explains: of those that began and ended unseen, and of
    /// those that this process may not see; none where it cannot be told.
    #[serde(rename = "unseen_ns", default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Span>,
    /// Those who used most of `cpu`, the first of them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<Spender>,
    /// CPU time of threads of the kernel that may work for either side (`ksoftirqd`), of daemons
    /// that write logs, and of the lab: counted, and not foreign.
    #[serde(rename = "serving_ns")]
    pub serving: Span,
    /// Those who used most of `serving`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serving_top: Vec<Spender>,
    /// Processes and threads that began on the machine meanwhile; none if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<u64>,
}

/// Processes of one name and the CPU time that they used.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spender {
    /// The short name of the program, as the kernel has it; that of a thread of the kernel stands
    /// in brackets.
    pub name: String,
    /// How many there were; of those that did not live long, who started them.
    pub processes: u32,
    /// Whether this is what its children used that did not live long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_lived: bool,
    /// CPU time.
    #[serde(rename = "cpu_ns")]
    pub cpu: Span,
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
