//! HTTP-16: a TLS library whose threads wait for each other's locks loses most of its rate, and its
//! threads do not look busy meanwhile. A ceiling that was measured with it includes these waits
//! (GEN-02); without one, nothing says whether generator or server was the limit.

use model::finding::Claim::Capacity;
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "HTTP-16",
    name: "tls-library-of-generator",
    claims: &[Capacity],
    mandatory: false,
    source: "README of h1load: clients with OpenSSL 3.0 lose up to 200 times their rate to locks",
    judge: Judge::Alone(judge),
};

/// Libraries whose threads share nothing, by how their names begin.
const WITHOUT_LOCKS: [&str; 1] = ["rustls"];

fn judge(facts: &Facts<'_>) -> Judgement {
    if !facts.trial.is_secure() {
        return Judgement::NotApplicable;
    }
    let library = facts.record.tls.as_ref();
    let Some(library) = library.and_then(|tls| tls.library.as_deref()) else {
        return Judgement::unknown("the TLS library of the generator");
    };
    let ceiling = facts.trial.context.ceiling.as_ref();
    let is_measured = ceiling.is_some_and(|ceiling| !ceiling.same_server);
    let threads = facts.record.workers.len();
    let may_wait = !WITHOUT_LOCKS.iter().any(|name| library.starts_with(name));
    if !may_wait || is_measured || threads < 2 {
        return Judgement::Silent;
    }
    Found::new(
        &[(Capacity, Suspect)],
        format!(
            "The generator made its handshakes with {library} in {threads} threads, which may wait \
             for each other's locks without looking busy, and no ceiling over TLS was measured."
        ),
    )
    .evidence("library", library)
    .evidence("threads", threads)
    .fix("Measure the ceiling over TLS (triathlon lab), or use a generator with rustls")
    .into()
}
