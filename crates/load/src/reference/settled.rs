//! What is settled of answers before the run, server by server.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use model::plan::{Plan, Url};
use model::record::{Reference, Tally};
use sys::reactor::Reactor;
use wire::Client;

use super::fetch::Fetcher;
use super::{Fetched, Findings, asks_nothing, fetch_from_all, only_status, settle, unfetched};
use crate::exchange::Cause;
use crate::expectation::Expectation;
use crate::request::Requests;
use crate::run::LoadError;

/// After so many requests that had no answer in time, those that follow are not waited for.
const HANGING_MOST: usize = 3;

/// What is settled so far.
#[derive(Default)]
pub(super) struct Settled {
    /// By the position of the request: what its answers are held against, and the answer that this
    /// was taken from.
    answers: BTreeMap<usize, (Expectation, Option<Reference>)>,
    targets: Vec<Vec<SocketAddr>>,
    /// Requests to one server that had no answer in time.
    hanging: usize,
    pub(super) tally: Tally,
    pub(super) notes: Vec<String>,
}

impl Settled {
    /// Asks the server in position `host` for each of its requests.
    pub(super) fn ask<R: Reactor, C: Client>(
        &mut self,
        fetcher: &mut Fetcher<'_, R, C>,
        (plan, requests): (&Plan, &Requests),
        host: usize,
        addresses: &[SocketAddr],
    ) -> Result<(), LoadError> {
        let mut targets = addresses.to_vec();
        let several = plan.requests().len() > 1;
        let mut unasked = 0;
        self.hanging = 0;
        for (request, class) in plan.requests().iter().zip(0u16..) {
            let position = usize::from(class);
            if plan.host_of(position) != host {
                continue;
            }
            let named = |error: LoadError| match error {
                LoadError::Unexpected(why) if several => {
                    LoadError::Unexpected(format!("'{}': {why}", request.name))
                }
                error => error,
            };
            let is_last = plan.file().requests_per_connection == Some(1);
            let sent = requests.of(class, is_last);
            if !plan.is_fixed(position) {
                let expectation = unfetched(&request.expect, &request.name)?;
                let looked = (plan, sent, class);
                let looked = self.look(fetcher, looked, &expectation, &mut targets);
                let reference = looked.map_err(named)?;
                self.answers.insert(position, (expectation, reference));
                continue;
            }
            if self.hanging >= HANGING_MOST && asks_nothing(&request.expect) {
                unasked += 1;
                let expectation = only_status(&request.expect);
                self.answers.insert(position, (expectation, None));
                continue;
            }
            let fetched = fetch_from_all(fetcher, sent, None, &targets);
            self.reach(plan, &request.url, &fetched)?;
            targets = fetched.targets;
            let from = self.notes.len();
            let settled = settle(
                &request.expect,
                &fetched.answers,
                fetched.failure,
                fetcher.name_of(targets[0]),
                &mut self.notes,
            )
            .map_err(named)?;
            if several {
                for note in &mut self.notes[from..] {
                    *note = format!("{}: {note}", request.name);
                }
            }
            self.answers.insert(position, settled);
        }
        if unasked > 0 {
            self.notes.push(format!(
                "requests that were not asked before the run, because {HANGING_MOST} before them \
                 had no answer in time: {unasked}; checked: status 200"
            ));
        }
        self.targets.push(targets);
        Ok(())
    }

    /// Fails where asking for `url` reached no server that can be measured; else notes what it met.
    pub(super) fn reach(
        &mut self,
        plan: &Plan,
        url: &Url,
        fetched: &Fetched,
    ) -> Result<(), LoadError> {
        if fetched.targets.is_empty() {
            return Err(fetched.unreachable(plan, url));
        }
        fetched.check_certificates(url)?;
        if matches!(fetched.failure, Some(Cause::Timeout { .. })) {
            self.hanging += 1;
        }
        let unused = fetched.unreachable.iter();
        let unused = unused.map(|reason| format!("not used: {reason}"));
        self.notes.extend(unused);
        Ok(())
    }

    /// All of it.
    pub(super) fn findings(self) -> Findings {
        let (expectations, references) = self.answers.into_values().unzip();
        Findings {
            expectations,
            references,
            targets: self.targets,
            tally: self.tally,
            notes: self.notes,
        }
    }
}
