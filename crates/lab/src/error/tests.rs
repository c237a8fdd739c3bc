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
