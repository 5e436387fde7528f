//! All texts of the console, in English and Italian: one file for each area in `templates/texts/`, and `common.json`
//! for what several areas say. To add a language: a key beside `en` and `it` there (a test compares them), and its code
//! in [`Language`].

use bailiwick_web::Language;
use minijinja::value::Serde;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The files; no key stands in two of them.
const FILES: &[&str] = &[
    include_str!("../templates/texts/common.json"),
    include_str!("../templates/texts/home.json"),
    include_str!("../templates/texts/imports.json"),
    include_str!("../templates/texts/organizations.json"),
    include_str!("../templates/texts/rebranding.json"),
    include_str!("../templates/texts/systems.json"),
    include_str!("../templates/texts/alerts.json"),
    include_str!("../templates/texts/notifications.json"),
    include_str!("../templates/texts/applications.json"),
    include_str!("../templates/texts/events.json"),
    include_str!("../templates/texts/users.json"),
    include_str!("../templates/texts/account.json"),
    include_str!("../templates/texts/factors.json"),
];

static TEXTS: LazyLock<Value> = LazyLock::new(|| {
    let mut all = Map::new();
    for file in FILES {
        let languages: Map<String, Value> = serde_json::from_str(file).unwrap_or_default();
        for (language, texts) in languages {
            let texts_of_language = all.entry(language).or_insert_with(|| Value::Object(Map::new()));
            if let (Value::Object(texts_of_language), Value::Object(texts)) = (texts_of_language, texts) {
                texts_of_language.extend(texts);
            }
        }
    }
    Value::Object(all)
});

/// The texts as values of the template engine. The conversion takes longer than rendering a page.
static FOR_TEMPLATES: LazyLock<minijinja::Value> = LazyLock::new(|| Serde(&*TEXTS).into());

/// All texts of a language, as templates read them.
pub(crate) fn for_templates(language: Language) -> minijinja::Value {
    FOR_TEMPLATES.get_attr(language.code()).unwrap_or_default()
}

/// One text; none unless there is one with this key.
pub(crate) fn find(language: Language, key: &str) -> Option<&'static str> {
    TEXTS[language.code()][key].as_str()
}

/// One text, with `{name}` replaced.
pub(crate) fn with(language: Language, key: &str, name: &str, value: &str) -> String {
    find(language, key).unwrap_or_default().replace(&format!("{{{name}}}"), value)
}

/// A text that says a number `{n}`, with its thousands apart; one alone has the text `<key>_one`.
pub(crate) fn count(language: Language, key: &str, number: u64) -> String {
    let singular = (number == 1).then(|| find(language, &format!("{key}_one"))).flatten();
    let text = singular.or_else(|| find(language, key)).unwrap_or_default();
    text.replace("{n}", &grouped(language, &number.to_string()))
}

/// A whole number with its thousands apart, as the language writes it.
pub(crate) fn grouped(language: Language, digits: &str) -> String {
    let separator = if language == Language::Italian { '.' } else { ',' };
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && is_number {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;

    #[test]
    fn both_languages_say_the_same_things() {
        let keys = |language: &str| -> Vec<String> {
            let texts = TEXTS[language].as_object().unwrap();
            assert!(texts.values().all(|text| text.as_str().is_some_and(|text| !text.is_empty())));
            texts.keys().cloned().collect()
        };
        assert_eq!(keys("en"), keys("it"));
    }

    #[test]
    fn no_text_stands_in_two_files() {
        let count =
            |file: &&str| serde_json::from_str::<Value>(file).unwrap()["en"].as_object().unwrap().len();
        assert_eq!(FILES.iter().map(count).sum::<usize>(), TEXTS["en"].as_object().unwrap().len());
    }

    #[test]
    fn numbers_stand_apart_by_thousands_and_one_is_singular() {
        for (digits, shown) in [("0", "0"), ("999", "999"), ("1000", "1,000"), ("1234567", "1,234,567")] {
            assert_eq!(grouped(Language::English, digits), shown);
        }
        assert_eq!(count(Language::English, "goes_users", 1), "1 user");
        assert_eq!(count(Language::English, "goes_users", 6_500), "6,500 users");
        assert_eq!(count(Language::Italian, "goes_users", 6_500), "6.500 utenti");
    }

    #[test]
    fn the_same_places_are_filled() {
        let placeholders = |text: &str| {
            let mut found: Vec<String> =
                text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect();
            found.sort();
            found
        };
        for (key, text) in TEXTS["en"].as_object().unwrap() {
            let other = TEXTS["it"][key].as_str().unwrap();
            assert_eq!(placeholders(text.as_str().unwrap()), placeholders(other), "{key}");
        }
    }
}
