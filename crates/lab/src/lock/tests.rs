use super::*;

#[test]
fn a_second_lab_learns_who_measures_and_since_when() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    assert_eq!(holder(&path), None);
    let lock = Lock::take(&path).unwrap();
    let found = holder(&path).unwrap();
    assert_eq!(found.pid, std::process::id());
    let error = Lock::take(&path).unwrap_err().to_string();
    for part in [&format!("process {}", found.pid), &found.since, "--no-lock"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    drop(lock);
    assert_eq!(holder(&path), None);
    drop(Lock::take(&path).unwrap());
}

#[test]
fn what_a_dead_lab_left_is_nobodys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        assert_eq!(holder(&path), None, "{text}");
        drop(Lock::take(&path).unwrap());
    };
    // Our pid, and a process that began at another time.
    check(&format!("{} 1 2026-11-20T10:00:00Z\n", std::process::id()));
    check("4194304 1 2026-11-20T10:00:00Z\n");
    check("");
    check("not ours at all, and written by anybody");
}

/// A program that starts has copies of all descriptors for a moment.
#[test]
fn a_lock_that_is_given_back_is_free_though_a_copy_of_its_descriptor_lives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let lock = Lock::take(&path).unwrap();
    let copy = lock.file.try_clone().unwrap();
    drop(lock);
    drop(Lock::take(&path).unwrap());
    drop(copy);
}

#[test]
fn a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, precious) = (folder.path().join("lock"), folder.path().join("precious"));
    std::fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    assert!(Lock::take(&path).is_err());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
}
