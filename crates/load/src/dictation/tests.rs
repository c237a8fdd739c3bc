use super::*;

fn count(text: &str) -> Result<usize, (&'static str, usize, usize)> {
    requests(text.as_bytes()).map_err(|wrong| (wrong.why, wrong.line, wrong.column))
}

#[test]
fn requests_of_a_batch_are_counted() {
    let one = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(count(one), Ok(1));
    assert_eq!(count(&one.repeat(16)), Ok(16));
    let post = "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\na\n\n";
    assert_eq!(count(&format!("{one}{post}{one}")), Ok(3));
    let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(count(&format!("{chunked}{one}")), Ok(2));
    let trailer = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n";
    assert_eq!(count(&format!("{trailer}{one}")), Ok(2));
}

#[test]
fn what_is_no_request_is_told_with_its_place() {
    assert_eq!(count(""), Err(("incomplete request", 1, 1)));
    assert_eq!(
        count("GET / HTTP/1.1\r\nHost: h\r\n"),
        Err(("incomplete request", 3, 1))
    );
    assert_eq!(
        count("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"),
        Err(("incomplete request", 4, 4))
    );
    assert_eq!(
        count("GET / HTTP/1.1\r\n\r\nhello\r\n\r\n"),
        Err(("invalid request line", 3, 1))
    );
}

/// An author who says these batches in turn, and then makes a mistake.
#[derive(Debug)]
struct Says(Vec<&'static str>);

impl Author for Says {
    fn request(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("x.lua:3: no more".to_owned());
        }
        out.extend_from_slice(self.0.remove(0).as_bytes());
        Ok(())
    }

    fn answer(&mut self, _: u16, _: &[u8], _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn delay(&mut self) -> Result<Span, String> {
        Ok(Span::from_ms(3))
    }

    fn has_stopped(&self) -> bool {
        false
    }
}

fn dictation(says: &[&'static str]) -> Dictation {
    let lua = LuaFile {
        asks: true,
        ..LuaFile::default()
    };
    let author: Box<dyn Author> = Box::new(Says(says.to_vec()));
    let author = (author, Arc::default());
    Dictation::new(author, &lua, 2, Arc::default(), Arc::default())
}

#[test]
fn requests_of_a_batch_begin_one_after_the_other() {
    let mut dictation = dictation(&[
        "GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\n",
        "GET /c HTTP/1.1\r\n\r\n",
    ]);
    let mut check = |place, bytes: &str, is_head, behind| {
        let next = dictation.next(place).expect("one more");
        assert_eq!(std::str::from_utf8(next.bytes), Ok(bytes));
        assert_eq!((next.form.is_head(), next.behind), (is_head, behind));
    };
    check(0, "GET /a HTTP/1.1\r\n\r\n", false, 1);
    check(1, "GET /c HTTP/1.1\r\n\r\n", false, 0);
    check(0, "HEAD /b HTTP/1.1\r\n\r\n", true, 0);
    dictation.rewind(0);
    let again = dictation.next(0).expect("the same").bytes.to_vec();
    assert!(again.starts_with(b"HEAD /b"));
    assert_eq!(dictation.begun_last(0), again);
    // Who says nothing about waits is not asked.
    assert_eq!(dictation.delay(), Span::ZERO);
}

#[test]
fn a_mistake_ends_the_run() {
    let mut dictation = dictation(&[""]);
    assert!(dictation.next(0).is_none());
    assert!(dictation.is_over() && dictation.next(1).is_none());
    assert!(dictation.stop.load(Ordering::Relaxed));
    let said = dictation.failure.get().expect("it is told");
    assert_eq!(said, "request() returned no request");
}
