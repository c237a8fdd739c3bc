//! Tables: in a box that scrolls by itself, so that the page never does sideways.

use std::fmt::Write as _;

use super::escape;

/// A table being written. Cells are HTML unless the method says text.
#[derive(Debug)]
pub(super) struct Table {
    html: String,
    columns: usize,
    in_row: bool,
    rows: usize,
}

impl Table {
    /// One with a caption and column headings. A heading that begins with `#` is for numbers,
    /// which stand to the right.
    pub(super) fn new(caption: &str, columns: &[&str]) -> Self {
        let mut html = String::from("<div class=\"scroll\" tabindex=\"0\" role=\"region\"");
        let _ = write!(
            html,
            " aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>",
            escape(caption)
        );
        for column in columns {
            match column.strip_prefix('#') {
                Some(number) => {
                    let _ = write!(
                        html,
                        "<th scope=\"col\" class=\"n\">{}</th>",
                        escape(number)
                    );
                }
                None => {
                    let _ = write!(html, "<th scope=\"col\">{}</th>", escape(column));
                }
            }
        }
        html.push_str("</tr></thead><tbody>");
        Self {
            html,
            columns: columns.len(),
            in_row: false,
            rows: 0,
        }
    }

    /// Begins a row.
    pub(super) fn row(&mut self) -> &mut Self {
        if self.in_row {
            self.html.push_str("</tr>");
        }
        self.html.push_str("<tr>");
        self.in_row = true;
        self.rows += 1;
        self
    }

    /// The row's own heading.
    pub(super) fn head(&mut self, html: &str) -> &mut Self {
        let _ = write!(self.html, "<th scope=\"row\">{html}</th>");
        self
    }

    /// A cell of text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let _ = write!(self.html, "<td>{}</td>", escape(text));
        self
    }

    /// A cell of HTML.
    pub(super) fn cell(&mut self, html: &str) -> &mut Self {
        let _ = write!(self.html, "<td>{html}</td>");
        self
    }

    /// A cell with a number.
    pub(super) fn number(&mut self, html: &str) -> &mut Self {
        let _ = write!(self.html, "<td class=\"n\">{html}</td>");
        self
    }

    /// Whether nothing was written.
    pub(super) const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The HTML.
    pub(super) fn finish(mut self) -> String {
        if self.in_row {
            self.html.push_str("</tr>");
        }
        debug_assert!(self.columns > 0);
        self.html.push_str("</tbody></table></div>\n");
        self.html
    }
}
