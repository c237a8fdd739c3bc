//! How often the growth classifier claims something false, on curves whose class is known.
//!
//! The noise is real: residuals of probes (each point over the fitted curve, in thousandths), five
//! passes a file, resampled in blocks, so that its heavy tail, its runs of slow calls and the
//! difference between passes stay as they were. Two files were measured beside a busy machine. The
//! thresholds were fixed before these curves were drawn. Run with `--nocapture` to see the table.

#![allow(clippy::print_stdout, reason = "the table is what this test is for")]

use model::probe::{Class, Growth};
use verdict::growth::classify;

/// Curves of each shape.
const CURVES: u64 = 1_000;
/// The share of false claims that is allowed for each shape.
const FALSE_CLAIMS: f64 = 0.02;
/// How many times dearer the end of a curve is that grows by little.
const LITTLE: (f64, f64) = (1.2, 1.44);
/// From the beginning to the end of an axis, what grows by at most so much is flat by definition.
const FLAT_RATIO: f64 = 1.25;
/// Neighbours that are resampled together.
const BLOCK: usize = 50;
const PASSES: usize = 5;

const QUIET: &[&str] = &[
    include_str!("residuals/accept.txt"),
    include_str!("residuals/bind.txt"),
    include_str!("residuals/fork.txt"),
    include_str!("residuals/mmap.txt"),
    include_str!("residuals/socket.txt"),
];
const DISTURBED: &[&str] = &[
    include_str!("residuals/fork-disturbed.txt"),
    include_str!("residuals/socket-disturbed.txt"),
];

/// Draws for curves.
struct Random(model::Random);

impl Random {
    /// From 0 up to 1.
    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.0.next_u64() >> 32).expect("32 bits")) / 4_294_967_296.0
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a length");
        usize::try_from(self.0.next_u64() % bound).expect("below a length")
    }

    /// Between two bounds, evenly in its logarithm.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }
}

/// For each file, for each pass: points over the fitted curve.
type Residuals = Vec<Vec<Vec<f64>>>;

fn residuals(files: &[&str]) -> Residuals {
    let numbers = |line: &str| -> Vec<f64> {
        line.split(' ')
            .map(|word| word.parse::<f64>().expect("a number") / 1e3)
            .collect()
    };
    files
        .iter()
        .map(|file| file.lines().map(numbers).collect())
        .collect()
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Flat,
    Logarithmic,
    Linear,
    LogLinear,
    Quadratic,
    Step,
    TwoBranches,
    NoisyFlat,
    Falling,
    /// The growths again, so small that the classes are hard to tell from flat and from each other.
    LittleLogarithmic,
    LittleLinear,
    LittleQuadratic,
    LittleStep,
}

impl Shape {
    const ALL: [Self; 13] = [
        Self::Flat,
        Self::Logarithmic,
        Self::Linear,
        Self::LogLinear,
        Self::Quadratic,
        Self::Step,
        Self::TwoBranches,
        Self::NoisyFlat,
        Self::Falling,
        Self::LittleLogarithmic,
        Self::LittleLinear,
        Self::LittleQuadratic,
        Self::LittleStep,
    ];

    const fn class(self) -> Class {
        match self {
            Self::Flat | Self::NoisyFlat => Class::Flat,
            Self::Logarithmic | Self::LittleLogarithmic => Class::Logarithmic,
            Self::Linear | Self::LittleLinear => Class::Linear,
            Self::LogLinear | Self::Quadratic | Self::LittleQuadratic => Class::Worse,
            Self::Step | Self::LittleStep => Class::Step,
            Self::TwoBranches => Class::TwoBranches,
            Self::Falling => Class::Falling,
        }
    }

    /// Whether it grows by as little as curves of a real kernel often do.
    const fn is_little(self) -> bool {
        matches!(
            self,
            Self::LittleLogarithmic | Self::LittleLinear | Self::LittleQuadratic | Self::LittleStep
        )
    }
}

/// The cost of one point without noise.
fn truth(shape: Shape, random: &mut Random, population: f64) -> impl Fn(f64, f64) -> f64 + use<> {
    let base = random.between(200.0, 100_000.0);
    let (least, most) = if shape.is_little() {
        LITTLE
    } else {
        (2.0, 20.0)
    };
    let times = random.between(least, most);
    let at = random.between(population / 8.0, population / 2.0);
    let dear = 0.3 + 0.4 * random.share();
    let jump = random.between(1.8, 6.0);
    move |n: f64, lot: f64| {
        let share = match shape {
            Shape::Flat | Shape::NoisyFlat => 0.0,
            Shape::Logarithmic | Shape::LittleLogarithmic => n.ln() / population.ln(),
            Shape::Linear | Shape::LittleLinear => n / population,
            Shape::LogLinear => n * n.ln() / (population * population.ln()),
            Shape::Quadratic | Shape::LittleQuadratic => (n / population).powi(2),
            Shape::Step | Shape::LittleStep => f64::from(n >= at),
            Shape::TwoBranches if lot < dear => {
                return base * (jump + (times - 1.0) * n / population);
            }
            Shape::TwoBranches => 0.0,
            Shape::Falling => 1.0 - n.ln() / population.ln(),
        };
        base * (1.0 + (times - 1.0) * share)
    }
}

/// One curve: five passes with noise of one real probe.
fn draw(
    truth: impl Fn(f64, f64) -> f64,
    population: u32,
    noise: &Residuals,
    random: &mut Random,
) -> Vec<Vec<(u32, f64)>> {
    let probe = &noise[random.below(noise.len())];
    (0..PASSES)
        .map(|_| {
            let pass = &probe[random.below(probe.len())];
            let mut block = (0, 0);
            (1..=population)
                .map(|n| {
                    if block.0 == block.1 {
                        block.0 = random.below(pass.len() - BLOCK);
                        block.1 = block.0 + BLOCK;
                    }
                    let residual = pass[block.0];
                    block.0 += 1;
                    let cost = truth(f64::from(n), random.share());
                    (n, (cost * residual).max(1.0))
                })
                .collect()
        })
        .collect()
}

/// How much dearer a curve without noise is in the last sixth of its bins than in the first.
fn grown(truth: impl Fn(f64, f64) -> f64, growth: &Growth) -> f64 {
    let sixth = growth.bins.len() / 6;
    let level =
        |bins: &[(f64, f64)]| -> f64 { bins.iter().map(|(n, _)| truth(*n, 1.0).ln()).sum() };
    let last = &growth.bins[growth.bins.len() - sixth..];
    let count = f64::from(u32::try_from(sixth.max(1)).expect("a few bins"));
    ((level(last) - level(&growth.bins[..sixth])) / count).exp()
}

#[derive(Debug, Default)]
struct Tally {
    right: u64,
    between: u64,
    false_claims: u64,
    example: Option<String>,
}

fn tally(shape: Shape, seed: u64) -> Tally {
    let noise = match shape {
        Shape::NoisyFlat => residuals(DISTURBED),
        _ => residuals(QUIET),
    };
    let mut tally = Tally::default();
    for curve in 0..CURVES {
        let mut random = Random(model::Random::new(seed ^ (curve << 8)));
        let population = [1_000_u32, 2_000, 3_000][random.below(3)];
        let truth = truth(shape, &mut random, f64::from(population));
        let growth = classify("synthetic", &draw(&truth, population, &noise, &mut random));
        let is_flat = shape.is_little() && grown(&truth, &growth) <= FLAT_RATIO;
        let is_true = |class: &Class| *class == shape.class() || (is_flat && *class == Class::Flat);
        if matches!(&growth.classes[..], [class] if is_true(class)) {
            tally.right += 1;
        } else if growth.classes.iter().any(is_true) || growth.classes.is_empty() {
            tally.between += 1;
        } else {
            tally.false_claims += 1;
            tally
                .example
                .get_or_insert_with(|| format!("curve {curve}: {}", growth.sentence));
        }
    }
    tally
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn share(count: u64) -> f64 {
    count as f64 / CURVES as f64
}

#[test]
fn false_claims_are_at_most_two_in_a_hundred() {
    const SEED: u64 = 0x7472_6961_7468;
    let tallies: Vec<(Shape, Tally)> = std::thread::scope(|scope| {
        let threads: Vec<_> = Shape::ALL
            .into_iter()
            .map(|shape| (shape, scope.spawn(move || tally(shape, SEED))))
            .collect();
        threads
            .into_iter()
            .map(|(shape, thread)| (shape, thread.join().expect("a tally")))
            .collect()
    });
    let mut table = format!("{CURVES} curves a shape: right, between, false\n");
    for (shape, tally) in &tallies {
        table += &format!(
            "{:<17} {:5.1} % {:5.1} % {:5.2} %  {}\n",
            format!("{shape:?}"),
            share(tally.right) * 100.0,
            share(tally.between) * 100.0,
            share(tally.false_claims) * 100.0,
            tally.example.as_deref().unwrap_or_default()
        );
    }
    println!("{table}");
    for (shape, tally) in &tallies {
        assert!(
            share(tally.false_claims) <= FALSE_CLAIMS,
            "{shape:?} with seed {SEED:#x}\n{table}"
        );
    }
}
