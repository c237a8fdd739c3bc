//! Of which connections the kernel notes when it sends and receives.

use super::{Backend, PlanError, PlanFile, Protocol, field};

/// Refuses what cannot be cut: the kernel's times are of a connection's last bytes, so that one
/// exchange at a time may be on it, and nothing else.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let Some(one_in) = file.split_one_in else {
        return Ok(());
    };
    let no = |why: &str| Err(field("split_one_in", why));
    match () {
        () if one_in == 0 => no("give 1 or more: the times of one connection in so many are noted"),
        () if file.protocol != Protocol::Http1 => no(
            "the kernel's times belong to HTTP/1.1, where a connection has one exchange at a time",
        ),
        () if file.pipeline > 1 => no("with a pipeline, nobody knows whose bytes the kernel sent"),
        () if file.unix_socket.is_some() => no("the kernel notes no times on Unix sockets"),
        () if !file.slow.is_none() => no("connections that are slow on purpose are not cut"),
        () if file.follow.is_some() => no("an exchange that follows redirects is several requests"),
        () if file.requests_per_connection == Some(0) => no("handshakes alone are not cut"),
        () if file.backend == Backend::Uring => no("io_uring has no times: choose readiness"),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::plan::{Backend, Plan, PlanFile, Protocol};

    #[test]
    fn what_cannot_be_cut_is_told() {
        let check = |change: fn(&mut PlanFile), expected: &str| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.split_one_in = Some(100);
            change(&mut file);
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{said}");
        };
        check(|_| {}, "ok");
        check(|file| file.split_one_in = Some(0), "give 1 or more");
        check(|file| file.protocol = Protocol::Http2, "HTTP/1.1");
        check(|file| file.pipeline = 2, "whose bytes");
        check(|file| file.unix_socket = Some("/s".into()), "Unix sockets");
        check(|file| file.slow.read_bytes_per_s = Some(9), "on purpose");
        check(|file| file.follow = Some(1), "redirects");
        check(|file| file.requests_per_connection = Some(0), "handshakes");
        check(|file| file.backend = Backend::Uring, "readiness");
    }
}
