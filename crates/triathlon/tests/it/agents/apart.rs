//! Broker, lab and agents on machines of their own: network namespaces, each behind a pair of
//! devices, with a router between.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::environment::PathEnd;
use model::{Environment, Outcome, Span, Trial};
use sys::namespace::{Inside, Namespace};

use super::nats::{Nats, agent, load_by};
use super::shares_add_up;
use crate::lab::files;
use crate::network::needs_network;
use crate::support::process::{Running, command};
use crate::support::{LIMIT, need, wait_until};

/// Machines by their number.
const BROKER: usize = 0;
const LAB: usize = 1;
const AGENTS: [usize; 2] = [2, 3];
const SERVERS: usize = 2;
/// One that has the servers while others make the load.
const RIG: usize = 4;

/// The first race of the program, asked from elsewhere.
const FIRST_HEAT: &str = include_str!("../../../../../experiments/first-heat.toml");

/// As few trials of it as there can be.
const SMALL: [&str; 5] = [
    "server=origin",
    "think=10ms",
    "experiment.warmup=50ms",
    "experiment.repeats=0",
    "experiment.calm=0s",
];

/// They live until dropped.
struct Machines {
    all: Vec<Namespace>,
    ip: PathBuf,
    _router: Namespace,
}

impl Machines {
    fn new(ip: &Path) -> Self {
        let made = || Namespace::create().expect("a namespace");
        let (router, all): (Namespace, Vec<Namespace>) = (made(), (0..5).map(|_| made()).collect());
        for (number, machine) in all.iter().enumerate() {
            let there = machine.path();
            let there = there.display();
            run(
                ip,
                &router,
                &format!(
                    "link add to{number} type veth peer name eth netns {there}\n\
                     addr add {}/30 dev to{number}\n\
                     link set to{number} up\n",
                    gateway(number)
                ),
            );
            run(
                ip,
                machine,
                &format!(
                    "link set lo up\n\
                     addr add {}/30 dev eth\n\
                     link set eth up\n\
                     route add default via {}\n",
                    address(number),
                    gateway(number)
                ),
            );
        }
        let inside = router.enter().expect("it can be entered");
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("its own setting");
        drop(inside);
        Self {
            all,
            ip: ip.to_owned(),
            _router: router,
        }
    }

    /// Lets `ip` do this on a machine.
    fn tell(&self, number: usize, line: &str) {
        run(&self.ip, &self.all[number], line);
    }

    /// What starts from here on is on that machine.
    fn on(&self, number: usize) -> Inside {
        self.all[number].enter().expect("it can be entered")
    }
}

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, u8::try_from(number).expect("few machines"), 2)
}

fn gateway(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, u8::try_from(number).expect("few machines"), 1)
}

/// Lets `ip` do these lines.
fn run(ip: &Path, namespace: &Namespace, lines: &str) {
    let _inside = namespace.enter().expect("it can be entered");
    let mut command = Command::new(ip);
    command.args(["-batch", "-"]).stdin(Stdio::piped());
    let mut child = command.spawn().expect("ip starts");
    let mut input = child.stdin.take().expect("it was piped");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success(), "{lines}");
}

/// The machines of a test, and the program of their broker; none where it cannot run, and says so.
fn machines_need(name: &str) -> Option<(Machines, PathBuf)> {
    let [ip, nats] = need(name, ["ip", "nats-server"])?;
    needs_network(name).then(|| (Machines::new(&ip), nats))
}

/// A broker, and its URL.
fn broker(machines: &Machines, nats: &Path) -> (Nats, String) {
    let _there = machines.on(BROKER);
    let nats = Nats::start_at(nats, (address(BROKER), 4222).into());
    let url = nats.url();
    (nats, url)
}

/// A broker and two agents that may load the machine of the lab alone, and the broker's URL.
fn crew(machines: &Machines, nats: &Path) -> (Nats, [Running; 2], String) {
    let (nats, url) = broker(machines, nats);
    let agents = makers(machines, &url, LAB);
    (nats, agents, url)
}

/// Two agents that may load that machine alone.
fn makers(machines: &Machines, url: &str, target: usize) -> [Running; 2] {
    let flags = format!("--targets {}/32", address(target));
    AGENTS.map(|number| {
        let _there = machines.on(number);
        agent(url, &format!("gen{number}"), &flags)
    })
}

#[test]
fn load_comes_from_the_machines_of_its_agents() {
    let name = "load_comes_from_the_machines_of_its_agents";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    let (_nats, _agents, url) = crew(&machines, &nats);
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("file"), "seven!\n").expect("a file");
    let log = folder.path().join("log");
    let _there = machines.on(LAB);
    let listen = format!("{}:80", address(LAB));
    let mut serve = command(["serve", "--listen", &listen, "--access-log"]);
    let mut server = Running::start(serve.arg(&log).arg(folder.path()));
    wait_until("the server listens", || {
        assert!(!server.ended(), "it ended: {}", server.stderr());
        std::net::TcpStream::connect(&listen).is_ok()
    });
    let file = format!("http://{listen}/file");
    let run = load_by(
        &file,
        &url,
        "--agents gen2,gen3 -t 2 -c 4 -n 2000 --warmup 0s --json -",
    );
    let trial = run.expect_measured().trial();
    shares_add_up(&trial);
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 2_000);
    server.signal("TERM");
    server.finish();
    let log = fs::read_to_string(&log).expect("a log");
    let mut by_client: BTreeMap<&str, u64> = BTreeMap::new();
    for line in log.lines() {
        let client = line.split(' ').next().expect("it begins with the client");
        *by_client.entry(client).or_default() += 1;
    }
    let clients: Vec<&str> = by_client.keys().copied().collect();
    let expected = AGENTS.map(|number| address(number).to_string());
    assert_eq!(clients, expected, "{by_client:?}");
    // Beside its share, each asks for what answers are held against.
    for (share, count) in trial.agents.iter().zip(by_client.values()) {
        let record = &share.record;
        let sent = record.reference_phase.sent + record.total.sent + record.drain_phase.sent;
        assert_eq!(sent, *count, "{}", share.agent);
        assert_eq!(record.total.outcomes[Outcome::Ok], 1_000);
    }
}

#[test]
fn the_first_race_is_run_by_agents_on_other_machines() {
    let name = "the_first_race_is_run_by_agents_on_other_machines";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    machines.tell(AGENTS[0], "link set eth mtu 1400\n");
    let (_nats, _agents, url) = crew(&machines, &nats);
    let race = Race::new(&format!(
        "[generator]\nagents = [\"gen2\", \"gen3\"]\naddress = \"{}\"\n",
        address(LAB)
    ));
    let _there = machines.on(LAB);
    let lab = race.start(&url, "experiment.rounds=1 experiment.duration=150ms");
    let run = lab.finish_within(LIMIT.saturating_mul(3)).expect_measured();
    let seen = race.measured(address(LAB));
    // Two files, by one connection and by 64.
    assert!(seen >= 4, "{seen}: {run:#?}");
    for trial in race.trials() {
        ends_are_told(&trial);
        let servers = end(&trial.environment);
        assert_eq!(
            (servers.mtu, servers.round_trip_at_most),
            (Some(1_500), None)
        );
        // The first of the two takes part in each.
        assert_eq!(end(&trial.agents[0].environment).mtu, Some(1_400));
        let found = trial.verdict.findings.iter();
        let found: Vec<&str> = found.map(|one| one.rule.as_str()).collect();
        assert!(found.contains(&"LNK-11"), "{found:?}");
    }
    let page = fs::read_to_string(race.folder().join("report.html")).expect("a report");
    assert!(page.contains("The way between generator and server"));
}

fn end(environment: &Environment) -> &PathEnd {
    let end = environment.path.as_ref();
    end.expect("its end of the way was read")
}

/// Each end is the device of its machine, and the agents' connections tell how long a round trip
/// takes at most.
fn ends_are_told(trial: &Trial) {
    let shares = trial.agents.iter().map(|share| &share.environment);
    for environment in shares.clone().chain([&trial.environment]) {
        let end = end(environment);
        assert_eq!(
            (end.link.as_str(), end.driver.as_deref()),
            ("eth", Some("veth"))
        );
        assert!(end.offloads.contains_key("gro"), "{end:?}");
    }
    // Where a machine was busy with others all the time, none came about in the window.
    let mut told = shares.map(|environment| end(environment).round_trip_at_most);
    let connected = trial.record.connect_time.count() > 0;
    assert_eq!(told.any(|trip| trip.is_some()), connected, "{trial:?}");
    let found = trial
        .verdict
        .findings
        .iter()
        .find(|one| one.rule == "LNK-02");
    let said = &found.expect("no wire takes part").say;
    assert!(said.contains("virtual Ethernet device"), "{said}");
}

/// The first race of the program, in a folder of its own.
struct Race {
    folder: tempfile::TempDir,
}

impl Race {
    /// With that table of who makes the load, or has the servers.
    fn new(table: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("far.toml");
        fs::write(file, format!("{FIRST_HEAT}\n{table}")).expect("a file");
        Self { folder }
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn start(&self, url: &str, words: &str) -> Running {
        let file = self.folder.path().join("far.toml");
        let mut lab = self.lab(url);
        Running::start(lab.arg(file).args(SMALL).args(words.split(' ')))
    }

    fn lab(&self, url: &str) -> Command {
        let mut lab = command(["lab", "--no-lock", "--hiccups", "0s", "--nats", url]);
        lab.arg("--results").arg(self.results());
        lab
    }

    /// The files of its trials so far.
    fn stored(&self) -> Vec<PathBuf> {
        let begun = fs::read_dir(self.results().join("first-heat"));
        match begun.is_ok_and(|mut folders| folders.next().is_some()) {
            true => files(&self.results(), "trials"),
            false => Vec::new(),
        }
    }

    /// The folder of its results.
    fn folder(&self) -> PathBuf {
        let file = self.stored().pop().expect("a trial");
        let folder = file.ancestors().nth(2).expect("the folder of results");
        folder.to_owned()
    }

    fn trials(&self) -> Vec<Trial> {
        let files = self.stored().into_iter();
        let trials = files.map(|path| {
            let text = fs::read_to_string(path).expect("a readable trial");
            serde_json::from_str(&text).expect("a trial")
        });
        trials.collect()
    }

    /// How many trials of servers at `address` there are, each of which is right; and no gap.
    fn measured(&self, address: Ipv4Addr) -> u32 {
        let gaps = files(&self.results(), "gaps");
        assert!(gaps.is_empty(), "{gaps:?}");
        let mut seen = 0;
        for trial in self.trials() {
            let point = trial.point.as_ref().expect("a point");
            seen += u32::from(!point.ceiling);
            let answered = trial.record.total.outcomes[Outcome::Ok] > 0;
            assert!(answered || trial.void.is_some(), "{point:?}");
            assert!(
                trial.usage.server.is_some(),
                "the server is metered: {point:?}"
            );
            assert!(!trial.agents.is_empty(), "the load is of another machine");
            let asked = format!("{:?}", trial.plan.requests);
            assert!(asked.contains(&address.to_string()), "{asked}");
        }
        seen
    }
}

/// The agent that has the servers.
fn servers(machines: &Machines, url: &str) -> Running {
    servers_on(machines, url, SERVERS)
}

fn servers_on(machines: &Machines, url: &str, number: usize) -> Running {
    let _there = machines.on(number);
    agent(url, "rig", "--role server --may-start-servers")
}

fn table() -> String {
    table_of(SERVERS)
}

fn table_of(number: usize) -> String {
    let address = address(number);
    format!("[host]\nserver = \"rig\"\naddress = \"{address}\"\n")
}

/// Processes on a machine.
fn processes(machines: &Machines, number: usize) -> Vec<String> {
    let machine = fs::metadata(machines.all[number].path()).expect("it is there");
    let all = fs::read_dir("/proc").expect("there are processes");
    let pids = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_there = |pid: &String| {
        let network = fs::metadata(format!("/proc/{pid}/ns/net"));
        network.is_ok_and(|network| network.ino() == machine.ino())
    };
    let pids = pids
        .filter(|name| name.parse::<u32>().is_ok())
        .filter(is_there);
    let words = pids.map(|pid| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!("{pid} {}", words.replace('\0', " "))
    });
    words.collect()
}

#[test]
fn the_first_race_is_run_by_servers_on_another_machine() {
    let name = "the_first_race_is_run_by_servers_on_another_machine";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    let (_nats, url) = broker(&machines, &nats);
    let rig = servers(&machines, &url);
    let race = Race::new(&table());
    let there = machines.on(LAB);
    let lab = race.start(&url, "experiment.rounds=1 experiment.duration=150ms");
    let run = lab.finish_within(LIMIT.saturating_mul(3)).expect_measured();
    drop(there);
    assert!(race.measured(address(SERVERS)) >= 4, "{run:#?}");
    for trial in race.trials() {
        assert_eq!(trial.agents.len(), 1, "one machine made the load");
        assert!(trial.servers_clock.is_none(), "that machine asked for it");
        assert!(trial.environment.kernel.is_some(), "the servers' machine");
        let share = &trial.agents[0];
        assert!(share.environment.kernel.is_some(), "and that of the load");
        assert!(share.usage.generator.is_some(), "its cost is known");
        assert_eq!(trial.context.shared_cpus, Some(Vec::new()));
        ends_are_told(&trial);
    }
    let folder = race.folder();
    assert!(folder.join("report.html").is_file(), "{run:#?}");
    assert!(folder.join("experiment.toml").is_file(), "{run:#?}");
    wait_until("the agent alone is left there", || {
        processes(&machines, SERVERS).len() == 1
    });
    rig.signal("INT");
    rig.finish_within(LIMIT.saturating_mul(4)).expect_code(0);
    assert_eq!(processes(&machines, SERVERS), Vec::<String>::new());
}

/// Broker, lab, servers, and both who make the load: a machine for each.
#[test]
fn the_first_race_is_run_by_agents_for_servers_of_another_agent() {
    let name = "the_first_race_is_run_by_agents_for_servers_of_another_agent";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    let (_nats, url) = broker(&machines, &nats);
    let _rig = servers_on(&machines, &url, RIG);
    let _makers = makers(&machines, &url, RIG);
    let race = Race::new(&format!(
        "{}[generator]\nagents = [\"gen2\", \"gen3\"]\naddress = \"{}\"\n",
        table_of(RIG),
        address(RIG)
    ));
    let there = machines.on(LAB);
    let words = "experiment.rounds=1 experiment.duration=150ms connections=64";
    let lab = race.start(&url, words);
    let run = lab.finish_within(LIMIT.saturating_mul(3)).expect_measured();
    drop(there);
    // Two files.
    assert!(race.measured(address(RIG)) >= 2, "{run:#?}");
    for trial in race.trials() {
        let made: Vec<&str> = trial.agents.iter().map(|one| one.agent.as_str()).collect();
        assert_eq!(made, ["gen2", "gen3"]);
        shares_add_up(&trial);
        ends_are_told(&trial);
        assert!(trial.environment.kernel.is_some(), "the servers' machine");
        // All of them have one clock.
        let clock = trial.servers_clock.expect("it was compared");
        assert_eq!(clock.least(), Span::ZERO, "{clock:?}");
    }
    wait_until("the agent alone is left there", || {
        processes(&machines, RIG).len() == 1
    });
}

/// The certificate is made there, and trusted here.
#[test]
fn servers_on_another_machine_are_asked_over_tls() {
    let name = "servers_on_another_machine_are_asked_over_tls";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    let (_nats, url) = broker(&machines, &nats);
    let _rig = servers(&machines, &url);
    let race = Race::new(&table());
    let _there = machines.on(LAB);
    let words = "experiment.rounds=1 experiment.duration=150ms protocol=http2-tls";
    let lab = race.start(&url, words);
    let run = lab.finish_within(LIMIT.saturating_mul(3)).expect_measured();
    assert!(race.measured(address(SERVERS)) >= 4, "{run:#?}");
    assert!(race.trials().iter().all(Trial::is_secure));
}

#[test]
fn an_agent_with_servers_that_is_killed_costs_one_trial() {
    let name = "an_agent_with_servers_that_is_killed_costs_one_trial";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    let (_nats, url) = broker(&machines, &nats);
    let rig = servers(&machines, &url);
    let race = Race::new(&table());
    let there = machines.on(LAB);
    let mut lab = race.start(&url, "experiment.rounds=1 experiment.duration=400ms");
    wait_until("a trial is stored", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        !race.stored().is_empty()
    });
    rig.signal("KILL");
    let run = lab.finish_within(LIMIT.saturating_mul(3)).expect_code(1);
    run.expect_complaint(&["agent 'rig'", "triathlon lab --resume"]);
    drop(there);
    wait_until("nothing is left there", || {
        processes(&machines, SERVERS).is_empty()
    });
    let before = race.stored();
    let _again = servers(&machines, &url);
    let _there = machines.on(LAB);
    let mut resumed = race.lab(&url);
    let resumed = Running::start(resumed.arg("--resume").arg(race.folder()));
    let run = resumed
        .finish_within(LIMIT.saturating_mul(3))
        .expect_measured();
    assert!(race.measured(address(SERVERS)) >= 4, "{run:#?}");
    let after = race.stored();
    assert!(
        before.iter().all(|path| after.contains(path)),
        "none is lost"
    );
}

#[test]
fn a_lab_that_is_killed_leaves_no_servers_on_another_machine() {
    let name = "a_lab_that_is_killed_leaves_no_servers_on_another_machine";
    let Some((machines, nats)) = machines_need(name) else {
        return;
    };
    let (_nats, url) = broker(&machines, &nats);
    let _rig = servers(&machines, &url);
    let race = Race::new(&table());
    let there = machines.on(LAB);
    let mut lab = race.start(&url, "experiment.rounds=1 experiment.duration=150ms");
    drop(there);
    wait_until("a trial is stored", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        !race.stored().is_empty()
    });
    assert!(processes(&machines, SERVERS).len() > 1);
    lab.signal("KILL");
    wait_until("the agent alone is left there", || {
        processes(&machines, SERVERS).len() == 1
    });
}
