//! Answers made to order, below a reserved path that a flag must enable: a server whose size,
//! delay, status and faults are known, to calibrate a client against.
//!
//! `/.triathlon/null?bytes=N` answers fixed bytes and nothing else.
//! `/.triathlon/synthetic?bytes=N&status=S&delay=D&fault=F` answers as asked: D is a time, or
//! `exponential:MEAN`, or `bimodal:USUAL,SLOW,SHARE`; F is `close`, `truncate`, `stall` or `reset`.

use std::fs::File;
use std::io;
use std::sync::Arc;

use model::{Random, Span};
use wire::{Part, Persistence};

use crate::head::{HeadWriter, Today};
use crate::route::RESERVED;

/// Small enough answers are written at once, as those of files are; the content of larger ones is
/// sent from where it lies.
const AT_ONCE: u64 = crate::file::SMALL;
/// How much content there is to send; more is sent by going round it.
const FILLER_BYTES: usize = 1024 * 1024;
/// No answer is larger.
const SIZE_LIMIT: model::Bytes = model::Bytes::new(64 << 30);
/// No delay is longer.
const DELAY_LIMIT: Span = Span::from_s(3_600);
/// The content of the null responder where no size is asked.
const NULL: &[u8; 7] = b"origin\n";

/// What is asked of the reserved path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// Fixed bytes.
    Null { bytes: Option<u64> },
    /// As asked.
    Synthetic(Recipe),
}

/// An answer made to order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recipe {
    bytes: u64,
    status: u16,
    delay: Delay,
    fault: Option<Fault>,
}

impl Recipe {
    /// Whether the answer is the same each time, but for its date.
    pub(crate) fn is_fixed(&self) -> bool {
        self.delay == Delay::Constant(Span::ZERO) && self.fault.is_none()
    }

    /// The status that is asked for.
    pub(crate) const fn status(&self) -> u16 {
        self.status
    }
}

/// How long an answer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Delay {
    Constant(Span),
    Exponential { mean: Span },
    Bimodal { usual: Span, slow: Span, share: f64 },
}

/// How an answer goes wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    /// The connection ends before a single byte.
    Close,
    /// The connection is reset after the head.
    Reset,
    /// Half of the content comes, and then nothing.
    Stall,
    /// Half of the content comes, and then the end.
    Truncate,
}

/// Reads what follows the reserved path; none where there is nothing of that name.
pub(crate) fn order(path: &str, query: Option<&str>) -> Option<Result<Order, String>> {
    let name = path.strip_prefix(RESERVED.trim_start_matches('/'))?;
    match name {
        "null" => Some(null(query)),
        "synthetic" => Some(recipe(query).map(Order::Synthetic)),
        _ => None,
    }
}

fn pairs(query: Option<&str>) -> impl Iterator<Item = (&str, &str)> {
    query
        .unwrap_or("")
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn null(query: Option<&str>) -> Result<Order, String> {
    let mut bytes = None;
    for (key, value) in pairs(query) {
        match key {
            "bytes" => bytes = Some(size(value)?),
            _ => return Err(format!("no such key: {key}; there is bytes")),
        }
    }
    Ok(Order::Null { bytes })
}

fn recipe(query: Option<&str>) -> Result<Recipe, String> {
    let mut recipe = Recipe {
        bytes: NULL.len() as u64,
        status: 200,
        delay: Delay::Constant(Span::ZERO),
        fault: None,
    };
    for (key, value) in pairs(query) {
        match key {
            "bytes" => recipe.bytes = size(value)?,
            "status" => {
                recipe.status = value
                    .parse()
                    .ok()
                    .filter(|status| (200..=599).contains(status))
                    .ok_or_else(|| format!("'{value}' is not a status from 200 to 599"))?;
            }
            "delay" => recipe.delay = delay(value)?,
            "fault" => {
                recipe.fault = Some(match value {
                    "close" => Fault::Close,
                    "reset" => Fault::Reset,
                    "stall" => Fault::Stall,
                    "truncate" => Fault::Truncate,
                    _ => {
                        let known = "close, reset, stall and truncate";
                        return Err(format!("no such fault: '{value}'; there are {known}"));
                    }
                });
            }
            _ => {
                let known = "bytes, status, delay and fault";
                return Err(format!("no such key: {key}; there are {known}"));
            }
        }
    }
    Ok(recipe)
}

fn size(value: &str) -> Result<u64, String> {
    let size: model::Bytes = value.parse().map_err(|error| format!("{error}"))?;
    if size > SIZE_LIMIT {
        return Err(format!("{size} is more than {SIZE_LIMIT}"));
    }
    Ok(size.count())
}

fn delay(value: &str) -> Result<Delay, String> {
    let time = |text: &str| {
        let span: Span = text.parse().map_err(|error| format!("{error}"))?;
        if span > DELAY_LIMIT {
            return Err(format!("'{text}' is longer than {DELAY_LIMIT}"));
        }
        Ok(span)
    };
    match value.split_once(':') {
        None => Ok(Delay::Constant(time(value)?)),
        Some(("constant", value)) => Ok(Delay::Constant(time(value)?)),
        Some(("exponential", mean)) => Ok(Delay::Exponential { mean: time(mean)? }),
        Some(("bimodal", values)) => {
            let values: Vec<&str> = values.split(',').collect();
            let [usual, slow, share] = *values.as_slice() else {
                return Err("bimodal needs USUAL,SLOW,SHARE".to_owned());
            };
            let share = share
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| format!("'{share}' is not a share from 0 to 1"))?;
            Ok(Delay::Bimodal {
                usual: time(usual)?,
                slow: time(slow)?,
                share,
            })
        }
        Some((name, _)) => {
            let known = "constant, exponential and bimodal";
            Err(format!("no such distribution: '{name}'; there are {known}"))
        }
    }
}

/// Content for answers of any size: printable, in lines of 64, so that a look shows where it ends.
#[derive(Clone, Debug)]
pub(crate) struct Filler {
    /// The start of it.
    bytes: Vec<u8>,
    file: Arc<File>,
}

impl Filler {
    /// In a file that lies in memory, and its start at hand.
    pub(crate) fn new() -> io::Result<Self> {
        let line = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n";
        let mut bytes = line.repeat(FILLER_BYTES / line.len());
        let file = sys::file::in_memory(&bytes)?;
        bytes.truncate(usize::try_from(AT_ONCE).unwrap_or(0));
        bytes.shrink_to_fit();
        Ok(Self {
            bytes,
            file: Arc::new(file),
        })
    }

    /// So many bytes of content: at once if they are few.
    fn write(&self, length: u64, out: &mut Vec<u8>) -> Option<Part<Arc<File>>> {
        match usize::try_from(length) {
            Ok(count) if length <= AT_ONCE => {
                out.extend_from_slice(&self.bytes[..count]);
                None
            }
            _ => Some(Part::Cycle {
                file: Arc::clone(&self.file),
                block: FILLER_BYTES as u64,
                length,
            }),
        }
    }
}

/// Writes the null responder's answer: the same bytes each time, not even a date among them.
pub(crate) fn answer_null(
    bytes: Option<u64>,
    filler: &Filler,
    has_content: bool,
    persistence: Persistence,
    out: &mut Vec<u8>,
) -> (u64, Vec<Part<Arc<File>>>) {
    let length = bytes.unwrap_or(NULL.len() as u64);
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n");
    HeadWriter::resume(out).length(length).end(persistence);
    if !has_content {
        return (0, Vec::new());
    }
    match bytes {
        None => {
            out.extend_from_slice(NULL);
            (length, Vec::new())
        }
        Some(length) => (length, Vec::from_iter(filler.write(length, out))),
    }
}

/// Writes an answer made to order.
pub(crate) fn answer(
    recipe: &Recipe,
    filler: &Filler,
    has_content: bool,
    persistence: Persistence,
    today: &Today,
    random: &mut Random,
    out: &mut Vec<u8>,
) -> (u64, Vec<Part<Arc<File>>>) {
    let delay = recipe.delay.draw(random);
    let mut parts = Vec::new();
    if !delay.is_zero() {
        parts.push(Part::Pause(delay));
    }
    if recipe.fault == Some(Fault::Close) {
        parts.push(Part::Close);
        return (0, parts);
    }
    let is_bodiless = matches!(recipe.status, 204 | 304);
    let length = if is_bodiless { 0 } else { recipe.bytes };
    let mut text = Vec::new();
    let mut head = HeadWriter::begin(&mut text, recipe.status, today);
    if !is_bodiless {
        head = head.field("Content-Type", "text/plain").length(length);
    }
    head.end(persistence);
    let sent = match recipe.fault {
        _ if !has_content => 0,
        None => length,
        Some(Fault::Stall | Fault::Truncate) => length / 2,
        Some(Fault::Close | Fault::Reset) => 0,
    };
    let rest = filler.write(sent, &mut text);
    if parts.is_empty() {
        out.extend_from_slice(&text);
    } else {
        parts.push(Part::Bytes(text));
    }
    parts.extend(rest);
    parts.extend(recipe.fault.map(|fault| match fault {
        Fault::Close | Fault::Truncate => Part::Close,
        Fault::Reset => Part::Reset,
        Fault::Stall => Part::Stall,
    }));
    (sent, parts)
}

impl Delay {
    fn draw(self, random: &mut Random) -> Span {
        match self {
            Self::Constant(span) => span,
            Self::Exponential { mean } => scale(mean, -(1.0 - random.unit()).ln()).min(DELAY_LIMIT),
            Self::Bimodal { usual, slow, share } => {
                if random.unit() < share {
                    slow
                } else {
                    usual
                }
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a random span; the factor is never negative"
)]
fn scale(span: Span, factor: f64) -> Span {
    Span::from_ns((span.as_ns() as f64 * factor) as u64)
}

#[cfg(test)]
mod tests;
