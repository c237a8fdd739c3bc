//! The distributions of ranks, against published tables and against counting out every case.

use crate::pairs::ranks::{Null, Sizes};

/// Hollander and Wolfe, table A.4; Wilcoxon 1945: the largest sum that is significant, two-sided.
#[test]
fn critical_values_of_the_signed_rank_are_the_published_ones() {
    let check = |alpha: f64, from: usize, published: &[usize]| {
        for (offset, value) in published.iter().enumerate() {
            let pairs = from + offset;
            let depth = Null::of(Sizes::Pairs(pairs))
                .depth(alpha)
                .map(|(depth, _)| depth);
            assert_eq!(depth, Some(*value), "{pairs} pairs at {alpha}");
        }
    };
    check(
        0.05,
        6,
        &[
            0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52, 58, 65, 73, 81, 89,
        ],
    );
    check(0.01, 8, &[0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37]);
    assert_eq!(Null::of(Sizes::Pairs(5)).depth(0.05), None);
    assert_eq!(Null::of(Sizes::Pairs(7)).depth(0.01), None);
}

/// Mann and Whitney 1947; Siegel 1956, table K: the largest U that is significant, two-sided,
/// at 5 %.
#[test]
fn critical_values_of_the_rank_sum_are_the_published_ones() {
    for (one, other, value) in [
        (4, 4, 0),
        (3, 5, 0),
        (4, 6, 2),
        (5, 5, 2),
        (5, 8, 6),
        (6, 6, 5),
        (7, 7, 8),
        (8, 8, 13),
        (9, 9, 17),
        (10, 10, 23),
        (12, 12, 37),
        (15, 15, 64),
        (20, 20, 127),
    ] {
        let depth = Null::of(Sizes::Groups(one, other))
            .depth(0.05)
            .map(|(depth, _)| depth);
        assert_eq!(depth, Some(value), "{one} and {other}");
        let swapped = Null::of(Sizes::Groups(other, one)).depth(0.05);
        assert_eq!(swapped.map(|(depth, _)| depth), Some(value));
    }
    assert_eq!(Null::of(Sizes::Groups(3, 3)).depth(0.05), None);
    assert_eq!(Null::of(Sizes::Groups(2, 7)).depth(0.05), None);
}

/// The levels that reports print: 2.5 of measurement in METHODOLOGY.md.
#[test]
fn intervals_have_the_levels_that_follow_from_the_rounds() {
    let level = |pairs: usize| {
        Null::of(Sizes::Pairs(pairs))
            .depth(0.05)
            .map(|(_, level)| level)
    };
    for (pairs, expected) in [
        (6, 0.968_75),
        (7, 0.953_125),
        (8, 0.960_937_5),
        (9, 0.960_937_5),
        (10, 0.951_171_875),
    ] {
        let found = level(pairs).unwrap();
        assert!((found - expected).abs() < 1e-12, "{pairs}: {found}");
    }
}

#[test]
fn signed_ranks_are_those_of_every_choice_of_signs() {
    for pairs in 1..=12_usize {
        let null = Null::of(Sizes::Pairs(pairs));
        let mut counts = vec![0_u32; pairs * (pairs + 1) / 2 + 1];
        for signs in 0..1_usize << pairs {
            let sum: usize = (0..pairs)
                .filter(|i| signs >> i & 1 == 1)
                .map(|i| i + 1)
                .sum();
            counts[sum] += 1;
        }
        compare_with_counts(&null, &counts, &format!("{pairs} pairs"));
    }
}

#[test]
fn rank_sums_are_those_of_every_choice_of_ranks() {
    for one in 1..=6_usize {
        for other in 1..=6_usize {
            let mut counts = vec![0_u32; one * other + 1];
            for choice in 0..1_usize << (one + other) {
                if choice.count_ones() as usize != one {
                    continue;
                }
                // How many of the others stand before each of the one.
                let mut before = 0;
                let mut u = 0;
                for rank in 0..one + other {
                    if choice >> rank & 1 == 1 {
                        u += before;
                    } else {
                        before += 1;
                    }
                }
                counts[u] += 1;
            }
            let null = Null::of(Sizes::Groups(one, other));
            compare_with_counts(&null, &counts, &format!("{one} and {other}"));
        }
    }
}

fn compare_with_counts(null: &Null, counts: &[u32], what: &str) {
    let all: u32 = counts.iter().sum();
    let mut sum = 0;
    for (value, count) in counts.iter().enumerate() {
        sum += count;
        let expected = f64::from(sum) / f64::from(all);
        let found = null.at_most(value);
        assert!((found - expected).abs() < 1e-12, "{what}, {value}: {found}");
    }
}

/// Where counting ends and the normal distribution begins, the two agree.
#[test]
fn many_rounds_are_taken_as_normal_without_a_step() {
    let exact = Null::of(Sizes::Pairs(200)).depth(0.05).unwrap().0;
    let normal = Null::of(Sizes::Pairs(201)).depth(0.05).unwrap().0;
    // One more pair adds 201 averages, of which a little less than half are left out.
    assert!((60..=101).contains(&(normal - exact)), "{exact} {normal}");
    let exact = Null::of(Sizes::Groups(141, 141)).depth(0.05).unwrap().0;
    let normal = Null::of(Sizes::Groups(142, 142)).depth(0.05).unwrap().0;
    assert!((90..=142).contains(&(normal - exact)), "{exact} {normal}");
}
