//! A look at the first request of the first user, where its bytes differ from user to user.
//!
//! It is sent with the values that the run draws for that user. They follow from the plan's seed,
//! so that no list or counter loses one. Later requests are not sent before the run, for they may
//! need what the earlier ones did. Nor is one that may change something on the server (RFC 9110
//! §9.2.1): it might take what belongs to a user.

use std::net::SocketAddr;

use model::plan::Plan;
use model::record::Reference;
use sys::reactor::Reactor;
use wire::{Client, Request};

use super::fetch::{self, Fetcher};
use super::settled::Settled;
use super::{Fetched, asks_nothing, fetch_from_all};
use crate::expectation::Expectation;
use crate::run::LoadError;
use crate::script::Walks;
use crate::session;

impl Settled {
    /// Asks each address in `targets` once for `class`, as the first user does, and takes out those
    /// that cannot be reached. No answer comes back where this is not what that user begins with,
    /// or where it may change something.
    pub(super) fn look<R: Reactor, C: Client>(
        &mut self,
        fetcher: &mut Fetcher<'_, R, C>,
        (plan, request, class): (&Plan, &Request, u16),
        expectation: &Expectation,
        targets: &mut Vec<SocketAddr>,
    ) -> Result<Option<Reference>, LoadError> {
        let asked = &plan.requests()[usize::from(class)];
        let is_safe = matches!(asked.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        if !is_safe || first_asked(plan) != Some(class) {
            return Ok(None);
        }
        let message = session::first_message(plan, request.id());
        let fetched = fetch_from_all(fetcher, request, message.as_deref(), targets);
        self.reach(plan, &asked.url, &fetched)?;
        targets.clone_from(&fetched.targets);
        if let Some(why) = wrong(expectation, &fetched) {
            if !asks_nothing(&asked.expect) {
                return Err(LoadError::Unexpected(why));
            }
            let name = &asked.name;
            self.notes.push(format!(
                "before the run '{name}' was sent once, as the first user sends it, and failed: \
                 {why}"
            ));
        }
        Ok(described(
            expectation,
            &fetched,
            fetcher.name_of(targets[0]),
        ))
    }
}

/// What the first user asks first.
fn first_asked(plan: &Plan) -> Option<u16> {
    let file = plan.file();
    let script = file.script.as_ref()?;
    let first = (0, file.workers);
    let mut walks = Walks::new(script, file.seed, first, 1, (1, Box::default()));
    walks.go_on(0)?;
    walks.take(0, 0)
}

/// Why the run would count one of the answers as wrong, if it would.
fn wrong(expectation: &Expectation, fetched: &Fetched) -> Option<String> {
    let each = fetched.answers.iter();
    let mut causes = each.filter_map(|answer| {
        let status = expectation.check_status(answer.status);
        status.or_else(|| expectation.check_length(answer.length))
    });
    let cause = fetched.failure.or_else(|| causes.next());
    cause.map(|cause| cause.to_string())
}

/// As the record tells it: other users are answered with other content.
fn described(expectation: &Expectation, fetched: &Fetched, address: String) -> Option<Reference> {
    (!fetched.answers.is_empty()).then(|| Reference {
        dynamic: true,
        checked: expectation.describe(),
        ..fetch::describe(&fetched.answers, address)
    })
}
