//! The caller's place in a trace, from the `traceparent` header (W3C Trace Context).

use super::span::Context;

/// Reads a `traceparent`; `None` if it is invalid. Of a later version, the fields of this one are read.
pub(super) fn parent(text: &str) -> Option<Context> {
    let mut parts = text.split('-');
    let (version, trace) = (digits::<1>(parts.next()?)?, digits(parts.next()?)?);
    let (span, [flags]) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let is_too_long = version == [0] && parts.next().is_some();
    let is_none = version == [0xff] || trace == [0; 16] || span == [0; 8];
    let parent = Context { trace, span, sampled: flags & 1 == 1 };
    (!is_too_long && !is_none).then_some(parent)
}

/// `2 N` lower-case hex digits.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}
