//! Case-insensitive comparison of text, the same on both storage engines: fold here, compare bytes there.

use unicode_normalization::UnicodeNormalization;

/// NFKC, lower-cased: the form that case-insensitive searches and sorts compare.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Lower-casing may undo the normal form (and the reverse), hence twice.
    text.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}

/// The text on one line: runs of spaces, line breaks and control characters become one space.
pub fn one_line(text: &str) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let spaced: String = text.chars().map(|c| if is_break(c) { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A `LIKE` pattern (escape character `\`) that finds the folded text anywhere, wildcards taken literally.
pub fn contains_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in fold(text).chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// The beginning of the folded text, short enough for an index: the rest does not matter for an order.
pub fn fold_start(text: &str) -> String {
    let mut key = fold(text);
    if let Some((end, _)) = key.char_indices().nth(255) {
        key.truncate(end);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_case_and_width() {
        assert_eq!(fold("ÀÈΣΔ Ｂ"), "àèσδ b");
        assert_eq!(contains_pattern("50%_A\\"), "%50\\%\\_a\\\\%");
    }

    #[test]
    fn a_text_with_breaks_becomes_one_line() {
        assert_eq!(one_line(" a\r\nb\u{2028}c\t\0 d "), "a b c d");
    }
}
