//! The rules for single fields that recipients share (spec: alert-configuration#layers). Every wrong field is named by
//! its path as sent; its value is returned unless it is a secret.

use crate::{
    Severity,
    redacted::REDACTED,
    texts::{self, Language},
    webhook_target::{AllowedHosts, Target},
};
use bailiwick_domain::{
    validate::{Fields, line},
    visible::is_blank,
};

/// Longest name of a recipient, in characters.
pub(super) const MAX_NAME_CHARS: usize = 100;

/// An address of a webhook with the key of its field, to be resolved before anything is stored.
#[derive(Clone, Debug)]
pub struct WebhookField {
    /// `webhook_recipients.0.url`
    pub key: String,
    /// Where it leads.
    pub target: Target,
}

/// Collects problems, and the webhooks whose names are still to be resolved.
#[derive(Debug)]
pub struct Check<'a> {
    pub(crate) fields: Fields,
    pub(crate) webhooks: Vec<WebhookField>,
    pub(crate) allowed: &'a AllowedHosts,
    pub(crate) language: Language,
}

impl<'a> Check<'a> {
    pub(crate) fn new(allowed: &'a AllowedHosts, language: Language) -> Check<'a> {
        Check { fields: Fields::new(), webhooks: Vec::new(), allowed, language }
    }

    pub(crate) fn count(&mut self, key: &str, count: usize, max: usize) {
        if count > max {
            self.fields.push(key, "max", count.to_string());
        }
    }

    pub(crate) fn severities(&mut self, path: &str, words: Option<Vec<String>>) -> Vec<Severity> {
        let words = words.unwrap_or_default();
        let key = format!("{path}.severities");
        self.count(&key, words.len(), Severity::ALL.len());
        let mut severities = Vec::with_capacity(words.len().min(Severity::ALL.len()));
        for (i, word) in words.iter().take(Severity::ALL.len()).enumerate() {
            let outcome = match Severity::parse(word) {
                None => Err("invalid_value"),
                Some(severity) if severities.contains(&severity) => Err("duplicate"),
                Some(severity) => Ok(severity),
            };
            severities.extend(self.fields.check(&format!("{key}.{i}"), word, outcome));
        }
        severities
    }

    /// A name for people.
    pub(crate) fn name(&mut self, path: &str, name: Option<String>) -> Option<String> {
        let name = name.unwrap_or_default();
        let outcome = match line(&name, MAX_NAME_CHARS) {
            _ if is_blank(&name) => Err("required"),
            Err("too_long") => Err("max"),
            outcome => outcome,
        };
        self.fields.check(&format!("{path}.name"), &name, outcome).map(|()| name)
    }

    /// An address that is posted to; a secret. Its name is noted, to be resolved before anything is stored.
    pub(crate) fn url(&mut self, path: &str, url: Option<String>) -> Option<String> {
        let (url, key) = (url.unwrap_or_default(), format!("{path}.url"));
        let outcome =
            if url.contains(REDACTED) { Err("invalid_value") } else { Target::parse(&url, self.allowed) };
        let target = self.fields.check_secret(&key, outcome)?;
        self.webhooks.push(WebhookField { key, target });
        Some(url)
    }

    pub(crate) fn language(&mut self, path: &str, word: Option<String>) -> Language {
        let default = self.language;
        self.word(&format!("{path}.language"), word, |word| texts::language(word, default)).unwrap_or(default)
    }

    pub(crate) fn word<T>(
        &mut self,
        key: &str,
        word: Option<String>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = word.unwrap_or_default();
        self.fields.check(key, &word, parse(&word).ok_or("invalid_value"))
    }
}
