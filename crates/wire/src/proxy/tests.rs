use super::*;

fn header(form: Form, from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write(form, from.parse().unwrap(), to.parse().unwrap(), &mut out);
    assert!(out.len() <= LONGEST as usize);
    out
}

#[test]
fn a_line_says_who_asks_whom() {
    let check = |from: &str, to: &str, expected: &str| {
        let line = header(Form::Line, from, to);
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    };
    check(
        "192.0.2.1:56324",
        "192.0.2.254:443",
        "PROXY TCP4 192.0.2.1 192.0.2.254 56324 443\r\n",
    );
    check(
        "[2001:db8::1]:1",
        "[::1]:65535",
        "PROXY TCP6 2001:db8::1 ::1 1 65535\r\n",
    );
    check(
        "192.0.2.1:1",
        "[::1]:2",
        "PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n",
    );
    let longest = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
    assert!(header(Form::Line, longest, longest).len() < LONGEST as usize);
}

#[test]
fn bytes_say_the_same() {
    let check = |from: &str, to: &str, expected: &[u8]| {
        let bytes = header(Form::Bytes, from, to);
        assert_eq!(&bytes[..12], b"\r\n\r\n\0\r\nQUIT\n");
        assert_eq!(&bytes[12..], expected);
    };
    check(
        "192.0.2.1:256",
        "192.0.2.254:443",
        b"\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\xfe\x01\0\x01\xbb",
    );
    let mut six = b"\x21\x21\0\x24".to_vec();
    six.extend([0; 15]);
    six.push(1);
    six.extend([0; 10]);
    six.extend([255, 255, 127, 0, 0, 1, 0, 9, 0, 80]);
    check("[::1]:9", "127.0.0.1:80", &six);
}
