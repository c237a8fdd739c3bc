//! What a reader must know of handshakes beside their times, in the words of all reports.

use model::tls::TlsRecord;
use verdict::words;

/// Handshakes that came out in another way than they were drawn.
pub(crate) fn not_as_drawn(tls: &TlsRecord) -> Vec<String> {
    let all = [
        (tls.not_resumed, "full for lack of a session"),
        (
            tls.not_early,
            "without an early request, for lack of a session that allows one",
        ),
        (
            tls.early_refused,
            "whose early request the server rejected, and which was sent again",
        ),
    ];
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{} {what}", words::count(count)))
        .collect()
}

/// Connections that the server closed without a word of TLS; none where it closed none so.
pub(crate) fn cut(tls: &TlsRecord) -> Option<String> {
    let count = tls.closed_without_notify;
    (count > 0).then(|| {
        format!(
            "{} closed by the server without close_notify",
            words::plural(count, "connection")
        )
    })
}

/// How handshakes are shared out among the certificates of clients; none where there is one.
pub(crate) fn by_certificate(tls: &TlsRecord) -> Option<String> {
    let all = &tls.by_certificate;
    let shown = || all.iter().filter(|count| **count > 0);
    let (least, most) = (shown().min()?, shown().max()?);
    let each = match least == most {
        true => words::plural(*least, "handshake"),
        false => format!(
            "{} to {} handshakes",
            words::count(*least),
            words::count(*most)
        ),
    };
    let mut text = format!(
        "{} of clients, each with {each}",
        words::plural(all.len() as u64, "certificate")
    );
    let unused = all.len() - shown().count();
    if unused > 0 {
        text.push_str(&format!(
            " but for {}, which had none",
            words::count(unused as u64)
        ));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_are_shared_out_among_certificates() {
        let said = |counts: &[u64]| {
            by_certificate(&TlsRecord {
                by_certificate: counts.to_vec(),
                ..TlsRecord::default()
            })
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[0, 0]), None);
        let check = |counts: &[u64], expected: &str| {
            assert_eq!(said(counts).as_deref(), Some(expected));
        };
        check(&[1, 1], "2 certificates of clients, each with 1 handshake");
        check(
            &[4, 1_200, 0],
            "3 certificates of clients, each with 4 to 1,200 handshakes but for 1, which had none",
        );
    }
}
