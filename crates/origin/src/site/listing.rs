//! What lies in a folder, as a page of HTML, where that is enabled and no file stands for it.
//!
//! Links are relative and name the bytes of a name, whatever they mean; people read the names as
//! UTF-8 as far as they are. Nothing is kept: each request reads the folder.

use std::sync::Arc;

use wire::h1::request::RequestHead;
use wire::{Part, Persistence};

use super::content::status_of;
use super::{Reply, Site};
use crate::file::{Entry, SMALL};
use crate::head::HeadWriter;
use crate::route;

impl Site {
    /// Answers with a list of what lies in the folder `path`.
    pub(super) fn list(
        &self,
        request: &RequestHead<'_>,
        path: &[u8],
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        let mut entries = match self.files.list(path) {
            Ok(entries) => entries,
            Err(missing) => return self.error(request, status_of(missing), persistence, out),
        };
        entries.retain(|entry| self.dot_files || !route::is_hidden(&entry.name));
        let page = page(path, &entries).into_bytes();
        let length = page.len() as u64;
        let has_content = request.method == "GET";
        // What is long is sent from memory without a name: a connection copies only so much.
        let file = if has_content && length > SMALL {
            match sys::file::in_memory(&page) {
                Ok(file) => Some(file),
                Err(_) => return self.error(request, 503, persistence, out),
            }
        } else {
            None
        };
        HeadWriter::begin(out, 200, &self.today)
            .field("Content-Type", "text/html; charset=utf-8")
            .length(length)
            .end(persistence);
        if !has_content {
            return Reply::written(200, 0);
        }
        let reply = Reply::written(200, length);
        let Some(file) = file else {
            out.extend_from_slice(&page);
            return reply;
        };
        let part = Part::File {
            file: Arc::new(file),
            offset: 0,
            length,
        };
        Reply {
            parts: vec![part],
            ..reply
        }
    }
}

fn page(path: &[u8], entries: &[Entry]) -> String {
    let title = escaped(path);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>Index of /{title}</title>\n</head>\n<body>\n<h1>Index of /{title}</h1>\n<ul>\n"
    );
    if !path.is_empty() {
        page.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for Entry { name, is_folder } in entries {
        let slash = if *is_folder { "/" } else { "" };
        // With a dot before it, a name with a colon is no scheme (RFC 3986 §4.2).
        page.push_str("<li><a href=\"./");
        let mut link = String::new();
        route::encode_into(&mut link, name);
        page.push_str(&escaped(link.as_bytes()));
        page.push_str(slash);
        page.push_str("\">");
        page.push_str(&escaped(name));
        page.push_str(slash);
        page.push_str("</a></li>\n");
    }
    page.push_str("</ul>\n</body>\n</html>\n");
    page
}

/// As text or as an attribute in double quotes.
fn escaped(text: &[u8]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in String::from_utf8_lossy(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // A line end in a name would be a blank; no other control character may stand in HTML.
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &[u8], is_folder: bool) -> Entry {
        Entry {
            name: name.to_vec(),
            is_folder,
        }
    }

    #[test]
    fn names_are_escaped_for_links_and_for_readers() {
        let entries = [
            entry(b"a&b.txt", false),
            entry(b"<script>\"'", true),
            entry(b"javascript:x", false),
            entry(b"\xff\n", false),
            entry("\u{fc} 1%".as_bytes(), false),
        ];
        let page = page(b"<sub>/deep", &entries);
        let lines: Vec<&str> = page.lines().filter(|line| line.contains("href")).collect();
        assert_eq!(
            lines,
            [
                r#"<li><a href="../">../</a></li>"#,
                r#"<li><a href="./a&amp;b.txt">a&amp;b.txt</a></li>"#,
                "<li><a href=\"./%3Cscript%3E%22&#39;/\">&lt;script&gt;&quot;&#39;/</a></li>",
                r#"<li><a href="./javascript:x">javascript:x</a></li>"#,
                "<li><a href=\"./%FF%0A\">\u{fffd}\u{fffd}</a></li>",
                "<li><a href=\"./%C3%BC%201%25\">\u{fc} 1%</a></li>",
            ]
        );
        assert!(
            page.contains("<h1>Index of /&lt;sub&gt;/deep</h1>"),
            "{page}"
        );
        assert!(!super::page(b"", &[]).contains("href"), "nothing is above");
    }
}
