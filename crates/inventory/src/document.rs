//! Accepts a body and builds the tree of the document in its normal form (spec: inventory#processing).

use bailiwick_domain::json::{Json, Limits, parse};
use std::{borrow::Cow, fmt};

/// Arrays and objects inside each other that a document may have, its own braces included (spec:
/// systems-interface#inventory).
pub const MAX_DEPTH: usize = 128;

/// Why a body is not an inventory document; displayed in the words of spec: systems-interface#inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// No bytes at all.
    Empty,
    /// Not JSON, not UTF-8, or nested too deeply; also a body that does not decompress.
    NotJson,
    /// JSON, but another value than an object.
    NotObject,
}

impl Rejected {
    /// The text of `validation_error`.
    pub const fn text(self) -> &'static str {
        match self {
            Rejected::Empty => "data is required",
            Rejected::NotJson => "data must be valid JSON",
            Rejected::NotObject => "data must be a JSON object",
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Rejected {}

/// The client that wrote a document; each places its facts differently (spec: inventory-documents#nethserver,
/// inventory-documents#legacy).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// NethServer 8, a cluster of nodes.
    Cluster,
    /// NethSecurity, a firewall.
    Firewall,
    /// Everything else.
    Legacy,
}

/// An accepted document: keys sorted by their UTF-8 bytes and unique, no U+0000 in any text.
#[derive(Clone, Debug, PartialEq)]
pub struct Document<'a>(Json<'a>);

impl<'a> Document<'a> {
    /// Accepts a body, or text stored earlier.
    pub fn parse(body: &'a [u8]) -> Result<Document<'a>, Rejected> {
        if body.is_empty() {
            return Err(Rejected::Empty);
        }
        // Lenient about repeated keys and lone surrogates, because existing appliances send them.
        let mut root = parse(body, &Limits::lenient(MAX_DEPTH)).map_err(|_| Rejected::NotJson)?;
        if !matches!(root, Json::Obj(_)) {
            return Err(Rejected::NotObject);
        }
        normalize(&mut root);
        Ok(Document(root))
    }

    /// The object itself.
    pub const fn root(&self) -> &Json<'a> {
        &self.0
    }

    /// The family of the sender, by its `installation`.
    pub fn family(&self) -> Family {
        match member(&self.0, "installation").and_then(Json::as_str) {
            Some("nethserver") => Family::Cluster,
            Some("nethsecurity") => Family::Firewall,
            _ => Family::Legacy,
        }
    }
}

/// The member of an object of a [`Document`]; none for a missing key and for anything but an object.
///
/// By bisection: objects of documents are sorted, and may have as many keys as a sender likes.
pub fn member<'j, 'a>(object: &'j Json<'a>, key: &str) -> Option<&'j Json<'a>> {
    let pairs = object.as_obj()?;
    let index = pairs.binary_search_by(|(have, _)| have.as_ref().cmp(key)).ok()?;
    pairs.get(index).map(|(_, value)| value)
}

/// Follows a path with [`member`].
pub fn at<'j, 'a>(object: &'j Json<'a>, path: &[&str]) -> Option<&'j Json<'a>> {
    path.iter().try_fold(object, |inner, key| member(inner, key))
}

fn normalize(value: &mut Json<'_>) {
    match value {
        Json::Str(text) => replace_nul(text),
        Json::Arr(items) => items.iter_mut().for_each(normalize),
        Json::Obj(pairs) => {
            for (key, value) in pairs.iter_mut() {
                replace_nul(key);
                normalize(value);
            }
            // Many senders sort already.
            if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                // Keys that became equal by the replacement: the last one wins here too.
                pairs.dedup_by(|later, earlier| {
                    let is_same = later.0 == earlier.0;
                    if is_same {
                        std::mem::swap(&mut later.1, &mut earlier.1);
                    }
                    is_same
                });
            }
        }
        Json::Null | Json::Bool(_) | Json::Num(_) => {}
    }
}

/// PostgreSQL cannot keep U+0000 in text.
fn replace_nul(text: &mut Cow<'_, str>) {
    // Only an escape can produce it, and a text with an escape is owned.
    if let Cow::Owned(owned) = text
        && owned.contains('\0')
    {
        *owned = owned.replace('\0', "\u{fffd}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_document() {
        for (body, why) in [
            (&b""[..], Rejected::Empty),
            (b" \n", Rejected::NotJson),
            (b"{", Rejected::NotJson),
            (b"{}{}", Rejected::NotJson),
            (b"{\"a\":\"\xff\"}", Rejected::NotJson),
            (b"\xef\xbb\xbf{}", Rejected::NotJson),
            (b"{\"a\":NaN}", Rejected::NotJson),
            (b"\x1f\x8b\x08\x00", Rejected::NotJson),
            (b"[]", Rejected::NotObject),
            (b"null", Rejected::NotObject),
            (b" \"{}\" ", Rejected::NotObject),
            (b"-0.5", Rejected::NotObject),
        ] {
            assert_eq!(Document::parse(body), Err(why), "{}", body.escape_ascii());
        }
        assert_eq!(Rejected::Empty.to_string(), "data is required");
        assert_eq!(Rejected::NotJson.to_string(), "data must be valid JSON");
        assert_eq!(Rejected::NotObject.to_string(), "data must be a JSON object");
    }

    #[test]
    fn depth() {
        let nested = |depth: usize| format!("{{\"a\":{}1{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert!(Document::parse(nested(128).as_bytes()).is_ok());
        assert_eq!(Document::parse(nested(129).as_bytes()), Err(Rejected::NotJson));
        assert_eq!(Document::parse("[".repeat(1 << 20).as_bytes()), Err(Rejected::NotJson));
    }

    #[test]
    fn family() {
        for (body, family) in [
            (r#"{"installation":"nethserver"}"#, Family::Cluster),
            (r#"{"installation":"nethsecurity"}"#, Family::Firewall),
            (r#"{"installation":"NethServer"}"#, Family::Legacy),
            (r#"{"installation":null}"#, Family::Legacy),
            (r#"{"facts":{"installation":"nethserver"}}"#, Family::Legacy),
        ] {
            assert_eq!(Document::parse(body.as_bytes()).unwrap().family(), family, "{body}");
        }
    }

    #[test]
    fn finds_members_along_a_path() {
        let document = Document::parse(br#"{"z":{"b":{"c":1},"a":[]},"a":2}"#).unwrap();
        assert_eq!(at(document.root(), &["z", "b", "c"]), Some(&Json::Num("1")));
        assert_eq!(at(document.root(), &["z", "a", "c"]), None);
        assert_eq!(at(document.root(), &["a", "b"]), None);
        assert_eq!(member(document.root(), "b"), None);
    }
}
