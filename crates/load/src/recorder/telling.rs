//! What a recorder has measured, as the record tells it: after the run, when allocating is free.

use model::coding;
use model::distribution::Distribution;
use model::outcome::Outcome;
use model::record::{self, Example, Record, Tally};
use model::units::{Instant, Span};

use super::Recorder;

impl Recorder {
    /// Takes how long full handshakes took, those that resumed a session, and those that also began
    /// with a request.
    pub fn take_handshakes(&mut self) -> [Distribution; 3] {
        std::mem::take(&mut self.handshakes)
    }

    /// What was measured until `at`, when nothing is under way any more. `names` are those of the
    /// requests.
    pub fn finish<'a>(mut self, at: Instant, names: impl Iterator<Item = &'a str>) -> Record {
        self.roll(at);
        self.end_window(at);
        let start = self.window_start;
        let names: Vec<&str> = names.collect();
        let examples = self.examples(&names);
        let (samples, samples_dropped) = self.samples.finish();
        let mut intervals = self.intervals.finish();
        if self.settings.by_due {
            let tallies = intervals.iter_mut().map(|interval| &mut interval.tally);
            for tally in tallies.chain([&mut self.warmup, &mut self.drain]) {
                // Where nothing passed, that is an answer too.
                tally.passed.get_or_insert_default();
            }
        }
        let mut total = Tally::default();
        for interval in &intervals {
            total.merge(&interval.tally);
        }
        let window = self.window_end.saturating_since(start);
        let mut record = Record {
            window,
            total,
            warmup_phase: self.warmup,
            drain_phase: self.drain,
            blocked_time: self.blocked_time,
            late_time: self.late_time,
            connect_time: self.connect_time,
            transfer_time: self.transfer_time,
            intervals,
            workers: vec![record::Worker {
                index: self.settings.worker,
                ok: total.outcomes[Outcome::Ok],
                window,
                batch_time: Some(self.batch_time),
                outstanding_integral_ns: self.in_flight.integral_ns(),
                stalled: Some(self.in_flight.through()),
                age_at_start: self.age_at_start,
                age_at_end: self.age_at_end,
                outages: self.outages.finish(start, self.window_end),
                backed_off: self.backed_off,
                ..record::Worker::default()
            }],
            examples,
            wrong_statuses: self.wrong_statuses.finish(),
            samples,
            samples_dropped,
            ..Record::default()
        };
        record.response_time.record_censored_n(self.never_begun);
        // Where there is only one, nobody is told its name.
        let names = names.into_iter().chain(std::iter::repeat(""));
        let classes = self.classes.finish().into_iter().zip(names);
        record.classes = classes
            .map(|(class, name)| class.tell(name, self.settings.by_due))
            .collect();
        for class in &record.classes {
            record.response_time.merge(&class.response_time);
            record.service_time.merge(&class.service_time);
            record.first_byte_time.merge(&class.first_byte_time);
            coding::merge(&mut record.codings, &class.codings);
        }
        // The others came whole with their first byte.
        let whole = record.first_byte_time.count() - record.transfer_time.count();
        record.transfer_time.record_n(Span::ZERO, whole);
        let unknown = record.first_byte_time.censored();
        record.transfer_time.record_censored_n(unknown);
        if record.classes.len() == 1 {
            record.classes.clear();
        }
        record.rate_it();
        record
    }

    /// The first exchange that ended in each way, with the name of its request where there are
    /// several.
    fn examples(&self, names: &[&str]) -> Vec<Example> {
        let several = self.classes.len() > 1;
        let name_of = |class: Option<u16>| {
            let name = names.get(usize::from(class.filter(|_| several)?))?;
            Some((*name).to_owned())
        };
        let start = self.window_start;
        let first = self.first.iter().flatten();
        first
            .map(|(cause, at, class)| Example {
                outcome: cause.outcome(),
                text: cause.to_string(),
                request: name_of(*class),
                at: (*at >= start).then(|| *at - start),
            })
            .collect()
    }
}
