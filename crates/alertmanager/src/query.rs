//! Query parameters of the lists: checked against an allow-list and rebuilt, never passed on (spec:
//! alerts#query-parameters).

use crate::{
    Compiled, Labels, Limits, Matcher, Reject,
    matcher::all_match,
    re2::{self, Regex, RegexError},
};
use std::borrow::Cow;

/// Bytes of filters that are sent to a remote router: many servers take a request line of at most 8 KiB.
const FILTER_BYTES: usize = 6 * 1024;

/// Parameters of `/alerts` and `/alerts/groups`.
#[derive(Clone, Debug)]
pub struct AlertsQuery {
    /// All must match.
    pub filters: Vec<Compiled>,
    /// Show alerts in state active?
    pub active: bool,
    /// Show silenced alerts?
    pub silenced: bool,
    /// Show inhibited alerts?
    pub inhibited: bool,
    /// Read, without effect.
    pub unprocessed: bool,
    /// Groups: read, without effect.
    pub muted: bool,
    receiver: Option<Regex>,
    receiver_matchers: Vec<Compiled>,
}

/// Parameters of `/silences`.
#[derive(Clone, Debug)]
pub struct SilencesQuery {
    /// A silence must contain each of these, literally.
    pub filters: Vec<Matcher>,
    /// Show active silences?
    pub active: bool,
    /// Show expired ones?
    pub expired: bool,
    /// Show pending ones?
    pub pending: bool,
}

impl Default for AlertsQuery {
    fn default() -> AlertsQuery {
        AlertsQuery {
            filters: Vec::new(),
            active: true,
            silenced: true,
            inhibited: true,
            unprocessed: true,
            muted: true,
            receiver: None,
            receiver_matchers: Vec::new(),
        }
    }
}

impl Default for SilencesQuery {
    fn default() -> SilencesQuery {
        SilencesQuery { filters: Vec::new(), active: true, expired: true, pending: true }
    }
}

impl AlertsQuery {
    /// Reads the part of the address after `?`.
    pub fn parse(query: &str, limits: &Limits) -> Result<AlertsQuery, Reject> {
        let mut q = AlertsQuery::default();
        let mut receiver = Vec::new();
        let (mut filters, mut receiver_matchers) = (Vec::new(), Vec::new());
        for (key, value) in pairs(query) {
            match key.as_ref() {
                b"filter" => add_filter(&mut filters, &value, limits)?,
                b"receiver_matchers" => add_filter(&mut receiver_matchers, &value, limits)?,
                b"receiver" => receiver = value.into_owned(),
                b"active" => q.active = flag(&value),
                b"silenced" => q.silenced = flag(&value),
                b"inhibited" => q.inhibited = flag(&value),
                b"unprocessed" => q.unprocessed = flag(&value),
                b"muted" => q.muted = flag(&value),
                _ => {}
            }
        }
        let mut left = limits.compiled_bytes;
        q.filters = compile(filters, &mut left)?;
        q.receiver_matchers = compile(receiver_matchers, &mut left)?;
        if !receiver.is_empty() {
            q.receiver = Some(receiver_regex(&receiver, limits, left)?);
        }
        Ok(q)
    }

    /// Do the labels satisfy every filter?
    pub fn selects(&self, labels: &Labels) -> bool {
        all_match(&self.filters, labels)
    }

    /// Whether labels are compared with a regular expression.
    pub fn has_expressions(&self) -> bool {
        self.filters.iter().any(|filter| filter.matcher().op.is_regex())
    }

    /// Is an alert with a receiver of this name wanted?
    pub fn wants_receiver(&self, name: &str) -> bool {
        self.receiver.as_ref().is_none_or(|r| r.is_match(name))
            && self
                .receiver_matchers
                .iter()
                .all(|m| m.matches_value(if m.matcher().name == "name" { name } else { "" }))
    }

    /// The query for a remote router: the filters, and always the matcher of the calling system. Flags and receivers
    /// are applied to the answer.
    pub fn upstream(&self, system_key: &str) -> String {
        filters_for(self.filters.iter().map(Compiled::matcher), system_key)
    }
}

impl SilencesQuery {
    /// Reads the part of the address after `?`.
    pub fn parse(query: &str, limits: &Limits) -> Result<SilencesQuery, Reject> {
        let mut q = SilencesQuery::default();
        for (key, value) in pairs(query) {
            match key.as_ref() {
                b"filter" => add_filter(&mut q.filters, &value, limits)?,
                b"active" => q.active = flag(&value),
                b"expired" => q.expired = flag(&value),
                b"pending" => q.pending = flag(&value),
                _ => {}
            }
        }
        // Expressions are compared, not evaluated, but a wrong one is refused all the same.
        compile(q.filters.clone(), &mut limits.compiled_bytes.clone())?;
        Ok(q)
    }

    /// The query for a remote router.
    pub fn upstream(&self, system_key: &str) -> String {
        filters_for(self.filters.iter(), system_key)
    }
}

/// Reads the parameters of `/receivers`: is the receiver of this name wanted?
pub fn receivers_query(query: &str, name: &str, limits: &Limits) -> Result<bool, Reject> {
    let mut matchers = Vec::new();
    for (key, value) in pairs(query) {
        if key.as_ref() == b"receiver_matchers" {
            add_filter(&mut matchers, &value, limits)?;
        }
    }
    let receiver_matchers = compile(matchers, &mut limits.compiled_bytes.clone())?;
    let q = AlertsQuery { receiver_matchers, ..AlertsQuery::default() };
    Ok(q.wants_receiver(name))
}

fn size_limit() -> Reject {
    Reject::bad("filter exceeds the size limit")
}

fn add_filter(filters: &mut Vec<Matcher>, value: &[u8], limits: &Limits) -> Result<(), Reject> {
    if value.len() > limits.expression_bytes || filters.len() >= limits.filters {
        return Err(size_limit());
    }
    filters.push(Matcher::parse(value).map_err(|e| Reject::bad(e.to_string()))?);
    Ok(())
}

/// `left`: the bytes that compiled expressions of the query may still take.
fn compile(filters: Vec<Matcher>, left: &mut usize) -> Result<Vec<Compiled>, Reject> {
    let each = filters.into_iter().map(|m| {
        let compiled = m.compile_within(*left).map_err(|e| match e {
            RegexError::TooLarge => size_limit(),
            RegexError::Syntax(text) => Reject::bad(text),
        })?;
        *left = left.saturating_sub(compiled.bytes());
        Ok(compiled)
    });
    each.collect()
}

fn receiver_regex(value: &[u8], limits: &Limits, left: usize) -> Result<Regex, Reject> {
    let fault = |text: &str| Reject::bad(format!("failed to parse receiver param: {text}"));
    if value.len() > limits.expression_bytes {
        return Err(fault("error parsing regexp: expression too large"));
    }
    let text = std::str::from_utf8(value).map_err(|_| fault("error parsing regexp: invalid UTF-8"))?;
    re2::anchored_within(text, left).map_err(|e| fault(&e.to_string()))
}

/// An empty value means the default, which is true; any word that is not a known yes is a no.
fn flag(value: &[u8]) -> bool {
    const YES: [&[u8]; 10] =
        [b"true", b"1", b"yes", b"ok", b"y", b"on", b"selected", b"checked", b"t", b"enabled"];
    value.is_empty() || YES.iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

fn filters_for<'m>(filters: impl Iterator<Item = &'m Matcher>, system_key: &str) -> String {
    let own = Matcher::equal(crate::sender_labels::SYSTEM_KEY, system_key);
    let mut out = String::new();
    for filter in filters {
        out.push_str("filter=");
        encode(&mut out, &filter.to_string());
        out.push('&');
    }
    if out.len() > FILTER_BYTES {
        // They are applied to the answer in any case.
        out.clear();
    }
    out.push_str("filter=");
    encode(&mut out, &own.to_string());
    out
}

fn encode(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for b in text.bytes() {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(b));
        } else {
            out.extend(['%', char::from(HEX[usize::from(b >> 4)]), char::from(HEX[usize::from(b & 15)])]);
        }
    }
}

type Bytes<'q> = Cow<'q, [u8]>;

/// The decoded pairs; only `&` separates. A pair with a broken escape is dropped.
fn pairs(query: &str) -> impl Iterator<Item = (Bytes<'_>, Bytes<'_>)> {
    query.split('&').filter(|pair| !pair.is_empty()).filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(key)?, decode(value)?))
    })
}

fn decode(text: &str) -> Option<Bytes<'_>> {
    let b = text.as_bytes();
    if !b.iter().any(|b| matches!(b, b'%' | b'+')) {
        return Some(Cow::Borrowed(b));
    }
    let mut out = Vec::with_capacity(b.len());
    let mut index = 0;
    while let Some(&byte) = b.get(index) {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digit = |i: usize| char::from(*b.get(i)?).to_digit(16);
                out.push((digit(index + 1)? * 16 + digit(index + 2)?) as u8);
                index += 2;
            }
            _ => out.push(byte),
        }
        index += 1;
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests;
