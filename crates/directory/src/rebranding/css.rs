//! Finds text that would load or run something if a browser read it as CSS or as an address.

use std::borrow::Cow;

/// Kinds of image that may be embedded in a file as data: none of them can carry scripts.
const DATA: [&str; 4] = ["png", "jpeg", "webp", "gif"];
/// Words that load something without `url()`, or run it.
const FORBIDDEN: [&str; 4] = ["@import", "image-set(", "src(", "expression("];

/// Whether an address points into this file only, or is an embedded picture.
pub(super) fn is_harmless_address(address: &str) -> bool {
    // A browser ignores line breaks anywhere in an address, and blanks around it.
    let start: String =
        address.chars().filter(|c| *c > ' ').take(32).map(|c| c.to_ascii_lowercase()).collect();
    if start.starts_with('#') {
        return true;
    }
    let Some(kind) = start.strip_prefix("data:image/") else { return false };
    DATA.iter().any(|known| kind.strip_prefix(known).is_some_and(|rest| rest.starts_with([';', ','])))
}

/// Whether it names the scheme that runs scripts, even with line breaks inside.
pub(super) fn has_script_address(text: &str) -> bool {
    if !text.contains(':') {
        return false;
    }
    let packed: String = text.chars().filter(|c| *c > ' ').map(|c| c.to_ascii_lowercase()).collect();
    packed.contains("javascript:") || packed.contains("vbscript:")
}

/// Whether the text, read as CSS, loads anything other than a part of this file or an embedded picture, or runs code.
pub(super) fn is_active(text: &str) -> bool {
    if !text.contains(['(', '@', '\\', ':']) {
        return false;
    }
    let text = unescaped(text).to_ascii_lowercase();
    if has_script_address(&text) || FORBIDDEN.iter().any(|word| text.contains(word)) {
        return true;
    }
    text.match_indices("url(").any(|(at, word)| {
        let rest = text.get(at + word.len()..).unwrap_or_default();
        !is_harmless_address(rest.trim_start().trim_start_matches(['"', '\'']))
    })
}

/// CSS escapes resolved: `\75rl(` is `url(`.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    // As a browser does: each of these becomes one line break first, so that the two characters of a CR LF are one
    // blank behind an escape.
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{c}'], "\n");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let mut code = None;
        for _ in 0..6 {
            let Some(digit) = rest.peek().and_then(|c| c.to_digit(16)) else { break };
            code = Some(code.unwrap_or(0) * 16 + digit);
            rest.next();
        }
        match code {
            Some(code) => {
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest.next_if(|c| c.is_ascii_whitespace());
            }
            // An escaped line break joins two lines; anything else stands for itself.
            None => out.extend(rest.next().filter(|c| *c != '\n')),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for address in ["#a", " \n#", "data:image/png;base64,AA", "DATA:image/GIF,x", "da\nta:image/webp;x,y"]
        {
            assert!(is_harmless_address(address), "{address:?}");
        }
        for address in [
            "",
            "a#b",
            "//x",
            "https://x/#a",
            "data:image/svg+xml,<svg/>",
            "data:image/pngx,",
            "data:text/html,",
            "data:image/png",
            "data:,#",
            "javascript:#",
            "\u{feff}#x",
        ] {
            assert!(!is_harmless_address(address), "{address:?}");
        }
        for text in ["javascript:x", "JAVA\tscript :x", " j a v a s c r i p t\n:"] {
            assert!(has_script_address(text), "{text:?}");
        }
        assert!(!has_script_address("java script") && !has_script_address("a: b"));
    }

    #[test]
    fn styles() {
        for text in [
            "fill: url(#a)",
            "fill:url( '#a' )",
            "fill: url(\"#a\") red",
            "a { color: red; b: url(data:image/png;base64,AA==) }",
            "M 0 0 L 1 1",
            "translate(1,2)",
            "@media print { a { fill: red } }",
            "@font-face { font-family: x }",
        ] {
            assert!(!is_active(text), "{text:?}");
        }
        for text in [
            "fill: url(x.png)",
            "fill:URL( 'http://x' )",
            "url(//x)",
            "url(#a), url(b)",
            "\\75rl(http://x)",
            "u\\72 l(x)",
            "\\000075\\000072\\00006c(x)",
            "@import 'x'",
            "@IMPORT url(#a)",
            "@\\69mport 'x'",
            "image-set('x' 1x)",
            "-webkit-image-set('x' 1x)",
            "src('x')",
            "url(data:image/svg+xml;base64,AA)",
            "url()",
            "url(",
            "url('javas\ncript:x')",
            "behavior: expression(1)",
            "url(\\68ttp://x)",
            "ur\\\nl(x)",
            "\\75\r\nrl(http://x)",
            "\\75\rrl(x)",
            "\\75\u{c}rl(x)",
            "\\000075\r\nrl(x)",
            "@\\69\r\nmport 'x'",
            "ur\\\r\nl(x)",
            "ur\\\rl(x)",
            "url(\\68\r\nttp://x)",
            "java\\73\r\ncript:x",
        ] {
            assert!(is_active(text), "{text:?}");
        }
    }
}
