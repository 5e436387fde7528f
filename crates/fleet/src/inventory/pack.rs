//! Stored texts: compressed, most of them against a base, which is a whole text that contains nearly all of theirs.

use bailiwick_domain::{Error, Result};
use bailiwick_store::inventory::Packed;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

/// A base is written once and read often.
const BASE_LEVEL: i32 = 6;
/// The differences from a base are small; a higher level finds nothing more.
const LEVEL: i32 = 3;
/// A body of up to this size never justifies a new base.
const SMALL_BODY: usize = 1024;
/// The smallest window of compression there is.
const MIN_WINDOW_LOG: u32 = 10;
/// The largest window of compression: bases of ten megabytes and the text behind them.
const MAX_WINDOW_LOG: u32 = 25;
/// From this size on matches may lie far apart; finding them costs memory.
const LONG_TEXT: usize = 1 << 20;

/// A whole text, compressed for keeping.
pub(super) fn pack_base(text: &str) -> Result<Vec<u8>> {
    zstd::bulk::compress(text.as_bytes(), BASE_LEVEL).map_err(Error::internal)
}

/// Compresses the differences between the text and the base.
pub(super) fn pack_against(base: &str, text: &str) -> Result<Vec<u8>> {
    let failed = |code| Error::internal(get_error_name(code));
    // The library drops a base that lies in the same memory as the text.
    let copy;
    let base = if base.as_ptr() == text.as_ptr() {
        copy = base.to_owned();
        copy.as_str()
    } else {
        base
    };
    let mut context = CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(LEVEL)).map_err(failed)?;
    // All of the base is within reach to the end of the text.
    let both = base.len() + text.len();
    let window = (usize::BITS - both.leading_zeros()).clamp(MIN_WINDOW_LOG, MAX_WINDOW_LOG);
    context.set_parameter(CParameter::WindowLog(window)).map_err(failed)?;
    if both > LONG_TEXT {
        context.set_parameter(CParameter::EnableLongDistanceMatching(true)).map_err(failed)?;
    }
    context.ref_prefix(base.as_bytes()).map_err(failed)?;
    let mut body = Vec::with_capacity(compress_bound(text.len()));
    context.compress2(&mut body, text.as_bytes()).map_err(failed)?;
    body.shrink_to_fit();
    Ok(body)
}

/// Whether the size of a body shows that the base is out of date; `base`: bytes of the compressed base.
pub(super) const fn wants_new_base(body: usize, base: usize) -> bool {
    body > SMALL_BODY && body > base / 4
}

/// A whole text of `size` bytes.
pub(super) fn unpack_whole(body: &[u8], size: i64) -> Result<String> {
    let size = usize::try_from(size).map_err(Error::internal)?;
    let text = zstd::bulk::decompress(body, size).map_err(Error::internal)?;
    String::from_utf8(text).map_err(Error::internal)
}

/// A text of `size` bytes that was compressed against a base.
pub(super) fn unpack_against(base: &str, body: &[u8], size: i64) -> Result<String> {
    let failed = |code| Error::internal(get_error_name(code));
    let size = usize::try_from(size).map_err(Error::internal)?;
    let mut context = DCtx::create();
    context.ref_prefix(base.as_bytes()).map_err(failed)?;
    let mut text = Vec::with_capacity(size);
    context.decompress(&mut text, body).map_err(failed)?;
    String::from_utf8(text).map_err(Error::internal)
}

/// The text of a record.
pub(super) fn unpack(packed: &Packed) -> Result<String> {
    match &packed.base {
        None => unpack_whole(&packed.body, packed.size),
        Some((_, size, base)) => unpack_against(&unpack_whole(base, *size)?, &packed.body, packed.size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(base: &str, text: &str) -> usize {
        let body = pack_against(base, text).unwrap();
        assert_eq!(unpack_against(base, &body, text.len() as i64).unwrap(), text);
        let packed_base = pack_base(base).unwrap();
        let base = Some((7, base.len() as i64, packed_base));
        let packed = Packed { body: body.clone(), size: text.len() as i64, base };
        assert_eq!(unpack(&packed).unwrap(), text);
        body.len()
    }

    /// Text that does not compress by itself.
    fn noise(bytes: usize, mut seed: u64) -> String {
        let mut text = String::with_capacity(bytes);
        while text.len() < bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(char::from(b'!' + ((seed >> 33) % 90) as u8));
        }
        text
    }

    #[test]
    fn what_is_alike_costs_next_to_nothing() {
        let base = include_str!("../../../inventory/tests/data/inventory-ns8.json");
        for (text, limit) in [(base, 64), (&base.replace("1073411", "1159811"), 128), ("{}", 64)] {
            let bytes = there_and_back(base, text);
            assert!(bytes < limit, "{bytes} bytes");
        }
        assert!(there_and_back("{}", base) > 3000);
        there_and_back("", "");
    }

    #[test]
    fn large_texts_too() {
        // The whole base is within reach, however large.
        let base = noise(9 << 20, 1);
        let text = format!("{}{}{}", &base[..4 << 20], noise(100, 2), &base[4 << 20..]);
        assert!(there_and_back(&base, &text) < 4000);
    }

    #[test]
    fn what_is_damaged_is_an_error() {
        let body = pack_against("abc", "abcd").unwrap();
        assert!(unpack_against("abc", &body, 3).is_err());
        assert!(unpack_against("abc", &body[1..], 4).is_err());
        assert!(unpack_whole(&[1, 2, 3], 10).is_err());
        assert!(unpack_whole(&pack_base("abc").unwrap(), -1).is_err());
    }

    #[test]
    fn when_a_base_is_out_of_date() {
        assert!(!wants_new_base(1024, 0));
        assert!(wants_new_base(1025, 4000));
        assert!(!wants_new_base(1025, 8000));
    }
}
