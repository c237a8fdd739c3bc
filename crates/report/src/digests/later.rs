//! Questions and figures that came after a run: neither says how anything was measured, so that
//! trials answer them as those which they were made for.

use model::Experiment;

use super::Run;
use crate::asked::of_a_later_file;

impl Run {
    /// Puts what `later` asks, and what it has of earlier studies, in the place of what the record
    /// has, and says so if it is not the same. `file` is what readers call it.
    pub fn ask_later(&mut self, later: &Experiment, file: &str) {
        if (&self.published, &self.asked) == (&later.file().published, &later.file().asked) {
            return;
        }
        let first = later.workloads().first().map(|one| one.name.as_str());
        self.published.clone_from(&later.file().published);
        self.asked.clone_from(&later.file().asked);
        for demand in &mut self.asked {
            // What goes without saying there may be another workload here.
            if demand.show.is_some() && demand.workload.is_none() {
                demand.workload = first.map(str::to_owned);
            }
        }
        self.notes.push(of_a_later_file(file));
        self.is_asked_later = true;
    }

    /// Whether its questions and figures came after it.
    pub(crate) const fn is_asked_later(&self) -> bool {
        self.is_asked_later
    }
}
