//! The programs that answer where a server asks one (CGI): written and built by us, so that all
//! servers run the same one, and each answers with the bytes of the file of its length.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::Experiment;

use super::{Made, Site, open_to_all};
use crate::error::LabError;
use crate::server::Search;

/// What C compilers are called.
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];

/// What answers as a CGI program, with two words for what it says.
const CGI: &str = include_str!("cgi.c");

/// What answers as an application of FastCGI, behind a table of the documents.
const FASTCGI: &str = include_str!("fastcgi.c");

/// Writes the programs that the workloads of `experiment` need into the folder of `site`: for CGI
/// one for each document, named by its length. What this machine cannot build is left out: servers
/// say themselves what they lack.
pub fn build(site: &Site, experiment: &Experiment, search: &Search) -> Result<(), LabError> {
    let folder_of = |name: &str| -> Result<Option<PathBuf>, LabError> {
        let is_wanted = |handler: Option<&str>| handler == Some(name);
        let mut workloads = experiment.workloads().iter();
        if !workloads.any(|workload| is_wanted(workload.maker())) {
            return Ok(None);
        }
        let folder = site.programs().join(name);
        fs::create_dir_all(&folder).map_err(LabError::file("create", &folder))?;
        open_to_all(site.programs(), 0o755)?;
        open_to_all(&folder, 0o755)?;
        Ok(Some(folder))
    };
    for (name, build) in [("cgi-c", in_c as Build), ("cgi-perl", in_perl)] {
        let Some(folder) = folder_of(name)? else {
            continue;
        };
        for document in site.made() {
            let program = folder.join(document.bytes.to_string());
            if build(document, &program, search)? {
                open_to_all(&program, 0o755)?;
            }
        }
    }
    if let Some(folder) = folder_of("fastcgi-c")? {
        let program = folder.join("answers");
        if compile(&fastcgi(site.made()), &program, search)? {
            open_to_all(&program, 0o755)?;
        }
    }
    Ok(())
}

/// Builds one; false where that takes a program that is not there.
type Build = fn(&Made, &Path, &Search) -> Result<bool, LabError>;

/// The source of the application that has these documents.
fn fastcgi(documents: &[Made]) -> String {
    let row = |one: &Made| format!("    {{{}, \"{}\"}},\n", one.bytes, one.text);
    let rows: String = documents.iter().map(row).collect();
    format!(
        "static const struct document {{\n    long bytes;\n    const char *text;\n}} documents[] = \
         {{\n{rows}    {{0, 0}},\n}};\n{FASTCGI}"
    )
}

/// A program that answers each request alike, once it has read what came with it: a server that
/// still writes that when the program has gone fails.
fn in_c(document: &Made, program: &Path, search: &Search) -> Result<bool, LabError> {
    let answer = format!(
        "Content-Type: text/html\\r\\nContent-Length: {}\\r\\nX-Handler: cgi-c %ld\\r\\n\\r\\n%s",
        document.bytes
    );
    let text = CGI
        .replace("ANSWER", &answer)
        .replace("TEXT", &document.text);
    compile(&text, program, search)
}

/// Compiles `text`; false where there is no compiler.
fn compile(text: &str, program: &Path, search: &Search) -> Result<bool, LabError> {
    let Some(compiler) = search.program(&COMPILERS) else {
        return Ok(false);
    };
    let source = program.with_extension("c");
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
         my $length = $ENV{{CONTENT_LENGTH}} || 0;\n\
         read(STDIN, my $content, $length) if $length > 0;\n\
         print \"Content-Type: text/html\\r\\nContent-Length: {}\\r\\n\
         X-Handler: cgi-perl $$\\r\\n\\r\\n{}\";\n",
        perl.display(),
        document.bytes,
        document.text
    );
    fs::write(program, text).map_err(LabError::file("write", program))?;
    Ok(true)
}

#[cfg(test)]
mod tests;
