//! Strict JSON for bodies from outside: exactly one value, valid UTF-8, limited depth. Half of a surrogate pair in an
//! escape becomes U+FFFD: no UTF-8 text can hold it.
//!
//! A byte order mark before the value is skipped. The tree borrows from the input; numbers keep their literal, objects
//! keep the order of their keys. One parser serves the alerting proxy (duplicate keys refused except for a repeated
//! label, spec: alerts#request-order) and inventory documents (the last duplicate wins, spec: inventory#processing).

use std::{borrow::Cow, fmt};

/// One JSON value, borrowing from the text it was parsed from.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, exactly as it was written.
    Num(&'a str),
    /// A string, decoded; borrowed when it has no escapes.
    Str(Cow<'a, str>),
    /// An array.
    Arr(Vec<Json<'a>>),
    /// An object in the order of its keys, each key once.
    Obj(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Str(s) => Some(s),
            _ => None,
        }
    }

    /// A number that is written as an integer and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Num(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// A number as floating point; a literal beyond its range is `None`.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Json::Num(n) => n.parse().ok().filter(|f: &f64| f.is_finite()),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn as_arr(&self) -> Option<&[Json<'a>]> {
        match self {
            Json::Arr(v) => Some(v),
            _ => None,
        }
    }

    /// The pairs of an object.
    pub fn as_obj(&self) -> Option<&[(Cow<'a, str>, Json<'a>)]> {
        match self {
            Json::Obj(v) => Some(v),
            _ => None,
        }
    }

    /// The member of an object; keys are compared exactly. `None` for a missing key and for anything but an object.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.as_obj()?.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Is this `null`?
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The kind of the value, for error texts: `null`, `boolean`, `number`, `string`, `array`, `object`.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Num(_) => "number",
            Json::Str(_) => "string",
            Json::Arr(_) => "array",
            Json::Obj(_) => "object",
        }
    }

    /// Appends the value as compact JSON: keys in their order, number literals as received.
    pub fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Num(n) => out.push_str(n),
            Json::Str(s) => write_str(out, s),
            Json::Arr(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Obj(pairs) => {
                out.push('{');
                for (i, (key, value)) in pairs.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_str(out, key);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends a string as a JSON string with the fewest escapes: quote, backslash and control characters only.
pub fn write_str(out: &mut String, s: &str) {
    out.push('"');
    let mut start = 0;
    for (i, b) in s.bytes().enumerate() {
        let short = match b {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&s[start..i]);
        start = i + 1;
        if short.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(b >> 4)]));
            out.push(char::from(HEX[usize::from(b & 15)]));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&s[start..]);
    out.push('"');
}

/// How to handle a key that an object already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// The document is refused.
    Reject,
    /// The document is refused, unless the duplicate is the same string in an object under this key. Releases of
    /// vmalert in use write the label `alertname` twice.
    SameStringIn(&'static str),
    /// The later value replaces the earlier one.
    LastWins,
}

/// How strict to be and how much to accept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Arrays and objects inside each other; `[[]]` has depth 2. Values above [`MAX_DEPTH`] count as that.
    pub max_depth: usize,
    /// Values in the whole document, keys not counted: bounds the memory of the tree.
    pub max_values: usize,
    /// Repeated keys.
    pub duplicates: Duplicates,
}

/// No document may be nested deeper, whatever the limits say, because the tree is walked by recursion.
pub const MAX_DEPTH: usize = 256;

impl Limits {
    /// No repeated keys; at most a million values.
    pub const fn strict(max_depth: usize) -> Limits {
        Limits { max_depth, max_values: 1_000_000, duplicates: Duplicates::Reject }
    }

    /// The last duplicate wins, any number of values.
    pub const fn lenient(max_depth: usize) -> Limits {
        Limits { max_depth, max_values: usize::MAX, duplicates: Duplicates::LastWins }
    }
}

/// Why a text is not acceptable, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The problem.
    pub reason: Reason,
    /// Line in the input, from 1.
    pub line: usize,
    /// Character in that line, from 1.
    pub column: usize,
}

/// The problems a text can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Not valid UTF-8.
    NotUtf8,
    /// The text ends inside a value; also an empty text.
    UnexpectedEnd,
    /// A character that is not allowed here.
    Unexpected(char),
    /// Something but white space after the value.
    TrailingData,
    /// Nested deeper than allowed.
    TooDeep,
    /// More values than allowed.
    TooManyValues,
    /// A key occurs twice in one object.
    DuplicateKey(String),
    /// Not a number as JSON writes it.
    BadNumber,
    /// An unknown or incomplete escape.
    BadEscape,
    /// An unescaped control character in a string.
    ControlCharacter,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotUtf8 => f.write_str("invalid UTF-8"),
            Reason::UnexpectedEnd => f.write_str("unexpected end of input"),
            Reason::Unexpected(c) => write!(f, "unexpected character '{}'", c.escape_debug()),
            Reason::TrailingData => f.write_str("data after the value"),
            Reason::TooDeep => f.write_str("nesting is too deep"),
            Reason::TooManyValues => f.write_str("too many values"),
            Reason::DuplicateKey(key) => write!(f, "duplicate key \"{}\"", key.escape_debug()),
            Reason::BadNumber => f.write_str("invalid number"),
            Reason::BadEscape => f.write_str("invalid escape"),
            Reason::ControlCharacter => f.write_str("control character in a string"),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.reason, self.line, self.column)
    }
}

impl std::error::Error for JsonError {}

/// Where and why a body is not JSON that serde reads; none if it is.
pub fn fault(body: &[u8]) -> Option<JsonError> {
    /// serde's own limit.
    const SERDE_DEPTH: usize = 127;
    parse(body, &Limits::lenient(SERDE_DEPTH)).err()
}

mod parse;
pub use parse::{parse, parse_each, without_mark};

#[cfg(test)]
mod tests;
