//! What all pages are made of: one file with its style and its scripts, a header, sections with a
//! table of contents, a footer.

use std::fmt::Write as _;

use super::escape;

/// What a page carries beside its content.
pub(super) struct Assets {
    pub(super) style: &'static str,
    pub(super) script: &'static str,
}

pub(super) const ASSETS: Assets = Assets {
    style: include_str!("style.css"),
    script: include_str!("page.js"),
};

/// A section: its anchor, its heading, and what it holds. One that holds nothing is left out.
pub(super) type Section = (&'static str, &'static str, String);

/// A page. `header` is HTML, `title` and `version` are text.
pub(super) fn page(
    title: &str,
    header: &str,
    sections: &[Section],
    version: &str,
    assets: &Assets,
) -> String {
    let Assets { style, script } = assets;
    let content: usize = sections.iter().map(|(_, _, body)| body.len()).sum();
    let mut html = String::with_capacity(content + 100_000);
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"Triathlon\">\n\
         <title>{} · Triathlon</title>\n<style>\n{style}</style>\n</head>\n<body>\n{header}",
        escape(title)
    );
    let full = || sections.iter().filter(|(_, _, body)| !body.is_empty());
    html.push_str("<nav aria-label=\"Contents\"><ul>");
    for (anchor, heading, _) in full() {
        let _ = write!(html, "<li><a href=\"#{anchor}\">{heading}</a></li>");
    }
    html.push_str("</ul></nav>\n<main>\n");
    for (anchor, heading, body) in full() {
        let _ = write!(
            html,
            "<section id=\"{anchor}\" aria-labelledby=\"{anchor}-heading\">\n<h2 \
             id=\"{anchor}-heading\">{heading}</h2>\n{body}</section>\n"
        );
    }
    let _ = write!(
        html,
        "</main>\n<footer>\n<p>Measured and written by Triathlon{}. All of the page is in this \
         file; nothing is fetched.</p>\n</footer>\n\
         <script>\n{script}</script>\n</body>\n</html>\n",
        escape(version)
    );
    html
}
