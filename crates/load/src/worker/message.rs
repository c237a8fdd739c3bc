//! What a request says when it begins, where that is not what was compiled before the run.

use wire::{Client, RequestId};

use crate::session::Sessions;

/// What the user in a place asks for by that request in this round, as HTTP/1.1 has it: written into
/// `out`, if the protocol has to be told when it begins; else it is written when it is sent.
#[inline]
pub(super) fn message_of<'a, C: Client>(
    sessions: Option<&mut Sessions>,
    (place, request): (u32, RequestId),
    round: impl FnOnce() -> u64,
    out: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    let sessions = sessions.filter(|_| C::WRITES)?;
    out.clear();
    match sessions.write(place, round(), request, out) {
        true => Some(out.as_slice()),
        false => None,
    }
}
