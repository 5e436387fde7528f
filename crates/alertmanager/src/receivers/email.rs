//! Recipients of e-mails.

use super::{Check, Content, Field, Input, Recipient, Transport, Variant};
use crate::{
    Severity,
    notify::Message,
    redacted::REDACTED,
    texts::{self, Language, Surroundings},
};
use bailiwick_domain::validate::{Email, Rule, is_mailable, is_too_long};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const MAX_ADDRESS_CHARS: usize = 320;

/// Format of an e-mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text and HTML.
    #[default]
    Html,
    /// Text only.
    Plain,
}

/// A recipient of e-mails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailRecipient {
    /// Mail address.
    pub address: String,
    /// Severities of the alerts it receives; empty = all.
    #[serde(default)]
    pub severities: Vec<Severity>,
    /// Language of the mails.
    #[serde(default)]
    pub language: Language,
    /// Format of the mails.
    #[serde(default)]
    pub format: Format,
}

/// One of `email_recipients`, as posted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EmailDraft {
    pub(crate) address: Option<String>,
    pub(crate) severities: Option<Vec<String>>,
    pub(crate) language: Option<String>,
    pub(crate) format: Option<String>,
}

/// One of `email_configs` of an Alertmanager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmailConfig {
    /// Mail address.
    pub to: String,
    /// Whether resolved alerts are notified too.
    pub send_resolved: bool,
    /// Headers besides the usual ones.
    pub headers: BTreeMap<String, String>,
    /// HTML part; empty = none.
    pub html: String,
    /// Text part.
    pub text: String,
}

impl Recipient for EmailRecipient {
    type Draft = EmailDraft;
    type Config = EmailConfig;

    const MAX: usize = 50;
    const FIELDS: &[Field] = &[
        Field::of("address", Input::Line(MAX_ADDRESS_CHARS)),
        Field::LANGUAGE,
        Field::of("format", Input::Choice(&["html", "plain"])),
        Field::SEVERITIES,
    ];

    fn check(draft: EmailDraft, path: &str, check: &mut Check<'_>) -> Option<EmailRecipient> {
        let address = address(check, &format!("{path}.address"), draft.address.unwrap_or_default());
        let severities = check.severities(path, draft.severities);
        let language = check.language(path, draft.language);
        let format = check.word(&format!("{path}.format"), draft.format, |word| match word {
            "" | "html" => Some(Format::Html),
            "plain" => Some(Format::Plain),
            _ => None,
        });
        Some(EmailRecipient { address: address?, severities, language, format: format? })
    }

    fn key(&self) -> String {
        Email::key_of(&self.address)
    }

    fn severities(&self) -> &[Severity] {
        &self.severities
    }

    fn severities_mut(&mut self) -> &mut Vec<Severity> {
        &mut self.severities
    }

    fn hide(&mut self) {
        REDACTED.clone_into(&mut self.address);
    }

    fn config(&self) -> EmailConfig {
        let part = |part| texts::call("alert", self.language, part);
        EmailConfig {
            to: self.address.clone(),
            send_resolved: true,
            headers: BTreeMap::from([("Subject".to_owned(), part("subject"))]),
            html: if self.format == Format::Html { part("html") } else { String::new() },
            text: part("txt"),
        }
    }

    fn name(&self) -> String {
        self.address.clone()
    }

    fn description(&self) -> String {
        format!("{} ({})", self.address, self.language.code())
    }

    fn language(&self) -> Option<Language> {
        Some(self.language)
    }

    fn format(&self) -> Format {
        self.format
    }

    fn transport(&self) -> Transport<'_> {
        Transport::Mail(&self.address)
    }

    fn content(message: &Message<'_>, variant: &Variant, around: &Surroundings) -> Content {
        Content::Mail {
            subject: message.subject(),
            text: message.text(variant.language, around),
            html: (variant.format == Format::Html).then(|| message.html(variant.language, around)),
        }
    }
}

/// Checks an address at the path `key` and trims it.
pub(crate) fn address(check: &mut Check<'_>, key: &str, address: String) -> Option<String> {
    let address = address.trim().to_owned();
    check.fields.check(key, &address, email_address(&address))?;
    Some(address)
}

fn email_address(address: &str) -> Rule<()> {
    if address.is_empty() {
        return Err("required");
    }
    if is_too_long(address, MAX_ADDRESS_CHARS) {
        return Err("max");
    }
    // A remote router would treat double braces as one of its templates.
    if is_mailable(address) && !address.contains("{{") { Ok(()) } else { Err("invalid_format") }
}
