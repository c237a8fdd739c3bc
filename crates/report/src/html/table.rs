//! Tables: in a box that scrolls by itself, so that the page never does sideways.

use std::fmt::Write as _;

use super::escape;

/// A table being written. Cells are HTML unless the method says text.
#[derive(Debug)]
pub(super) struct Table {
    html: String,
    columns: usize,
    /// What each cell says of itself on a narrow screen; nothing in a table that scrolls there.
    labels: Vec<String>,
    column: usize,
    in_row: bool,
    rows: usize,
}

impl Table {
    /// One with a caption and column headings. A heading that begins with `#` is for numbers,
    /// which stand to the right.
    pub(super) fn new(caption: &str, columns: &[&str]) -> Self {
        Self::begin(caption, columns, "", Vec::new())
    }

    /// One whose rows become lists on a narrow screen, each cell with the name of its column.
    pub(super) fn stacked(caption: &str, columns: &[&str]) -> Self {
        let label = |column: &&str| column.trim_start_matches('#').to_owned();
        let labels = columns.iter().map(label).collect();
        Self::begin(caption, columns, " class=\"stack\"", labels)
    }

    fn begin(caption: &str, columns: &[&str], class: &str, labels: Vec<String>) -> Self {
        let mut html = String::from("<div class=\"scroll\" tabindex=\"0\" role=\"region\"");
        let _ = write!(
            html,
            " aria-label=\"{0}\"><table{class}><caption>{0}</caption><thead><tr>",
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
            labels,
            column: 0,
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
        self.column = 0;
        self.rows += 1;
        self
    }

    /// A line above rows that belong together.
    pub(super) fn group(&mut self, html: &str) {
        if self.in_row {
            self.html.push_str("</tr>");
        }
        self.in_row = false;
        let _ = write!(
            self.html,
            "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{html}</th></tr>",
            self.columns
        );
    }

    /// The next cell's name, as an attribute, where it needs one.
    fn label(&mut self) -> String {
        let label = self.labels.get(self.column);
        let attribute = label.map(|label| format!(" data-of=\"{}\"", escape(label)));
        self.column += 1;
        attribute.unwrap_or_default()
    }

    /// The row's own heading.
    pub(super) fn head(&mut self, html: &str) -> &mut Self {
        self.column += 1;
        let _ = write!(self.html, "<th scope=\"row\">{html}</th>");
        self
    }

    /// A cell of text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.cell(&escape(text))
    }

    /// A cell of HTML.
    pub(super) fn cell(&mut self, html: &str) -> &mut Self {
        let label = self.label();
        let _ = write!(self.html, "<td{label}>{html}</td>");
        self
    }

    /// A cell with a number.
    pub(super) fn number(&mut self, html: &str) -> &mut Self {
        let label = self.label();
        let _ = write!(self.html, "<td class=\"n\"{label}>{html}</td>");
        self
    }

    /// Whether nothing was written.
    pub(super) const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The HTML; nothing where there is no row.
    pub(super) fn finish_unless_empty(self) -> String {
        match self.is_empty() {
            true => String::new(),
            false => self.finish(),
        }
    }

    /// The HTML.
    pub(super) fn finish(mut self) -> String {
        if self.in_row {
            self.html.push_str("</tr>");
        }
        assert!(self.columns > 0);
        self.html.push_str("</tbody></table></div>\n");
        self.html
    }
}
