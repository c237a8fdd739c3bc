//! `docs/tools.md`: what becomes of each flag of each tool, made from the tables.

use std::fs;
use std::path::Path;

use super::flag::Here;
use super::{ALL, Tool};

const INTRODUCTION: &str = "\
# For those who come from another tool

Triathlon takes the command lines of other tools and prints what they print, so that scripts that
read their output keep working: `triathlon wrk ...`, or a link of that name (`ln -s triathlon wrk`).
It measures as `triathlon load` does, with every answer checked, and says on standard error what the
run is worth. Exit codes are those of `triathlon load`: 3 where the numbers are worth nothing.

No flag is silently ignored. Each flag of a tool is listed below: it has an effect, through a flag
of `triathlon load` or as described; or there is nothing to do; or it is refused, with what to do
instead.
This page is generated from the tables with which the program reads command lines.
";

/// A cell of a table, in which a bar would end it and a star would be emphasis.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('*', "\\*")
}

/// A point of a list, in lines of at most 100 columns.
fn item(sentence: &str) -> String {
    let mut text = String::from("-");
    let mut column = 1;
    for word in sentence.split(' ') {
        if column + 1 + word.len() > 100 {
            text.push_str("\n ");
            column = 1;
        }
        text.push(' ');
        text.push_str(word);
        column += 1 + word.len();
    }
    text + "\n"
}

fn section(tool: &Tool) -> String {
    let mut text = format!(
        "\n## {}\n\n`{}`\n\n| flag | in the tool | here |\n|---|---|---|\n",
        tool.name, tool.usage
    );
    for flag in tool.flags {
        let value = flag.value.map_or("", |(name, _)| name);
        let names = format!("{} {value}", flag.names.join(", "));
        let here = match flag.here {
            Here::Load(template) => {
                let shown = template.replace("{}", value).replace(' ', "` and `");
                format!("`{shown}`")
            }
            Here::Done(how) => cell(how),
            Here::Needless(why) => format!("nothing to do: {}", cell(why)),
            Here::Refused(why) => format!("**refused**: {}", cell(why)),
            Here::Help => "prints the flags".to_owned(),
            Here::Version => "prints the version".to_owned(),
        };
        text += &format!(
            "| `{}` | {} | {here} |\n",
            names.trim_end(),
            cell(flag.about)
        );
    }
    text += "\nDifferent from the tool:\n\n";
    for sentence in tool.differs {
        text += &item(sentence);
    }
    text
}

fn page() -> String {
    let sections = ALL.iter().map(|tool| section(tool));
    INTRODUCTION.to_owned() + &sections.collect::<String>()
}

#[test]
fn the_page_of_tools_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let text = page();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(&path, &text).expect("the page can be written");
    }
    let there = fs::read_to_string(&path).expect("the page is there");
    assert!(
        there == text,
        "docs/tools.md is not what the tables say: cargo xtask bless --accept"
    );
}
