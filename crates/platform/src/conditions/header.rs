//! The two headers: `*`, or a list of tags that may go over several lines (RFC 9110 §8.8.3, §13.1.1, §13.1.2).

use super::{PACKED, Version};
use bailiwick_domain::{Error, Result};

/// The header that lists states; the present one must be among them.
pub const IF_MATCH: &str = "If-Match";
/// The header that lists states; the present one must not be among them.
pub const IF_NONE_MATCH: &str = "If-None-Match";

/// Characters of a header that an error repeats.
const REPEATED: usize = 200;

/// The content of one of the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// The header is missing.
    #[default]
    Absent,
    /// The header is neither `*` nor a list of tags; its text, cut to a length that an error can repeat.
    Unreadable(String),
    /// `*`: any state.
    Any,
    /// One of these states.
    Tags(Vec<Tag>),
}

/// An entity tag as sent. Both halves of a foreign tag are empty, and so match no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    is_weak: bool,
    state: String,
    shown: String,
}

impl Tag {
    fn new(is_weak: bool, opaque: &str) -> Tag {
        let opaque = opaque.strip_suffix(PACKED).unwrap_or(opaque);
        let (state, shown) = opaque.split_once('.').unwrap_or_default();
        Tag { is_weak, state: state.to_owned(), shown: shown.to_owned() }
    }
}

impl Condition {
    /// Reads the lines of a header.
    pub fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Condition {
        let lines: Vec<&[u8]> = lines.collect();
        if lines.is_empty() {
            return Condition::Absent;
        }
        let whole = lines.join(&b","[..]);
        match whole.trim_ascii() {
            b"*" => Condition::Any,
            list => tags(list).map_or_else(|| unreadable(&whole), Condition::Tags),
        }
    }

    /// Refuses a malformed header.
    pub(super) fn check_readable(&self, name: &'static str) -> Result<()> {
        match self {
            Condition::Unreadable(text) => Err(Error::field_value(name, "malformed_header", text)),
            _ => Ok(()),
        }
    }

    /// Whether the present state is listed, compared strongly: a weak tag matches none. `None` without a readable
    /// header.
    pub(super) fn matches_state(&self, version: &Version) -> Option<bool> {
        self.find(version, |tag| !tag.is_weak && tag.state == version.state)
    }

    /// Like [`Condition::matches_state`], compared weakly.
    pub(super) fn matches_state_weakly(&self, version: &Version) -> Option<bool> {
        self.find(version, |tag| tag.state == version.state)
    }

    /// Whether the answer with this tag is listed, compared weakly.
    pub(super) fn names(&self, version: &Version, tag: &str) -> bool {
        let present = Tag::new(false, tag.trim_matches('"'));
        let is_present = |tag: &Tag| tag.state == present.state && tag.shown == present.shown;
        self.find(version, is_present).unwrap_or(false)
    }

    fn find(&self, version: &Version, is_meant: impl Fn(&Tag) -> bool) -> Option<bool> {
        match self {
            Condition::Absent | Condition::Unreadable(_) => None,
            Condition::Any => Some(version.exists),
            Condition::Tags(tags) => Some(tags.iter().any(is_meant)),
        }
    }
}

fn unreadable(text: &[u8]) -> Condition {
    Condition::Unreadable(String::from_utf8_lossy(text).chars().take(REPEATED).collect())
}

/// A list whose elements may be empty; `None` if it holds anything but tags.
fn tags(list: &[u8]) -> Option<Vec<Tag>> {
    let mut tags = Vec::new();
    let mut rest = list.trim_ascii_start();
    while let Some(first) = rest.first() {
        if *first == b',' {
            rest = rest.get(1..)?.trim_ascii_start();
            continue;
        }
        let (is_weak, quoted) = rest.strip_prefix(b"W/").map_or((false, rest), |tag| (true, tag));
        let opaque = quoted.strip_prefix(b"\"")?;
        let end = opaque.iter().position(|byte| *byte == b'"')?;
        let (opaque, behind) = opaque.split_at_checked(end)?;
        if opaque.iter().any(|byte| matches!(byte, 0..=0x20 | 0x7f)) {
            return None;
        }
        tags.push(Tag::new(is_weak, &String::from_utf8_lossy(opaque)));
        rest = behind.get(1..)?.trim_ascii_start();
        if !matches!(rest.first(), None | Some(b',')) {
            return None;
        }
    }
    Some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Condition {
        Condition::read(lines.iter().map(|line| line.as_bytes()))
    }

    #[test]
    fn lists_of_tags() {
        let one =
            |is_weak, state: &str, shown: &str| Tag { is_weak, state: state.into(), shown: shown.into() };
        assert_eq!(read(&[]), Condition::Absent);
        assert_eq!((read(&["*"]), read(&[" *\t"])), (Condition::Any, Condition::Any));
        for (lines, tags) in [
            (&["\"a.b\""][..], vec![one(false, "a", "b")]),
            (&["W/\"a.b\""], vec![one(true, "a", "b")]),
            (&["\"a.b.gzip\""], vec![one(false, "a", "b")]),
            (&["\"a\",\"b.c.d\""], vec![one(false, "", ""), one(false, "b", "c.d")]),
            (
                &[" , \"x,.y\" ,,\tW/\"é.\"", "\"\""],
                vec![one(false, "x,", "y"), one(true, "é", ""), one(false, "", "")],
            ),
            (&[""], Vec::new()),
            (&[" , "], Vec::new()),
        ] {
            assert_eq!(read(lines), Condition::Tags(tags), "{lines:?}");
        }
    }

    #[test]
    fn other_values_than_lists_of_tags_are_unreadable() {
        for lines in [
            &["x"][..],
            &["\"x"],
            &["x\""],
            &["\""],
            &["W/x"],
            &["w/\"x\""],
            &["W/ \"x\""],
            &["*, \"x\""],
            &["*", "*"],
            &["\"x\" \"y\""],
            &["\"x\"y"],
            &["\"a b\""],
            &["\"a\tb\""],
            &["\"a\\\"b\""],
        ] {
            assert!(matches!(read(lines), Condition::Unreadable(_)), "{lines:?}");
        }
        let long = "x".repeat(1000);
        assert_eq!(read(&[&long]), Condition::Unreadable("x".repeat(REPEATED)));
    }

    #[test]
    fn comparisons() {
        let now = Version { state: "s".into(), exists: true };
        let none = Version { exists: false, ..now.clone() };
        for (sent, strongly, weakly, is_named) in [
            ("\"s.v\"", Some(true), Some(true), true),
            ("W/\"s.v\"", Some(false), Some(true), true),
            ("\"s.w\"", Some(true), Some(true), false),
            ("\"r.v\"", Some(false), Some(false), false),
            ("\"s\"", Some(false), Some(false), false),
            ("*", Some(true), Some(true), true),
            ("", Some(false), Some(false), false),
            ("nonsense", None, None, false),
        ] {
            let sent = read(&[sent]);
            assert_eq!(sent.matches_state(&now), strongly, "{sent:?}");
            assert_eq!(sent.matches_state_weakly(&now), weakly, "{sent:?}");
            assert_eq!(sent.names(&now, "\"s.v\""), is_named, "{sent:?}");
        }
        assert_eq!(Condition::Any.matches_state(&none), Some(false));
        assert!(!Condition::Any.names(&none, "\"s.v\""));
    }
}
