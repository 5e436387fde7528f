//! The parts that notifications of every kind share: their language, its words, and the settings that messages show.

use serde_json::Value;
use std::sync::LazyLock;

pub use bailiwick_domain::{Language, Pages};

static TEXTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../templates/texts.json")).unwrap_or_default());

/// Names of the display values, in the order in which they are shown.
pub(crate) const SHOWN: [&str; 7] = [
    "system_name",
    "system_type",
    "system_fqdn",
    "system_ipv4",
    "organization_name",
    "organization_type",
    "organization_vat",
];

/// A word of the messages in a language.
pub(crate) fn word(language: Language, key: &str) -> &'static str {
    TEXTS[language.code()][key].as_str().unwrap_or_default()
}

/// The text that calls a template: `{{ template "alert_en.subject" . }}`.
pub(crate) fn call(name: &str, language: Language, part: &str) -> String {
    format!("{{{{ template \"{name}_{}.{part}\" . }}}}", language.code())
}

/// The language of a word in a configuration; empty is the default.
pub(crate) fn language(word: &str, default: Language) -> Option<Language> {
    if word.is_empty() { Some(default) } else { Language::parse(word) }
}

/// The settings that messages show besides the alert.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where links lead.
    pub pages: Pages,
    /// Of the times.
    pub zone: Zone,
}

/// A time zone as its differences to UTC: plain data that needs no look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Whenever nothing else holds.
    pub base: Offset,
    /// Summer times and other changes: in `from ≤ t < until`, seconds since 1970.
    pub others: Vec<(Offset, Vec<(i64, i64)>)>,
}

/// A difference to UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// To be added to UTC.
    pub seconds: i64,
    /// `CET`
    pub name: String,
}

impl Zone {
    /// UTC.
    pub fn utc() -> Zone {
        Zone { base: Offset { seconds: 0, name: "UTC".to_owned() }, others: Vec::new() }
    }

    /// The offset at a time, in seconds since 1970.
    pub fn at(&self, unix: i64) -> &Offset {
        let holds = |spans: &[(i64, i64)]| spans.iter().any(|(from, until)| (*from..*until).contains(&unix));
        self.others.iter().find(|(_, spans)| holds(spans)).map_or(&self.base, |(offset, _)| offset)
    }
}
