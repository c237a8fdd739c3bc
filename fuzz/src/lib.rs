//! What the fuzz targets hold true; each target is one call of a function here.

pub mod body;
pub mod file;
pub mod h2;
pub mod h3;
mod quic;
pub mod request;
pub mod response;

/// Cuts `bytes` into pieces whose lengths come from `seed`, 1 to 64 bytes each.
fn pieces(mut bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut state = u32::from(seed) | 1;
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = ((state >> 24) as usize % 64 + 1).min(bytes.len());
        let (piece, rest) = bytes.split_at(length);
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
