//! Converts an uploaded picture to the only stored form: PNG, at most 256 by 256 pixels, upright, without metadata. The
//! first bytes determine the type, and the dimensions are read from the header before any pixel is decoded.

use crate::Directory;
use bailiwick_domain::{Error, Result};
use bailiwick_platform::limits::acquire_within;
use bytes::Bytes;
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, guess_format, imageops::FilterType,
    metadata::Orientation,
};
use serde_json::json;
use std::{borrow::Cow, io::Cursor, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Largest file, in bytes.
pub const MAX_BYTES: u64 = 512_000;
/// Largest width and height of an uploaded picture, in pixels.
const MAX_SIDE: u32 = 4096;
/// Largest width and height of a stored picture.
const KEPT_SIDE: u32 = 256;
/// Memory that decoding may take: 4096 by 4096 pixels of eight bytes, and as much again to work with.
const MAX_ALLOCATION: u64 = 256 * 1024 * 1024;
/// How long an upload waits for its place.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Pictures are decoded one at a time: each may take much memory, and users upload few.
pub(crate) struct Pictures(Arc<Semaphore>);

impl Pictures {
    /// One place.
    pub fn new() -> Pictures {
        Pictures(Arc::new(Semaphore::new(1)))
    }
}

fn bad(message: &'static str) -> Error {
    Error::bad_request(message)
}

/// The picture in its stored form.
///
/// # Errors
/// The texts of spec: account#avatars; 503 when too many wait.
pub(super) async fn normal_form(service: &Directory, file: Bytes) -> Result<Vec<u8>> {
    // A form without a chosen file sends an empty one.
    if file.is_empty() {
        return Err(bad("avatar file is required"));
    }
    let format = format_of(&file)?;
    let permit = service.pictures.0.clone().acquire_owned();
    let slot = acquire_within(permit, LONGEST_WAIT, "too many pictures wait to be decoded").await?;
    tokio::task::spawn_blocking(move || {
        let converted = convert(&file, format);
        drop(slot);
        converted
    })
    .await
    // If the decoder panics on hostile input, the file is not a picture.
    .unwrap_or_else(|_| Err(bad("invalid image file")))
}

/// The type by its first bytes, whatever the client calls it.
fn format_of(file: &[u8]) -> Result<ImageFormat> {
    let format = guess_format(file).ok();
    match format {
        Some(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) => Ok(format),
        _ => {
            let content_type = format.map_or("application/octet-stream", |f| f.to_mime_type());
            let data = json!({"content_type": content_type});
            Err(Error::BadRequest { message: "avatar must be png, jpeg, or webp".into(), data })
        }
    }
}

/// Dimensions of a PNG. Its decoder checks the memory they take before it returns them.
fn header_of_png(file: &[u8]) -> Option<(u32, u32)> {
    let header = file.get(12..24)?.strip_prefix(b"IHDR")?;
    let side = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_be_bytes);
    Some((side(&header[..4])?, side(&header[4..8])?))
}

/// The PNG without chunks that do not describe its pixels: profiles and texts are compressed, and unpacking a few
/// hundred kilobytes of them would take hundreds of megabytes.
fn without_extras(file: &[u8]) -> Vec<u8> {
    let (signature, mut rest) = file.split_at(file.len().min(8));
    let mut stripped = signature.to_vec();
    // A chunk is its length, its kind, so many bytes and a checksum.
    while let Some((length, [k, i, n, d, ..])) = rest.split_first_chunk::<4>() {
        let end = usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|l| l.checked_add(12));
        // The decoder refuses one that is cut off.
        let (chunk, next) = end.and_then(|end| rest.split_at_checked(end)).unwrap_or((rest, &[]));
        // A capital marks a chunk without which no picture can be shown.
        if k.is_ascii_uppercase() || matches!(&[*k, *i, *n, *d], b"tRNS" | b"eXIf") {
            stripped.extend_from_slice(chunk);
        }
        rest = next;
    }
    stripped
}

fn check_dimensions((width, height): (u32, u32)) -> Result<()> {
    if width <= MAX_SIDE && height <= MAX_SIDE {
        return Ok(());
    }
    let data = json!({"max_dimension": MAX_SIDE, "width": width, "height": height});
    Err(Error::BadRequest { message: "image dimensions exceed maximum of 4096x4096".into(), data })
}

fn convert(file: &[u8], format: ImageFormat) -> Result<Vec<u8>> {
    let invalid = |_| bad("invalid image file");
    let mut file = Cow::Borrowed(file);
    if format == ImageFormat::Png {
        check_dimensions(header_of_png(&file).ok_or_else(|| bad("invalid image file"))?)?;
        file = Cow::Owned(without_extras(&file));
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_ALLOCATION);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(invalid)?;
    let (width, height) = decoder.dimensions();
    check_dimensions((width, height))?;
    // Cameras store their orientation beside the pixels; an invalid value is no reason to refuse the picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let whole = DynamicImage::from_decoder(decoder).map_err(invalid)?;
    let mut picture = if width > KEPT_SIDE || height > KEPT_SIDE {
        whole.resize(KEPT_SIDE, KEPT_SIDE, FilterType::Triangle)
    } else {
        whole
    };
    picture.apply_orientation(orientation);
    let mut png = Cursor::new(Vec::new());
    let written = DynamicImage::ImageRgba8(picture.into_rgba8()).write_to(&mut png, ImageFormat::Png);
    written.map_err(Error::internal)?;
    Ok(png.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        [&u32::try_from(data.len()).unwrap().to_be_bytes()[..], kind, data, b"sum!"].concat()
    }

    #[test]
    fn of_a_png_only_what_makes_its_pixels_is_given_to_the_decoder() {
        let png = |kinds: &[&[u8; 4]]| {
            let chunks = kinds.iter().flat_map(|kind| chunk(kind, &[7; 30]));
            b"\x89PNG\r\n\x1a\n".iter().copied().chain(chunks).collect::<Vec<u8>>()
        };
        let all = [b"IHDR", b"iCCP", b"zTXt", b"iTXt", b"tRNS", b"PLTE", b"eXIf", b"acTL", b"IDAT", b"IEND"];
        let kept = [b"IHDR", b"tRNS", b"PLTE", b"eXIf", b"IDAT", b"IEND"];
        assert_eq!(without_extras(&png(&all)), png(&kept));
        // A truncated file stays as it is, except for chunks to be removed; no length is trusted.
        for cut in 0..png(&kept).len() {
            let part = &png(&kept)[..cut];
            let left = without_extras(part);
            assert!(part.starts_with(&left) && part.len() - left.len() < 8, "{cut}");
        }
        let endless = [png(&[b"IHDR"]), u32::MAX.to_be_bytes().to_vec(), b"iCCPxxxx".to_vec()].concat();
        assert_eq!(without_extras(&endless), png(&[b"IHDR"]));
    }
}
