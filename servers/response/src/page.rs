//! The fixed bodies.

/// The article's page: one `<img>` tag, 83 bytes.
///
/// The article's own tag was as long; its `src` pointed to a picture elsewhere, this one is served by the rung itself.
pub const PAGE: &[u8] =
    b"<img src=\"/ladder.svg\" alt=\"rungs: the ladder, from kernel up to axum\" width=\"320\">";

const _: () = assert!(PAGE.len() == 83);

/// The picture that [`PAGE`] shows.
pub const PICTURE: &[u8] = include_bytes!("ladder.svg");

/// The printable alphabet that `/bytes/{n}` repeats.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// [`ALPHABET`], repeated to 64 KiB.
pub(crate) const fn pattern() -> [u8; 64 << 10] {
    let mut block = [0; 64 << 10];
    let mut at = 0;
    while at < block.len() {
        block[at] = ALPHABET[at % ALPHABET.len()];
        at += 1;
    }
    block
}
