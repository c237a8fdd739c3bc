use std::io::Write as _;
use std::path::PathBuf;

use super::*;
use crate::experiment;

const ASKED: &str = r#"[experiment]
name = "handlers"
question = "?"
rounds = 1
duration = "1s"
[[server]]
product = "apache"
[[workload]]
name = "short"
body = { bytes = 40 }
handler = ["static", "cgi-c", "cgi-perl"]
[load]
connections = 1
"#;

#[test]
fn each_program_answers_with_the_bytes_of_the_file() {
    let experiment = experiment::parse("handlers", ASKED, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let site = Site::build(&folder.path().join("www"), &experiment).unwrap();
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    build(&site, &experiment, &search).unwrap();
    let file = fs::read_to_string(site.root().join("small/40.html")).unwrap();
    for (name, needed) in [("cgi-c", &COMPILERS[..]), ("cgi-perl", &["perl"])] {
        let program = site.programs().join(name).join("40");
        if search.program(needed).is_none() {
            crate::testing::not_run(&format!("{} is not installed", needed.join(" or ")));
            assert!(!program.exists());
            continue;
        }
        // More than a pipe holds: whoever sends it fails if the program ends before.
        let sent = vec![b'x'; 70_000];
        let mut child = Command::new(&program)
            .env("CONTENT_LENGTH", sent.len().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        child.stdin.take().unwrap().write_all(&sent).unwrap();
        let printed = child.wait_with_output().unwrap();
        let expected = format!(
            "Content-Type: text/html\r\nContent-Length: 40\r\nX-Handler: {name} {pid}\r\n\r\n{file}"
        );
        assert_eq!(String::from_utf8_lossy(&printed.stdout), expected, "{name}");
    }
}
