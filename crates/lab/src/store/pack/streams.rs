//! The values of each place, in the form that takes the least: whole numbers as what is left of a
//! guess, histograms as their counts, and of all others each text once.
//!
//! Guesses are made of what was read before: the number before, or that of another place, as the
//! bytes of an interval follow from its answers. All forms are tried and the shortest is kept.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::histogram::{self, Counts};
use super::numbers::{Decoder, Encoder, Numbers};

/// Numbers that a pack may hold, those of histograms among them.
const NUMBERS_MAX: usize = 1 << 25;

/// What is said of a place in words; its numbers stand with all others, in the order of places.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Form {
    /// As the place of that number, which comes before.
    Same(usize),
    /// Whole numbers.
    Numbers { count: usize, guess: Guess },
    /// Histograms: their heads, and counts that are told apart from those of another place.
    Histograms {
        count: usize,
        heads: Vec<String>,
        other: Option<usize>,
    },
    /// Lines of text, each of them once.
    Texts { count: usize, lines: String },
}

/// What a number is likely to be.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum Guess {
    /// Small.
    Zero,
    /// As the one before.
    Before,
    /// As that of the other place.
    Other(usize),
    /// To that of the other place as the one before was to the one before there.
    Share(usize),
}

/// The values of a place.
#[derive(Debug)]
pub(super) enum Values {
    Same(usize),
    Numbers(Vec<i64>),
    Histograms {
        heads: Vec<String>,
        all: Vec<(usize, Counts)>,
    },
    Texts {
        lines: Vec<String>,
        all: Vec<usize>,
    },
}

impl Values {
    fn of(lines: &[String]) -> Self {
        let numbers: Option<Vec<i64>> = lines.iter().map(|line| number(line)).collect();
        if let Some(numbers) = numbers {
            return Self::Numbers(numbers);
        }
        let histograms: Option<Vec<_>> = lines.iter().map(|line| histogram::read(line)).collect();
        if let Some(histograms) = histograms {
            let mut heads = Vec::new();
            let each = histograms.into_iter().map(|(head, counts)| {
                let head = BASE64.encode(head);
                let known = heads.iter().position(|known| *known == head);
                let place = known.unwrap_or_else(|| {
                    heads.push(head);
                    heads.len() - 1
                });
                (place, counts)
            });
            let all = each.collect();
            return Self::Histograms { heads, all };
        }
        let mut known = HashMap::new();
        let mut once = Vec::new();
        let each = lines.iter().map(|line| {
            *known.entry(line).or_insert_with(|| {
                once.push(line.clone());
                once.len() - 1
            })
        });
        let all = each.collect();
        Self::Texts { lines: once, all }
    }

    /// Lines of this place.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Same(_) => 0,
            Self::Numbers(all) => all.len(),
            Self::Histograms { all, .. } => all.len(),
            Self::Texts { all, .. } => all.len(),
        }
    }
}

/// A whole number as JSON has it, and no other text that would be read as one.
fn number(line: &str) -> Option<i64> {
    let number: i64 = line.parse().ok()?;
    (number.to_string() == line).then_some(number)
}

/// Puts down the lines of all places.
pub(super) fn write(places: &[Vec<String>]) -> (Vec<Form>, Vec<u8>) {
    let mut encoder = Encoder::new();
    let mut known: HashMap<&[String], usize> = HashMap::new();
    let (mut forms, mut values) = (Vec::new(), Vec::new());
    for (place, lines) in places.iter().enumerate() {
        if let Some(&same) = known.get(lines.as_slice()) {
            forms.push(Form::Same(same));
            values.push(Values::Same(same));
            continue;
        }
        known.insert(lines, place);
        let own = Values::of(lines);
        let form = match &own {
            Values::Same(same) => Form::Same(*same),
            Values::Numbers(all) => {
                let guess = best_guess(all, &values);
                let mut models = Numbers::new();
                write_numbers(&mut encoder, &mut models, all, guess, &values);
                let count = all.len();
                Form::Numbers { count, guess }
            }
            Values::Histograms { heads, all } => {
                let other = best_other(all, &values);
                write_histograms(&mut encoder, all, other, &values);
                let (count, heads) = (all.len(), heads.clone());
                Form::Histograms {
                    count,
                    heads,
                    other,
                }
            }
            Values::Texts { lines, all } => {
                let mut models = Numbers::new();
                let mut seen = 0;
                let mut before = None;
                for &at in all {
                    models.code(&mut encoder, word(at, seen, before), 0);
                    seen = seen.max(at + 1);
                    before = Some(at);
                }
                let (count, lines) = (all.len(), in_turn(lines).join("\n"));
                Form::Texts { count, lines }
            }
        };
        forms.push(form);
        values.push(own);
    }
    (forms, encoder.finish())
}

/// What stands for a line that is the one before, with its last number one higher, as addresses
/// of a list often are. No value in JSON begins so.
const NEXT: &str = "+";

fn in_turn(lines: &[String]) -> Vec<&str> {
    let mut before = None;
    let each = lines.iter().map(|line| {
        let is_next = before
            .replace(line)
            .and_then(|before| next(before))
            .as_ref()
            == Some(line);
        if is_next { NEXT } else { line.as_str() }
    });
    each.collect()
}

/// A text in JSON with its last number one higher, where it ends in one.
fn next(line: &str) -> Option<String> {
    let text = line.strip_suffix('"')?;
    let start = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let number: u32 = text[start.len()..].parse().ok()?;
    Some(format!("{start}{}\"", number.checked_add(1)?))
}

/// The lines that `in_turn` was made of.
fn from_turn(lines: &str, left: &mut usize) -> Result<Vec<String>, String> {
    let mut all: Vec<String> = Vec::new();
    for line in lines.split('\n') {
        let line = match line {
            NEXT => {
                let line = all.last().and_then(|before| next(before));
                let line = line.ok_or("a line is the next of none")?;
                spend(left, line.len())?;
                line
            }
            line => line.to_owned(),
        };
        all.push(line);
    }
    Ok(all)
}

/// How a line of text is told: as the one before, a new one, or one that is known.
fn word(at: usize, seen: usize, before: Option<usize>) -> i64 {
    match at {
        _ if before == Some(at) => 0,
        _ if at == seen => 1,
        _ => i64::try_from(at + 2).expect("lines are counted in memory"),
    }
}

fn write_numbers(
    encoder: &mut Encoder,
    models: &mut Numbers,
    all: &[i64],
    guess: Guess,
    others: &[Values],
) {
    for at in 0..all.len() {
        let guessed = guessed(guess, &all[..at], others);
        models.code(encoder, all[at].wrapping_sub(guessed), 0);
    }
}

/// What the next number would be, after those before it.
fn guessed(guess: Guess, before: &[i64], others: &[Values]) -> i64 {
    let at = before.len();
    let last = before.last().copied().unwrap_or(0);
    let other = |place: usize| match &others[place] {
        Values::Numbers(all) => all.as_slice(),
        _ => &[],
    };
    match guess {
        Guess::Zero => 0,
        Guess::Before => last,
        Guess::Other(place) => other(place).get(at).copied().unwrap_or(0),
        Guess::Share(place) => {
            let (all, next) = (other(place), guessed(Guess::Other(place), before, others));
            match at.checked_sub(1).and_then(|before| all.get(before)) {
                None | Some(0) => next,
                Some(&one) => {
                    let share = i128::from(last) * i128::from(next) / i128::from(one);
                    i64::try_from(share).unwrap_or(0)
                }
            }
        }
    }
}

/// The guess that leaves the fewest bytes. Of other places, only the one that seems the best is
/// tried.
fn best_guess(all: &[i64], others: &[Values]) -> Guess {
    let mut tried = vec![Guess::Zero, Guess::Before];
    let alike = others.iter().enumerate();
    let alike = alike.filter(|(_, other)| match other {
        Values::Numbers(other) => other.len() == all.len() && all.len() > 1,
        _ => false,
    });
    let from_others = alike.flat_map(|(place, _)| [Guess::Other(place), Guess::Share(place)]);
    let bits_left = |guess: &Guess| -> u64 {
        let left = (0..all.len()).map(|at| {
            let left = all[at].wrapping_sub(guessed(*guess, &all[..at], others));
            u64::from(64 - left.unsigned_abs().leading_zeros())
        });
        left.sum()
    };
    tried.extend(from_others.min_by_key(bits_left));
    let bytes = |guess: &Guess| {
        let mut encoder = Encoder::new();
        write_numbers(&mut encoder, &mut Numbers::new(), all, *guess, others);
        encoder.len()
    };
    tried.into_iter().min_by_key(bytes).unwrap_or(Guess::Zero)
}

/// Models of what histograms are told in.
struct OfHistograms {
    heads: Numbers,
    lengths: Numbers,
    gaps: Numbers,
    counts: Numbers,
}

impl OfHistograms {
    fn new() -> Self {
        let [heads, lengths, gaps, counts] = [(); 4].map(|()| Numbers::new());
        Self {
            heads,
            lengths,
            gaps,
            counts,
        }
    }
}

fn write_histograms(
    encoder: &mut Encoder,
    all: &[(usize, Counts)],
    other: Option<usize>,
    others: &[Values],
) {
    let signed = |number: usize| i64::try_from(number).expect("it is counted in memory");
    let mut models = OfHistograms::new();
    for (at, (head, counts)) in all.iter().enumerate() {
        models.heads.code(encoder, signed(*head), 0);
        let left = counts.without(&of_other(other, others, at));
        models.lengths.code(encoder, signed(left.0.len()), 0);
        let mut next = 0;
        for (position, (index, count)) in left.0.iter().enumerate() {
            let place = position.min(3);
            models.gaps.code(encoder, index - next, place);
            models.counts.code(encoder, *count, place);
            next = index + 1;
        }
    }
}

/// The histogram that the one at that position is told apart from.
fn of_other(other: Option<usize>, others: &[Values], at: usize) -> Counts {
    match other.map(|place| &others[place]) {
        Some(Values::Histograms { all, .. }) => all
            .get(at)
            .map(|(_, counts)| counts.clone())
            .unwrap_or_default(),
        _ => Counts::default(),
    }
}

fn best_other(all: &[(usize, Counts)], others: &[Values]) -> Option<usize> {
    let alike = others.iter().enumerate().filter_map(|(place, other)| {
        let is_alike =
            matches!(other, Values::Histograms { all: other, .. } if other.len() == all.len());
        is_alike.then_some(Some(place))
    });
    let bytes = |other: &Option<usize>| {
        let mut encoder = Encoder::new();
        write_histograms(&mut encoder, all, *other, others);
        encoder.len()
    };
    alike.chain([None]).min_by_key(bytes).flatten()
}

/// Reads the values of all places.
pub(super) fn read(forms: &[&Form], bytes: &[u8]) -> Result<Vec<Values>, String> {
    let mut decoder = Decoder::new(bytes);
    let mut left = NUMBERS_MAX;
    let mut values: Vec<Values> = Vec::new();
    for form in forms {
        let own = read_place(form, &mut decoder, &mut left, &values)?;
        values.push(own);
    }
    Ok(values)
}

fn spend(left: &mut usize, numbers: usize) -> Result<(), String> {
    let rest = left.checked_sub(numbers);
    *left = rest.ok_or("it holds more numbers than a pack may hold")?;
    Ok(())
}

fn read_place(
    form: &Form,
    decoder: &mut Decoder<'_>,
    left: &mut usize,
    others: &[Values],
) -> Result<Values, String> {
    let known = |place: usize| match others.get(place) {
        None | Some(Values::Same(_)) => Err("a place is as one that is not there".to_owned()),
        Some(_) => Ok(place),
    };
    let mut models = Numbers::new();
    let values = match form {
        Form::Same(place) => return Ok(Values::Same(known(*place)?)),
        Form::Numbers { count, guess } => {
            if let Guess::Other(place) | Guess::Share(place) = guess {
                known(*place)?;
            }
            spend(left, *count)?;
            let mut all = Vec::new();
            for _ in 0..*count {
                let over = models.code(decoder, 0, 0);
                all.push(guessed(*guess, &all, others).wrapping_add(over));
            }
            Values::Numbers(all)
        }
        Form::Histograms {
            count,
            heads,
            other,
        } => {
            let other = other.map(known).transpose()?;
            let all = read_histograms(*count, other, decoder, left, others)?;
            if all.iter().any(|(head, _)| *head >= heads.len()) {
                return Err("a histogram has a head that is not there".to_owned());
            }
            let heads = heads.clone();
            Values::Histograms { heads, all }
        }
        Form::Texts { count, lines } => {
            spend(left, *count)?;
            let lines = from_turn(lines, left)?;
            let (mut all, mut seen) = (Vec::new(), 0);
            for _ in 0..*count {
                let at = match models.code(decoder, 0, 0) {
                    0 => all.last().copied(),
                    1 => Some(seen),
                    known => usize::try_from(known).ok().and_then(|at| at.checked_sub(2)),
                };
                let at = at.filter(|at| *at < lines.len());
                let at = at.ok_or("a line of text is not there")?;
                seen = seen.max(at + 1);
                all.push(at);
            }
            Values::Texts { lines, all }
        }
    };
    match decoder.is_over() {
        true => Err("its numbers end too early".to_owned()),
        false => Ok(values),
    }
}

fn read_histograms(
    count: usize,
    other: Option<usize>,
    decoder: &mut Decoder<'_>,
    left: &mut usize,
    others: &[Values],
) -> Result<Vec<(usize, Counts)>, String> {
    let wrong = || "a histogram cannot be read".to_owned();
    let mut models = OfHistograms::new();
    let mut all = Vec::new();
    for at in 0..count {
        let head = models.heads.code(decoder, 0, 0);
        let length = models.lengths.code(decoder, 0, 0);
        let length = usize::try_from(length).map_err(|_| wrong())?;
        let base = of_other(other, others, at);
        // What it has of the other one takes memory, too.
        spend(left, length.saturating_add(base.0.len() + 1))?;
        let (mut apart, mut next) = (Counts::default(), 0_i64);
        for position in 0..length {
            let place = position.min(3);
            let gap = models.gaps.code(decoder, 0, place);
            let index = next.checked_add(gap).filter(|_| gap >= 0);
            let index = index.filter(|index| *index < histogram::INDEX_MAX);
            let index = index.ok_or_else(wrong)?;
            apart.0.push((index, models.counts.code(decoder, 0, place)));
            next = index + 1;
        }
        let head = usize::try_from(head).map_err(|_| wrong())?;
        all.push((head, apart.with(&base)));
    }
    Ok(all)
}
