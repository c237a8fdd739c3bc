//! Whoever makes the requests of a run while it goes on, reads its answers or says how long its
//! connections wait: a script in Lua. Each worker has an author of its own, given by the door.
//!
//! An author works on its worker's thread, between what the loop does: its time is the generator's,
//! counted as busy, and a request that it makes is late by as long as it took to make.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use model::units::Span;

/// What a worker asks of its author. An error is a sentence that ends the run.
pub trait Author: fmt::Debug + Send {
    /// Appends what a connection sends next to `out`: one request, or several that go out together.
    ///
    /// # Errors
    ///
    /// The author has made a mistake.
    fn request(&mut self, out: &mut Vec<u8>) -> Result<(), String>;

    /// An answer is complete: its status, its head as received, its content.
    ///
    /// # Errors
    ///
    /// The author has made a mistake.
    fn answer(&mut self, status: u16, head: &[u8], content: &[u8]) -> Result<(), String>;

    /// How long a connection waits before it sends next.
    ///
    /// # Errors
    ///
    /// The author has made a mistake.
    fn delay(&mut self) -> Result<Span, String>;

    /// Whether the author wants nothing more to be asked.
    fn has_stopped(&self) -> bool;
}

/// Where the mistake of an author is kept that ended the run.
pub(crate) type Failure = Arc<OnceLock<String>>;

/// What one worker is given.
#[derive(Debug)]
pub struct Seat {
    /// Who works there, if anybody does something while the run goes on.
    pub author: Option<Box<dyn Author>>,
    /// The one address that its connections lead to; none: all that the plan has.
    pub target: Option<SocketAddr>,
    /// What the author is asked, for whoever gave the seat: [`Asked::default`] to begin with.
    pub asked: Arc<Asked>,
}

/// What an author is asked just now, as others see it who wait for its worker.
#[derive(Debug, Default)]
pub struct Asked {
    /// Each call has a number of its own, the multiples of four; what is above is [`Call`], or
    /// nothing between two calls.
    call: AtomicU64,
    left_behind: AtomicBool,
}

/// What an author is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Request = 1,
    Answer = 2,
    Delay = 3,
}

impl Asked {
    /// Whether the run ended without the author's worker, because the author did not return. It may
    /// return later; its worker lives on all the same.
    pub fn is_left_behind(&self) -> bool {
        self.left_behind.load(Ordering::Relaxed)
    }

    /// The run ends without the worker of the author.
    pub(crate) fn leave_behind(&self) {
        self.left_behind.store(true, Ordering::Relaxed);
    }

    /// The call that is under way, or the pause behind the last one: no two are the same.
    pub(crate) fn call(&self) -> u64 {
        self.call.load(Ordering::Relaxed)
    }

    pub(crate) const fn is_call(call: u64) -> bool {
        call & 3 != 0
    }

    /// The function of a script that is called.
    pub(crate) const fn function(call: u64) -> &'static str {
        match call & 3 {
            1 => "request()",
            2 => "response()",
            _ => "delay()",
        }
    }

    /// The worker of the author calls it: nobody else writes here.
    #[inline]
    pub(crate) fn begin(&self, call: Call) {
        let next = (self.call() | 3) + 1 + call as u64;
        self.call.store(next, Ordering::Relaxed);
    }

    /// It has returned.
    #[inline]
    pub(crate) fn end(&self) {
        self.call.store(self.call() & !3, Ordering::Relaxed);
    }
}
