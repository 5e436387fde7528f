//! Case-insensitive comparison of text, the same on both storage engines: fold here, compare bytes there.

use crate::visible::is_steering;
use unicode_normalization::UnicodeNormalization;

/// The form that case-insensitive searches and sorts compare: NFKC with the full case folding of the Unicode Standard
/// (section 3.13, D145), so that `ΠΑΠΑΣ` is `παπας` and `STRASSE` is `straße`.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Folding may undo the normal form (and the reverse), hence twice.
    text.nfkc().flat_map(fold_char).nfkc().flat_map(fold_char).nfkc().collect()
}

/// Upper-casing makes letters alike that have several lower-case forms (`ς`, `ß`); it begins with the lower case,
/// because `ẞ` is its own upper case. Folding keeps the dotless `ı` apart from `i`.
fn fold_char(c: char) -> impl Iterator<Item = char> {
    let dotless = (c == 'ı').then_some(c);
    let folded =
        (c != 'ı').then(|| c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase));
    dotless.into_iter().chain(folded.into_iter().flatten())
}

/// The text on one line: runs of spaces, line breaks, control and direction characters become one space.
pub fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if is_steering(c) { ' ' } else { c }).collect();
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
    use proptest::prelude::*;

    #[test]
    fn folds_case_and_width() {
        for (one, other) in [
            ("Παπαδοπουλος", "ΠΑΠΑΔΟΠΟΥΛΟΣ"),
            ("straße", "STRASSE"),
            ("STRAẞE", "strasse"),
            ("ﬀ", "FF"),
            ("ŉ", "ʼN"),
            ("ᾳ", "ΑΙ"),
            ("ᲀ", "В"),
            ("K", "k"),
        ] {
            assert_eq!(fold(one), fold(other), "{one}");
        }
        assert_ne!(fold("mıke"), fold("mike"));
        assert_eq!(fold("ÀÈΣΔ Ｂ"), "àèσδ b");
        assert_eq!(contains_pattern("50%_A\\"), "%50\\%\\_a\\\\%");
    }

    proptest! {
        // Stored keys are folded again when the rule of folding changes.
        #[test]
        fn a_folded_text_stays(text in any::<String>()) {
            let folded = fold(&text);
            prop_assert_eq!(fold(&folded), folded);
        }

        #[test]
        fn lower_case_makes_no_difference(text in any::<String>()) {
            let lower: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
            prop_assert_eq!(fold(&lower), fold(&text));
        }
    }

    #[test]
    fn a_text_with_breaks_becomes_one_line() {
        assert_eq!(one_line(" a\r\nb\u{2028}c\t\0 d "), "a b c d");
    }
}
