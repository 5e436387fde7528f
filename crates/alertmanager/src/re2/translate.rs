//! Reads an expression by RE2's rules and writes it for the `regex` crate, without recursion.

use super::class::{self, Escape};

/// The problem, in RE2's words, and the part of the expression that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault<'e> {
    pub what: &'static str,
    pub part: &'e str,
}

impl<'e> Fault<'e> {
    pub fn new(what: &'static str, part: &'e str) -> Fault<'e> {
        Fault { what, part }
    }
}

/// The largest count in `{n,m}`.
const MAX_REPEAT: u32 = 1000;

/// The expression in the syntax of the `regex` crate.
pub(super) fn translate(whole: &str) -> Result<String, Fault<'_>> {
    let mut t = Translation {
        whole,
        rest: whole,
        out: String::with_capacity(whole.len() + 16),
        ..Default::default()
    };
    while let Some(c) = t.rest.chars().next() {
        t.item(c)?;
    }
    if t.open > 0 {
        return Err(Fault::new("missing closing )", whole));
    }
    Ok(t.out)
}

#[derive(Default)]
struct Translation<'e> {
    whole: &'e str,
    rest: &'e str,
    out: String,
    open: usize,
    names: Vec<&'e str>,
    /// Whether a repeatable item precedes this place.
    repeatable: bool,
    /// The start of the repetition operator directly before this place.
    repeated_from: Option<&'e str>,
}

impl<'e> Translation<'e> {
    fn item(&mut self, c: char) -> Result<(), Fault<'e>> {
        let repeated_from = self.repeated_from.take();
        match c {
            '(' if self.rest.starts_with("(?") => return self.flags(),
            '(' => self.open_group(1),
            '|' => {
                self.out.push('|');
                self.rest = &self.rest[1..];
                self.repeatable = false;
            }
            ')' => {
                self.open = self.open.checked_sub(1).ok_or(Fault::new("unexpected )", self.whole))?;
                self.emit(1, ")");
            }
            '^' => self.emit(1, "^"),
            '$' => self.emit(1, "$"),
            '.' => self.emit(1, "."),
            '[' => {
                let rest = class::bracket(self.rest, &mut self.out)?;
                self.rest = rest;
                self.repeatable = true;
            }
            '*' | '+' | '?' => {
                let before = self.rest;
                return self.repeat(before, 1, &before[..1], repeated_from);
            }
            '{' => match counts(self.rest) {
                None => self.literal(),
                Some(counts) => {
                    let before = self.rest;
                    return self.counted(before, counts, repeated_from);
                }
            },
            '\\' => return self.escape(),
            _ => self.literal(),
        }
        Ok(())
    }

    /// Writes an atom for `len` bytes of the expression.
    fn emit(&mut self, len: usize, atom: &str) {
        self.out.push_str(atom);
        self.rest = &self.rest[len..];
        self.repeatable = true;
    }

    fn literal(&mut self) {
        if let Some(c) = self.rest.chars().next() {
            class::push_literal(&mut self.out, c);
            self.rest = &self.rest[c.len_utf8()..];
            self.repeatable = true;
        }
    }

    fn open_group(&mut self, len: usize) {
        self.out.push_str("(?:");
        self.rest = &self.rest[len..];
        self.open += 1;
        self.repeatable = false;
    }

    fn counted(
        &mut self,
        before: &'e str,
        (len, min, max): Counts,
        from: Option<&'e str>,
    ) -> Result<(), Fault<'e>> {
        let bad = min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || max < min);
        if bad {
            return Err(Fault::new("invalid repeat count", &before[..len]));
        }
        self.repeat(before, len, &before[..len], from)
    }

    /// A repetition operator of `len` bytes at `before`, with an optional `?` after it.
    fn repeat(
        &mut self,
        before: &'e str,
        len: usize,
        written: &'e str,
        from: Option<&'e str>,
    ) -> Result<(), Fault<'e>> {
        let lazy = before[len..].starts_with('?');
        let after = &before[len + usize::from(lazy)..];
        if let Some(from) = from {
            let part = &from[..from.len() - after.len()];
            return Err(Fault::new("invalid nested repetition operator", part));
        }
        if !self.repeatable {
            let part = &before[..before.len() - after.len()];
            return Err(Fault::new("missing argument to repetition operator", part));
        }
        self.out.push_str(written);
        if lazy {
            self.out.push('?');
        }
        self.rest = after;
        self.repeated_from = Some(before);
        Ok(())
    }

    /// A group that begins with `(?`.
    fn flags(&mut self) -> Result<(), Fault<'e>> {
        let s = self.rest;
        let name_at = if s.starts_with("(?P<") && s.len() > 4 {
            Some(4)
        } else if s.starts_with("(?<") && s.len() > 3 {
            Some(3)
        } else {
            None
        };
        if let Some(name_at) = name_at {
            return self.named(name_at);
        }
        let (mut on, mut off) = (String::new(), String::new());
        let mut negative = false;
        for (i, c) in s.char_indices().skip(2) {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    let (to, other) = if negative { (&mut off, &mut on) } else { (&mut on, &mut off) };
                    other.retain(|f| f != c);
                    if !to.contains(c) {
                        to.push(c);
                    }
                }
                '-' if !negative => negative = true,
                ':' | ')' if !negative || s[..i].ends_with(['i', 'm', 's', 'U']) => {
                    self.flag_group(&on, &off, c == ':', i + 1);
                    return Ok(());
                }
                _ => return Err(Fault::new("invalid or unsupported Perl syntax", &s[..i + c.len_utf8()])),
            }
        }
        Err(Fault::new("missing closing )", self.whole))
    }

    fn flag_group(&mut self, on: &str, off: &str, group: bool, len: usize) {
        let minus = if off.is_empty() { "" } else { "-" };
        if group {
            self.out.push_str(&format!("(?{on}{minus}{off}:"));
            self.open += 1;
        } else if !(on.is_empty() && off.is_empty()) {
            self.out.push_str(&format!("(?{on}{minus}{off})"));
        }
        self.rest = &self.rest[len..];
        self.repeatable = false;
    }

    fn named(&mut self, name_at: usize) -> Result<(), Fault<'e>> {
        let s = self.rest;
        let Some(end) = s.find('>') else { return Err(Fault::new("invalid named capture", s)) };
        let name = &s[name_at..end];
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(Fault::new("invalid named capture", &s[..=end]));
        }
        if self.names.contains(&name) {
            return Err(Fault::new("duplicate capture group name", name));
        }
        self.names.push(name);
        self.open_group(end + 1);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Fault<'e>> {
        let s = self.rest;
        match s.as_bytes().get(1) {
            Some(b'A') => self.emit(2, r"\A"),
            Some(b'z') => self.emit(2, r"\z"),
            // Word boundaries know ASCII only.
            Some(b'b') => self.emit(2, r"(?-u:\b)"),
            Some(b'B') => self.emit(2, r"(?-u:\B)"),
            Some(b'C') => return Err(Fault::new("invalid escape sequence", &s[..2])),
            Some(b'Q') => {
                let quoted = &s[2..];
                let (text, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                for c in text.chars() {
                    class::push_literal(&mut self.out, c);
                    self.repeatable = true;
                }
                self.rest = rest;
            }
            _ => {
                let (escape, rest) = class::escape(s)?;
                match escape {
                    Escape::Char(c) => class::push_literal(&mut self.out, c),
                    Escape::Set(set) => self.out.push_str(&set),
                }
                self.rest = rest;
                self.repeatable = true;
            }
        }
        Ok(())
    }
}

/// Length of the operator, least and greatest count.
type Counts = (usize, u32, Option<u32>);

/// Reads `{n}`, `{n,}` or `{n,m}`; anything else is ordinary text.
fn counts(s: &str) -> Option<Counts> {
    let end = s.find('}')?;
    let inner = s.get(1..end)?;
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let leading_zero = text.len() > 1 && text.starts_with('0');
        (plain && !leading_zero).then(|| text.parse().unwrap_or(u32::MAX))
    };
    let (min, max) = match inner.split_once(',') {
        None => (number(inner)?, Some(number(inner)?)),
        Some((min, "")) => (number(min)?, None),
        Some((min, max)) => (number(min)?, Some(number(max)?)),
    };
    Some((end + 1, min, max))
}
