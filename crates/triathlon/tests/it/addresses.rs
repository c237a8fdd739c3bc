//! Names and addresses: IPv6, and a dead address beside a live one.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use model::Outcome;

use crate::doctor::in_namespace;
use crate::serve::Served;
use crate::support::process::{Running, load, program, triathlon};
use crate::support::stub::{self, RIGHT, Stub, send};
use crate::support::{isolated, need, plan, reserve};

fn right_on(address: IpAddr) -> Stub {
    Stub::listen(address, |mut stream, requests| {
        while stub::read_head(&mut stream).is_some() {
            requests.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            send(&mut stream, RIGHT);
        }
    })
}

#[test]
fn version_six() {
    let server = right_on(IpAddr::V6(Ipv6Addr::LOCALHOST));
    let run = load(&server.url(), "-n 40 -c 4 -t 2 --warmup 0s").expect_measured();
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 40);
    let address = record.reference.expect("a reference was taken").address;
    assert!(address.contains("[::1]"), "{address}");
}

/// A stranger at the same port of another address is not the server that is asked.
#[test]
fn the_server_is_the_one_at_the_address_that_is_asked() {
    let first = Served::start(&[("a", b"a")], "");
    let url = first.url("");
    let (_, port) = url.rsplit_once(':').expect("a port");
    let elsewhere = format!("127.77.0.2:{port}");
    let second = Served::start(&[("a", b"a")], &format!("--listen {elsewhere}"));
    let check = |url: &str, server: &Served| {
        let trial = load(url, "-n 10 -c 1 --warmup 0s")
            .expect_measured()
            .trial();
        let found = trial.context.server.expect("it is seen");
        let owner = format!("triathlon (pid {})", server.running().pid());
        assert_eq!(found.listener_owner, Some(owner), "{url}");
    };
    check(&first.url("/a"), &first);
    check(&format!("http://{elsewhere}/a"), &second);
}

#[test]
fn of_two_addresses_one_has_no_listener() {
    let server = right_on(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let nobody = reserve();
    let dead = nobody.address;
    let wanted = plan::over(plan::counted(&server.url(), 40), &[dead, server.address()]);
    let (run, trial) = plan::run(&wanted);
    let total = trial.record.total;
    assert_eq!(total.outcomes[Outcome::Ok], 40, "{total:#?} {}", run.stderr);
    assert_eq!(total.outcomes.total(), 40, "{total:#?} {}", run.stderr);
    let told = trial
        .record
        .notes
        .iter()
        .any(|note| note.contains(&dead.to_string()));
    assert!(told, "{:?}", trial.record.notes);
}

#[test]
fn a_name_with_two_addresses_one_of_them_dead() {
    let name = "a_name_with_two_addresses_one_of_them_dead";
    let Some([_]) = need(name, ["unshare"]) else {
        return;
    };
    let server = right_on(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let hosts = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(hosts.path(), "::1 both.test\n127.0.0.1 both.test\n").expect("a file");
    let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
    let Some(mut command) = isolated(name, script) else {
        return;
    };
    let url = format!("http://both.test:{}/file", server.address().port());
    command.arg(hosts.path()).arg(program());
    command.args([
        "load", &url, "-n", "40", "-c", "4", "-t", "2", "--warmup", "0s", "--json", "-",
    ]);
    let run = Running::start(&mut command).finish();
    let total = run.trial().record.total;
    assert_eq!(total.outcomes.total(), 40, "{run:#?}");
    assert_eq!(total.outcomes[Outcome::Ok], 40, "{run:#?}");
}

/// Connections lead to each address of a name, and all are shown.
#[test]
fn a_name_with_two_addresses_that_both_answer() {
    let name = "a_name_with_two_addresses_that_both_answer";
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    let keep = Arc::clone(&seen);
    let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let server = Stub::listen(everywhere, move |mut stream, _| {
        let own = stream.local_addr().expect("it is connected").ip();
        while stub::read_head(&mut stream).is_some() {
            *keep
                .lock()
                .expect("nobody panicked")
                .entry(own)
                .or_insert(0) += 1;
            send(&mut stream, RIGHT);
        }
    });
    let hosts = tempfile::NamedTempFile::new().expect("a temporary file");
    let text = "127.0.0.1 both.test\n127.0.0.2 both.test\n";
    fs::write(hosts.path(), text).expect("a file");
    let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
    let Some(mut command) = isolated(name, script) else {
        return;
    };
    let url = format!("http://both.test:{}/file", server.address().port());
    command.arg(hosts.path()).arg(program());
    command.args([
        "load", &url, "-n", "40", "-c", "4", "-t", "2", "--warmup", "0s",
    ]);
    let run = Running::start(&mut command).finish().expect_measured();
    let shown = "2 addresses: 127.0.0.1, 127.0.0.2";
    assert!(run.stdout.contains(shown), "{run:#?}");
    let seen = seen.lock().expect("nobody panicked");
    let asked = |last| seen.get(&IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)));
    assert!(
        asked(1) >= Some(&2) && asked(2) >= Some(&2),
        "{seen:?} {run:#?}"
    );
}

/// How often each address is in the server's log.
fn clients(log: &str) -> BTreeMap<IpAddr, u64> {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let address = line.split(' ').next().and_then(|word| word.parse().ok());
        *counts
            .entry(address.expect("a line begins with it"))
            .or_default() += 1;
    }
    counts
}

/// Each connection comes from another address: by a range, and in a random order by a prefix.
#[test]
fn connections_come_from_a_range_of_addresses() {
    let server = Served::start(&[("a", b"seven!\n")], "--access-log log");
    let once = "-c 4 -t 1 -n 200 --requests-per-connection 1 --warmup 0s";
    let run = load(
        &server.url("/a"),
        &format!("{once} --interface 127.7.0.1-127.7.0.200"),
    );
    let trial = run.expect_measured().trial();
    assert_eq!(trial.plan.sources.len(), 200);
    let log = || fs::read_to_string(server.path().join("log")).expect("a log");
    let seen = clients(&log());
    assert_eq!(seen.len(), 200, "{seen:?}");
    let random = format!("{once} --interface 127.8.0.0/24 --interface-order random");
    load(&server.url("/a"), &random).expect_measured();
    let all = log();
    let order: Vec<&str> = all
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|address| address.starts_with("127.8."))
        .collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_ne!(order, sorted);
    sorted.dedup();
    assert_eq!(sorted.len(), 200, "{sorted:?}");
    let kept = format!("{once} --interface 127.6.0.0/24 --interface-order user");
    let trial = load(&server.url("/a"), &kept).expect_measured().trial();
    let from = trial.record.connections_from.iter();
    assert_eq!(from.filter(|count| **count > 0).count(), 4, "{trial:?}");
}

/// No loop in the shell, and each of them used once.
#[test]
fn twelve_thousand_addresses() {
    let name = "addresses::twelve_thousand_addresses";
    if need(name, []).is_none() {
        return;
    }
    let server = Served::start(&[("a", b"seven!\n")], "--access-log log");
    let flags = "-c 50 -t 1 -n 12000 --requests-per-connection 1 --warmup 0s \
                 --interface 127.9.0.1-127.9.46.224";
    let trial = load(&server.url("/a"), flags).expect_measured().trial();
    assert_eq!(trial.plan.sources.len(), 12_000);
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 12_000);
    let log = fs::read_to_string(server.path().join("log")).expect("a log");
    let seen = clients(&log);
    assert_eq!(seen.len(), 12_000);
    // What the record says of each address is what the server saw of it: one request came on each
    // connection. Before the run the answers are fetched that all others are held against, from the
    // first address.
    let counted = &trial.record.connections_from;
    assert_eq!(counted.iter().sum::<u64>(), 12_000);
    let sources = trial.plan.sources.iter().zip(counted);
    let apart: Vec<_> = sources
        .map(|(source, counted)| (source, counted, seen[source]))
        .filter(|(_, counted, seen)| *counted != seen)
        .collect();
    let fetched = seen.values().sum::<u64>() - 12_000;
    let first = (&trial.plan.sources[0], &counted[0], counted[0] + fetched);
    assert_eq!(apart, [first]);
}

#[test]
fn an_interface_is_known_by_its_name() {
    let Some([_]) = need("addresses::an_interface_is_known_by_its_name", ["ip"]) else {
        return;
    };
    let server = right_on(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let run = load(&server.url(), "-n 10 -c 2 --warmup 0s --interface lo").expect_measured();
    let sources = run.trial().plan.sources;
    assert!(
        sources.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)),
        "{sources:?}"
    );
    triathlon(["load", &server.url(), "--interface", "nobody0"])
        .expect_code(2)
        .expect_complaint(&["no interface 'nobody0'", "ip address"]);
}

/// In a network of its own, whose addresses have ten ports each: one source has seven connections
/// to each of three servers, beside those of the fetches before the run, and who wants more than
/// ten is told before anything begins.
#[test]
fn a_source_has_its_ports_for_each_server() {
    let name = "addresses::a_source_has_its_ports_for_each_server";
    let Some([_, _]) = need(name, ["ip", "unshare"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("www")).expect("a folder");
    fs::write(folder.path().join("www/a"), "seven!\n").expect("a file");
    let script = "
        ip link set lo up
        echo 30000 30009 > /proc/sys/net/ipv4/ip_local_port_range
        servers=
        for port in 8081 8082 8083; do
            \"$1\" serve www --listen 127.0.0.1:$port > served.$port 2>&1 &
            servers=\"$servers $!\"
            until grep -q 127.0.0.1:$port served.$port; do kill -0 $!; done
        done
        one=http://127.0.0.1:8081/a
        three=\"$one http://127.0.0.1:8082/a http://127.0.0.1:8083/a\"
        from=\"-t 1 --warmup 0s --interface 127.0.0.5\"
        code=0
        \"$1\" load $three -c 21 -n 300 $from --timeout 20s --json trial || code=$?
        test $code -eq 0 -o $code -eq 3
        ! \"$1\" load $one -c 27 -n 300 $from
        kill $servers
        wait $servers || true
        echo all of it";
    let Some(run) = in_namespace(name, script, folder.path()) else {
        return;
    };
    let run = run.expect_code(0);
    let text = fs::read_to_string(folder.path().join("trial")).expect("a trial");
    let trial: model::Trial = serde_json::from_str(&text).expect("a trial");
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 300, "{run:#?}");
    let all = trial.record.total.connections;
    assert_eq!((all.established, all.failed), (21, 0), "{run:#?}");
    let told = "each of 1 source addresses has 10 ports for each of 1 targets and needs 27";
    assert!(run.stderr.contains(told), "{run:#?}");
}

/// In a network of its own: a range is added, used and taken back, and nothing else is.
#[test]
fn a_range_of_addresses_is_added_and_removed() {
    let name = "addresses::a_range_of_addresses_is_added_and_removed";
    let Some([_, _]) = need(name, ["ip", "unshare"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("www")).expect("a folder");
    fs::write(folder.path().join("www/a"), "seven!\n").expect("a file");
    let script = "
        ip link set lo up
        ip link add one type veth peer name two
        ip link set one up
        ip link set two up
        ip address add 10.99.0.1/24 dev one
        ip route add default via 10.99.0.2 dev one
        routes() { ip -4 route show table all; }
        routes > before
        \"$1\" addresses add 10.77.0.0/18 --dev one
        \"$1\" serve www --listen 10.77.0.1:8080 --access-log log > served 2> said &
        server=$!
        until grep -q 10.77.0.1:8080 served said; do kill -0 $server; done
        code=0
        \"$1\" load http://10.77.0.1:8080/a -n 300 -c 4 -t 1 --warmup 0s \\
            --requests-per-connection 1 --interface 10.77.0.0/18 --json trial || code=$?
        test $code -eq 0 -o $code -eq 3
        kill $server
        wait $server || true
        ! \"$1\" addresses add 10.77.0.0/18 --dev one
        ! \"$1\" addresses add 10.99.0.0/24 --dev one
        ! \"$1\" addresses add 10.78.0.0/24 --dev nobody0
        ! setpriv --bounding-set -net_admin \"$1\" addresses add 10.78.0.0/24 --dev one
        ip route add local 10.79.0.0/24 dev one
        ! \"$1\" addresses remove 10.79.0.0/24 --dev one
        ip route del local 10.79.0.0/24 dev one
        \"$1\" addresses remove 10.77.0.0/18 --dev one
        routes > after
        cmp before after
        echo all of it";
    let Some(run) = in_namespace(name, script, folder.path()) else {
        return;
    };
    let run = run.expect_code(0);
    assert!(
        run.stdout
            .starts_with("16382 addresses, 10.77.0.1 to 10.77.63.254, are this machine's"),
        "{run:#?}"
    );
    assert!(run.stdout.ends_with("all of it\n"), "{run:#?}");
    for complaint in [
        "this machine's own already, on one or another interface",
        "has the address of a gateway, 10.99.0.2",
        "there is no interface nobody0",
        "without a privilege (CAP_NET_ADMIN): run 'sudo ip -4 route add local 10.78.0.0/24",
        "was not added by triathlon addresses",
    ] {
        assert!(run.stderr.contains(complaint), "{complaint}: {run:#?}");
    }
    let log = fs::read_to_string(folder.path().join("log")).expect("a log");
    assert_eq!(clients(&log).len(), 300);
}
