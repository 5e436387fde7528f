//! The type of an uploaded file, determined by its bytes alone, and whether it may be stored (spec:
//! rebranding#serving). Nothing is decoded: the dimensions are read from the headers.

use super::{
    svg::{self, Verdict},
    upload::{Part, refused},
};
use aws_lc_rs::digest;
use bailiwick_domain::{
    Result,
    ports::hex,
    rebranding::{Asset, Media},
};
use bailiwick_store::{images::Content, rebranding::NewFile};
use serde_json::json;

/// Largest width and height, in pixels.
const MAX_SIDE: u32 = 8192;
/// Most pictures in an icon; a file with more is refused.
const ICON_PICTURES: usize = 64;
/// Most segments of a JPEG before its frame.
const SEGMENTS: usize = 4096;

/// A picture's width and height.
type Sides = (u32, u32);

/// The type of a file.
#[derive(Debug, PartialEq, Eq)]
enum Detected {
    /// A picture of this kind; none where the kind has no dimensions.
    Picture(Media, Option<Sides>),
    /// An SVG that does more than show a picture.
    Active,
    /// An unknown type, or a header with invalid values.
    Nothing,
}

/// The files of a form in their stored form.
///
/// # Errors
/// `<field> has invalid content type`, `<field> exceeds maximum dimensions`, `<field> contains active content`.
pub(super) fn files(sent: Vec<(Asset, Part)>) -> Result<Vec<NewFile>> {
    let detected: Vec<Detected> = sent.iter().map(|(_, part)| detect(&part.bytes)).collect();
    for ((asset, part), detected) in sent.iter().zip(&detected) {
        check_type(*asset, part, detected)?;
    }
    for ((asset, _), detected) in sent.iter().zip(&detected) {
        if let Detected::Picture(_, Some((width, height))) = *detected
            && (width > MAX_SIDE || height > MAX_SIDE)
        {
            let data = json!({
                "field": asset.as_str(), "max_dimension": MAX_SIDE, "width": width, "height": height,
            });
            return Err(refused(*asset, "exceeds maximum dimensions", data));
        }
    }
    sent.into_iter()
        .zip(detected)
        .map(|((asset, part), detected)| match detected {
            Detected::Picture(media, _) => Ok(NewFile {
                asset,
                content_type: media.content_type(),
                sha256: hex(digest::digest(&digest::SHA256, &part.bytes).as_ref()),
                content: Content::Bytes(part.bytes.into()),
            }),
            Detected::Active | Detected::Nothing => {
                Err(refused(asset, "contains active content", json!({"field": asset.as_str()})))
            }
        })
        .collect()
}

/// The type must be allowed for the asset, and equal the declared one, if any.
fn check_type(asset: Asset, part: &Part, detected: &Detected) -> Result<()> {
    let media = match detected {
        Detected::Picture(media, _) => Some(*media),
        Detected::Active => Some(Media::Svg),
        Detected::Nothing => None,
    };
    let declared = part.content_type.as_deref().unwrap_or_default();
    let declared = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_open = declared.is_empty() || declared == "application/octet-stream";
    let agrees = is_open || (media.is_some() && Media::parse(&declared) == media);
    if agrees && media.is_some_and(|media| asset.takes(media)) {
        return Ok(());
    }
    // If the two disagree, the declared type is wrong.
    let shown_type = match media {
        Some(media) if agrees => media.content_type(),
        _ if is_open => "application/octet-stream",
        _ => declared.get(..declared.len().min(100)).unwrap_or_default(),
    };
    let data = json!({"field": asset.as_str(), "content_type": shown_type});
    Err(refused(asset, "has invalid content type", data))
}

fn detect(bytes: &[u8]) -> Detected {
    let picture = |media, sides: Option<Sides>| match sides {
        Some((width, height)) if width > 0 && height > 0 => Detected::Picture(media, Some((width, height))),
        _ => Detected::Nothing,
    };
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => picture(Media::Png, png(bytes)),
        [0xff, 0xd8, 0xff, ..] => picture(Media::Jpeg, jpeg(bytes)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => picture(Media::Webp, webp(bytes)),
        [0, 0, 1, 0, ..] => picture(Media::Icon, icon(bytes)),
        _ => match svg::judge(bytes) {
            Verdict::Picture => Detected::Picture(Media::Svg, None),
            Verdict::Active => Detected::Active,
            Verdict::Unreadable => Detected::Nothing,
        },
    }
}

fn big(bytes: &[u8]) -> Option<u32> {
    Some(bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8]) -> Option<u32> {
    Some(bytes.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)))
}

fn png(file: &[u8]) -> Option<Sides> {
    let header = file.get(12..24)?.strip_prefix(b"IHDR")?;
    Some((big(header.get(..4)?)?, big(header.get(4..8)?)?))
}

/// Walks from marker to marker up to the frame.
fn jpeg(file: &[u8]) -> Option<Sides> {
    let mut at = 2;
    for _ in 0..SEGMENTS {
        // Any number of fill bytes may stand before a marker.
        while file.get(at) == Some(&0xff) && file.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let (0xff, marker) = (*file.get(at)?, *file.get(at + 1)?) else { return None };
        match marker {
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let height = big(file.get(at + 5..at + 7)?)?;
                return Some((big(file.get(at + 7..at + 9)?)?, height));
            }
            // Data or the end before any frame.
            0xd9 | 0xda => return None,
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => {
                let length = big(file.get(at + 2..at + 4)?)?;
                at = at.checked_add(2)?.checked_add(usize::try_from(length).ok()?.max(2))?;
            }
        }
    }
    None
}

fn webp(file: &[u8]) -> Option<Sides> {
    let (kind, data) = (file.get(12..16)?, file.get(20..)?);
    match kind {
        b"VP8 " => {
            let start = data.get(3..6)?;
            let sides = (little(data.get(6..8)?)? & 0x3fff, little(data.get(8..10)?)? & 0x3fff);
            (start == [0x9d, 0x01, 0x2a]).then_some(sides)
        }
        b"VP8L" => {
            let bits = little(data.get(1..5)?)?;
            (data.first() == Some(&0x2f)).then_some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(data.get(4..7)?)? + 1, little(data.get(7..10)?)? + 1)),
        _ => None,
    }
}

/// The largest sides of the pictures in an icon. A picture of 256 or more is mostly a PNG with a header of its own.
fn icon(file: &[u8]) -> Option<Sides> {
    let count = usize::try_from(little(file.get(4..6)?)?).ok().filter(|n| (1..=ICON_PICTURES).contains(n))?;
    let mut largest: Sides = (0, 0);
    for n in 0..count {
        let entry = file.get(6 + n * 16..22 + n * 16)?;
        let start = usize::try_from(little(entry.get(12..16)?)?).ok()?;
        let size = usize::try_from(little(entry.get(8..12)?)?).ok()?;
        let data = file.get(start..start.checked_add(size)?)?;
        let (width, height) = if data.starts_with(b"\x89PNG\r\n\x1a\n") {
            png(data)?
        } else {
            // A bitmap: its header has twice the height, for the mask.
            (little(data.get(4..8)?)?, little(data.get(8..12)?)? / 2)
        };
        largest = (largest.0.max(width), largest.1.max(height));
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageFormat, RgbImage};
    use std::io::Cursor;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        RgbImage::new(width, height).write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    /// An icon of one picture, which is this PNG.
    fn icon_of(png: &[u8]) -> Vec<u8> {
        let size = u32::try_from(png.len()).unwrap().to_le_bytes();
        let head =
            [&[0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0][..], &size, &22_u32.to_le_bytes()].concat();
        [&head[..], png].concat()
    }

    #[test]
    fn dimensions_are_read_from_headers() {
        for (format, media) in [
            (ImageFormat::Png, Media::Png),
            (ImageFormat::Jpeg, Media::Jpeg),
            (ImageFormat::WebP, Media::Webp),
        ] {
            let file = encoded(40, 23, format);
            assert_eq!(detect(&file), Detected::Picture(media, Some((40, 23))), "{format:?}");
            for end in [3, 11, 15, 19, 22] {
                assert_eq!(detect(&file[..end]), Detected::Nothing, "{format:?} cut at {end}");
            }
        }
        let icon = icon_of(&encoded(300, 20, ImageFormat::Png));
        assert_eq!(detect(&icon), Detected::Picture(Media::Icon, Some((300, 20))));
        assert_eq!(detect(&icon[..icon.len() - 1]), Detected::Nothing);
        let lossy = [b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0".as_slice(), &[0, 0, 0, 0x9d, 1, 0x2a, 0x10, 0x20, 5, 0]]
            .concat();
        assert_eq!(detect(&lossy), Detected::Picture(Media::Webp, Some((0x2010, 5))));
        let canvas =
            [b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0".as_slice(), &[0, 0, 0, 0, 9, 0, 0, 0xff, 0xff, 0]].concat();
        assert_eq!(detect(&canvas), Detected::Picture(Media::Webp, Some((10, 0x1_0000))));
    }

    #[test]
    fn unknown_formats_are_not_detected() {
        for bytes in [
            &b""[..],
            b"GIF89a\x01\0\x01\0",
            b"BM",
            b"%PDF-1.7",
            b"\xff\xd8\xff",
            b"\0\0\x01\0\0\0",
            b"<html/>",
        ] {
            assert_eq!(detect(bytes), Detected::Nothing, "{bytes:?}");
        }
    }
}
