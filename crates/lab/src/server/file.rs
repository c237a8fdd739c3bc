//! The file form of a server: `servers/NAME/server.toml`, as an administrator writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// `server.toml` as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerToml {
    /// How to install it, by system.
    pub(super) install: String,
    /// What keeps it from putting itself into the background, where nobody can watch it.
    #[serde(default = "stay_in_the_foreground")]
    pub(super) foreground: String,
    /// Whether it can be stopped for a while (SIGSTOP) and go on as if nothing had been: a manager
    /// with a watchdog cannot.
    #[serde(default = "yes")]
    pub(super) bears_freezing: bool,
    /// It gets faster while it runs: how long it is loaded at most until its rate is steady.
    pub(super) steady_within: Option<Spanned<String>>,
    /// Where it logs requests, below its private folder.
    #[serde(default = "access_log_file")]
    pub(super) access_log_file: String,
    /// Which way it runs where an experiment says nothing: one of `variant`.
    pub(super) variant_default: Option<Spanned<String>>,
    /// Its processes in the order in which they are started: whatever stands behind comes first,
    /// and the last one is asked.
    #[serde(default)]
    pub(super) process: Vec<Spanned<ProcessToml>>,
    /// How an experiment's own directives are written.
    pub(super) settings: Option<SettingsToml>,
    /// Which of them limit connections that last.
    pub(super) keep_alive: Option<KeepAliveToml>,
    /// What is set for each preset.
    #[serde(default)]
    pub(super) preset: Choices,
    /// How it can log requests, and how that is set.
    pub(super) access_log: Choices,
    /// Where its answers can come from, and how that is set.
    #[serde(default)]
    pub(super) handler: Choices,
    /// Which protocols it speaks, and how that is set.
    #[serde(default)]
    pub(super) protocol: Choices,
    /// Why it does not speak the others, by their names: a sentence each.
    #[serde(default)]
    pub(super) without: BTreeMap<String, String>,
    /// Ways in which it can run, and how each is set.
    #[serde(default)]
    pub(super) variant: Choices,
}

/// `[settings]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsToml {
    /// The configuration file that has them, below the private folder.
    pub(super) file: String,
    /// A line of it, with `{name}` and `{value}`.
    pub(super) line: String,
    /// The line behind which those stand that the preset does not have; none: at its end.
    #[serde(default)]
    pub(super) after: String,
}

/// `[keep_alive]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct KeepAliveToml {
    /// The directive that limits the requests of a connection.
    pub(super) requests: Option<String>,
    /// Its value for no limit.
    pub(super) unlimited: Option<String>,
    /// The directive that limits how long nothing may come, in seconds.
    pub(super) idle: Option<String>,
}

/// What can be chosen of one kind, by name.
pub(super) type Choices = BTreeMap<String, Choice>;

/// What a choice sets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    /// Text for templates: `{{ setting.access_log }}`.
    pub(super) text: Option<Spanned<String>>,
    /// More arguments of the process that is asked.
    #[serde(default)]
    pub(super) arguments: Vec<Spanned<String>>,
    /// Programs, or files by their whole paths, of which one must be there.
    #[serde(default)]
    pub(super) requires: Vec<String>,
    /// What to do where none is.
    pub(super) install: Option<String>,
    /// What takes part in answers then, and how it tells its version.
    #[serde(default)]
    pub(super) versions: Vec<MakerToml>,
}

/// One of `versions`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MakerToml {
    /// Programs to ask, the likeliest first.
    pub(super) programs: Vec<String>,
    /// As for `version`.
    pub(super) arguments: Vec<String>,
    /// As for `version`.
    pub(super) pattern: Spanned<String>,
}

/// `[[process]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessToml {
    /// Its name, where a rig has several: its port is `{{ ports.NAME }}`.
    pub(super) name: Option<String>,
    /// Programs to look for, the likeliest first. `@triathlon` is this program.
    pub(super) programs: Spanned<Vec<String>>,
    /// Handlers, protocols and variants that need it; none: it always takes part.
    #[serde(default)]
    pub(super) only_for: Vec<String>,
    /// Programs, or files by their whole paths, of which one must be there too.
    #[serde(default)]
    pub(super) requires: Vec<String>,
    /// How it tells its version; none: it is not asked.
    pub(super) version: Option<VersionToml>,
    /// How it tests its own configuration; none: its start is the test.
    pub(super) check: Option<CheckToml>,
    /// Its arguments; one that comes out empty is left out.
    #[serde(default)]
    pub(super) arguments: Vec<Spanned<String>>,
    /// Its environment beside the lab's own.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, Spanned<String>>,
    /// Folders that must exist below the private folder.
    #[serde(default)]
    pub(super) folders: Vec<String>,
    /// Files to write below the private folder, and the template that each is written from.
    #[serde(default)]
    pub(super) files: BTreeMap<String, Spanned<String>>,
    /// When it is ready.
    #[serde(default)]
    pub(super) ready: ReadyToml,
    /// How it is ended.
    #[serde(default)]
    pub(super) stop: StopToml,
    /// How it is made to read its configuration again while it serves; none: it cannot.
    pub(super) reload: Option<ReloadToml>,
}

/// `reload`: a signal, or a command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReloadToml {
    /// The signal that makes it do that.
    pub(super) signal: Option<ReloadSignal>,
    /// The program of the command, the likeliest name first; none: the server's own.
    #[serde(default)]
    pub(super) programs: Vec<String>,
    /// The arguments of the command.
    pub(super) arguments: Option<Vec<Spanned<String>>>,
    /// How long the command may take.
    #[serde(default = "reload_within")]
    pub(super) within: Spanned<String>,
}

/// `version`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionToml {
    /// The arguments that make it tell its version.
    pub(super) arguments: Vec<String>,
    /// What of its output is the version: the first group, or all that matches.
    pub(super) pattern: Spanned<String>,
}

/// `check`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckToml {
    /// The arguments that make it test its configuration, and end.
    pub(super) arguments: Vec<Spanned<String>>,
    /// How long that may take.
    #[serde(default = "check_within")]
    pub(super) within: Spanned<String>,
}

/// `ready`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReadyToml {
    /// Processes that there must be at least, itself included: an expression.
    pub(super) processes: Spanned<String>,
    /// Threads that serve that there must be at least, each with an event loop of its own: an
    /// expression; none: they are not counted.
    pub(super) threads: Option<Spanned<String>>,
    /// Whether its port must be listened to.
    pub(super) listens: bool,
    /// How long that may take.
    pub(super) within: Spanned<String>,
}

impl Default for ReadyToml {
    fn default() -> Self {
        Self {
            processes: unwritten("1"),
            threads: None,
            listens: true,
            within: unwritten("15s"),
        }
    }
}

/// `stop`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StopToml {
    /// What makes it leave at once.
    pub(super) signal: SignalName,
    /// How long that may take before it is killed.
    pub(super) within: Spanned<String>,
}

impl Default for StopToml {
    fn default() -> Self {
        Self {
            signal: SignalName::Term,
            within: unwritten("3s"),
        }
    }
}

/// A signal by the name that shells use.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum SignalName {
    Hup,
    Int,
    Kill,
    Quit,
    Term,
    Usr1,
    Usr2,
}

impl From<SignalName> for sys::process::Signal {
    fn from(name: SignalName) -> Self {
        match name {
            SignalName::Hup => Self::Hangup,
            SignalName::Int => Self::Interrupt,
            SignalName::Kill => Self::Kill,
            SignalName::Quit => Self::Quit,
            SignalName::Term => Self::Terminate,
            SignalName::Usr1 => Self::User1,
            SignalName::Usr2 => Self::User2,
        }
    }
}

/// A signal that a process lives on after, by the name that shells use.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum ReloadSignal {
    Hup,
    Usr1,
    Usr2,
}

impl From<ReloadSignal> for sys::process::Signal {
    fn from(name: ReloadSignal) -> Self {
        match name {
            ReloadSignal::Hup => Self::Hangup,
            ReloadSignal::Usr1 => Self::User1,
            ReloadSignal::Usr2 => Self::User2,
        }
    }
}

fn unwritten(text: &str) -> Spanned<String> {
    Spanned::new(0..0, text.to_owned())
}

fn check_within() -> Spanned<String> {
    unwritten("30s")
}

fn reload_within() -> Spanned<String> {
    unwritten("10s")
}

fn stay_in_the_foreground() -> String {
    "start it so that it stays in the foreground".to_owned()
}

fn access_log_file() -> String {
    "logs/access.log".to_owned()
}

const fn yes() -> bool {
    true
}
