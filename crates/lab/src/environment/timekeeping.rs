//! How well this machine's clock of the day is kept, and by whom.

use std::path::Path;

use model::environment::Timekeeping;
use sys::clock::{Discipline, discipline};
use sys::counters::process;

use super::{chrony, ptp};

/// The program that tells more than the kernel does.
const CHRONY: &str = "chronyd";

/// Programs that keep clocks, each with the name that the kernel has of its process: it has room
/// for 15 bytes.
const KEEPERS: [(&str, &str); 5] = [
    (CHRONY, CHRONY),
    ("ntpd", "ntpd"),
    ("phc2sys", "phc2sys"),
    ("ptp4l", "ptp4l"),
    ("systemd-timesyn", "systemd-timesyncd"),
];

/// Where it is read who keeps the clock.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a> {
    /// `/proc`.
    pub proc: &'a Path,
    /// `/sys`.
    pub sys: &'a Path,
}

impl Default for Roots<'_> {
    fn default() -> Self {
        Self {
            proc: Path::new("/proc"),
            sys: Path::new("/sys"),
        }
    }
}

/// The state of the clock, and who keeps it; none where this process may not ask. It looks at the
/// name of every process, and where chronyd runs it starts chronyc: nothing to do during a load.
pub fn read(roots: Roots<'_>) -> Option<Timekeeping> {
    let kept_by = keepers(roots.proc);
    let is_chrony = kept_by.iter().any(|name| name == CHRONY);
    let kept = Timekeeping {
        chrony: is_chrony.then(chrony::ask).flatten(),
        ptp_clocks: ptp::clocks(roots.sys),
        kept_by,
        ..Timekeeping::default()
    };
    Some(told(discipline().ok()?, kept))
}

/// The state of the clock as it is now, kept as `before` says: one call of the kernel.
pub fn again(before: Option<&Timekeeping>) -> Option<Timekeeping> {
    let kept = before.cloned().unwrap_or_default();
    Some(told(discipline().ok()?, kept))
}

fn told(state: Discipline, kept: Timekeeping) -> Timekeeping {
    Timekeeping {
        synchronised: state.is_synchronised,
        error_at_most: state.error_at_most,
        error_estimated: state.error_estimated,
        correction_left_ns: state.correction_left_ns,
        ..kept
    }
}

/// Those that run, each once.
fn keepers(proc: &Path) -> Vec<String> {
    let stats = process::all(proc).into_iter();
    let names = stats.filter_map(|pid| Some(process::stat(proc, pid).ok()?.name));
    let names: Vec<String> = names.collect();
    let runs = |name: &str| names.iter().any(|one| one == name);
    let running = KEEPERS.iter().filter(|(name, _)| runs(name));
    running.map(|(_, known)| (*known).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn who_keeps_the_clock_is_told_by_the_names_of_processes() {
        let proc = tempfile::tempdir().unwrap();
        let run = |pid: u32, name: &str| {
            let folder = proc.path().join(pid.to_string());
            fs::create_dir(&folder).unwrap();
            let numbers = "0 ".repeat(40);
            let stat = format!("{pid} ({name}) S 1 {numbers}\n");
            fs::write(folder.join("stat"), stat).unwrap();
        };
        assert_eq!(keepers(proc.path()), Vec::<String>::new());
        run(1, "systemd");
        run(70, "ptp4l");
        run(71, "ptp4l");
        run(80, "systemd-timesyn");
        run(90, "chronyd-helper");
        assert_eq!(keepers(proc.path()), ["ptp4l", "systemd-timesyncd"]);
    }

    #[test]
    fn who_kept_it_is_not_looked_for_again() {
        let state = Discipline {
            is_synchronised: true,
            error_at_most: model::Span::from_us(900),
            error_estimated: model::Span::from_us(30),
            correction_left_ns: -5,
        };
        let kept = Timekeeping {
            kept_by: vec![CHRONY.to_owned()],
            ..Timekeeping::default()
        };
        let before = told(state, kept);
        assert_eq!(before.error_at_most, model::Span::from_us(900));
        let kept_by = again(Some(&before)).map(|now| now.kept_by);
        assert!(kept_by.is_none_or(|kept_by| kept_by == [CHRONY]));
    }
}
