//! Broker, lab and agents on machines of their own: network namespaces, each behind a pair of
//! devices, with a router between.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use model::{Outcome, Trial};
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

/// The first race of the program, asked from elsewhere.
const FIRST_HEAT: &str = include_str!("../../../../../experiments/first-heat.toml");

/// They live until dropped.
struct Machines {
    all: Vec<Namespace>,
    _router: Namespace,
}

impl Machines {
    fn new(ip: &Path) -> Self {
        let made = || Namespace::create().expect("a namespace");
        let (router, all): (Namespace, Vec<Namespace>) = (made(), (0..4).map(|_| made()).collect());
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
            _router: router,
        }
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

/// A broker and two agents that may load the machine of the lab alone, and the broker's URL.
fn crew(machines: &Machines, nats: &Path) -> (Nats, [Running; 2], String) {
    let nats = {
        let _there = machines.on(BROKER);
        Nats::start_at(nats, (address(BROKER), 4222).into())
    };
    let url = nats.url();
    let flags = format!("--targets {}/32", address(LAB));
    let agents = AGENTS.map(|number| {
        let _there = machines.on(number);
        agent(&url, &format!("gen{number}"), &flags)
    });
    (nats, agents, url)
}

#[test]
fn load_comes_from_the_machines_of_its_agents() {
    let name = "load_comes_from_the_machines_of_its_agents";
    let Some([ip, nats]) = need(name, ["ip", "nats-server"]) else {
        return;
    };
    if !needs_network(name) {
        return;
    }
    let machines = Machines::new(&ip);
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
    let Some([ip, nats]) = need(name, ["ip", "nats-server"]) else {
        return;
    };
    if !needs_network(name) {
        return;
    }
    let machines = Machines::new(&ip);
    let (_nats, _agents, url) = crew(&machines, &nats);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("far.toml");
    let generator = format!(
        "\n[generator]\nagents = [\"gen2\", \"gen3\"]\naddress = \"{}\"\n",
        address(LAB)
    );
    fs::write(&file, format!("{FIRST_HEAT}{generator}")).expect("a file");
    let results = folder.path().join("results");
    let _there = machines.on(LAB);
    let mut lab = command(["lab", "--no-lock", "--hiccups", "0s", "--nats", &url]);
    lab.arg(&file).arg("--results").arg(&results);
    lab.args(["server=origin", "experiment.rounds=1"]);
    lab.args(["experiment.warmup=50ms", "experiment.duration=300ms"]);
    let lab = Running::start(&mut lab);
    let run = lab.finish_within(LIMIT.saturating_mul(3)).expect_measured();
    assert!(files(&results, "gaps").is_empty(), "{run:#?}");
    let trials = files(&results, "trials");
    let mut seen = 0;
    for path in trials {
        let text = fs::read_to_string(path).expect("a readable trial");
        let trial: Trial = serde_json::from_str(&text).expect("a trial");
        let point = trial.point.as_ref().expect("a point");
        seen += u32::from(!point.ceiling);
        assert!(trial.record.total.outcomes[Outcome::Ok] > 0, "{point:?}");
        assert!(
            trial.usage.server.is_some(),
            "the server is metered: {point:?}"
        );
        let asked = format!("{:?}", trial.plan.requests);
        assert!(asked.contains(&address(LAB).to_string()), "{asked}");
    }
    // Two files, by one connection and by 64.
    assert!(seen >= 4, "{seen}: {run:#?}");
}
