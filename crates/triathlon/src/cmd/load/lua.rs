//! The flags of a script in Lua.

use std::path::PathBuf;

use model::plan::RequestFile;

use super::targets::Asks;
use crate::exit::UsageError;
use crate::lua::{Script, attended};

/// A script in Lua.
#[derive(clap::Args, Debug)]
pub(super) struct Lua {
    /// Run the Lua script in FILE, with the functions that wrk has: setup, init, delay, request,
    /// response, done. docs/script.md tells more
    #[arg(
        short = 's',
        long = "lua",
        value_name = "FILE",
        id = "lua",
        requires = "urls",
        conflicts_with_all = [
            "capacity", "data", "forms", "har", "http2", "http2_prior_knowledge", "http3", "list",
            "pipeline", "raw", "request", "requests_per_connection", "script", "think", "weights",
        ]
    )]
    lua: Option<PathBuf>,

    /// A word for init() of the script in Lua; may be given several times
    #[arg(
        long = "lua-arg",
        value_name = "WORD",
        id = "lua_args",
        requires = "lua",
        allow_hyphen_values = true
    )]
    lua_args: Vec<String>,

    /// Words for init() of the script in Lua, as wrk takes them, behind those of --lua-arg
    #[arg(last = true, value_name = "WORD", id = "lua_words")]
    words: Vec<String>,
}

impl Lua {
    /// Runs the script for so many threads, and puts what it asks in the place of what was asked.
    pub(super) fn read(&self, asks: &mut Asks, threads: u32) -> anyhow::Result<Option<Script>> {
        let Some(path) = &self.lua else {
            return match self.words.first() {
                None => Ok(None),
                Some(word) => Err(without_a_script(word).into()),
            };
        };
        let [request] = asks.requests.as_slice() else {
            let why = "--lua: give one URL; the script decides what else is requested";
            return Err(UsageError(why.to_owned()).into());
        };
        let request: RequestFile = request.clone();
        let name = path.display().to_string();
        let words = [self.lua_args.as_slice(), &self.words].concat();
        let (path, addresses) = (path.clone(), asks.addresses.clone());
        let read = move || Script::read(&path, &words, &request, &addresses, threads);
        let script = attended(&name, read)?;
        asks.requests = vec![script.request.clone()];
        if !script.addresses.is_empty() {
            asks.addresses.clone_from(&script.addresses);
        }
        Ok(Some(script))
    }
}

/// What is said of a word for which there is no script.
fn without_a_script(word: &str) -> UsageError {
    UsageError(format!(
        "'{word}': words behind -- are those of a script in Lua: give one with -s/--lua FILE, or \
         write URLs and flags before the --"
    ))
}
