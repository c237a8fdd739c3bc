use std::sync::Arc;

use super::*;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 10, 255));

fn line(request: &[u8], bytes: u64) -> Vec<u8> {
    tail(&Line {
        request,
        status: 200,
        bytes,
        referer: None,
        agent: Some(b"a \"quoted\\ \x00\n\xff agent"),
    })
}

#[test]
fn lines_are_in_combined_form_and_cannot_be_forged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut log = AccessLog::open(&LogTarget::File(path.clone()), 0).unwrap();
    log.write(PEER, 784_111_777, &line(b"GET / HTTP/1.1", 7));
    assert!(!log.is_pending(), "without a buffer nothing waits");
    log.write("::1".parse().unwrap(), 784_111_778, &line(b"", 0));
    let expected = "\
127.0.10.255 - - [06/Nov/1994:08:49:37 +0000] \"GET / HTTP/1.1\" 200 7 \"-\" \"a \\\"quoted\\\\ \\x00\\x0a\\xff agent\"
::1 - - [06/Nov/1994:08:49:38 +0000] \"-\" 200 - \"-\" \"a \\\"quoted\\\\ \\x00\\x0a\\xff agent\"
";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn a_buffer_is_written_in_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut log = AccessLog::open(&LogTarget::File(path.clone()), 1_000).unwrap();
    let mut seen = 0;
    for second in 0..50 {
        log.write(PEER, second, &line(b"GET / HTTP/1.1", second));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        assert!(text.len() - seen <= 1_000);
        seen = text.len();
    }
    assert!(log.is_pending());
    log.flush();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!((text.lines().count(), log.failures()), (50, 0));
}

#[test]
fn a_log_that_was_moved_away_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let moved = folder.path().join("access.log.1");
    let mut log = AccessLog::open(&LogTarget::File(path.clone()), 4_096).unwrap();
    log.write(PEER, 0, &line(b"1", 1));
    std::fs::rename(&path, &moved).unwrap();
    log.write(PEER, 0, &line(b"2", 1));
    log.reopen().unwrap();
    log.write(PEER, 0, &line(b"3", 1));
    log.flush();
    assert_eq!(std::fs::read_to_string(&moved).unwrap().lines().count(), 2);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
}

#[test]
fn a_log_that_was_open_already_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output");
    let target = LogTarget::Handle(Arc::new(File::create(&path).unwrap()));
    let mut logs = [0, 1].map(|_| AccessLog::open(&target, 1 << 20).unwrap());
    for second in 0..100 {
        for log in &mut logs {
            log.write(PEER, second, &line(b"GET / HTTP/1.1", second));
            assert!(log.buffer.len() <= PIPE_WHOLE);
        }
    }
    for log in &mut logs {
        log.reopen().unwrap();
        log.flush();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 200);
    assert!(text.lines().all(|line| line.starts_with("127.0.10.255 ")));
}
