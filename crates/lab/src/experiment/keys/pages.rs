//! The table of keys as people and editors read it: in the terminal, as a page, as a JSON Schema.

use serde_json::{Value, json};

use super::more::EVEN_POINTS;
use super::{Key, Kind, SECTIONS, Section};
use crate::experiment::NEW;

/// Width of the terminal's text.
const WIDTH: usize = 100;

/// For the terminal: each table with its keys.
pub fn text() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let title = if section.path.is_empty() {
            "An experiment"
        } else {
            section.written
        };
        let place = match section.path.contains('.') {
            true => format!("  ({})", section.path),
            false => String::new(),
        };
        text.push_str(&format!("{title}{place}\n"));
        text.push_str(&wrapped(section.meaning, 4));
        for key in section.keys {
            text.push_str(&format!("\n    {}\n", key.example));
            text.push_str(&wrapped(key.meaning, 8));
            text.push_str(&wrapped(&format!("Takes {}.", key.kind.words()), 8));
            text.push_str(&wrapped(&left_out(key), 8));
        }
        text.push('\n');
    }
    text
}

/// What holds where the key is left out, as a sentence.
fn left_out(key: &Key) -> String {
    match key.default {
        "" => "It must be given.".to_owned(),
        default => format!("Left out: {default}."),
    }
}

/// `text` in lines that fit, each with so many blanks before it.
fn wrapped(text: &str, blanks: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && blanks + line.len() + 1 + word.len() > WIDTH {
            out.push_str(&format!("{:blanks$}{line}\n", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&format!("{:blanks$}{line}\n", ""));
    out
}

const INTRODUCTION: &str = "\
# Experiments

An experiment is a file in TOML: who is asked, for what, how hard, how often. `triathlon lab FILE`
runs it, `triathlon lab FILE --list` prints its points and what they cost in time, and
`triathlon lab FILE --verify` starts every server and asks it once.

`triathlon lab --new FILE` writes this one, to begin with:

```toml
";

const AFTER_THE_EXAMPLE: &str = "\
```

Any value can be replaced on the command line: `rounds=10`, `connections=1,64`,
`server=nginx,origin`, `server[0].cores=2`. A key that stands in `[experiment]` or `[load]` needs no
more than its name; the others are named with their table, counted from 0.

Editors that know JSON Schema check the file while it is written, with this as its first line,
where the path is that of [experiment.schema.json](experiment.schema.json) from the file's folder:

```toml
#:schema ./docs/experiment.schema.json
```

## Keys

This section is generated from the table with which the program reads experiments;
`triathlon lab --keys` prints it too.
";

/// `docs/experiment.md`.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned() + NEW + AFTER_THE_EXAMPLE;
    for section in SECTIONS {
        if section.path.is_empty() {
            page.push_str(&format!("\n{}", wrapped(section.meaning, 0)));
            continue;
        }
        let place = match section.path.contains('.') {
            true => format!(", in `{}`", parent(section.path)),
            false => String::new(),
        };
        page.push_str(&format!(
            "\n### `{}`{place}\n\n{}",
            section.written,
            wrapped(section.meaning, 0)
        ));
        page.push_str("\n| Key | What it does | It takes | Left out | Example |\n");
        page.push_str("|---|---|---|---|---|\n");
        for key in section.keys {
            let default = match key.default {
                "" => "it must be given",
                default => default,
            };
            page.push_str(&format!(
                "| `{}` | {} | {} | {default} | `{}` |\n",
                key.name,
                key.meaning,
                key.kind.words(),
                key.example
            ));
        }
    }
    page
}

/// `workload.request` of `workload.request.body`.
fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// `docs/experiment.schema.json`.
pub fn schema() -> Value {
    let mut schema = object("");
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "An experiment of Triathlon".into();
    schema
}

/// The schema of the table of that path.
fn object(path: &str) -> Value {
    let section = SECTIONS.iter().find(|section| section.path == path);
    let section: &Section = section.expect("the paths are those of the table");
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for key in section.keys {
        let below = match path {
            "" => key.name.to_owned(),
            path => format!("{path}.{}", key.name),
        };
        let mut property = value(key.kind, &below);
        property["description"] = key.meaning.into();
        properties.insert(key.name.to_owned(), property);
        if key.default.is_empty() {
            required.push(key.name);
        }
    }
    json!({
        "type": "object",
        "description": section.meaning,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn value(kind: Kind, path: &str) -> Value {
    match kind {
        Kind::Axis(one) => {
            let one = value(*one, path);
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Count(least) => json!({ "type": "integer", "minimum": least }),
        Kind::Fields => {
            let pair = json!({
                "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2,
            });
            json!({ "type": "array", "items": pair })
        }
        Kind::Numbers => {
            let number = json!({ "type": "integer", "minimum": 1 });
            let list = json!({ "type": "array", "items": number, "minItems": 1 });
            json!({ "anyOf": [number, list, object(EVEN_POINTS.path)] })
        }
        Kind::Rate | Kind::Size | Kind::Value => json!({
            "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }],
        }),
        Kind::Settings => {
            let one = json!({ "type": ["string", "number", "boolean"] });
            let list = json!({ "type": "array", "items": one, "minItems": 1 });
            json!({ "type": "object", "additionalProperties": { "anyOf": [one, list] } })
        }
        Kind::Steps => json!({ "type": "array", "items": { "type": "object" } }),
        Kind::Table => object(path),
        Kind::Tables => json!({ "type": "array", "items": object(path) }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Truth => json!({ "type": "boolean" }),
        Kind::Variables => json!({ "type": "object" }),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Time => json!({
            "type": "string", "pattern": "^[0-9.]+ ?(ns|us|ms|s|m|min|h)$",
        }),
        Kind::Word(words) => json!({ "enum": words }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Run with `INSTA_UPDATE=always` (`cargo xtask bless --accept`) to write them anew.
    #[test]
    fn the_pages_are_those_of_the_table() {
        let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        for (name, made) in [
            ("experiment.md", markdown()),
            ("experiment.schema.json", schema),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../docs")
                .join(name);
            if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
                std::fs::write(&path, &made).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                published == made,
                "docs/{name} is not what the table says: cargo xtask bless --accept"
            );
        }
    }

    #[test]
    fn every_example_is_a_line_that_the_reader_takes() {
        for section in SECTIONS.iter().filter(|section| !section.path.is_empty()) {
            for key in section.keys.iter().filter(|key| key.kind != Kind::Tables) {
                let line: toml::Table = key
                    .example
                    .parse()
                    .unwrap_or_else(|error| panic!("{}: {error}", key.example));
                assert!(line.contains_key(key.name), "{}", key.example);
            }
        }
    }

    #[test]
    fn the_text_has_every_key() {
        let text = text();
        for key in SECTIONS.iter().flat_map(|section| section.keys) {
            assert!(text.contains(key.example), "{}", key.name);
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
