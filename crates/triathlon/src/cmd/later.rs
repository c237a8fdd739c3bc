//! `triathlon report --asked FILE`: what a file that is later than a record asks of it, and what it
//! has of earlier studies.

use std::path::Path;

use lab::experiment::ReadError;
use lab::probe::question::{self, Question};
use model::Experiment;
use model::probe::ProbesFile;
use report::Run;
use report::asked::of_a_later_file;

use super::probe::refused;
use crate::exit::UsageError;

/// An experiment whose questions and figures stand in the place of those of a record.
pub(super) struct Later {
    /// As it was given.
    given: String,
    asks: Asks,
}

/// Whom it asks.
enum Asks {
    Probes(Box<ProbesFile>),
    Trials(Box<Experiment>),
}

impl Later {
    /// Reads the experiment of that path or built-in name.
    pub(super) fn read(name: &str) -> anyhow::Result<Self> {
        let asks = match question::read(name).map_err(refused)? {
            Some(question) => Asks::Probes(Box::new(question.file)),
            None => {
                let read = lab::experiment::read_to_ask(name);
                let read = read.map_err(|error| match error {
                    ReadError::Unreadable { .. } => anyhow::Error::from(error),
                    _ => UsageError(error.to_string()).into(),
                });
                Asks::Trials(Box::new(read?))
            }
        };
        Ok(Self {
            given: name.to_owned(),
            asks,
        })
    }

    /// Asks this of a run.
    pub(super) fn ask(&self, run: &mut Run) -> Result<(), UsageError> {
        match &self.asks {
            Asks::Trials(experiment) => {
                run.ask_later(experiment, &self.name());
                Ok(())
            }
            Asks::Probes(_) => Err(self.is_of_others("probes", "trials")),
        }
    }

    /// Asks this of probes; what their page says of it, if it is not what was asked.
    pub(super) fn ask_probes(&self, question: &mut Question) -> Result<Option<String>, UsageError> {
        match &self.asks {
            Asks::Probes(file) => {
                let asked = (&question.file.published, &question.file.asked);
                if asked == (&file.published, &file.asked) {
                    return Ok(None);
                }
                question.file.published.clone_from(&file.published);
                question.file.asked.clone_from(&file.asked);
                Ok(Some(of_a_later_file(&self.name())))
            }
            Asks::Trials(_) => Err(self.is_of_others("trials", "probes")),
        }
    }

    /// What readers of a page call it, which may be handed out: its file's name without the folders
    /// of this machine.
    fn name(&self) -> String {
        let name = Path::new(&self.given).file_name();
        let name = name.map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.given.clone())
    }

    fn is_of_others(&self, asked: &str, given: &str) -> UsageError {
        UsageError(format!(
            "--asked {}: its questions are for {asked}, and the results that were given are \
             {given}",
            self.given
        ))
    }
}
