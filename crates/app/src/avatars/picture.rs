//! From whatever a client sends to the one form that is kept: PNG, at most 256 by 256 pixels, upright, nothing else in
//! it. The type is told by the first bytes and the dimensions are read from the header before any pixel is decoded.

use crate::{App, turns::turn};
use bailiwick_domain::{Error, Result};
use bytes::Bytes;
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, guess_format, imageops::FilterType,
    metadata::Orientation,
};
use serde_json::json;
use std::{io::Cursor, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Largest file, in bytes.
pub const MAX_BYTES: u64 = 512_000;
/// Largest width and height of what is sent, in pixels.
const MAX_SIDE: u32 = 4096;
/// Largest width and height of what is kept.
const KEPT_SIDE: u32 = 256;
/// What decoding may take: 4096 by 4096 pixels of eight bytes, and as much again to work with.
const MAX_ALLOCATION: u64 = 256 * 1024 * 1024;
/// How long an upload waits for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Pictures are decoded one after the other: each may take much memory, and nobody uploads many.
pub(crate) struct Pictures(Arc<Semaphore>);

impl Pictures {
    /// One turn.
    pub fn new() -> Pictures {
        Pictures(Arc::new(Semaphore::new(1)))
    }
}

fn bad(message: &'static str) -> Error {
    Error::bad_request(message)
}

/// The picture as it is kept.
///
/// # Errors
/// The texts of spec: account#avatars; 503 when too many wait.
pub(super) async fn normal_form(app: &App, file: Bytes) -> Result<Vec<u8>> {
    // A form whose file was not chosen sends an empty one.
    if file.is_empty() {
        return Err(bad("avatar file is required"));
    }
    let format = format_of(&file)?;
    let permit = app.pictures.0.clone().acquire_owned();
    let turn = turn(permit, LONGEST_WAIT, "too many pictures wait to be decoded").await?;
    tokio::task::spawn_blocking(move || {
        let converted = convert(&file, format);
        drop(turn);
        converted
    })
    .await
    // A decoder that fails on hostile input has not read a picture.
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

/// Dimensions of a PNG. Its decoder judges the memory they take before it can be asked for them.
fn header_of_png(file: &[u8]) -> Option<(u32, u32)> {
    let header = file.get(12..24)?.strip_prefix(b"IHDR")?;
    let side = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_be_bytes);
    Some((side(&header[..4])?, side(&header[4..8])?))
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
    if format == ImageFormat::Png {
        check_dimensions(header_of_png(file).ok_or_else(|| bad("invalid image file"))?)?;
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_ALLOCATION);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(invalid)?;
    let (width, height) = decoder.dimensions();
    check_dimensions((width, height))?;
    // A camera held upright says so beside the pixels; nonsense there is no reason to refuse the picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let whole = DynamicImage::from_decoder(decoder).map_err(invalid)?;
    let mut kept = if width > KEPT_SIDE || height > KEPT_SIDE {
        whole.resize(KEPT_SIDE, KEPT_SIDE, FilterType::Triangle)
    } else {
        whole
    };
    kept.apply_orientation(orientation);
    let mut png = Cursor::new(Vec::new());
    let written = DynamicImage::ImageRgba8(kept.into_rgba8()).write_to(&mut png, ImageFormat::Png);
    written.map_err(Error::internal)?;
    Ok(png.into_inner())
}
