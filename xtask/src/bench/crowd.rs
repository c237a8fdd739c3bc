//! As many connections as the machine carries, held open at origin: what each costs the server, the
//! generator and the kernel, and which limit allows no more, by its name and value.
//!
//! A process may open few files, so that both sides are several processes: the servers listen on
//! addresses of their own (127.0.2.1 and on), `triathlon load` divides itself. The kernel's memory
//! is what the whole machine's has grown by while the connections are held: run it alone.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::generator::number_after;
use super::{NULL_RESPONDER, Setting};

/// So many are wanted where nobody says how many.
const GOAL: u64 = 1_000_000;
/// So many in a quick run.
const QUICK: u64 = 20_000;
/// Files that each process keeps for other things than connections.
const FILES_BESIDE: u64 = 1_000;
/// What a connection and its peer take of memory, by a million of them (docs/performance.md), and
/// a tenth more.
const BYTES_EACH: u64 = 13_500;
/// The clients: 4,094 addresses.
const SOURCES: &str = "127.1.0.0/20";
const SOURCE_COUNT: u64 = 4_094;
/// Connections that are opened within a second, at least.
const OPENED_PER_S: u64 = 10_000;
/// How often the machine is read.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn crowd(setting: &Setting) -> Result<()> {
    let is_quick = setting.seconds == 1;
    let usual = if is_quick { QUICK } else { GOAL };
    let goal = setting.connections.unwrap_or(usual);
    let files = open_files().context("the limit of open files cannot be read")?;
    let each = files.saturating_sub(FILES_BESIDE).max(1);
    let limits = limits(Path::new("/proc"), goal.div_ceil(each));
    let least = limits.iter().min_by_key(|limit| limit.allows);
    let count = least.map_or(goal, |limit| limit.allows.min(goal));
    let processes = count.div_ceil(each);
    for limit in &limits {
        println!("  {} = {} allows {}", limit.name, limit.value, limit.allows);
    }
    println!("  RLIMIT_NOFILE = {files} makes {processes} processes of each side");
    let servers = Servers::start(setting, processes, files)?;
    let seconds = if is_quick { 20 } else { 60 };
    let held = hold(setting, &servers, count, processes, seconds)?;
    held.print(count);
    match least {
        Some(limit) if limit.allows < goal => println!(
            "  stopped at {count} of {goal} by {} = {}",
            limit.name, limit.value
        ),
        Some(limit) => println!(
            "  no limit stopped it; the next one is {} = {}, which allows {}",
            limit.name, limit.value, limit.allows
        ),
        None => println!("  no limit could be read"),
    }
    Ok(())
}

/// Something of which there is no more.
#[derive(Debug, Eq, PartialEq)]
struct Limit {
    name: &'static str,
    value: u64,
    /// So many connections.
    allows: u64,
}

/// Those that can be read below `proc`, for so many servers.
fn limits(proc: &Path, servers: u64) -> Vec<Limit> {
    let words = |path: &str| -> Vec<u64> {
        let text = fs::read_to_string(proc.join(path)).unwrap_or_default();
        let words = text.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let mut limits = Vec::new();
    let mut add = |name, value: Option<u64>, allows: &dyn Fn(u64) -> u64| {
        limits.extend(value.map(|value| Limit {
            name,
            value,
            allows: allows(value),
        }));
    };
    // Two files for each, and some thousands for everybody else.
    let in_use = words("sys/fs/file-nr").first().copied().unwrap_or(0);
    let most = words("sys/fs/file-max").first().copied();
    let beside = in_use + servers * FILES_BESIDE;
    add("fs.file-max", most, &|most| most.saturating_sub(beside) / 2);
    let memory = fs::read_to_string(proc.join("meminfo")).unwrap_or_default();
    let available = bytes_of(&memory, "MemAvailable:");
    add("MemAvailable", available, &|bytes| {
        bytes / 20 * 19 / BYTES_EACH
    });
    if let [first, last] = words("sys/net/ipv4/ip_local_port_range")[..] {
        let ports = (last + 1).saturating_sub(first);
        add(
            "ports of net.ipv4.ip_local_port_range",
            Some(ports),
            &|ports| ports * SOURCE_COUNT * servers,
        );
    }
    // A machine that tracks nothing has no entries.
    let tracked = words("sys/net/netfilter/nf_conntrack_count")
        .first()
        .copied();
    let most = words("sys/net/netfilter/nf_conntrack_max").first().copied();
    if let Some(tracked) = tracked.filter(|tracked| *tracked > 0) {
        add("net.netfilter.nf_conntrack_max", most, &|most| {
            most.saturating_sub(tracked)
        });
    }
    limits
}

/// How many files a process may be allowed to open.
fn open_files() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("Max open files"))?;
    // The soft limit, the hard one and the unit.
    line.split_whitespace().rev().nth(1)?.parse().ok()
}

/// Origin, in so many processes, until this value is dropped.
struct Servers {
    children: Vec<Child>,
    addresses: Vec<String>,
    port: u16,
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.kill());
        }
        for child in &mut self.children {
            drop(child.wait());
        }
    }
}

impl Servers {
    fn start(setting: &Setting, count: u64, files: u64) -> Result<Self> {
        let mut servers = Self {
            children: Vec::new(),
            addresses: Vec::new(),
            port: 0,
        };
        for number in 0..count {
            let address = format!("127.0.{}.{}", 2 + number / 250, 1 + number % 250);
            let mut command = Command::new(&setting.programs.triathlon);
            command
                .arg("serve")
                .arg(&setting.site)
                .args(["--synthetic", "--workers", "1"])
                .args(["--cpus", &setting.server_cpu.to_string()])
                .args(["--listen", &format!("{address}:{}", servers.port)])
                .args(["--connections", &files.saturating_sub(800).to_string()])
                .args(["--header-timeout", "600s", "--idle-timeout", "600s"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut child = command.spawn().context("origin does not start")?;
            let stdout = child.stdout.take().context("stdout was piped")?;
            servers.children.push(child);
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line)?;
            let port = line.trim().trim_end_matches('/').rsplit(':').next();
            let port = port.and_then(|port| port.parse().ok());
            servers.port = port.with_context(|| {
                format!("origin does not listen on {address}, port {}", servers.port)
            })?;
            servers.addresses.push(address);
        }
        Ok(servers)
    }

    fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

/// What was read of the machine at one time, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    available: u64,
    slab: u64,
    /// Pages that are charged to TCP sockets.
    sockets: u64,
}

impl Reading {
    fn now() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::of(&read("/proc/meminfo"), &read("/proc/net/sockstat"))
    }

    fn of(memory: &str, sockets: &str) -> Self {
        let line = sockets.lines().find(|line| line.starts_with("TCP:"));
        let pages = line.and_then(|line| line.split_once(" mem ")?.1.split(' ').next());
        let pages: u64 = pages.and_then(|word| word.parse().ok()).unwrap_or(0);
        Self {
            available: bytes_of(memory, "MemAvailable:").unwrap_or(0),
            slab: bytes_of(memory, "Slab:").unwrap_or(0),
            sockets: pages * 4_096,
        }
    }
}

/// How many files these processes have open. The size of the folder is their number since Linux
/// 6.2; it was 0 before.
fn files(pids: &[u32]) -> u64 {
    let of = |pid: &u32| {
        let folder = format!("/proc/{pid}/fd");
        let size = fs::metadata(&folder).map_or(0, |data| data.len());
        let count = || fs::read_dir(&folder).map_or(0, |entries| entries.count() as u64);
        if size > 0 { size } else { count() }
    };
    pids.iter().map(of).sum()
}

/// What a line of /proc tells in kB.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1_024)
}

/// The proportional share of memory of all these processes.
fn pss(pids: &[u32]) -> u64 {
    let of = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
        bytes_of(&text.unwrap_or_default(), "Pss:").unwrap_or(0)
    };
    pids.iter().map(of).sum()
}

/// A process and all that it started.
fn with_descendants(first: u32) -> Vec<u32> {
    let mut all = vec![first];
    let mut next = 0;
    while let Some(pid) = all.get(next) {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten();
        let lists =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
        let lists: Vec<String> = lists.collect();
        let words = lists.iter().flat_map(|list| list.split_whitespace());
        all.extend(words.filter_map(|word| word.parse::<u32>().ok()));
        next += 1;
    }
    all
}

/// What was read while most connections were open, and what the generator says of them.
#[derive(Debug, Default)]
struct Held {
    before: Reading,
    /// So many were open at once, and that was read then.
    open: u64,
    at_most: Reading,
    after: Reading,
    /// PSS of both sides before the load and with most connections.
    servers: [u64; 2],
    generator: u64,
    /// For so many seconds all were open.
    seconds: u64,
    established: u64,
    lost: u64,
    due: u64,
    right: u64,
}

/// Lets `triathlon load` hold so many connections, and ask each of them once at least.
fn hold(
    setting: &Setting,
    servers: &Servers,
    count: u64,
    processes: u64,
    seconds: u64,
) -> Result<Held> {
    let file = setting.site.join("crowd.json");
    let port = servers.port;
    let resolve = format!("origin.test:{port}:{}", servers.addresses.join(","));
    // A quarter more than one for each.
    let rate = (count * 5).div_ceil(seconds * 4).max(100);
    let warmup = 10 + count / OPENED_PER_S;
    let mut command = Command::new(&setting.programs.triathlon);
    command
        .arg("load")
        .arg(format!("http://origin.test:{port}{NULL_RESPONDER}"))
        .args(["--resolve", &resolve, "--interface", SOURCES])
        .args(["-c", &count.to_string(), "-t", &processes.to_string()])
        .args(["-R", &rate.to_string(), "-d", &format!("{seconds}s")])
        .args(["--warmup", &format!("{warmup}s"), "--spin", "never"])
        .args(["--cpus", &setting.cpu.to_string()])
        .arg("--json")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let server_pids = servers.pids();
    let mut held = Held {
        before: Reading::now(),
        servers: [pss(&server_pids); 2],
        ..Held::default()
    };
    let child = command.spawn().context("triathlon load does not start")?;
    let child = held.watch(child, &server_pids, count)?;
    let said = child.wait_with_output()?;
    let trial = fs::read_to_string(&file).unwrap_or_default();
    if !held.read(&trial) {
        let said = String::from_utf8_lossy(&said.stderr);
        bail!("triathlon load wrote no trial, and said: {}", said.trim());
    }
    held.after = Reading::now();
    Ok(held)
}

impl Held {
    /// Reads the machine until the generator has ended.
    fn watch(&mut self, mut child: Child, servers: &[u32], count: u64) -> Result<Child> {
        let mut since: Option<Instant> = None;
        let beside = files(servers);
        while child.try_wait()?.is_none() {
            let reading = Reading::now();
            let open = files(servers).saturating_sub(beside);
            if open >= count {
                let since = *since.get_or_insert_with(Instant::now);
                self.seconds = since.elapsed().as_secs();
            }
            // Of as many connections the later reading: by then all were used.
            if open >= self.open && open > 0 {
                (self.open, self.at_most) = (open, reading);
                self.servers[1] = pss(servers);
                self.generator = pss(&with_descendants(child.id()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(child)
    }

    /// What the trial tells; false where there is none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts"
    )]
    fn read(&mut self, trial: &str) -> bool {
        let Some(record) = trial.find("\"record\":").map(|at| &trial[at..]) else {
            return false;
        };
        let count = |phase: &str, key: &str| {
            let phase = format!("\"{phase}\":");
            number_after(record, &[&phase, &format!("\"{key}\":")]).unwrap_or(0.0) as u64
        };
        self.established = count("warmup_phase", "established") + count("total", "established");
        self.lost = ["failed", "broken", "closed_by_server"]
            .into_iter()
            .flat_map(|key| ["warmup_phase", "total"].map(|phase| (phase, key)))
            .map(|(phase, key)| count(phase, key))
            .sum();
        (self.due, self.right) = (count("total", "due"), count("total", "ok"));
        true
    }

    fn print(&self, wanted: u64) {
        let open = self.open;
        println!(
            "  {} of {wanted} connections opened, {} lost, {open} open at once, all of them for \
             {} s",
            self.established, self.lost, self.seconds
        );
        println!(
            "  {} requests over them in the window, {} of them answered right",
            self.due, self.right
        );
        if open == 0 {
            return;
        }
        let [before, with] = self.servers;
        let slab = self.at_most.slab.saturating_sub(self.before.slab);
        let sockets = self.at_most.sockets.saturating_sub(self.before.sockets);
        let server = with.saturating_sub(before);
        println!("  {:<44} {:>12} {:>10}", "", "MB", "bytes each");
        for (name, bytes) in [
            ("server, PSS, beyond what it had without", server),
            ("generator, PSS", self.generator),
            ("kernel, both ends: growth of Slab", slab),
            ("kernel, both ends: pages of TCP sockets", sockets),
            ("kernel, both ends: both together", slab + sockets),
        ] {
            println!(
                "  {name:<44} {:>12.1} {:>10}",
                megabytes(bytes),
                bytes / open
            );
        }
        let change = |from: u64, to: u64| megabytes(to) - megabytes(from);
        println!(
            "  MemAvailable meanwhile {:+.1} MB; when all were closed {:+.1} MB, and Slab {:+.1} \
             MB",
            change(self.before.available, self.at_most.available),
            change(self.before.available, self.after.available),
            change(self.before.slab, self.after.slab),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKSTAT: &str = "sockets: used 36\nTCP: inuse 40008 orphan 0 tw 2 alloc 8 mem 158\n\
                            UDP: inuse 0 mem 7\n";

    #[test]
    fn the_machine_is_read() {
        let memory = "MemTotal: 9 kB\nMemAvailable:   2000 kB\nSlab:  10 kB\nSReclaimable: 3 kB\n";
        let reading = Reading::of(memory, SOCKSTAT);
        assert_eq!((reading.available, reading.slab), (2_048_000, 10_240));
        assert_eq!(reading.sockets, 158 * 4_096);
    }

    #[test]
    fn open_files_are_counted() {
        let ours = [std::process::id()];
        let before = files(&ours);
        let more: Vec<fs::File> = (0..100)
            .map(|_| fs::File::open("/dev/null").expect("there is one"))
            .collect();
        // Other tests open and close some, too.
        assert!(before > 0 && files(&ours) >= before + more.len() as u64 / 2);
    }

    #[test]
    fn each_limit_has_its_name_and_value() {
        let proc = std::env::temp_dir().join(format!("crowd-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = proc.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write("sys/fs/file-max", "101000\n");
        write("sys/fs/file-nr", "1000\t0\t101000\n");
        write("meminfo", "MemAvailable: 1000000 kB\n");
        write("sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
        write("sys/net/netfilter/nf_conntrack_max", "262144\n");
        write("sys/net/netfilter/nf_conntrack_count", "0\n");
        let told = |limits: Vec<Limit>| -> Vec<(&str, u64, u64)> {
            let all = limits.into_iter();
            all.map(|limit| (limit.name, limit.value, limit.allows))
                .collect()
        };
        let expected = [
            ("fs.file-max", 101_000, 49_000),
            ("MemAvailable", 1_024_000_000, 72_059),
            ("ports of net.ipv4.ip_local_port_range", 28_232, 231_163_616),
        ];
        assert_eq!(told(limits(&proc, 2)), expected);
        write("sys/net/netfilter/nf_conntrack_count", "144\n");
        let tracked = ("net.netfilter.nf_conntrack_max", 262_144, 262_000);
        assert_eq!(told(limits(&proc, 2)).last(), Some(&tracked));
        fs::remove_dir_all(&proc).expect("it was made");
        assert_eq!(limits(&proc, 2), []);
    }

    #[test]
    fn a_trial_tells_of_its_connections() {
        let mut held = Held::default();
        let trial = r#"{"plan":{},"record":{"total":{"outcomes":{"ok":7},"due":8,"connections":
            {"established":1,"failed":0,"closed_by_server":0,"broken":2}},"warmup_phase":
            {"connections":{"established":20,"failed":3,"closed_by_server":4,"broken":0}}}}"#;
        assert!(held.read(trial));
        assert_eq!((held.established, held.lost), (21, 9));
        assert_eq!((held.due, held.right), (8, 7));
        assert!(!held.read(""));
    }
}
