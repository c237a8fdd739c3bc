//! One flag of another tool, and what becomes of it here: a row of that tool's table, from which
//! its command line is read, its help printed and its part of docs/tools.md made.

/// How a value is read: what comes out stands for `{}` in a flag of `triathlon load`.
pub(crate) type Read = fn(&str) -> Result<String, String>;

/// A flag of another tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// As they are typed, the short one first: `-c`, `--connections`.
    pub(crate) names: &'static [&'static str],
    /// What its value is called and how it is read; none if it has none.
    pub(crate) value: Option<(&'static str, Read)>,
    /// What it may be used for, there.
    pub(crate) about: &'static str,
    /// What becomes of it here.
    pub(crate) here: Here,
    /// Whether each time it is given counts; else the last one does.
    pub(crate) is_many: bool,
    /// Whether its value is a secret.
    pub(crate) is_secret: bool,
}

/// What becomes of a flag here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Here {
    /// It is this flag of `triathlon load`; `{}` stands for the value.
    Load(&'static str),
    /// It is done, as told.
    Done(&'static str),
    /// There is nothing to do, and why.
    Needless(&'static str),
    /// It is not done: why, and what to do instead.
    Refused(&'static str),
    /// It prints the help.
    Help,
    /// It prints the version.
    Version,
}

/// A flag that is refused unless something else is said of it.
pub(crate) const fn flag(names: &'static [&'static str], about: &'static str) -> Flag {
    Flag {
        names,
        value: None,
        about,
        here: Here::Refused("there is no word of it yet"),
        is_many: false,
        is_secret: false,
    }
}

impl Flag {
    /// It has a value that is read so.
    pub(crate) const fn takes(mut self, name: &'static str, read: Read) -> Self {
        self.value = Some((name, read));
        self
    }

    /// It has a value that is any text.
    pub(crate) const fn text(self, name: &'static str) -> Self {
        self.takes(name, any)
    }

    /// It may be given several times.
    pub(crate) const fn many(mut self) -> Self {
        self.is_many = true;
        self
    }

    /// Its value is a secret.
    pub(crate) const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// What becomes of it.
    const fn here(mut self, here: Here) -> Self {
        self.here = here;
        self
    }

    pub(crate) const fn load(self, template: &'static str) -> Self {
        self.here(Here::Load(template))
    }

    pub(crate) const fn done(self, how: &'static str) -> Self {
        self.here(Here::Done(how))
    }

    pub(crate) const fn needless(self, why: &'static str) -> Self {
        self.here(Here::Needless(why))
    }

    pub(crate) const fn refused(self, why: &'static str) -> Self {
        self.here(Here::Refused(why))
    }

    pub(crate) const fn help(self) -> Self {
        self.here(Here::Help)
    }

    pub(crate) const fn version(self) -> Self {
        self.here(Here::Version)
    }

    /// The names as a person writes of them: `-c/--connections`.
    pub(crate) fn shown(&self) -> String {
        self.names.join("/")
    }
}

/// Any text.
pub(crate) fn any(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// A whole number from 1.
pub(crate) fn count(text: &str) -> Result<String, String> {
    let number: Option<u64> = text.parse().ok().filter(|count| *count > 0);
    let number = number.ok_or_else(|| "write a whole number from 1".to_owned())?;
    Ok(number.to_string())
}

/// Whole seconds from 1, as `30s`.
pub(crate) fn seconds(text: &str) -> Result<String, String> {
    let number: Option<u64> = text.parse().ok().filter(|count| *count > 0);
    let number = number.ok_or_else(|| "write whole seconds from 1".to_owned())?;
    Ok(format!("{number}s"))
}

/// A file that is sent.
pub(crate) fn content(text: &str) -> Result<String, String> {
    Ok(format!("@{text}"))
}
