//! Names and addresses: IPv6, and a dead address beside a live one.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::Outcome;

use crate::support::process::{Running, TRIATHLON, load};
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
    command.arg(hosts.path()).arg(TRIATHLON);
    command.args([
        "load", &url, "-n", "40", "-c", "4", "-t", "2", "--warmup", "0s", "--json", "-",
    ]);
    let run = Running::start(&mut command).finish();
    let total = run.trial().record.total;
    assert_eq!(total.outcomes.total(), 40, "{run:#?}");
    assert_eq!(total.outcomes[Outcome::Ok], 40, "{run:#?}");
}
