//! Types of settings of messages: the addresses webhooks may have, language and time zone.

use super::value::{Choice, Value, ValueType};
use bailiwick_alerts::zone_named;
use bailiwick_domain::{Language, host::canonical_host};
use bailiwick_settings::{Network, Zone};

/// A host name, address or range of addresses that webhooks may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedHost {
    /// A name, in small letters.
    Name(String),
    /// A range.
    Range(Network),
}

impl Value for AllowedHost {
    const KIND: ValueType = ValueType::text("host or address range");
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(range) = Network::parse(text) {
            return Ok(AllowedHost::Range(range));
        }
        let text = canonical_host(text);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let is_name = starts && text.chars().all(plain) && text.contains(|c: char| c.is_ascii_alphabetic());
        let why = "is not a host name, an IP address or a range like 10.0.0.0/8";
        if is_name { Ok(AllowedHost::Name(text.to_ascii_lowercase())) } else { Err(why.into()) }
    }
    fn show(&self) -> Option<String> {
        match self {
            AllowedHost::Name(name) => Some(name.clone()),
            AllowedHost::Range(range) => range.show(),
        }
    }
}

impl Choice for Language {
    const NAME: &'static str = "language";
    const WORDS: &'static [&'static str] = &["en", "it"];
    const VALUES: &'static [Self] = &Language::ALL;
}

/// A time zone by its name in the database of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeZone {
    name: String,
    zone: Zone,
}

impl TimeZone {
    /// Its differences to UTC.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }
}

impl Value for TimeZone {
    const KIND: ValueType = ValueType::text("time zone");
    fn parse(text: &str) -> Result<Self, String> {
        let zone =
            zone_named(text).ok_or("is not a time zone that this system knows, like UTC or Europe/Rome")?;
        Ok(TimeZone { name: text.to_owned(), zone })
    }
    fn show(&self) -> Option<String> {
        Some(self.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_addresses_or_ranges() {
        assert_eq!(AllowedHost::parse("Chat.Internal"), Ok(AllowedHost::Name("chat.internal".into())));
        let name = AllowedHost::Name("chat.xn--mnchen-3ya.example".into());
        assert_eq!(AllowedHost::parse("chat.münchen.example"), Ok(name));
        for text in ["10.0.0.0/8", "::1/128"] {
            assert_eq!(AllowedHost::parse(text).unwrap().show().unwrap(), text);
        }
        for text in ["", "http://x", "a b", "10.0.0.0/40", "1.2.3", "-x", "a:80"] {
            assert!(AllowedHost::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn time_zones_are_known_to_the_system() {
        let rome = TimeZone::parse("Europe/Rome").unwrap();
        assert_eq!((rome.show().unwrap(), rome.zone().base.seconds), ("Europe/Rome".to_owned(), 3600));
        assert!(TimeZone::parse("Mars/Olympus").is_err());
    }
}
