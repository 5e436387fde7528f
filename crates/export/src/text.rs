//! Small texts of the exports: times and cuts.

use bailiwick_domain::Ts;
use unicode_normalization::char::is_combining_mark;

/// `2026-02-26 10:15:30 UTC`.
pub(crate) fn second(at: Ts) -> String {
    let text = at.rfc3339(0);
    text.replacen('T', " ", 1).replacen('Z', " UTC", 1)
}

/// The time as [`second`] writes it; empty when there is none.
pub(crate) fn second_or_empty(at: Option<Ts>) -> String {
    at.map(second).unwrap_or_default()
}

/// `2026-02-26 10:15`.
pub(crate) fn minute(at: Ts) -> String {
    let mut text = second(at);
    text.truncate(text.len().saturating_sub(":30 UTC".len()));
    text
}

/// At most `most` characters; a longer text ends in an ellipsis. Never separates a letter from its accents.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut ends = text.char_indices().map(|(at, _)| at);
    let Some(last) = ends.by_ref().nth(most.saturating_sub(1)) else { return text.to_owned() };
    if ends.next().is_none() {
        return text.to_owned();
    }
    format!("{}…", text[..unmarked(text, last)].trim_end())
}

/// The nearest place at or before `at` that is not between a letter and its accents.
pub(crate) fn unmarked(text: &str, at: usize) -> usize {
    let mut at = at;
    while text[at..].chars().next().is_some_and(is_combining_mark) {
        match text[..at].char_indices().next_back() {
            Some((before, _)) => at = before,
            None => return 0,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_times() {
        let at = Ts(1_772_100_930_999_999);
        assert_eq!(second(at), "2026-02-26 10:15:30 UTC");
        assert_eq!(minute(at), "2026-02-26 10:15");
        assert_eq!(second_or_empty(None), "");
    }

    #[test]
    fn cuts_at_characters() {
        assert_eq!(cut("", 3), "");
        assert_eq!(cut("Ωμέ", 3), "Ωμέ");
        assert_eq!(cut("Ωμέγα", 3), "Ωμ…");
        assert_eq!(cut("ab cd", 4), "ab…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 4), "e\u{301}…");
        assert_eq!(cut("\u{301}\u{301}\u{301}", 2), "…");
        assert_eq!(cut("日本語日本語", 2), "日…");
    }
}
