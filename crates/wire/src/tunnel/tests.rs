use super::*;

/// What becomes of a tunnel whose proxy answers so, in pieces of so many bytes.
fn open(answer: &str, piece: usize) -> Result<bool, TunnelError> {
    let mut opening = Opening::default();
    for piece in answer.as_bytes().chunks(piece) {
        match opening.handle_bytes(piece) {
            Ok(false) => {}
            told => return told,
        }
    }
    Ok(false)
}

#[track_caller]
fn check(answer: &str, expected: Result<bool, &str>) {
    for piece in [1, 2, 3, 7, usize::MAX] {
        let told = open(answer, piece).map_err(|error| error.to_string());
        let expected = expected.map_err(str::to_owned);
        assert_eq!(told, expected, "{answer:?} in pieces of {piece}");
    }
}

#[test]
fn the_request_names_the_server_twice() {
    assert_eq!(
        request("[::1]:443", None),
        b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"
    );
    assert_eq!(
        request("a:80", Some("Basic bWU6eA==")),
        b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nProxy-Authorization: Basic bWU6eA==\r\n\r\n"
    );
}

#[test]
fn every_2xx_opens_the_tunnel_whatever_its_fields_say() {
    check("HTTP/1.1 200 Connection established\r\n\r\n", Ok(true));
    check("HTTP/1.0 200 OK\nProxy-Agent: x\n\n", Ok(true));
    check("HTTP/1.1 204 \r\nContent-Length: 7\r\n\r\n", Ok(true));
    let contradictory = "Content-Length: 7\r\nContent-Length: x\r\n";
    check(&format!("HTTP/1.1 200 OK\r\n{contradictory}\r\n"), Ok(true));
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        Ok(true),
    );
    for unfinished in ["", "HTT", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 X\r\n\r\n"] {
        check(unfinished, Ok(false));
    }
}

#[test]
fn what_is_no_tunnel_is_told_in_words() {
    check(
        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\n",
        Err("the proxy answered CONNECT with status 407"),
    );
    check(
        "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n",
        Err("the proxy answered CONNECT with status 302"),
    );
    let wrong = |why: &str| format!("the proxy did not answer CONNECT as HTTP/1.1 requires: {why}");
    let check_wrong = |answer: &str, why: &str| check(answer, Err(wrong(why).as_str()));
    check_wrong(
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "the answer does not begin with HTTP/1.",
    );
    check_wrong(
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "the head of the answer is malformed: the status line",
    );
    check_wrong(
        &format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES)),
        "the head of the answer is longer than 16384 bytes",
    );
    check_wrong(
        "HTTP/1.1 101 Switching\r\n\r\n",
        "the server switched protocols without being asked",
    );
    check_wrong(
        &"HTTP/1.1 100 Continue\r\n\r\n".repeat(33),
        "more than 32 interim answers came before the final one",
    );
}

/// A client speaks first: whatever stands behind the answer is not what the tunnel carries.
#[test]
fn bytes_behind_the_answer_are_an_error_where_they_come_with_it() {
    let told = open("HTTP/1.1 200 OK\r\n\r\nhello", usize::MAX);
    assert_eq!(told, Err(TunnelError::Excess(5)));
}
