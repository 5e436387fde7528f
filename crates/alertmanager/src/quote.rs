//! Quotes offending values in error texts, in the form senders know from other alert routers.

/// The text in double quotes, with backslash escapes for unprintable characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            '\0'..='\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ if c.escape_debug().len() == 1 => out.push(c),
            '\u{80}'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(quoted("bad-name"), r#""bad-name""#);
        assert_eq!(quoted("a\"\\\n\u{1}\u{7f}é\u{202e}"), r#""a\"\\\n\x01\x7fé\u202e""#);
    }
}
