//! Configurations of servers, each with what differs from that of the same product as it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use model::trial::Server;

use super::escape;
use crate::number::plural;

/// The preset of a server that is configured as it comes.
const STOCK: &str = "stock";
/// Ports that Linux hands out (`ip_local_port_range` unless it is set), as the lab asks for them.
const PORTS: std::ops::RangeInclusive<u32> = 32_768..=60_999;
/// What stands before the random part of a name of a folder that a trial makes.
const FOLDERS: [&str; 2] = ["triathlon-", "server-"];

/// The files of `server`, with the lines marked that the nearest of `servers` with the same product
/// in its `stock` preset does not have.
pub(super) fn files(server: &Server, servers: &BTreeMap<String, Server>) -> String {
    let mut html = String::new();
    let stock = stock_of(server, servers);
    if let Some((label, stock)) = stock {
        let count: usize = files_of(server)
            .map(|(name, text)| {
                text.lines()
                    .filter(|line| is_other(line, name, stock))
                    .count()
            })
            .sum();
        let _ = writeln!(
            html,
            "<p class=\"note\">{}</p>",
            match count {
                0 => format!("No line differs from {}.", escape(label)),
                1 => format!("One line differs from {}: it is marked.", escape(label)),
                _ => format!(
                    "{count} lines differ from {}: they are marked.",
                    escape(label)
                ),
            }
        );
    }
    for (name, text) in files_of(server) {
        let _ = writeln!(
            html,
            "<details class=\"configuration\"><summary><code>{}</code>, {}</summary>\
             <pre>{}</pre></details>",
            escape(name),
            plural(text.lines().count(), "line"),
            marked(text, |line| {
                stock.is_some_and(|(_, stock)| is_other(line, name, stock))
            })
        );
    }
    html
}

fn files_of(server: &Server) -> impl Iterator<Item = (&String, &String)> {
    server.configuration.iter()
}

/// The one of `servers` that is the same product as it comes and has the most lines in common.
fn stock_of<'a>(
    server: &Server,
    servers: &'a BTreeMap<String, Server>,
) -> Option<(&'a str, &'a Server)> {
    if server.preset == STOCK {
        return None;
    }
    let others = servers.iter().filter(|(_, other)| {
        other.preset == STOCK && other.product == server.product && !other.configuration.is_empty()
    });
    let unlike = |other: &Server| {
        let lines = files_of(server).flat_map(|(name, text)| text.lines().map(move |l| (name, l)));
        lines
            .filter(|(name, line)| is_other(line, name, other))
            .count()
    };
    let nearest = others.min_by_key(|(_, other)| unlike(other))?;
    Some((nearest.0, nearest.1))
}

/// Whether the file `name` of `stock` has no such line. Comments and what only closes something say
/// nothing.
fn is_other(line: &str, name: &str, stock: &Server) -> bool {
    let line = line.trim();
    let says = line.chars().any(char::is_alphanumeric);
    if !says
        || ["#", "//", "--", ";"]
            .iter()
            .any(|mark| line.starts_with(mark))
    {
        return false;
    }
    let of_it = stock.configuration.get(name).map_or("", String::as_str);
    let known: BTreeSet<String> = of_it.lines().map(plain).collect();
    !known.contains(&plain(line))
}

/// A line without what differs from trial to trial: ports, and names of folders.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut words = line
        .trim()
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words
        .try_for_each(|word| {
            let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let is_port = end.parse().is_ok_and(|number: u32| PORTS.contains(&number));
            let folder = FOLDERS.iter().find(|start| end.starts_with(**start));
            match (is_port, folder) {
                (true, _) => write!(plain, "PORT{}", &word[end.len()..]),
                (false, Some(start)) => write!(plain, "{start}{}", &word[end.len()..]),
                (false, None) => write!(plain, "{word}"),
            }
        })
        .expect("a text grows");
    plain
}

/// The text, with the lines marked that `is_other` names.
fn marked(text: &str, is_other: impl Fn(&str) -> bool) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        match is_other(line) {
            true => format!("<mark>{}</mark>{end}", escape(line)),
            false => format!("{}{end}", escape(line)),
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(preset: &str, text: &str) -> Server {
        Server {
            product: "nginx".to_owned(),
            preset: preset.to_owned(),
            configuration: [("nginx.conf".to_owned(), text.to_owned())].into(),
            ..Server::default()
        }
    }

    #[test]
    fn lines_are_marked_that_the_same_product_as_it_comes_does_not_have() {
        let stock = "# As it comes.\nworker_connections 512;\nlisten 127.0.0.1:32831;\n\
                     root \"/tmp/triathlon-ImZpIz/www\";\n}\n";
        let tuned = "# Tuned.\nworker_connections 4096;\nlisten 127.0.0.1:40001;\n\
                     root \"/tmp/triathlon-b23MnA/www\";\nsendfile on;\n}\n";
        let servers: BTreeMap<String, Server> = [
            ("nginx".to_owned(), server("tuned", tuned)),
            ("nginx stock".to_owned(), server("stock", stock)),
        ]
        .into();
        let html = files(&servers["nginx"], &servers);
        assert!(
            html.contains("2 lines differ from nginx stock: they are marked"),
            "{html}"
        );
        for marked in ["worker_connections 4096;", "sendfile on;"] {
            assert!(html.contains(&format!("<mark>{marked}</mark>")), "{html}");
        }
        assert_eq!(html.matches("<mark>").count(), 2, "{html}");
        // That as it comes differs from nothing, and nothing is said where nobody measured it.
        let html = files(&servers["nginx stock"], &servers);
        assert!(
            !html.contains("<mark>") && !html.contains("differ"),
            "{html}"
        );
        let alone = [("nginx".to_owned(), server("tuned", tuned))].into();
        let html = files(&server("tuned", tuned), &alone);
        assert!(
            !html.contains("<mark>") && !html.contains("differ"),
            "{html}"
        );
        // Another product is no measure.
        let mut other = server("stock", stock);
        other.product = "apache".to_owned();
        let html = files(
            &server("tuned", tuned),
            &[("apache".to_owned(), other)].into(),
        );
        assert!(!html.contains("<mark>"), "{html}");
    }

    #[test]
    fn nothing_differs_where_all_lines_are_there() {
        let servers = [("nginx stock".to_owned(), server("stock", "a 1;\nb 2;\n"))].into();
        let html = files(&server("tuned", "b 2;\n"), &servers);
        assert!(html.contains("No line differs from nginx stock"), "{html}");
    }
}
