//! The machine, kernel, settings and versions that a trial ran on.
//!
//! Every fact may be unreadable: then it is none, and rules that need it answer `unknown`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

mod path;
pub mod settings;
mod timekeeping;

pub use path::PathEnd;
pub use timekeeping::{Chrony, TimeSource, Timekeeping};

/// Where a trial ran.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// This program.
    pub tool: Tool,
    /// When the trial began, RFC 3339 in UTC.
    pub time: Option<String>,
    /// Kernel name and release: `Linux 6.18.44`.
    pub kernel: Option<String>,
    /// The distribution's own name.
    pub system: Option<String>,
    /// The machine's architecture: `x86_64`.
    pub architecture: Option<String>,
    /// The CPU model.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus_online: Vec<u32>,
    /// CPUs that this process may use.
    pub cpus_allowed: Vec<u32>,
    /// For each CPU, those that share its core, itself included.
    pub thread_siblings: BTreeMap<u32, Vec<u32>>,
    /// Physical memory.
    pub memory: Option<Bytes>,
    /// What says that this is a virtual machine: the hypervisor flag or a product name.
    pub virtualised: Option<bool>,
    /// Its product name.
    pub product: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// What one clock reading costs, in nanoseconds.
    pub clock_cost_ns: Option<f64>,
    /// How well the clock of the day is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timekeeping: Option<Timekeeping>,
    /// CPU frequency governor, where all CPUs agree.
    pub governor: Option<String>,
    /// The kernel's command line, without values that name disks, hosts or passwords.
    pub command_line: Option<String>,
    /// CPU vulnerabilities and what is done about them.
    pub mitigations: BTreeMap<String, String>,
    /// Kernel settings by name: `net.core.somaxconn`. Only those of [`settings::SETTINGS`].
    pub sysctls: BTreeMap<String, String>,
    /// This process's soft limit of open files.
    pub open_files_limit: Option<u64>,
    /// How much memory this process may lock, its soft limit (`RLIMIT_MEMLOCK`); 2^64 - 1 is no
    /// limit. Buffers that a ring of io_uring has registered are counted to it, and before Linux
    /// 5.12 rings themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_memory_limit: Option<Bytes>,
    /// CPU bandwidth limit of this process's control group, in CPUs.
    pub cpu_quota: Option<f64>,
    /// The io_uring verdict of this kernel: `available`, or why not.
    pub io_uring: Option<String>,
    /// Whether the kernel has TLS of its own (kTLS), to which a server may leave the encryption of
    /// what it sends. A module that nobody has loaded yet is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_tls: Option<bool>,
    /// Proxy variables found in the environment.
    pub proxies: Vec<String>,
    /// This machine's end of the way between generator and server; none where nothing was read of
    /// it, as in a lab on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathEnd>,
    /// What the doctor said before the trial, as findings of rules that need no trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doctor: Vec<crate::finding::Finding>,
    /// Rules of the doctor that could not read their facts, each with what was missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub doctor_unknown: BTreeMap<String, String>,
    /// Further facts by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Environment {
    /// A kernel setting, where it could be read.
    ///
    /// # Panics
    ///
    /// In builds with debug assertions, if no setting of that name is ever read.
    pub fn setting(&self, name: &str) -> Option<&str> {
        debug_assert!(
            settings::is_setting(name),
            "{name} is not in the list of settings"
        );
        self.sysctls.get(name).map(String::as_str)
    }

    /// Takes out what earlier versions stored and nobody needs: settings that are not in the list,
    /// among them secrets, and foreign values of the kernel's command line.
    pub fn redact(&mut self) {
        self.sysctls.retain(|name, _| settings::is_setting(name));
        if let Some(line) = &mut self.command_line {
            *line = settings::without_foreign_values(line);
        }
    }
}

/// This program.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its version.
    pub version: String,
    /// The commit it was built from, if known.
    pub commit: Option<String>,
    /// Whether it was built without optimisation: never a measurement.
    pub debug_build: bool,
    /// Whether a debugger or tracer holds this process.
    pub traced: bool,
}
