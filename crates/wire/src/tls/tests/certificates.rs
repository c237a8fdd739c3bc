//! An authority made for the test, and what it signs.

use model::tls::{TlsGroup, TlsVersion};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::*;

/// Who signs.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    pub(super) fn root(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// A certificate for `name`, changed by `change`.
    pub(super) fn sign(
        &self,
        name: &str,
        algorithm: &'static SignatureAlgorithm,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        let key = KeyPair::generate_for(algorithm).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            chain: vec![certificate.der().clone(), self.root()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        }
    }

    pub(super) fn site(&self) -> Identity {
        self.sign("site.test", &PKCS_ECDSA_P256_SHA256, |_| {})
    }
}

fn pair(authority: &Authority, identity: Identity) -> Pair {
    let hello = request(0, "GET", "/", None);
    Pair::new(demands(authority), identity, vec![hello])
}

#[test]
fn certificates_are_verified() {
    let authority = Authority::new("ours");
    let check = |identity: Identity, expected: &str| {
        let error = pair(&authority, identity).failure().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let p256 = &PKCS_ECDSA_P256_SHA256;
    check(
        authority.sign("other.test", p256, |_| {}),
        "it is for another name",
    );
    check(
        authority.sign("site.test", p256, |params| {
            params.not_after = date_time_ymd(2020, 1, 1);
        }),
        "it has expired",
    );
    check(
        authority.sign("site.test", p256, |params| {
            params.not_before = date_time_ymd(2999, 1, 1);
            params.not_after = date_time_ymd(3000, 1, 1);
        }),
        "it is not valid yet",
    );
    check(
        authority.sign("site.test", p256, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }),
        "it is not for servers",
    );
    check(
        Authority::new("theirs").site(),
        "its issuer is not known here",
    );
    assert!(pair(&authority, authority.site()).connect().2.is_ok());
}

#[test]
fn any_certificate_will_do_where_that_is_asked_for() {
    let authority = Authority::new("ours");
    let identity = Authority::new("theirs").sign("other.test", &PKCS_ED25519, |params| {
        params.not_after = date_time_ymd(2020, 1, 1);
    });
    let insecure = Demands {
        roots: None,
        ..demands(&authority)
    };
    let hello = request(0, "GET", "/", None);
    let (_, log, result) = Pair::new(insecure, identity, vec![hello]).connect();
    assert_eq!(result, Ok(()));
    assert_eq!(log.0.last(), Some(&Told::Complete));
}

/// `--cacert` may name the certificate of the server itself.
#[test]
fn a_certificate_that_is_trusted_itself_is_verified_by_its_name() {
    let authority = Authority::new("ours");
    let mut params = CertificateParams::new(vec!["site.test".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap().der().clone();
    let identity = || Identity {
        chain: vec![own.clone()],
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
    };
    let check = |name: &'static str, expected: bool| {
        let demands = Demands {
            name,
            roots: Some(vec![own.clone()]),
            ..demands(&authority)
        };
        let hello = request(0, "GET", "/", None);
        let result = Pair::new(demands, identity(), vec![hello]).connect().2;
        assert_eq!(result.is_ok(), expected, "{result:?}");
    };
    check("site.test", true);
    check("other.test", false);
}

#[test]
fn what_cannot_be_is_refused_before_the_run() {
    let authority = Authority::new("ours");
    let check = |demands: Demands<'_>, expected: &str| {
        let error = Connector::new(demands).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        Demands {
            name: "no name",
            ..demands(&authority)
        },
        "'no name' is neither a host name nor an address",
    );
    check(
        Demands {
            roots: Some(Vec::new()),
            ..demands(&authority)
        },
        "there is no certificate",
    );
    let (one, other) = (authority.site(), authority.site());
    check(
        Demands {
            identities: vec![Identity {
                chain: one.chain,
                key: other.key,
            }],
            ..demands(&authority)
        },
        "the private key does not belong to the certificate",
    );
    check(
        Demands {
            versions: &[TlsVersion::Tls12],
            groups: &[TlsGroup::X25519MlKem768],
            ..demands(&authority)
        },
        "TLS 1.2 has none of the key-exchange groups",
    );
}

#[test]
fn a_certificate_is_replaced_while_connections_go_on() {
    let authority = Authority::new("ours");
    let mut pair = pair(&authority, authority.site());
    assert_eq!(pair.negotiate().key_type.as_deref(), Some("ECDSA P-256"));
    let next = authority.sign("site.test", &PKCS_ED25519, |_| {});
    pair.acceptor.replace(next).unwrap();
    let connector = Connector::new(demands(&authority)).unwrap();
    let inner = H1::new(1, 1, HEAD_BYTES);
    pair.shared = connector.shared(inner, pair.requests.iter(), 1_000, Random::new(7));
    assert_eq!(pair.negotiate().key_type.as_deref(), Some("Ed25519"));
}

/// Who resumes a session is who it was made for.
#[test]
fn each_certificate_of_the_client_has_sessions_of_its_own() {
    let authority = Authority::new("ours");
    let demands = Demands {
        identities: vec![authority.site(), authority.site()],
        ..demands(&authority)
    };
    let hello = request(0, "GET", "/", None);
    let mut pair = Pair::new(demands, authority.site(), vec![hello]);
    assert_eq!(Secure::identities(&pair.shared), 2);
    let resumed = [0, 0, 1, 1, 0].map(|turn| {
        Secure::take_identity(&mut pair.shared, turn);
        pair.negotiate().resumed
    });
    assert_eq!(resumed, [false, true, false, true, true]);
    let record = Secure::tell(&pair.shared).unwrap();
    assert_eq!(record.by_certificate, [3, 2]);
    assert_eq!(record.full_and_resumed(), (2, 3));
}
