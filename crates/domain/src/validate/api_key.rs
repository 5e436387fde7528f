//! The token of a personal API key (spec: account#api-keys).

use crate::Secret;
use crate::{Entropy, ports::random_hex};

/// `myk_<30 hex>.<60 hex>`; `myo_` for users of the owner organization. The row is looked up by the public part; the
/// other part is compared with its salted hash.
#[derive(Clone, Debug)]
pub struct ApiKeyToken {
    /// Lookup part; no secret.
    pub public: String,
    /// Secret part.
    pub secret: Secret<String>,
}

impl ApiKeyToken {
    const PREFIX: &str = "myk_";
    const OWNER_PREFIX: &str = "myo_";
    const PUBLIC_CHARS: usize = 30;
    const SECRET_CHARS: usize = 60;

    /// A fresh token: 120 random bits of lookup part, 240 of secret part.
    pub fn generate(entropy: &dyn Entropy) -> ApiKeyToken {
        ApiKeyToken { public: random_hex::<15>(entropy), secret: Secret::new(random_hex::<30>(entropy)) }
    }

    /// Whether a bearer is meant as an API key, well formed or not.
    pub fn is_meant_by(bearer: &str) -> bool {
        bearer.starts_with(Self::PREFIX) || bearer.starts_with(Self::OWNER_PREFIX)
    }

    /// A token as presented: either prefix, both parts of their full length in lower-case hex.
    pub fn parse(text: &str) -> Option<ApiKeyToken> {
        let rest = text.strip_prefix(Self::PREFIX).or_else(|| text.strip_prefix(Self::OWNER_PREFIX))?;
        let (public, secret) = rest.split_once('.')?;
        let is_hex = |part: &str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let fits = public.len() == Self::PUBLIC_CHARS && secret.len() == Self::SECRET_CHARS;
        (fits && is_hex(public) && is_hex(secret))
            .then(|| ApiKeyToken { public: public.to_owned(), secret: Secret::new(secret.to_owned()) })
    }

    /// The whole token, to be shown once. `is_owner`: its user belongs to the owner organization.
    pub fn reveal(&self, is_owner: bool) -> String {
        let prefix = if is_owner { Self::OWNER_PREFIX } else { Self::PREFIX };
        format!("{prefix}{}.{}", self.public, self.secret.reveal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes;
    impl Entropy for Bytes {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.iter_mut().zip(1..).for_each(|(byte, n)| *byte = n);
        }
    }

    #[test]
    fn generated_keys_are_parsed_and_other_texts_are_not() {
        let made = ApiKeyToken::generate(&Bytes);
        let text = made.reveal(false);
        assert_eq!(text.len(), 4 + 30 + 1 + 60);
        assert!(text.starts_with("myk_0102030405") && made.reveal(true).starts_with("myo_0102030405"));
        for whole in [&text, &made.reveal(true)] {
            let read = ApiKeyToken::parse(whole).unwrap();
            assert_eq!((&read.public, read.secret.reveal()), (&made.public, made.secret.reveal()));
        }
        for broken in [
            "",
            "myk_",
            "myk_.",
            &text[1..],
            &text[..text.len() - 1],
            &format!("{text}0"),
            &text.replace('.', "0"),
            &text.replace("myk_", "my_"),
            &text.replace("01", "0G"),
            &text.replace("0a", "0A"),
            &format!(" {text}"),
        ] {
            assert!(ApiKeyToken::parse(broken).is_none(), "{broken}");
        }
        assert!(ApiKeyToken::is_meant_by("myk_") && ApiKeyToken::is_meant_by("myo_x"));
        assert!(!ApiKeyToken::is_meant_by("my_x.y"));
    }

    #[test]
    fn a_token_does_not_print() {
        let made = ApiKeyToken::generate(&Bytes);
        assert!(!format!("{made:?}").contains(made.secret.reveal()));
    }
}
