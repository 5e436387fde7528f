//! The language of pages: English unless the browser prefers another one.

use bailiwick_domain::Language;
use http::{HeaderMap, header};

/// The supported language that the browser prefers.
pub fn language_of(headers: &HeaderMap) -> Language {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let mut best = (Language::English, 0.0);
    for range in accepted.split(',') {
        let (tag, quality) = range.split_once(';').unwrap_or((range, ""));
        let weight = quality.trim().strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).unwrap_or(1.0);
        let primary = tag.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
        let Some(language) = Language::parse(&primary) else { continue };
        if weight > best.1 {
            best = (language, weight);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_browser_chooses_the_language() {
        let of = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_str(accept).unwrap());
            language_of(&headers)
        };
        assert_eq!(language_of(&HeaderMap::new()), Language::English);
        for italian in ["it", "it-IT,it;q=0.9,en;q=0.8", "de, it;q=0.5, en;q=0.4", "en;q=0.1,IT-ch"] {
            assert_eq!(of(italian), Language::Italian, "{italian}");
        }
        for english in ["en-GB,it;q=0.9", "de", "it;q=0", "*", "", ";;,q="] {
            assert_eq!(of(english), Language::English, "{english}");
        }
    }
}
