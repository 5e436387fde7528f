//! The credential of a system: its key and its secret (spec: systems-interface#credentials).

use crate::{
    Entropy, Secret,
    ports::{hex, random, random_hex},
};
use std::fmt;

/// Prefix of the keys made here unless the configuration names another.
pub const DEFAULT_KEY_PREFIX: &str = "SYS";

/// Longest key, in characters; also bytes, as keys are ASCII.
const MAX_KEY_CHARS: usize = 255;

/// Characters of the groups that follow the prefix of a key made here.
const GROUPS_CHARS: usize = 40;

/// Whether a configured prefix gives valid keys: upper-case letters and digits, leaving room for the groups.
pub fn is_key_prefix(prefix: &str) -> bool {
    !prefix.is_empty()
        && prefix.len() <= MAX_KEY_CHARS - GROUPS_CHARS
        && prefix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

/// The public name of a system, and the user name of its credential. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemKey(String);

impl SystemKey {
    /// A fresh key: the prefix (see [`is_key_prefix`]) and 8 groups of 4 upper-case hex digits, 128 random bits.
    pub fn generate(prefix: &str, entropy: &dyn Entropy) -> SystemKey {
        let mut key = String::with_capacity(prefix.len() + GROUPS_CHARS);
        key.push_str(prefix);
        for pair in random::<16>(entropy).chunks_exact(2) {
            key.push('-');
            key.push_str(&hex(pair).to_ascii_uppercase());
        }
        SystemKey(key)
    }

    /// A key as presented or imported: any shape, 1 to 255 of `A`–`Z`, `0`–`9` and `-`.
    pub fn parse(text: &str) -> Option<SystemKey> {
        let allowed = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-';
        let valid = !text.is_empty() && text.len() <= MAX_KEY_CHARS && text.bytes().all(allowed);
        valid.then(|| SystemKey(text.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SystemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The secret of a system, `my_<public>.<secret>`: the row is looked up by the public part; the other part is compared
/// with its salted hash.
#[derive(Clone, Debug)]
pub struct SystemSecret {
    /// Lookup part; no secret.
    pub public: String,
    /// Secret part.
    pub secret: Secret<String>,
}

impl SystemSecret {
    const PREFIX: &str = "my_";

    /// Fewest characters of a secret part that system-facing authentication accepts.
    pub const MIN_SECRET_CHARS: usize = 32;

    /// Longest accepted text; longer ones cannot be a secret of ours.
    const MAX_BYTES: usize = 1024;

    /// A fresh secret: 80 random bits of lookup part, 160 of secret part.
    pub fn generate(entropy: &dyn Entropy) -> SystemSecret {
        SystemSecret { public: random_hex::<10>(entropy), secret: Secret::new(random_hex::<20>(entropy)) }
    }

    /// `my_`, a public part, exactly one `.`, a secret part (spec: systems-interface#register); both of printable
    /// ASCII.
    pub fn parse(text: &str) -> Option<SystemSecret> {
        if text.len() > Self::MAX_BYTES || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        let (public, secret) = text.strip_prefix(Self::PREFIX)?.split_once('.')?;
        let valid = !public.is_empty() && !secret.is_empty() && !secret.contains('.');
        valid.then(|| SystemSecret { public: public.to_owned(), secret: Secret::new(secret.to_owned()) })
    }

    /// Whether the secret part is long enough for system-facing authentication.
    pub fn is_long_enough(&self) -> bool {
        self.secret.reveal().len() >= Self::MIN_SECRET_CHARS
    }

    /// The whole text, for the one answer that shows it.
    pub fn reveal(&self) -> String {
        format!("{}{}.{}", Self::PREFIX, self.public, self.secret.reveal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts up from a seed, so that every byte differs.
    struct Counting(std::sync::atomic::AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for byte in bytes {
                *byte = self.0.fetch_add(0x11, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    fn counting() -> Counting {
        Counting(0xa0.into())
    }

    #[test]
    fn fresh_keys() {
        let key = SystemKey::generate(DEFAULT_KEY_PREFIX, &counting());
        assert_eq!(key.as_str(), "SYS-A0B1-C2D3-E4F5-0617-2839-4A5B-6C7D-8E9F");
        assert_eq!(SystemKey::parse(key.as_str()), Some(key.clone()));
        assert_eq!(key.to_string(), key.as_str());
        let longest = "P".repeat(215);
        assert!(is_key_prefix(&longest));
        assert!(SystemKey::parse(SystemKey::generate(&longest, &counting()).as_str()).is_some());
        for prefix in ["", "sys", "S-", "S:", "S S", &"P".repeat(216)] {
            assert!(!is_key_prefix(prefix), "{prefix}");
        }
    }

    #[test]
    fn presented_keys() {
        let longest = "A".repeat(255);
        for key in ["A", "-", "OLD-KEY-9", &longest] {
            assert!(SystemKey::parse(key).is_some(), "{key}");
        }
        for key in ["", "a", "SYS-1:2", "SYS 1", "SYS_1", "É", "A\0", &"A".repeat(256)] {
            assert!(SystemKey::parse(key).is_none(), "{key}");
        }
    }

    #[test]
    fn fresh_secrets() {
        let made = SystemSecret::generate(&counting());
        assert_eq!(made.public, "a0b1c2d3e4f506172839");
        assert_eq!(made.reveal(), "my_a0b1c2d3e4f506172839.4a5b6c7d8e9fb0c1d2e3f405162738495a6b7c8d");
        let parsed = SystemSecret::parse(&made.reveal()).unwrap();
        assert_eq!((&parsed.public, parsed.secret.reveal()), (&made.public, made.secret.reveal()));
        assert!(parsed.is_long_enough());
    }

    #[test]
    fn a_secret_does_not_print() {
        let made = SystemSecret::generate(&counting());
        let printed = format!("{made:?} {:?}", made.secret);
        assert!(printed.contains(&made.public) && !printed.contains(made.secret.reveal()));
    }

    #[test]
    fn presented_secrets() {
        for (text, long_enough) in [
            ("my_a.b", false),
            ("my__x_.y", false),
            ("my_a.0123456789012345678901234567890", false),
            ("my_a.01234567890123456789012345678901", true),
        ] {
            assert_eq!(SystemSecret::parse(text).unwrap().is_long_enough(), long_enough, "{text}");
        }
        let endless = format!("my_a.{}", "b".repeat(1024));
        for text in [
            "", "my_", "my_a", "my_.", "my_a.", "my_.b", "my_a.b.c", "my_a..b", "MY_a.b", " my_a.b",
            "my_a.b\n", "a.b", "myk_a.b", "my_a.\0", "my_é.b", &endless,
        ] {
            assert!(SystemSecret::parse(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn revealed_credentials_parse_back(public in "[A-Za-z0-9_]{1,64}", secret in "[A-Za-z0-9_]{1,64}") {
            let text = format!("my_{public}.{secret}");
            let parsed = SystemSecret::parse(&text).unwrap();
            prop_assert_eq!(parsed.reveal(), text);
        }

        #[test]
        fn any_text_has_an_answer(text in any::<String>()) {
            let _ = (SystemSecret::parse(&text), SystemKey::parse(&text));
        }
    }
}
