use super::*;

#[test]
fn a_full_disk_is_told_with_the_setting_that_leads_elsewhere() {
    let check = |path: PathBuf, setting: &str, other: &str| {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let told = LabError::file("write", path)(full).to_string();
        assert!(told.contains("no space is left there"), "{told}");
        assert!(told.contains(setting) && !told.contains(other), "{told}");
    };
    let temporary = std::env::temp_dir();
    check(temporary.clone(), "TMPDIR", "--results");
    check(
        temporary.join("triathlon-abc/www/small"),
        "TMPDIR",
        "--results",
    );
    check(temporary.join("mine/first-heat"), "--results", "TMPDIR");
    check(PathBuf::from("/srv/results"), "--results", "TMPDIR");
}

#[test]
fn a_folder_for_temporary_files_that_is_not_there_is_told_with_its_setting() {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let error = LabError::file("create a folder in", std::env::temp_dir())(missing());
    assert!(error.to_string().contains("TMPDIR"), "{error}");
    let other = std::env::temp_dir().join("triathlon-abc/nginx.conf");
    let error = LabError::file("read", other)(missing()).to_string();
    assert!(
        error.ends_with("there is no such file or folder"),
        "{error}"
    );
}
