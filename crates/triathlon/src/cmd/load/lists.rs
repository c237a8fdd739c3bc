//! Requests in files: lists of URLs, vegeta's targets as text and as JSON, and raw requests.

use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::plan::{Expectation, Request, RequestFile, Url};

use crate::exit::UsageError;

/// The requests of the list at `path`; a path alone is one of the server of `base`.
pub(super) fn read(path: &Path, base: Option<&str>) -> anyhow::Result<Vec<RequestFile>> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).context("--urls: cannot read stdin")?
    } else {
        std::fs::read_to_string(path)
            .with_context(|| format!("--urls: cannot read {}", path.display()))?
    };
    let body = |name: &str| {
        // As vegeta has it, from the folder where the program was started.
        std::fs::read(name).map_err(|error| format!("cannot read {name}: {error}"))
    };
    // Editors of other systems begin a file with a mark of its byte order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    parse(text, base, &body).map_err(|Mistake { line, why }| {
        UsageError(format!("--urls: {}, line {line}: {why}", path.display())).into()
    })
}

/// What is wrong with a list, and where.
#[derive(Debug)]
struct Mistake {
    /// From 1.
    line: usize,
    why: String,
}

/// Reads the file of a body.
type Body<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The requests of a list in whichever of the three forms its first line has.
fn parse(text: &str, base: Option<&str>, body: Body<'_>) -> Result<Vec<RequestFile>, Mistake> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with('#'))
        .collect();
    let first = lines
        .iter()
        .map(|(_, line)| *line)
        .find(|line| !line.is_empty());
    let Some(first) = first else {
        return Ok(Vec::new());
    };
    if first.starts_with('{') {
        return each(&lines, |line| json(line, base));
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    let is_method = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase());
    if words.len() == 2 && is_method(words[0]) {
        return vegeta(&lines, base, body);
    }
    each(&lines, |line| url_and_weight(line, base))
}

fn each(
    lines: &[(usize, &str)],
    read: impl Fn(&str) -> Result<RequestFile, String>,
) -> Result<Vec<RequestFile>, Mistake> {
    lines
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(line, text)| {
            let request = read(text).and_then(checked);
            request.map_err(|why| Mistake { line: *line, why })
        })
        .collect()
}

/// The same request, if it can be sent.
fn checked(request: RequestFile) -> Result<RequestFile, String> {
    match Request::read(&request, &Expectation::default()) {
        Ok(_) => Ok(request),
        Err(error) => Err(error.to_string()),
    }
}

/// `URL` or `URL WEIGHT`.
fn url_and_weight(line: &str, base: Option<&str>) -> Result<RequestFile, String> {
    let mut words = line.split_whitespace();
    let mut request = RequestFile::get(Url::absolute(words.next().unwrap_or_default(), base)?);
    if let Some(weight) = words.next() {
        request.weight = weight
            .parse()
            .map_err(|_| format!("'{weight}' is not a weight: write a whole number from 1"))?;
    }
    match words.next() {
        None => Ok(request),
        Some(more) => Err(format!("'{more}' is too much: write URL, or URL WEIGHT")),
    }
}

/// vegeta's text: blocks of `METHOD URL`, fields and `@FILE`, with an empty line between them.
fn vegeta(
    lines: &[(usize, &str)],
    base: Option<&str>,
    body: Body<'_>,
) -> Result<Vec<RequestFile>, Mistake> {
    let mut requests: Vec<RequestFile> = Vec::new();
    let mut begins = Vec::new();
    let mut is_open = false;
    for (line, text) in lines {
        let wrong = |why: String| Mistake { line: *line, why };
        let opens = match text.split_once(' ') {
            // As vegeta has it: a field may lack the blank behind its colon.
            Some((method, url)) if method.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                Some((method, url.trim()))
            }
            _ => None,
        };
        if text.is_empty() {
            is_open = false;
        } else if let Some((method, url)) = opens {
            requests.push(RequestFile {
                method: method.to_owned(),
                ..RequestFile::get(Url::absolute(url, base).map_err(wrong)?)
            });
            begins.push(*line);
            is_open = true;
        } else if let Some(request) = requests.last_mut().filter(|_| is_open) {
            match text.strip_prefix('@') {
                Some(file) => {
                    request.body_base64 = Some(BASE64.encode(body(file).map_err(wrong)?));
                }
                None => request.headers.push(field(text).map_err(wrong)?),
            }
        } else {
            return Err(wrong(format!("'{text}' is not METHOD URL")));
        }
    }
    let each = requests.into_iter().zip(begins);
    each.map(|(request, line)| checked(request).map_err(|why| Mistake { line, why }))
        .collect()
}

fn field(line: &str) -> Result<(String, String), String> {
    line.split_once(':')
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .ok_or_else(|| "a field without a colon: write 'Name: value'".to_owned())
}

/// One line of vegeta's JSON.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    method: String,
    url: String,
    #[serde(default)]
    header: std::collections::BTreeMap<String, Vec<String>>,
    #[serde(default)]
    body: Option<String>,
}

fn json(line: &str, base: Option<&str>) -> Result<RequestFile, String> {
    let target: Target =
        serde_json::from_str(line).map_err(|error| format!("not a vegeta target: {error}"))?;
    if let Some(Err(error)) = target.body.as_ref().map(|body| BASE64.decode(body)) {
        return Err(format!("body: it is not base64: {error}"));
    }
    let fields = target.header.into_iter();
    Ok(RequestFile {
        method: target.method,
        headers: fields
            .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
            .collect(),
        body_base64: target.body,
        ..RequestFile::get(Url::absolute(&target.url, base)?)
    })
}

/// One request as it goes over the wire. Lines may end as files do, without a carriage return.
pub(super) fn raw(bytes: &[u8], base: Option<&str>) -> Result<RequestFile, String> {
    let (head, content) = split(bytes).ok_or("no empty line ends the head")?;
    let head = std::str::from_utf8(head).map_err(|_| "the head is not UTF-8")?;
    let mut lines = head.lines();
    let start = lines.next().unwrap_or_default();
    let words: Vec<&str> = start.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else {
        return Err(format!("'{start}' is not METHOD TARGET HTTP/1.1"));
    };
    let fields: Vec<(String, String)> = lines.map(field).collect::<Result<_, _>>()?;
    check_sendable(&fields)?;
    let host = fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| format!("http://{value}/"));
    let server = base
        .or(host.as_deref())
        .ok_or("there is no Host field: give a URL, too")?;
    let length = fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.parse::<usize>().ok());
    // An editor ends the last line of a file, which is no content.
    let content = match length {
        Some(length) if length > content.len() => {
            let have = content.len();
            return Err(format!(
                "{have} bytes of content, and Content-Length is {length}"
            ));
        }
        Some(length) => {
            let (content, rest) = content.split_at(length);
            if !is_line_end(rest) {
                let more = rest.len();
                return Err(format!(
                    "{more} bytes follow the {length} of Content-Length: a file holds one request"
                ));
            }
            content
        }
        None if !is_line_end(content) => {
            let more = content.len();
            return Err(format!(
                "{more} bytes follow the head, and without Content-Length they are no content of \
                 it: give Content-Length, or leave them out (a file holds one request)"
            ));
        }
        None => &[],
    };
    let is_ours = |name: &str| {
        ["host", "content-length", "connection"]
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
    };
    let host = fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let asked = base.is_some().then_some(host).flatten();
    let mut headers: Vec<(String, String)> = fields
        .iter()
        .filter(|(name, _)| !is_ours(name))
        .cloned()
        .collect();
    if let Some((_, value)) = asked {
        headers.insert(0, ("Host".to_owned(), value.clone()));
    }
    checked(RequestFile {
        method: method.to_owned(),
        headers,
        body_base64: length.is_some().then(|| BASE64.encode(content)),
        ..RequestFile::get(Url::absolute(target, Some(server))?)
    })
}

/// What the generator sends by itself may not say anything else.
fn check_sendable(fields: &[(String, String)]) -> Result<(), String> {
    let values = |wanted: &'static str| {
        let named = fields
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| value.as_str())
    };
    if values("host").count() > 1 {
        return Err("there are several Host fields, and one is sent".to_owned());
    }
    if values("content-length").count() > 1 {
        return Err("there are several Content-Length fields, and one is sent".to_owned());
    }
    let other = values("connection").find(|value| !value.eq_ignore_ascii_case("keep-alive"));
    match other {
        Some(value) => Err(format!(
            "'Connection: {value}' is not sent: leave it out; to close after each answer, give \
             --requests-per-connection 1"
        )),
        None => Ok(()),
    }
}

/// Whether that is at most the end of a line, as an editor leaves it.
fn is_line_end(bytes: &[u8]) -> bool {
    matches!(bytes, b"" | b"\n" | b"\r\n")
}

/// The head with its last line end, and what follows the empty line.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let is_empty = line == b"\n" || line == b"\r\n";
        if is_empty && at > 0 {
            return Some((&bytes[..at], &bytes[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(request: &RequestFile) -> String {
        let fields: Vec<String> = request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let body = request
            .body_base64
            .as_ref()
            .map(|text| String::from_utf8(BASE64.decode(text).unwrap()).unwrap());
        format!(
            "{} {} x{} [{}] {body:?}",
            request.method,
            request.url,
            request.weight,
            fields.join(",")
        )
    }

    fn check(text: &str, expected: &[&str]) {
        let body = |name: &str| Ok(format!("<{name}>").into_bytes());
        let all = parse(text, Some("http://h:81/x?y"), &body).unwrap();
        let all: Vec<String> = all.iter().map(shown).collect();
        assert_eq!(all, expected, "{text}");
    }

    #[test]
    fn every_form_of_a_list_is_read() {
        check(
            "# mine\nhttp://h/a\n\n/b?c 7\n",
            &[
                "GET http://h/a x1 [] None",
                "GET http://h:81/b?c x7 [] None",
            ],
        );
        check(
            "GET http://h/a\nX-A: 1\nX-B: http://c:8/\n\n# more\nPOST http://h/b\n@body.txt\n\
             PUT /c\n",
            &[
                "GET http://h/a x1 [X-A=1,X-B=http://c:8/] None",
                "POST http://h/b x1 [] Some(\"<body.txt>\")",
                "PUT http://h:81/c x1 [] None",
            ],
        );
        check(
            "{\"method\":\"POST\",\"url\":\"http://h/\",\"header\":{\"A\":[\"1\",\"2\"]},\
             \"body\":\"aGk=\"}\n{\"method\":\"GET\",\"url\":\"/z\"}\n",
            &[
                "POST http://h/ x1 [A=1,A=2] Some(\"hi\")",
                "GET http://h:81/z x1 [] None",
            ],
        );
        check(
            "POST http://h/b\nContent-Type:a/b; charset=utf-8\n",
            &["POST http://h/b x1 [Content-Type=a/b; charset=utf-8] None"],
        );
        check("\n# nothing\n", &[]);
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let check = |text: &str, line: usize, words: &str| {
            let body = |name: &str| Err(format!("cannot read {name}"));
            let mistake = parse(text, None, &body).unwrap_err();
            assert!(
                mistake.line == line && mistake.why.contains(words),
                "{mistake:?}"
            );
        };
        check("http://h/\nhttp://h/ many\n", 2, "not a weight");
        check("http://h/ 1 2\n", 1, "too much");
        check("\n/a\n", 2, "is a path");
        check("GET http://h/\n@no\n", 2, "cannot read no");
        check("GET http://h/\n\nX-A: 1\n", 3, "not METHOD URL");
        check("{\"url\":\"/\"}\n", 1, "method");
        check("http://h/\n\nhttp://h/ 0\n", 3, "weight: give at least 1");
        let text = "GET http://h/\n\n\nGET http://h/\nX(Y: 1\n";
        check(text, 4, "'X(Y' is not a field name");
        let json = "{\"method\":\"G T\",\"url\":\"http://h/\"}\n";
        check(json, 1, "'G T' is not a method name");
        let json = "{\"method\":\"GET\",\"url\":\"http://h/\",\"body\":\"@\"}\n";
        check(json, 1, "body: it is not base64: Invalid symbol 64");
    }

    #[test]
    fn a_raw_request_is_read() {
        let check = |text: &str, base: Option<&str>, expected: &str| {
            let read = match raw(text.as_bytes(), base) {
                Ok(request) => shown(&request),
                Err(why) => why,
            };
            assert!(read.contains(expected), "{text}: {read}");
        };
        check(
            "POST /a?b HTTP/1.1\r\nHost: h:82\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi\n",
            None,
            "POST http://h:82/a?b x1 [X-A=1] Some(\"hi\")",
        );
        check(
            "GET / HTTP/1.1\nHost: name\n\n",
            Some("http://127.0.0.1:8080/"),
            "GET http://127.0.0.1:8080/ x1 [Host=name] None",
        );
        // What is not sent as it stands is refused.
        let host = |rest: &str| format!("GET / HTTP/1.1\nHost: h\n{rest}");
        check(
            &host("Connection: keep-alive\n\n"),
            None,
            "GET http://h/ x1 [] None",
        );
        check(
            &host("Connection: close\n\n"),
            None,
            "give --requests-per-connection 1",
        );
        check(&host("host: i\n\n"), None, "several Host fields");
        let twice = host(&format!("\n{}", host("\n")));
        check(&twice, None, "a file holds one request");
        check(
            &host("Content-Length: 2\n\nhi\nand more"),
            None,
            "9 bytes follow the 2",
        );
        check(&host("Content-Length: 0\n\n"), None, "x1 [] Some(\"\")");
        check(&host("A B: 1\n\n"), None, "'A B' is not a field name");
        check("GET / HTTP/1.1\n\n", None, "no Host field");
        check("GET /\nHost: h\n\n", None, "is not METHOD TARGET");
        check("GET / HTTP/1.1\nHost: h\n", None, "no empty line");
        check(
            "PUT / HTTP/1.1\nHost: h\nContent-Length: 9\n\nhi",
            None,
            "2 bytes of content",
        );
    }
}
