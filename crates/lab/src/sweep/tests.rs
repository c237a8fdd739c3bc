use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::experiment;

pub(super) fn first_heat(overrides: &[&str]) -> Experiment {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    experiment::read("first-heat", &overrides)
        .unwrap()
        .experiment
}

pub(super) const AT_ONCE: u32 = 16;

fn blocks(experiment: &Experiment, seed: u64) -> Vec<Block> {
    let rounds = schedule(experiment, seed, AT_ONCE);
    rounds.into_iter().flat_map(|round| round.blocks).collect()
}

#[test]
fn the_same_seed_gives_the_same_order_and_another_another() {
    for order in ["order=cell", "order=server"] {
        let experiment = first_heat(&[order]);
        assert_eq!(blocks(&experiment, 7), blocks(&experiment, 7));
        assert_ne!(blocks(&experiment, 7), blocks(&experiment, 8));
    }
}

#[test]
fn load_runs_before_its_window_as_long_as_is_said_or_for_a_part_of_it() {
    for (words, ms) in [
        (["duration=10s", "order=cell"], 500),
        (["duration=2s", "order=cell"], 200),
        (["duration=500ms", "order=cell"], 100),
        (["duration=100ms", "order=cell"], 50),
        (["duration=100ms", "order=server"], 20),
        (["duration=20ms", "order=server"], 10),
        (["duration=2s", "settle=1500ms"], 1_500),
        (["duration=20ms", "settle=0s"], 0),
    ] {
        assert_eq!(settle(&first_heat(&words)), Span::from_ms(ms), "{words:?}");
    }
}

/// Every racer meets every cell of its own once in each round, and sequence numbers ascend.
fn check_complete(overrides: &[&str], starts: usize) {
    let experiment = first_heat(overrides);
    let cells = experiment.workloads().len() * experiment.connections().len();
    for seed in 0..20 {
        let mut last = 0;
        for round in schedule(&experiment, seed, AT_ONCE) {
            let mut met: BTreeMap<Racer, BTreeSet<Cell>> = BTreeMap::new();
            let mut started: Vec<Racer> = Vec::new();
            for block in &round.blocks {
                assert_eq!((block.round, block.attempt), (round.number, 0));
                started.extend(&block.racers);
                for slot in &block.slots {
                    assert!(slot.sequence > last, "seed {seed}");
                    last = slot.sequence;
                    assert!(block.racers.contains(&slot.racer), "seed {seed}");
                    let fresh = met.entry(slot.racer).or_default().insert(slot.cell);
                    assert!(fresh, "seed {seed}: {slot:?} comes twice");
                }
            }
            started.sort_unstable();
            assert_eq!(started.len(), starts, "seed {seed}: {started:?}");
            assert_eq!(met.len(), starts, "seed {seed}");
            assert!(met.values().all(|met| met.len() == cells), "seed {seed}");
        }
    }
}

#[test]
fn every_round_is_complete_in_either_order() {
    check_complete(&["order=cell"], 5);
    check_complete(&["order=server"], 5);
    check_complete(&["order=cell", "server[1].cores=[1,2]"], 2 + 5);
    check_complete(&["order=server", "server[1].cores=[1,2]"], 2 + 5);
}

/// A workload with a protocol of its own is measured with servers of that protocol, which have a
/// ceiling of it, and with no others.
#[test]
fn a_workload_with_a_protocol_of_its_own_meets_its_own_servers_alone() {
    for order in ["order=cell", "order=server"] {
        let experiment = first_heat(&[order, "workload[1].protocol=http1-tls"]);
        let spoken = |racer: Racer| racer.speech(&experiment).protocol.name();
        let servers = first_heat(&[]).servers().len();
        assert_eq!(experiment.servers().len(), 2 * servers);
        for seed in 0..20 {
            for block in blocks(&experiment, seed) {
                for slot in &block.slots {
                    let protocol = ["http1", "http1-tls"][slot.cell.workload];
                    assert_eq!(spoken(slot.racer), protocol, "seed {seed}: {slot:?}");
                }
            }
        }
        let plain = schedule(&first_heat(&[order]), 1, AT_ONCE);
        let own = schedule(&experiment, 1, AT_ONCE);
        // Each point is there once, as in clear; ceilings, too.
        assert_eq!(plain[0].size, own[0].size, "{order}");
        let ceilings = |workload: usize| {
            let slots = own[0].blocks.iter().flat_map(|block| &block.slots);
            let of_it = slots.filter(|slot| slot.cell.workload == workload);
            let racers = of_it.map(|slot| slot.racer);
            let ceilings = racers.filter(|racer| matches!(racer, Racer::Ceiling { .. }));
            ceilings.map(spoken).collect::<BTreeSet<_>>()
        };
        assert_eq!(ceilings(0), BTreeSet::from(["http1"]));
        assert_eq!(ceilings(1), BTreeSet::from(["http1-tls"]));
    }
}

#[test]
fn the_servers_of_a_cell_are_neighbours_and_in_any_order() {
    let experiment = first_heat(&["order=cell"]);
    let (mut firsts, mut lasts) = (BTreeSet::new(), BTreeSet::new());
    for block in blocks(&experiment, 1) {
        for turn in block.slots.chunks(5) {
            let racers: BTreeSet<Racer> = turn.iter().map(|slot| slot.racer).collect();
            assert_eq!(racers.len(), 5, "{turn:?}");
            assert!(
                turn.iter().all(|slot| slot.cell == turn[0].cell),
                "{turn:?}"
            );
            firsts.insert(turn[0].racer);
            lasts.insert(turn[4].racer);
        }
    }
    // The ceiling comes first, too, and last.
    assert_eq!((firsts.len(), lasts.len()), (5, 5));
}

#[test]
fn orders_differ_between_rounds() {
    for order in ["order=cell", "order=server"] {
        let blocks = blocks(&first_heat(&[order]), 1);
        let of_round = |round| -> Vec<(Racer, Cell)> {
            let of_it = blocks.iter().filter(|block| block.round == round);
            of_it
                .flat_map(|block| block.slots.iter().map(|slot| (slot.racer, slot.cell)))
                .collect()
        };
        assert!((2..=6).any(|round| of_round(round) != of_round(1)));
    }
}

#[test]
fn only_equal_cores_and_logs_share_a_block() {
    let experiment = first_heat(&["server[1].cores=[1,2]", "server[2].access_log=['off','on']"]);
    for block in blocks(&experiment, 3) {
        let mut kinds: Vec<_> = block
            .racers
            .iter()
            .filter_map(|racer| match racer {
                Racer::Server(index) => Some(&experiment.servers()[*index]),
                Racer::Ceiling { .. } => None,
            })
            .map(|server| (server.cores, server.access_log))
            .collect();
        kinds.dedup();
        assert_eq!(kinds.len(), 1, "{block:?}");
    }
}

#[test]
fn where_memory_is_short_every_block_has_the_reference() {
    let experiment = first_heat(&[]);
    let named = first_heat(&["reference=lighttpd"]);
    for (at_once, (experiment, reference)) in
        (3..=8).flat_map(|room| [(room, (&experiment, "nginx")), (room, (&named, "lighttpd"))])
    {
        let mut servers = experiment.servers().iter();
        let index = servers
            .position(|server| server.label == reference)
            .unwrap();
        for round in schedule(experiment, 9, at_once) {
            for block in &round.blocks {
                assert!(
                    block.racers.len() <= at_once as usize,
                    "{at_once}: {block:?}"
                );
                assert!(
                    block.racers.contains(&Racer::Server(index)),
                    "{at_once}: {block:?}"
                );
            }
            let is_ceiling = |racer: &&Racer| matches!(racer, Racer::Ceiling { .. });
            let racers = round.blocks.iter().flat_map(|block| &block.racers);
            assert_eq!(racers.filter(is_ceiling).count(), 1, "{at_once}");
        }
    }
    assert_eq!(at_once(Some(Bytes::new(2 << 30))), 8);
    assert_eq!(at_once(Some(Bytes::new(64 << 20))), 3);
    assert_eq!(at_once(Some(Bytes::new(1 << 40))), 32);
    assert_eq!(at_once(None), 32);
}

#[test]
fn an_open_loop_has_its_ceilings_at_cells_of_their_own() {
    let experiment = first_heat(&["mode=open", "rate=[1000,2000]", "connections=[1,16]"]);
    for block in blocks(&experiment, 4) {
        for slot in &block.slots {
            let is_ceiling = matches!(slot.racer, Racer::Ceiling { .. });
            assert_eq!(slot.cell.rate.is_none(), is_ceiling, "{slot:?}");
        }
        assert_eq!(block.slots.len(), 4 * 2 * 2 * 2 + 4);
    }
}

#[test]
fn the_whole_cell_of_a_void_trial_is_measured_again_and_nothing_else() {
    for order in ["order=cell", "order=server"] {
        let experiment = first_heat(&[order, "rounds=2"]);
        let rounds = schedule(&experiment, 11, AT_ONCE);
        let slots = |blocks: &[Block]| -> Vec<Slot> {
            blocks
                .iter()
                .flat_map(|block| block.slots.clone())
                .collect()
        };
        let first = slots(&rounds[0].attempt(0, &|_| false));
        assert!(rounds[0].attempt(1, &|_| false).is_empty());
        let struck = first[17];
        let is_void = |sequence| sequence == struck.sequence;
        let blocks = rounds[0].attempt(1, &is_void);
        assert!(blocks.iter().all(|block| block.attempt == 1), "{order}");
        let again = slots(&blocks);
        let racers: BTreeSet<Racer> = again.iter().map(|slot| slot.racer).collect();
        assert_eq!((again.len(), racers.len()), (5, 5), "{order}");
        assert!(again.iter().all(|slot| slot.cell == struck.cell), "{order}");
        // A repeat is repeated only where it is void itself.
        assert!(rounds[0].attempt(2, &is_void).is_empty(), "{order}");
        let struck_again = again[2].sequence;
        let third = slots(&rounds[0].attempt(2, &|sequence| sequence == struck_again));
        assert_eq!(third.len(), 5, "{order}");
        // Positions in the order of execution, and no two are the same.
        let all: Vec<u32> = [&first, &again, &third]
            .into_iter()
            .flatten()
            .chain(&slots(&rounds[1].blocks))
            .map(|slot| slot.sequence)
            .collect();
        assert!(
            all.windows(2).all(|pair| pair[0] < pair[1]),
            "{order}: {all:?}"
        );
    }
}

#[test]
fn a_ceiling_is_measured_at_six_counts_at_most_ends_included() {
    let experiment = first_heat(&["connections={from=10,to=1000,step=10}"]);
    let blocks = blocks(&experiment, 3);
    let counts: BTreeSet<u32> = blocks
        .iter()
        .flat_map(|block| &block.slots)
        .filter(|slot| matches!(slot.racer, Racer::Ceiling { .. }))
        .map(|slot| slot.cell.connections)
        .collect();
    assert_eq!(counts.len(), 6);
    assert!(counts.contains(&10) && counts.contains(&1000));
}

/// The variance of the log ratio of two servers that are alike, over many experiments with an
/// order: their residuals drift, as those of machines do, by a random walk that forgets in minutes.
fn paired_variance(order: &str) -> f64 {
    let experiment = first_heat(&[order, "connections=[1,16,64,256]"]);
    let mut dice = model::fixture::Dice::new(20);
    let mut squares = Vec::new();
    for seed in 0..200 {
        for round in schedule(&experiment, seed, AT_ONCE) {
            let mut drift = 0.0;
            let mut seen: BTreeMap<(Racer, Cell), f64> = BTreeMap::new();
            for slot in round.blocks.iter().flat_map(|block| &block.slots) {
                drift = 0.98 * drift + 0.06 * dice.normal();
                seen.insert((slot.racer, slot.cell), drift + 0.1 * dice.normal());
            }
            for ((racer, cell), value) in &seen {
                if *racer == Racer::Server(1) {
                    squares.push((value - seen[&(Racer::Server(0), *cell)]).powi(2));
                }
            }
        }
    }
    let count = u32::try_from(squares.len()).unwrap();
    squares.iter().sum::<f64>() / f64::from(count)
}

/// In thousandths.
#[expect(clippy::cast_possible_truncation, reason = "a number below ten")]
fn rounded(value: f64) -> i64 {
    (value * 1_000.0).round() as i64
}

#[test]
fn what_drifts_falls_out_of_the_ratios_of_neighbours() {
    let (apart, next) = (
        paired_variance("order=server"),
        paired_variance("order=cell"),
    );
    // Two values that share nothing but their means: 2 * 0.1^2 is what no order takes away.
    assert_eq!((rounded(apart.sqrt()), rounded(next.sqrt())), (247, 166));
    assert!(apart > 2.0 * next);
}

#[test]
fn spreading_keeps_both_ends() {
    let values: Vec<u32> = (1..=100).collect();
    for count in 2..=100 {
        let kept = spread(&values, count);
        assert_eq!(kept.len(), count);
        assert_eq!((kept[0], kept[count - 1]), (1, 100));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "{kept:?}");
    }
    assert_eq!(spread(&values, 1), [1]);
    assert!(spread::<u32>(&[], 3).is_empty());
}

#[test]
fn nothing_is_measured_again_more_often_than_the_experiment_says() {
    for (repeats, expected) in [(0, vec![0]), (1, vec![0, 1]), (2, vec![0, 1, 2])] {
        let experiment = first_heat(&[&format!("repeats={repeats}"), "rounds=1"]);
        let rounds = schedule(&experiment, 11, AT_ONCE);
        // Repeats help: all is spoilt at first, and one cell later on.
        let size = rounds[0].size;
        let is_void =
            |slot: &Slot| slot.sequence <= size || slot.cell == rounds[0].blocks[0].slots[0].cell;
        assert_eq!(attempts(&rounds, &is_void), [expected], "{repeats} repeats");
    }
}

/// Which attempts of which rounds are made where trials are void as `is_void` says.
fn attempts(rounds: &[Round], is_void: &dyn Fn(&Slot) -> bool) -> Vec<Vec<u32>> {
    let mut void = BTreeSet::new();
    let mut made = Vec::new();
    for index in 0..rounds.len() {
        made.push(Vec::new());
        for number in 0..=REPEATS_MAX {
            let blocks = attempt(rounds, index, number, &|sequence| void.contains(&sequence));
            for slot in blocks.iter().flat_map(|block| &block.slots) {
                void.extend(is_void(slot).then_some(slot.sequence));
            }
            if !blocks.is_empty() {
                made[index].push(number);
            }
        }
    }
    made
}

#[test]
fn repeats_end_where_they_do_not_help_and_come_back_when_they_may() {
    let rounds = schedule(&first_heat(&["rounds=6"]), 1, AT_ONCE);
    let begin = |index: usize| rounds[index].blocks[0].slots[0].sequence;
    let never = attempts(&rounds, &|_| false);
    assert_eq!(never, vec![vec![0]; 6]);
    // Somebody has the CPUs all the time: one repeat of one round shows that it does not help.
    let always = attempts(&rounds, &|_| true);
    assert_eq!(always[0], [0, 1]);
    assert_eq!(always[1..], vec![vec![0]; 5]);
    // He leaves before the fourth round, in which one cell is spoilt all the same: as the round
    // before was no better for waiting, it is not repeated, but that of the fifth one is.
    let one_cell = |slot: &Slot| slot.cell == rounds[0].blocks[0].slots[0].cell;
    let leaves = attempts(&rounds, &|slot| {
        let is_repeat = rounds.iter().any(|round| {
            let end = round.blocks[0].slots[0].sequence + round.size;
            (end..end + 2 * round.size).contains(&slot.sequence)
        });
        slot.sequence < begin(3) || (one_cell(slot) && !is_repeat)
    });
    assert_eq!(leaves[..3], [vec![0, 1], vec![0], vec![0]]);
    assert_eq!(leaves[3..], [vec![0], vec![0, 1], vec![0, 1]]);
}

#[test]
fn a_workload_has_its_own_connections_and_their_ceilings() {
    let experiment = first_heat(&[
        "server=nginx",
        "rounds=1",
        "connections=[1, 64]",
        "workload[1].connections=[8]",
    ]);
    let slots = blocks(&experiment, 7)
        .into_iter()
        .flat_map(|block| block.slots);
    let mut cells: Vec<(bool, usize, u32)> = slots
        .map(|slot| {
            let is_ceiling = matches!(slot.racer, Racer::Ceiling { .. });
            (is_ceiling, slot.cell.workload, slot.cell.connections)
        })
        .collect();
    cells.sort_unstable();
    let each = [(0, 1), (0, 64), (1, 8)];
    let of = |is_ceiling: bool| each.map(|(workload, count)| (is_ceiling, workload, count));
    assert_eq!(cells, [of(false), of(true)].concat());
}
