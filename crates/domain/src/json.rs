//! Strict JSON for bodies that come from outside: exactly one value, valid UTF-8, bounded depth, no surprises.
//!
//! The tree borrows from the input; numbers keep their literal, objects keep the order of their keys.
//! One parser serves the alerting proxy (duplicate keys refused, contract 04 §1.4) and inventory documents
//! (the last duplicate wins, contract 03 §4.1).

use std::{borrow::Cow, fmt};

/// One JSON value, borrowing from the text it was parsed from.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
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

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(b) => Some(*b),
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

    /// What the value is, for error texts: `null`, `boolean`, `number`, `string`, `array`, `object`.
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

/// What to do with a key that an object already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// The document is refused.
    Reject,
    /// The later value takes the place of the earlier one.
    LastWins,
}

/// What to do with an escape that is half of a surrogate pair, which no UTF-8 text can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoneSurrogate {
    /// The document is refused.
    Reject,
    /// It becomes U+FFFD.
    Replace,
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
    /// Halves of surrogate pairs.
    pub lone_surrogates: LoneSurrogate,
}

/// No document may be nested deeper, whatever the limits say: the tree is walked by recursion.
pub const MAX_DEPTH: usize = 256;

impl Limits {
    /// Nothing doubtful is accepted; at most a million values.
    pub const fn strict(max_depth: usize) -> Limits {
        Limits {
            max_depth,
            max_values: 1_000_000,
            duplicates: Duplicates::Reject,
            lone_surrogates: LoneSurrogate::Reject,
        }
    }

    /// The last duplicate wins, lone surrogates are replaced, any number of values.
    pub const fn lenient(max_depth: usize) -> Limits {
        Limits {
            max_depth,
            max_values: usize::MAX,
            duplicates: Duplicates::LastWins,
            lone_surrogates: LoneSurrogate::Replace,
        }
    }
}

/// Why a text is not acceptable, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub reason: Reason,
    /// Byte offset in the input.
    pub at: usize,
}

/// What can be wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Not valid UTF-8.
    NotUtf8,
    /// The text ends inside a value; also an empty text.
    UnexpectedEnd,
    /// A character that cannot stand here.
    Unexpected(char),
    /// Something but white space after the value.
    TrailingData,
    /// Nested deeper than allowed.
    TooDeep,
    /// More values than allowed.
    TooManyValues,
    /// A key stands twice in one object.
    DuplicateKey(String),
    /// Not a number as JSON writes it.
    BadNumber,
    /// An unknown or incomplete escape.
    BadEscape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// An unescaped control character in a string.
    ControlCharacter,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::NotUtf8 => f.write_str("invalid UTF-8")?,
            Reason::UnexpectedEnd => return f.write_str("unexpected end of input"),
            Reason::Unexpected(c) => write!(f, "unexpected character {c:?}")?,
            Reason::TrailingData => f.write_str("data after the value")?,
            Reason::TooDeep => f.write_str("nesting is too deep")?,
            Reason::TooManyValues => f.write_str("too many values")?,
            Reason::DuplicateKey(key) => write!(f, "duplicate key {key:?}")?,
            Reason::BadNumber => f.write_str("invalid number")?,
            Reason::BadEscape => f.write_str("invalid escape")?,
            Reason::LoneSurrogate => f.write_str("incomplete surrogate pair")?,
            Reason::ControlCharacter => f.write_str("control character in a string")?,
        }
        write!(f, " at byte {}", self.at)
    }
}

impl std::error::Error for JsonError {}

/// Reads exactly one JSON value with nothing but white space around it.
pub fn parse<'a>(input: &'a [u8], limits: &Limits) -> Result<Json<'a>, JsonError> {
    let text =
        std::str::from_utf8(input).map_err(|e| JsonError { reason: Reason::NotUtf8, at: e.valid_up_to() })?;
    let mut p = Parser {
        text,
        bytes: input,
        at: 0,
        depth_left: limits.max_depth.min(MAX_DEPTH),
        values_left: limits.max_values,
        duplicates: limits.duplicates,
        lone_surrogates: limits.lone_surrogates,
    };
    p.space();
    let value = p.value()?;
    p.space();
    match p.peek() {
        None => Ok(value),
        Some(_) => Err(p.error(Reason::TrailingData)),
    }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth_left: usize,
    values_left: usize,
    duplicates: Duplicates,
    lone_surrogates: LoneSurrogate,
}

type Parsed<T> = Result<T, JsonError>;

impl<'a> Parser<'a> {
    #[cold]
    fn error(&self, reason: Reason) -> JsonError {
        JsonError { reason, at: self.at }
    }

    /// The byte here cannot stand here.
    #[cold]
    fn unexpected(&self) -> JsonError {
        let here = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.error(here.map_or(Reason::UnexpectedEnd, Reason::Unexpected))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Parsed<Json<'a>> {
        match self.values_left.checked_sub(1) {
            Some(left) => self.values_left = left,
            None => return Err(self.error(Reason::TooManyValues)),
        }
        match self.peek() {
            Some(b'"') => self.string().map(Json::Str),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Parsed<Json<'a>>) -> Parsed<Json<'a>> {
        match self.depth_left.checked_sub(1) {
            Some(left) => self.depth_left = left,
            None => return Err(self.error(Reason::TooDeep)),
        }
        self.at += 1;
        self.space();
        let value = inner(self)?;
        self.depth_left += 1;
        Ok(value)
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Parsed<Json<'a>> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn array(&mut self) -> Parsed<Json<'a>> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Arr(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected()),
            }
            self.space();
        }
        self.at += 1;
        Ok(Json::Arr(items))
    }

    fn object(&mut self) -> Parsed<Json<'a>> {
        let mut pairs = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Obj(pairs));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected());
            }
            self.at += 1;
            self.space();
            pairs.push((key, self.value()?));
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected()),
            }
            self.space();
        }
        self.at += 1;
        self.unique(pairs).map(Json::Obj)
    }

    /// Applies the rule for duplicate keys to a complete object.
    fn unique(&self, mut pairs: Vec<Pair<'a>>) -> Parsed<Vec<Pair<'a>>> {
        let Some(doubled) = duplicate(&pairs) else { return Ok(pairs) };
        if self.duplicates == Duplicates::Reject {
            let key: String = pairs[doubled].0.chars().take(64).collect();
            return Err(JsonError { reason: Reason::DuplicateKey(key), at: self.at - 1 });
        }
        // Each key stays where it first stood and takes its last value. Sorting indices keeps this n log n even
        // for a document made of nothing but repeated keys.
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&a, &b| pairs[a].0.cmp(&pairs[b].0).then(a.cmp(&b)));
        let mut keep = vec![true; pairs.len()];
        let mut from = 0;
        while from < order.len() {
            let first = order[from];
            let mut to = from + 1;
            while to < order.len() && pairs[order[to]].0 == pairs[first].0 {
                keep[order[to]] = false;
                to += 1;
            }
            let last = order[to - 1];
            if last != first {
                pairs[first].1 = std::mem::replace(&mut pairs[last].1, Json::Null);
            }
            from = to;
        }
        let mut kept = keep.into_iter();
        pairs.retain(|_| kept.next().unwrap_or(true));
        Ok(pairs)
    }

    fn number(&mut self) -> Parsed<Json<'a>> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.error(Reason::BadNumber)),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        match self.peek() {
            // A digit here follows a leading zero.
            Some(b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E') => Err(self.error(Reason::BadNumber)),
            _ => Ok(Json::Num(&self.text[start..self.at])),
        }
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.error(Reason::BadNumber)) } else { Ok(()) }
    }

    /// A string; the opening quote is here.
    fn string(&mut self) -> Parsed<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        self.at = plain_end(self.bytes, start);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut decoded = String::from(&self.text[start..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(decoded));
                }
                Some(b'\\') => decoded.push(self.escape()?),
                Some(_) => return Err(self.error(Reason::ControlCharacter)),
                None => return Err(self.error(Reason::UnexpectedEnd)),
            }
            let start = self.at;
            self.at = plain_end(self.bytes, start);
            decoded.push_str(&self.text[start..self.at]);
        }
    }

    /// One escape; the backslash is here.
    fn escape(&mut self) -> Parsed<char> {
        let c = match self.bytes.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => return self.unicode_escape(),
            Some(_) => return Err(self.error(Reason::BadEscape)),
            None => return Err(JsonError { reason: Reason::UnexpectedEnd, at: self.bytes.len() }),
        };
        self.at += 2;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Parsed<char> {
        let first = self.hex4(self.at).ok_or_else(|| self.error(Reason::BadEscape))?;
        if let Some(c) = char::from_u32(first) {
            self.at += 6;
            return Ok(c);
        }
        if (0xd800..0xdc00).contains(&first)
            && let Some(second @ 0xdc00..0xe000) = self.hex4(self.at + 6)
            && let Some(c) = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        {
            self.at += 12;
            return Ok(c);
        }
        match self.lone_surrogates {
            LoneSurrogate::Reject => Err(self.error(Reason::LoneSurrogate)),
            LoneSurrogate::Replace => {
                self.at += 6;
                Ok(char::REPLACEMENT_CHARACTER)
            }
        }
    }

    /// The four hex digits of a `\u` escape at `at`.
    fn hex4(&self, at: usize) -> Option<u32> {
        let escape = self.bytes.get(at..at + 6)?;
        if !escape.starts_with(b"\\u") {
            return None;
        }
        escape[2..].iter().try_fold(0, |n, &b| Some((n << 4) | char::from(b).to_digit(16)?))
    }
}

type Pair<'a> = (Cow<'a, str>, Json<'a>);

/// The index of some pair whose key stands twice.
fn duplicate(pairs: &[Pair<'_>]) -> Option<usize> {
    if pairs.len() <= 16 {
        return (1..pairs.len()).find(|&i| pairs[..i].iter().any(|(k, _)| *k == pairs[i].0));
    }
    // Senders often sort their keys; then one pass is enough.
    if pairs.windows(2).all(|w| w[0].0 < w[1].0) {
        return None;
    }
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_unstable_by(|&a, &b| pairs[a].0.cmp(&pairs[b].0));
    order.windows(2).find(|w| pairs[w[0]].0 == pairs[w[1]].0).map(|w| w[1])
}

/// Where the run of ordinary string bytes from `at` on ends: at a quote, a backslash, a control character or the end.
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // Eight bytes at a time. The lowest flagged byte is always a true hit; borrows can only flag bytes above it.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * 0x22);
        let slash = word ^ (ONES * 0x5c);
        let hit = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hit = hit & HIGHS;
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&b) = bytes.get(at) {
        if b == b'"' || b == b'\\' || b < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
