//! A script at work outside of a run: before it, and in its `done`.
//!
//! No loop of a script can be ended from outside: LuaJIT calls no hook from a loop that it has
//! compiled. So a script works on a thread of its own, which an interruption leaves behind.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use model::units::Span;
use sys::clock;
use sys::process::Interrupt;

use crate::exit::Stopped;

/// How often an interruption is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What an interruption finds at work is given so long: a script that tells of a run that was
/// interrupted is to come to its end.
const PATIENCE: Span = Span::from_s(1);

/// Lets the script of that name do its work, until it is done or somebody interrupts it.
pub(crate) fn attended<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let interrupt = Interrupt::arm().context("cannot catch SIGINT")?;
    let (tell, told) = channel();
    thread::spawn(move || {
        let _unheard = tell.send(work());
    });
    let begun = clock::monotonic();
    loop {
        match told.recv_timeout(LOOK) {
            Ok(made) => return made,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("a script does not panic"),
        }
        let time = clock::monotonic().saturating_since(begun);
        if interrupt.is_raised() && time >= PATIENCE {
            let why = format!(
                "the Lua script {name} was interrupted at work outside of the run, where it did \
                 not come to an end (a loop without an end?)"
            );
            return Err(Stopped(why).into());
        }
    }
}
