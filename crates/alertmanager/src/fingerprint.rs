//! The identity of an alert within its tenant (spec: alert-router#fingerprint).

use crate::Labels;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};

/// FNV-1a over the labels; written as 16 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// Cannot occur in UTF-8, so no name and value run into each other.
const SEPARATOR: u8 = 0xff;

impl Fingerprint {
    /// The fingerprint of a label set without empty values.
    pub fn of(labels: &Labels) -> Fingerprint {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        Fingerprint(labels.iter().fold(OFFSET, |hash, (name, value)| {
            let hash = step(name.bytes().fold(hash, step), SEPARATOR);
            step(value.bytes().fold(hash, step), SEPARATOR)
        }))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 16 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAFingerprint;

impl fmt::Display for NotAFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a fingerprint")
    }
}

impl std::error::Error for NotAFingerprint {}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;
    fn from_str(s: &str) -> Result<Fingerprint, NotAFingerprint> {
        if s.len() != 16 || !s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NotAFingerprint);
        }
        u64::from_str_radix(s, 16).map(Fingerprint).map_err(|_| NotAFingerprint)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Fingerprint, D::Error> {
        Cow::<'de, str>::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        for (labels, expected) in [
            (
                vec![("system_key", "NETH-1"), ("alertname", "A"), ("severity", "critical")],
                "9822ee52b31ac95f",
            ),
            (
                vec![("alertname", "DiskFull"), ("severity", "critical"), ("system_key", "NETH-1")],
                "3d877aa4db064864",
            ),
            (
                vec![("alertname", "DiskFull"), ("severity", "critical"), ("system_key", "NETH-2")],
                "3d8b7aa4db0a313b",
            ),
            (
                vec![("alertname", "DiskFull"), ("severity", "warning"), ("system_key", "NETH-2")],
                "0ba29c3e9e7af29c",
            ),
            (vec![("alertname", "EmptyVal"), ("x", "")], "111e6cbc5e40c3cc"),
            (vec![("alertname", "Good")], "bfb7da6a737ed1db"),
            (vec![("alertname", "SwapFull"), ("node", "1"), ("severity", "warning")], "9118a3e16875e768"),
        ] {
            let mut labels: Labels = labels.into_iter().collect();
            labels.retain(|_, value| !value.is_empty());
            let fingerprint = Fingerprint::of(&labels);
            assert_eq!(fingerprint.to_string(), expected);
            assert_eq!(expected.parse(), Ok(fingerprint));
        }
    }

    #[test]
    fn only_its_own_spelling_is_read() {
        for bad in ["", "9822ee52b31ac95", "9822EE52B31AC95F", "+822ee52b31ac95f", "9822ee52b31ac95f0"] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(NotAFingerprint));
        }
    }
}
