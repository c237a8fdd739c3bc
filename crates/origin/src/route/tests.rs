use super::*;

#[track_caller]
fn check(target: &str, path: &str, is_folder: bool, query: Option<&str>) {
    let found = origin_form(target, true).and_then(route).unwrap();
    assert_eq!(
        (&*found.path, found.is_folder, found.query),
        (path.as_bytes(), is_folder, query),
        "{target}"
    );
}

#[test]
fn targets_name_paths() {
    check("/a/b.txt", "a/b.txt", false, None);
    check("/", "", true, None);
    check("/a/", "a", true, None);
    check("//a///b", "a/b", false, None);
    check("/a/./b", "a/b", false, None);
    check("/a/../b", "b", false, None);
    check("/a/b/..", "a", true, None);
    check("/a/.", "a", true, None);
    check("/a%20b?x=%2e&y", "a b", false, Some("x=%2e&y"));
    check("/%C3%A9", "é", false, None);
    check("/a?", "a", false, Some(""));
    check("/a\\b", "a\\b", false, None);
    check("/..a/b..", "..a/b..", false, None);
    check("http://host:80/a?b", "a", false, Some("b"));
    check("HTTP://host", "", true, None);
    check("http://host?b", "", true, None);
    check("https://host/a", "a", false, None);
    check("http://[::1]:80/a", "a", false, None);
    // Decoded once and only once.
    check("/%252e%252e/x", "%2e%2e/x", false, None);
    check("/%2561", "%61", false, None);
}

#[test]
fn names_need_not_be_utf_8() {
    let found = route("/a/%ff%FE.txt").unwrap();
    assert_eq!(*found.path, *b"a/\xff\xfe.txt");
    assert_eq!(encode(&found.path), "/a/%FF%FE.txt");
    // No reader of UTF-8 may take this for two dots: it is a name like any other.
    let found = route("/%c0%ae%c0%ae/x").unwrap();
    assert_eq!(*found.path, *b"\xc0\xae\xc0\xae/x");
}

#[test]
fn names_that_begin_with_a_dot_are_hidden() {
    for (target, is_hidden) in [
        ("/", false),
        ("/a.b/c.", false),
        ("/.git/config", true),
        ("/%2egit/config", true),
        ("/sub/.htpasswd", true),
        ("/sub/.git/", true),
        ("/...", true),
        ("/./a", false),
        ("/.git/../a", false),
        ("/.well-known/security.txt", false),
        ("/.well-known/.secret", true),
        ("/a/.well-known/x", true),
        ("/.well-known2", true),
    ] {
        assert_eq!(route(target).unwrap().is_hidden(), is_hidden, "{target}");
    }
}

#[track_caller]
fn check_refused(target: &str, why: Unroutable) {
    let found = origin_form(target, false).and_then(route);
    assert_eq!(found, Err(why), "{target}");
}

#[test]
fn what_leads_out_or_hides_something_is_refused() {
    for target in [
        "/..",
        "/../",
        "/../etc/passwd",
        "/a/../../etc/passwd",
        "/./../x",
        "/%2e%2e/etc/passwd",
        "/%2E./x",
        "/.%2e/x",
        "/a/%2e%2e/%2e%2e/x",
        "/%00",
        "/a%00.txt",
        "/%",
        "/%4",
        "/%zz",
        "/%+1",
        "/a#b",
        "",
        "*",
        "a/b",
        "host:80",
        "https://host/a",
        "http://",
        "http:///a",
        "http://?x",
        "http://a:b:c/",
        "http://a:65536/",
        "http://[/",
        "http://user@host/",
        "ftp://host/",
    ] {
        check_refused(target, Unroutable::Bad);
    }
    for target in ["/a%2fb", "/..%2f..%2fetc%2fpasswd", "/%2F"] {
        check_refused(target, Unroutable::Nowhere);
    }
}

#[test]
fn a_location_never_names_another_host() {
    assert_eq!(encode("a b/ü?#%".as_bytes()), "/a%20b/%C3%BC%3F%23%25");
    let found = route("//evil.example/..//evil.example").unwrap();
    assert_eq!(encode(&found.path), "/evil.example");
    assert_eq!(encode(b"a\r\nSet-Cookie: x"), "/a%0D%0ASet-Cookie:%20x");
}
