//! Extracts the two files of the API viewer from the archive in its crate, in the gzip form in which they are served.
//! Nothing is downloaded: an entry of the archive is compressed in the same way as gzip, so only the frame around it
//! differs.

use std::{env, error::Error, fs, path::PathBuf};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED as ARCHIVE;

/// The files that the page needs.
const FILES: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];
/// Method of an entry that is compressed.
const DEFLATE: u32 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    for file in FILES {
        let gzip = entry(file).ok_or_else(|| format!("the archive of the viewer has no {file}"))?;
        fs::write(out.join(format!("{file}.gz")), gzip)?;
    }
    Ok(())
}

fn number(at: usize, bytes: usize) -> Option<u32> {
    let bytes = ARCHIVE.get(at..at + bytes)?;
    Some(bytes.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)))
}

fn offset(at: usize, bytes: usize) -> Option<usize> {
    usize::try_from(number(at, bytes)?).ok()
}

/// Walks the archive's directory (PKWARE APPNOTE, 4.3.12) to the file of this name in `dist`.
fn entry(file: &str) -> Option<Vec<u8>> {
    let end = ARCHIVE.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let mut at = offset(end + 16, 4)?;
    for _ in 0..number(end + 10, 2)? {
        let (name, extra, comment) = (offset(at + 28, 2)?, offset(at + 30, 2)?, offset(at + 32, 2)?);
        let path = std::str::from_utf8(ARCHIVE.get(at + 46..at + 46 + name)?).ok()?;
        let is_wanted =
            path.split_once('/').is_some_and(|(_, path)| path.strip_prefix("dist/") == Some(file));
        if is_wanted && number(at + 10, 2)? == DEFLATE {
            return gzip(at);
        }
        at += 46 + name + extra + comment;
    }
    None
}

/// The entry described at this place of the directory, framed as gzip (RFC 1952).
fn gzip(at: usize) -> Option<Vec<u8>> {
    let (checksum, packed, size) =
        (ARCHIVE.get(at + 16..at + 20)?, offset(at + 20, 4)?, ARCHIVE.get(at + 24..at + 28)?);
    let local = offset(at + 42, 4)?;
    let start = local + 30 + offset(local + 26, 2)? + offset(local + 28, 2)?;
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    Some([&head[..], ARCHIVE.get(start..start + packed)?, checksum, size].concat())
}
