//! Reads the machine: what a reader of a result must know to repeat or to doubt it.
//!
//! The roots of `/proc`, `/sys` and `/etc` are arguments, so that tests feed fixtures. What cannot
//! be read is none: rules that need it answer `unknown`.

mod chrony;
pub mod path;
mod ptp;
pub mod timekeeping;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use model::calendar::Calendar;
use model::environment::Tool;
use model::environment::settings::{SETTINGS, without_foreign_values};
use model::{Bytes, Environment, Span};
use sys::counters::{parse_cpu_list, process};

/// Further facts by name, as files below `/sys`.
const FACTS: &[(&str, &str)] = &[
    ("cpu.boost", "devices/system/cpu/cpufreq/boost"),
    ("cpu.no_turbo", "devices/system/cpu/intel_pstate/no_turbo"),
    ("cpu.smt", "devices/system/cpu/smt/control"),
    ("cpu.isolated", "devices/system/cpu/isolated"),
    ("cpu.nohz_full", "devices/system/cpu/nohz_full"),
    (
        "cpu.idle_driver",
        "devices/system/cpu/cpuidle/current_driver",
    ),
    (
        "cpu.idle_governor",
        "devices/system/cpu/cpuidle/current_governor",
    ),
    (
        "memory.huge_pages",
        "kernel/mm/transparent_hugepage/enabled",
    ),
    ("memory.nodes", "devices/system/node/online"),
    ("loopback.mtu", "class/net/lo/mtu"),
];

/// Where the kernel and the system tell about themselves.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a> {
    /// `/proc`.
    pub proc: &'a Path,
    /// `/sys`.
    pub sys: &'a Path,
    /// `/etc`.
    pub etc: &'a Path,
}

/// Reads this machine, as it is now, for this process.
pub fn of_this_machine(tool: Tool) -> Environment {
    let mut environment = read(
        Roots {
            proc: Path::new("/proc"),
            sys: Path::new("/sys"),
            etc: Path::new("/etc"),
        },
        tool,
    );
    environment.architecture = Some(std::env::consts::ARCH.to_owned());
    environment.time = Some(rfc3339(sys::clock::realtime()));
    environment.timekeeping = timekeeping::read(timekeeping::Roots::default());
    environment.clock_cost_ns = Some(sys::clock::monotonic_cost().as_us_f64() * 1e3);
    environment.io_uring = Some(match sys::syscall::ring::Ring::new(1) {
        Ok(_) => "available".to_owned(),
        Err(error) => format!("not available: {error}"),
    });
    environment.proxies = [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
    ]
    .into_iter()
    .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    .map(str::to_owned)
    .collect();
    environment
}

/// Reads what files tell.
pub fn read(roots: Roots<'_>, mut tool: Tool) -> Environment {
    let Roots { proc, sys, etc } = roots;
    let cpuinfo = fs::read_to_string(proc.join("cpuinfo")).unwrap_or_default();
    let status = process::status_of_self(proc).ok();
    tool.traced |= status.as_ref().is_some_and(|s| s.tracer.unwrap_or(0) != 0);
    let cpus_online = line(&sys.join("devices/system/cpu/online"))
        .and_then(|text| parse_cpu_list(&text))
        .unwrap_or_default();
    let product = line(&sys.join("class/dmi/id/product_name"));
    Environment {
        tool,
        kernel: kernel(proc),
        system: system_name(etc),
        cpu_model: cpuinfo_field(&cpuinfo, "model name")
            .or_else(|| cpuinfo_field(&cpuinfo, "Model")),
        cpus_allowed: status.and_then(|s| s.cpus_allowed).unwrap_or_default(),
        thread_siblings: siblings(sys, &cpus_online),
        memory: memory(proc),
        virtualised: virtualised(sys, &cpuinfo, product.as_deref()),
        product,
        clocksource: line(&sys.join("devices/system/clocksource/clocksource0/current_clocksource")),
        governor: governor(sys, &cpus_online),
        command_line: line(&proc.join("cmdline"))
            .as_deref()
            .map(without_foreign_values),
        mitigations: files_of(&sys.join("devices/system/cpu/vulnerabilities")),
        sysctls: sysctls(&proc.join("sys")),
        open_files_limit: soft_limit(proc, "Max open files"),
        locked_memory_limit: soft_limit(proc, "Max locked memory").map(Bytes::new),
        cpu_quota: cpu_quota(proc, sys),
        kernel_tls: kernel_tls(proc),
        facts: facts(proc, sys),
        cpus_online,
        ..Environment::default()
    }
}

/// A time since 1970 as RFC 3339 in UTC, to the second.
pub fn rfc3339(since_1970: Span) -> String {
    let at = Calendar::of(since_1970.as_ns() / 1_000_000_000);
    let (year, month, day) = (at.year, at.month + 1, at.day);
    let (hour, minute, second) = (at.hour, at.minute, at.second);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Every readable file of a folder: name and content.
fn files_of(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return BTreeMap::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_file = entry.metadata().ok()?.is_file();
            let text = is_file.then(|| line(&entry.path()))??;
            Some((entry.file_name().into_string().ok()?, text))
        })
        .collect()
}

fn kernel(proc: &Path) -> Option<String> {
    let name = line(&proc.join("sys/kernel/ostype"))?;
    let release = line(&proc.join("sys/kernel/osrelease"))?;
    Some(format!("{name} {release}"))
}

fn system_name(etc: &Path) -> Option<String> {
    let text = fs::read_to_string(etc.join("os-release")).ok()?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn cpuinfo_field(cpuinfo: &str, name: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The soft limit of this name; the largest number where there is none.
fn soft_limit(proc: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(proc.join("self/limits")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// Whether `tls` is among the protocols that may stand above TCP; none where no list can be read.
/// Asking a socket for it would load its module, and nothing is changed here.
fn kernel_tls(proc: &Path) -> Option<bool> {
    let text = fs::read_to_string(proc.join("sys/net/ipv4/tcp_available_ulp")).ok()?;
    Some(text.split_whitespace().any(|name| name == "tls"))
}

fn siblings(sys: &Path, cpus: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    cpus.iter()
        .filter_map(|cpu| {
            let path = sys.join(format!(
                "devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
            ));
            Some((*cpu, parse_cpu_list(&line(&path)?)?))
        })
        .collect()
}

fn memory(proc: &Path) -> Option<Bytes> {
    let text = fs::read_to_string(proc.join("meminfo")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kb: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::new(kb * 1024))
}

/// Product names of virtual machines (DMI): systemd-detect-virt knows the same ones.
const VIRTUAL_PRODUCTS: &[&str] = &[
    "KVM",
    "QEMU",
    "VMware",
    "VirtualBox",
    "Bochs",
    "Xen",
    "HVM domU",
    "Virtual Machine",
    "Google Compute Engine",
    "OpenStack",
    "Parallels",
    "BHYVE",
    "Firecracker",
];

fn virtualised(sys: &Path, cpuinfo: &str, product: Option<&str>) -> Option<bool> {
    if line(&sys.join("hypervisor/type")).is_some_and(|kind| kind != "none") {
        return Some(true);
    }
    if let Some(product) = product
        && VIRTUAL_PRODUCTS.iter().any(|name| product.contains(name))
    {
        return Some(true);
    }
    // Only x86 has a flag for it; elsewhere silence is no answer.
    let flags = cpuinfo_field(cpuinfo, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn governor(sys: &Path, cpus: &[u32]) -> Option<String> {
    let mut governors: Vec<String> = cpus
        .iter()
        .filter_map(|cpu| {
            line(&sys.join(format!(
                "devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
            )))
        })
        .collect();
    governors.sort();
    governors.dedup();
    match governors.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// The settings of the list, each by its own file: a walk over folders would find secrets.
fn sysctls(root: &Path) -> BTreeMap<String, String> {
    SETTINGS
        .iter()
        .filter_map(|name| {
            Some((
                (*name).to_owned(),
                line(&root.join(name.replace('.', "/")))?,
            ))
        })
        .collect()
}

/// CPU bandwidth of our control group or any above it, in CPUs; none where there is no limit.
fn cpu_quota(proc: &Path, sys: &Path) -> Option<f64> {
    let quotas = cpu_groups(proc, sys)
        .into_iter()
        .filter_map(|g| quota_of(&g));
    quotas.min_by(f64::total_cmp)
}

/// Whether the limit of CPU time of our control group can be seen, or that there is none.
pub(crate) fn tells_cpu_quota(proc: &Path, sys: &Path) -> bool {
    // The root of the newer hierarchy has no file of its own for the limit: it has none.
    cpu_groups(proc, sys).iter().any(|group| {
        ["cgroup.procs", "cpu.max", "cpu.cfs_quota_us"]
            .map(|f| group.join(f).is_file())
            .contains(&true)
    })
}

/// Folders of our control group and those above it, in the hierarchy that limits CPU time.
fn cpu_groups(proc: &Path, sys: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        .collect();
    let is_older = |controllers: &str| controllers.split(',').any(|name| name == "cpu");
    let older = lines.iter().find(|(controllers, _)| is_older(controllers));
    let newer = lines.iter().find(|(controllers, _)| controllers.is_empty());
    // A controller is in one hierarchy only.
    let (bases, path) = match (older, newer) {
        (Some((_, path)), _) => (["fs/cgroup/cpu", "fs/cgroup/cpu,cpuacct"], *path),
        (None, Some((_, path))) => (["fs/cgroup", "fs/cgroup/unified"], *path),
        (None, None) => return Vec::new(),
    };
    let mut groups = Vec::new();
    for base in bases.map(|base| sys.join(base)) {
        let group = base.join(path.trim_start_matches('/'));
        let above = group
            .ancestors()
            .take_while(|folder| folder.starts_with(&base));
        groups.extend(above.map(Path::to_path_buf));
    }
    groups
}

#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of a second are small"
)]
fn quota_of(folder: &Path) -> Option<f64> {
    if let Some(text) = line(&folder.join("cpu.max")) {
        let (quota, period) = text.split_once(' ')?;
        let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
        return Some(quota as f64 / period as f64);
    }
    let quota: i64 = line(&folder.join("cpu.cfs_quota_us"))?.parse().ok()?;
    let period: i64 = line(&folder.join("cpu.cfs_period_us"))?.parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn facts(proc: &Path, sys: &Path) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = FACTS
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), line(&sys.join(path))?)))
        .collect();
    if let Some(load) = line(&proc.join("loadavg")) {
        facts.insert("load_average".to_owned(), load);
    }
    for entry in fs::read_dir(sys.join("class/net"))
        .into_iter()
        .flatten()
        .flatten()
    {
        // A speed that the driver does not know reads -1, or not at all.
        let speed = line(&entry.path().join("speed")).and_then(|text| text.parse::<u64>().ok());
        if let Some(speed) = speed {
            let name = entry.file_name().to_string_lossy().into_owned();
            facts.insert(format!("link.{name}.speed_mbit"), speed.to_string());
        }
    }
    facts
}

#[cfg(test)]
mod tests;
