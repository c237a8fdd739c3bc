//! Why a demand has no number.

/// The reason, apart from what the run is called that it is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Why {
    /// It holds for every run.
    Any(String),
    /// The run has nothing that would be it.
    Lacking {
        /// What it is not: measured, or known.
        what: &'static str,
        why: String,
    },
}

/// A run as its own page calls it.
pub(crate) const HERE: &str = "here";

impl Why {
    pub(super) fn not_known(why: String) -> Self {
        Self::Lacking { what: "known", why }
    }

    pub(super) fn not_measured(why: String) -> Self {
        Self::Lacking {
            what: "measured",
            why,
        }
    }

    /// In words, where the run is called so: [`HERE`], `in the second run`.
    pub(crate) fn text(self, run: &str) -> String {
        match self {
            Self::Any(why) => why,
            Self::Lacking { what, why } => format!("not {what} {run}: {why}"),
        }
    }
}

impl From<String> for Why {
    fn from(why: String) -> Self {
        Self::Any(why)
    }
}
