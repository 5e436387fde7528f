//! Matchers: `name<op>value` over labels, in the classic syntax (spec: alert-router#matchers,
//! alert-router#matcher-syntax).

use crate::{
    Labels,
    re2::{self, Regex, RegexError},
};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`, the whole value
    Regex,
    /// `!~`
    NotRegex,
}

impl Op {
    /// From the two flags of the wire form.
    pub fn from_flags(is_regex: bool, is_equal: bool) -> Op {
        match (is_regex, is_equal) {
            (false, true) => Op::Equal,
            (false, false) => Op::NotEqual,
            (true, true) => Op::Regex,
            (true, false) => Op::NotRegex,
        }
    }

    /// Is the value an expression?
    pub fn is_regex(self) -> bool {
        matches!(self, Op::Regex | Op::NotRegex)
    }

    /// Does a hit select?
    pub fn is_equal(self) -> bool {
        matches!(self, Op::Equal | Op::Regex)
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Op::Equal => "=",
            Op::NotEqual => "!=",
            Op::Regex => "=~",
            Op::NotRegex => "!~",
        }
    }
}

/// One condition on one label; its JSON is the wire form `{name, value, isRegex, isEqual}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub struct Matcher {
    /// Label name.
    pub name: String,
    /// Literal value or expression.
    pub value: String,
    /// How they are compared.
    pub op: Op,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    name: String,
    value: String,
    #[serde(rename = "isRegex")]
    is_regex: bool,
    #[serde(rename = "isEqual", default = "yes")]
    is_equal: bool,
}

fn yes() -> bool {
    true
}

impl From<Wire> for Matcher {
    fn from(w: Wire) -> Matcher {
        Matcher { name: w.name, value: w.value, op: Op::from_flags(w.is_regex, w.is_equal) }
    }
}

impl From<Matcher> for Wire {
    fn from(m: Matcher) -> Wire {
        Wire { name: m.name, value: m.value, is_regex: m.op.is_regex(), is_equal: m.op.is_equal() }
    }
}

/// Why a text is not a matcher; clients receive its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatcherError {
    /// Not `name<op>value`.
    Format(String),
    /// A quote that is neither escaped nor the closing one, or a missing closing quote.
    Quote(String),
    /// The value is not UTF-8.
    NotUtf8(String),
    /// The expression is wrong or too large.
    Regex(RegexError),
}

impl fmt::Display for MatcherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatcherError::Format(text) => write!(f, "bad matcher format: {text}"),
            MatcherError::Quote(raw) => write!(f, "matcher value contains unescaped double quote: {raw}"),
            MatcherError::NotUtf8(raw) => write!(f, "matcher value not valid UTF-8: {raw}"),
            MatcherError::Regex(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MatcherError {}

impl Matcher {
    /// `name="value"`
    pub fn equal(name: impl Into<String>, value: impl Into<String>) -> Matcher {
        Matcher { name: name.into(), value: value.into(), op: Op::Equal }
    }

    /// Reads the classic syntax, without checking an expression in it; see [`Matcher::compile`].
    pub fn parse(text: &[u8]) -> Result<Matcher, MatcherError> {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Some((name, op, raw)) = split(text) else { return Err(MatcherError::Format(lossy(text))) };
        let Ok(raw) = std::str::from_utf8(raw) else { return Err(MatcherError::NotUtf8(lossy(raw))) };
        let value = unescape(raw).ok_or_else(|| MatcherError::Quote(raw.to_owned()))?;
        Ok(Matcher { name: lossy(name), value, op })
    }

    /// Makes it ready to be applied.
    pub fn compile(self) -> Result<Compiled, RegexError> {
        self.compile_within(usize::MAX)
    }

    /// As [`Matcher::compile`], refusing an expression that takes more than `bytes` when compiled.
    pub fn compile_within(self, bytes: usize) -> Result<Compiled, RegexError> {
        self.compiled(|expression| re2::anchored_within(expression, bytes))
    }

    /// As [`Matcher::compile_within`]; error texts show no more than the expression.
    pub(crate) fn compile_alone(self, bytes: usize) -> Result<Compiled, RegexError> {
        self.compiled(|expression| re2::checked_within(expression, bytes))
    }

    fn compiled(self, compile: impl Fn(&str) -> Result<Regex, RegexError>) -> Result<Compiled, RegexError> {
        let regex = if self.op.is_regex() { Some(Arc::new(compile(&self.value)?)) } else { None };
        Ok(Compiled { matcher: self, regex })
    }
}

/// `name<op>"value"` with the value escaped; reads back as the same matcher.
impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}\"", self.name, self.op.symbol())?;
        for c in self.value.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                _ => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn trim_start(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|b| is_space(**b)).count()..]
}

fn trim_end(text: &[u8]) -> &[u8] {
    &text[..text.len() - text.iter().rev().take_while(|b| is_space(**b)).count()]
}

/// Name, operator and the value as written, surrounding space removed.
fn split(text: &[u8]) -> Option<(&[u8], Op, &[u8])> {
    let text = trim_start(text);
    if !matches!(text.first()?, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b':') {
        return None;
    }
    let len = text.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':')).count();
    let (name, rest) = text.split_at(len);
    let rest = trim_start(rest);
    let ops: [(&[u8], Op); 4] =
        [(b"=~", Op::Regex), (b"!~", Op::NotRegex), (b"!=", Op::NotEqual), (b"=", Op::Equal)];
    let (op, rest) = ops.into_iter().find_map(|(symbol, op)| Some((op, rest.strip_prefix(symbol)?)))?;
    Some((name, op, trim_end(trim_start(rest))))
}

/// The value without its quotes and escapes; `None` for a quote in the wrong place.
fn unescape(raw: &str) -> Option<String> {
    let (inner, mut open) = match raw.strip_prefix('"') {
        Some(inner) => (inner, true),
        None => (raw, false),
    };
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let last = chars.as_str().is_empty();
        match c {
            '\\' if last => value.push('\\'),
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some(c @ ('"' | '\\')) => value.push(c),
                Some(c) => value.extend(['\\', c]),
                None => {}
            },
            '"' if open && last => open = false,
            '"' => return None,
            _ => value.push(c),
        }
    }
    (!open).then_some(value)
}

/// A matcher ready to be applied.
#[derive(Clone, Debug)]
pub struct Compiled {
    matcher: Matcher,
    /// Shared by copies: the memory that matching needs is larger than the expression.
    regex: Option<Arc<Regex>>,
}

impl Compiled {
    /// The matcher this was compiled from.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The size of its compiled expression; 0 without one.
    pub fn bytes(&self) -> usize {
        self.regex.as_ref().map_or(0, |regex| regex.bytes())
    }

    #[cfg(test)]
    pub(crate) fn shares_with(&self, other: &Compiled) -> bool {
        matches!((&self.regex, &other.regex), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }

    /// Does the value satisfy the condition? A missing label has the value `""`.
    pub fn matches_value(&self, value: &str) -> bool {
        let hit = match &self.regex {
            Some(regex) => regex.is_match(value),
            None => self.matcher.value == value,
        };
        hit == self.matcher.op.is_equal()
    }

    /// Do the labels satisfy the condition?
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_value(labels.value(&self.matcher.name))
    }
}

/// Do the labels satisfy all conditions?
pub fn all_match(matchers: &[Compiled], labels: &Labels) -> bool {
    matchers.iter().all(|m| m.matches(labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Matcher {
        Matcher::parse(text.as_bytes()).unwrap()
    }

    fn error(text: &str) -> String {
        match Matcher::parse(text.as_bytes()) {
            Ok(m) => m.compile().unwrap_err().to_string(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn reads_the_classic_syntax() {
        for (text, name, op, value) in [
            (r#"a="b""#, "a", Op::Equal, "b"),
            ("a=b", "a", Op::Equal, "b"),
            ("  a:b_9 \t!= \n b c  ", "a:b_9", Op::NotEqual, "b c"),
            (r#"a=~"x|y""#, "a", Op::Regex, "x|y"),
            ("a!~b", "a", Op::NotRegex, "b"),
            ("a=", "a", Op::Equal, ""),
            (r#"a="""#, "a", Op::Equal, ""),
            (r#"a="\n\"\\\d""#, "a", Op::Equal, "\n\"\\\\d"),
            (r#"a=b\"c\"#, "a", Op::Equal, "b\"c\\"),
            ("a=b\nc", "a", Op::Equal, "b\nc"),
            (r#"a=" b ""#, "a", Op::Equal, " b "),
            ("a==b", "a", Op::Equal, "=b"),
            ("a= ~b", "a", Op::Equal, "~b"),
            (r#"a={b,c}"#, "a", Op::Equal, "{b,c}"),
        ] {
            assert_eq!(parsed(text), Matcher { name: name.into(), value: value.into(), op }, "{text}");
        }
    }

    #[test]
    fn error_texts() {
        for (text, expected) in [
            ("bad-!!", "bad matcher format: bad-!!"),
            ("", "bad matcher format: "),
            ("9a=b", "bad matcher format: 9a=b"),
            ("a!b", "bad matcher format: a!b"),
            (r#"{system_key="NETH-2"}"#, r#"bad matcher format: {system_key="NETH-2"}"#),
            (r#""system_key"="NETH-2""#, r#"bad matcher format: "system_key"="NETH-2""#),
            (
                r#"system_key="NETH-2",alertname="DiskFull""#,
                r#"matcher value contains unescaped double quote: "NETH-2",alertname="DiskFull""#,
            ),
            (r#"a="b"#, r#"matcher value contains unescaped double quote: "b"#),
            (r#"a=b""#, r#"matcher value contains unescaped double quote: b""#),
            (r#"a=""#, r#"matcher value contains unescaped double quote: ""#),
            (r#"a="b\""#, r#"matcher value contains unescaped double quote: "b\""#),
            ("a=~[", "error parsing regexp: missing closing ]: `[)$`"),
        ] {
            assert_eq!(error(text), expected);
        }
        let not_utf8 = Matcher::parse(b"a=\"\xff\"").unwrap_err().to_string();
        assert_eq!(not_utf8, "matcher value not valid UTF-8: \"\u{fffd}\"");
    }

    #[test]
    fn missing_labels_are_empty() {
        let labels: Labels = [("y", "1")].into_iter().collect();
        for (text, expected) in [
            (r#"x="""#, true),
            (r#"x!="""#, false),
            (r#"y="""#, false),
            (r#"y!="""#, true),
            ("x!=a", true),
            ("x!~a", true),
            ("x=~.*", true),
            ("x=~.+", false),
            ("y=~1|2", true),
            ("y!~1|2", false),
            ("y=~.", true),
            ("y=~", false),
        ] {
            assert_eq!(parsed(text).compile().unwrap().matches(&labels), expected, "{text}");
        }
    }

    #[test]
    fn wire_form() {
        let json = r#"{"name":"a","value":"b","isRegex":true,"isEqual":false}"#;
        let m: Matcher = serde_json::from_str(json).unwrap();
        assert_eq!(m.op, Op::NotRegex);
        assert_eq!(serde_json::to_string(&m).unwrap(), json);
        let old: Matcher = serde_json::from_str(r#"{"name":"a","value":"b","isRegex":false}"#).unwrap();
        assert_eq!(old.op, Op::Equal);
    }

    proptest! {
        #[test]
        fn written_matchers_read_back(
            name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,8}",
            value in any::<String>(),
            is_regex in any::<bool>(),
            is_equal in any::<bool>(),
        ) {
            let m = Matcher { name, value, op: Op::from_flags(is_regex, is_equal) };
            prop_assert_eq!(Matcher::parse(m.to_string().as_bytes()), Ok(m));
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64), tail in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Matcher::parse(&bytes);
            let _ = Matcher::parse(&[b"a=", tail.as_slice()].concat());
        }
    }
}
