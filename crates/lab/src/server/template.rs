//! Templates of configuration files and arguments: Jinja's syntax, with file and line in errors.
//!
//! A name that nothing has is a mistake and not an empty text. What needs code is a small function
//! that templates call by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, syntax::SyntaxConfig};

use super::{Preset, Setup};
use crate::experiment::nearest;

/// The values that every template can use.
pub(super) const NAMES: &[&str] = &[
    "access_log",
    "address",
    "connections",
    "cpus",
    "directory",
    "documents",
    "is_root",
    "needs",
    "port",
    "ports",
    "preset",
    "programs",
    "protocol",
    "reload",
    "setting",
    "site",
    "tls",
    "variant",
    "workers",
];

/// The functions that every template can call.
const FUNCTIONS: &[&str] = &["apache_modules", "cpu_masks", "first_file"];

/// Reads templates. It knows our functions, and the texts that it was given.
pub(super) fn engine() -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    // A line that holds nothing but a tag leaves nothing behind.
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .expect("the delimiters are Jinja's own");
    engine.set_syntax(syntax);
    engine.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    engine.add_function("apache_modules", apache_modules);
    engine.add_function("cpu_masks", cpu_masks);
    engine.add_function("first_file", first_file);
    engine
}

/// Why a template gives nothing.
#[derive(Debug)]
pub(super) struct Broken {
    /// The line in it, from 1.
    pub(super) line: usize,
    /// What is wrong, a sentence.
    pub(super) why: String,
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        let why = match (error.kind(), error.detail()) {
            (ErrorKind::InvalidOperation, Some(detail)) => detail.to_owned(),
            (kind, Some(detail)) => format!("{kind}: {detail}"),
            (kind, None) => kind.to_string(),
        };
        Self {
            line: error.line().unwrap_or(1),
            why,
        }
    }
}

/// Refuses a text that is no template, or that uses a name that nothing has.
pub(super) fn check(engine: &Environment<'_>, text: &str) -> Result<(), Broken> {
    let template = engine.template_from_str(text)?;
    let mut unknown: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    unknown.retain(|name| !NAMES.contains(&name.as_str()) && !FUNCTIONS.contains(&name.as_str()));
    unknown.sort_unstable();
    match unknown.first() {
        None => Ok(()),
        Some(name) => Err(Broken {
            line: line_of(text, name),
            why: nobody_knows(name),
        }),
    }
}

/// Whether `text` is a template that uses one of these values.
pub(super) fn uses(engine: &Environment<'_>, text: &str, values: &[&str]) -> bool {
    let template = engine.template_from_str(text);
    template.is_ok_and(|template| {
        let used = template.undeclared_variables(false);
        values.iter().any(|value| used.contains(*value))
    })
}

/// Fills `text` with `values`.
pub(super) fn render(
    engine: &Environment<'_>,
    text: &str,
    values: &Value,
) -> Result<String, Broken> {
    check(engine, text)?;
    Ok(engine.template_from_str(text)?.render(values.clone())?)
}

/// What the expression comes to: a whole number.
pub(super) fn count(
    engine: &Environment<'_>,
    expression: &str,
    values: &Value,
) -> Result<usize, Broken> {
    let value = engine
        .compile_expression(expression)?
        .eval(values.clone())?;
    usize::try_from(value.clone()).map_err(|_| Broken {
        line: 1,
        why: format!("it gives '{value}', which is not a whole number"),
    })
}

/// Refuses a text that is no expression.
pub(super) fn check_expression(engine: &Environment<'_>, text: &str) -> Result<(), Broken> {
    engine.compile_expression(text)?;
    // The same names are known to an expression as to a template that prints it.
    check(engine, &format!("{{{{ {text} }}}}"))
}

fn nobody_knows(name: &str) -> String {
    let known = NAMES.iter().chain(FUNCTIONS).copied();
    let near = nearest(name, known.clone());
    let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let known: Vec<&str> = known.collect();
    format!(
        "there is no value '{name}'; there are {}{near}",
        known.join(", ")
    )
}

/// The first line that has `name` as a word.
fn line_of(text: &str, name: &str) -> usize {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let has_word = |line: &str| line.split(|c| !is_letter(c)).any(|word| word == name);
    let place = text
        .lines()
        .position(|line| line.contains('{') && has_word(line));
    place.map_or(1, |index| index + 1)
}

/// The values of one process of a rig.
pub(super) fn values(
    setup: &Setup<'_>,
    ports: &BTreeMap<String, u16>,
    port: u16,
    setting: &BTreeMap<&str, String>,
) -> Value {
    let preset = match setup.preset {
        Preset::Stock => "stock",
        Preset::Template { .. } => "template",
        Preset::Tuned => "tuned",
    };
    let text = |path: &Path| Value::from(path.display().to_string());
    let setting = setting.iter().map(|(kind, text)| (*kind, text.clone()));
    let documents = setup.documents.iter().map(|document| {
        BTreeMap::from([
            ("bytes", Value::from(document.bytes)),
            ("text", Value::from(document.text.as_str())),
        ])
    });
    let tls = setup.certificate.map(|files| {
        BTreeMap::from([
            ("both", text(&files.both)),
            ("certificate", text(&files.certificate)),
            ("key", text(&files.key)),
            ("kind", files.kind.to_string().into()),
        ])
    });
    let all: [(&str, Value); 19] = [
        ("access_log", setup.access_log.name().into()),
        ("address", setup.address.to_string().into()),
        ("connections", setup.connections.into()),
        ("cpus", setup.cpus.to_vec().into()),
        ("directory", text(setup.directory)),
        ("documents", documents.collect::<Vec<_>>().into()),
        ("is_root", (sys::process::effective_user() == 0).into()),
        ("needs", setup.needs.to_vec().into()),
        ("port", port.into()),
        ("ports", Value::from(ports.clone())),
        ("preset", preset.into()),
        ("programs", text(setup.programs)),
        ("protocol", setup.protocol.name().into()),
        ("reload", setup.reload.into()),
        ("setting", setting.collect::<BTreeMap<_, _>>().into()),
        ("site", text(setup.site)),
        ("tls", tls.map_or_else(|| false.into(), Value::from)),
        ("variant", setup.variant.into()),
        ("workers", setup.workers().into()),
    ];
    assert!(all.iter().map(|(name, _)| name).eq(NAMES));
    BTreeMap::from(all).into()
}

/// `cpu_masks(cpus)`: one bit mask for each CPU, the rightmost bit is CPU 0.
fn cpu_masks(cpus: Vec<u32>) -> Vec<String> {
    let last = cpus.iter().copied().max().unwrap_or(0);
    let mask = |cpu: u32| {
        let bits = (0..=last).rev();
        bits.map(|bit| if bit == cpu { '1' } else { '0' }).collect()
    };
    cpus.into_iter().map(mask).collect()
}

/// `first_file(paths)`: the first of them that is there; distributions keep modules in different
/// folders.
fn first_file(paths: Vec<String>) -> Result<String, Error> {
    let found = paths.iter().find(|path| Path::new(path).is_file());
    found.cloned().ok_or_else(|| {
        let why = format!("none of these files is there: {}", paths.join(", "));
        Error::new(ErrorKind::InvalidOperation, why)
    })
}

/// Where distributions keep Apache's modules.
const APACHE_MODULES: &[&str] = &[
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/lib64/apache2-event",
    "/usr/local/apache2/modules",
];

/// `apache_modules()`: the folder of Apache's modules.
fn apache_modules() -> Result<String, Error> {
    let found = APACHE_MODULES
        .iter()
        .map(PathBuf::from)
        .find(|folder| folder.join("mod_mpm_event.so").is_file());
    found
        .map(|folder| folder.display().to_string())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOperation,
                format!(
                    "its module mod_mpm_event.so is in none of {}",
                    APACHE_MODULES.join(", ")
                ),
            )
        })
}
