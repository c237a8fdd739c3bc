//! What an experiment names of the disk: the files of sites, and the content of requests.

use std::path::Path;

use model::ExperimentFile;
use model::experiment::AskedFile;

use crate::site::given;

/// A longer content of a request is no text for a file of experiments.
const CONTENT_MAX: u64 = 1 << 20;

/// Puts the text of each `content_file` in its place: an experiment is stored as one file. What is
/// wrong is told with its key.
pub(super) fn read_contents(written: &mut ExperimentFile) -> Result<(), (String, String)> {
    let read = |content: &mut Option<String>, file: &mut Option<String>, parent: String| {
        let Some(path) = file.as_ref().filter(|_| content.is_none()) else {
            return Ok(());
        };
        let wrong = |why: String| (format!("{parent}.content_file"), format!("{path}: {why}"));
        let length = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
        if length.len() > CONTENT_MAX {
            return Err(wrong("it is longer than 1M".to_owned()));
        }
        let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|_| wrong("it is not text".to_owned()))?;
        *content = Some(text);
        *file = None;
        Ok(())
    };
    for (index, workload) in written.workload.iter_mut().enumerate() {
        let parent = format!("workload[{index}]");
        let (content, file) = (&mut workload.content, &mut workload.content_file);
        read(content, file, parent.clone())?;
        for (number, asked) in workload.request.iter_mut().enumerate() {
            let parent = format!("{parent}.request[{number}]");
            read(&mut asked.content, &mut asked.content_file, parent)?;
        }
    }
    Ok(())
}

/// Workloads with a folder and no requests ask for all files that lie in it: what is left out is
/// returned, a sentence for each folder. What is wrong is told with its key.
pub(super) fn list_sites(written: &mut ExperimentFile) -> Result<Vec<String>, (String, String)> {
    let mut notes = Vec::new();
    for (index, workload) in written.workload.iter_mut().enumerate() {
        let Some(site) = &workload.site else {
            continue;
        };
        let of_site = |why: String| (format!("workload[{index}].site"), why);
        let asks_for_all = workload.request.is_empty() && workload.body.is_none();
        if !asks_for_all && !Path::new(site).is_dir() {
            return Err(of_site(format!("{site} is no folder")));
        }
        for (number, asked) in workload.request.iter().enumerate() {
            let leads_out = |file: &&String| file.split('/').any(|part| part == "..");
            let Some(file) = asked.file.as_ref().filter(|file| !leads_out(file)) else {
                continue;
            };
            if !Path::new(site).join(file).is_file() {
                let key = format!("workload[{index}].request[{number}].file");
                return Err((key, format!("there is no file {file} in {site}")));
            }
        }
        if asks_for_all {
            let there = given::files(Path::new(site)).map_err(of_site)?;
            let asked = |file: String| AskedFile {
                file: Some(file),
                ..AskedFile::default()
            };
            let left_out = there.left_out(site).filter(|said| !notes.contains(said));
            notes.extend(left_out);
            workload.request = there.files.into_iter().map(asked).collect();
        }
    }
    Ok(notes)
}
