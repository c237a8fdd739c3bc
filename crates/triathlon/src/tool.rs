//! What this program says about itself.

use model::environment::Tool;

/// The version, and the commit where it is known: two builds that differ in it may not understand
/// each other.
pub(crate) const BUILD: &str = env!("TRIATHLON_BUILD");

/// This build, as every trial has it.
pub(crate) fn this() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("TRIATHLON_COMMIT")
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        debug_build: !load::IS_OPTIMISED,
        // The reader of the environment sees a tracer, if there is one.
        traced: false,
    }
}
