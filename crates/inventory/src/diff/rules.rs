//! Classifies changes: category, severity and significance (spec: inventory-changes#category,
//! inventory-changes#significance), by one document of rules. Every rule matches the structural path, never text that
//! was chosen on the appliance.

use super::{
    Category, ChangeKind, Severity,
    number::{Decimal, compare_change},
};
use bailiwick_domain::json::Json;
use serde::Deserialize;
use std::{cmp::Ordering, fmt, sync::LazyLock};

/// A set of rules, checked and ready for use.
///
/// A pattern that starts with `facts.` matches a prefix of the structural path, `^…$` all of it, `^…` a prefix, and any
/// other pattern matches anywhere in it.
#[derive(Debug)]
pub struct Rules {
    categories: Vec<(Category, Patterns)>,
    severities: Vec<(Severity, ChangeKind, Patterns)>,
    large_change: LargeChange,
    never: Patterns,
    small: (u32, Patterns),
    always: Always,
    noise: Patterns,
}

/// Why a document of rules cannot be used.
#[derive(Debug)]
pub struct RulesError(String);

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RulesError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    categories: Vec<CategoryRule>,
    severities: Vec<SeverityRule>,
    large_change: LargeChange,
    significance: Significance,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryRule {
    category: Category,
    patterns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeverityRule {
    severity: Severity,
    change: ChangeKind,
    patterns: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LargeChange {
    percent: u32,
    severity: Severity,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Significance {
    never: Vec<String>,
    small_values: SmallValues,
    always: AlwaysRule,
    noise: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SmallValues {
    percent: u32,
    patterns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AlwaysRule {
    severities: Vec<Severity>,
    categories: Vec<Category>,
    changes: Vec<ChangeKind>,
    patterns: Vec<String>,
}

#[derive(Debug)]
struct Always {
    severities: Vec<Severity>,
    categories: Vec<Category>,
    changes: Vec<ChangeKind>,
    patterns: Patterns,
}

/// Largest percentage that makes sense in a rule.
const MAX_PERCENT: u32 = 1_000_000;

impl Rules {
    /// The rules of the specification, compiled once for each process.
    pub fn standard() -> &'static Rules {
        static STANDARD: LazyLock<Rules> = LazyLock::new(|| {
            // They are part of the program, and a test compiles them.
            Rules::compile(include_str!("rules.json")).unwrap_or_else(|e| unreachable!("{e}"))
        });
        &STANDARD
    }

    /// Checks a document of rules. It replaces the standard ones as a whole; `rules.json` beside this file shows the
    /// form.
    pub fn compile(text: &str) -> Result<Rules, RulesError> {
        let file: RulesFile = serde_json::from_str(text).map_err(|e| RulesError(e.to_string()))?;
        let percents = [file.large_change.percent, file.significance.small_values.percent];
        if percents.iter().any(|&percent| percent > MAX_PERCENT) {
            return Err(RulesError(format!("a percentage is above {MAX_PERCENT}")));
        }
        let always = file.significance.always;
        Ok(Rules {
            categories: file
                .categories
                .into_iter()
                .map(|rule| Ok((rule.category, Patterns::compile(rule.patterns)?)))
                .collect::<Result<_, RulesError>>()?,
            severities: file
                .severities
                .into_iter()
                .map(|rule| Ok((rule.severity, rule.change, Patterns::compile(rule.patterns)?)))
                .collect::<Result<_, RulesError>>()?,
            large_change: file.large_change,
            never: Patterns::compile(file.significance.never)?,
            small: (
                file.significance.small_values.percent,
                Patterns::compile(file.significance.small_values.patterns)?,
            ),
            always: Always {
                severities: always.severities,
                categories: always.categories,
                changes: always.changes,
                patterns: Patterns::compile(always.patterns)?,
            },
            noise: Patterns::compile(file.significance.noise)?,
        })
    }

    /// Category and severity of a change; none if the change is insignificant.
    pub(super) fn judge(
        &self,
        path: &str,
        kind: ChangeKind,
        previous: Option<&Json<'_>>,
        current: Option<&Json<'_>>,
    ) -> Option<(Category, Severity)> {
        if self.never.fit(path) {
            return None;
        }
        let change = || number_of(previous?).zip(number_of(current?));
        if self.small.1.fit(path)
            && let Some((before, after)) = change()
            && compare_change(&before, &after, self.small.0) == Ordering::Less
        {
            return None;
        }
        let category = self.category(path);
        let severity = self.severity(path, kind).unwrap_or_else(|| match change() {
            Some((before, after))
                if compare_change(&before, &after, self.large_change.percent) == Ordering::Greater =>
            {
                self.large_change.severity
            }
            _ => Severity::Low,
        });
        let always = &self.always;
        let is_kept = always.severities.contains(&severity)
            || always.categories.contains(&category)
            || always.changes.contains(&kind)
            || always.patterns.fit(path)
            || !self.noise.fit(path);
        is_kept.then_some((category, severity))
    }

    fn category(&self, path: &str) -> Category {
        let fitting = self.categories.iter().find(|(_, patterns)| patterns.fit(path));
        fitting.map_or(Category::System, |(category, _)| *category)
    }

    /// The severity by the patterns; none when no pattern matches.
    fn severity(&self, path: &str, kind: ChangeKind) -> Option<Severity> {
        let fitting =
            self.severities.iter().find(|(_, change, patterns)| *change == kind && patterns.fit(path));
        fitting.map(|(severity, ..)| *severity)
    }
}

/// A number, also if it is written as a text.
fn number_of(value: &Json<'_>) -> Option<Decimal> {
    match value {
        Json::Num(literal) => Decimal::parse(literal),
        Json::Str(text) => Decimal::parse(text),
        _ => None,
    }
}

#[derive(Debug, Default)]
struct Patterns {
    starts: Vec<String>,
    wholes: Vec<String>,
    words: Vec<String>,
}

impl Patterns {
    fn compile(texts: Vec<String>) -> Result<Patterns, RulesError> {
        let mut patterns = Patterns::default();
        for text in texts {
            if text.is_empty() || text.chars().any(char::is_uppercase) {
                return Err(RulesError(format!("pattern \"{text}\" is empty or not lower case")));
            }
            let whole = text.strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
            match (whole, text.strip_prefix('^')) {
                (Some(whole), _) => patterns.wholes.push(whole.to_owned()),
                (None, Some(start)) => patterns.starts.push(start.to_owned()),
                (None, None) if text.starts_with("facts.") => patterns.starts.push(text),
                (None, None) => patterns.words.push(text),
            }
        }
        Ok(patterns)
    }

    fn fit(&self, path: &str) -> bool {
        self.starts.iter().any(|start| path.starts_with(start.as_str()))
            || self.wholes.iter().any(|whole| path == whole)
            || self.words.iter().any(|word| path.contains(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_rules_are_valid() {
        let rules = Rules::compile(include_str!("rules.json")).unwrap();
        assert_eq!((rules.categories.len(), rules.severities.len(), rules.never.wholes.len()), (9, 9, 9));
        assert!(std::ptr::eq(Rules::standard(), Rules::standard()));
    }

    #[test]
    fn wrong_rules_are_refused() {
        let standard = include_str!("rules.json");
        for (from, to, why) in [
            ("\"modules\"", "\"module\"", "unknown variant"),
            ("\"critical\"", "\"fatal\"", "unknown variant"),
            ("\"delete\"", "\"remove\"", "unknown variant"),
            ("\"large_change\"", "\"larger_change\"", "unknown field"),
            ("\"noise\"", "\"nose\"", "unknown field"),
            ("\"debug\"", "\"\"", "is empty"),
            ("\"debug\"", "\"Debug\"", "not lower case"),
            ("\"percent\": 5", "\"percent\": -5", "invalid value"),
            ("\"percent\": 20", "\"percent\": 1000001", "percentage"),
            ("{", "[", "invalid type"),
        ] {
            let error = Rules::compile(&standard.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(why), "{from} → {to}: {error}");
        }
    }
}
