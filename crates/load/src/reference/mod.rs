//! Before the run: what a right answer looks like, fetched twice from each address that answers.
//!
//! Where fetches differ, the page is dynamic, and the check falls back to what was the same. A
//! fetch that connects but gets no complete answer does not stop the run: that is what the run will
//! count. Only where no address can be reached, where all show a certificate that is refused here,
//! or where the plan's own expectation is not met, there is nothing to measure.

mod decoded;
mod fetch;
mod lead;
mod look;
mod settled;
mod talk;

use std::net::SocketAddr;

use model::coding::Coding;
use model::outcome::Outcome;
use model::plan::{self, Plan, Url};
use model::record::{Reference, Tally};
use model::redact;
use sys::reactor::{Reactor, Refused};
use wire::{Client, Request};

use self::fetch::Fetcher;
use self::settled::Settled;
use self::talk::Answer;
use crate::decoding::Whole;
use crate::dictation;
use crate::exchange::Cause;
use crate::expectation::{Expectation, Plain};
use crate::request::Requests;
use crate::run::LoadError;
use crate::speak::{InClear, Side, Speak};

/// How much of a Location is shown.
const PLACE_MOST: usize = 200;

/// What the fetches before the run found out.
#[derive(Debug)]
pub struct Findings {
    /// What answers to each request of the plan are held against.
    pub expectations: Vec<Expectation>,
    /// The answer to each that it was taken from; none if no complete one came.
    pub references: Vec<Option<Reference>>,
    /// The addresses that answer, of each server.
    pub targets: Vec<Vec<SocketAddr>>,
    /// What the fetches were.
    pub tally: Tally,
    /// What a reader must know of them.
    pub notes: Vec<String>,
}

/// Fetches from each of the addresses that each server has in `targets`, and settles what answers
/// are held against. Once `is_over`, what has not come is not waited for.
///
/// # Errors
///
/// No address of a server can be reached, each shows a certificate that is refused here, or the
/// plan's own expectation is not met.
pub fn establish(
    reactor: &mut impl Reactor,
    plan: &Plan,
    targets: &[Vec<SocketAddr>],
    is_over: &mut dyn FnMut() -> bool,
) -> Result<Findings, LoadError> {
    let speak = vec![InClear; targets.len()];
    establish_in(&speak, reactor, plan, targets, is_over)
}

/// The same, whatever connections speak to each of the servers.
pub(crate) fn establish_in<S: Speak>(
    speak: &[S],
    reactor: &mut impl Reactor,
    plan: &Plan,
    targets: &[Vec<SocketAddr>],
    is_over: &mut dyn FnMut() -> bool,
) -> Result<Findings, LoadError> {
    let requests = Requests::compile(plan, &[], 0);
    let mut settled = Settled::default();
    settled.notes.extend(through(plan));
    for (host, (speak, addresses)) in speak.iter().zip(targets).enumerate() {
        let shared = speak.shared(plan, &requests, Side { worker: 0, host });
        let asked = (plan, host);
        let mut fetcher = Fetcher::<_, S::Client>::new(&mut *reactor, asked, shared, &mut *is_over);
        let is_dictated = dictation::asks(plan);
        if is_dictated || plan.file().requests_per_connection == Some(0) {
            let mut greeted = greet_all(&mut fetcher, plan, addresses)?;
            if is_dictated {
                let request = plan.request();
                greeted.expectations = vec![unfetched(&request.expect, &request.name)?];
            }
            let tally = fetcher.into_tally();
            return Ok(Findings { tally, ..greeted });
        }
        settled.ask(&mut fetcher, (plan, &requests), host, addresses)?;
        settled.tally.merge(&fetcher.into_tally());
    }
    Ok(settled.findings())
}

/// Nothing will be asked: a handshake with each address says whether it can be reached.
fn greet_all<R: Reactor, C: Client>(
    fetcher: &mut Fetcher<'_, R, C>,
    plan: &Plan,
    addresses: &[SocketAddr],
) -> Result<Findings, LoadError> {
    let mut notes: Vec<String> = through(plan).into_iter().collect();
    let greeted = greet(fetcher, addresses, &mut notes);
    let (targets, unreachable) = greeted.map_err(|refused| {
        let (url, reason) = (plan.request().url.to_string(), refused.to_string());
        LoadError::Certificate { url, reason }
    })?;
    if targets.is_empty() {
        let fetched = Fetched {
            unreachable,
            ..Fetched::default()
        };
        return Err(fetched.unreachable(plan, &plan.request().url));
    }
    let unused = unreachable.iter();
    notes.extend(unused.map(|reason| format!("not used: {reason}")));
    Ok(Findings {
        expectations: vec![Expectation::default()],
        references: vec![None],
        targets: vec![targets],
        tally: Tally::default(),
        notes,
    })
}

/// What a reader must know of a proxy before the server.
fn through(plan: &Plan) -> Option<String> {
    let proxy = plan.file().http_proxy.as_ref()?;
    let how = match proxy.tunnel {
        true => "makes a tunnel to the server for each connection (CONNECT)",
        false => "passes each request on to the server",
    };
    Some(format!(
        "the proxy {} {how}: times are those of both together",
        proxy.url
    ))
}

/// The addresses that can be reached, and why the others cannot. Where all that can be reached show
/// certificates that are refused here: the first refusal.
fn greet<R: Reactor, C: Client>(
    fetcher: &mut Fetcher<'_, R, C>,
    addresses: &[SocketAddr],
    notes: &mut Vec<String>,
) -> Result<(Vec<SocketAddr>, Vec<String>), Cause> {
    let (mut targets, mut unreachable) = (Vec::new(), Vec::new());
    let mut refused = Vec::new();
    for address in addresses {
        match fetcher.greet(*address) {
            Ok(()) => targets.push(*address),
            Err(cause) if cause.outcome() == Outcome::Connect => {
                unreachable.push(format!("{}: {cause}", fetcher.name_of(*address)));
            }
            Err(cause) => {
                targets.push(*address);
                notes.push(format!("no handshake before the run: {cause}"));
                refused.extend(cause.refuses_certificate().then_some(cause));
            }
        }
    }
    match refused.first() {
        Some(cause) if refused.len() == targets.len() => Err(*cause),
        _ => Ok((targets, unreachable)),
    }
}

/// What came of asking each address for one request.
#[derive(Default)]
struct Fetched {
    answers: Vec<Answer>,
    failure: Option<Cause>,
    targets: Vec<SocketAddr>,
    /// How many of those that were reached show a certificate that is refused here.
    refused: usize,
    unreachable: Vec<String>,
    /// Each failed for want of the source address.
    no_source: bool,
}

/// Asks each of `addresses` for `request` twice, or once where a `message` is sent in its place.
fn fetch_from_all<R: Reactor, C: Client>(
    fetcher: &mut Fetcher<'_, R, C>,
    request: &Request,
    message: Option<&[u8]>,
    addresses: &[SocketAddr],
) -> Fetched {
    let mut fetched = Fetched {
        no_source: true,
        ..Fetched::default()
    };
    let stored = fetcher.store(message.unwrap_or_else(|| request.h1_bytes()));
    for address in addresses {
        let answers = match message {
            None => fetcher.fetch_twice(request, stored, *address),
            Some(_) => fetcher
                .talk(Some((request, stored, message)), *address)
                .map(|talk| vec![talk.answer()]),
        };
        match answers {
            Ok(answers) => {
                fetched.targets.push(*address);
                fetched.answers.extend(answers);
            }
            Err(cause) if cause.outcome() == Outcome::Connect => {
                fetched.no_source &= matches!(
                    cause,
                    Cause::Connect(Refused::Kernel(error)) if error.is_no_address()
                );
                fetched
                    .unreachable
                    .push(format!("{}: {cause}", fetcher.name_of(*address)));
            }
            Err(cause) => {
                fetched.targets.push(*address);
                fetched.refused += usize::from(cause.refuses_certificate());
                fetched.failure = fetched.failure.or(Some(cause));
            }
        }
    }
    fetcher.discard(stored);
    fetched
}

impl Fetched {
    /// Fails where each address that was reached shows a certificate that is refused here: the run
    /// would count nothing but that.
    fn check_certificates(&self, url: &Url) -> Result<(), LoadError> {
        match self.failure {
            Some(cause) if self.refused == self.targets.len() => Err(LoadError::Certificate {
                url: url.to_string(),
                reason: cause.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// No address of the server of `url` answered.
    fn unreachable(&self, plan: &Plan, url: &Url) -> LoadError {
        LoadError::Unreachable {
            url: url.to_string(),
            reasons: self.unreachable.join("; "),
            advice: if let Some(proxy) = &plan.file().http_proxy {
                match proxy.tunnel {
                    true => "is that a proxy, and does it let CONNECT through to that server?",
                    false => "is the proxy running, and on that port?",
                }
            } else if plan.file().unix_socket.is_some() {
                "does a server listen on that Unix socket, and may this user write to it?"
            } else if self.no_source && !plan.file().sources.is_empty() {
                "does this machine have the source address (--interface)?"
            } else if plan.file().protocol == plan::Protocol::Http3 {
                "does the server offer HTTP/3, on that port for UDP?"
            } else {
                "is the server running, and on that port?"
            },
        }
    }
}

/// What answers to one request are held against, and the answer that this was taken from.
fn settle(
    expect: &plan::Expectation,
    answers: &[Answer],
    failure: Option<Cause>,
    target: String,
    notes: &mut Vec<String>,
) -> Result<(Expectation, Option<Reference>), LoadError> {
    if answers.is_empty() || failure.is_some() {
        return Ok((without_reference(expect, failure, notes)?, None));
    }
    let contents = decoded::decode(expect, answers, notes)?;
    let (mut found, dynamic) = stable(answers);
    let mut differed = "differed (a dynamic page)";
    if let Some(one_in) = expect.decode_one_in.filter(|_| !contents.is_empty()) {
        let is_same = !decoded::expect(&mut found, &contents, one_in);
        // The same content may be encoded in many ways, and the beginnings of two say nothing.
        if dynamic {
            found.content = [].into();
        }
        if is_same {
            differed = "were encoded differently and decode to the same content";
        }
    }
    let expectation = demand(expect, found, (answers, contents.first()), notes)?;
    let expectation = expectation.as_wanted(expect);
    let mut reference = fetch::describe(answers, target);
    reference.dynamic = dynamic;
    reference.decoded = decoded::describe(&contents);
    reference.checked = expectation.describe();
    if dynamic {
        let checked = &reference.checked;
        notes.push(format!("two fetches {differed}; checked: {checked}"));
    }
    if let Some(other) = answers.iter().find(|one| one.coding != answers[0].coding) {
        let (one, other) = (answers[0].coding, other.coding);
        notes.push(format!(
            "answers to the same request are encoded differently: content-encoding was {one}, then \
             {other}"
        ));
    }
    Ok((expectation, Some(reference)))
}

/// What all `answers` have in common, and whether that is less than everything.
fn stable(answers: &[Answer]) -> (Expectation, bool) {
    let first = &answers[0];
    let all = |same: fn(&Answer, &Answer) -> bool| answers.iter().all(|one| same(one, first));
    let is_dynamic =
        !all(|a, b| a.status == b.status && a.digest == b.digest && a.length == b.length);
    let content = if is_dynamic {
        let shared = answers
            .iter()
            .map(|one| shared_prefix(&one.content, &first.content));
        let shared = shared.min().unwrap_or(0);
        whole_lines(&first.content[..shared])
    } else {
        &first.content
    };
    let expectation = Expectation {
        status: all(|a, b| a.status == b.status).then_some(first.status),
        no_error: false,
        coding: all(|a, b| a.coding == b.coding).then_some(first.coding),
        length: all(|a, b| a.length == b.length).then_some(first.length),
        content: content.into(),
        plain: None,
    };
    (expectation, is_dynamic)
}

fn shared_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// `content` up to its last line end or tag: a number that had its first digits in common twice may
/// not have them the next time.
fn whole_lines(content: &[u8]) -> &[u8] {
    let end = content
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'>'));
    &content[..end.map_or(0, |position| position + 1)]
}

/// Holds the reference, and what it is decoded, against what the plan demands, and joins the two.
fn demand(
    expect: &plan::Expectation,
    mut found: Expectation,
    (answers, decoded): (&[Answer], Option<&Whole>),
    notes: &mut Vec<String>,
) -> Result<Expectation, LoadError> {
    let answer = &answers[0];
    let error = answers.iter().find_map(|answer| {
        let status = answer.status;
        match () {
            () if status >= 400 => Some(format!("had status {status}")),
            () if answer.leads_on => Some(format!(
                "was still a redirect, status {status}, after as many as --follow allows (a \
                 circle?)"
            )),
            () => None,
        }
    });
    // Content that was encoded for us is another content, and its length says little.
    let encoded = match answer.coding {
        Coding::Identity => String::new(),
        coding if decoded.is_some() => format!(" (decoded: content-encoding {coding})"),
        coding => format!(" (it is encoded: content-encoding {coding})"),
    };
    let stable_length = match &found.plain {
        Some(plain) => plain.length,
        None => found.length,
    };
    let (length_of, digest_of) = match decoded {
        Some(whole) => (whole.length, &whole.digest),
        None => (answer.length, &answer.digest),
    };
    let wrong = |what: String| Err(LoadError::Unexpected(format!("{what}{encoded}")));
    if let Some(status) = expect.status {
        if answer.status != status || found.status.is_none() {
            return wrong(format!("status {} instead of {status}", answer.status));
        }
    } else if let Some(error) = error {
        notes.push(format!(
            "an answer before the run {error}; unless that is expected explicitly, only \
             status 200 counts as right"
        ));
        found = Expectation {
            status: Some(200),
            ..Expectation::default()
        };
    } else if found.status.is_none() {
        // Statuses differed, and none was that of an error.
        found.no_error = true;
    } else if (300..400).contains(&answer.status) {
        notes.push(elsewhere(answer));
    }
    if let Some(length) = expect.length
        && stable_length != Some(length)
    {
        return wrong(format!("{length_of} bytes of content instead of {length}"));
    }
    if let Some(digest) = &expect.sha256
        && !digest.eq_ignore_ascii_case(digest_of)
    {
        return wrong(format!(
            "content with SHA-256 {digest_of} instead of {digest}"
        ));
    }
    Ok(found)
}

/// What a reader must know of an answer that sends users elsewhere.
fn elsewhere(answer: &Answer) -> String {
    let status = answer.status;
    let is_location = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("location");
    match answer.fields.iter().find(is_location) {
        Some((_, place)) => {
            let place: String = redact::url(place).chars().take(PLACE_MOST).collect();
            format!(
                "the answer is a redirect, {status} to {place}, and is not followed: ask that URL \
                 to measure what users get"
            )
        }
        None => format!("the answer has status {status}, and names no other URL to ask"),
    }
}

/// What a right answer to a request is whose bytes differ each time: one answer before the run says
/// nothing of the others.
fn unfetched(expect: &plan::Expectation, name: &str) -> Result<Expectation, LoadError> {
    if expect.sha256.is_some() {
        return Err(LoadError::Unexpected(format!(
            "{name}: a digest is checked against an answer before the run, and a request whose \
             bytes differ each time has none"
        )));
    }
    let expectation = Expectation {
        status: expect.status,
        no_error: true,
        length: expect.length.filter(|_| expect.decode_one_in.is_none()),
        plain: decoded::any(expect).map(|plain| Plain {
            length: expect.length,
            ..plain
        }),
        ..Expectation::default()
    };
    Ok(expectation.as_wanted(expect))
}

/// Whether the plan itself says nothing of what a right answer is.
const fn asks_nothing(expect: &plan::Expectation) -> bool {
    expect.sha256.is_none() && expect.length.is_none() && expect.status.is_none()
}

/// What is checked where nothing is known of a right answer.
fn only_status(expect: &plan::Expectation) -> Expectation {
    Expectation {
        status: Some(200),
        plain: decoded::any(expect),
        ..Expectation::default()
    }
    .as_wanted(expect)
}

/// What can be checked although no reference could be fetched.
fn without_reference(
    expect: &plan::Expectation,
    failure: Option<Cause>,
    notes: &mut Vec<String>,
) -> Result<Expectation, LoadError> {
    let why = failure.map_or_else(|| "no answer".to_owned(), |cause| cause.to_string());
    if !asks_nothing(expect) {
        return Err(LoadError::Unexpected(why));
    }
    let expectation = only_status(expect);
    let checked = expectation.describe();
    notes.push(format!(
        "no reference answer before the run: {why}; checked: {checked}"
    ));
    Ok(expectation)
}

#[cfg(test)]
mod tests;
