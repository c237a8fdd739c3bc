//! The flags that say what a right answer is.

use model::plan::{Expectation, Level, LuaFile};

use crate::exit::UsageError;
use crate::whole::{at_least_one, zero_or_more};

/// What a right answer is.
#[derive(clap::Args, Debug)]
pub(super) struct Expected {
    /// How closely each answer is checked against one fetched before the run [default: body]
    #[arg(long, value_name = "LEVEL", value_enum)]
    expect: Option<Check>,

    /// The status of a right answer [default: that of the answer before the run, if below 400]
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(100..600))]
    expect_status: Option<u16>,

    /// The length of a right answer's content in bytes [default: that of the answer before the run]
    #[arg(long, value_name = "BYTES", value_parser = zero_or_more::<u64>())]
    expect_length: Option<u64>,

    /// The SHA-256 of a right answer's content, hexadecimal
    #[arg(long, value_name = "DIGEST")]
    expect_sha256: Option<String>,

    /// Decode one encoded answer in N [N: 1000 unless given; 1 is each] and compare its content
    /// with the decoded content of the answer before the run: gzip, br, zstd and deflate. What does
    /// not decode is a wrong answer. --expect-length and --expect-sha256 then apply to decoded
    /// content
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1000",
        value_parser = at_least_one::<u32>()
    )]
    decode: Option<u32>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Check {
    /// Status, length and body; bodies above 16 KiB in one answer of 1,000
    Body,
    /// Status and length
    Length,
    /// Status only
    Status,
    /// That the answer is complete
    None,
}

impl Expected {
    /// As a plan has it.
    pub(super) fn written(&self) -> Expectation {
        Expectation {
            level: match self.expect.unwrap_or(Check::Body) {
                Check::Body => Level::Body,
                Check::Length => Level::Length,
                Check::Status => Level::Status,
                Check::None => Level::None,
            },
            status: self.expect_status,
            length: self.expect_length,
            sha256: self.expect_sha256.clone(),
            decode_one_in: self.decode,
        }
    }

    /// Refuses what has no effect beside a script that makes its own requests: none of them is
    /// asked before the run, so that nothing is known of their answers but what flags say.
    pub(super) fn check(&self, lua: &LuaFile) -> Result<(), UsageError> {
        let given = match self.expect {
            Some(Check::Body) => "--expect body",
            Some(Check::Length) if self.expect_length.is_none() => "--expect length",
            _ if self.expect_sha256.is_some() => "--expect-sha256",
            _ => return Ok(()),
        };
        if !lua.asks {
            return Ok(());
        }
        Err(UsageError(format!(
            "{given}: {} makes its own requests, and no answer to them is fetched before the run \
             to compare others with: give --expect status, or let its response() look at answers; \
             --expect-status and --expect-length are checked too",
            lua.name
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &Expected, asks: bool) -> Option<String> {
        let lua = LuaFile {
            name: "mine.lua".to_owned(),
            asks,
            ..LuaFile::default()
        };
        expected.check(&lua).err().map(|UsageError(why)| why)
    }

    #[test]
    fn what_a_script_leaves_without_effect_is_refused() {
        let of = |expect| Expected {
            expect,
            expect_status: Some(200),
            expect_length: None,
            expect_sha256: None,
            decode: None,
        };
        let why = check(&of(Some(Check::Body)), true).expect("it is refused");
        assert!(why.starts_with("--expect body: mine.lua makes"), "{why}");
        assert!(why.contains("--expect status"), "{why}");
        assert_eq!(check(&of(Some(Check::Body)), false), None);
        for level in [None, Some(Check::Status), Some(Check::None)] {
            assert_eq!(check(&of(level), true), None, "{level:?}");
        }
        let mut length = of(Some(Check::Length));
        assert!(check(&length, true).is_some());
        length.expect_length = Some(7);
        assert_eq!(check(&length, true), None);
        let mut digest = of(None);
        digest.expect_sha256 = Some("00".to_owned());
        assert!(check(&digest, true).is_some());
    }
}
