//! What is counted of the connections of one worker.

use model::http2::Http2Record;

use crate::h2::Code;

/// Codes that have names; others are counted together.
const CODES: usize = 14;

/// Events by their code.
#[derive(Debug, Default)]
pub(super) struct Codes([u64; CODES + 1]);

impl Codes {
    pub(super) fn add(&mut self, code: Code) {
        self.0[(code.0 as usize).min(CODES)] += 1;
    }

    fn tell(&self) -> Vec<(String, u64)> {
        let named = (0u32..).zip(self.0);
        named
            .filter(|(_, count)| *count > 0)
            .map(|(code, count)| {
                let name = Code(code).name().unwrap_or("other");
                (name.to_owned(), count)
            })
            .collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) connections: u64,
    pub(super) go_aways: Codes,
    pub(super) resets: Codes,
    pub(super) unprocessed: u64,
    pub(super) changes: u64,
    pub(super) streams: Option<u32>,
    pub(super) limited: u64,
    pub(super) stalls: u64,
}

impl Tally {
    pub(super) fn tell(&self) -> Http2Record {
        Http2Record {
            connections: self.connections,
            go_aways: self.go_aways.tell().into_iter().collect(),
            resets: self.resets.tell().into_iter().collect(),
            unprocessed: self.unprocessed,
            settings_changes: self.changes,
            streams_allowed: self.streams,
            connections_limited: self.limited,
            window_stalls: self.stalls,
        }
    }
}
