//! Origin, our own server: to the lab a program like any other. It is this program, told to serve.

use std::ffi::OsString;
use std::path::PathBuf;

use model::experiment::AccessLog;
use sys::process::Signal;

use super::{Launch, Preset, Product, Search, Setup};

pub(super) struct Origin;

impl Product for Origin {
    fn name(&self) -> &'static str {
        "origin"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["triathlon"]
    }

    fn install(&self) -> &'static str {
        "it is part of this program"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn find(&self, search: &Search) -> Option<PathBuf> {
        Some(search.own.clone())
    }

    fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String> {
        if let Preset::Template(_) = setup.preset {
            return Err("origin has no configuration file, so no template either".to_owned());
        }
        Ok(serve(setup, &[]))
    }
}

/// Origin's null responder: fixed bytes from memory, to show how fast the generator can be.
struct Null;

/// The responder that the ceiling is measured against.
pub fn null_responder() -> &'static dyn Product {
    &Null
}

impl Product for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn programs(&self) -> &'static [&'static str] {
        Origin.programs()
    }

    fn install(&self) -> &'static str {
        Origin.install()
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        Origin.version_arguments()
    }

    fn find(&self, search: &Search) -> Option<PathBuf> {
        Origin.find(search)
    }

    fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String> {
        Ok(serve(setup, &["--synthetic"]))
    }
}

fn serve(setup: &Setup<'_>, more: &[&str]) -> Launch {
    let cpus: Vec<String> = setup.cpus.iter().map(ToString::to_string).collect();
    let mut arguments: Vec<OsString> = vec![
        "serve".into(),
        setup.site.into(),
        "--listen".into(),
        format!("127.0.0.1:{}", setup.port).into(),
        "--workers".into(),
        setup.workers().to_string().into(),
        "--cpus".into(),
        cpus.join(",").into(),
    ];
    arguments.extend(more.iter().map(OsString::from));
    if setup.access_log != AccessLog::Off {
        arguments.push("--access-log".into());
        arguments.push(setup.directory.join("logs/access.log").into());
    }
    if setup.access_log == AccessLog::Buffered {
        arguments.extend(["--log-buffer".into(), "64k".into()]);
    }
    Launch {
        arguments,
        files: Vec::new(),
        folders: vec!["logs"],
        processes: 1,
        stop: Some(Signal::Terminate),
    }
}
