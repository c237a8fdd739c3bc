//! Whoever makes the requests of a run while it goes on, reads its answers or says how long its
//! connections wait: a script in Lua. Each worker has an author of its own, given by the door.
//!
//! An author works on its worker's thread, between what the loop does: its time is the generator's,
//! counted as busy, and a request that it makes is late by as long as it took to make.

use std::fmt;
use std::net::SocketAddr;
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
}
