//! Accepts a body and builds the tree of the document in its normal form (spec: inventory#processing).

use bailiwick_domain::json::{self, Json, JsonError};
use std::{borrow::Cow, fmt};

/// Arrays and objects inside each other that a document may have, its own braces included (spec:
/// systems-interface#inventory).
pub const MAX_DEPTH: usize = 128;

/// Values in a new document, keys not counted: bounds the memory of its tree.
const MAX_VALUES: usize = 2_000_000;

/// How many entries the lists of a new document may have.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    /// Elements of any array, keys of any object.
    pub entries: usize,
    /// Elements of `facts.modules`, each of which becomes an application.
    pub applications: usize,
}

/// Why a body is not an inventory document; displayed in the words of spec: systems-interface#inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// No bytes at all.
    Empty,
    /// Not JSON, not UTF-8, nested too deeply, or of too many values: why, and where.
    NotJson(JsonError),
    /// A compressed body that does not decompress.
    NotGzip,
    /// JSON, but another value than an object.
    NotObject,
    /// A list has more entries than allowed.
    TooMany {
        /// Where the list is: keys and indices, joined by dots.
        list: String,
        /// Its entries.
        entries: usize,
        /// The limit.
        most: usize,
    },
}

/// The text of `validation_error`.
impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejected::Empty => f.write_str("data is required"),
            Rejected::NotJson(why) => write!(f, "data must be valid JSON: {why}"),
            Rejected::NotGzip => f.write_str("data must be valid JSON: it cannot be decompressed"),
            Rejected::NotObject => f.write_str("data must be a JSON object"),
            Rejected::TooMany { list, entries, most } => {
                write!(f, "{list} has {entries} entries, at most {most} are allowed")
            }
        }
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
    /// Accepts a body whose lists may have any length, such as a text stored earlier.
    pub fn parse(body: &'a [u8]) -> Result<Document<'a>, Rejected> {
        Document::read(body, usize::MAX)
    }

    /// Accepts a new document.
    ///
    /// # Errors
    /// Also [`Rejected::TooMany`].
    pub fn accept(body: &'a [u8], limits: &ListLimits) -> Result<Document<'a>, Rejected> {
        let document = Document::read(body, MAX_VALUES)?;
        document.check_lists(limits)?;
        Ok(document)
    }

    fn read(body: &'a [u8], max_values: usize) -> Result<Document<'a>, Rejected> {
        if json::without_mark(body).is_empty() {
            return Err(Rejected::Empty);
        }
        // Lenient about repeated keys and lone surrogates, because existing appliances send them.
        let limits = json::Limits { max_values, ..json::Limits::lenient(MAX_DEPTH) };
        let mut root = json::parse(body, &limits).map_err(Rejected::NotJson)?;
        if !matches!(root, Json::Obj(_)) {
            return Err(Rejected::NotObject);
        }
        normalize(&mut root);
        Ok(Document(root))
    }

    fn check_lists(&self, limits: &ListLimits) -> Result<(), Rejected> {
        let modules = at(&self.0, &["facts", "modules"]).and_then(Json::as_arr).map_or(0, <[_]>::len);
        if modules > limits.applications {
            let list = "facts.modules".to_owned();
            return Err(Rejected::TooMany { list, entries: modules, most: limits.applications });
        }
        let Some((mut path, entries)) = too_long(&self.0, limits.entries) else { return Ok(()) };
        path.reverse();
        let list = if path.is_empty() { "data".to_owned() } else { path.join(".") };
        Err(Rejected::TooMany { list, entries, most: limits.entries })
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

/// The first list with more than `most` entries: its keys and indices from the innermost one, and its entries.
fn too_long(value: &Json<'_>, most: usize) -> Option<(Vec<String>, usize)> {
    /// Characters shown of a key.
    const KEY_CHARS: usize = 100;
    let below = |part: &dyn Fn() -> String, value: &Json<'_>| {
        too_long(value, most).map(|(mut path, entries)| {
            path.push(part());
            (path, entries)
        })
    };
    match value {
        Json::Arr(items) if items.len() > most => Some((Vec::new(), items.len())),
        Json::Obj(pairs) if pairs.len() > most => Some((Vec::new(), pairs.len())),
        Json::Arr(items) => items.iter().enumerate().find_map(|(n, item)| below(&|| n.to_string(), item)),
        Json::Obj(pairs) => {
            pairs.iter().find_map(|(key, value)| below(&|| key.chars().take(KEY_CHARS).collect(), value))
        }
        _ => None,
    }
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
    use bailiwick_domain::json::Reason;

    #[test]
    fn what_is_no_document() {
        for (body, why) in [
            (&b""[..], "data is required"),
            (b"\xef\xbb\xbf", "data is required"),
            (b" \n", "data must be valid JSON: unexpected end of input at line 2 column 1"),
            (b"{", "data must be valid JSON: unexpected end of input at line 1 column 2"),
            (b"{}{}", "data must be valid JSON: data after the value at line 1 column 3"),
            (b"{\"a\":\"\xff\"}", "data must be valid JSON: invalid UTF-8 at line 1 column 7"),
            (b"{\"a\":NaN}", "data must be valid JSON: unexpected character 'N' at line 1 column 6"),
            (b"\x1f\x8b\x08\x00", "data must be valid JSON: invalid UTF-8 at line 1 column 2"),
            (b"[]", "data must be a JSON object"),
            (b"null", "data must be a JSON object"),
            (b" \"{}\" ", "data must be a JSON object"),
            (b"-0.5", "data must be a JSON object"),
        ] {
            let found = Document::parse(body).unwrap_err().to_string();
            assert_eq!(found, why, "{}", body.escape_ascii());
        }
    }

    #[test]
    fn a_new_document_has_a_bounded_tree() {
        let limits = ListLimits { entries: usize::MAX, applications: usize::MAX };
        // With the object and the list themselves there is one too many.
        let body = format!("{{\"a\":[{}0]}}", "0,".repeat(MAX_VALUES - 2));
        let refused = Document::accept(body.as_bytes(), &limits);
        assert!(matches!(refused, Err(Rejected::NotJson(JsonError { reason: Reason::TooManyValues, .. }))));
        assert!(Document::parse(body.as_bytes()).is_ok(), "what is stored can be read");
    }

    #[test]
    fn long_lists() {
        let limits = ListLimits { entries: 4, applications: 3 };
        for (body, refusal) in [
            (r#"{"a":[1,2,3,4],"facts":{"modules":[1,2,3],"nodes":{"1":{},"2":{},"3":{},"4":{}}}}"#, None),
            (
                r#"{"facts":{"modules":[1,2,3,4]}}"#,
                Some("facts.modules has 4 entries, at most 3 are allowed"),
            ),
            (r#"{"facts":{"modules":{"1":1,"2":1,"3":1,"4":1}}}"#, None),
            (r#"{"a":[1,2,3,4,5]}"#, Some("a has 5 entries, at most 4 are allowed")),
            (
                r#"{"a":[0,{"b":{"1":1,"2":1,"3":1,"4":1,"5":1}}]}"#,
                Some("a.1.b has 5 entries, at most 4 are allowed"),
            ),
            (r#"{"1":1,"2":1,"3":1,"4":1,"5":1}"#, Some("data has 5 entries, at most 4 are allowed")),
        ] {
            let checked = Document::accept(body.as_bytes(), &limits);
            assert_eq!(checked.err().map(|e| e.to_string()).as_deref(), refusal, "{body}");
        }
    }

    #[test]
    fn depth() {
        let nested = |depth: usize| format!("{{\"a\":{}1{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert!(Document::parse(nested(128).as_bytes()).is_ok());
        for deep in [nested(129), "[".repeat(1 << 20)] {
            let refused = Document::parse(deep.as_bytes());
            assert!(matches!(refused, Err(Rejected::NotJson(JsonError { reason: Reason::TooDeep, .. }))));
        }
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
