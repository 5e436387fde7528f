//! The filter of the log: `info`, or `warn,bailiwick_api=debug,sqlx=off`.

use super::value::{Value, ValueType};

/// The levels, from few lines to many.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// The crates of the service: the first word of the targets of its own lines is `bailiwick_` and one of these, or
/// `bailiwick` alone for all.
const CRATES: [&str; 22] = [
    "alertmanager",
    "alerts",
    "api",
    "app",
    "console",
    "demo",
    "directory",
    "domain",
    "events",
    "export",
    "fleet",
    "guide",
    "identity",
    "inventory",
    "outbound",
    "platform",
    "policy",
    "server",
    "settings",
    "store",
    "testkit",
    "web",
];

/// A level for all lines, and levels for those of named parts of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// For the subscriber. Where only parts of the program are named, the errors of all others are logged too.
    pub fn directives(&self) -> String {
        let has_level = self.0.split(',').any(|directive| !directive.contains('='));
        if has_level { self.0.clone() } else { format!("{},{}", LEVELS[0], self.0) }
    }
}

impl Value for LogFilter {
    const KIND: ValueType = ValueType::text("log filter");
    fn parse(text: &str) -> Result<Self, String> {
        let directives = text.split(',').map(|directive| checked(directive.trim()));
        Ok(LogFilter(directives.collect::<Result<Vec<_>, _>>()?.join(",")))
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// A level, or `target=level`.
fn checked(directive: &str) -> Result<String, String> {
    let Some((target, level)) = directive.split_once('=') else {
        let level = directive.to_ascii_lowercase();
        return if LEVELS.contains(&level.as_str()) {
            Ok(level)
        } else {
            Err(format!("has the level `{directive}`, which is not one of {}", LEVELS.join(", ")))
        };
    };
    let (target, level) = (target.trim(), level.trim().to_ascii_lowercase());
    if level != "off" && !LEVELS.contains(&level.as_str()) {
        return Err(format!("has `{directive}`, whose level is not one of off, {}", LEVELS.join(", ")));
    }
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    let first = target.split("::").next().unwrap_or_default();
    let is_ours = first.strip_prefix("bailiwick_").is_none_or(|name| CRATES.contains(&name));
    if !target.split("::").all(is_word) || !is_ours {
        return Err(format!(
            "has `{directive}`, whose target is not a part of the program such as `bailiwick_api` or `sqlx::query`"
        ));
    }
    Ok(format!("{target}={level}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs, path::Path};

    #[test]
    fn a_filter_has_known_levels_and_targets() {
        for (text, directives) in [
            ("info", "info"),
            ("WARN", "warn"),
            ("warn, bailiwick_api=debug", "warn,bailiwick_api=debug"),
            ("bailiwick_api=debug", "error,bailiwick_api=debug"),
            ("bailiwick=trace,sqlx::query=off", "error,bailiwick=trace,sqlx::query=off"),
        ] {
            assert_eq!(LogFilter::parse(text).unwrap().directives(), directives);
            tracing_subscriber::EnvFilter::builder().parse(directives).unwrap();
        }
        for text in [
            "",
            "warning",
            "err",
            "verbose",
            "trace2",
            "5",
            "info,",
            "info,bailiwick_api",
            "bailiwick=infoo",
            "bailiwick_ap=debug",
            "=debug",
            "bailiwick_api=",
            "bailiwick_api::=debug",
            "[request]=debug",
            "a b=info",
        ] {
            assert!(LogFilter::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_crates_are_those_of_the_repository() {
        let crates = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        let found: BTreeSet<String> =
            crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(found, CRATES.map(str::to_owned).into());
    }
}
