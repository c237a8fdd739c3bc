use super::*;
use crate::experiment;

#[test]
fn documents_have_their_length_their_digest_and_are_readable_for_all() {
    let experiment = experiment::read("first-heat", &[]).unwrap().experiment;
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(&folder.path().join("www"), &experiment).unwrap();
    let check = |length: u64, path: &str| {
        let document = site.document(Bytes::new(length));
        assert_eq!(document.path, path);
        let file = site.root().join(path.trim_start_matches('/'));
        let bytes = fs::read(&file).unwrap();
        assert_eq!(bytes.len() as u64, length);
        assert_eq!(document.sha256, hex(&Sha256::digest(&bytes)));
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o444, 0o444);
    };
    check(7, "/small/7.html");
    check(102_400, "/large/102400.bin");
}

#[test]
fn what_a_server_behind_has_stands_at_a_path_of_its_own() {
    let handlers = ["workload[0].handler=[\"static\", \"proxy\", \"cache\"]".to_owned()];
    let experiment = experiment::read("first-heat", &handlers).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(&folder.path().join("www"), &experiment.experiment).unwrap();
    let seven = site.document(Bytes::new(7));
    let expected = fs::read(site.root().join("small/7.html")).unwrap();
    for handler in ["proxy", "cache"] {
        let path = relayed_at(handler, seven);
        assert_eq!(path, format!("/{handler}/small/7.html"));
        let file = site.root().join(path.trim_start_matches('/'));
        assert_eq!(fs::read(file).unwrap(), expected);
    }
    assert!(!site.root().join("static").exists());
}

#[test]
fn a_length_has_the_same_content_everywhere() {
    assert_eq!(content(7), content(7));
    assert_eq!(content(0), b"");
    assert_eq!(String::from_utf8(content(7)).unwrap().len(), 7);
}
