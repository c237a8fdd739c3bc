//! What tests need: a way to say that they could not run.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Tells that the test that calls this was not run, and why.
#[expect(clippy::print_stderr, reason = "the harness shows it")]
pub(crate) fn not_run(why: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test of sys");
    eprintln!("not run, because {why}: {name}");
    if let Some(path) = std::env::var_os("TRIATHLON_NOT_RUN") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.expect("the list of tests not run can be written");
        writeln!(file, "{why}: {name}").expect("the list of tests not run can be written");
    }
}
