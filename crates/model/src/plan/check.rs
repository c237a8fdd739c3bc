//! What a plan cannot be.

use super::{
    Backend, Level, PIPELINE_MAX, PlanError, PlanFile, Protocol, REDIRECTS_MAX, STREAMS_MAX, Stage,
    Stop, Url, field,
};
use crate::redact::REDACTED;
use crate::tls::{TlsFile, TlsSuite, TlsVersion};
use crate::units::{Rate, Span};

/// What says when requests are due fits together.
pub(super) fn pace(file: &PlanFile) -> Result<(), PlanError> {
    let open = file.arrivals.rate();
    if file.think.is_some() && open.is_some() {
        return Err(field("think", "users of an open loop wait for nothing"));
    }
    if file.think.is_some() && file.at_once() > 1 {
        return Err(field("think", "a user has one request under way"));
    }
    if file.deadline.is_some() && open.is_none() {
        return Err(field(
            "deadline",
            "only an open loop has requests that wait",
        ));
    }
    if file.deadline.is_some_and(Span::is_zero) {
        return Err(field("deadline", "give more than 0"));
    }
    if file.stages.is_empty() {
        return Ok(());
    }
    let users = file.script.as_ref();
    let users = users.and_then(|script| script.arrivals.rate());
    let why = match open.or(users) {
        None => "a closed loop has no rate",
        Some(_) if file.stages.iter().any(Stage::is_instant) => "each lasts more than 0",
        Some(_) if file.stop != Stop::DurationNs(super::pace::length(&file.stages)) => {
            "the measurement is as long as they are"
        }
        Some(rate) if rate != super::pace::mean_rate(&file.stages) => {
            "the rate of the arrivals is their mean"
        }
        Some(_) => return Ok(()),
    };
    Err(field("stages", why))
}

/// Where nothing is asked on a connection, its handshake is what counts.
fn handshakes_alone(file: &PlanFile, url: &Url) -> Result<(), PlanError> {
    if file.requests_per_connection != Some(0) {
        return Ok(());
    }
    let why = match () {
        () if !url.is_secure => "0 counts handshakes of TLS, so the URL must begin with https://",
        () if file.requests.len() > 1 => "0 counts handshakes and asks nothing: give one URL",
        () if file.arrivals.rate().is_some() => "0 counts handshakes only in a closed loop",
        () if file.think.is_some() || file.script.is_some() => {
            "0 counts handshakes, and users of a script or who think make requests"
        }
        () if file.at_once() > 1 => "0 asks nothing, so nothing is under way at once",
        () => return Ok(()),
    };
    Err(field("requests_per_connection", why))
}

/// Why no request of the plan can go out before the end of a handshake; empty where it can.
fn early_data(file: &PlanFile, tls: &TlsFile) -> &'static str {
    // RFC 8470 §4: who saw such a request can send it again.
    let is_safe = |method: &str| matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
    let requests = || file.requests.iter();
    match () {
        () if file.protocol == Protocol::Http2 => "early data cannot hold a request of HTTP/2",
        () if file.arrivals.rate().is_some() => {
            "early data needs a request that waits for its connection: give a closed loop"
        }
        () if file.script.is_some() || file.lua_at_work().is_some() || file.think.is_some() => {
            "early data needs requests that are known and wait for nothing: give no script and no \
             think"
        }
        () if file.requests_per_connection == Some(0) => {
            "early data carries a request, and 0 requests per connection ask nothing"
        }
        () if !tls.versions.is_empty() && !tls.versions.contains(&TlsVersion::Tls13) => {
            "only TLS 1.3 has early data"
        }
        () if requests().any(|one| !is_safe(&one.method) || one.body_base64.is_some()) => {
            "a request in early data can be replayed by others: ask by GET, HEAD or OPTIONS, \
             without content"
        }
        () => "",
    }
}

/// Redirects are followed where one request is under way on a connection, and the plan knows it.
pub(super) fn redirects(file: &PlanFile) -> Result<(), PlanError> {
    let Some(most) = file.follow else {
        return Ok(());
    };
    let why = match () {
        () if !(1..=REDIRECTS_MAX).contains(&most) => "give 1 to 20",
        () if file.at_once() > 1 => {
            "redirects are followed where a connection has one request under way"
        }
        () if file.script.is_some() => {
            "users of a script follow a redirect by a step of their own, which takes the path from \
             the field Location"
        }
        () if file.lua_at_work().is_some() => {
            "a script in Lua with request(), response() or delay() has no redirects followed for \
             it: what is asked next is its own doing"
        }
        () if file.requests_per_connection == Some(0) => {
            "0 requests per connection ask nothing, so there is no redirect to follow"
        }
        () => return Ok(()),
    };
    Err(field("follow", why))
}

/// What is decoded is content that is checked.
pub(super) fn decoding(file: &PlanFile) -> Result<(), PlanError> {
    let of_requests = file.requests.iter().filter_map(|one| one.expect.as_ref());
    let each = || of_requests.clone().chain([&file.expect]);
    let mut decoded = each().filter(|expect| expect.decode_one_in.is_some());
    let why = match () {
        () if decoded.clone().next().is_none() => return Ok(()),
        () if each().any(|expect| expect.decode_one_in == Some(0)) => {
            "give 1 for each answer, or more"
        }
        () if file.requests.iter().all(|one| one.method == "HEAD") => {
            "an answer to HEAD has no content to decode"
        }
        () if decoded.any(|expect| expect.level < Level::Body) => {
            "decoded content is compared with the expected content: let bodies be checked"
        }
        () if file.requests_per_connection == Some(0) => {
            "0 requests per connection ask nothing, so there is nothing to decode"
        }
        () => return Ok(()),
    };
    Err(field("expect.decode_one_in", why))
}

/// What TLS cannot be.
pub(super) fn tls(file: &PlanFile, url: &Url) -> Result<(), PlanError> {
    handshakes_alone(file, url)?;
    let Some(tls) = &file.tls else {
        return Ok(());
    };
    if let Some(mix) = tls.handshakes {
        let why = match () {
            () if mix.full == 0 && mix.resumed == 0 && mix.early == 0 => "give a weight above 0",
            () if tls.no_resumption => "it is already said that each handshake is a full one",
            () if mix.early > 0 => early_data(file, tls),
            () => "",
        };
        if !why.is_empty() {
            return Err(field("tls.handshakes", why));
        }
    }
    if !url.is_secure {
        return Err(field("tls", "the URL says http://, which has none"));
    }
    if tls.ca_file.is_some() && tls.ca_pem.is_some() {
        return Err(field("tls.ca_pem", "give it or ca_file, not both"));
    }
    if tls.certificate_file.is_some() != tls.key_file.is_some() {
        return Err(field(
            "tls.certificate_file",
            "a certificate and its private key go together",
        ));
    }
    if tls.certificates_folder.is_some() && tls.certificate_file.is_some() {
        return Err(field(
            "tls.certificates_folder",
            "a connection shows one certificate: give a folder of them, or one file",
        ));
    }
    let mut paths = tls.identity_paths();
    if paths.any(|path| path == REDACTED) {
        return Err(field(
            "tls.certificate_file",
            "the path of the client's certificates was taken out when this was stored; give it \
             again",
        ));
    }
    let is_of = |suite: &TlsSuite, version| {
        let is_new = suite.name().contains("_WITH_");
        (version == TlsVersion::Tls12) == is_new
    };
    let unused = tls.versions.iter().find(|version| {
        !tls.suites.is_empty() && !tls.suites.iter().any(|suite| is_of(suite, **version))
    });
    match unused {
        Some(version) => Err(field(
            "tls.suites",
            format!("none of them belongs to TLS {version}"),
        )),
        None => Ok(()),
    }
}

pub(super) fn numbers(file: &PlanFile) -> Result<(), PlanError> {
    let check = |ok: bool, name: &'static str, why: &str| {
        if ok { Ok(()) } else { Err(field(name, why)) }
    };
    check(file.connections > 0, "connections", "give at least 1")?;
    check(file.workers > 0, "workers", "give at least 1")?;
    check(
        file.workers <= file.connections / file.user_connections(),
        "workers",
        match file.user_connections() {
            1 => "more threads than connections: each thread needs one",
            _ => "more threads than users: each thread needs one",
        },
    )?;
    check(
        (1..=PIPELINE_MAX).contains(&file.pipeline),
        "pipeline",
        "give 1 to 64",
    )?;
    check(
        (1..=STREAMS_MAX).contains(&file.streams),
        "streams",
        "give 1 to 1000",
    )?;
    let is_one = file.protocol == Protocol::Http1;
    check(
        file.pipeline == 1 || is_one,
        "pipeline",
        "HTTP/2 and HTTP/3 have streams instead",
    )?;
    check(
        file.streams == 1 || !is_one,
        "streams",
        "only HTTP/2 and HTTP/3 have them",
    )?;
    check(
        file.protocol != Protocol::Http3 || file.backend != Backend::Uring,
        "backend",
        "HTTP/3 works only over readiness (epoll)",
    )?;
    check(!file.timeout.is_zero(), "timeout", "give more than 0")?;
    check(
        !file.connect_limit().is_zero(),
        "connect_timeout",
        "give more than 0",
    )?;
    check(
        file.interval >= Span::from_ms(1),
        "interval",
        "give at least 1ms",
    )?;
    match file.stop {
        Stop::Count(count) => check(count > 0, "stop", "give at least 1 exchange")?,
        Stop::DurationNs(span) => check(!span.is_zero(), "stop", "give more than 0")?,
    }
    let is_said_twice = matches!(file.stop, Stop::Count(_)) || !file.stages.is_empty();
    check(
        file.requests_most
            .is_none_or(|most| most > 0 && !is_said_twice),
        "requests_most",
        "give at least 1, and only where the measurement ends with its time and the rate does not \
         change",
    )?;
    let (key, why) = match file.stages.is_empty() {
        true => ("rate", "give more than 0"),
        false => ("stages", "nobody comes: give one of them a rate above 0"),
    };
    check(file.arrivals.rate() != Some(Rate::per_1000_s(0)), key, why)
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::plan::{Level, LuaFile, Plan, PlanFile, Protocol};
    use crate::redact::REDACTED;
    use crate::tls::{HandshakeMix, TlsFile};

    #[test]
    fn redirects_are_followed_one_request_at_a_time() {
        let check = |change: fn(&mut PlanFile), expected: &str| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.follow = Some(10);
            change(&mut file);
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{said}");
        };
        check(|_| {}, "ok");
        check(|file| file.follow = Some(0), "follow: give 1 to 20");
        check(|file| file.follow = Some(21), "follow: give 1 to 20");
        check(|file| file.pipeline = 2, "one request under way");
        let hears = |file: &mut PlanFile| {
            file.lua = Some(LuaFile {
                hears: true,
                ..LuaFile::default()
            });
        };
        check(
            hears,
            "follow: a script in Lua with request(), response() or",
        );
        // One that does nothing during the run only tells where the request came from.
        check(|file| file.lua = Some(LuaFile::default()), "ok");
    }

    #[test]
    fn what_is_decoded_is_checked() {
        let check = |change: fn(&mut PlanFile), expected: &str| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.expect.decode_one_in = Some(1);
            change(&mut file);
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{said}");
        };
        check(|_| {}, "ok");
        check(|file| file.expect.decode_one_in = Some(0), "give 1");
        let head = |file: &mut PlanFile| "HEAD".clone_into(&mut file.requests[0].method);
        check(head, "no content to decode");
        check(|file| file.expect.level = Level::Length, "let bodies be");
        check(|file| file.requests_per_connection = Some(0), "0 ");
    }

    #[test]
    fn kinds_of_handshakes_are_drawn_for_each_protocol() {
        let check = |protocol: Protocol, early: u32, expected: &str| {
            let mut file = fixture::plan("https://127.0.0.1:1/", &[]);
            file.protocol = protocol;
            file.tls = Some(TlsFile {
                handshakes: Some(HandshakeMix {
                    full: 1,
                    resumed: 1,
                    early,
                }),
                ..TlsFile::default()
            });
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{protocol:?}: {said}");
        };
        for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Http3] {
            check(protocol, 0, "ok");
        }
        check(Protocol::Http1, 1, "ok");
        check(Protocol::Http3, 1, "ok");
        check(
            Protocol::Http2,
            1,
            "early data cannot hold a request of HTTP/2",
        );
    }

    fn in_folder() -> TlsFile {
        TlsFile {
            certificates_folder: Some("clients".to_owned()),
            ..TlsFile::default()
        }
    }

    #[test]
    fn certificates_of_clients_are_in_one_place_and_it_is_not_stored() {
        let check = |tls: TlsFile, expected: &str| {
            let mut file = fixture::plan("https://127.0.0.1:1/", &[]);
            file.tls = Some(tls);
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{said}");
        };
        check(in_folder(), "ok");
        let both = TlsFile {
            certificate_file: Some("client.pem".to_owned()),
            key_file: Some("client.key".to_owned()),
            ..in_folder()
        };
        check(both.clone(), "give a folder of them, or one file");
        let mut file = fixture::plan("https://127.0.0.1:1/", &[]);
        file.tls = Some(both);
        file.redact();
        let mut tls = file.tls.unwrap();
        let stored = Some(REDACTED.to_owned());
        assert_eq!(tls.certificate_file, stored);
        assert_eq!(tls.key_file, stored);
        assert_eq!(tls.certificates_folder, stored);
        tls.certificates_folder = None;
        check(tls, "give it again");
    }
}
