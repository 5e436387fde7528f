//! The part of the Alertmanager configuration that this service writes (spec: alert-delivery#generated-configuration).
//! Reading a document back refuses unknown keys, because it must equal the document that was written.

use crate::{receivers::ReceiverConfig, redacted::secret};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, time::Duration};

/// The whole document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The settings that all receivers share.
    pub global: Global,
    /// The root of the routing tree.
    pub route: Route,
    /// Receivers that the tree names.
    pub receivers: Vec<ReceiverConfig>,
    /// Names of template files.
    pub templates: Vec<String>,
}

/// The settings that all receivers share.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Global {
    /// Life of an alert pushed without end.
    pub resolve_timeout: Span,
    /// Mail server, with its port.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_secret")]
    pub smtp_smarthost: Option<String>,
    /// Sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_from: Option<String>,
    /// Account at the mail server.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_secret")]
    pub smtp_auth_username: Option<String>,
    /// Its password.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_secret")]
    pub smtp_auth_password: Option<String>,
    /// Whether mail goes only over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_require_tls: Option<bool>,
}

/// A node of the routing tree. Absent values are inherited from the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// All must match; none: matches everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matchers: Vec<String>,
    /// Name of the receiver.
    pub receiver: String,
    /// Whether later siblings are looked at too.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continues: Option<bool>,
    /// Labels that make a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_by: Option<Vec<String>>,
    /// Wait before the first message of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_wait: Option<Span>,
    /// Wait before the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_interval: Option<Span>,
    /// After which time a message without news is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_interval: Option<Span>,
    /// Looked at before the node itself, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

impl Route {
    /// A node that names its receiver and inherits the rest.
    pub fn to(receiver: impl Into<String>) -> Route {
        Route {
            matchers: Vec::new(),
            receiver: receiver.into(),
            continues: None,
            group_by: None,
            group_wait: None,
            group_interval: None,
            repeat_interval: None,
            routes: Vec::new(),
        }
    }
}

// Secrets do not print.
impl fmt::Debug for Global {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (timeout, smarthost) = (&self.resolve_timeout, &self.smtp_smarthost);
        f.debug_struct("Global")
            .field("resolve_timeout", timeout)
            .field("smtp_smarthost", smarthost)
            .finish_non_exhaustive()
    }
}

fn some_secret<S: Serializer>(value: &Option<String>, s: S) -> Result<S::Ok, S::Error> {
    secret(value.as_deref().unwrap_or_default(), s)
}

/// A time as an Alertmanager writes it: `6h`, `1h30m`, `500ms`. Kept to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

const UNITS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if left == 0 {
            return f.write_str("0s");
        }
        // Weeks and days are read, but people write hours.
        for (unit, millis) in &UNITS[2..] {
            if left >= *millis {
                write!(f, "{}{unit}", left / millis)?;
                left %= millis;
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let wrong = || format!("not a duration: \"{text}\"");
        let (mut rest, mut millis, mut units) = (text, 0_u64, &UNITS[..]);
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, tail) = rest.split_at(digits);
            let unit_len = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (unit, tail) = tail.split_at(unit_len);
            let unit_at = units.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?;
            let number: u64 = number.parse().map_err(|_| wrong())?;
            let factor = units[unit_at].1;
            millis = number.checked_mul(factor).and_then(|n| n.checked_add(millis)).ok_or_else(wrong)?;
            // Each unit once, the larger first.
            units = &units[unit_at + 1..];
            rest = tail;
        }
        if text.is_empty() { Err(wrong()) } else { Ok(Span(Duration::from_millis(millis))) }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Span, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_router_reads_them() {
        for (secs, text) in
            [(21_600, "6h"), (30, "30s"), (300, "5m"), (43_200, "12h"), (5400, "1h30m"), (0, "0s")]
        {
            let span = Span(Duration::from_secs(secs));
            assert_eq!((span.to_string().as_str(), text.parse()), (text, Ok(span)));
        }
        let span = Span(Duration::from_millis(1500));
        assert_eq!((span.to_string(), "1s500ms".parse()), ("1s500ms".to_owned(), Ok(span)));
        assert_eq!("1w2d".parse(), Ok(Span(Duration::from_secs(9 * 86_400))));
        for wrong in ["", "5", "h", "5x", "1m1h", "1h1h", "-1s", "99999999999999999w"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }
}
