//! The chunked coding.

use wire::h1::body::ChunkedDecoder;

use crate::pieces;

/// The first byte chooses the cuts. Content, length and error are the same however it comes.
pub fn chunked(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first() else {
        return;
    };
    for decoder in [ChunkedDecoder::new(), ChunkedDecoder::for_request()] {
        let whole = decode(decoder.clone(), [bytes].into_iter());
        let cut = decode(decoder, pieces(bytes, *seed).into_iter());
        assert_eq!(whole, cut);
    }
}

/// The content, how many bytes were consumed, and whether it ended or broke.
fn decode<'a>(
    mut decoder: ChunkedDecoder,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<u8>, usize, Option<bool>) {
    let (mut content, mut consumed) = (Vec::new(), 0);
    for mut piece in pieces {
        while !piece.is_empty() && !decoder.is_end() {
            let Ok(decoded) = decoder.decode(piece) else {
                return (content, 0, None);
            };
            content.extend_from_slice(decoded.content);
            consumed += decoded.consumed;
            piece = &piece[decoded.consumed..];
        }
    }
    (content, consumed, Some(decoder.is_end()))
}
