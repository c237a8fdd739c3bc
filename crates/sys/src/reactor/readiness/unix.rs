//! Connections to a Unix socket.

use std::io;
use std::path::Path;

use super::Readiness;
use super::connection::Connection;
use crate::Errno;
use crate::reactor::Refused;
use crate::slots::Key;
use crate::socket::unix;

impl Readiness {
    /// The same, whose connections all lead to the Unix socket at `path`, whatever their target;
    /// the same as it was where there is none.
    pub fn leading_to(self, path: Option<&Path>) -> io::Result<Self> {
        let unix = path.map(unix::Place::new).transpose()?;
        Ok(Self { unix, ..self })
    }

    /// Such a connect is over at once; as any other it is told as a completion.
    pub(super) fn connect_unix(&mut self) -> Result<Key, Refused> {
        let refused = |error: io::Error| Refused::Kernel(Errno::of(&error));
        let socket = unix::outgoing().map_err(refused)?;
        let connecting = self.unix.as_ref().map(|place| place.connect(&socket));
        let failed = connecting
            .and_then(Result::err)
            .map(|error| Errno::of(&error));
        let key = self.admit(Connection::connecting(socket, failed).on_unix())?;
        if failed.is_some() {
            self.enqueue(key.index());
        }
        Ok(key)
    }
}
