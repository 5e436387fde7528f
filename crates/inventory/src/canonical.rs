//! The canonical text of a document, which is stored, hashed and measured (spec: inventory#processing).

use crate::{Document, ListLimits, Rejected};
use aws_lc_rs::digest::{SHA256, digest};
use bailiwick_domain::ports::hex;

/// The canonical text with its size and hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// Compact JSON, keys sorted by UTF-8 bytes, number literals as received, minimal escapes.
    pub text: String,
    /// Lower-case hex SHA-256 of the text, `data_hash`.
    pub hash: String,
}

impl Canonical {
    /// Length of the text in bytes, `data_size`.
    pub const fn size(&self) -> usize {
        self.text.len()
    }
}

/// Accepts a new document and returns its canonical text: the work that is done before it is queued.
pub fn accept(body: &[u8], limits: &ListLimits) -> Result<Canonical, Rejected> {
    let document = Document::accept(body, limits)?;
    Ok(document.canonical_with_capacity(body.len()))
}

/// The canonical text of a body whose lists may have any length.
pub fn canonical(body: &[u8]) -> Result<Canonical, Rejected> {
    let document = Document::parse(body)?;
    // No rule makes a text longer, so the body's length is capacity enough.
    Ok(document.canonical_with_capacity(body.len()))
}

impl Document<'_> {
    /// Its canonical text.
    pub fn canonical(&self) -> Canonical {
        self.canonical_with_capacity(4096)
    }

    fn canonical_with_capacity(&self, bytes: usize) -> Canonical {
        let mut text = String::with_capacity(bytes);
        self.root().write(&mut text);
        let hash = hex(digest(&SHA256, text.as_bytes()).as_ref());
        Canonical { text, hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        canonical(body.as_bytes()).unwrap().text
    }

    #[test]
    fn rules() {
        for (body, expected) in [
            // Compact, sorted by bytes at every level: `Z` before `a`, U+FFFD before U+10000.
            (
                r#" { "b" : [ { "d":1 , "c":2 } ] , "a":null,"Z":true } "#,
                r#"{"Z":true,"a":null,"b":[{"c":2,"d":1}]}"#,
            ),
            (
                "{\"\u{10000}\":1,\"\u{fffd}\":2,\"é\":3,\"a\":4}",
                "{\"a\":4,\"é\":3,\"\u{fffd}\":2,\"\u{10000}\":1}",
            ),
            (r#"{"b":1,"a":2,"":3,"aa":4}"#, r#"{"":3,"a":2,"aa":4,"b":1}"#),
            // Number literals as received.
            (
                r#"{"n":[1.0,1e5,1E+5,-0,0.10,12345678901234567890123,1e999]}"#,
                r#"{"n":[1.0,1e5,1E+5,-0,0.10,12345678901234567890123,1e999]}"#,
            ),
            // Minimal escapes, none for HTML or beyond ASCII.
            (r#"{"a":"\u003c\/>&\u0027\u00e9\u2028\ud83d\ude00"}"#, "{\"a\":\"</>&'é\u{2028}😀\"}"),
            (
                r#"{"a":"\"\\\u000a\u000D\t\b\f\u001F\u007f"}"#,
                "{\"a\":\"\\\"\\\\\\n\\r\\t\\b\\f\\u001f\u{7f}\"}",
            ),
            // The last of several equal keys, however they are written.
            (r#"{"a":1,"b":2,"\u0061":{"c":1,"c":3}}"#, r#"{"a":{"c":3},"b":2}"#),
            // U+0000 in texts and keys; lone surrogates have no other form.
            (r#"{"a\u0000":"x\u0000\u0000"}"#, "{\"a\u{fffd}\":\"x\u{fffd}\u{fffd}\"}"),
            (r#"{"k\ufffd":1,"k\u0000":2}"#, "{\"k\u{fffd}\":2}"),
            (r#"{"a":"\ud800"}"#, "{\"a\":\"\u{fffd}\"}"),
            ("{}", "{}"),
        ] {
            assert_eq!(text(body), expected, "{body}");
        }
    }

    #[test]
    fn array_order_counts() {
        assert_ne!(text(r#"{"a":[1,2]}"#), text(r#"{"a":[2,1]}"#));
    }

    #[test]
    fn hash_and_size() {
        let made = canonical(b" {} ").unwrap();
        assert_eq!(made.size(), 2);
        assert_eq!(made.hash, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(Document::parse(b"{}").unwrap().canonical(), made);
    }
}
