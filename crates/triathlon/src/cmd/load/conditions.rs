//! What conditions of `--threshold` and `--capacity` are about has to be there.

use model::plan::{Plan, ScriptFile};
use model::threshold::Threshold;

use crate::exit::UsageError;

/// Each condition is about a request that there is, or about pages that there are.
pub(super) fn check_names(thresholds: &[Threshold], plan: &Plan) -> Result<(), UsageError> {
    let has_pages = (plan.file().script.as_ref()).is_some_and(ScriptFile::has_pages);
    if let Some(one) = thresholds.iter().find(|one| one.is_of_pages())
        && !has_pages
    {
        return Err(UsageError(format!(
            "--threshold: '{}' is about whole pages, and nobody asks for one here: give users a \
             script with parts (--script)",
            one.text()
        )));
    }
    let names: Vec<&str> = match plan.requests() {
        [_] => Vec::new(),
        several => several.iter().map(|one| one.name.as_str()).collect(),
    };
    let mut asked = thresholds.iter().filter_map(Threshold::request);
    match asked.find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(_) if names.is_empty() => Err(UsageError(
            "--threshold: there is one request, so leave out {NAME}:".to_owned(),
        )),
        Some(name) => Err(UsageError(format!(
            "--threshold: no request is called '{name}'; there are {}",
            names.join(", ")
        ))),
    }
}
