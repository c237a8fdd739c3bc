//! The ends of the way between generator and server: a link each, as it was set.

use model::environment::PathEnd;

use super::escape;
use super::table::Table;
use crate::digests::Run;
use crate::number;

const COLUMNS: [&str; 8] = [
    "end",
    "link",
    "driver",
    "speed",
    "largest packet",
    "queues",
    "offloads",
    "round trip at most",
];

/// A row for each end; nothing where none was read.
pub(super) fn ends(run: &Run) -> String {
    let mut table = Table::stacked("The way between generator and server", &COLUMNS);
    for (whose, end) in run.ends() {
        table.row().head(&escape(whose));
        for text in cells(end) {
            table.text(&text);
        }
    }
    table.finish_unless_empty()
}

fn cells(end: &PathEnd) -> [String; 7] {
    let unknown = || "unknown".to_owned();
    let is_on = |wanted: bool| {
        let names = end.offloads.iter().filter(|(_, is_on)| **is_on == wanted);
        names.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let mut offloads = vec![("on", is_on(true)), ("off", is_on(false))];
    offloads.retain(|(_, names)| !names.is_empty());
    let offloads = offloads.into_iter();
    let offloads: Vec<String> = offloads
        .map(|(word, names)| format!("{word}: {}", names.join(", ")))
        .collect();
    [
        end.link.clone(),
        end.driver.clone().unwrap_or_else(unknown),
        end.speed_mbit
            .map_or_else(unknown, |speed| format!("{} Mbit/s", number::count(speed))),
        end.mtu
            .map_or_else(unknown, |mtu| format!("{} bytes", number::count(mtu))),
        end.queues.map_or_else(unknown, |queues| {
            let queues = number::count(u64::from(queues));
            match end.rps_cpus.filter(|cpus| *cpus > 0) {
                Some(cpus) => format!(
                    "{queues}, and RPS over {}",
                    number::plural(cpus as usize, "CPU")
                ),
                None => queues,
            }
        }),
        match offloads.is_empty() {
            true => unknown(),
            false => offloads.join("; "),
        },
        end.round_trip_at_most
            .map_or_else(|| "not measured there".to_owned(), |span| span.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use model::{Span, fixture};

    use super::*;

    #[test]
    fn each_end_has_a_row() {
        let mut run = Run::default();
        assert_eq!(ends(&run), "");
        let mut trial = fixture::closed();
        trial.environment.path = Some(PathEnd {
            link: "eth<0>".to_owned(),
            speed_mbit: Some(25_000),
            queues: Some(2),
            rps_cpus: Some(6),
            mtu: Some(1_500),
            offloads: [("gro".to_owned(), true), ("tso".to_owned(), false)].into(),
            round_trip_at_most: Some(Span::from_us(55)),
            ..PathEnd::default()
        });
        run.add(&trial);
        let html = ends(&run);
        for words in [
            "the generator",
            "eth&lt;0&gt;",
            "25,000 Mbit/s",
            "2, and RPS over 6 CPUs",
            "1,500 bytes",
            "on: gro; off: tso",
            "55.0 µs",
            "unknown",
        ] {
            assert!(html.contains(words), "no '{words}' in {html}");
        }
    }
}
