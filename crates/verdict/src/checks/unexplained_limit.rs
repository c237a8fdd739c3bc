//! SRV-05: more connections bring no more answers although nobody is busy.

use model::finding::Claim::Capacity;
use model::finding::Severity::Suspect;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::thresholds::{FLAT, IDLE_GENERATOR, IDLE_SERVER};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-05",
    name: "unexplained-limit",
    claims: &[Capacity],
    mandatory: false,
    source: "Policy; a lock, an accept mutex or too few workers show like this",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some(point) = peers.point().filter(|point| !point.ceiling) else {
        return Judgement::NotApplicable;
    };
    let connections = point.id.connections();
    let fewer = peers
        .line()
        .iter()
        .rev()
        .find(|other| other.id.connections() * 2 <= connections);
    let Some(fewer) = fewer else {
        return Judgement::NotApplicable;
    };
    let growth = point.rate.median / fewer.rate.median.max(1e-9) - 1.0;
    if FLAT.severity(growth).is_some() {
        return Judgement::Silent;
    }
    let (Some(server), Some(generator)) = (peers.entry.server_busy, peers.entry.generator_busy)
    else {
        return Judgement::unknown("how busy server and generator were");
    };
    if IDLE_SERVER.severity(server).is_some() || IDLE_GENERATOR.severity(generator).is_some() {
        return Judgement::Silent;
    }
    Found::new(
        &[(Capacity, Suspect)],
        format!(
            "{} connections got no more answers than {} did ({}/s against {}/s), yet the server's \
             CPUs were {} idle and the generator's {}: something else is the limit.",
            words::count(u64::from(connections)),
            words::count(u64::from(fewer.id.connections())),
            words::rate(point.rate.median),
            words::rate(fewer.rate.median),
            words::share(1.0 - server),
            words::share(1.0 - generator)
        ),
    )
    .evidence("growth", growth)
    .evidence("server_busy_share", server)
    .evidence("generator_busy_share", generator)
    .limit(&IDLE_SERVER)
    .limit(&IDLE_GENERATOR)
    .fix("Look for a lock, a full disk, too few workers or an uneven spread of connections")
    .into()
}
