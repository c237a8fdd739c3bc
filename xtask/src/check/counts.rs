//! What the test harness prints, counted: how many tests passed, and what the others said.

use std::fmt;

/// How many tests did what.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
    /// Tests marked to be ignored: there are none, and tidy keeps it so.
    pub(crate) ignored: u64,
    /// What those that failed printed.
    pub(crate) failures: Vec<Failure>,
    /// What those printed that failed beside others and passed alone.
    pub(crate) unsteady: Vec<Failure>,
    /// Lines are those of the last failure.
    within: bool,
}

/// A test that failed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Failure {
    /// Its name in its program.
    pub(crate) name: String,
    /// What it printed, and why it panicked.
    pub(crate) output: String,
}

impl Counts {
    /// Adds what another step counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.failures.extend(other.failures);
        self.unsteady.extend(other.unsteady);
    }

    /// Reads a line of what the test harness prints: its result, `test result: ok. 3 passed; 0
    /// failed; ...`, and what failed tests printed, each below `---- name stdout ----`.
    pub(crate) fn add_line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.within = false;
            self.add_result(result);
        } else if let Some(name) = failed(line) {
            self.within = true;
            self.failures.push(Failure {
                name: name.to_owned(),
                output: String::new(),
            });
        } else if line == "failures:" {
            self.within = false;
        } else if let (true, Some(last)) = (self.within, self.failures.last_mut()) {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }

    fn add_result(&mut self, result: &str) {
        for part in result.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(count), Some(what)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(count) = count.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }

    /// Takes those of the failed tests as passed that `alone`, where they ran again, did not fail
    /// in.
    pub(crate) fn pass(&mut self, alone: &Self) {
        let fails = |first: &Failure| alone.failures.iter().any(|again| again.name == first.name);
        let failures = std::mem::take(&mut self.failures);
        let (failures, passed): (Vec<_>, Vec<_>) = failures.into_iter().partition(fails);
        let recovered = alone.passed.min(self.failed);
        self.passed += recovered;
        self.failed -= recovered;
        self.failures = failures;
        self.unsteady.extend(passed);
    }

    /// Prints what failed, in full.
    pub(crate) fn print_failures(&self) {
        let kinds = [
            ("failed beside others, passed alone", &self.unsteady),
            ("failed", &self.failures),
        ];
        for (kind, failures) in kinds {
            for failure in failures {
                println!("== {kind}: {}\n{}", failure.name, failure.output.trim());
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.unsteady.len() {
            0 => Ok(()),
            count => write!(f, "; {count} of those that passed failed beside others"),
        }
    }
}

/// The test of which the lines after this one are.
fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_the_harness_add_up() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; finished in 0.02s",
            "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; finished in 4.00s",
        ] {
            counts.add_line(line);
        }
        assert_eq!((counts.passed, counts.failed, counts.ignored), (15, 2, 1));
        assert!(counts.failures.is_empty());
    }

    #[test]
    fn what_failed_tests_printed_is_kept() {
        let mut counts = Counts::default();
        for line in "running 3 tests
test lab::one ... FAILED

failures:

---- lab::one stdout ----

thread 'lab::one' panicked at lab.rs:1:2:
no answers
---- lab::two stdout ----
nothing

failures:
    lab::one
    lab::two

test result: FAILED. 1 passed; 2 failed; 0 ignored
not of a test"
            .lines()
        {
            counts.add_line(line);
        }
        let failures: Vec<(&str, &str)> = counts
            .failures
            .iter()
            .map(|failure| (failure.name.as_str(), failure.output.trim()))
            .collect();
        let why = "thread 'lab::one' panicked at lab.rs:1:2:\nno answers";
        assert_eq!(failures, [("lab::one", why), ("lab::two", "nothing")]);
        let mut both = Counts::default();
        both.add(counts);
        assert_eq!((both.passed, both.failed, both.failures.len()), (1, 2, 2));
    }

    #[test]
    fn a_test_that_passes_alone_counts_as_passed_and_its_first_words_are_kept() {
        let failure = |name: &str, output: &str| Failure {
            name: name.to_owned(),
            output: output.to_owned(),
        };
        let mut first = Counts {
            passed: 7,
            failed: 2,
            failures: vec![failure("one", "busy"), failure("two", "wrong")],
            ..Counts::default()
        };
        assert_eq!(first.to_string(), "7 passed, 2 failed");
        first.pass(&Counts {
            passed: 1,
            failed: 1,
            failures: vec![failure("two", "wrong again")],
            ..Counts::default()
        });
        assert_eq!(first.failures, [failure("two", "wrong")]);
        assert_eq!(first.unsteady, [failure("one", "busy")]);
        let said = "8 passed, 1 failed; 1 of those that passed failed beside others";
        assert_eq!(first.to_string(), said);
    }
}
