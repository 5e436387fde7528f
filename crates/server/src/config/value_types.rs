//! The settings' own types: secrets, words, enumerations.

use super::value::{Choice, Form, Text, Value, ValueType};
use bailiwick_domain::OrgType;
use bailiwick_settings::{
    CatalogueEntry, IdentityMode, ImpersonationScope, Issuer, Logto, RemoteRouter, Router, RouterKind,
    SecondFactorMode, Security,
};

/// The text shown in place of a secret.
pub(super) const COVERED: &str = "***";

/// A text that no log, error or report ever shows.
pub type Secret = bailiwick_platform::Secret<String>;

impl Value for Secret {
    const KIND: ValueType = ValueType { secret: true, ..ValueType::text("secret") };
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("is empty".into()) } else { Ok(Secret::new(text.to_owned())) }
    }
    fn show(&self) -> Option<String> {
        Some(COVERED.into())
    }
}

impl Text for Word {
    fn text(&self) -> &str {
        self.as_str()
    }
}

/// One path segment or word of `A-Z a-z 0-9 - _ .`, which needs no escaping anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(String);

/// A name of alerts with its severity and maybe its service.
impl Value for CatalogueEntry {
    const KIND: ValueType = ValueType {
        pattern: Some("^[^:,]+:[^:,]+(:[^:,]+)?$"),
        ..ValueType::text("name:severity[:service]")
    };
    fn parse(text: &str) -> Result<Self, String> {
        CatalogueEntry::parse(text)
            .ok_or_else(|| "is not like `DiskFull:critical` or `DiskFull:critical:storage`".into())
    }
    fn show(&self) -> Option<String> {
        let CatalogueEntry { name, severity, service } = self;
        let service = service.as_ref().map(|service| format!(":{service}")).unwrap_or_default();
        Some(format!("{name}:{severity}{service}"))
    }
}

impl Word {
    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Word {
    const KIND: ValueType =
        ValueType { pattern: Some("^[A-Za-z0-9][A-Za-z0-9_.-]*$"), ..ValueType::text("word") };
    fn parse(text: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts && text.chars().all(plain) {
            Ok(Word(text.into()))
        } else {
            Err("is not a word of letters, digits, `-`, `_` and `.`".into())
        }
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// The mode alone; its issuer or tenant comes from the sections of its own.
impl Value for IdentityMode {
    const KIND: ValueType =
        ValueType { choices: &["embedded", "oidc", "logto"], ..ValueType::text("identity mode") };
    fn parse(text: &str) -> Result<Self, String> {
        let issuer = || Issuer::new("", "");
        match text {
            "embedded" => Ok(IdentityMode::Embedded),
            "oidc" => Ok(IdentityMode::Oidc(Box::new(issuer()))),
            "logto" => Ok(IdentityMode::Logto(Box::new(Logto::new(issuer(), "", "")))),
            _ => Err(Self::KIND.refuse()),
        }
    }
    fn show(&self) -> Option<String> {
        let word = match self {
            IdentityMode::Embedded => "embedded",
            IdentityMode::Oidc(_) => "oidc",
            IdentityMode::Logto(_) => "logto",
        };
        Some(word.to_owned())
    }
}

/// The mode of alerting (spec: alerts#settings); the remote router comes from its own section.
impl Value for Router {
    const KIND: ValueType =
        ValueType { choices: &["embedded", "remote"], ..ValueType::text("alerting mode") };
    fn parse(text: &str) -> Result<Self, String> {
        let (url, prefix) = (String::new(), String::new());
        match text {
            "embedded" => Ok(Router::Embedded),
            "remote" => Ok(Router::Remote(RemoteRouter {
                url,
                prefix,
                kind: RouterKind::Mimir,
                is_provisioned: true,
            })),
            _ => Err(Self::KIND.refuse()),
        }
    }
    fn show(&self) -> Option<String> {
        let word = match self {
            Router::Embedded => "embedded",
            Router::Remote(_) => "remote",
        };
        Some(word.to_owned())
    }
}

impl Choice for ImpersonationScope {
    const NAME: &'static str = "impersonation scope";
    const WORDS: &'static [&'static str] = &["consent", "hierarchy"];
    const VALUES: &'static [Self] = &[ImpersonationScope::Consent, ImpersonationScope::Hierarchy];
}

impl Choice for SecondFactorMode {
    const NAME: &'static str = "second factor mode";
    const WORDS: &'static [&'static str] = &["off", "optional", "required"];
    const VALUES: &'static [Self] =
        &[SecondFactorMode::Off, SecondFactorMode::Optional, SecondFactorMode::Required];
}

impl Choice for OrgType {
    const NAME: &'static str = "level";
    const WORDS: &'static [&'static str] = &["owner", "distributor", "reseller", "customer"];
    const VALUES: &'static [Self] = &OrgType::ALL;
}

impl Choice for RouterKind {
    const NAME: &'static str = "router kind";
    const WORDS: &'static [&'static str] = &["mimir", "cortex", "plain"];
    const VALUES: &'static [Self] = &[RouterKind::Mimir, RouterKind::Cortex, RouterKind::Plain];
}

impl Choice for Security {
    const NAME: &'static str = "mail security";
    const WORDS: &'static [&'static str] = &["starttls", "tls", "none"];
    const VALUES: &'static [Self] = &[Security::StartTls, Security::Tls, Security::None];
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people; coloured on a terminal.
    Text,
    /// One JSON object per line.
    Json,
}

impl Choice for LogFormat {
    const NAME: &'static str = "log format";
    const WORDS: &'static [&'static str] = &["text", "json"];
    const VALUES: &'static [Self] = &[LogFormat::Text, LogFormat::Json];
}

/// A part of the whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(pub f64);

impl Value for Ratio {
    const KIND: ValueType = ValueType { form: Form::Number, ..ValueType::text("number from 0 to 1") };
    fn parse(text: &str) -> Result<Self, String> {
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.map(Ratio).ok_or_else(|| "is not a number from 0 to 1".into())
    }
    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_print() {
        let secret = Secret::new("hunter2".to_owned());
        assert!(!format!("{secret:?} {:?}", Some(&secret)).contains("hunter2"));
        assert_eq!(secret.show().unwrap(), "***");
    }
}
