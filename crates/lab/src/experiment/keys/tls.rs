//! The keys of TLS, which is the same for all servers of an experiment.

use model::tls::{TlsGroup, TlsSuite, TlsVersion};

use super::Kind::{Axis, Word};
use super::Section;
use super::table::key;

const KEYS: super::Kind = Word(&["ecdsa-p256", "rsa-2048"]);
const HANDSHAKES: super::Kind = Word(&["full", "resumed"]);

/// The names of a closed set of the model.
macro_rules! names {
    ($set:ident, $count:expr) => {{
        const NAMES: [&str; $count] = {
            let mut names = [""; $count];
            let mut index = 0;
            while index < $count {
                names[index] = $set::ALL[index].name();
                index += 1;
            }
            names
        };
        &NAMES
    }};
}

pub(super) const TLS: Section = Section {
    path: "tls",
    written: "[tls]",
    meaning: "What TLS is like where the protocol of [load] or of a workload has it. The lab \
              makes one certificate of each kind and gives it to all servers; the generator \
              offers one version, one suite and one group.",
    keys: &[
        key(
            "certificate",
            Axis(&KEYS),
            "\"ecdsa-p256\"",
            "certificate = [\"ecdsa-p256\", \"rsa-2048\"]",
            "The key of the certificate; a list makes a server of each.",
        ),
        key(
            "handshake",
            Axis(&HANDSHAKES),
            "\"full\"",
            "handshake = [\"full\", \"resumed\"]",
            "What connections begin with; a list makes a server of each. Before sessions can be \
             resumed, each of the connections that are open at once makes one full handshake.",
        ),
        key(
            "version",
            Word(names!(TlsVersion, TlsVersion::ALL.len())),
            "\"1.3\"",
            "version = \"1.2\"",
            "The version that is offered.",
        ),
        key(
            "suite",
            Word(names!(TlsSuite, TlsSuite::ALL.len())),
            "AES-128 of the version",
            "suite = \"TLS_AES_256_GCM_SHA384\"",
            "The cipher suite that is offered.",
        ),
        key(
            "group",
            Word(names!(TlsGroup, TlsGroup::ALL.len())),
            "\"X25519\"",
            "group = \"X25519MLKEM768\"",
            "The key-exchange group that is offered.",
        ),
    ],
};
