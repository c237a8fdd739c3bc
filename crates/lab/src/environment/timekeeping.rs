//! How well this machine's clock of the day is kept, and by whom.

use std::path::Path;

use model::environment::Timekeeping;
use sys::clock::{Discipline, discipline};
use sys::counters::process;

/// Programs that keep clocks, each with the name that the kernel has of its process: it has room
/// for 15 bytes.
const KEEPERS: [(&str, &str); 5] = [
    ("chronyd", "chronyd"),
    ("ntpd", "ntpd"),
    ("phc2sys", "phc2sys"),
    ("ptp4l", "ptp4l"),
    ("systemd-timesyn", "systemd-timesyncd"),
];

/// The state of the clock, and who keeps it; none where this process may not ask. It looks at the
/// name of every process.
pub fn read(proc: &Path) -> Option<Timekeeping> {
    Some(told(discipline().ok()?, keepers(proc)))
}

/// The state of the clock as it is now, kept by whom `before` says: one call of the kernel.
pub fn again(before: Option<&Timekeeping>) -> Option<Timekeeping> {
    let kept_by = before.map_or_else(Vec::new, |before| before.kept_by.clone());
    Some(told(discipline().ok()?, kept_by))
}

fn told(state: Discipline, kept_by: Vec<String>) -> Timekeeping {
    Timekeeping {
        synchronised: state.is_synchronised,
        error_at_most: state.error_at_most,
        error_estimated: state.error_estimated,
        correction_left_ns: state.correction_left_ns,
        kept_by,
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
        let before = told(state, vec!["chronyd".to_owned()]);
        assert_eq!(before.error_at_most, model::Span::from_us(900));
        let kept_by = again(Some(&before)).map(|now| now.kept_by);
        assert!(kept_by.is_none_or(|kept_by| kept_by == ["chronyd"]));
    }
}
