//! What an earlier start left in two: cells of which some trials are there and others are not.

use std::collections::{BTreeMap, BTreeSet};

use super::{Block, Cell, REPEATS_MAX, Round, Slot, attempt};

/// What an earlier start left in two, by sequence numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Cut {
    /// The slots of each cell that has some of its trials and lacks others that can be made.
    pub cells: Vec<BTreeSet<u32>>,
    /// Slots of which nothing will come: their cell was measured again as a whole since.
    pub settled: BTreeSet<u32>,
}

/// Finds that in `rounds[index]`, before anything of it is measured in this start. A cell with a
/// trial of somebody who can be measured no more stays as it is: there is nothing to measure again
/// next to what is missing.
pub fn cut(
    rounds: &[Round],
    index: usize,
    is_done: &dyn Fn(u32) -> bool,
    is_void: &dyn Fn(u32) -> bool,
    can_be: &dyn Fn(&Slot) -> bool,
) -> Cut {
    let mut found = Cut::default();
    let mut measured_again = BTreeSet::new();
    // Of several attempts at a cell the last one counts.
    for number in (0..=REPEATS_MAX).rev() {
        for (place, slots) in cells(&attempt(rounds, index, number, is_void)) {
            let (done, missing): (Vec<&Slot>, Vec<&Slot>) =
                slots.iter().partition(|slot| is_done(slot.sequence));
            if measured_again.contains(&place) {
                let missing = missing.iter().map(|slot| slot.sequence);
                found.settled.extend(missing);
                continue;
            }
            if done.is_empty() {
                continue;
            }
            measured_again.insert(place);
            if missing.iter().any(|slot| can_be(slot)) && done.iter().all(|slot| can_be(slot)) {
                let all = slots.iter().map(|slot| slot.sequence);
                found.cells.push(all.collect());
            }
        }
    }
    found
}

/// The slots of each cell, in all blocks.
fn cells(blocks: &[Block]) -> BTreeMap<(usize, Cell), Vec<Slot>> {
    let mut cells: BTreeMap<(usize, Cell), Vec<Slot>> = BTreeMap::new();
    for block in blocks {
        for slot in &block.slots {
            let place = (block.group, slot.cell);
            cells.entry(place).or_default().push(*slot);
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Racer, schedule};

    /// Two servers at two loads in two rounds.
    fn rounds() -> Vec<Round> {
        let text = "[experiment]\nname = \"x\"\nquestion = \"?\"\nrounds = 2\n\
                    duration = \"1s\"\n[[server]]\nproduct = \"nginx\"\n[[server]]\n\
                    product = \"lighttpd\"\n[[workload]]\nname = \"small\"\n\
                    body = { bytes = 7 }\n[load]\nconnections = [1, 2]\n";
        let source = crate::experiment::parse("x.toml", text, &[]).unwrap();
        schedule(&source, 1, 3)
    }

    /// The slots of the first cell of a round: those of the servers, then that of the ceiling.
    fn first_cell(rounds: &[Round], index: usize) -> Vec<Slot> {
        let (_, mut slots) = cells(&rounds[index].blocks).pop_first().unwrap();
        slots.sort_by_key(|slot| (matches!(slot.racer, Racer::Ceiling { .. }), slot.sequence));
        assert_eq!(slots.len(), 3);
        slots
    }

    fn check(
        done: &[u32],
        void: &[u32],
        cannot_be: &[Racer],
        cells: Vec<BTreeSet<u32>>,
        settled: &[u32],
    ) {
        let found = cut(
            &rounds(),
            0,
            &|sequence| done.contains(&sequence),
            &|sequence| void.contains(&sequence),
            &|slot| !cannot_be.contains(&slot.racer),
        );
        let settled = settled.iter().copied().collect();
        assert_eq!(found, Cut { cells, settled });
    }

    #[test]
    fn a_cell_is_cut_where_some_of_it_is_there_and_some_can_be_made() {
        let rounds = rounds();
        let slots = first_cell(&rounds, 0);
        let [one, two, ceiling] = [0, 1, 2].map(|index| slots[index].sequence);
        let all = vec![BTreeSet::from([one, two, ceiling])];
        check(&[], &[], &[], Vec::new(), &[]);
        check(&[one], &[], &[], all.clone(), &[]);
        check(&[one, two], &[], &[], all, &[]);
        check(&[one, two, ceiling], &[], &[], Vec::new(), &[]);
        // What is missing cannot be made, or what is there cannot be made again.
        let missing = [slots[2].racer];
        check(&[one, two], &[], &missing, Vec::new(), &[]);
        check(&[one, two], &[], &[slots[0].racer], Vec::new(), &[]);
        // What is of another round does not matter.
        let other = first_cell(&rounds, 1)[0].sequence;
        check(&[other], &[], &[], Vec::new(), &[]);
    }

    #[test]
    fn of_several_attempts_the_last_is_cut() {
        let rounds = rounds();
        let slots = first_cell(&rounds, 0);
        let [one, two, ceiling] = [0, 1, 2].map(|index| slots[index].sequence);
        let later = |sequence: u32| sequence + rounds[0].size;
        let again = [one, two, ceiling].map(later);
        // The first attempt lacks one, and something spoilt it.
        let done = [&[one, two][..], &again[..]].concat();
        check(&done, &[one], &[], Vec::new(), &[ceiling]);
        let done = [&[one, two][..], &again[..2]].concat();
        check(&done, &[one], &[], vec![again.into()], &[ceiling]);
    }
}
