//! What people see of a text: characters that show nothing, and characters that change how the text around them is
//! shown.

/// Whether the character leads to other places or directions in a text: control characters, line and paragraph
/// separators, and the formatting characters of the bidirectional algorithm (Unicode Standard Annex 9, section 2).
pub const fn is_steering(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the character takes part in a text without showing anything: the default ignorable code points of the
/// Unicode Standard (section 5.21), such as joiners, variation selectors and direction marks.
pub const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a reader would see nothing. An empty pattern of Braille is a blank too.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c) || c == '\u{2800}')
}

/// The text as identifiers are compared: without white space and without characters that nobody sees.
pub fn visible_chars(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control() && !is_invisible(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_show_nothing_are_blank() {
        for text in ["", " ", "\u{200b}", "\u{2060}\u{feff}", "\u{3164}", "\u{2800} ", "\t\u{a0}\n", "\u{ad}"]
        {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", ".", "\u{200b}x", "日", "\u{1f468}\u{200d}\u{1f469}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn joiners_do_not_steer() {
        // Persian and emoji need them.
        assert!(!['\u{200c}', '\u{200d}', '\u{fe0f}', ' ', 'a', '\u{a0}'].into_iter().any(is_steering));
        let steering =
            "\0\t\n\u{1b}\u{7f}\u{85}\u{92}\u{61c}\u{200e}\u{200f}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069}";
        assert!(steering.chars().all(is_steering));
    }

    #[test]
    fn identifiers_are_compared_by_their_visible_characters() {
        assert_eq!(visible_chars(" IT\u{200e}01\u{a0}2\u{7f}3 ").collect::<String>(), "IT0123");
    }
}
