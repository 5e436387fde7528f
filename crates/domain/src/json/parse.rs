//! The parser: one pass over the bytes, recursion bounded by the depth limit.

use super::{Duplicates, Json, JsonError, Limits, MAX_DEPTH, Reason};
use std::borrow::Cow;

/// Reads exactly one JSON value with nothing but white space around it.
pub fn parse<'a>(input: &'a [u8], limits: &Limits) -> Result<Json<'a>, JsonError> {
    let (value, faults) = parse_each(input, limits)?;
    match faults.into_iter().next() {
        Some((_, fault)) => Err(fault),
        None => Ok(value),
    }
}

/// As [`parse`], but a repeated key is a fault of one element of the outermost array (0 if there is none): the faults
/// come beside the value, at most one for each element, with its index.
pub fn parse_each<'a>(
    input: &'a [u8],
    limits: &Limits,
) -> Result<(Json<'a>, Vec<(usize, JsonError)>), JsonError> {
    let input = without_mark(input);
    let placed = |ParseProblem { reason, at }| {
        let (line, column) = line_and_column(input, at);
        JsonError { reason, line, column }
    };
    let (value, faults) = value_of(input, limits).map_err(placed)?;
    Ok((value, faults.into_iter().map(|(element, problem)| (element, placed(problem))).collect()))
}

/// The input without the byte order mark that some programs write before UTF-8.
pub fn without_mark(input: &[u8]) -> &[u8] {
    input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input)
}

/// Line and character of the byte at `at`, from 1.
fn line_and_column(input: &[u8], at: usize) -> (usize, usize) {
    let before = input.get(..at).unwrap_or(input);
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
    let lines = before[..line_start].iter().filter(|b| **b == b'\n').count();
    let characters = before[line_start..].iter().filter(|b| (**b & 0xc0) != 0x80).count();
    (lines + 1, characters + 1)
}

/// A problem and its byte in the input.
struct ParseProblem {
    reason: Reason,
    at: usize,
}

fn value_of<'a>(
    input: &'a [u8],
    limits: &Limits,
) -> Result<(Json<'a>, Vec<(usize, ParseProblem)>), ParseProblem> {
    let text = std::str::from_utf8(input)
        .map_err(|e| ParseProblem { reason: Reason::NotUtf8, at: e.valid_up_to() })?;
    let mut p = Parser {
        text,
        bytes: input,
        at: 0,
        depth_left: limits.max_depth.min(MAX_DEPTH),
        values_left: limits.max_values,
        duplicates: limits.duplicates,
        is_under_key: false,
        is_inside: false,
        element: 0,
        faults: Vec::new(),
    };
    p.space();
    let value = p.value().map_err(|e| *e)?;
    p.space();
    match p.peek() {
        None => Ok((value, p.faults)),
        Some(_) => Err(*p.error(Reason::TrailingData)),
    }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth_left: usize,
    values_left: usize,
    duplicates: Duplicates,
    /// The next value is under the key of [`Duplicates::SameStringIn`].
    is_under_key: bool,
    /// Arrays are not the outermost value any more.
    is_inside: bool,
    /// The place in the outermost array.
    element: usize,
    /// Repeated keys, by that place.
    faults: Vec<(usize, ParseProblem)>,
}

/// The error is boxed here so that results stay small and values are moved rarely and in one piece.
type Parsed<T> = Result<T, Box<ParseProblem>>;

impl<'a> Parser<'a> {
    #[cold]
    fn error(&self, reason: Reason) -> Box<ParseProblem> {
        Box::new(ParseProblem { reason, at: self.at })
    }

    /// The byte is not allowed here.
    #[cold]
    fn unexpected(&self) -> Box<ParseProblem> {
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
        self.is_under_key = false;
        let is_outermost = !std::mem::replace(&mut self.is_inside, true);
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Arr(items));
        }
        loop {
            if is_outermost {
                self.element = items.len();
            }
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
        let may_repeat = std::mem::take(&mut self.is_under_key);
        self.is_inside = true;
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
            self.is_under_key = matches!(self.duplicates, Duplicates::SameStringIn(name) if key == name);
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
        Ok(Json::Obj(self.unique(pairs, may_repeat)))
    }

    /// Applies the rule for duplicate keys to a complete object.
    fn unique(&mut self, mut pairs: Vec<Pair<'a>>, may_repeat: bool) -> Vec<Pair<'a>> {
        let Some(doubled) = duplicate(&pairs) else { return pairs };
        let refused = match self.duplicates {
            Duplicates::SameStringIn(_) if may_repeat => match drop_same(&mut pairs) {
                None => return pairs,
                doubled => doubled,
            },
            Duplicates::Reject | Duplicates::SameStringIn(_) => Some(doubled),
            Duplicates::LastWins => None,
        };
        if let Some(doubled) = refused {
            let key: String = pairs[doubled].0.chars().take(64).collect();
            if self.faults.last().is_none_or(|(element, _)| *element < self.element) {
                let fault = ParseProblem { reason: Reason::DuplicateKey(key), at: self.at - 1 };
                self.faults.push((self.element, fault));
            }
            return pairs;
        }
        // Each key stays at its first position and gets its last value. Sorting indices keeps this n log n even for a
        // document made only of repeated keys.
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
        let mut flags = keep.into_iter();
        pairs.retain(|_| flags.next().unwrap_or(true));
        pairs
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
            None => {
                return Err(Box::new(ParseProblem { reason: Reason::UnexpectedEnd, at: self.bytes.len() }));
            }
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
        // Half of a pair, which no UTF-8 text can hold.
        self.at += 6;
        Ok(char::REPLACEMENT_CHARACTER)
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

/// The index of some pair with a repeated key.
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

/// Removes pairs that repeat the key and the string of an earlier pair. If a key is repeated with another value,
/// returns the index of such a pair and removes nothing.
fn drop_same(pairs: &mut Vec<Pair<'_>>) -> Option<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|&a, &b| pairs[a].0.cmp(&pairs[b].0).then(a.cmp(&b)));
    let mut keep = vec![true; pairs.len()];
    for next in order.windows(2).filter(|next| pairs[next[0]].0 == pairs[next[1]].0) {
        let values = (&pairs[next[0]].1, &pairs[next[1]].1);
        if !matches!(values, (Json::Str(one), Json::Str(other)) if one == other) {
            return Some(next[1]);
        }
        keep[next[1]] = false;
    }
    let mut flags = keep.into_iter();
    pairs.retain(|_| flags.next().unwrap_or(true));
    None
}

/// Where the run of ordinary string bytes from `at` on ends: at a quote, a backslash, a control character or the end.
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
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
