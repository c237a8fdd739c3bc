//! What a connection sends, and how it ends.
//!
//! Answers that go together are gathered into one send, which copies them; an answer by itself that
//! was given before is sent from where it lies.

use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

use model::{Instant, Span};
use sys::reactor::{Listen, Transmit as Send};
use sys::slots::Key;
use wire::service::Transmit;
use wire::{Handler as _, Service as _};

use super::{COPY_BYTES, Worker};
use crate::answers::Answer;
use crate::connection::{Accept, End, State};

/// How long, and for how much, a client may go on sending after the last answer.
const LINGER: Span = Span::from_s(2);
const LINGER_BYTES: u64 = 1024 * 1024;
/// Answers are collected up to this size before they are handed over.
const GATHER: usize = 8 * 1024;

impl<R: Listen, A: Accept> Worker<R, A> {
    /// Hands over whatever may be sent now.
    pub(super) fn advance(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        if let State::Pausing { until } = connection.state
            && connection.service.is_multiplexed()
        {
            self.pauses.remove(&(until, key));
            connection.state = State::Open;
        }
        if connection.state != State::Open {
            if connection.service.is_full() && !connection.is_paused {
                connection.is_paused = true;
                self.reactor.pause(key);
            }
            return;
        }
        debug_assert!(self.out.is_empty(), "left over from another connection");
        let mut kept = None;
        let next = loop {
            let next = connection
                .service
                .poll_transmit(now, &mut self.out, &mut self.site);
            match next {
                Transmit::Kept(answer) if kept.is_none() => kept = Some(answer),
                Transmit::Kept(answer) => self.site.copy(&answer, &mut self.out),
                Transmit::Bytes if self.out.len() < GATHER => {}
                _ => break next,
            }
        };
        let was_all_taken = self.reactor.bytes_taken(key) == connection.handed;
        if was_all_taken {
            connection.taken = connection.handed;
            connection.progress_at = now;
        }
        let has_bytes = !self.out.is_empty();
        let is_file_next = matches!(next, Transmit::File { .. });
        let goes_on = !matches!(next, Transmit::Nothing | Transmit::Pause(_));
        // Usually all before is gone by now, and nobody needs to be told that this went too.
        let notify = goes_on || ((has_bytes || kept.is_some()) && !was_all_taken);
        let is_noticed = notify && (has_bytes || kept.is_some());
        if let Some(answer) = kept {
            let stored = self.site.stored(&answer, &mut self.reactor);
            let more = has_bytes || is_file_next;
            let send = Send {
                more,
                notify: notify && !more,
                ..Send::stored(stored)
            };
            connection.handed += answer.bytes.len() as u64;
            let result = self.reactor.send(key, send);
            answer.was_sent(&mut self.reactor);
            if !self.was_sent(key, result.is_ok()) {
                self.out.clear();
                return;
            }
        }
        if has_bytes && let Some(connection) = &mut self.connections[key.index()] {
            let send = Send {
                more: is_file_next,
                notify: notify && !is_file_next,
                ..Send::copied(&self.out)
            };
            debug_assert!(self.out.len() <= COPY_BYTES as usize, "{}", self.out.len());
            connection.handed += self.out.len() as u64;
            let result = self.reactor.send(key, send);
            self.out.clear();
            if !self.was_sent(key, result.is_ok()) {
                return;
            }
        }
        self.follow(key, now, next, is_noticed);
    }

    /// Does what comes after the bytes. `is_noticed`: we will be told when they have gone.
    fn follow(
        &mut self,
        key: Key,
        now: Instant,
        next: Transmit<Arc<File>, Rc<Answer>>,
        is_noticed: bool,
    ) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        let end = match next {
            Transmit::Nothing | Transmit::Bytes | Transmit::Kept(_) => {
                if is_noticed {
                    connection.state = State::Sending;
                    connection.progress_at = now;
                }
                self.regulate(key);
                return;
            }
            Transmit::File {
                file,
                offset,
                length,
            } => {
                connection.state = State::Sending;
                connection.progress_at = now;
                connection.handed += length;
                let send = Send::file(file, offset, length).with_notice();
                let result = self.reactor.send(key, send);
                self.was_sent(key, result.is_ok());
                return;
            }
            Transmit::Pause(span) => {
                let until = now + span;
                connection.state = State::Pausing { until };
                self.pauses.insert((until, key));
                return;
            }
            Transmit::Close { linger: false } => End::Close,
            Transmit::Close { linger: true } => End::Linger,
            Transmit::Reset => End::Reset,
        };
        if is_noticed {
            connection.state = State::Ending(end);
            connection.progress_at = now;
        } else if self.reactor.bytes_taken(key) == connection.handed {
            self.end(key, now, end);
        } else {
            // What went before asked for no notice: the client hears of the end in time, and a
            // look finds that all has gone.
            connection.state = State::Flushing(end);
            connection.progress_at = now;
            if end != End::Reset {
                self.reactor.finish(key);
            }
        }
    }

    /// Receives no more from a client that asks faster than it reads, until it has read.
    fn regulate(&mut self, key: Key) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        let is_full = connection.service.is_full();
        if is_full != connection.is_paused {
            connection.is_paused = is_full;
            if is_full {
                self.reactor.pause(key);
            } else {
                self.reactor.resume(key);
            }
        }
    }

    /// Whether a send was taken; else the connection is given up.
    fn was_sent(&mut self, key: Key, is_taken: bool) -> bool {
        if !is_taken {
            self.reactor.reset(key);
            self.forget(key);
        }
        is_taken
    }

    pub(super) fn sent(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        match connection.state {
            State::Sending => {
                connection.state = State::Open;
                self.site.set_peer(connection.peer);
                self.advance(key, now);
            }
            State::Ending(end) | State::Flushing(end) => self.end(key, now, end),
            State::Open | State::Lingering { .. } | State::Pausing { .. } => {}
        }
    }

    pub(super) fn end(&mut self, key: Key, now: Instant, end: End) {
        match end {
            End::Close => self.drop(key),
            End::Linger => {
                self.reactor.finish(key);
                if let Some(connection) = &mut self.connections[key.index()] {
                    connection.state = State::Lingering {
                        until: now + LINGER,
                        patience: LINGER_BYTES,
                    };
                }
            }
            End::Reset => {
                self.reactor.reset(key);
                self.forget(key);
            }
        }
    }

    pub(super) fn peer_finished(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        if matches!(connection.state, State::Lingering { .. }) {
            self.drop(key);
        } else {
            connection.service.handle_end();
            self.advance(key, now);
        }
    }
}
