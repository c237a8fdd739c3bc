//! What is missing, as notes: a sentence for each cause.

use model::experiment::Gap;

use super::Run;

impl Run {
    /// Adds what is missing to the notes: a sentence for each cause, with the points it cost.
    pub fn note_gaps(&mut self, gaps: &[Gap]) {
        let mut causes: Vec<(&Gap, Vec<String>)> = Vec::new();
        for gap in gaps {
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
        for (gap, places) in causes {
            let note = gap_note(gap, &places);
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
