//! What handshakes did not come to, in the words of all reports.

use model::tls::TlsRecord;
use verdict::words;

/// Handshakes that came out in another way than they were drawn.
pub(crate) fn not_as_drawn(tls: &TlsRecord) -> Vec<String> {
    let all = [
        (tls.not_resumed, "full for want of a session"),
        (
            tls.not_early,
            "without an early request, for want of a session that allows one",
        ),
        (
            tls.early_refused,
            "whose early request the server did not take, and which was sent again",
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
