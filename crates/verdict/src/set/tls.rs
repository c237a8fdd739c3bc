//! What is kept of the TLS of a trial.

use std::collections::BTreeSet;
use std::fmt;

use model::Trial;
use model::experiment::Handshake;
use model::point::{CERTIFICATE, HANDSHAKE};
use model::tls::{HandshakeMix, Negotiated, TlsRecord};

use crate::check::number;
use crate::thresholds::CHAIN_BYTES_UNLIKE;
use crate::words;

/// TLS on the connections of one trial.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    /// What full handshakes came to, each kind once.
    pub(crate) negotiated: Vec<Kind>,
    /// Handshakes of the run: full ones, and those that resumed a session. Where some were, and the
    /// window was preceded by a warm-up, the first ones of connections do not count: they have no
    /// session to resume, and are over when the window begins.
    handshakes: (u64, u64),
    /// What the plan or the point wants of them.
    pub(crate) declared: Option<Handshake>,
    /// Where the plan draws of which kind they are: how many came out otherwise.
    pub(crate) not_resumed: Option<u64>,
    /// What was asked and the first that was something else, in words.
    pub(crate) unlike: Option<(String, String)>,
}

impl Tls {
    /// None where connections are in clear.
    pub(crate) fn of(trial: &Trial) -> Option<Self> {
        if !trial.is_secure() {
            return None;
        }
        let record = trial.record.tls.as_ref();
        let all = || record.iter().flat_map(|tls| &tls.negotiated);
        let full = all().filter(|one| !one.negotiated.resumed);
        let kinds: BTreeSet<Kind> = full.map(|one| Kind::of(&one.negotiated)).collect();
        let tls = trial.plan.tls.as_ref();
        let first = match trial.plan.warmup.is_zero() {
            true => 0,
            false => u64::from(trial.plan.connections),
        };
        let (full, resumed) = record.map_or((0, 0), TlsRecord::full_and_resumed);
        Some(Self {
            handshakes: match resumed {
                0 => (full, 0),
                _ => (full.saturating_sub(first), resumed),
            },
            declared: match tls.is_some_and(|tls| tls.no_resumption) {
                true => Some(Handshake::Full),
                false => asked(trial).filter(|kind| *kind == Handshake::Resumed),
            },
            not_resumed: tls
                .and_then(|tls| tls.handshakes)
                .zip(record)
                .map(|(mix, record)| undrawn(mix, record, first)),
            negotiated: kinds.into_iter().collect(),
            unlike: all().find_map(|one| unlike(trial, &one.negotiated)),
        })
    }
}

impl Tls {
    /// Where the plan draws kinds of handshakes: how many of all came out otherwise.
    pub(crate) fn undrawn_share(&self) -> Option<f64> {
        let (full, resumed) = self.handshakes;
        let not_resumed = self.not_resumed.filter(|_| full + resumed > 0)?;
        Some(number(not_resumed) / number(full + resumed))
    }

    /// How many of the handshakes resumed a session; none where there were no handshakes.
    pub(crate) fn resumed_share(&self) -> Option<f64> {
        let (full, resumed) = self.handshakes;
        let all = full + resumed;
        (all > 0).then(|| number(resumed) / number(all))
    }
}

/// How many handshakes of a drawn mix came out otherwise. The `first` ones of connections can
/// resume nothing: they are forgiven as far as the mix draws them to, with four standard deviations
/// of that draw. Early data that the server refuses had a session, and are never forgiven.
fn undrawn(mix: HandshakeMix, record: &TlsRecord, first: u64) -> u64 {
    let HandshakeMix {
        full,
        resumed,
        early,
    } = mix;
    let all = u64::from(full) + u64::from(resumed) + u64::from(early);
    let lacking = |count: u64, weight: u32| {
        let drawn = first.saturating_mul(u64::from(weight)) / all.max(1);
        count.saturating_sub(drawn + 4 * drawn.isqrt())
    };
    lacking(record.not_resumed, resumed) + lacking(record.not_early, early) + record.early_refused
}

/// What the point asks for on its axis.
fn asked(trial: &Trial) -> Option<Handshake> {
    let value = trial.point.as_ref()?.id.value(HANDSHAKE)?;
    value.to_string().parse().ok()
}

/// What a full handshake came to.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Kind {
    /// All that has a name, in words.
    what: String,
    /// Bytes of the certificates.
    chain_bytes: u64,
}

impl Kind {
    fn of(negotiated: &Negotiated) -> Self {
        let Negotiated {
            version,
            suite,
            group,
            key_type,
            chain_bytes,
            ..
        } = negotiated;
        let group = group.as_deref().unwrap_or("no group");
        let key = key_type.as_deref().unwrap_or("no key");
        Self {
            what: format!("TLS {version}, {suite}, {group}, a certificate of {key}"),
            chain_bytes: *chain_bytes,
        }
    }

    /// Whether it is as much work as `other`.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let bytes = number(self.chain_bytes.abs_diff(other.chain_bytes));
        self.what == other.what && CHAIN_BYTES_UNLIKE.severity(bytes).is_none()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = words::plural(self.chain_bytes, "byte");
        write!(f, "{} in {bytes}", self.what)
    }
}

/// What was asked and what it came to, where these differ.
fn unlike(trial: &Trial, negotiated: &Negotiated) -> Option<(String, String)> {
    let differs = |wanted: Vec<&str>, had: Option<&str>, what: &str| {
        let had = had.filter(|had| !wanted.is_empty() && !wanted.contains(had))?;
        let with = |text: &str| format!("{what}{text}");
        Some((with(&wanted.join(" or ")), with(had)))
    };
    let tls = trial.plan.tls.clone().unwrap_or_default();
    let point = trial.point.as_ref();
    let key = point.and_then(|point| point.id.value(CERTIFICATE));
    let key = key.map(ToString::to_string);
    let key = key.as_deref().and_then(in_records);
    let had_key = negotiated.key_type.as_deref();
    let versions = tls.versions.iter().map(|one| one.name()).collect();
    let suites = tls.suites.iter().map(|one| one.name()).collect();
    let groups = tls.groups.iter().map(|one| one.name()).collect();
    let had_group = negotiated.group.as_deref();
    differs(versions, Some(&negotiated.version), "TLS ")
        .or_else(|| differs(suites, Some(&negotiated.suite), ""))
        .or_else(|| differs(groups, had_group, "group "))
        .or_else(|| differs(key.into_iter().collect(), had_key, "a certificate of "))
}

/// A kind of key as records tell it, from its name on the axis.
fn in_records(name: &str) -> Option<&'static str> {
    let key: model::experiment::CertificateKey = name.parse().ok()?;
    Some(key.in_records())
}
