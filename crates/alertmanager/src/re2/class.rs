//! Bracket classes and escapes of RE2.

use super::translate::Fault;

/// The meaning of an escape.
pub(super) enum Escape {
    /// One character.
    Char(char),
    /// A set, written as a class for the `regex` crate.
    Set(String),
}

type Rest<'e, T> = Result<(T, &'e str), Fault<'e>>;

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Appends a character that stands for itself.
pub(super) fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() || c == ' ' || c == '_' {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    }
}

/// Reads the class at the start of `s`, appends it to `out` and returns the rest.
pub(super) fn bracket<'e>(s: &'e str, out: &mut String) -> Result<&'e str, Fault<'e>> {
    let missing = Fault::new("missing closing ]", s);
    let mut t = &s[1..];
    out.push('[');
    if let Some(rest) = t.strip_prefix('^') {
        out.push('^');
        t = rest;
    }
    let mut first = true;
    while first || !t.starts_with(']') {
        first = false;
        if let Some((set, rest)) = named(t)? {
            out.push_str(&set);
            t = rest;
            continue;
        }
        if let Some((set, rest)) = set_escape(t)? {
            out.push_str(&set);
            t = rest;
            continue;
        }
        let from = t;
        let (low, rest) = single(t, missing)?;
        t = rest;
        push_literal(out, low);
        // A minus sign before the closing bracket stands for itself.
        if t.starts_with('-') && t.len() >= 2 && !t.starts_with("-]") {
            let (high, rest) = single(&t[1..], missing)?;
            t = rest;
            if high < low {
                return Err(Fault::new("invalid character class range", &from[..from.len() - t.len()]));
            }
            out.push('-');
            push_literal(out, high);
        }
    }
    out.push(']');
    Ok(&t[1..])
}

/// One character of a class, escaped or not.
fn single<'e>(t: &'e str, missing: Fault<'e>) -> Rest<'e, char> {
    let Some(c) = t.chars().next() else { return Err(missing) };
    if c == '\\' { char_escape(t) } else { Ok((c, &t[c.len_utf8()..])) }
}

/// `[:alpha:]` and its kind.
fn named(t: &str) -> Result<Option<(String, &str)>, Fault<'_>> {
    let Some(inner) = t.strip_prefix("[:") else { return Ok(None) };
    let Some(end) = inner.find(":]") else { return Ok(None) };
    let name = &inner[..end];
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(Fault::new("invalid character class range", &t[..end + 4]));
    }
    Ok(Some((format!("[:{name}:]"), &inner[end + 2..])))
}

/// Any escape outside a class; the backslash is here.
pub(super) fn escape(s: &str) -> Rest<'_, Escape> {
    if let Some((set, rest)) = set_escape(s)? {
        return Ok((Escape::Set(set), rest));
    }
    char_escape(s).map(|(c, rest)| (Escape::Char(c), rest))
}

/// `\d`, `\pL` and the like, which stand for sets inside and outside classes. Only ASCII in the first kind.
fn set_escape(s: &str) -> Result<Option<(String, &str)>, Fault<'_>> {
    let Some(after) = s.strip_prefix('\\') else { return Ok(None) };
    let set = match after.as_bytes().first() {
        Some(b'd') => "[0-9]",
        Some(b'D') => "[^0-9]",
        Some(b's') => "[\\t\\n\\x0c\\r ]",
        Some(b'S') => "[^\\t\\n\\x0c\\r ]",
        Some(b'w') => "[0-9A-Za-z_]",
        Some(b'W') => "[^0-9A-Za-z_]",
        Some(b'p' | b'P') => return unicode_set(s).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((set.to_owned(), &after[1..])))
}

/// `\pN`, `\p{Greek}`, `\P{^Greek}`.
fn unicode_set(s: &str) -> Rest<'_, String> {
    let bad = |part| Fault::new("invalid character class range", part);
    let mut negative = s.as_bytes()[1] == b'P';
    let after = &s[2..];
    let (name, len) = match after.chars().next() {
        Some('{') => {
            let end = s.find('}').ok_or(bad(s))?;
            (&s[3..end], end + 1)
        }
        Some(c) => (&after[..c.len_utf8()], 2 + c.len_utf8()),
        None => return Err(bad(s)),
    };
    let name = match name.strip_prefix('^') {
        Some(positive) => {
            negative = !negative;
            positive
        }
        None => name,
    };
    // Names are spelled exactly here; the engine would also take other spellings and other kinds of properties.
    let spelled = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let set = format!("\\{}{{{name}}}", if negative { 'P' } else { 'p' });
    if !spelled || regex_automata::util::syntax::parse(&set).is_err() {
        return Err(bad(&s[..len]));
    }
    Ok((set, &s[len..]))
}

/// An escape for one character; the backslash is here.
fn char_escape(s: &str) -> Rest<'_, char> {
    let mut chars = s[1..].chars();
    let Some(c) = chars.next() else {
        return Err(Fault::new("trailing backslash at end of expression", ""));
    };
    let after = chars.as_str();
    let simple = match c {
        'a' => '\u{7}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => return hex(s, after),
        '0' => return octal(s),
        '1'..='7' if after.starts_with(|d: char| ('0'..='7').contains(&d)) => return octal(s),
        _ if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err(invalid(s, after)),
    };
    Ok((simple, after))
}

fn invalid<'e>(s: &'e str, after: &'e str) -> Fault<'e> {
    Fault::new("invalid escape sequence", &s[..s.len() - after.len()])
}

/// Up to three octal digits.
fn octal(s: &str) -> Rest<'_, char> {
    let len = s[1..].bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
    let value = s[1..=len].bytes().fold(0, |acc, b| acc * 8 + u32::from(b - b'0'));
    let rest = &s[len + 1..];
    char::from_u32(value).map(|c| (c, rest)).ok_or(invalid(s, rest))
}

/// `\x41` or `\x{1F600}`.
fn hex<'e>(s: &'e str, after: &'e str) -> Rest<'e, char> {
    let (digits, rest) = match after.strip_prefix('{') {
        Some(inner) => match inner.split_once('}') {
            Some(parts) => parts,
            None => return Err(invalid(s, "")),
        },
        None => {
            let len: usize = after.chars().take(2).map(char::len_utf8).sum();
            let (digits, rest) = after.split_at(len);
            if digits.chars().count() < 2 {
                return Err(invalid(s, rest));
            }
            (digits, rest)
        }
    };
    let all_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let value = if all_hex { u32::from_str_radix(digits, 16).ok() } else { None };
    value.and_then(char::from_u32).map(|c| (c, rest)).ok_or(invalid(s, rest))
}
