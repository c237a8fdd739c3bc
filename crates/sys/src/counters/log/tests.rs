use super::*;

#[test]
fn messages_lose_their_prefixes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kmsg");
    let text = "6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=net\n\
                4,340,5690716,-;TCP: request_sock_TCP: Possible SYN flooding on port 80.\n";
    std::fs::write(&path, text).unwrap();
    let read = messages(&path).unwrap();
    assert_eq!(read.len(), 2);
    assert!(read[1].contains("SYN flooding"), "{read:?}");
    assert!(messages(&folder.path().join("absent")).is_err());
}
