//! One of the plan's connections: the socket comes and goes, the place stays.

use model::Mark;
use model::units::{Instant, Span};
use sys::Errno;
use sys::reactor::Key;
use wire::Client;
use wire::tunnel::Opening;

use super::Source;

/// What has become of a connection. Each state owns what is known in it.
#[derive(Debug)]
pub(crate) enum Connection<C> {
    /// There is no socket, and no reason to make one.
    Absent,
    /// A connect failed or a connection broke: the next connect waits.
    BackingOff {
        /// Until then.
        until: Instant,
    },
    /// A connect is under way.
    Connecting {
        key: Key,
        /// From where, if the plan says so.
        source: Option<Source>,
        /// Just before the call that handed it in.
        asked: Option<Instant>,
        /// The closed loop's exchange that is due and waits for this connection.
        pending: Option<Instant>,
        /// The tunnel that the proxy at its other end was asked for.
        opening: Option<Opening>,
    },
    /// It is established.
    Open(Open<C>),
    /// Its transport is established, and its handshake under way.
    Securing(Securing<C>),
    /// It is to be made, as soon as fewer connects are under way.
    Waiting {
        /// As for one that is connecting.
        pending: Option<Instant>,
    },
}

/// An established connection.
#[derive(Debug)]
pub(crate) struct Open<C> {
    pub(crate) key: Key,
    pub(crate) client: C,
    /// Since when it has had room for another exchange, if it has.
    pub(crate) free_since: Instant,
    /// How it was made, until the first exchange tells it.
    pub(crate) making: Option<Making>,
    /// When it was established.
    pub(crate) made: Instant,
    /// When something came on it last; until then, when it was established.
    pub(crate) heard: Instant,
    /// Exchanges begun on it.
    pub(crate) requests: u32,
    /// How many they were when the plan made one of them the last, as connections are renewed.
    pub(crate) last: Option<u32>,
    /// Exchanges under way.
    pub(crate) in_flight: u32,
    /// Bytes sent that the recorder knows of.
    pub(crate) bytes_counted: u64,
    pub(crate) write_error: Option<Errno>,
    /// The server has announced the close of its own accord.
    pub(crate) close_announced: bool,
    /// Content is being drained unread.
    pub(crate) skipping: bool,
    /// It has something to send that found no room, and stands in the line of those.
    pub(crate) is_stalled: bool,
    /// It has something to send that goes out at the end of the turn.
    pub(crate) is_gathering: bool,
    /// When its handshake began, where that goes on beside the first exchange.
    pub(crate) securing_since: Option<Instant>,
}

/// How a connection was made, or was to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    /// How long the connect took.
    pub(crate) took: Span,
    /// How late it was begun, where an exchange waited for it for which it could have been begun
    /// before.
    pub(crate) late: Span,
}

/// A connection whose handshake is under way.
#[derive(Debug)]
pub(crate) struct Securing<C> {
    pub(crate) key: Key,
    pub(crate) client: C,
    /// When the transport was established.
    pub(crate) since: Instant,
    /// How the transport was made.
    pub(crate) making: Making,
    /// As for one that is connecting.
    pub(crate) pending: Option<Instant>,
    /// As for one that is open.
    pub(crate) is_stalled: bool,
}

impl<C> Open<C> {
    /// Established at `at`.
    pub(crate) const fn new(key: Key, client: C, at: Instant, making: Making) -> Self {
        Self {
            key,
            client,
            free_since: at,
            making: Some(making),
            made: at,
            heard: at,
            requests: 0,
            last: None,
            in_flight: 0,
            bytes_counted: 0,
            write_error: None,
            close_announced: false,
            skipping: false,
            is_stalled: false,
            is_gathering: false,
            securing_since: None,
        }
    }
}

impl<C: Client> Open<C> {
    /// Something that is marked like that has come at `at`: the protocol, which is to take it.
    #[inline]
    pub(crate) fn hear(&mut self, at: Instant, mark: Mark) -> &mut C {
        self.heard = at;
        self.client.hear_mark(mark);
        &mut self.client
    }
}

/// Where one of the plan's connections is kept.
#[derive(Debug)]
pub(super) struct Place<C> {
    pub(super) connection: Connection<C>,
    /// Connects that failed and connections that broke since the last complete answer.
    pub(super) failures: u32,
    /// Connections whose server took leave and left something unprocessed, since then.
    pub(super) refusals: u32,
    /// Whether it stands in the line of those with room.
    pub(super) in_line: bool,
    /// Since when it has had no connection.
    pub(super) absent_since: Instant,
    /// Whether the next connect is late: it is told when that is over.
    pub(super) overdue: Option<Overdue>,
}

/// A connect that could have begun before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overdue {
    /// Since when, but for the time that it stood in the line of those to be made.
    pub(super) since: Instant,
    /// When it took its place in that line.
    pub(super) wanted: Instant,
}

impl<C> Place<C> {
    pub(super) const EMPTY: Self = Self {
        connection: Connection::Absent,
        failures: 0,
        refusals: 0,
        in_line: false,
        absent_since: Instant::ZERO,
        overdue: None,
    };

    /// How the connect went that is over at `at`, well or not.
    pub(super) fn made(&mut self, at: Instant) -> Making {
        let asked = match self.connection {
            Connection::Connecting { asked, .. } => asked.unwrap_or(at),
            // It was refused at once.
            _ => at,
        };
        let overdue = self.overdue.take();
        Making {
            took: at.saturating_since(asked),
            late: overdue.map_or(Span::ZERO, |overdue| asked.saturating_since(overdue.since)),
        }
    }
}
