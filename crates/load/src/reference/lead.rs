//! One answer before a run: redirects are followed as the run follows them.

use std::net::SocketAddr;

use sys::reactor::{Reactor, Stored};
use wire::{Client, Request};

use super::fetch::Fetcher;
use super::talk::Answer;
use crate::exchange::Cause;

impl<R: Reactor, C: Client> Fetcher<'_, R, C> {
    /// The answer to `request`, or the one that it leads to.
    pub(super) fn fetch(
        &mut self,
        request: &Request,
        stored: Stored,
        address: SocketAddr,
    ) -> Result<Answer, Cause> {
        let mut answer = self.talk(Some((request, stored, None)), address)?.answer();
        let class = request.id().0 / 2;
        let mut hop = None;
        while let Some(guide) = &self.guide {
            let mut fields = answer.fields.iter();
            let location = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"));
            let location = location.map(|(_, value)| value.as_bytes());
            let Some(next) = guide.lead(class, hop.as_ref(), answer.status, location) else {
                break;
            };
            if !guide.follows(&next) {
                answer.leads_on = true;
                break;
            }
            let message = guide.message(class, &next, request.closes());
            let stored = self.reactor.store(message.clone());
            let talked = self.talk(Some((request, stored, Some(&message))), address);
            self.reactor.discard(stored);
            answer = talked?.answer();
            hop = Some(next);
        }
        Ok(answer)
    }
}
