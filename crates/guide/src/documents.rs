//! The documents as they stand in the repository.

use flate2::read::ZlibDecoder;
use std::{io::Read, sync::LazyLock};

include!(concat!(env!("OUT_DIR"), "/documents.rs"));

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/documents.zlib"));

static TEXTS: LazyLock<String> = LazyLock::new(|| {
    let mut texts = String::new();
    if let Err(error) = ZlibDecoder::new(PACKED).read_to_string(&mut texts) {
        tracing::error!(%error, "the documents cannot be unpacked");
    }
    texts
});

/// Name from the root of the repository, and text, of every document.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut start = 0;
    NAMES.iter().map(move |(name, length)| {
        let text = TEXTS.get(start..start + length).unwrap_or_default();
        start += length;
        (*name, text)
    })
}

/// Whether there is a document of this name.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.iter().any(|(document, _)| *document == name)
}

/// Names of all pictures.
#[cfg(test)]
pub(crate) fn pictures() -> impl Iterator<Item = &'static str> {
    PICTURES.iter().map(|(name, _)| *name)
}

/// A picture by its name from the root of the repository.
pub(crate) fn picture(name: &str) -> Option<&'static [u8]> {
    PICTURES.iter().find(|(picture, _)| *picture == name).map(|(_, bytes)| *bytes)
}

/// The name of the picture that `make diagrams` makes of a Mermaid diagram; the first one in a document has number 1.
pub(crate) fn diagram(document: &str, number: usize) -> String {
    let stem = document.strip_prefix("docs/").unwrap_or(document);
    let stem = stem.strip_suffix(".md").unwrap_or(stem).replace('/', "-");
    format!("docs/pictures/diagram-{stem}-{number}.svg")
}

/// Whether a picture is an SVG file; the others are PNG files.
pub(crate) fn is_svg(picture: &[u8]) -> bool {
    picture.starts_with(b"<svg")
}

/// Width and height of a picture (PNG, 11.2.2; those of SVG files as they name them).
pub(crate) fn size(picture: &[u8]) -> Option<(u32, u32)> {
    if is_svg(picture) {
        let head = picture.split(|byte| *byte == b'>').next()?;
        let head = std::str::from_utf8(head).ok()?;
        let value = |name: &str| head.split(name).nth(1)?.split('"').next()?.parse().ok();
        return Some((value(" width=\"")?, value(" height=\"")?));
    }
    let number = |at: usize| Some(u32::from_be_bytes(picture.get(at..at + 4)?.try_into().ok()?));
    Some((number(16)?, number(20)?))
}
