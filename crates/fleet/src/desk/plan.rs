//! The plan of an order: whether it can be read, and where it leads.

use std::net::SocketAddr;

use model::plan::{FORMAT, FORMAT_OLDEST};
use model::{Json as _, Plan, PlanFile, Prefix};

use super::Resolve;

/// The addresses that `plan` leads to, all of which the owner has named.
///
/// # Errors
///
/// It leads elsewhere, or nowhere: why, in a sentence.
pub fn allowed(
    plan: &PlanFile,
    targets: &[Prefix],
    resolve: &Resolve<'_>,
) -> Result<Vec<SocketAddr>, String> {
    if plan.unix_socket.is_some() || plan.http_proxy.is_some() {
        return Err(
            "the plan leads to a Unix socket or through a proxy, and an agent loads only \
             addresses that its owner has named"
                .to_owned(),
        );
    }
    let meant = Plan::try_from(plan.clone()).map_err(|error| error.to_string())?;
    if meant.hosts().len() > 1 {
        return Err(
            "the plan asks several servers, and an agent loads one: give each a plan of its own"
                .to_owned(),
        );
    }
    let url = &meant.request().url;
    let addresses = match plan.addresses.as_slice() {
        [] => resolve(&url.host, url.port)?,
        written => written.to_vec(),
    };
    if addresses.is_empty() {
        return Err(format!("{} has no address here", url.host));
    }
    let is_named = |address: &&SocketAddr| {
        let ip = address.ip().to_canonical();
        targets.iter().any(|prefix| prefix.has(ip))
    };
    match addresses.iter().find(|address| !is_named(address)) {
        None => Ok(addresses),
        Some(address) => {
            let named: Vec<String> = targets.iter().map(ToString::to_string).collect();
            Err(format!(
                "it may not load {}: its owner allows {} (--targets)",
                address.ip(),
                named.join(", ")
            ))
        }
    }
}

/// A plan of this version. That of another one may have any form, so its number is read first.
pub(super) fn read(written: serde_json::Value) -> Result<PlanFile, String> {
    let format = written.get("format").and_then(serde_json::Value::as_u64);
    let is_known = |format: &u64| {
        u32::try_from(*format).is_ok_and(|format| (FORMAT_OLDEST..=FORMAT).contains(&format))
    };
    if let Some(other) = format.filter(|format| !is_known(format)) {
        return Err(format!(
            "the plan is version {other}, and it reads versions {FORMAT_OLDEST} to {FORMAT}: \
             install the same version of triathlon on both"
        ));
    }
    PlanFile::from_json(written.to_string().as_bytes())
        .map_err(|error| format!("the order has no plan: {error}"))
}
