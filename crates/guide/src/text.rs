//! Words of texts: anchors of headings, and the words that a search compares.

/// The anchor of a heading as GitHub makes it; `taken`: anchors of the page so far.
pub(crate) fn anchor(heading: &str, taken: impl Fn(&str) -> bool) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let plain: String = heading.trim().to_lowercase().chars().filter(is_kept).collect();
    let plain = plain.replace(' ', "-");
    let mut number = 0;
    loop {
        let anchor = if number == 0 { plain.clone() } else { format!("{plain}-{number}") };
        if !taken(&anchor) {
            return anchor;
        }
        number += 1;
    }
}

/// The words of a text with the places of their bytes, in lower case. An identifier like `getSystem` is one word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, usize, String)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while rest.next_if(|(_, c)| !c.is_alphanumeric()).is_some() {}
        let start = rest.peek()?.0;
        let mut word = String::new();
        let mut end = start;
        while let Some((at, c)) = rest.next_if(|(_, c)| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
            end = at + c.len_utf8();
        }
        Some((start, end, word))
    })
}

/// The parts of an identifier like `getSystem`, after the first; none of other words.
pub(crate) fn parts(word: &str) -> impl Iterator<Item = String> {
    let starts = word.char_indices().filter(|(at, c)| *at > 0 && c.is_uppercase()).map(|(at, _)| at);
    let starts: Vec<usize> = starts.collect();
    let starts = if starts.len() + 1 < word.chars().count() { starts } else { Vec::new() };
    let ends = starts.iter().skip(1).copied().chain([word.len()]).collect::<Vec<_>>();
    let parts: Vec<String> = starts
        .into_iter()
        .zip(ends)
        .filter_map(|(from, to)| Some(word.get(from..to)?.to_lowercase()))
        .collect();
    parts.into_iter()
}

/// The text with what HTML gives a meaning to escaped, also for attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The text as a value in the query of an address.
pub(crate) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        for (heading, wanted) in [
            ("Where is what", "where-is-what"),
            ("`GET /docs`, and more", "get-docs-and-more"),
            ("A – B", "a--b"),
            ("Città_è-1", "città_è-1"),
        ] {
            assert_eq!(anchor(heading, |_| false), wanted);
        }
        assert_eq!(anchor("Same", |taken| ["same", "same-1"].contains(&taken)), "same-2");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let found: Vec<_> = words("É tokens.fresh_sign_in 'x1'").map(|(.., word)| word).collect();
        assert_eq!(found, ["é", "tokens", "fresh", "sign", "in", "x1"]);
        assert_eq!(parts("getSystemKey").collect::<Vec<_>>(), ["system", "key"]);
        assert!(parts("SYSTEM").next().is_none() && parts("Word").next().is_none());
    }
}
