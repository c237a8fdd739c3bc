//! How connections come and go by the plan, whatever the server does.

use serde::{Deserialize, Serialize};

use super::{PlanError, PlanFile, field};
use crate::units::{Rate, Span};

/// A share is written as so many of these.
const ALL: u32 = 1_000_000;

/// When connections are opened, and which request is the last on one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// So many connections are opened per second at most, over all workers, from the first on;
    /// none: as fast as the server takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_per_1000_s: Option<Rate>,
    /// A request that begins on a connection of this age is its last; none: of any age.
    #[serde(
        rename = "lifetime_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub lifetime: Option<Span>,
    /// So many of a million requests, drawn at random, are the last on their connection; none: none
    /// are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_of_million: Option<u32>,
    /// A connection that is made anew comes from the source address of the one before it, also
    /// where the plan has more of them than connections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_source: bool,
}

impl Renewal {
    /// Whether nothing is said of it.
    pub const fn is_none(&self) -> bool {
        self.opened_per_1000_s.is_none() && !self.closes() && !self.keeps_source
    }

    /// Whether we close connections by it.
    pub const fn closes(&self) -> bool {
        self.lifetime.is_some() || self.last_of_million.is_some()
    }

    /// How long it takes to open `connections`.
    pub fn ramp(&self, connections: u32) -> Span {
        let Some(rate) = self.opened_per_1000_s.filter(|rate| !rate.is_zero()) else {
            return Span::ZERO;
        };
        let ns = u128::from(connections) * 1_000_000_000_000 / u128::from(rate.as_per_1000_s());
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// What is said of connections fits together.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let Renewal {
        opened_per_1000_s,
        lifetime,
        last_of_million,
        ..
    } = file.renewal;
    let is_led = file.lua_at_work().is_some();
    let has_users = file.think.is_some() || file.script.is_some() || is_led;
    let wrong = |name, why| Err(field(name, why));
    match () {
        () if opened_per_1000_s.is_some_and(Rate::is_zero) => {
            wrong("renewal.opened_per_1000_s", "give more than 0")
        }
        () if opened_per_1000_s.is_some() && has_users && file.arrivals.rate().is_none() => wrong(
            "renewal.opened_per_1000_s",
            "users who think or follow a script connect when they ask: let them begin one after \
             the other (start of a script)",
        ),
        () if lifetime.is_some_and(Span::is_zero) => {
            wrong("renewal.lifetime_ns", "give more than 0")
        }
        () if last_of_million.is_some_and(|share| share == 0 || share > ALL) => wrong(
            "renewal.last_of_million",
            "give more than 0 % and at most 100 %",
        ),
        () if file.renewal.closes() && is_led => wrong(
            "renewal",
            "connections of a script in Lua with request(), response() or delay() last as long as \
             the server keeps them",
        ),
        () if file.renewal.closes() && file.requests_per_connection == Some(0) => wrong(
            "renewal",
            "0 requests per connection ask nothing, so each connection ends with its handshake",
        ),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::plan::{LuaFile, Plan};

    #[test]
    fn what_cannot_be_is_told() {
        let check = |change: fn(&mut PlanFile), expected: &str| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.renewal = Renewal {
                opened_per_1000_s: Some(Rate::per_second(10)),
                lifetime: Some(Span::from_s(1)),
                last_of_million: Some(ALL),
                keeps_source: false,
            };
            change(&mut file);
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{said}");
        };
        check(|_| {}, "ok");
        check(
            |file| file.renewal.opened_per_1000_s = Some(Rate::per_second(0)),
            "renewal.opened_per_1000_s: give more than 0",
        );
        check(
            |file| file.renewal.lifetime = Some(Span::ZERO),
            "renewal.lifetime_ns: give more than 0",
        );
        check(
            |file| file.renewal.last_of_million = Some(0),
            "at most 100 %",
        );
        check(
            |file| file.renewal.last_of_million = Some(ALL + 1),
            "at most 100 %",
        );
        check(
            |file| file.think = Some("1s".parse().unwrap()),
            "users who think or follow a script connect when they ask",
        );
        let lua = |file: &mut PlanFile| {
            file.lua = Some(LuaFile {
                asks: true,
                ..LuaFile::default()
            });
            file.renewal.opened_per_1000_s = None;
        };
        check(lua, "last as long as the server keeps them");
    }

    #[test]
    fn a_ramp_is_as_long_as_its_connections_need() {
        let renewal = Renewal {
            opened_per_1000_s: Some(Rate::per_second(100)),
            ..Renewal::default()
        };
        assert_eq!(renewal.ramp(250), Span::from_ms(2_500));
        assert_eq!(Renewal::default().ramp(250), Span::ZERO);
        assert!(!renewal.closes() && !renewal.is_none());
    }
}
