//! What this program says about itself in every trial.

use model::environment::Tool;

/// This build.
pub(crate) fn this() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("TRIATHLON_COMMIT")
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        debug_build: cfg!(debug_assertions),
        // The reader of the environment sees a tracer, if there is one.
        traced: false,
    }
}
