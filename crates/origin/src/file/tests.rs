use std::os::unix::fs::symlink;

use super::*;

const LONG_AGO: u64 = 4_000_000_000; // for a clock that runs ahead, every file is settled
const REVALIDATION: Span = Span::from_ms(100);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

fn files(folder: &std::path::Path) -> Files {
    Files::new(Folder::open(folder).unwrap(), REVALIDATION)
}

fn content(files: &mut Files, path: &str, now: Instant) -> Result<String, Missing> {
    match files.find(path.as_bytes(), now, LONG_AGO)? {
        Found::File(file, _) => Ok(String::from_utf8(file.content.clone().unwrap()).unwrap()),
        Found::Folder => Ok("(folder)".to_owned()),
    }
}

#[test]
fn a_change_is_seen_within_the_revalidation_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, "one").unwrap();
    let mut files = files(folder.path());
    assert_eq!(content(&mut files, "a", at(0)).unwrap(), "one");
    std::fs::write(folder.path().join("b"), "two").unwrap();
    std::fs::rename(folder.path().join("b"), &path).unwrap();
    assert_eq!(content(&mut files, "a", at(99)).unwrap(), "one");
    assert_eq!(content(&mut files, "a", at(100)).unwrap(), "two");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(content(&mut files, "a", at(199)).unwrap(), "two");
    assert_eq!(content(&mut files, "a", at(200)), Err(Missing::Nothing));
    std::fs::create_dir(&path).unwrap();
    assert_eq!(content(&mut files, "a", at(200)).unwrap(), "(folder)");
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, "three").unwrap();
    assert_eq!(content(&mut files, "a", at(201)).unwrap(), "three");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(content(&mut files, "a", at(301)).unwrap(), "(folder)");
}

#[test]
fn what_did_not_change_is_kept_and_what_is_fresh_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "one").unwrap();
    let mut files = files(folder.path());
    let mut find = |ms, second| match files.find(b"a", at(ms), second) {
        Ok(Found::File(file, _)) => file,
        other => panic!("{other:?}"),
    };
    let first = find(0, LONG_AGO);
    assert!(Rc::ptr_eq(&first, &find(100, LONG_AGO)), "it was settled");
    let changed = u64::try_from(first.identity.changed.0).unwrap();
    // The same file, found by a server that starts in the second of the change:
    let mut fresh = Files::new(Folder::open(folder.path()).unwrap(), REVALIDATION);
    let mut find = |ms| match fresh.find(b"a", at(ms), changed + 1) {
        Ok(Found::File(file, _)) => file,
        other => panic!("{other:?}"),
    };
    assert!(
        !Rc::ptr_eq(&find(0), &find(100)),
        "it could have changed again"
    );
}

#[test]
fn only_regular_files_inside_are_served() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let folder = tempfile::tempdir_in(outside.path()).unwrap();
    symlink("../secret", folder.path().join("out")).unwrap();
    symlink("/dev/zero", folder.path().join("device")).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let mut files = files(folder.path());
    let long = "x".repeat(300);
    for path in ["out", "device", "socket", "none", "file/below", &long] {
        assert_eq!(
            content(&mut files, path, at(0)),
            Err(Missing::Nothing),
            "{path}"
        );
    }
    assert_eq!(content(&mut files, "", at(0)).unwrap(), "(folder)");
    assert_eq!(content(&mut files, "file", at(0)).unwrap(), "");
}

#[test]
fn the_number_of_open_files_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = files(folder.path());
    for name in 0..KEPT_LIMIT + 10 {
        let name = format!("f{name}");
        std::fs::hard_link(folder.path().join("f0"), folder.path().join(&name))
            .or_else(|_| std::fs::write(folder.path().join(&name), "x"))
            .unwrap();
        content(&mut files, &name, at(0)).unwrap();
        content(&mut files, "f0", at(0)).unwrap();
    }
    assert_eq!(files.kept.len(), KEPT_LIMIT);
    assert!(
        files.kept.contains_key(b"f0".as_slice()),
        "who is used stays"
    );
}
