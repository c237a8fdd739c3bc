//! The files that HdrHistogram's tools read: `.hgrm`, the percentiles of a distribution, and
//! `.hlog`, the distribution of each interval of a run.

use model::{Distribution, Trial};

/// Lines per halving of what is left to 100 %: HdrHistogram's default.
const TICKS: f64 = 5.0;
/// By so much a level may be off: it is a sum of shares that binary numbers do not have, as 0.1.
const SLACK: f64 = 1e-9;

/// The percentiles of `times` in milliseconds, of all exchanges: what had no answer took longer
/// than all that had one, so that there is no line above the share that was answered.
pub fn hgrm(times: &Distribution) -> String {
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let unanswered = times.censored();
    let all = times.count() + unanswered;
    let mut seen = 0;
    let mut level = 0.0_f64;
    let mut largest = 0.0;
    for (lowest, width, count) in times.buckets() {
        seen += count;
        let value = highest(times, lowest.as_ns() + width.as_ns() - 1);
        largest = value;
        let reached = number(seen) / number(all);
        while level <= reached + SLACK && seen < all {
            out.push_str(&format!(
                "{value:12.3} {level:2.12} {seen:10} {:14.2}\n",
                1.0 / (1.0 - level)
            ));
            let halvings = (1.0 / (1.0 - level)).log2().floor() + 1.0;
            level += 1.0 / (TICKS * halvings.exp2());
        }
    }
    if all > 0 && unanswered == 0 {
        out.push_str(&format!("{largest:12.3} {:2.12} {all:10}\n", 1.0));
    }
    let (mean, deviation) = mean_and_deviation(times);
    out.push_str(&format!(
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n"
    ));
    out.push_str(&format!(
        "#[Max     = {largest:12.3}, Total count    = {all:12}]\n"
    ));
    out.push_str(&unanswered_line(unanswered));
    out
}

/// What a reader must know of exchanges that have no time.
fn unanswered_line(count: u64) -> String {
    match count {
        0 => String::new(),
        count => format!(
            "#[Without an answer: {count}, which took longer than all that is counted here]\n"
        ),
    }
}

/// Response times of each interval of `trial`, in the log format 1.3.
pub fn hlog(trial: &Trial) -> String {
    let mut out = String::from("#[Histogram log format version 1.3]\n");
    if let Some(time) = &trial.environment.time {
        out.push_str(&format!(
            "#[StartTime: 0.000 (the window of a run of {time})]\n"
        ));
    }
    let intervals = trial.record.intervals.iter();
    let unanswered = intervals.map(|one| one.response_time.censored());
    out.push_str(&unanswered_line(unanswered.sum()));
    out.push_str(
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\"\n",
    );
    for interval in &trial.record.intervals {
        let max = interval.response_time.max().unwrap_or_default();
        out.push_str(&format!(
            "{:.3},{:.3},{:.3},{}\n",
            interval.start.as_s_f64(),
            interval.length.as_s_f64(),
            max.as_us_f64() / 1e3,
            interval.response_time.to_base64()
        ));
    }
    out
}

/// The value that stands for a bucket: its highest, within what was seen. In milliseconds.
fn highest(times: &Distribution, ns: u64) -> f64 {
    let max = times.max().unwrap_or_default().as_ns();
    number(ns.min(max)) / 1e6
}

/// In milliseconds.
pub fn mean_and_deviation(times: &Distribution) -> (f64, f64) {
    let mean = times.mean().unwrap_or_default().as_us_f64() / 1e3;
    let squares: f64 = times
        .buckets()
        .map(|(lowest, width, count)| {
            let middle = number(lowest.as_ns() + width.as_ns() / 2) / 1e6;
            (middle - mean).powi(2) * number(count)
        })
        // The sum of none is -0.
        .fold(0.0, |sum, square| sum + square);
    (mean, (squares / number(times.count().max(1))).sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
const fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use model::{Span, fixture};

    use super::*;

    #[test]
    fn percentiles_are_laid_out_as_hdrhistogram_does() {
        let mut times = Distribution::default();
        for ms in 1..=1_000 {
            times.record(Span::from_ms(ms));
        }
        let text = hgrm(&times);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "       Value     Percentile TotalCount 1/(1-Percentile)"
        );
        assert_eq!(lines[1], "");
        let first: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(first[1..], ["0.000000000000", "1", "1.00"]);
        // Five lines to the half, five to three quarters, and so on.
        let percentiles: Vec<f64> = lines[2..]
            .iter()
            .take_while(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
            .collect();
        let expected = [
            0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775,
        ];
        for (is, should) in percentiles.iter().zip(expected) {
            assert!((is - should).abs() < 1e-9, "{percentiles:?}");
        }
        assert!(percentiles.is_sorted() && percentiles.last() == Some(&1.0));
        // Three quarters are reached with 750 of 1,000, and not with the next one.
        assert!(text.contains(" 0.750000000000        750 "), "{text}");
        for line in &lines[2..lines.len() - 3] {
            let words: Vec<f64> = line
                .split_whitespace()
                .map(|w| w.parse().unwrap())
                .collect();
            // A value is that of its rank, within the resolution of a bucket.
            let rank = (words[1] * 1_000.0).ceil().max(1.0);
            assert!((words[0] - rank).abs() <= 1.0 + rank / 100.0, "{line}");
            assert!(words[2] >= rank, "{line}");
        }
        let all = text
            .lines()
            .find(|line| line.contains("Total count"))
            .unwrap();
        assert!(all.contains("1000]"), "{all}");
        assert!(text.contains("#[Mean    =      500.500"), "{text}");
    }

    /// The lines end where nobody knows how long it took.
    #[test]
    fn what_has_no_answer_took_longer_than_all_that_has_one() {
        let mut times = Distribution::default();
        for ms in 1..=40 {
            times.record(Span::from_ms(ms));
        }
        times.record_censored_n(60);
        let text = hgrm(&times);
        let lines = text
            .lines()
            .skip(2)
            .take_while(|line| !line.starts_with('#'));
        let last: Vec<f64> = lines
            .last()
            .unwrap()
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        assert!((0.3..=0.4).contains(&last[1]), "{text}");
        assert!(text.contains("Total count    =          100]"), "{text}");
        assert!(text.contains("#[Without an answer: 60,"), "{text}");
        let mut trial = fixture::closed();
        assert!(!hlog(&trial).contains("Without an answer"));
        let interval = &mut trial.record.intervals[0];
        interval.response_time.record_censored_n(3);
        assert!(hlog(&trial).contains("#[Without an answer: 3,"));
    }

    #[test]
    fn nothing_has_no_percentiles() {
        let text = hgrm(&Distribution::default());
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(!text.contains("-0"), "{text}");
    }

    #[test]
    fn a_log_has_a_line_for_each_interval() {
        let trial = fixture::closed();
        let text = hlog(&trial);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with(['#', '"']))
            .collect();
        assert_eq!(lines.len(), trial.record.intervals.len());
        for (line, interval) in lines.iter().zip(&trial.record.intervals) {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields[3], interval.response_time.to_base64());
            assert_eq!(fields[0], format!("{:.3}", interval.start.as_s_f64()));
        }
    }
}
