//! What does not pass and is no defect, each with the reason.

/// Cases of h2spec, by section and the start of the name.
pub(super) const CASES: &[(&str, &str, &str)] = &[
    (
        "http2/3.5",
        "Sends invalid connection preface",
        "No defect: the connection is closed, as RFC 9113 section 3.4 wants. Before that, origin \
         answers 400 in HTTP/1.1, because the first bytes are not a preface; h2spec takes that \
         answer for a broken frame",
    ),
    ("http2/5.3.1", "Sends HEADERS frame that depend", PRIORITY),
    ("http2/5.3.1", "Sends PRIORITY frame that depend", PRIORITY),
];

/// What RFC 7540 said of priorities, RFC 9113 says no more.
const PRIORITY: &str = "No defect: h2spec asks for RFC 7540 section 5.3.1. RFC 9113 section 5.3.2 \
                        gives up the priorities of streams, and origin ignores them";

/// What testssl.sh says of chains and revocation, which an authority made for one run cannot have.
pub(super) const EXEMPT: &[&str] = &[
    "cert_chain_of_trust",
    "cert_revocation",
    "cert_crlDistributionPoints",
    "cert_ocspURL",
    "OCSP_stapling",
    "cert_caIssuers",
    "DNS_CAArecord",
    "certificate_transparency",
];

/// Other findings of testssl.sh, by their name.
pub(super) const FINDINGS: &[(&str, &str)] = &[
    (
        "cipher_order",
        "No defect: each suite that origin offers has forward secrecy and authenticates what it \
         encrypts, so the client chooses the one that its hardware does fastest",
    ),
    (
        "security_headers",
        "No defect: these are fields that a site decides on, and origin adds none to files",
    ),
];

/// Why a case that failed is no defect.
pub(super) fn case(section: &str, name: &str) -> Option<&'static str> {
    let mut known = CASES.iter();
    let found = known.find(|(its, start, _)| *its == section && name.starts_with(start));
    found.map(|(_, _, why)| *why)
}

/// Why a finding is no defect.
pub(super) fn finding(id: &str) -> Option<&'static str> {
    if EXEMPT.iter().any(|exempt| id.starts_with(exempt)) {
        return Some("Exempt: an authority of one run has no list of what it revoked");
    }
    let found = FINDINGS.iter().find(|(known, _)| id.starts_with(known));
    found.map(|(_, why)| *why)
}
