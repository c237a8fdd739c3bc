//! What is missing, as notes: a sentence for each cause.

use std::collections::BTreeSet;

use model::experiment::{Gap, ServerVariant};
use verdict::words;

use super::Run;

impl Run {
    /// What is missing.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The labels of all servers that could take part. Whoever was missing before anything was
    /// measured is compared with nobody.
    pub(super) fn contenders(&self) -> Vec<String> {
        let is_missing = |label: &String| {
            let gaps = || self.gaps.iter().filter(|gap| gap.server == *label);
            let is_lost = |workload: &&String| {
                let mut gaps = gaps().filter(|gap| gap.round.is_none());
                gaps.any(|gap| gap.workload.as_ref() == Some(*workload))
            };
            let workloads = self.workload_order.iter();
            let (others, asked): (Vec<&String>, Vec<&String>) =
                workloads.partition(|workload| self.is_apart(label, workload));
            // It has rows of its workloads where others are not asked of it.
            gaps().any(Gap::is_of_all) || (!others.is_empty() && asked.iter().all(is_lost))
        };
        let all = self.server_order.iter();
        all.filter(|label| !is_missing(label)).cloned().collect()
    }

    /// That it is not finished, where rounds are missing and no gap says why: it was interrupted,
    /// or is still going on.
    pub(super) fn unfinished(&self) -> Option<String> {
        let whole = (1..=self.rounds)
            .filter(|round| self.is_whole(*round))
            .count() as u64;
        let planned = u64::from(self.rounds);
        if self.variants.is_empty() || whole == planned {
            return None;
        }
        let verb = if whole == 1 { "is" } else { "are" };
        Some(format!(
            "This run is not finished: of {} that were planned, {whole} {verb} complete. triathlon \
             lab --resume goes on with it.",
            words::plural(planned, "round")
        ))
    }

    /// Whether all that a round was to measure is there, or known to be missing.
    fn is_whole(&self, round: u32) -> bool {
        let servers = || self.digests.iter().filter(|digest| !digest.ceiling);
        let contenders = self.contenders();
        let is_known = |server: &String, workload: &String| {
            let mut gaps = self.gaps.iter().filter(|gap| gap.server == *server);
            gaps.any(|gap| gap.workload.as_ref().is_none_or(|name| name == workload))
        };
        let places: BTreeSet<_> = servers()
            .filter(|digest| !is_known(&digest.id.server, &digest.id.workload))
            .map(|digest| (&digest.id.server, &digest.id.workload, &digest.place))
            .collect();
        let there: BTreeSet<_> = servers()
            .filter(|digest| digest.round == round)
            .map(|digest| (&digest.id.server, &digest.id.workload, &digest.place))
            .collect();
        let is_measured = |server: &String, workload: &String| {
            let mut of_it = there
                .iter()
                .filter(|(one, other, _)| *one == server && *other == workload);
            of_it.next().is_some() || is_known(server, workload)
        };
        let is_there = |server: &String| {
            let workloads = self.workload_order.iter();
            let mut asked = workloads.filter(|workload| !self.is_apart(server, workload));
            asked.all(|workload| is_measured(server, workload))
        };
        places.is_subset(&there) && contenders.iter().all(is_there)
    }

    /// The servers that its experiment names, as it expands them.
    pub fn variants(&self) -> &[ServerVariant] {
        &self.variants
    }

    /// Whether that workload is not asked of that server.
    fn is_apart(&self, server: &str, workload: &str) -> bool {
        let mut apart = self.apart.iter();
        apart.any(|(one, other)| one == server && other == workload)
    }

    /// Labels that are one server over several workloads: no two of them are asked in one. Each
    /// with the name of all, in the order of [`labels`](Self::labels).
    pub(crate) fn over_workloads(&self) -> Vec<(String, Vec<String>)> {
        let mut all: Vec<(String, Vec<String>)> = Vec::new();
        for label in self.labels() {
            let mut servers = self.variants.iter();
            let server = servers.find(|one| one.label == label);
            let name = server.map_or(&label, |one| &one.name);
            let meets = |other: &String| {
                let mut workloads = self.workload_order.iter();
                workloads.any(|one| !self.is_apart(&label, one) && !self.is_apart(other, one))
            };
            let alike = all
                .iter()
                .position(|(other, labels)| other == name && !labels.iter().any(meets));
            match alike {
                Some(place) => all[place].1.push(label),
                None if all.iter().any(|(other, _)| other == name) => {
                    all.push((label.clone(), vec![label]));
                }
                None => all.push((name.clone(), vec![label])),
            }
        }
        // What stands alone is called by its label.
        for (name, labels) in &mut all {
            if let [label] = labels.as_slice() {
                name.clone_from(label);
            }
        }
        all
    }

    /// The label here of the server that is called `name` where `workload` is asked, or of that
    /// which was called so before axes were cut.
    pub fn label_for(&self, name: &str, workload: &str) -> Option<&str> {
        let experiment = self.expanded.as_ref();
        let server = experiment.and_then(|one| one.server_for(name, workload));
        server.map_or_else(|| self.label_of(name), |one| Some(one.label.as_str()))
    }

    /// The label here of the server that was called `name` before axes were cut.
    pub fn label_of(&self, name: &str) -> Option<&str> {
        let called = self.variants.iter().find(|one| one.is_called(name));
        let here = self.digests.iter().map(|digest| digest.id.server.as_str());
        let mut here = here.filter(|label| *label == name);
        called.map(|one| one.label.as_str()).or_else(|| here.next())
    }

    /// Adds what is missing to the notes: a sentence for each cause, with the points it cost, and
    /// one for the products that do not offer what some workloads need.
    pub fn note_gaps(&mut self, gaps: &[Gap]) {
        self.gaps.extend(gaps.iter().cloned());
        let mut causes: Vec<(&Gap, Vec<String>)> = Vec::new();
        let mut not_offered: Vec<(&str, Vec<String>)> = Vec::new();
        for gap in gaps {
            if let (true, Some(workload)) = (gap.out_of_reach, &gap.workload) {
                let workload = format!("'{workload}'");
                let mut known = not_offered.iter_mut();
                match known.find(|(product, _)| *product == gap.product) {
                    Some((_, workloads)) if workloads.contains(&workload) => {}
                    Some((_, workloads)) => workloads.push(workload),
                    None => not_offered.push((&gap.product, vec![workload])),
                }
                continue;
            }
            let place = gap_place(gap);
            match causes
                .iter_mut()
                .find(|(other, _)| other.error == gap.error && other.remedy == gap.remedy)
            {
                Some((_, places)) if places.contains(&place) => {}
                Some((_, places)) => places.push(place),
                None => causes.push((gap, vec![place])),
            }
        }
        let causes = causes.iter().map(|(gap, places)| gap_note(gap, places));
        let mut alike: Vec<(Vec<&str>, &[String])> = Vec::new();
        for (product, workloads) in &not_offered {
            match alike.iter_mut().find(|one| one.1 == workloads.as_slice()) {
                Some((products, _)) => products.push(product),
                None => alike.push((vec![product], workloads)),
            }
        }
        let not_offered = alike.iter().map(|(products, workloads)| {
            let (does, need) = (
                if products.len() == 1 { "does" } else { "do" },
                if workloads.len() == 1 {
                    "needs"
                } else {
                    "need"
                },
            );
            let (products, workloads) = (words::list(products), words::list(workloads));
            format!("Not measured: {products} {does} not offer what {workloads} {need}.")
        });
        for note in causes.chain(not_offered) {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// Of one cause so many points are named; the others are counted.
const PLACES_NAMED: usize = 4;

/// What is missing, why, and what to do about it.
fn gap_note(gap: &Gap, places: &[String]) -> String {
    let mut named = places
        .iter()
        .take(PLACES_NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if places.len() > PLACES_NAMED {
        named.push_str(&format!("; and {} more", places.len() - PLACES_NAMED));
    }
    let remedy = gap
        .remedy
        .as_ref()
        .map_or_else(String::new, |remedy| format!(" To measure it: {remedy}"));
    let stop = if gap.error.ends_with('.') { "" } else { "." };
    format!(
        "Not measured: {named}. The reason: {}{stop}{remedy}",
        gap.error
    )
}

/// Which point: as much of it as the gap names.
fn gap_place(gap: &Gap) -> String {
    let mut place = gap.server.clone();
    if let Some(workload) = &gap.workload {
        place.push_str(&format!(", {workload}"));
    }
    if !gap.load.is_empty() {
        place.push_str(&format!(" at {}", gap.load.text()));
    }
    if let Some(round) = gap.round {
        place.push_str(&format!(", round {round}"));
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_product_does_not_offer_is_one_note() {
        let gap = |server: &str, product: &str, workload: &str| Gap {
            server: server.to_owned(),
            product: product.to_owned(),
            workload: Some(workload.to_owned()),
            error: format!("{product} does not offer '{workload}'"),
            out_of_reach: true,
            ..Gap::default()
        };
        let failed = Gap {
            server: "nginx".to_owned(),
            product: "nginx".to_owned(),
            workload: Some("perl".to_owned()),
            error: "wrong answer".to_owned(),
            ..Gap::default()
        };
        let mut run = Run::default();
        run.note_gaps(&[
            gap("apache event", "apache", "memory"),
            gap("apache prefork", "apache", "memory"),
            gap("nginx", "nginx", "cgi-c"),
            failed,
            gap("nginx", "nginx", "lua"),
            gap("h2o", "h2o", "memory"),
        ]);
        assert_eq!(
            run.notes,
            [
                "Not measured: nginx, perl. The reason: wrong answer.",
                "Not measured: apache and h2o do not offer what 'memory' needs.",
                "Not measured: nginx does not offer what 'cgi-c' and 'lua' need.",
            ]
        );
    }
}
