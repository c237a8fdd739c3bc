//! What HTTP/2 did, in a line, where that is not simply what it should.

use model::Trial;
use verdict::words;

use super::Style;

pub(super) fn http2(trial: &Trial, style: Style) -> String {
    let Some(http2) = &trial.record.http2 else {
        return String::new();
    };
    let mut parts = Vec::new();
    let wanted = trial.plan.streams;
    if let Some(allowed) = http2.streams_allowed.filter(|allowed| *allowed < wanted) {
        parts.push(format!("the server allows {allowed} of {wanted} streams"));
    }
    for (what, counts) in [("GOAWAY", &http2.go_aways), ("RST_STREAM", &http2.resets)] {
        for (code, count) in counts {
            parts.push(format!("{} {what} {code}", words::count(*count)));
        }
    }
    if http2.unprocessed > 0 {
        let count = words::plural(http2.unprocessed, "exchange");
        parts.push(format!("{count} sent again"));
    }
    if http2.settings_changes > 0 {
        let count = words::plural(http2.settings_changes, "change");
        parts.push(format!("{count} of settings"));
    }
    if http2.window_stalls > 0 {
        let count = words::plural(http2.window_stalls, "time");
        parts.push(format!("content waited {count} for the server's windows"));
    }
    if parts.is_empty() {
        return String::new();
    }
    style.labelled("HTTP/2", &parts.join(", "))
}
