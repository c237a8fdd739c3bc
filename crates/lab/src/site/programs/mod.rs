//! The programs that answer where a server asks one (CGI): written and built by us, so that all
//! servers run the same one, and each answers with the bytes of the file of its length.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use model::Experiment;

use super::{Made, Site, open_to_all};
use crate::error::LabError;
use crate::server::Search;

/// What C compilers are called.
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];

/// Writes the programs that the workloads of `experiment` need into the folder of `site`, one for
/// each document, named by its length. What this machine cannot build is left out: servers say
/// themselves what they lack.
pub fn build(site: &Site, experiment: &Experiment, search: &Search) -> Result<(), LabError> {
    for (name, build) in [("cgi-c", in_c as Build), ("cgi-perl", in_perl)] {
        let is_wanted = |handler: Option<&str>| handler == Some(name);
        let mut workloads = experiment.workloads().iter();
        if !workloads.any(|workload| is_wanted(workload.maker())) {
            continue;
        }
        let folder = site.programs().join(name);
        fs::create_dir_all(&folder).map_err(LabError::file("create", &folder))?;
        open_to_all(site.programs(), 0o755)?;
        open_to_all(&folder, 0o755)?;
        for document in site.made() {
            let program = folder.join(document.bytes.to_string());
            if build(document, &program, search)? {
                open_to_all(&program, 0o755)?;
            }
        }
    }
    Ok(())
}

/// Builds one; false where that takes a program that is not there.
type Build = fn(&Made, &Path, &Search) -> Result<bool, LabError>;

fn in_c(document: &Made, program: &Path, search: &Search) -> Result<bool, LabError> {
    let Some(compiler) = search.program(&COMPILERS) else {
        return Ok(false);
    };
    let source = program.with_extension("c");
    let text = format!(
        "#include <stdio.h>\n\
         int main(void) {{\n    \
             return fputs(\"Content-Type: text/html\\r\\nContent-Length: {}\\r\\n\\r\\n{}\", \
         stdout) < 0;\n\
         }}\n",
        document.bytes, document.text
    );
    fs::write(&source, text).map_err(LabError::file("write", &source))?;
    let built = Command::new(&compiler)
        .arg("-O2")
        .arg("-o")
        .arg(program)
        .arg(&source)
        .stdin(Stdio::null())
        .output();
    let failed = |why: String| LabError::File {
        doing: "compile",
        path: source.clone(),
        source: std::io::Error::other(why),
    };
    let built = built.map_err(|error| failed(error.to_string()))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let line = said.lines().next().unwrap_or_default();
        return Err(failed(format!("{}: {line}", compiler.display())));
    }
    Ok(true)
}

fn in_perl(document: &Made, program: &Path, search: &Search) -> Result<bool, LabError> {
    let Some(perl) = search.program(&["perl"]) else {
        return Ok(false);
    };
    let text = format!(
        "#!{}\n\
         print \"Content-Type: text/html\\r\\nContent-Length: {}\\r\\n\\r\\n{}\";\n",
        perl.display(),
        document.bytes,
        document.text
    );
    fs::write(program, text).map_err(LabError::file("write", program))?;
    Ok(true)
}

#[cfg(test)]
mod tests;
