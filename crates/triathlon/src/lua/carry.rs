//! Values on their way from the state of one thread to that of another.

use mlua::{Lua, Value};

/// The deepest that tables may lie in each other; one that holds itself has no end.
const DEEPEST: usize = 100;

/// A value without the state that it comes from.
#[derive(Clone, Debug)]
pub(super) enum Carried {
    Boolean(bool),
    Nil,
    Number(f64),
    Table(Vec<(Self, Self)>),
    Text(Vec<u8>),
}

impl Carried {
    /// What can be carried; else what it is.
    pub(super) fn from(value: &Value) -> Result<Self, String> {
        Self::of(value, 0)
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of LuaJIT is an f64")]
    fn of(value: &Value, depth: usize) -> Result<Self, String> {
        if depth > DEEPEST {
            return Err("cannot transfer a table that contains itself to thread".to_owned());
        }
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(truth) => Self::Boolean(*truth),
            Value::Integer(number) => Self::Number(*number as f64),
            Value::Number(number) => Self::Number(*number),
            Value::String(text) => Self::Text(text.as_bytes().to_vec()),
            Value::Table(table) => {
                let mut pairs = Vec::new();
                for pair in table.pairs::<Value, Value>() {
                    let (key, value) = pair.map_err(|error| error.to_string())?;
                    pairs.push((Self::of(&key, depth + 1)?, Self::of(&value, depth + 1)?));
                }
                Self::Table(pairs)
            }
            other => return Err(format!("cannot transfer '{}' to thread", other.type_name())),
        })
    }

    /// The same in this state.
    pub(super) fn into(self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Nil => Value::Nil,
            Self::Boolean(truth) => Value::Boolean(truth),
            Self::Number(number) => Value::Number(number),
            Self::Text(text) => Value::String(lua.create_string(text)?),
            Self::Table(pairs) => {
                let table = lua.create_table()?;
                for (key, value) in pairs {
                    table.raw_set(key.into(lua)?, value.into(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }
}
