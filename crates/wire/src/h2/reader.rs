//! From bytes in any pieces to frames: content is passed on as it comes, everything else whole.
//!
//! Cost: nine bytes of a frame's head are copied if they come in pieces, and so is a payload that
//! is not content.

use super::frame::{Code, FrameHead, HEAD, PAYLOAD, flag, kind};

/// What came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Content of a DATA frame, in order.
    Data {
        /// The frame's.
        head: FrameHead,
        /// As much as is here.
        content: &'a [u8],
        /// It is the first piece of its frame, which takes `head.length` out of the windows.
        is_first: bool,
        /// It is the last of its frame.
        is_last: bool,
    },
    /// Any other frame.
    Frame(FrameHead, &'a [u8]),
}

/// Where in the bytes we are.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The start of a frame of which the rest has not come: its head, then its payload.
    partial: Vec<u8>,
    /// That frame was given whole, and is not needed any more.
    is_given: bool,
    /// The DATA frame whose content is under way.
    data: Option<Data>,
}

#[derive(Clone, Copy, Debug)]
struct Data {
    head: FrameHead,
    /// Content that is to come.
    content: usize,
    /// Padding that is to come after it; none: its length is still to come.
    padding: Option<usize>,
    is_first: bool,
}

impl Reader {
    /// Takes the next piece from the front of `bytes`, if there is one.
    ///
    /// # Errors
    ///
    /// A frame is longer than we allow, or shorter than its padding.
    #[inline]
    pub(crate) fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Piece<'a>>, Code> {
        if self.data.is_some() {
            return self.next_data(bytes);
        }
        if std::mem::take(&mut self.is_given) {
            self.partial.clear();
        }
        if !self.partial.is_empty() {
            return self.next_partial(bytes);
        }
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        };
        let head = checked(FrameHead::read(*head))?;
        if head.kind == kind::DATA {
            *bytes = rest;
            self.begin_data(head)?;
            return self.next_data(bytes);
        }
        let Some((payload, rest)) = rest.split_at_checked(head.length) else {
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return Ok(None);
        };
        *bytes = rest;
        Ok(Some(Piece::Frame(head, payload)))
    }

    /// The same for a frame that began in bytes of before.
    #[cold]
    fn next_partial<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Piece<'a>>, Code> {
        if !self.fill(HEAD, bytes) {
            return Ok(None);
        }
        let Some(head) = self.partial.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let head = checked(FrameHead::read(*head))?;
        if head.kind == kind::DATA {
            self.partial.clear();
            self.begin_data(head)?;
            return self.next_data(bytes);
        }
        if !self.fill(HEAD + head.length, bytes) {
            return Ok(None);
        }
        self.is_given = true;
        Ok(Some(Piece::Frame(head, &self.partial[HEAD..])))
    }

    /// Whether nothing of a frame has come of which the rest has not.
    pub(crate) const fn is_between(&self) -> bool {
        self.data.is_none() && (self.partial.is_empty() || self.is_given)
    }

    /// Keeps no memory where nothing is under way.
    pub(crate) fn release(&mut self) {
        if self.is_between() {
            *self = Self::default();
        }
    }

    /// Moves bytes over until there are so many; false: they have not come yet.
    fn fill(&mut self, length: usize, bytes: &mut &[u8]) -> bool {
        let missing = length.saturating_sub(self.partial.len());
        let (here, rest) = bytes.split_at(bytes.len().min(missing));
        self.partial.extend_from_slice(here);
        *bytes = rest;
        here.len() == missing
    }

    fn begin_data(&mut self, head: FrameHead) -> Result<(), Code> {
        let is_padded = head.has(flag::PADDED);
        self.data = Some(Data {
            head,
            content: match is_padded {
                true => head.length.checked_sub(1).ok_or(Code::FRAME_SIZE)?,
                false => head.length,
            },
            padding: (!is_padded).then_some(0),
            is_first: true,
        });
        Ok(())
    }

    #[inline]
    fn next_data<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Code> {
        let Some(data) = &mut self.data else {
            return Ok(None);
        };
        let padding = match data.padding {
            Some(padding) => padding,
            None => {
                let Some((&length, rest)) = bytes.split_first() else {
                    return Ok(None);
                };
                *bytes = rest;
                let padding = usize::from(length);
                data.content = data.content.checked_sub(padding).ok_or(Code::PROTOCOL)?;
                data.padding = Some(padding);
                padding
            }
        };
        if bytes.is_empty() && data.content + padding > 0 {
            return Ok(None);
        }
        let (content, rest) = bytes.split_at(bytes.len().min(data.content));
        data.content -= content.len();
        let filling = match data.content {
            0 => rest.len().min(padding),
            _ => 0,
        };
        *bytes = &rest[filling..];
        data.padding = Some(padding - filling);
        let piece = Piece::Data {
            head: data.head,
            content,
            is_first: std::mem::take(&mut data.is_first),
            is_last: data.content == 0 && filling == padding,
        };
        if data.content == 0 && filling == padding {
            self.data = None;
        }
        Ok(Some(piece))
    }
}

/// RFC 9113 §4.2.
#[inline]
const fn checked(head: FrameHead) -> Result<FrameHead, Code> {
    if head.length > PAYLOAD {
        return Err(Code::FRAME_SIZE);
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All that is read when `bytes` come in pieces that end at `ends`, content joined.
    fn read(bytes: &[u8], ends: &[usize]) -> Result<Vec<(FrameHead, Vec<u8>)>, Code> {
        let mut reader = Reader::default();
        let mut frames: Vec<(FrameHead, Vec<u8>)> = Vec::new();
        let mut from = 0;
        for end in ends.iter().copied().chain([bytes.len()]) {
            let mut rest = &bytes[from.min(end)..end];
            from = from.max(end);
            loop {
                match reader.next(&mut rest)? {
                    None => break,
                    Some(Piece::Frame(head, payload)) => frames.push((head, payload.to_vec())),
                    Some(Piece::Data {
                        head,
                        content,
                        is_first,
                        ..
                    }) => {
                        if is_first {
                            frames.push((head, Vec::new()));
                        }
                        frames.last_mut().unwrap().1.extend_from_slice(content);
                    }
                }
            }
            assert!(rest.is_empty(), "all is taken");
        }
        Ok(frames)
    }

    fn frame() -> impl Strategy<Value = Vec<u8>> {
        let payload = prop::collection::vec(any::<u8>(), 0..60);
        (0u8..12, any::<u8>(), any::<u32>(), payload).prop_map(|(kind, flags, stream, payload)| {
            let mut out = Vec::new();
            FrameHead {
                length: payload.len(),
                kind,
                flags,
                stream,
            }
            .write(&mut out);
            out.extend_from_slice(&payload);
            out
        })
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            frames in prop::collection::vec(frame(), 0..8),
            mut ends in prop::collection::vec(0usize..400, 0..12),
        ) {
            let bytes = frames.concat();
            ends.retain(|end| *end <= bytes.len());
            ends.sort_unstable();
            prop_assert_eq!(read(&bytes, &ends), read(&bytes, &[]));
        }
    }

    #[test]
    fn what_is_too_long_is_refused_at_its_head() {
        assert_eq!(
            read(&[0, 0x40, 1, 4, 0, 0, 0, 0, 0], &[]),
            Err(Code::FRAME_SIZE)
        );
        assert_eq!(
            read(&[0, 0, 0, 0, 8, 0, 0, 0, 1], &[]),
            Err(Code::FRAME_SIZE)
        );
        assert_eq!(
            read(&[0, 0, 1, 0, 8, 0, 0, 0, 1, 1], &[]),
            Err(Code::PROTOCOL)
        );
    }
}
