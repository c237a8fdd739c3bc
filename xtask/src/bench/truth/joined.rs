//! Exchanges that the generator kept, and what the server noted of each.

use anyhow::{Context as _, Result, bail};

use super::held::{Compared, Since, Told, Which};
use super::known::{Note, Noted};

/// A request is received right after it was sent, as both are on one machine: if half of all are
/// not, in nanoseconds, notes and exchanges are not of the same.
const RIGHT_AFTER: i64 = 1_000_000;

/// The most that are received after the window.
const AFTER: usize = 2_000;

/// What was sent so close to the first and the last is left out, in nanoseconds: longer than most
/// answers take.
const EDGE: i64 = 100_000_000;

/// An exchange as the generator tells it, in nanoseconds from the start of the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Sample {
    due: i64,
    /// When it could have left: it was due, and there was a connection.
    ready: i64,
    sent: i64,
    ended: i64,
}

impl Sample {
    fn read(line: &str) -> Option<Self> {
        let number = |name: &str| {
            let (_, rest) = line.split_once(name)?;
            let end = rest.find([',', '}'])?;
            rest[..end].parse().ok()
        };
        Some(Self {
            due: number("\"due_ns\":")?,
            ready: number("\"ready_ns\":")?,
            sent: number("\"sent_ns\":")?,
            ended: number("\"ended_ns\":")?,
        })
    }

    /// How long it left after it could have.
    fn late(self) -> i64 {
        self.sent - self.ready.max(self.due)
    }
}

/// Exchanges of one window and what the server noted of each.
pub(super) struct Joined(Vec<(Sample, Note)>);

impl Joined {
    /// Reads the exchanges of a window from the lines that the generator wrote, and finds for each
    /// what the server noted.
    ///
    /// The server received them right after and in the order in which they were sent. What was
    /// asked while the load warmed up it received before, and a few after the window. What ended in
    /// the window counts, so that at its edges the order of those that count is another one: what
    /// was sent there is left out.
    pub(super) fn read(samples: &str, noted: &Noted) -> Result<Self> {
        let read = |line| Sample::read(line).with_context(|| format!("this was not sent: {line}"));
        let mut samples: Vec<Sample> = samples.lines().map(read).collect::<Result<_>>()?;
        samples.sort_by_key(|sample| (sample.sent, sample.due));
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            bail!("the generator kept no exchanges");
        };
        let inner = first.sent + EDGE..=last.sent - EDGE;
        let places = (0..=AFTER).filter_map(|after| noted.before(after, samples.len()));
        let fits = places.map(|notes| (apart(&samples, notes), notes));
        let Some((apart, notes)) = fits.min_by_key(|(apart, _)| *apart) else {
            bail!("the server noted fewer than {} exchanges", samples.len());
        };
        if apart > RIGHT_AFTER {
            bail!("what the server noted does not fit what was sent by {apart} ns");
        }
        let mut joined = pair(samples, notes.to_vec());
        joined.retain(|(sample, _)| inner.contains(&sample.sent));
        Ok(Self(joined))
    }

    /// Of each exchange whether everything that could have left from when it was due until its
    /// answer came left no later than `limit`, in nanoseconds.
    pub(super) fn on_time(&self, limit: i64) -> Vec<bool> {
        let late = self.0.iter().map(|(sample, _)| sample);
        let late = late.filter(|sample| sample.late() > limit);
        let mut delays: Vec<(i64, i64)> = late.map(|s| (s.ready.max(s.due), s.sent)).collect();
        delays.sort_unstable();
        // Apart from each other, and so in order by their ends, too.
        let mut pauses: Vec<(i64, i64)> = Vec::new();
        for (from, to) in delays {
            match pauses.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => pauses.push((from, to)),
            }
        }
        let is_on_time = |sample: &Sample| {
            let before = pauses.partition_point(|pause| pause.0 <= sample.ended);
            before == 0 || pauses[before - 1].1 < sample.due
        };
        self.0
            .iter()
            .map(|(sample, _)| is_on_time(sample))
            .collect()
    }

    /// What is told of those that a row is about and `keep` has.
    pub(super) fn told(&self, row: &Compared, keep: &[bool]) -> Told {
        let is_asked = |note: &Note| match row.which {
            Which::All => true,
            Which::First => note.is_first,
            Which::Later => !note.is_first,
        };
        let kept = self.0.iter().zip(keep).filter(|(_, keep)| **keep);
        let kept = kept.map(|(joined, _)| joined).filter(|(_, n)| is_asked(n));
        let pairs = kept.map(|(sample, note)| {
            let from = match row.from {
                Since::Due => sample.due,
                Since::Sent => sample.sent,
            };
            (i64::from(note.took), sample.ended - from)
        });
        Told::of(&pairs.collect::<Vec<_>>())
    }
}

/// Puts the exchanges and their notes together, both in the order in which they were sent. What
/// left together is received in an order that nobody knows: it is put in the order of answers.
fn pair(mut samples: Vec<Sample>, mut notes: Vec<Note>) -> Vec<(Sample, Note)> {
    let mut from = 0;
    for together in samples.chunk_by_mut(|one, next| one.sent == next.sent) {
        let to = from + together.len();
        together.sort_by_key(|sample| sample.ended);
        notes[from..to].sort_by_key(|note| note.received + i64::from(note.took));
        from = to;
    }
    samples.into_iter().zip(notes).collect()
}

/// How far requests and notes are apart in the median, beyond the least, in the middle half of both
/// and of some hundred of them.
fn apart(samples: &[Sample], notes: &[Note]) -> i64 {
    let quarter = samples.len() / 4;
    let pairs = samples
        .iter()
        .zip(notes)
        .skip(quarter)
        .step_by((samples.len() / 1_000).max(1));
    let pairs = pairs.take((samples.len() / 2).clamp(1, 500));
    let mut apart: Vec<i64> = pairs.map(|(s, n)| n.received - s.sent).collect();
    apart.sort_unstable();
    let median = apart.get(apart.len() / 2).copied().unwrap_or_default();
    median - apart.first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Compared = Compared {
        name: "all",
        which: Which::All,
        from: Since::Due,
        is_alike: true,
    };

    fn line(due: i64, sent: i64, ended: i64) -> String {
        format!(
            "{{\"index\":7,\"due_ns\":{due},\"ready_ns\":{due},\"sent_ns\":{sent},\
             \"ended_ns\":{ended},\"outcome\":\"ok\"}}\n"
        )
    }

    fn joined(exchanges: &[(i64, i64, i64)], noted: &str) -> Result<Joined> {
        let lines: String = exchanges.iter().map(|&(d, s, e)| line(d, s, e)).collect();
        Joined::read(&lines, &Noted::read(noted).unwrap())
    }

    /// Exchanges that are sent one after the other, and when the first and the second are received
    /// by the server's clock: notes of all.
    fn noted(sent: &[i64], from: i64) -> String {
        let note = |sent| format!("{} 1000\n", sent + from);
        format!(
            "{}\n{}",
            sent.len(),
            sent.iter().map(note).collect::<String>()
        )
    }

    #[test]
    fn an_exchange_is_joined_with_what_was_received_when_it_was_sent() {
        // The one before the window took a second, and one came after it.
        let s = 1_000_000_000;
        let noted = format!(
            "6\n{} 1000000000\n900 1\n{} 1000 first\n{} 3000\n{} 1\n{} 1\n",
            -s,
            s + 100,
            2 * s + 200,
            3 * s,
            4 * s,
        );
        // In the order in which they ended; the first and the last are too close to the edges.
        let exchanges = [
            (2 * s - 900, 2 * s, 2 * s + 2_600),
            (s - 600, s, s + 1_900),
            (0, 0, 1),
            (3 * s, 3 * s, 3 * s + 1),
        ];
        let joined = joined(&exchanges, &noted).unwrap();
        let told = |which, from| {
            let row = Compared { which, from, ..ALL };
            let told = joined.told(&row, &[true, true]);
            format!("{} {:.1} {:.1}", told.count, told.noted[0], told.beyond[0])
        };
        assert_eq!(told(Which::All, Since::Due), "2 1.0 1.5");
        assert_eq!(told(Which::First, Since::Sent), "1 1.0 0.9");
        assert_eq!(told(Which::Later, Since::Due), "1 3.0 0.5");
    }

    #[test]
    fn what_left_together_is_joined_in_the_order_of_answers() {
        let sample = |due, sent, ended| Sample {
            due,
            ready: due,
            sent,
            ended,
        };
        let note = |received, took, is_first| Note {
            received,
            took,
            is_first,
        };
        let samples = vec![sample(0, 5, 900), sample(1, 5, 300), sample(2, 6, 100)];
        let notes = vec![
            note(10, 200, false),
            note(11, 800, true),
            note(12, 70, false),
        ];
        let joined = pair(samples, notes).into_iter();
        let told = joined.map(|(sample, note)| (sample.due, note.took));
        assert_eq!(told.collect::<Vec<_>>(), [(1, 200), (0, 800), (2, 70)]);
    }

    #[test]
    fn notes_of_other_exchanges_do_not_fit() {
        // Apart by more and more, so that no other place of them fits.
        let sent: Vec<i64> = (0..100).map(|at| at * at * 1_000_000).collect();
        let exchanges: Vec<_> = sent.iter().map(|&at| (at, at, at + 1_000)).collect();
        let check = |noted: &str, fits: bool| {
            assert_eq!(joined(&exchanges, noted).is_ok(), fits, "{noted}");
        };
        check(&noted(&sent, 5_000), true);
        let after = [&sent[..], &[sent[99] + 1, sent[99] + 2]].concat();
        check(&noted(&after, 5_000), true);
        check(&noted(&sent[1..], 5_000), false);
        let before = [&[-9_000_000][..], &sent[..50], &sent[51..]].concat();
        check(&noted(&before, 5_000), false);
        assert!(Joined::read("{\"sent_ns\":null}\n", &Noted::read("0\n").unwrap()).is_err());
        assert!(Joined::read("", &Noted::read("0\n").unwrap()).is_err());
    }

    #[test]
    fn what_lives_through_a_delay_is_not_on_time() {
        let exchanges = [
            // Its answer comes as the delay begins, and before.
            (0, 0, 100),
            (0, 1, 99),
            // Late by 50.
            (100, 150, 160),
            // Late by 10 in the same time.
            (130, 140, 170),
            // Due as the delay ends, and after.
            (150, 151, 200),
            (151, 152, 180),
        ];
        let note = Note {
            received: 0,
            took: 1,
            is_first: false,
        };
        let sample = |&(due, sent, ended)| Sample {
            due,
            ready: due,
            sent,
            ended,
        };
        let joined = Joined(exchanges.iter().map(|one| (sample(one), note)).collect());
        let kept = |limit| -> Vec<i64> {
            let kept = joined.0.iter().zip(joined.on_time(limit));
            let kept = kept.filter_map(|((sample, _), keep)| keep.then_some(sample.ended));
            kept.collect()
        };
        assert_eq!(kept(50), [100, 99, 160, 170, 200, 180]);
        assert_eq!(kept(20), [99, 180]);
    }
}
