use std::process::Command;
use std::time::Duration;

use sys::process::{Confinement, Signal};

use super::*;

/// What a run leaves that was killed: a folder with a lock file that nobody holds.
fn dead(parent: &Path, lock: &str) -> PathBuf {
    let folder = tempfile::tempdir_in(parent).unwrap().keep();
    fs::create_dir_all(folder.join("www/small")).unwrap();
    fs::write(folder.join("www/small/7.html"), "content").unwrap();
    fs::write(folder.join(LOCK), lock).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn what_a_dead_run_left_goes_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path();
    let gone = dead(parent, &format!("{MARK}\n"));
    let strange = dead(parent, "somebody else's\n");
    let nameless = parent.join("triathlon-abc123");
    fs::create_dir(&nameless).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = dead(elsewhere.path(), &format!("{MARK}\n"));
    std::os::unix::fs::symlink(&other, parent.join("link")).unwrap();
    let living = Scratch::create_in(parent, "triathlon-").unwrap();
    fs::write(living.path().join("file"), "content").unwrap();
    sweep(parent);
    assert!(!gone.exists());
    for kept in [&strange, &nameless, &other] {
        assert!(kept.exists(), "{kept:?}");
    }
    let mut kept = names(living.path());
    kept.sort();
    assert_eq!(kept, ["file", LOCK]);
    // It removes itself when it ends.
    let path = living.path().to_owned();
    drop(living);
    assert!(!path.exists());
}

#[test]
fn work_among_results_is_swept_too() {
    let root = tempfile::tempdir().unwrap();
    let results = root.path().join("2026-11-22T03-00-00Z");
    fs::create_dir(&results).unwrap();
    fs::write(results.join("bind.json"), "{}").unwrap();
    dead(&results, &format!("{MARK}\n"));
    sweep_below(root.path());
    assert_eq!(names(&results), ["bind.json"]);
}

#[test]
fn control_groups_of_a_dead_run_are_emptied_and_removed() {
    let parent = tempfile::tempdir().unwrap();
    let living = Scratch::create_in(parent.path(), "triathlon-").unwrap();
    let (Some(kept), Some(left)) = (living.leaf(), living.leaf()) else {
        return crate::testing::not_run("control groups are not permitted here");
    };
    let text = fs::read_to_string(living.path().join(LOCK)).unwrap();
    let groups: Vec<&str> = text.lines().skip(1).collect();
    assert!(groups.len() >= 2, "{groups:?}");
    let left_path = Path::new(groups[groups.len() - 1]);
    let mut member = sys::process::start(
        Command::new("sleep").arg("600"),
        Confinement {
            leaf: Some(&left),
            ..Confinement::default()
        },
    )
    .unwrap();
    assert_eq!(left.members(), [member.pid()]);
    // A folder that only bears such a name, and one of another name.
    let folder = parent.path().join("triathlon-1-2-3");
    fs::create_dir(&folder).unwrap();
    let lock = format!("{MARK}\n{}\n{}\n/\n", left_path.display(), folder.display());
    let gone = dead(parent.path(), &lock);
    sweep(parent.path());
    assert!(!gone.exists() && !left_path.exists());
    let ended = member.wait(Duration::from_secs(20)).unwrap();
    assert_eq!(ended.signal, Some(9));
    assert!(folder.exists());
    assert_eq!(kept.members(), Vec::<u32>::new());
    assert!(kept.cpu().is_ok(), "a living run's group was touched");
    member.stop(Signal::Kill, Duration::ZERO, None);
}
