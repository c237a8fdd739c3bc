//! A script in Lua that takes part in a run, as far as a plan can tell of it.

use serde::{Deserialize, Serialize};

use super::{PlanError, PlanFile, Protocol, field};

/// A script in Lua, with the functions of wrk. What it does is not in the plan: this says which
/// script it was, and what is its doing.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LuaFile {
    /// The name of its file, without the folder.
    pub name: String,
    /// The SHA-256 of that file, hexadecimal.
    pub sha256: String,
    /// It makes each request while the run goes on: the request of the plan says which server is
    /// asked, and no more.
    #[serde(default)]
    pub asks: bool,
    /// It reads each answer.
    #[serde(default)]
    pub hears: bool,
    /// It says before each request how long a connection waits.
    #[serde(default)]
    pub waits: bool,
}

impl LuaFile {
    /// Whether it does anything while the run goes on.
    pub const fn takes_part(&self) -> bool {
        self.asks || self.hears || self.waits
    }
}

impl PlanFile {
    /// The script in Lua that does something while the run goes on.
    pub fn lua_at_work(&self) -> Option<&LuaFile> {
        self.lua.as_ref().filter(|lua| lua.takes_part())
    }

    /// Whether a script in Lua makes the requests.
    pub fn is_asked_by_lua(&self) -> bool {
        self.lua.as_ref().is_some_and(|lua| lua.asks)
    }
}

/// The script goes with what else the plan says.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let Some(lua) = file.lua_at_work() else {
        return Ok(());
    };
    let is_open = file.arrivals.rate().is_some();
    let why = match () {
        () if file.protocol != Protocol::Http1 => "it reads and writes HTTP/1.1 alone",
        () if file.script.is_some() => "users follow one script: this one or --script",
        () if file.think.is_some() => "how long users wait is said by its delay()",
        () if lua.waits && is_open => {
            "its delay() is for a closed loop; requests of an open loop are due by the rate"
        }
        () if file.requests.len() > 1 => "it takes one URL",
        () if lua.asks && file.expect.decode_one_in.is_some() => {
            "what it asks is not fetched before the run, so there is nothing to hold decoded \
             content against (--decode)"
        }
        () if file.requests_per_connection.is_some() => {
            "connections last as long as the server keeps them"
        }
        () => return Ok(()),
    };
    Err(field("lua", why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::plan::{Arrivals, Plan, RequestFile};
    use crate::units::Rate;

    #[test]
    fn a_script_goes_with_what_else_is_said() {
        let check = |lua: LuaFile, change: fn(&mut PlanFile), expected: &str| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.lua = Some(lua);
            change(&mut file);
            let said = Plan::try_from(file).map_or_else(|error| error.to_string(), |_| "ok".into());
            assert!(said.contains(expected), "{said}");
        };
        let asks = || LuaFile {
            asks: true,
            ..LuaFile::default()
        };
        let waits = || LuaFile {
            waits: true,
            ..LuaFile::default()
        };
        let open = |file: &mut PlanFile| {
            file.arrivals = Arrivals::Fixed {
                rate_per_1000_s: Rate::per_second(1),
            };
        };
        check(asks(), |_| (), "ok");
        check(asks(), open, "ok");
        check(waits(), open, "lua: its delay() is for a closed loop");
        let http2 = |file: &mut PlanFile| file.protocol = Protocol::Http2;
        check(asks(), http2, "HTTP/1.1 alone");
        let decode = |file: &mut PlanFile| file.expect.decode_one_in = Some(1);
        check(asks(), decode, "nothing to hold decoded content against");
        // One that does nothing during the run only tells where the request came from.
        check(LuaFile::default(), http2, "ok");
        let two = |file: &mut PlanFile| {
            file.requests.push(RequestFile::get("http://127.0.0.1:1/b"));
        };
        check(asks(), two, "one URL");
        let last = |file: &mut PlanFile| file.requests_per_connection = Some(3);
        check(asks(), last, "as long as the server keeps them");
    }

    #[test]
    fn requests_of_a_script_are_not_fixed() {
        let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
        assert!(file.is_fixed(0));
        file.lua = Some(LuaFile {
            asks: true,
            ..LuaFile::default()
        });
        assert!(!file.is_fixed(0));
    }
}
