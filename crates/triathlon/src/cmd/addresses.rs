//! `triathlon addresses`: makes a range of addresses this machine's own, so that connections can
//! come from each of them, and takes it back.
//!
//! One local route does it, whatever the number of addresses: the kernel then takes all of them for
//! its own, and answers for them on the network. The route has a mark, by which only what was added
//! here is removed here.

use std::net::IpAddr;
use std::process::Command;

use anyhow::{Context as _, bail};
use model::prefix::{Prefix, to_bits};

use crate::exit::{Exit, UsageError};
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon addresses add 10.0.0.0/18 --dev eth0
      16,382 addresses on eth0, for triathlon load --interface 10.0.0.0/18
  triathlon addresses remove 10.0.0.0/18 --dev eth0
      takes them back
  unshare --user --map-root-user --net sh
      a shell with a network of its own, where no privilege is needed for that

Both need the right to change routes (CAP_NET_ADMIN), and the program ip (iproute2). Other machines
with an address in the range cannot be reached from here until it is removed. A restart of this
machine removes it.";

/// The mark of our routes: a number of those that no routing daemon has.
const MARK: &str = "184";

/// Make a range of addresses this machine's own, for load from many sources, and take it back.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do
    #[arg(value_name = "add|remove", value_enum)]
    action: Action,

    /// The range of addresses, as in 10.0.0.0/18
    #[arg(value_name = "PREFIX")]
    prefix: Prefix,

    /// The network interface that they are on
    #[arg(long, value_name = "NAME")]
    dev: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Action {
    Add,
    Remove,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Args { prefix, dev, .. } = args;
    if args.action == Action::Add {
        refuse_unfit(*prefix)?;
        refuse_gateways(*prefix)?;
    }
    let verb = match args.action {
        Action::Add => "add",
        Action::Remove => "del",
    };
    let words = route(verb, *prefix, dev);
    let told = ip(&words)?;
    if !told.status.success() {
        let why = String::from_utf8_lossy(&told.stderr).trim().to_owned();
        bail!("{}", remedy(args, &words, &why));
    }
    let (first, last) = prefix.hosts();
    let count = to_bits(last) - to_bits(first) + 1;
    match args.action {
        Action::Add => out::line(format_args!(
            "{count} addresses, {first} to {last}, are this machine's own on {dev}, for triathlon \
             load --interface {prefix}. To take them back:\n  triathlon addresses remove {prefix} \
             --dev {dev}"
        ))?,
        Action::Remove => out::line(format_args!("{prefix} is not this machine's own any more."))?,
    }
    Ok(Exit::Done)
}

/// The words for `ip`.
fn route(verb: &str, prefix: Prefix, dev: &str) -> Vec<String> {
    let family = if prefix.is_six() { "-6" } else { "-4" };
    let words = [
        family,
        "route",
        verb,
        "local",
        &prefix.to_string(),
        "dev",
        dev,
        "proto",
        MARK,
    ];
    words.map(str::to_owned).to_vec()
}

fn ip(words: &[String]) -> anyhow::Result<std::process::Output> {
    let mut command = Command::new("ip");
    command.args(words);
    command
        .output()
        .context("cannot start 'ip', which changes routes: install iproute2")
}

/// The largest ranges that somebody has for himself: a /8, and of version 6 a /16.
const FOUR_MOST: u128 = 1 << 24;
const SIX_MOST: u128 = 1 << 112;

/// What no connection can come from, and what the kernel has already.
fn refuse_unfit(prefix: Prefix) -> Result<(), UsageError> {
    let (first, last) = prefix.hosts();
    let is_any = |is: fn(&IpAddr) -> bool| is(&first) || is(&last);
    let size = to_bits(last) - to_bits(first);
    let most = if prefix.is_six() { SIX_MOST } else { FOUR_MOST };
    let why = if size > most {
        "are those of many others, who could not be reached any more: choose a range of your own, \
         as in 10.0.0.0/18"
    } else if is_any(IpAddr::is_multicast) {
        "are of multicast, and no connection comes from them"
    } else if is_any(IpAddr::is_loopback) {
        "are of loopback, and this machine's own already"
    } else {
        return Ok(());
    };
    Err(UsageError(format!("addresses of {prefix} {why}")))
}

/// A machine that takes its gateway's address for its own has no network.
fn refuse_gateways(prefix: Prefix) -> anyhow::Result<()> {
    let family = if prefix.is_six() { "-6" } else { "-4" };
    let words = ["-j", family, "route", "show"].map(str::to_owned);
    let told = ip(&words)?;
    let value: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
    let routes = value.as_array().into_iter().flatten();
    let mut gateways = routes.filter_map(|route| route["gateway"].as_str()?.parse().ok());
    match gateways.find(|gateway: &IpAddr| prefix.has(*gateway)) {
        None => Ok(()),
        Some(gateway) => Err(UsageError(format!(
            "{prefix} has the address of a gateway, {gateway}, which could not be reached any \
             more: choose a range without it"
        ))
        .into()),
    }
}

/// What went wrong, and what to do.
fn remedy(args: &Args, words: &[String], why: &str) -> String {
    let Args { prefix, dev, .. } = args;
    if why.contains("not permitted") {
        return format!(
            "routes cannot be changed without a privilege (CAP_NET_ADMIN): run 'sudo ip {}', or \
             work in a network namespace",
            words.join(" ")
        );
    }
    if why.contains("Cannot find device") {
        return format!("there is no interface {dev}: 'ip link' lists them");
    }
    let family = if prefix.is_six() { " -6" } else { "" };
    let table = format!("ip{family} route show table local");
    match args.action {
        Action::Add if why.contains("File exists") => format!(
            "{prefix} is this machine's own already, on {dev} or another interface: '{table}' \
             names it; triathlon addresses remove takes back what was added this way"
        ),
        Action::Remove if why.contains("No such process") => format!(
            "{prefix} on {dev} was not added by triathlon addresses, so it stays as it is: \
             '{table}' lists what there is"
        ),
        _ => format!("'ip {}' failed: {why}", words.join(" ")),
    }
}
