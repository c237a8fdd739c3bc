//! What a request says when it begins, where that is not what was compiled before the run.

use wire::{Client, Request};

use crate::redirect::Follower;
use crate::session::Sessions;

/// The message that begins in a place instead of its request, as HTTP/1.1 has it: where a redirect
/// led, or what a user of a script asks. What a user asks is written into `out`, if the protocol
/// has to be told; else it is written when it is sent.
#[inline]
pub(super) fn message_of<'a, C: Client>(
    (follower, sessions): (Option<&'a mut Follower>, Option<&mut Sessions>),
    (place, request, goes_on): (u32, &Request, bool),
    round: impl FnOnce() -> u64,
    out: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    let id = request.id();
    if let Some(follower) = follower {
        return follower.begin(place, id.0 / 2, goes_on, request.closes());
    }
    let sessions = sessions.filter(|_| C::WRITES)?;
    out.clear();
    match sessions.write(place, round(), id, out) {
        true => Some(out.as_slice()),
        false => None,
    }
}
