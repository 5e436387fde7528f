//! Keywords that a query may use, each with its meaning. The table that parses a word is the one that the interface
//! document lists, so the two cannot differ.

/// The words of one key of a query.
#[derive(Clone, Copy, Debug)]
pub struct Keywords<T: 'static>(&'static [(&'static str, T)]);

impl<T: Copy> Keywords<T> {
    /// From each word and its meaning; two words may mean the same.
    pub const fn of(table: &'static [(&'static str, T)]) -> Keywords<T> {
        Keywords(table)
    }

    /// The value of exactly this word.
    pub fn parse(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(keyword, _)| *keyword == word).map(|(_, meaning)| *meaning)
    }

    /// The value of this word, in any case.
    pub fn parse_in_any_case(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word)).map(|(_, meaning)| *meaning)
    }

    /// The words, in order.
    pub fn list(&self) -> Vec<&'static str> {
        self.0.iter().map(|(word, _)| *word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_what_stands_beside_it() {
        const WORDS: Keywords<u8> = Keywords::of(&[("one", 1), ("eins", 1), ("two", 2)]);
        assert_eq!(WORDS.list(), ["one", "eins", "two"]);
        assert_eq!(["one", "eins", "two"].map(|word| WORDS.parse(word)), [Some(1), Some(1), Some(2)]);
        assert_eq!(["One", "", "three"].map(|word| WORDS.parse(word)), [None; 3]);
        assert_eq!(["One", "", "three"].map(|word| WORDS.parse_in_any_case(word)), [Some(1), None, None]);
    }
}
