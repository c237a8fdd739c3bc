//! Session tickets, whose keys change as time passes.
//!
//! rustls has a rotator of its own, which reads the clock of the machine where no test can set it,
//! and which changes keys once however long nobody asked: after a quiet day it still takes the
//! tickets of the day before. This one counts the periods that have passed. What encrypts a ticket
//! is rustls's.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::Error;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::ProducesTickets;
use rustls::time_provider::TimeProvider;

/// How many seconds a key makes tickets. It opens them for as long again.
///
/// Each key is a whole ticketer of rustls, which changes keys within itself as often, and begins no
/// sooner than its period here does: what it made, it opens until it is dropped.
pub(super) const PERIOD_S: u32 = 6 * 60 * 60;

type Key = Arc<dyn ProducesTickets>;

/// Makes tickets and opens them, for all connections of one server.
#[derive(Debug)]
pub(super) struct Tickets {
    clock: Arc<dyn TimeProvider>,
    keys: RwLock<Keys>,
}

#[derive(Clone, Debug)]
struct Keys {
    /// When the period of the current key began, in seconds since 1970.
    begun: u64,
    current: Key,
    previous: Option<Key>,
}

impl Tickets {
    pub(super) fn new(clock: Arc<dyn TimeProvider>) -> Result<Self, Error> {
        let now = clock.current_time().ok_or(Error::FailedToGetCurrentTime)?;
        let keys = Keys {
            begun: now.as_secs(),
            current: Ticketer::new()?,
            previous: None,
        };
        Ok(Self {
            clock,
            keys: RwLock::new(keys),
        })
    }

    /// The keys of now. None: there is no clock, or no key could be made.
    fn keys(&self) -> Option<Keys> {
        let now = self.clock.current_time()?.as_secs();
        // A clock that was set back changes nothing.
        let passed = |keys: &Keys| now.saturating_sub(keys.begun) / u64::from(PERIOD_S);
        {
            let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
            if passed(&keys) == 0 {
                return Some(keys.clone());
            }
        }
        let next = Ticketer::new().ok()?;
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let periods = passed(&keys);
        // Another thread may have been here first.
        if periods > 0 {
            let current = std::mem::replace(&mut keys.current, next);
            keys.previous = (periods == 1).then_some(current);
            keys.begun += periods * u64::from(PERIOD_S);
        }
        Some(keys.clone())
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        2 * PERIOD_S
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.keys()?.current.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let keys = self.keys()?;
        let with_previous = || keys.previous.as_ref()?.decrypt(cipher);
        keys.current.decrypt(cipher).or_else(with_previous)
    }
}
