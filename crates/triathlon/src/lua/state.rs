//! One state of Lua: the script in it, the functions that it finds, and what is called in it.
//!
//! Nothing that Lua calls here returns an error: the release build ends a program in which an error
//! of LuaJIT passes through a frame of Rust. What is refused is returned, and raised in Lua. For
//! the same reason tables that belong to the script are read raw.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use load::author::{Asked, Author};
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value};
use model::Span;

use super::carry::Carried;
use super::{Place, Text};

const PRELUDE: &str = include_str!("prelude.lua");

/// How long `wrk.connect` waits.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The longest that `delay` makes a connection wait, in milliseconds: more than eleven days.
const DELAY_LONGEST_MS: f64 = 1e9;

/// What the states of a run know of each other.
#[derive(Debug)]
pub(super) struct Threads {
    all: Box<[Thread]>,
    /// Where connections lead that no script leads elsewhere.
    usual: Option<SocketAddr>,
}

#[derive(Debug, Default)]
struct Thread {
    lua: OnceLock<Lua>,
    address: Mutex<Option<SocketAddr>>,
    has_stopped: AtomicBool,
    asked: Arc<Asked>,
}

impl Threads {
    pub(super) fn new(count: u32, usual: Option<SocketAddr>) -> Self {
        Self {
            all: (0..count).map(|_| Thread::default()).collect(),
            usual,
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.all.len()
    }

    /// The address that the script gave a thread.
    pub(super) fn address(&self, index: usize) -> Option<SocketAddr> {
        let address = self.all.get(index)?.address.lock();
        *address.unwrap_or_else(PoisonError::into_inner)
    }

    fn set_address(&self, index: usize, address: Option<SocketAddr>) {
        if let Some(thread) = self.all.get(index) {
            *(thread.address.lock()).unwrap_or_else(PoisonError::into_inner) = address;
        }
    }

    /// What a thread is asked.
    pub(super) fn asked(&self, index: usize) -> Arc<Asked> {
        let thread = self.all.get(index);
        thread.map_or_else(Arc::default, |thread| Arc::clone(&thread.asked))
    }

    /// Whether the run ended without one of them, which did not return from the script.
    pub(super) fn are_left_behind(&self) -> bool {
        (self.all.iter()).any(|thread| thread.asked.is_left_behind())
    }

    fn stop(&self, index: usize) {
        if let Some(thread) = self.all.get(index) {
            thread.has_stopped.store(true, Ordering::Relaxed);
        }
    }

    fn has_stopped(&self, index: usize) -> bool {
        let thread = self.all.get(index);
        thread.is_some_and(|thread| thread.has_stopped.load(Ordering::Relaxed))
    }

    /// The value of a global of a thread.
    fn get(&self, index: usize, name: &Value) -> Result<Carried, String> {
        let lua = self.lua(index)?;
        let value: mlua::Result<Value> = lua.globals().raw_get(carry(name, lua)?);
        Carried::from(&value.map_err(|error| sentence(&error))?)
    }

    fn set(&self, index: usize, name: &Value, value: &Value) -> Result<(), String> {
        let lua = self.lua(index)?;
        let set = lua.globals().raw_set(carry(name, lua)?, carry(value, lua)?);
        set.map_err(|error| sentence(&error))
    }

    fn lua(&self, index: usize) -> Result<&Lua, String> {
        let thread = self.all.get(index);
        let lua = thread.and_then(|thread| thread.lua.get());
        Ok(lua.ok_or("there is no such thread")?)
    }
}

/// The same value in another state.
fn carry(value: &Value, lua: &Lua) -> Result<Value, String> {
    let carried = Carried::from(value)?;
    carried.into(lua).map_err(|error| sentence(&error))
}

/// One state.
#[derive(Clone, Debug)]
pub(super) struct State {
    lua: Lua,
    ours: Table,
    threads: Arc<Threads>,
}

impl State {
    /// Runs the script in a new state: that of a thread, or the one beside them.
    pub(super) fn new(
        text: &Text,
        place: &Place,
        threads: &Arc<Threads>,
        index: Option<usize>,
    ) -> Result<Self, String> {
        let state = Self::prepared(place, threads).map_err(|error| sentence(&error))?;
        if let Some(index) = index {
            let lua = &threads.all[index].lua;
            assert!(lua.set(state.lua.clone()).is_ok(), "a thread has one state");
            state.call::<()>("attach", index)?;
        }
        let chunk = state.lua.load(text.code.as_slice());
        let chunk = chunk.set_name(format!("@{}", text.shown));
        let ran = chunk.set_mode(ChunkMode::Text).exec();
        ran.map_err(|error| match sentence(&error) {
            said if said.starts_with(&text.shown) => said,
            said => format!("{}: {said}", text.shown),
        })?;
        Ok(state)
    }

    /// A state in which `wrk` is there, and no script has run.
    fn prepared(place: &Place, threads: &Arc<Threads>) -> mlua::Result<Self> {
        let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::default())?;
        let given = lua.create_table()?;
        given.raw_set("scheme", place.scheme)?;
        given.raw_set("host", place.host.as_str())?;
        given.raw_set("port", place.port.as_deref())?;
        given.raw_set("path", place.path.as_str())?;
        let fields = lua.create_table()?;
        for (name, value) in &place.headers {
            fields.raw_push(lua.create_sequence_from([name.as_str(), value.as_str()])?)?;
        }
        given.raw_set("headers", fields)?;
        given.raw_set("lookup", lua.create_function(lookup)?)?;
        given.raw_set("connect", lua.create_function(connect)?)?;
        give_threads(&lua, &given, threads)?;
        let chunk = lua.load(PRELUDE).set_name("=wrk");
        let ours: Table = chunk.call(given)?;
        Ok(Self {
            lua,
            ours,
            threads: Arc::clone(threads),
        })
    }

    fn function(&self, name: &str) -> Function {
        let found = self.ours.raw_get(name);
        found.expect("the prelude has it")
    }

    /// Calls a function of the prelude.
    pub(super) fn call<R: mlua::FromLuaMulti>(
        &self,
        name: &str,
        arguments: impl mlua::IntoLuaMulti,
    ) -> Result<R, String> {
        let called = self.function(name).call(arguments);
        called.map_err(|error| sentence(&error))
    }

    /// Whether the script has a function of this name.
    pub(super) fn has(&self, name: &str) -> Result<bool, String> {
        self.call("has", name)
    }

    /// The next text of requests.
    pub(super) fn request(&self) -> Result<Vec<u8>, String> {
        let made: LuaString = self.call("request", ())?;
        Ok(made.as_bytes().to_vec())
    }

    /// The arguments of `init`: the URL at 0, and what stands behind it.
    pub(super) fn init(&self, url: &str, words: &[String]) -> Result<(), String> {
        let table = || -> mlua::Result<Table> {
            let table = self.lua.create_table()?;
            table.raw_set(0, url)?;
            for (index, word) in words.iter().enumerate() {
                table.raw_set(index + 1, word.as_str())?;
            }
            Ok(table)
        };
        self.call("init", table().map_err(|error| sentence(&error))?)
    }

    pub(super) const fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Who works in this state while the run goes on.
    pub(super) fn author(&self, index: usize) -> Box<dyn Author> {
        Box::new(Writer {
            lua: self.lua.clone(),
            request: self.function("request"),
            response: self.function("response"),
            delay: self.function("delay"),
            flush: self.function("flush"),
            threads: Arc::clone(&self.threads),
            index,
        })
    }
}

/// The script of one thread at work.
#[derive(Debug)]
struct Writer {
    lua: Lua,
    request: Function,
    response: Function,
    delay: Function,
    flush: Function,
    threads: Arc<Threads>,
    index: usize,
}

/// At the end of its run, what the script has printed is shown before anybody tells of that run.
impl Drop for Writer {
    fn drop(&mut self) {
        let _closed: mlua::Result<()> = self.flush.call(());
    }
}

impl Author for Writer {
    fn request(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let made: mlua::Result<LuaString> = self.request.call(());
        let made = made.map_err(|error| sentence(&error))?;
        out.extend_from_slice(&made.as_bytes());
        Ok(())
    }

    fn answer(&mut self, status: u16, head: &[u8], content: &[u8]) -> Result<(), String> {
        let told = || -> mlua::Result<()> {
            let (head, content) = (
                self.lua.create_string(head)?,
                self.lua.create_string(content)?,
            );
            self.response.call((status, head, content))
        };
        told().map_err(|error| sentence(&error))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within bounds, and wrk drops parts of milliseconds too"
    )]
    fn delay(&mut self) -> Result<Span, String> {
        let ms: mlua::Result<f64> = self.delay.call(());
        let ms = ms.map_err(|error| sentence(&error))?;
        // What is no number becomes 0.
        Ok(Span::from_ms(ms.clamp(0.0, DELAY_LONGEST_MS) as u64))
    }

    fn has_stopped(&self) -> bool {
        self.threads.has_stopped(self.index)
    }
}

/// The functions that are about threads.
fn give_threads(lua: &Lua, given: &Table, threads: &Arc<Threads>) -> mlua::Result<()> {
    let of = Arc::clone(threads);
    let get = lua.create_function(move |lua, (index, name): (Value, Value)| {
        let carried = of.get(position(&index), &name);
        let value = carried.and_then(|value| value.into(lua).map_err(|error| sentence(&error)));
        Ok(match value {
            Ok(value) => (true, value),
            Err(why) => (false, text(lua, &why)),
        })
    })?;
    given.raw_set("get", get)?;
    let of = Arc::clone(threads);
    let set = lua.create_function(move |lua, (index, name, value): (Value, Value, Value)| {
        Ok(match of.set(position(&index), &name, &value) {
            Ok(()) => (true, Value::Nil),
            Err(why) => (false, text(lua, &why)),
        })
    })?;
    given.raw_set("set", set)?;
    let of = Arc::clone(threads);
    let stop = lua.create_function(move |_, index: Value| {
        of.stop(position(&index));
        Ok(())
    })?;
    given.raw_set("stop", stop)?;
    let of = Arc::clone(threads);
    let address = lua.create_function(move |lua, index: Value| {
        let address = of.address(position(&index)).or(of.usual);
        Ok(address.map_or(Value::Nil, |address| text(lua, &address.to_string())))
    })?;
    given.raw_set("address", address)?;
    let of = Arc::clone(threads);
    let set_address = lua.create_function(move |_, (index, address): (Value, Value)| {
        of.set_address(
            position(&index),
            written(&address).and_then(|text| text.parse().ok()),
        );
        Ok(())
    })?;
    given.raw_set("set_address", set_address)
}

/// All addresses of a host with a port, or with the name of a scheme.
fn lookup(lua: &Lua, (host, service): (Value, Value)) -> mlua::Result<(Value, Value)> {
    let found = || -> Result<Value, String> {
        let host = written(&host).ok_or("wrk.lookup: the host is not a string")?;
        let service = written(&service).ok_or("wrk.lookup: the service is not a string")?;
        let port = match service.as_str() {
            "http" => 80,
            "https" => 443,
            other => (other.parse()).map_err(|_| {
                format!(
                    "wrk.lookup: there is no service \
                 '{other}'"
                )
            })?,
        };
        let addresses = (host.as_str(), port).to_socket_addrs();
        let addresses = addresses
            .map_err(|error| format!("unable to resolve {host}:{service}: {error}"))?
            .map(|address| address.to_string());
        let table = lua.create_sequence_from(addresses);
        Ok(Value::Table(table.map_err(|error| sentence(&error))?))
    };
    Ok(match found() {
        Ok(found) => (found, Value::Nil),
        Err(why) => (Value::Nil, text(lua, &why)),
    })
}

/// Whether somebody listens there.
fn connect(_: &Lua, address: Value) -> mlua::Result<bool> {
    let address: Option<SocketAddr> = written(&address).and_then(|text| text.parse().ok());
    let connect = |address| TcpStream::connect_timeout(&address, CONNECT_TIME).is_ok();
    Ok(address.is_some_and(connect))
}

/// A value as text, as Lua has it: numbers are texts too.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string_lossy()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The number of a thread, as the prelude says it.
fn position(value: &Value) -> usize {
    let number = value.as_integer();
    number
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(usize::MAX)
}

fn text(lua: &Lua, text: &str) -> Value {
    lua.create_string(text).map_or(Value::Nil, Value::String)
}

/// What was wrong, with file and line as Lua says them, and without its stack.
pub(super) fn sentence(error: &mlua::Error) -> String {
    let said = match error {
        mlua::Error::RuntimeError(said) => said.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let end = said.find("\nstack traceback:").unwrap_or(said.len());
    let said = &said[..end];
    // What `error` was given there is no text.
    match said.split_once(": 0x") {
        Some((kind @ ("table" | "function" | "userdata" | "thread"), _)) => {
            format!("the script raised an error that is a {kind}, and not a text")
        }
        _ => said.to_owned(),
    }
}
