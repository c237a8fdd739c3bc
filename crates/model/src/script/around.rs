//! What lies outside of a script.

use crate::plan::Expectation;

/// Where a script finds what lies outside of it.
pub trait Around {
    /// The content of the file that a script names.
    ///
    /// # Errors
    ///
    /// It cannot be read, for this reason.
    fn file(&self, name: &str) -> Result<Vec<u8>, String>;

    /// The value of a variable of the environment, if there is one.
    fn environment(&self, name: &str) -> Option<String>;

    /// What more is known of what a step asks for than its text: where names stand for contents of
    /// the server, the one that it names. None where the text is a URL or a path and says it all.
    ///
    /// # Errors
    ///
    /// The text names nothing, for this reason.
    fn named(&self, _asked: &str) -> Result<Option<Named>, String> {
        Ok(None)
    }
}

/// A content of the server that steps may name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Named {
    /// Its path and query.
    pub path: String,
    /// What a right answer to a GET is, where that is known.
    pub expect: Option<Expectation>,
}

/// Nothing lies outside.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Around for Alone {
    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!(
            "cannot read {name}: no file belongs to this script"
        ))
    }

    fn environment(&self, _: &str) -> Option<String> {
        None
    }
}
