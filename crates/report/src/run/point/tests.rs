use super::*;

#[test]
fn struck_rounds_do_not_count_but_are_kept() {
    let measure = Measure::over(vec![
        (1, 10.0, Standing::Sound),
        (2, 99.0, Standing::Struck),
        (3, 12.0, Standing::Sound),
    ])
    .unwrap();
    assert!((measure.median - 11.0).abs() < 1e-9);
    assert_eq!((measure.struck(), measure.rounds.len()), (1, 3));
    assert_eq!(measure.standing, Standing::Sound);
    let measure = Measure::over(vec![(1, 99.0, Standing::Struck)]).unwrap();
    assert_eq!(measure.standing, Standing::Struck);
}

#[test]
fn a_bound_makes_the_median_a_bound_only_from_below() {
    let check = |rounds: [(f64, Standing); 3], expected: Standing| {
        let rounds = rounds
            .map(|(value, standing)| (1, value, standing))
            .to_vec();
        assert_eq!(Measure::over(rounds).unwrap().standing, expected);
    };
    let (sound, bound) = (Standing::Sound, Standing::AtLeast);
    check([(1.0, bound), (2.0, sound), (3.0, sound)], bound);
    check([(1.0, sound), (2.0, bound), (3.0, sound)], bound);
    check([(1.0, sound), (2.0, sound), (3.0, bound)], sound);
}
